//! The addresses of the server.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::{self, Save};
use super::guard::{self, Guard};
use super::request::Request;
use super::rows::Filter;
use super::state::Shared;
use super::{rows, source, training};
use crate::in_one_line;

#[cfg(test)]
mod fuzz;

const PAGE: &str = include_str!("../../web/src/explore.html");
const SCRIPT: &str = include_str!("../../web/dist/explore.js");
const STYLE: &str = include_str!("../../web/dist/style.css");
const OWN_STYLE: &str = include_str!("../../web/dist/explore.css");
/// Bytes that a question may have; files go their own way.
const MOST_QUESTION: usize = 1 << 20;
/// Bytes beyond the limit that are read and thrown away, so that the refusal can be heard.
const PATIENCE: u64 = 64 << 20;

/// Characters of a dropped file's name that are kept, from its end: file systems take 255 bytes, and a character may have four.
const LONGEST_NAME: usize = 60;

type Server = Arc<Shared>;

pub fn router(shared: Server, guard: Arc<Guard>) -> Router {
    let text = |kind: &'static str, text: &'static str| get(move || async move { ([(header::CONTENT_TYPE, kind)], text) });
    Router::new()
        .route("/", text("text/html; charset=utf-8", PAGE))
        .route("/explore.js", text("text/javascript; charset=utf-8", SCRIPT))
        .route("/style.css", text("text/css; charset=utf-8", STYLE))
        .route("/explore.css", text("text/css; charset=utf-8", OWN_STYLE))
        .route("/api/state", get(async |State(shared): State<Server>| Json(shared.as_json())))
        .route("/api/events", get(events))
        .route("/api/source", post(choose))
        .route("/api/upload", post(upload).layer(DefaultBodyLimit::disable()))
        .route("/api/train", post(train))
        .route("/api/stop", post(async |State(shared): State<Server>| Json(json!({ "stopping": shared.stop_training() }))))
        .route("/api/fits/{id}", get(fit))
        .route("/api/fits/{id}/points/{point}", get(point))
        .route("/api/fits/{id}/compare", get(compare))
        .route("/api/fits/{id}/rows", get(listed))
        .route("/api/fits/{id}/rows/{row}", get(row))
        .route("/api/fits/{id}/report", get(report))
        .route("/api/fits/{id}/save", post(save))
        .fallback(async || Refusal(StatusCode::NOT_FOUND, "there is nothing at this address".to_owned()))
        .layer(DefaultBodyLimit::max(MOST_QUESTION))
        .layer(middleware::from_fn_with_state(guard, guard::check))
        .with_state(shared)
}

/// A refusal in words.
struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        Self(StatusCode::UNPROCESSABLE_ENTITY, in_one_line(&error))
    }
}

/// Work that takes time, beside the server's own thread.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> anyhow::Result<T> + Send + 'static) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Refusal(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be computed".to_owned())),
    }
}

/// News of the training, as they come.
async fn events(State(shared): State<Server>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (mut news, closing) = shared.listen();
    news.mark_changed();
    let listening = (news, closing, shared.page());
    let stream = stream::unfold(listening, |(mut news, mut closing, page)| async move {
        tokio::select! {
            changed = news.changed() => changed.ok()?,
            _ = closing.wait_for(|closing| *closing) => return None,
        }
        let event = Event::default().data(news.borrow_and_update().to_string());
        Some((Ok(event), (news, closing, page)))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(10)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    built_in: String,
}

async fn choose(State(shared): State<Server>, Json(chosen): Json<Chosen>) -> Result<Json<Value>, Refusal> {
    let made = aside(move || {
        let source = source::make(&chosen.built_in, &shared.folder)?;
        shared.set_source(source.clone());
        Ok(source)
    });
    Ok(Json(json!(made.await?)))
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// A dropped file: streamed to a temporary one, never more of it than is allowed.
async fn upload(State(shared): State<Server>, Query(named): Query<Named>, headers: HeaderMap, body: Body) -> Result<Json<Value>, Refusal> {
    let most = shared.most_upload;
    let too_large = || {
        let words = format!(
            "the file has more than {} MB, which is what this page takes (--max-upload); start `boulevard explore FILE` instead",
            most >> 20
        );
        Refusal(StatusCode::PAYLOAD_TOO_LARGE, words)
    };
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()).and_then(|text| text.parse::<u64>().ok());
    if said.is_some_and(|bytes| bytes > most.saturating_add(PATIENCE)) {
        return Err(too_large());
    }
    // Only the last part of the name, and only plain letters of it, become part of a path.
    let last = named.name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let mut safe: String = last.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    if let Some((first, _)) = safe.char_indices().rev().nth(LONGEST_NAME - 1) {
        safe.drain(..first);
    }
    if safe.trim_matches('.').is_empty() {
        return Err(Refusal(StatusCode::UNPROCESSABLE_ENTITY, "the file has no name".to_owned()));
    }
    let path = shared.uploads.path().join(&safe);
    let failed = |error: std::io::Error| Refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("the file could not be kept: {error}"));
    let mut file = std::fs::File::create(&path).map_err(failed)?;
    let (mut stream, mut seen) = (body.into_data_stream(), 0u64);
    while let Some(part) = stream.next().await {
        let part = part.map_err(|_| Refusal(StatusCode::BAD_REQUEST, "the file did not arrive whole".to_owned()))?;
        seen += part.len() as u64;
        if seen <= most {
            std::io::Write::write_all(&mut file, &part).map_err(failed)?;
        } else if seen > most.saturating_add(PATIENCE) {
            break;
        }
    }
    drop(file);
    if seen > most {
        let _ = std::fs::remove_file(&path);
        return Err(too_large());
    }
    let opened = aside(move || {
        let source = source::open(&path, &last);
        if source.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        let source = source?;
        shared.set_source(source.clone());
        Ok(source)
    });
    Ok(Json(json!(opened.await?)))
}

async fn train(State(shared): State<Server>, Json(asked): Json<Request>) -> Result<Json<Value>, Refusal> {
    match training::start(&shared, &asked) {
        Ok(command) => Ok(Json(json!({ "command": command }))),
        Err(error) if error.to_string().starts_with("one training") => Err(Refusal(StatusCode::CONFLICT, error.to_string())),
        Err(error) => Err(error.into()),
    }
}

async fn fit(State(shared): State<Server>, Path(id): Path<usize>) -> Result<Json<Value>, Refusal> {
    let found = aside(move || {
        let fit = shared.fit(id)?;
        fit.once(0, "fit", || answers::fit(id, &fit))
    });
    Ok(Json((*found.await?).clone()))
}

async fn point(State(shared): State<Server>, Path((id, place)): Path<(usize, usize)>) -> Result<Json<Value>, Refusal> {
    let found = aside(move || {
        let fit = shared.fit(id)?;
        fit.once(place, "point", || answers::point(&fit, place))
    });
    Ok(Json((*found.await?).clone()))
}

#[derive(Deserialize)]
struct Two {
    a: usize,
    b: usize,
}

async fn compare(State(shared): State<Server>, Path(id): Path<usize>, Query(two): Query<Two>) -> Result<Json<Value>, Refusal> {
    Ok(Json(aside(move || answers::compare(&*shared.fit(id)?, two.a, two.b)).await?))
}

#[derive(Deserialize)]
struct At {
    point: Option<usize>,
}

async fn row(State(shared): State<Server>, Path((id, row)): Path<(usize, usize)>, Query(at): Query<At>) -> Result<Json<Value>, Refusal> {
    Ok(Json(aside(move || rows::explain(&*shared.fit(id)?, row, at.point)).await?))
}

async fn listed(State(shared): State<Server>, Path(id): Path<usize>, Query(filter): Query<Filter>) -> Result<Json<Value>, Refusal> {
    Ok(Json(aside(move || rows::list(&*shared.fit(id)?, &filter)).await?))
}

async fn report(State(shared): State<Server>, Path(id): Path<usize>) -> Result<Response, Refusal> {
    let page = aside(move || answers::report(&*shared.fit(id)?)).await?;
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_DISPOSITION, "attachment; filename=\"report.html\"")];
    Ok((headers, page).into_response())
}

async fn save(State(shared): State<Server>, Path(id): Path<usize>, Json(asked): Json<Save>) -> Result<Json<Value>, Refusal> {
    Ok(Json(aside(move || answers::save(&shared, &*shared.fit(id)?, &asked)).await?))
}
