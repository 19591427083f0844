//! `boulevard svm-predict`: LIBSVM's options in, its output file and messages out.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use boulevard::data::io::{Format, PrecomputedUse, ReadOptions, TargetKind, read_precomputed};
use boulevard::data::{Csr, Dataset, Matrix, Target};
use boulevard::kernel::Kernel;
use boulevard::observe::Context;
use boulevard::persist::{AnyModel, libsvm_text};
use boulevard::svm::{Answers, Classifier, KernelMachine, Model, SvcModel, couple};

use super::report::squared_correlation;
use super::words;
use crate::args::LibsvmArgs;
use crate::model::{load, load_for};
use crate::report::number::{g, general};
use crate::report::print;
use crate::{Outcome, files};

const USAGE: &str = "\
Usage: boulevard svm-predict [options] test_file model_file output_file
options:
-b probability_estimates : 0 or 1 (default 0); for classifiers
-q : quiet
";

pub fn run(args: &LibsvmArgs) -> Result<Outcome> {
    ensure!(!args.words.is_empty(), "expected a test file, a model file and an output file; `boulevard svm-predict --help` says how");
    if args.words[0] == "--help" {
        print(USAGE)?;
        return Ok(Outcome::Done);
    }
    let words = words::parse(&args.words, "b", "q", USAGE)?;
    let (mut probability, mut quiet) = (false, false);
    for choice in &words.options {
        match choice.letter {
            'b' => probability = choice.switch()?,
            _ => quiet = true,
        }
    }
    let [test, model, output] = &words.files[..] else {
        bail!("expected a test file, a model file and an output file, got {} names\n\n{USAGE}", words.files.len());
    };
    files::expect_file(test)?;
    files::expect_writable(output)?;
    let mut any = load(model)?;
    ensure!(any.imputer().is_none(), "{}: the model fills in missing values: use `boulevard predict`", model.display());
    ensure!(any.scaler().is_none(), "{}: the model scales its columns: use `boulevard predict`", model.display());
    let data = read(test, &machine(&any)?.kernel)?;
    if any.features() < data.x.columns() {
        any = load_for(model, data.x.columns())?;
    }
    let Target::Real(truth) = &data.target else { bail!("{}: labels must be numbers", test.display()) };
    let context = Context::default();
    let x = widened(&data.x, machine(&any)?)?;
    let (said, lines) = match any.get::<SvcModel>() {
        Some(svc) => classify(svc, &x, probability, model, &context)?,
        None => {
            ensure!(!probability || has_density(model)?, "{}: the model does not support probability estimates (-b 1)", model.display());
            let decisions = any.decide(&(&x).into(), &context)?.values;
            let inside = any.answers() == Answers::Inside;
            let said: Vec<f64> = if inside { decisions.iter().map(|&f| if f >= 0.0 { 1.0 } else { -1.0 }).collect() } else { decisions };
            let lines = said.iter().map(|value| if inside { g(*value) } else { general(*value, 17) } + "\n").collect();
            (said, lines)
        }
    };
    files::write(output, lines.as_bytes())?;
    if !quiet {
        print(&score(any.answers().are_numbers(), truth, &said))?;
    }
    Ok(Outcome::Done)
}

/// Whether a file of LIBSVM's regression or one-class models was made with `-b 1`. What it says then is read over, but `-b 1` is no mistake.
fn has_density(model: &Path) -> Result<bool> {
    let bytes = std::fs::read(model).with_context(|| model.display().to_string())?;
    Ok(bytes.split(|&byte| byte == b'\n').take(20).any(|line| line.starts_with(b"probA ") || line.starts_with(b"prob_density_marks ")))
}

/// The machine of a model that LIBSVM knows.
fn machine(model: &AnyModel) -> Result<&KernelMachine> {
    let known = libsvm_text::KINDS.contains(&model.kind());
    ensure!(known, "LIBSVM has no models of kind `{}`", model.kind());
    Ok(model.kernel_machines()[0])
}

fn read(path: &Path, kernel: &Kernel) -> Result<Dataset<'static>> {
    let options = ReadOptions { format: Some(Format::Libsvm), target: TargetKind::Real, ..ReadOptions::default() };
    Ok(match kernel {
        Kernel::Precomputed => read_precomputed(path, &options, PrecomputedUse::Predict)?.data,
        _ => Dataset::read_with(path, &options)?,
    })
}

/// The table as wide as the model: a file ends at the largest index that occurs.
fn widened(x: &Matrix<'static>, machine: &KernelMachine) -> Result<Matrix<'static>> {
    let (found, wanted) = (x.columns(), machine.features);
    if found >= wanted || machine.kernel == Kernel::Precomputed {
        return Ok(x.clone());
    }
    let Matrix::Sparse(csr) = x.to_sparse() else { unreachable!("just made sparse") };
    Ok(Matrix::Sparse(Csr::new(csr.offsets().to_vec(), csr.indices().to_vec(), csr.values().to_vec(), wanted)?))
}

/// Labels by LIBSVM's rules: votes, the first of equals; with `-b 1` the largest probability.
fn classify(model: &SvcModel, x: &Matrix<'_>, probability: bool, path: &Path, context: &Context<'_>) -> Result<(Vec<f64>, String)> {
    let (classes, outputs) = (model.classes.len(), model.machine.outputs());
    let labels: Vec<f64> = model
        .classes
        .iter()
        .map(|name| {
            name.parse().map_err(|_| anyhow::anyhow!("{}: class `{name}` is not a number; use `boulevard predict`", path.display()))
        })
        .collect::<Result<_>>()?;
    let raw = model.outputs_in(x, context)?;
    let mut said = Vec::with_capacity(x.rows());
    let mut text = String::new();
    if !probability {
        for raw in raw.chunks_exact(outputs) {
            let label = labels[libsvm_text::vote(raw, classes)];
            said.push(label);
            text.push_str(&(general(label, 17) + "\n"));
        }
        return Ok((said, text));
    }
    let Some(calibration) = &model.calibration else {
        bail!("{}: the model does not support probability estimates: train with -b 1", path.display())
    };
    text.push_str(&format!("labels {}\n", model.classes.join(" ")));
    for raw in raw.chunks_exact(outputs) {
        let pairs: Vec<f64> =
            calibration.sigmoids.iter().zip(raw).map(|(sigmoid, &f)| sigmoid.probability(f).clamp(1e-7, 1.0 - 1e-7)).collect();
        let each = if classes == 2 { vec![pairs[0], 1.0 - pairs[0]] } else { couple(&square(&pairs, classes), classes) };
        let best = (1..classes).fold(0, |best, i| if each[i] > each[best] { i } else { best });
        said.push(labels[best]);
        let numbers: Vec<String> = each.iter().map(|&p| g(p)).collect();
        text.push_str(&format!("{} {}\n", general(labels[best], 17), numbers.join(" ")));
    }
    Ok((said, text))
}

/// Pairwise probabilities as the matrix that the coupling wants.
fn square(pairs: &[f64], classes: usize) -> Vec<f64> {
    let mut all = vec![0.0; classes * classes];
    let mut next = pairs.iter();
    for i in 0..classes {
        for j in i + 1..classes {
            let p = *next.next().expect("one per pair");
            all[i * classes + j] = p;
            all[j * classes + i] = 1.0 - p;
        }
    }
    all
}

fn score(regression: bool, truth: &[f64], said: &[f64]) -> String {
    let n = truth.len();
    if regression {
        let pairs: Vec<(f64, f64)> = said.iter().copied().zip(truth.iter().copied()).collect();
        let mse = pairs.iter().map(|(a, b)| (a - b).powi(2)).sum::<f64>() / n as f64;
        return format!(
            "Mean squared error = {} (regression)\nSquared correlation coefficient = {} (regression)\n",
            g(mse),
            g(squared_correlation(&pairs))
        );
    }
    let right = truth.iter().zip(said).filter(|(a, b)| a == b).count();
    format!("Accuracy = {}% ({right}/{n}) (classification)\n", g(100.0 * right as f64 / n as f64))
}
