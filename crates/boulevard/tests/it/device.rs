//! Cards that cannot be used, or fail in the middle of a fit, without a card: a driver that pretends (`boulevard-cuda/emulate/driver.c`), in a
//! process of its own for every case. Asked for by name it is an error in one line; otherwise one note, and the processor does the work.

#![cfg(target_os = "linux")]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use boulevard::data::{Dataset, generate};
use boulevard::kernel::Kernel;
use boulevard::observe::{Context, Device, Observer, Progress, StopReason};
use boulevard::solver::Route;
use boulevard::svm::{Learner, Model, Penalty, Svc, SvcModel};

/// Rows from which on a card is looked for without being asked for.
const AUTO_ROWS: usize = 100_000;

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn on_progress(&self, _: &Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn on_note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

fn fit(rows: usize, context: &Context<'_>) -> boulevard::Result<SvcModel> {
    let data: Dataset<'_> = generate::two_gaussians(rows, 7, 2, 6.0);
    let svc = Svc { kernel: Kernel::rbf(0.1), penalty: Penalty::C(0.1), ..Svc::default() };
    svc.fit_in(&data, context)
}

/// One process: what becomes of a fit where a card is asked for, and where it is not.
#[test]
#[ignore = "started by the test below"]
fn asked() {
    let asked = fit(6000, &Context::default().with_device(Device::Cuda(0)));
    println!("answer: asked: {}", asked.map_or_else(|error| error.to_string(), |model| model.report().route.to_string()));
    let notes = Notes::default();
    let model = fit(AUTO_ROWS, &Context::default().with_device(Device::Auto).with_observer(&notes)).unwrap();
    let report = model.report();
    assert_eq!(report.stop, StopReason::Converged);
    assert!(report.violation <= 1e-3 && report.route != Route::Card, "{} {}", report.violation, report.route);
    let told: Vec<String> = notes.0.into_inner().unwrap().into_iter().filter(|note| note.contains("processor")).collect();
    println!("answer: automatic: {:.12e} {}", report.objective, told.join(" | "));
}

fn answers(folder: Option<&PathBuf>, pretend: &str) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "device::asked", "--ignored", "--nocapture"]).env("PRETEND", pretend);
    if let Some(folder) = folder {
        command.env("LD_LIBRARY_PATH", folder);
    }
    let run = command.output().unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let find = |what: &str| {
        let found = text.lines().find_map(|line| line.split_once(&format!("answer: {what}: ")).map(|(_, answer)| answer.to_owned()));
        found.unwrap_or_else(|| panic!("{pretend}: no answer\n{text}{}", String::from_utf8_lossy(&run.stderr)))
    };
    (find("asked"), find("automatic"))
}

#[test]
fn a_card_that_fails_is_an_error_where_it_was_asked_for_and_the_processor_where_not() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pretended");
    std::fs::create_dir_all(&folder).unwrap();
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../boulevard-cuda/emulate/driver.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-w"]).arg(&source).arg("-o").arg(folder.join("libcuda.so.1")).status();
    if !built.as_ref().is_ok_and(|status| status.success()) {
        println!("skipped: cc cannot build {}: {built:?}", source.display());
        return;
    }
    let report = *fit(AUTO_ROWS, &Context::default().with_device(Device::Cpu)).unwrap().report();
    let lost = "the NVIDIA driver failed in cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED (719)";
    // At once, while the table is on its way, and in the middle of the fit.
    let cases = [
        ("old_card", "Pretended card is too old: it has compute capability 5.2, 6.0 is needed", "using the processor"),
        ("small", "the card has no room for", "using the processor"),
        ("taken 2", "the card has no room for", "going on with the processor"),
        ("taken 20", "the card has no room for", "going on with the processor"),
        ("lost 2", lost, "going on with the processor"),
        ("lost 12", lost, "going on with the processor"),
    ];
    for (pretend, reason, then) in cases {
        let (asked, automatic) = answers(Some(&folder), pretend);
        assert!(asked.starts_with(&format!("device cuda: {reason}")), "{pretend}: {asked}");
        let (found, note) = automatic.split_once(' ').unwrap();
        let objective: f64 = found.parse().unwrap();
        assert!((objective - report.objective).abs() < 1e-5 * report.objective.abs(), "{pretend}: {objective} and {}", report.objective);
        assert!(note.starts_with(reason) && note.ends_with(&format!("; {then}")) && !note.contains(" | "), "{pretend}: {note}");
    }
}
