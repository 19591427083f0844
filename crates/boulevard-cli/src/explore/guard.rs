//! Who may ask: a browser on this machine that was given the token, from a page of this server.
//!
//! The token is in the address that the program prints; the first visit turns it into a cookie that other sites' requests do not carry.
//! `Host` must name this machine, which stops names that are made to point here (DNS rebinding); `Origin` must be this server.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What the guard knows.
pub struct Guard {
    token: String,
    hosts: [String; 2],
    cookie: String,
}

impl Guard {
    pub fn new(port: u16) -> Result<Self> {
        let mut bytes = [0u8; 24];
        getrandom::fill(&mut bytes).map_err(|error| anyhow!("no random numbers for a token: {error}"))?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // Cookies do not know ports: the name tells two servers apart.
        Ok(Self { token, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")], cookie: format!("boulevard-{port}") })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Compares without telling by time how much is right.
    fn is_token(&self, given: &str) -> bool {
        given.len() == self.token.len() && given.bytes().zip(self.token.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(name, value)| name == self.cookie && self.is_token(value))
    }

    /// Why a request is refused.
    fn complaint(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let text = |name: header::HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
        if !text(header::HOST).is_some_and(|host| self.hosts.iter().any(|own| own == host)) {
            return Some((StatusCode::MISDIRECTED_REQUEST, "this server answers to 127.0.0.1 and localhost only"));
        }
        let own = |origin: &str| self.hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host));
        let origin = text(header::ORIGIN);
        if origin.is_some_and(|origin| !own(origin)) || (request.method() != Method::GET && origin.is_none()) {
            return Some((StatusCode::FORBIDDEN, "the request comes from another page than this server's"));
        }
        None
    }
}

/// A refusal in words: a page for browsers, JSON for the page's own questions.
fn refuse(status: StatusCode, words: &str, path: &str) -> Response {
    if path.starts_with("/api/") {
        return (status, axum::Json(serde_json::json!({ "error": words }))).into_response();
    }
    let page =
        format!("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>boulevard</title><h1>boulevard</h1><p>{words}</p></html>");
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

/// Lets a request through, or not; every answer says what browsers may do with it.
pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let mut response = answer(&guard, request, next, &path).await;
    let headers = response.headers_mut();
    let rules = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in rules {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn answer(guard: &Guard, request: Request, next: Next, path: &str) -> Response {
    if let Some((status, words)) = guard.complaint(&request) {
        return refuse(status, words, path);
    }
    let given = request.uri().query().and_then(|query| query.split('&').find_map(|part| part.strip_prefix("token=")));
    if let Some(given) = given.filter(|_| path == "/" && request.method() == Method::GET) {
        if !guard.is_token(given) {
            return refuse(StatusCode::FORBIDDEN, "this address is stale: take the one that `boulevard explore` prints now", path);
        }
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", guard.cookie, guard.token);
        return (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())]).into_response();
    }
    if !guard.has_cookie(request.headers()) {
        return refuse(
            StatusCode::FORBIDDEN,
            "this address is stale or incomplete: take the one that `boulevard explore` prints now",
            path,
        );
    }
    next.run(request).await
}
