//! The figures of docs/benchmarks/card.md, and large tables on card and processor: minutes each, so they are ignored unless asked for.

use std::time::Instant;

use boulevard::Error;
use boulevard::kernel::Kernel;
use boulevard::observe::{Context, Device, StopReason};
use boulevard::svm::{Model, Penalty, Svc};

use crate::cuda;
use crate::problems::{Problem, apart_cover, clouds, cover, different, digits, fit, fit_classes, fit_shards, machine, search, try_fit_to};

/// Whether the processor's times are wanted in every row, minutes as they are.
fn processor_wanted() -> bool {
    std::env::var("BOULEVARD_PROCESSOR").is_ok()
}

/// One row of the table.
fn row(name: &str, problem: &Problem, gamma: f64, c: f64, context: &Context<'_>, with_cpu: bool) {
    if std::env::var("BOULEVARD_ROWS").is_ok_and(|rows| !rows.split(',').any(|row| name == row)) {
        return;
    }
    let kernel = Kernel::rbf(gamma);
    let (_, first) = fit(problem, &kernel, c, context);
    let (card, second) = fit(problem, &kernel, c, context);
    let support = card.coefficients.iter().filter(|&&b| b != 0.0).count();
    let free = card.coefficients.iter().filter(|&&b| b != 0.0 && b.abs() < c).count();
    let mut line = format!(
        "| {name} | {second:.3} | {first:.3} | {:.1e} | {:.8e} | {support} ({free} free) | {} | {:?} {} |",
        card.violation, card.objective, card.iterations, card.stop, card.route
    );
    if with_cpu || processor_wanted() {
        let cpu = context.with_device(Device::Cpu).with_time_limit(std::time::Duration::from_secs(250));
        let (cpu, seconds) = fit(problem, &kernel, c, &cpu);
        let close = (cpu.objective - card.objective) / cpu.objective.abs();
        let [far, near] = [1e-3, 1e-5].map(|band| different(problem, &cpu, &card, band));
        line += &format!(" {seconds:.2} {:?} | {close:.1e} | {far} and {near} |", cpu.stop);
    }
    println!("{line}");
    phases(|| drop(fit(problem, &kernel, c, context)));
}

/// Where the time of some work goes: whoever times kernels waits for each, so it is done once more for that.
#[cfg(feature = "card-times")]
fn phases(work: impl FnOnce()) {
    boulevard::solver::card_times(true);
    let start = Instant::now();
    work();
    let seconds = start.elapsed().as_secs_f64();
    let times = boulevard::solver::card_times(false);
    let known: f64 = times.values().map(|of| of.0).sum();
    let words: Vec<String> = times.iter().map(|(phase, (s, calls))| format!("{phase} {:.1} ms ({calls})", s * 1e3)).collect();
    println!("    of {:.1} ms: {}, elsewhere {:.1} ms", seconds * 1e3, words.join(", "), (seconds - known) * 1e3);
}

#[cfg(not(feature = "card-times"))]
fn phases(_: impl FnOnce()) {}

/// `cargo test --test card -- --ignored --nocapture table::table`
#[test]
#[ignore = "minutes on a card"]
fn table() {
    let Some(context) = cuda() else { return };
    println!(
        "| problem | s | first s | violation | objective | support vectors | steps | end | processor s | objectives apart | labels apart outside 1e-3 and 1e-5 |"
    );
    if std::env::var("BOULEVARD_ROWS").is_ok_and(|rows| rows == "many") {
        many_problems(&context);
        return;
    }
    if std::env::var("BOULEVARD_ROWS").is_ok_and(|rows| rows == "answers") {
        many_classes(&context);
        predictions(&context, &cover(524_288, 1.0));
        return;
    }
    let s20 = clouds(20_000, 20, 40, 1.0);
    row("s20-20k C=1", &s20, 0.05, 1.0, &context, true);
    row("s20-20k C=10", &s20, 0.05, 10.0, &context, true);
    let middle = cover(131_072, 1.0);
    row("cov-131k smooth C=1", &middle, 0.05, 1.0, &context, true);
    row("cov-131k smooth C=10", &middle, 0.05, 10.0, &context, true);
    row("cov-131k spiky C=10", &middle, 0.5, 10.0, &context, false);
    row("cov-131k smooth C=100", &middle, 0.05, 100.0, &context, false);
    let apart = apart_cover(131_072);
    row("cov3-131k smooth C=1", &apart, 0.05, 1.0, &context, false);
    row("cov3-131k smooth C=10", &apart, 0.05, 10.0, &context, true);
    row("cov3-131k smooth C=100", &apart, 0.05, 100.0, &context, false);
    row("cov3-131k spiky C=10", &apart, 0.5, 10.0, &context, false);
    if std::env::var("BOULEVARD_ROWS").is_ok_and(|rows| !rows.contains("524k")) {
        return;
    }
    let apart = apart_cover(524_288);
    row("cov3-524k smooth C=1", &apart, 0.05, 1.0, &context, false);
    row("cov3-524k smooth C=10", &apart, 0.05, 10.0, &context, false);
    row("cov3-524k spiky C=10", &apart, 0.5, 10.0, &context, false);
    drop(apart);
    let large = cover(524_288, 1.0);
    row("cov-524k smooth C=1", &large, 0.05, 1.0, &context, false);
    row("cov-524k smooth C=10", &large, 0.05, 10.0, &context, false);
    row("cov-524k spiky C=10", &large, 0.5, 10.0, &context, false);
    if std::env::var("BOULEVARD_ROWS").is_ok() {
        return;
    }
    many_problems(&context);
    many_classes(&context);
    predictions(&context, &large);
    drop(large);
    workers(&context, &cover(131_072, 1.5));
}

/// Large tables: the same bits twice, and the processor's optimum. `BOULEVARD_ROWS` chooses, as in the table.
#[test]
#[ignore = "minutes on a card, and more on the processor"]
fn large_tables_agree() {
    let Some(context) = cuda() else { return };
    let wanted = std::env::var("BOULEVARD_ROWS").unwrap_or_default();
    let seconds = std::env::var("BOULEVARD_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(250);
    // Beyond 1e-5 labels may differ where both are solved to 1e-3, but not where both are solved further.
    let cases = [
        ("131k C=10", 131_072, 10.0, 1e-3),
        ("131k C=100", 131_072, 100.0, 1e-3),
        ("524k C=10", 524_288, 10.0, 1e-3),
        ("131k C=1 tight", 131_072, 1.0, 1e-6),
        ("131k C=10 tight", 131_072, 10.0, 1e-6),
    ];
    for (name, n, c, tolerance) in cases {
        if !wanted.is_empty() && !wanted.split(',').any(|row| row == name) {
            continue;
        }
        let (problem, kernel) = (cover(n, 1.0), Kernel::rbf(0.05));
        let (card, first) = try_fit_to(tolerance, &problem, &kernel, c, &context).unwrap();
        let (again, second) = try_fit_to(tolerance, &problem, &kernel, c, &context).unwrap();
        let differ = card.coefficients.iter().zip(&again.coefficients).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        println!("cov {name}: {first:.2} and {second:.2} s on the card, {differ} coefficients differ, violation {:.1e}", card.violation);
        assert_eq!((card.stop, differ), (StopReason::Converged, 0), "{name}");
        let limited = context.with_device(Device::Cpu).with_time_limit(std::time::Duration::from_secs(seconds));
        let (cpu, seconds) = match try_fit_to(tolerance, &problem, &kernel, c, &limited) {
            Err(Error::Stopped { reason }) => {
                println!("    processor stopped after {seconds} s: {reason:?}");
                continue;
            }
            done => done.unwrap(),
        };
        let close = (cpu.objective - card.objective).abs() / cpu.objective.abs();
        let [far, near] = [1e-3, 1e-5].map(|band| different(&problem, &cpu, &card, band));
        println!("    processor {seconds:.1} s, {:?}: {close:.1e} apart, labels apart outside 1e-3 and 1e-5: {far} and {near}", cpu.stop);
        // Whoever ran out of time has no optimum to compare with.
        if cpu.stop == StopReason::Converged {
            assert!(close <= 1e-6 && far == 0 && (near == 0 || tolerance > 1e-6), "{name}: {close:e} {far} {near}");
        }
    }
}

/// Five folds of 25 points of a grid: on the card at once and in turn, and on this machine's cores.
fn many_problems(context: &Context<'_>) {
    let automatic = [0.125, 1.0, 8.0, 64.0, 512.0];
    let tables = [
        ("20k x 20", clouds(20_000, 20, 40, 1.0), [0.0031, 0.0125, 0.05, 0.2, 0.8]),
        ("60k x 54", apart_cover(60_000), [0.0031, 0.0125, 0.05, 0.2, 0.8]),
    ];
    for (name, problem, gamma) in &tables {
        // The card is warm before anybody looks at the clock.
        search(problem, &automatic[..1], &gamma[..2], context);
        for (how, context) in [("at once", *context), ("in turn", context.with_threads(1)), ("processor", context.with_device(Device::Cpu))]
        {
            if how == "processor" && std::env::var("BOULEVARD_NO_PROCESSOR").is_ok() {
                continue;
            }
            let context = if how == "processor" { context.with_time_limit(std::time::Duration::from_secs(150)) } else { context };
            let (found, seconds) = search(problem, &automatic, gamma, &context);
            let best = found.best_point().map_or((0.0, None, 0.0), |point| (point.c, point.gamma, point.mean));
            let steps: u64 = found.points.iter().map(|point| point.iterations).sum();
            println!(
                "| {name}, 125 fits, {how} | {seconds:.2} | {} points, {:?} | best {best:?} | {steps} steps |",
                found.points.len(),
                found.stop
            );
        }
    }
}

/// Three workers of a cluster with one card, and on this machine's cores.
fn workers(context: &Context<'_>, problem: &Problem) {
    let svc = Svc { kernel: Kernel::rbf(0.05), penalty: Penalty::C(1.0), ..Svc::default() };
    for device in [Device::Cuda(0), Device::Cuda(0), Device::Cpu] {
        let (model, seconds) = fit_shards(problem, &svc, device, &context.with_device(Device::Cpu));
        let report = model.report();
        println!(
            "| {} rows on three shards, C=1, {device} | {seconds:.2} | {:.1e} | {:.9e} |",
            problem.y.len(),
            report.violation,
            report.objective
        );
    }
}

/// Ten classes, and what their machines answer.
fn many_classes(context: &Context<'_>) {
    let (x, y) = digits(60_000, 784, 10);
    for c in [1.0, 10.0] {
        let (_, first) = fit_classes(&x, &y, 0.001, c, context);
        let (model, second) = fit_classes(&x, &y, 0.001, c, context);
        let report = model.report();
        println!(
            "| 60k x 784, ten classes, C={c} | {second:.3} | {first:.3} | {:.1e} | {:.8e} | {} | {} | {:?} {} |",
            report.violation,
            report.objective,
            model.support_vectors(),
            report.iterations,
            report.stop,
            report.route
        );
        phases(|| drop(fit_classes(&x, &y, 0.001, c, context)));
        if processor_wanted() {
            let (cpu, seconds) = fit_classes(&x, &y, 0.001, c, &context.with_device(Device::Cpu));
            let close = (cpu.report().objective - report.objective).abs() / report.objective.abs();
            println!("    processor {seconds:.2} s, {close:.1e} apart");
        }
        let some = x.select(&(0..10_000).collect::<Vec<_>>()).into_owned();
        for (rows, part) in [(10_000, &some), (60_000, &x)] {
            for _ in 0..3 {
                let start = Instant::now();
                model.decision_values_in(part, context).unwrap();
                let seconds = start.elapsed().as_secs_f64();
                let rate = 2.0 * 784.0 * rows as f64 * model.support_vectors() as f64 / seconds / 1e12;
                println!("    decision values of {rows} rows, 45 machines: {:.1} ms, {rate:.1} useful TFLOP/s", seconds * 1e3);
            }
            phases(|| drop(model.decision_values_in(part, context).unwrap()));
        }
    }
}

/// Decision values of one machine, from the table in memory to the values in memory.
fn predictions(context: &Context<'_>, large: &Problem) {
    let (wide, _) = digits(60_000, 784, 10);
    let cases = [
        (&large.x, 0.05, 8192, 0.1),
        (&large.x, 0.05, 65_536, 0.1),
        (&large.x, 0.05, 65_536, 100.0),
        (&wide, 0.001, 30_000, 0.1),
        (&wide, 0.001, 60_000, 0.1),
    ];
    for (x, gamma, vectors, size) in cases {
        let (machine, d) = (machine(x, vectors, gamma, size), x.columns());
        for device in [Device::Cuda(0), Device::Cuda(0), Device::Cuda(0), Device::Cpu] {
            if device == Device::Cpu && vectors > 8192 && !processor_wanted() {
                continue;
            }
            let start = Instant::now();
            machine.evaluate(x, &context.with_device(device)).unwrap();
            let seconds = start.elapsed().as_secs_f64();
            let rate = 2.0 * d as f64 * x.rows() as f64 * vectors as f64 / seconds / 1e12;
            println!(
                "| decision values of {} x {d}, {vectors} vectors of {size}, {device} | {seconds:.4} | {rate:.1} useful TFLOP/s |",
                x.rows()
            );
        }
        phases(|| drop(machine.evaluate(x, context).unwrap()));
    }
}
