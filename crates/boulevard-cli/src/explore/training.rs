//! One training at a time, on its own thread, with news for the page.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use boulevard::observe::{Context, Observer, Progress, StopFlag, StopReason};
use boulevard::svm::Model;
use serde_json::json;

use super::fits::Fit;
use super::request::{self, Request};
use super::state::{Running, Shared, lock};
use crate::args::TrainArgs;
use crate::learner::Plan;
use crate::report::{number, story};
use crate::{data, in_one_line};

/// News come this often at most.
const PAUSE: Duration = Duration::from_millis(80);

/// Passes progress on and stops when it is told to.
struct Reporter {
    shared: Arc<Shared>,
    stop: Arc<StopFlag>,
    start: Instant,
    last: Mutex<Instant>,
}

impl Observer for Reporter {
    fn on_progress(&self, progress: &Progress<'_>) -> ControlFlow<()> {
        if self.stop.is_set() {
            return ControlFlow::Break(());
        }
        if let Ok(mut last) = self.last.try_lock()
            && last.elapsed() >= PAUSE
        {
            *last = Instant::now();
            self.shared.tell(json!({
                "state": "running", "stage": progress.stage, "done": progress.done, "total": progress.total,
                "violation": progress.violation.filter(|value| value.is_finite()), "tolerance": progress.tolerance,
                "seconds": self.start.elapsed().as_secs_f64(),
            }));
        }
        ControlFlow::Continue(())
    }
}

/// Starts a training; refuses while another one runs.
pub fn start(shared: &Arc<Shared>, asked: &Request) -> Result<String> {
    let Some(source) = shared.source() else { bail!("there are no data yet: drop a file or take a built-in set") };
    let words = asked.words(&source.name, source.one_hot)?;
    let args = request::parse(&words, &source.path)?;
    let plan = Plan::new(args.method, &args.learner)?;
    let command = request::typed(&words);
    let mut running = lock(&shared.running);
    if let Some(other) = running.as_ref() {
        let seconds = number::seconds(other.start.elapsed().as_secs_f64());
        bail!("one training at a time: `{}` has been running for {seconds}; stop it or wait", other.words);
    }
    let stop = Arc::new(StopFlag::default());
    let (own, told, stopped) = (Arc::clone(shared), command.clone(), Arc::clone(&stop));
    shared.tell(json!({ "state": "running", "stage": "read", "done": 0, "seconds": 0.0 }));
    let thread = std::thread::Builder::new().name("training".to_owned()).spawn(move || {
        let start = Instant::now();
        let done = work(&own, &args, &plan, &told, &stopped, start);
        // The place is free before anybody hears that it is.
        *lock(&own.running) = None;
        own.tell(match done {
            Ok((id, stop)) => {
                json!({ "state": "done", "fit": id, "stopped": stop == StopReason::Interrupted, "seconds": start.elapsed().as_secs_f64() })
            }
            Err(error) => {
                let words = in_one_line(&error)
                    .replace(&args.data.display().to_string(), &own.source().map_or_else(String::new, |source| source.name));
                json!({ "state": "failed", "error": words })
            }
        });
    })?;
    *running = Some(Running { words: command.clone(), stop, thread: Some(thread), start: Instant::now() });
    Ok(command)
}

fn work(
    shared: &Arc<Shared>,
    args: &TrainArgs,
    plan: &Plan,
    command: &str,
    stop: &Arc<StopFlag>,
    start: Instant,
) -> Result<(usize, StopReason)> {
    let table = data::read_for(plan, &args.data, &args.read)?;
    let reporter = Reporter { shared: Arc::clone(shared), stop: Arc::clone(stop), start, last: Mutex::new(start) };
    let context = Context::default().with_observer(&reporter);
    let fitted = plan.fit(&table, &context)?;
    let reason = fitted.report().stop;
    // A partial model is kept and shown, but not judged: that would take fits that were just refused.
    let folds = match reason {
        StopReason::Interrupted => Vec::new(),
        _ => story::judge(&plan.work, &table, fitted.report().seconds, args.learner.seed, &context),
    };
    let fit = Fit::trained(fitted, table, folds, args.method.text(), command.to_owned())?;
    Ok((shared.add(fit), reason))
}
