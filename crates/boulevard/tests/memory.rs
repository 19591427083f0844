//! A memory limit makes a fit slower, not impossible. A test of its own process, because it looks at the process' peak.

use boulevard::data::generate::{Clusters, classification};
use boulevard::prelude::*;

/// Peak resident bytes of this process, where the system tells.
fn peak() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

#[test]
fn thirty_thousand_rows_train_within_a_gigabyte() {
    let data = classification(30_000, 1, &Clusters { columns: 100, ..Clusters::default() }).unwrap();
    let before = peak();
    let limit = 1 << 30;
    let context = Context { memory: Some(limit), ..Context::default() };
    let svc = Svc {
        kernel: Kernel::rbf(0.01),
        // More than the limit: the limit has to win.
        solver: SolverSettings { cache_megabytes: Some(8000.0), ..SolverSettings::default() },
        ..Svc::default()
    };
    let model = svc.fit_in(&data, &context).unwrap();
    assert_eq!(model.report.stop, StopReason::Converged);
    assert!(model.report.violation <= 1e-3);
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(after - before <= limit, "{} MB over a limit of {} MB", (after - before) >> 20, limit >> 20);
    }
}

#[test]
fn a_limit_that_holds_nothing_is_refused() {
    let data = classification(2_000, 1, &Clusters::default()).unwrap();
    let context = Context { memory: Some(10_000), ..Context::default() };
    let message = Svc::default().fit_in(&data, &context).unwrap_err().to_string();
    assert!(message.contains("the memory limit is 10000 bytes"), "{message}");
}

#[test]
fn a_large_table_that_does_not_fit_is_refused_with_what_it_needs() {
    let data = classification(6_000, 1, &Clusters { columns: 20, ..Clusters::default() }).unwrap();
    let context = Context { memory: Some(1 << 20), ..Context::default() };
    let message = Svc::default().fit_in(&data, &context).unwrap_err().to_string();
    assert!(message.contains("the smallest working set needs") && message.contains("the memory limit is 1048576 bytes"), "{message}");
    let enough = Context { memory: Some(4 << 20), ..Context::default() };
    assert_eq!(Svc::default().fit_in(&data, &enough).unwrap().report.stop, StopReason::Converged);
}
