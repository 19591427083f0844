//! Watching and stopping long work: the library itself never prints and never sleeps.
//!
//! A [`Context`] travels with every fit. Long loops ask it a few hundred times a second whether to go on; a fit that is stopped returns
//! what it has, with the [`StopReason`].

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use crate::error::StopReason;
use crate::error::{Error, Result};
pub use crate::simd::Isa;

/// One report of how far the work has come.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// What is being done, for example `solve` or `cross-validate`.
    pub stage: &'a str,
    /// Steps done in this stage.
    pub done: u64,
    /// Steps in all, where that is known.
    pub total: Option<u64>,
    /// The solver's current KKT violation, where there is one.
    pub violation: Option<f64>,
    /// The tolerance that the violation has to reach.
    pub tolerance: Option<f64>,
}

/// Receives progress; `ControlFlow::Break` stops the work.
pub trait Observer: Sync {
    /// Called from the working threads, at most some hundred times a second.
    fn on_progress(&self, progress: &Progress<'_>) -> ControlFlow<()>;

    /// Something worth saying once, for example how long the work will take.
    fn on_note(&self, text: &str) {
        let _ = text;
    }
}

impl Progress<'_> {
    /// Seconds until the violation reaches the tolerance, about, if it goes on falling as it did since it was `first`, `elapsed` seconds
    /// ago. `None` until it has halved: before, nothing can be said.
    pub fn seconds_left(&self, first: f64, elapsed: f64) -> Option<f64> {
        let (now, goal) = (self.violation?, self.tolerance?);
        (now > 0.0 && now <= 0.5 * first && goal > 0.0).then(|| elapsed * (now / goal).ln().max(0.0) / (first / now).ln())
    }
}

/// An observer that only carries a flag: set it from another thread or a signal handler to stop the work.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicBool);

impl StopFlag {
    /// Asks the work to stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Observer for StopFlag {
    fn on_progress(&self, _: &Progress<'_>) -> ControlFlow<()> {
        if self.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Multiplications between two questions whether to go on: some milliseconds, so that a stop is noticed within 50 of them even where a
/// multiplication waits for memory.
pub const PIECE: usize = 1 << 23;

/// Counts work and asks now and then whether to go on: for loops whose turns are shorter than a [`PIECE`].
pub struct Meter<'a> {
    context: &'a Context<'a>,
    stage: &'a str,
    done: usize,
}

impl Meter<'_> {
    /// Counts some multiplications (or as long); an error where the work must stop.
    pub fn spend(&mut self, work: usize) -> Result<()> {
        self.done = self.done.saturating_add(work);
        if self.done < PIECE {
            return Ok(());
        }
        self.done = 0;
        self.context.go_on(self.stage)
    }
}

/// The reason inside an [`Error::Stopped`]; other errors stay what they are.
pub fn stopped<T>(result: Result<T>) -> Result<std::result::Result<T, StopReason>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Error::Stopped { reason }) => Ok(Err(reason)),
        Err(error) => Err(error),
    }
}

/// Where kernel machines are fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// On a graphics card where there is one and the table is so large that it is known to win, else on the processor.
    #[default]
    Auto,
    /// On the processor.
    Cpu,
    /// On the graphics card with this number. It is an error if that cannot be used; what no card computes (small tables, given kernels,
    /// methods of other kinds) is still done by the processor.
    Cuda(usize),
}

impl std::str::FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
        match text {
            "auto" => Some(Self::Auto),
            "cpu" => Some(Self::Cpu),
            "cuda" => Some(Self::Cuda(0)),
            _ => text.strip_prefix("cuda:").and_then(number).map(Self::Cuda),
        }
        .ok_or_else(|| Error::data(format!("device must be auto, cpu, cuda or cuda:N, got {}", text.escape_debug())))
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(0) => f.write_str("cuda"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

/// What a fit may use and who watches it.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Receives progress and may stop the work.
    pub observer: Option<&'a dyn Observer>,
    /// Threads to use, at least 1. Results do not depend on it.
    pub threads: usize,
    /// When to stop with [`StopReason::TimeLimit`].
    pub deadline: Option<Instant>,
    /// Bytes that caches and work space may take.
    pub memory: Option<usize>,
    /// Vector instructions to use.
    pub isa: Isa,
    /// Processor or graphics card.
    pub device: Device,
}

impl Default for Context<'_> {
    fn default() -> Self {
        // Asking the system takes longer than a small fit.
        static CORES: OnceLock<usize> = OnceLock::new();
        let threads = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        Self { observer: None, threads, deadline: None, memory: None, isa: Isa::detect(), device: Device::Auto }
    }
}

impl<'a> Context<'a> {
    /// A context with one thread.
    pub fn single() -> Self {
        Self { threads: 1, ..Self::default() }
    }

    /// The same context with another number of threads.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// The same context, stopping after `limit`.
    pub fn with_time_limit(self, limit: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(limit), ..self }
    }

    /// The same context with an observer.
    pub fn with_observer(self, observer: &'a dyn Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The same context on another device.
    pub fn with_device(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// Says something once to whoever watches.
    pub fn note(&self, text: &str) {
        if let Some(observer) = self.observer {
            observer.on_note(text);
        }
    }

    /// Reports progress; answers with a reason if the work must stop.
    pub fn check(&self, progress: &Progress<'_>) -> Option<StopReason> {
        if let Some(observer) = self.observer
            && observer.on_progress(progress).is_break()
        {
            return Some(StopReason::Interrupted);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Some(StopReason::TimeLimit),
            _ => None,
        }
    }

    /// For pieces of long computations: an error where the work must stop, which whoever has something to return turns into a
    /// [`StopReason`] (see [`stopped`]). Pieces between two questions take milliseconds: [`PIECE`].
    pub fn go_on(&self, stage: &str) -> Result<()> {
        match self.check(&Progress { stage, done: 0, total: None, violation: None, tolerance: None }) {
            Some(reason) => Err(Error::Stopped { reason }),
            None => Ok(()),
        }
    }

    /// A meter for loops of short turns.
    pub fn meter<'s>(&'s self, stage: &'s str) -> Meter<'s> {
        Meter { context: self, stage, done: 0 }
    }

    /// Work with what is left of the memory beside so many bytes that stay while it is done. Refusals name the whole.
    pub fn beside<T>(&self, bytes: usize, what: &'static str, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let Some(allowed) = self.memory else { return work(self) };
        if bytes >= allowed {
            return Err(Error::Memory { what, needed: bytes, allowed });
        }
        work(&Self { memory: Some(allowed - bytes), ..*self }).map_err(|error| match error {
            Error::Memory { what, needed, .. } => Error::Memory { what, needed: needed.saturating_add(bytes), allowed },
            other => other,
        })
    }

    /// Work with a share of the memory, where several things are in it at a time. Refusals name the whole.
    pub fn in_share<T>(&self, share: f64, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let Some(allowed) = self.memory else { return work(self) };
        work(&Self { memory: Some((allowed as f64 * share) as usize), ..*self }).map_err(|error| match error {
            Error::Memory { what, needed, .. } => Error::Memory { what, needed: (needed as f64 / share).ceil() as usize, allowed },
            other => other,
        })
    }

    /// The same without anybody who could stop it: for the last pass, which makes a result of what there is.
    pub fn undisturbed(&self) -> Context<'static> {
        Context { observer: None, deadline: None, threads: self.threads, memory: self.memory, isa: self.isa, device: self.device }
    }

    /// [`Context::check`] for a stage of `total` equal steps, `done` of them finished.
    pub fn step(&self, stage: &str, done: usize, total: usize) -> Option<StopReason> {
        self.check(&Progress { stage, done: done as u64, total: Some(total as u64), violation: None, tolerance: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_names() {
        for name in ["auto", "cpu", "cuda", "cuda:1", "cuda:12"] {
            assert_eq!(name.parse::<Device>().unwrap().to_string(), name);
        }
        assert_eq!("cuda:0".parse::<Device>().unwrap(), Device::Cuda(0));
        for name in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "CUDA", "cuda:99999999999999999999999"] {
            let refusal = name.parse::<Device>().unwrap_err().to_string();
            assert_eq!(refusal, format!("device must be auto, cpu, cuda or cuda:N, got {name}"));
        }
    }

    #[test]
    fn what_is_left_follows_from_how_fast_the_violation_falls() {
        let at = |violation: f64| Progress { stage: "solve", done: 0, total: None, violation: Some(violation), tolerance: Some(0.01) };
        assert_eq!(at(0.6).seconds_left(1.0, 5.0), None, "not halved yet");
        let left = at(0.1).seconds_left(1.0, 5.0).unwrap();
        assert!((left - 5.0).abs() < 1e-12, "one decade in 5 s, one to go: {left}");
        assert_eq!(at(0.001).seconds_left(1.0, 5.0), Some(0.0));
    }
}
