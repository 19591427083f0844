//! What the server remembers: the source, the fits so far, and the training that runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, bail};
use boulevard::observe::StopFlag;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::fits::Fit;
use super::request;
use super::source::{self, Source};
use crate::args::ExploreArgs;

/// A training that runs.
pub struct Running {
    pub words: String,
    pub stop: Arc<StopFlag>,
    pub thread: Option<JoinHandle<()>>,
    pub start: std::time::Instant,
}

/// Everything that requests share.
pub struct Shared {
    /// The only folder that is written to.
    pub folder: PathBuf,
    /// Bytes that a dropped file may have.
    pub most_upload: u64,
    /// Dropped files; deleted with everything in it at the end.
    pub uploads: tempfile::TempDir,
    source: Mutex<Option<Source>>,
    fits: Mutex<Vec<Arc<Fit>>>,
    pub running: Mutex<Option<Running>>,
    /// The latest news of the training, for all pages that listen.
    news: watch::Sender<Value>,
    closing: watch::Sender<bool>,
    pages: AtomicUsize,
}

/// A lock; what a thread that failed left behind is still sound, because every change is one assignment.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(args: &ExploreArgs) -> Result<Self> {
        let folder = std::fs::canonicalize(&args.folder).with_context(|| args.folder.display().to_string())?;
        let uploads = tempfile::Builder::new().prefix("boulevard-explore-").tempdir().context("a folder for dropped files")?;
        let shared = Self {
            folder,
            most_upload: args.max_upload.saturating_mul(1 << 20),
            uploads,
            source: Mutex::new(None),
            fits: Mutex::new(Vec::new()),
            running: Mutex::new(None),
            news: watch::Sender::new(json!({ "state": "idle" })),
            closing: watch::Sender::new(false),
            pages: AtomicUsize::new(0),
        };
        let name = |path: &Path| path.to_string_lossy().into_owned();
        match &args.file {
            Some(path) if super::is_model(path)? => {
                let table = args.data.as_deref().map(|data| source::open(data, &name(data))).transpose()?;
                let fit = Fit::opened(path, table.as_ref())?;
                *lock(&shared.source) = table;
                shared.add(fit);
            }
            Some(path) => {
                if args.data.is_some() {
                    bail!("--data goes with a model: {} is a data file", path.display());
                }
                *lock(&shared.source) = Some(source::open(path, &name(path))?);
            }
            None => {}
        }
        Ok(shared)
    }

    pub fn source(&self) -> Option<Source> {
        lock(&self.source).clone()
    }

    pub fn set_source(&self, source: Source) {
        *lock(&self.source) = Some(source);
    }

    pub fn fit(&self, id: usize) -> Result<Arc<Fit>> {
        lock(&self.fits).get(id).cloned().with_context(|| format!("there is no model {id} on this page"))
    }

    /// Keeps a fit; its number.
    pub fn add(&self, fit: Fit) -> usize {
        let mut fits = lock(&self.fits);
        fits.push(Arc::new(fit));
        fits.len() - 1
    }

    pub fn tell(&self, news: Value) {
        self.news.send_replace(news);
    }

    pub fn listen(&self) -> (watch::Receiver<Value>, watch::Receiver<bool>) {
        (self.news.subscribe(), self.closing.subscribe())
    }

    /// Ends all streams of news.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Asks the training to stop.
    pub fn stop_training(&self) -> bool {
        lock(&self.running).as_ref().map(|running| running.stop.stop()).is_some()
    }

    /// Asks it and waits until it has.
    pub fn end_training(&self) {
        let thread = lock(&self.running).as_mut().and_then(|running| {
            running.stop.stop();
            running.thread.take()
        });
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    /// Counts a page that listens; it is taken off when the guard falls.
    pub fn page(self: &Arc<Self>) -> PageOpen {
        self.pages.fetch_add(1, Ordering::Relaxed);
        PageOpen(Arc::clone(self))
    }

    pub fn pages_open(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    /// What a page needs to begin.
    pub fn as_json(&self) -> Value {
        let fits: Vec<Value> =
            lock(&self.fits).iter().enumerate().map(|(id, fit)| json!({ "id": id, "title": fit.title, "command": fit.command })).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"), "folder": self.folder, "source": self.source(), "methods": request::methods(),
            "builtIn": source::built_in(), "fits": fits, "running": lock(&self.running).is_some(), "mostUpload": self.most_upload,
        })
    }
}

/// A page that listens.
pub struct PageOpen(Arc<Shared>);

impl Drop for PageOpen {
    fn drop(&mut self) {
        self.0.pages.fetch_sub(1, Ordering::Relaxed);
    }
}
