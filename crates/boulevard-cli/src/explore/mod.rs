//! `boulevard explore`: a page on this machine on which one looks at data, trains, chooses and saves.
//!
//! The server listens on the loopback address only and answers who knows the token of the first address (`guard`). One training runs at a
//! time, on a thread of its own (`training`); everything that is clicked is a command line that `train` would understand (`request`).

mod answers;
mod fits;
mod guard;
mod pages;
mod request;
mod rows;
mod source;
mod state;
mod training;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::Outcome;
use crate::args::ExploreArgs;
use crate::report::{complain, print};
use state::Shared;

/// How long open answers may take after the end was asked for.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// A page that has been closed this long will not come back.
const GONE: Duration = Duration::from_secs(60);

pub fn run(args: &ExploreArgs) -> Result<Outcome> {
    ensure!(args.folder.is_dir(), "{}: is not a folder", args.folder.display());
    let shared = Arc::new(Shared::new(args)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the server's runtime")?;
    let served = runtime.block_on(serve(args, Arc::clone(&shared)));
    // A training that still runs is told to stop and waited for: no thread outlives the program's work.
    shared.end_training();
    runtime.shutdown_timeout(LAST_WORDS);
    served?;
    Ok(Outcome::Done)
}

async fn serve(args: &ExploreArgs, shared: Arc<Shared>) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = tokio::net::TcpListener::bind(address).await.with_context(|| format!("port {} of 127.0.0.1", args.port))?;
    let port = listener.local_addr()?.port();
    let guard = Arc::new(guard::Guard::new(port)?);
    let url = format!("http://127.0.0.1:{port}/?token={}", guard.token());
    print(&format!("boulevard explore: {url}\nmodels are saved to {}; Ctrl-C ends\n", shared.folder.display()))?;
    if !args.no_open {
        open(&url);
    }
    let app = pages::router(Arc::clone(&shared), guard);
    let (told, wait) = tokio::sync::oneshot::channel::<()>();
    let ending = Arc::clone(&shared);
    let closes = args.exit_when_closed;
    let server = axum::serve(listener, app).with_graceful_shutdown(async move {
        asked_to_end(&ending, closes).await;
        ending.close();
        let _ = told.send(());
    });
    let late = async {
        let _ = wait.await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        done = server => done.context("the server")?,
        () = late => {}
    }
    Ok(())
}

/// Waits for Ctrl-C, a signal to end, or, where that was asked for, the last page being closed.
async fn asked_to_end(shared: &Shared, closes: bool) {
    let gone = async {
        let (mut seen, mut missing) = (false, Duration::ZERO);
        let pause = Duration::from_millis(500);
        loop {
            tokio::time::sleep(pause).await;
            seen |= shared.pages_open() > 0;
            missing = if shared.pages_open() > 0 { Duration::ZERO } else { missing + pause };
            if closes && seen && missing >= GONE {
                return;
            }
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
        () = gone => {}
    }
}

/// Shows an address in the user's browser; without one the printed address is enough.
fn open(url: &str) {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let quiet = std::process::Stdio::null;
    let started = std::process::Command::new(program).args(before).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    match started {
        // Nobody waits for a browser, but its starter must not stay behind as a zombie.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(_) => complain("no browser could be opened: open the address above yourself"),
    }
}

/// Whether a file begins as a model does: LIBSVM's text, or the native container (a length, then JSON).
fn is_model(path: &Path) -> Result<bool> {
    use std::io::Read;
    let mut start = [0; 9];
    let mut file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
    let read = file.read(&mut start).with_context(|| path.display().to_string())?;
    Ok(start[..read].starts_with(b"svm_type") || (read == 9 && start[8] == b'{' && start[4..8] == [0; 4]))
}
