//! Showing work and stopping it: a bar on a terminal, plain lines otherwise, and Ctrl-C.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use boulevard::observe::{Observer, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::report::complain;

/// Set by Ctrl-C; a handler cannot carry anything but a static.
static STOP: AtomicBool = AtomicBool::new(false);

/// Plain lines come this often at most, so that a log of a long run stays short.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Work that takes less than this needs no lines at all.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether Ctrl-C was pressed.
pub fn interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Watches a run.
pub struct Watcher {
    bar: Option<ProgressBar>,
    quiet: bool,
    lines: Mutex<Lines>,
}

struct Lines {
    stage: String,
    start: Instant,
    stage_start: Instant,
    last: Instant,
    /// Stages that had a line; stages inside one another take turns, and would fill a log.
    announced: Vec<String>,
    /// Whether the stage on show has a known end.
    bounded: bool,
    /// The first violation of the stage, and when it was.
    first: Option<(f64, Instant)>,
}

impl Lines {
    /// What is left of a stage that has a violation and no other end.
    fn left(&mut self, progress: &Progress<'_>) -> String {
        let Some(now) = progress.violation.filter(|now| now.is_finite()) else { return String::new() };
        let &mut (first, since) = self.first.get_or_insert((now, Instant::now()));
        let left = progress.seconds_left(first, since.elapsed().as_secs_f64()).filter(|&seconds| seconds >= 1.0);
        left.map_or(String::new(), |seconds| format!(", about {} left", duration(seconds)))
    }
}

/// Seconds or minutes, as people say them.
fn duration(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

impl Watcher {
    /// Starts watching; from now on Ctrl-C asks the work to stop, and a second one ends the program.
    pub fn new(quiet: bool) -> Self {
        let handler = || {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        };
        // Only the first handler of a process is kept; a refusal means Ctrl-C simply ends the program.
        let _ = ctrlc::set_handler(handler);
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let now = Instant::now();
        Self {
            bar,
            quiet,
            lines: Mutex::new(Lines {
                stage: String::new(),
                start: now,
                stage_start: now,
                last: now,
                announced: Vec::new(),
                bounded: false,
                first: None,
            }),
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line that stays.
    pub fn note(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| complain(text)),
            None => complain(text),
        }
    }

    fn show(&self, progress: &Progress<'_>) {
        let Ok(mut lines) = self.lines.try_lock() else { return };
        if let (Some(bar), true, None) = (&self.bar, lines.bounded, progress.total) {
            // A fit inside a stage that is counted: the count stays, the fit shows its violation beside it.
            bar.set_message(violation(progress));
            return;
        }
        lines.bounded = progress.total.is_some();
        let new_stage = lines.stage != progress.stage;
        if new_stage {
            lines.stage = progress.stage.to_owned();
            (lines.stage_start, lines.first) = (Instant::now(), None);
        }
        let left = if progress.total.is_none() { lines.left(progress) } else { String::new() };
        if let Some(bar) = &self.bar {
            if new_stage {
                bar.reset();
                bar.set_style(style(progress.total.is_some()));
                bar.set_prefix(progress.stage.to_owned());
            }
            if let Some(total) = progress.total {
                bar.set_length(total);
            }
            bar.set_position(progress.done);
            bar.set_message(violation(progress) + &left);
        } else if !self.quiet && lines.start.elapsed() > PATIENCE {
            let first = !lines.announced.contains(&lines.stage);
            if !first && lines.last.elapsed() < LINE_EVERY {
                return;
            }
            lines.last = Instant::now();
            if first {
                let stage = lines.stage.clone();
                lines.announced.push(stage);
            }
            let seconds = lines.stage_start.elapsed().as_secs_f64();
            let rate = if seconds > 1.0 { format!(", {:.0} per second", progress.done as f64 / seconds) } else { String::new() };
            let of = progress.total.map_or(String::new(), |total| format!(" of {total}"));
            complain(&format!("{}: step {}{of}{rate}{}{left}", progress.stage, progress.done, violation(progress)));
        }
    }
}

fn style(bounded: bool) -> ProgressStyle {
    let template = match bounded {
        true => "{prefix} [{bar:30}] {pos}/{len}, {per_sec}, {eta} left{msg}",
        false => "{spinner} {prefix}: step {pos}, {per_sec}, {elapsed}{msg}",
    };
    ProgressStyle::with_template(template).expect("the template is ours").progress_chars("=> ")
}

fn violation(progress: &Progress<'_>) -> String {
    match (progress.violation, progress.tolerance) {
        (Some(now), Some(goal)) if now.is_finite() => format!(", violation {now:.2e} (goal {goal:.0e})"),
        _ => String::new(),
    }
}

/// Shows nothing, but stops at Ctrl-C: for fits inside a stage that is shown as a whole.
pub struct Silent;

impl Observer for Silent {
    fn on_progress(&self, _: &Progress<'_>) -> ControlFlow<()> {
        if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Observer for Watcher {
    fn on_progress(&self, progress: &Progress<'_>) -> ControlFlow<()> {
        if interrupted() {
            return ControlFlow::Break(());
        }
        self.show(progress);
        ControlFlow::Continue(())
    }

    fn on_note(&self, text: &str) {
        self.note(text);
    }
}
