//! `boulevard svm-train`: LIBSVM's options in, LIBSVM's messages and model file out.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use boulevard::any::AnyLearner;
use boulevard::data::io::{Format, PrecomputedUse, ReadOptions, TargetKind, read_precomputed};
use boulevard::data::{Categories, Dataset, Target};
use boulevard::kernel::{Gamma, Kernel};
use boulevard::observe::{Context, StopReason};
use boulevard::persist::{AnyModel, libsvm_text};
use boulevard::svm::{CalibrationMethod, ClassWeight, Learner, Model, OneClass, Penalty, SolverSettings, Svc, Svr, Tube};
use boulevard::validation::default_folds;

use super::report as lines;
use super::words::{self, Choice};
use crate::args::LibsvmArgs;
use crate::progress::Watcher;
use crate::report::number::g;
use crate::report::print;
use crate::{Outcome, data, files};

const USAGE: &str = "\
Usage: boulevard svm-train [options] training_set_file [model_file]
options:
-s svm_type : 0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR (default 0)
-t kernel_type : 0 linear, 1 polynomial, 2 rbf, 3 sigmoid, 4 precomputed (default 2)
-d degree : degree of the kernel (default 3)
-g gamma : gamma of the kernel (default 1/num_features)
-r coef0 : constant of the kernel (default 0)
-c cost : C of C-SVC, epsilon-SVR and nu-SVR (default 1)
-n nu : nu of nu-SVC, one-class and nu-SVR (default 0.5)
-p epsilon : half-width of the tube of epsilon-SVR (default 0.1)
-m cachesize : megabytes of kernel rows (default 100)
-e epsilon : tolerance of the stopping rule (default 0.001)
-h shrinking : 0 or 1 (default 1)
-b probability_estimates : 0 or 1 (default 0)
-wi weight : C of class i is weight*C (default 1)
-v n : n-fold cross-validation
-q : quiet
";

/// The options, checked one by one.
struct Request {
    kind: u32,
    kernel: u32,
    degree: u32,
    gamma: Option<f64>,
    coef0: f64,
    c: f64,
    nu: f64,
    epsilon: f64,
    solver: SolverSettings,
    probability: bool,
    weights: Vec<(String, f64)>,
    folds: Option<usize>,
    quiet: bool,
    data: PathBuf,
    model: PathBuf,
}

/// Checks the options alone.
#[cfg(test)]
pub fn check(args: &LibsvmArgs) -> Result<()> {
    Request::new(args).map(drop)
}

pub fn run(args: &LibsvmArgs) -> Result<Outcome> {
    ensure!(!args.words.is_empty(), "expected a training file; `boulevard svm-train --help` lists the options");
    if args.words[0] == "--help" {
        print(USAGE)?;
        return Ok(Outcome::Done);
    }
    let request = Request::new(args)?;
    if request.folds.is_none() {
        files::expect_writable(&request.model)?;
    }
    let data = request.read()?;
    let learner = request.learner(&data)?;
    let watcher = Watcher::new(true);
    let context = Context::default().with_observer(&watcher);
    match request.folds {
        Some(folds) => cross_validation(&learner, &data, folds, &context)?,
        None => {
            let model = train(&learner, &data, request.quiet, &context)?;
            libsvm_text::write(&model, &request.model, &libsvm_text::WriteOptions::default())?;
            ensure!(
                model.report().stop != StopReason::Interrupted,
                "interrupted: the partial model was saved to {}",
                request.model.display()
            );
        }
    }
    Ok(Outcome::Done)
}

impl Request {
    fn new(args: &LibsvmArgs) -> Result<Self> {
        let words = words::parse(&args.words, "stdgrcnpmehbwv", "q", USAGE)?;
        let (data, model) = match &words.files[..] {
            // LIBSVM writes the model beside the user, not beside the data.
            [data] => (data.clone(), PathBuf::from(format!("{}.model", data.file_name().unwrap_or_default().to_string_lossy()))),
            [data, model] => (data.clone(), model.clone()),
            files => bail!("expected a training file and perhaps a model file, got {} names\n\n{USAGE}", files.len()),
        };
        let solver = SolverSettings { cache_megabytes: Some(100.0), ..SolverSettings::default() };
        let mut request = Self {
            kind: 0,
            kernel: 2,
            degree: 3,
            gamma: None,
            coef0: 0.0,
            c: 1.0,
            nu: 0.5,
            epsilon: 0.1,
            solver,
            probability: false,
            weights: Vec::new(),
            folds: None,
            quiet: false,
            data,
            model,
        };
        for choice in &words.options {
            request.take(choice)?;
        }
        ensure!(request.kind <= 4, "unknown svm type {}: -s must be 0 to 4", request.kind);
        ensure!(request.kernel <= 4, "unknown kernel type {}: -t must be 0 to 4", request.kernel);
        ensure!(!(request.probability && request.kind == 2), "-b 1 is not for one-class machines");
        Ok(request)
    }

    fn take(&mut self, choice: &Choice) -> Result<()> {
        match choice.letter {
            's' => self.kind = choice.number()?,
            't' => self.kernel = choice.number()?,
            'd' => self.degree = choice.number()?,
            // LIBSVM reads 0 as "not given".
            'g' => self.gamma = Some(choice.number::<f64>()?).filter(|&gamma| gamma != 0.0),
            'r' => self.coef0 = choice.number()?,
            'c' => self.c = choice.number()?,
            'n' => self.nu = choice.number()?,
            'p' => self.epsilon = choice.number()?,
            'm' => self.solver.cache_megabytes = Some(choice.number()?),
            'e' => self.solver.tolerance = choice.number()?,
            'h' => self.solver.shrinking = choice.switch()?,
            'b' => self.probability = choice.switch()?,
            'w' => {
                let class = choice.class.clone().unwrap_or_default();
                let number: f64 = class.parse().map_err(|_| anyhow::anyhow!("-w{class}: the class must be a number"))?;
                self.weights.push((number.to_string(), choice.number()?));
            }
            'v' => {
                let folds: usize = choice.number()?;
                ensure!(folds >= 2, "n-fold cross validation: n must be >= 2");
                self.folds = Some(folds);
            }
            _ => self.quiet = true,
        }
        Ok(())
    }

    fn read(&self) -> Result<Dataset<'static>> {
        files::expect_file(&self.data)?;
        let target = match self.kind {
            0 | 1 => TargetKind::Classes,
            2 => TargetKind::None,
            _ => TargetKind::Real,
        };
        let options = ReadOptions { format: Some(Format::Libsvm), target, ..ReadOptions::default() };
        let mut data = match self.kernel {
            4 => {
                let table = read_precomputed(&self.data, &options, PrecomputedUse::Train)?;
                let whole = table.own_columns.iter().enumerate().all(|(row, &column)| row == column);
                ensure!(
                    whole && table.data.len() == table.data.x.columns(),
                    "{}: rows must be numbered 0:1, 0:2, ... and the matrix square",
                    self.data.display()
                );
                table.data
            }
            _ => Dataset::read_with(&self.data, &options)?,
        };
        if let Target::Classes(classes) = &data.target {
            data.target = Target::Classes(by_appearance(classes, &self.data)?);
        }
        Ok(data)
    }

    fn learner(&self, data: &Dataset<'_>) -> Result<AnyLearner> {
        let gamma = Gamma::Value(self.gamma.unwrap_or(1.0 / data.x.columns() as f64));
        let kernel = match self.kernel {
            0 => Kernel::Linear,
            1 => Kernel::Poly { degree: self.degree, gamma, coef0: self.coef0 },
            2 => Kernel::Rbf { gamma },
            3 => Kernel::Sigmoid { gamma, coef0: self.coef0 },
            _ => Kernel::Precomputed,
        };
        let svc = |penalty: Penalty| {
            let known = |name: &String| data.expect_classes().is_ok_and(|classes| classes.names().contains(name));
            // LIBSVM warns about weights of classes that do not occur, and goes on.
            let (given, unknown): (Vec<_>, Vec<_>) = self.weights.iter().cloned().partition(|(name, _)| known(name));
            for (name, _) in unknown {
                crate::report::complain(&format!("WARNING: class label {name} specified in weight is not found"));
            }
            let class_weight = if given.is_empty() { ClassWeight::Equal } else { ClassWeight::Given(given) };
            AnyLearner::from(Svc {
                kernel: kernel.clone(),
                penalty,
                class_weight,
                solver: self.solver,
                calibrate: self.probability,
                // The file has room for no other.
                calibration: CalibrationMethod::Sigmoid,
                ..Svc::default()
            })
        };
        let svr = |tube: Tube| AnyLearner::from(Svr { kernel: kernel.clone(), c: self.c, tube, solver: self.solver });
        Ok(match self.kind {
            0 => svc(Penalty::C(self.c)),
            1 => svc(Penalty::Nu(self.nu)),
            2 => OneClass { kernel, nu: self.nu, solver: self.solver }.into(),
            3 => svr(Tube::Epsilon(self.epsilon)),
            _ => svr(Tube::Nu(self.nu)),
        })
    }
}

/// LIBSVM numbers classes as they appear, except that +1 comes before -1 when these are the two.
fn by_appearance(classes: &Categories, path: &Path) -> Result<Categories> {
    for name in classes.names() {
        ensure!(name.parse::<i32>().is_ok(), "{}: class `{name}` is not a whole number", path.display());
    }
    let mut order: Vec<u32> = Vec::new();
    for &code in classes.codes() {
        if !order.contains(&code) {
            order.push(code);
        }
    }
    let name = |code: u32| classes.names()[code as usize].as_str();
    if order.len() == 2 && name(order[0]) == "-1" && name(order[1]) == "1" {
        order.reverse();
    }
    let place = |code: u32| order.iter().position(|&known| known == code).expect("every code appeared") as u32;
    let names = order.iter().map(|&code| name(code).to_owned()).collect();
    Ok(Categories::new(classes.codes().iter().map(|&code| place(code)).collect(), names)?)
}

fn train(learner: &AnyLearner, data: &Dataset<'_>, quiet: bool, context: &Context<'_>) -> Result<AnyModel> {
    let model = learner.fit_in(data, context)?;
    if !quiet {
        print(&lines::text(&model, data)?)?;
    }
    Ok(model)
}

fn cross_validation(learner: &AnyLearner, data: &Dataset<'_>, count: usize, context: &Context<'_>) -> Result<()> {
    let count = count.min(data.len());
    let plain = learner.clone().without_calibration();
    let results = data::all_folds(&plain, data, &default_folds(data, count, 0)?, context)?;
    match &data.target {
        Target::Real(truth) => {
            let (mut pairs, mut total) = (Vec::with_capacity(data.len()), 0.0);
            for fold in &results {
                let Target::Real(said) = &fold.predictions else { bail!("a regressor predicts numbers") };
                for (&row, &value) in fold.test.iter().zip(said) {
                    total += (value - truth[row]).powi(2);
                    pairs.push((value, truth[row]));
                }
            }
            print(&format!(
                "Cross Validation Mean squared error = {}\nCross Validation Squared correlation coefficient = {}\n",
                g(total / data.len() as f64),
                g(lines::squared_correlation(&pairs))
            ))
        }
        target => {
            // One-class machines have no truth: LIBSVM compares with the file's labels, here the share inside is the answer.
            let mut wrong = 0.0;
            for fold in &results {
                wrong += fold.loss(data)? * fold.test.len() as f64;
            }
            let total = target.count().unwrap_or(data.len()) as f64;
            print(&format!("Cross Validation Accuracy = {}%\n", g(100.0 * (total - wrong.round()) / total)))
        }
    }
}
