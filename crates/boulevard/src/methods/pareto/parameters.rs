//! What a front can be asked for.

use serde::{Deserialize, Serialize};

use super::choose::Pick;
use super::evolve::Variant;
use super::evolve::variation::{Crossover, Mutation};
use crate::check;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::svm::{CalibrationMethod, SolverSettings};

/// How the front is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Mode {
    /// Exact points; restarts where the kernel is not positive semi-definite.
    ///
    /// Exact slots; where the kernel is not positive semi-definite, restarts and mixtures look for better minima.
    #[default]
    Hybrid,
    /// Exact points only.
    ///
    /// Exact slots only: with such a kernel each is a local minimum.
    Exact,
    /// The paper's evolution.
    Evolve,
}

/// Whether the machines have an intercept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bias {
    /// [`Bias::Objective`] for exact fronts: without an intercept an indefinite kernel may put all rows on one side, and a narrow one gives
    /// everything far from the rows to one class. [`Bias::None`] for evolutions, as in the paper.
    #[default]
    Auto,
    /// None: two objectives.
    None,
    /// `-|sum alpha y|` is a third objective; exact slots keep it at zero, each class with half of the sum.
    Objective,
}

/// Widths of the kernel (values of gamma) whose fronts are compared; the one with the lowest estimated hold-out error is chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Widths {
    /// Around the data's own: 1/64 to 4 times one over columns times variance. The same as [`Widths::Kernel`] where the kernel's gamma is
    /// given as a number or there is none, without a hold-out, and for evolutions.
    #[default]
    Auto,
    /// The kernel's own only.
    Kernel,
    /// These.
    #[serde(untagged)]
    Values(Vec<f64>),
}

/// From what users write: `auto`, `kernel`, or numbers separated by commas.
impl std::str::FromStr for Widths {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |part: &str| check::number(part).ok_or_else(|| Error::data(format!("`{part}` is not a number")));
        match text {
            "auto" => Ok(Self::Auto),
            "kernel" => Ok(Self::Kernel),
            list => list.split(',').map(number).collect::<Result<Vec<f64>>>().map(Self::Values),
        }
    }
}

/// Parameters of a multi-objective support vector classifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParetoSvc {
    /// The kernel. A multiquadric grows with distance and is used with a negative sign, which makes it a similarity.
    pub kernel: Kernel,
    /// Widths of the kernel whose fronts are compared.
    pub widths: Widths,
    /// How the front is computed.
    pub mode: Mode,
    /// Points of an exact front, at equally spaced sums.
    pub n_points: usize,
    /// Candidates of an evolution, at least 4.
    pub population_size: usize,
    /// Generations of an evolution.
    pub generations: usize,
    /// How an evolution mutates.
    pub mutation: Mutation,
    /// How an evolution recombines.
    pub crossover: Crossover,
    /// Which NSGA-II.
    pub variant: Variant,
    /// Share of the rows that are held out to measure errors on, below 1; 0 for none.
    pub holdout: f64,
    /// Hold-outs over which errors are averaged before a point of an exact front is picked. The table shows those of the first.
    pub holdout_repeats: usize,
    /// Whether the machines have an intercept.
    pub bias: Bias,
    /// Which point becomes the classifier.
    pub pick: Pick,
    /// Whether the picked point of an exact front is solved again on all rows, the held-out ones too.
    pub refit: bool,
    /// Relative KKT gap of every point of an exact front.
    pub tolerance: f64,
    /// Megabytes for the kernel matrix or its rows at most; none: what the fit can use, up to a quarter of the memory that is free.
    pub cache_megabytes: Option<f64>,
    /// Steps of the solver per point at most; none means two hundred per row and 100 000.
    pub max_iterations: Option<u64>,
    /// Whether to fit probabilities with the model.
    pub calibrate: bool,
    /// How probabilities of more than two classes are made.
    pub calibration: CalibrationMethod,
    /// Seed of the hold-out, the evolution and the restarts.
    pub seed: u64,
}

impl Default for ParetoSvc {
    fn default() -> Self {
        Self {
            kernel: Kernel::default(),
            widths: Widths::default(),
            mode: Mode::default(),
            n_points: 100,
            population_size: 100,
            generations: 1000,
            mutation: Mutation::default(),
            crossover: Crossover::default(),
            variant: Variant::default(),
            holdout: 0.2,
            holdout_repeats: 5,
            bias: Bias::default(),
            pick: Pick::default(),
            refit: true,
            tolerance: 1e-5,
            cache_megabytes: None,
            max_iterations: None,
            calibrate: false,
            calibration: CalibrationMethod::default(),
            seed: 0,
        }
    }
}

pub(super) const OWNER: &str = "ParetoSvc";
/// Most points and candidates: more than any picture can show.
const MOST_POINTS: usize = 100_000;

impl ParetoSvc {
    /// Whether machines have an intercept.
    pub(super) fn balanced(&self) -> bool {
        match self.bias {
            Bias::Auto => self.mode != Mode::Evolve,
            bias => bias == Bias::Objective,
        }
    }

    pub(super) fn cache_bytes(&self, samples: usize) -> usize {
        self.settings().cache_bytes_of(samples, 1)
    }

    /// The settings that a classifier made from a point remembers.
    pub(super) fn settings(&self) -> SolverSettings {
        SolverSettings { tolerance: self.tolerance, cache_megabytes: self.cache_megabytes, ..SolverSettings::default() }
    }

    /// Checks every number.
    pub(super) fn check(&self) -> Result<()> {
        self.kernel.validate()?;
        check::positive(OWNER, "tolerance", self.tolerance)?;
        self.cache_megabytes.map_or(Ok(()), |megabytes| check::positive(OWNER, "cache_megabytes", megabytes))?;
        if !(0.0..1.0).contains(&self.holdout) {
            return Err(check::complaint(OWNER, "holdout", "at least 0 (none) and below 1", self.holdout));
        }
        if let Widths::Values(values) = &self.widths {
            if values.is_empty() {
                return Err(check::complaint(OWNER, "widths", "a list of at least one value, `auto` or `kernel`", "none"));
            }
            values.iter().try_for_each(|&gamma| check::positive(OWNER, "widths", gamma))?;
        }
        check::at_least(OWNER, "holdout_repeats", self.holdout_repeats, 1)?;
        check::at_least(OWNER, "n_points", self.n_points, 2)?;
        check::at_least(OWNER, "population_size", self.population_size, 4)?;
        check::at_least(OWNER, "generations", self.generations, 1)?;
        for (name, value) in
            [("n_points", self.n_points), ("population_size", self.population_size), ("holdout_repeats", self.holdout_repeats)]
        {
            if value > MOST_POINTS {
                return Err(check::complaint(OWNER, name, format!("at most {MOST_POINTS}"), value));
            }
        }
        Ok(())
    }
}
