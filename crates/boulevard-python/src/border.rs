//! The one gate between Python and the library.
//!
//! Work runs with the interpreter released, so that other Python threads go on. Every 20 ms somebody asks Python for signals and hands it
//! the latest progress: for small work the observer itself, from inside the solver; for large work the calling thread, while the work
//! runs on a thread of its own (only the main thread may ask for signals, and inside the solver it may be waiting for others).
//! A signal that raises stops the work; what the work had by then comes back together with the exception. Panics become exceptions.
//! No thread outlives the call: a process may fork between any two calls.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use boulevard::internal::heap::Sparing;
use boulevard::observe::Isa;
use boulevard::observe::{Context, Observer, Progress};
use pyo3::prelude::*;

use crate::errors::{convert, exception};
use crate::request::Limits;

/// How long a Ctrl-C may wait before it is noticed.
const PATIENCE: Duration = Duration::from_millis(20);

/// The latest report, kept until Python has time for it.
#[derive(Clone)]
struct Report {
    stage: String,
    done: u64,
    total: Option<u64>,
    violation: Option<f64>,
    tolerance: Option<f64>,
}

struct Gate<'a> {
    limits: &'a Limits,
    start: Instant,
    /// Microseconds after `start` at which signals were last asked for.
    asked: AtomicU64,
    stop: AtomicBool,
    error: Mutex<Option<PyErr>>,
    report: Mutex<Option<Report>>,
    /// What was said once, kept as well.
    notes: Mutex<Vec<String>>,
    /// The thread that polls from inside the work; none if the calling thread waits outside.
    inside: Option<ThreadId>,
}

impl Gate<'_> {
    /// Asks Python for signals and tells it the progress.
    fn poll(&self) {
        let outcome = Python::attach(|py| -> PyResult<bool> {
            py.check_signals()?;
            let report = self.report.lock().expect("no holder panics").take();
            let notes = std::mem::take(&mut *self.notes.lock().expect("no holder panics"));
            if let Some(call) = &self.limits.progress {
                for note in notes {
                    call.call1(py, (note, 0, None::<u64>, None::<f64>, None::<f64>))?;
                }
            }
            match (&self.limits.progress, report) {
                (Some(call), Some(r)) => call.call1(py, (r.stage, r.done, r.total, r.violation, r.tolerance))?.is_truthy(py),
                _ => Ok(false),
            }
        });
        match outcome {
            Ok(false) => {}
            Ok(true) => self.stop.store(true, Ordering::Relaxed),
            Err(error) => {
                self.stop.store(true, Ordering::Relaxed);
                self.error.lock().expect("no holder panics").get_or_insert(error);
            }
        }
    }
}

impl Observer for Gate<'_> {
    fn on_progress(&self, progress: &Progress<'_>) -> ControlFlow<()> {
        if self.limits.progress.is_some() {
            *self.report.lock().expect("no holder panics") = Some(Report {
                stage: progress.stage.to_owned(),
                done: progress.done,
                total: progress.total,
                violation: progress.violation,
                tolerance: progress.tolerance,
            });
        }
        if self.inside == Some(std::thread::current().id()) {
            let now = self.start.elapsed().as_micros() as u64;
            if now - self.asked.load(Ordering::Relaxed) >= PATIENCE.as_micros() as u64 {
                self.asked.store(now, Ordering::Relaxed);
                self.poll();
            }
        }
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn on_note(&self, text: &str) {
        if self.limits.progress.is_some() {
            self.notes.lock().expect("no holder panics").push(text.to_owned());
        }
    }
}

/// Runs `work` outside the interpreter. Returns its result and, if a signal (or the progress function) raised, that exception.
pub fn run<T: Send>(
    py: Python<'_>,
    limits: &Limits,
    large: bool,
    work: impl FnOnce(&Context<'_>) -> boulevard::Result<T> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let start = Instant::now();
    let gate = Gate {
        limits,
        start,
        asked: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        error: Mutex::new(None),
        report: Mutex::new(None),
        notes: Mutex::new(Vec::new()),
        inside: if large { None } else { Some(std::thread::current().id()) },
    };
    let deadline = limits.time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).and_then(|limit| start.checked_add(limit));
    // Not from `Context::default`, which asks the system for its number of cores: that takes longer than a small fit may.
    let device = limits.device.parse().map_err(|error| convert(py, error))?;
    let context =
        Context { observer: Some(&gate), threads: limits.threads.max(1), deadline, memory: limits.memory, isa: Isa::detect(), device };
    let _sparing = limits.memory.map(|_| Sparing::begin());
    let guarded = || catch_unwind(AssertUnwindSafe(|| work(&context)));
    let outcome = py.detach(|| if large { apart(&gate, guarded) } else { guarded() });
    let raised = gate.error.into_inner().expect("no holder panics");
    match (outcome, raised) {
        (Ok(Ok(value)), raised) => Ok((value, raised)),
        (_, Some(raised)) => Err(raised),
        (Ok(Err(error)), None) => Err(convert(py, error)),
        (Err(panic), None) => {
            let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "no message".to_owned());
            Err(exception(py, "InternalError", &format!("boulevard has a bug, please report it: {text}")))
        }
    }
}

/// [`run`] for work of which a part is of no use: the exception that stopped it, if one did.
pub fn whole<T: Send>(
    py: Python<'_>,
    limits: &Limits,
    large: bool,
    work: impl FnOnce(&Context<'_>) -> boulevard::Result<T> + Send,
) -> PyResult<T> {
    let (value, raised) = run(py, limits, large, work)?;
    raised.map_or(Ok(value), Err)
}

/// Runs `work` on a thread of its own while this one polls.
fn apart<T: Send>(gate: &Gate<'_>, work: impl FnOnce() -> std::thread::Result<T> + Send) -> std::thread::Result<T> {
    std::thread::scope(|scope| {
        let (done, wait) = channel();
        let worker = scope.spawn(move || {
            let result = work();
            // The receiver lives until the thread is joined.
            let _ = done.send(());
            result
        });
        while wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            gate.poll();
        }
        worker.join().and_then(|result| result)
    })
}
