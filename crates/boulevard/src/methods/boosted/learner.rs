//! Parameters and the fit.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::assemble::assemble;
use super::committee::seat;
use super::ensemble::Schedule;
use super::fits::{distances, fit_all};
use super::gram::{Distances, kernel_of};
use super::model::BoostedModel;
use super::problems::Problems;
use super::search::{Found, search};
use crate::check;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::svm::{ClassWeight, Learner, SolverSettings};

/// Which rows a round learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// All of them, weighted.
    #[default]
    All,
    /// A share of them spread over the whole list from hard to easy, weighted (the paper).
    Stratified,
    /// The heaviest ones, not weighted (AdaBoost-SVM, the paper's baseline).
    Trimming,
}

/// Where the weights start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum InitialWeights {
    /// Whichever ranks held-out rows better.
    ///
    /// Uniform or balanced, whichever ranks held-out rows better; balanced where nothing is tried (see [`BoostedSvc::tune`]).
    #[default]
    Auto,
    /// Half of the mass for the rows with the label.
    ///
    /// Carriers of a label and the others have half of the mass each.
    Balanced,
    /// All rows the same (the paper).
    Uniform,
}

/// Where a score becomes a yes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Thresholds {
    /// Where the measure of held-out rows is best.
    ///
    /// Where the [`Measure`] of rows that were held out is largest.
    #[default]
    Tuned,
    /// At zero (the paper).
    Zero,
}

/// What thresholds and the number of rounds are chosen by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Measure {
    /// F1, the mean over labels; of two classes that of a rare one, or over both.
    #[default]
    F1,
    /// The mean recall of carriers and of others.
    BalancedAccuracy,
    /// What misses and false alarms cost.
    Cost,
    /// Precision, with at least a given share of the carriers found.
    PrecisionAtRecall,
}

/// What a round contributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Voting {
    /// Its decision value.
    #[default]
    Soft,
    /// Its sign (the paper).
    Hard,
}

/// The factor between a row's weight and its price: `C_i = C scale W_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WeightScale {
    /// The number of rows (the sum of the sample weights): prices average to C.
    #[default]
    #[serde(with = "letter_n")]
    N,
    /// This number.
    Value(f64),
}

/// `WeightScale::N` as the text `n`.
mod letter_n {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str("n")
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
        match String::deserialize(from)?.as_str() {
            "n" => Ok(()),
            other => Err(D::Error::custom(format!("weight_scale must be `n` or a number, found `{}`", other.escape_debug()))),
        }
    }
}

/// From what users write: `n` or a number.
impl std::str::FromStr for WeightScale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "n" => Ok(Self::N),
            number => check::number(number).map(Self::Value).ok_or_else(|| Error::data("expected `n` or a number")),
        }
    }
}

/// Rows that thresholds and the number of rounds are chosen on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Validation {
    /// Every row is held out once, in this many folds.
    Folds(usize),
    /// This share of the rows is held out once (rounded to one fold of several).
    Share(f64),
}

/// From what users write: a number of folds, or a share such as 0.2.
impl std::str::FromStr for Validation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match (text.parse(), check::number(text)) {
            (Ok(folds), _) => Ok(Self::Folds(folds)),
            (_, Some(share)) => Ok(Self::Share(share)),
            _ => Err(Error::data("expected a number of folds or a share such as 0.2")),
        }
    }
}

/// Whether a row that no label claims gets its best label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum AtLeastOne {
    /// If every training row has one.
    #[default]
    Auto,
    /// Yes.
    Always,
    /// No (the paper).
    Never,
}

/// Settings under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The published algorithm: see [`BoostedSvc::resolved`].
    Paper,
}

/// Parameters of the boosted classifier; see the [module](super).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoostedSvc {
    /// The price of one unit of slack at average weight.
    pub c: f64,
    /// Which rows a round learns from.
    pub sampling: Sampling,
    /// Share of the rows that is drawn, unless all are used.
    pub sampling_ratio: f64,
    /// Where the weights start.
    pub initial_weights: InitialWeights,
    /// Where a score becomes a yes.
    pub thresholds: Thresholds,
    /// What thresholds and the number of rounds are chosen by.
    pub measure: Measure,
    /// Price of a carrier that is missed, for [`Measure::Cost`]. Carriers of two classes are the rows of a rare one (at most a quarter of
    /// the weight), else of the second.
    pub miss_cost: f64,
    /// Price of a row that is wrongly given a label, for [`Measure::Cost`].
    pub alarm_cost: f64,
    /// Share of the carriers that must be found, for [`Measure::PrecisionAtRecall`].
    pub least_recall: f64,
    /// Whether C, the first width (unless given) and the first weights (unless given) are chosen by how held-out rows are ranked. Only
    /// where rows are held out anyway (tuned thresholds or early stopping) and all rows are used.
    pub tune: bool,
    /// What a round contributes.
    pub voting: Voting,
    /// Width of the first round's kernel `exp(-|x - z|^2 / (2 sigma^2))`; none means `sqrt(median of |x - z|^2 / 2)`.
    pub sigma_init: Option<f64>,
    /// No round is narrower than this; none means a fifth of the first width.
    pub sigma_min: Option<f64>,
    /// What a refused round takes off the width; none means a twentieth of the first width.
    pub sigma_step: Option<f64>,
    /// The factor between weights and prices.
    pub weight_scale: WeightScale,
    /// Rounds at most.
    pub max_rounds: usize,
    /// Whether to keep only as many rounds as serve held-out rows best.
    pub early_stopping: bool,
    /// The rows that thresholds and the number of rounds are chosen on.
    pub validation: Validation,
    /// Whether a row that no label claims gets its best label (label matrices only).
    pub at_least_one: AtLeastOne,
    /// Factors of C by class; for label matrices by label, for the rows that carry it.
    pub class_weight: ClassWeight,
    /// Whether to fit probabilities even if nothing else needs held-out rows.
    pub calibrate: bool,
    /// Settings that replace some of the above.
    pub preset: Option<Preset>,
    /// The solver's settings.
    pub solver: SolverSettings,
    /// Seed of draws and folds.
    pub seed: u64,
}

impl Default for BoostedSvc {
    fn default() -> Self {
        Self {
            c: 1.0,
            sampling: Sampling::default(),
            sampling_ratio: 0.3,
            initial_weights: InitialWeights::default(),
            thresholds: Thresholds::default(),
            measure: Measure::default(),
            miss_cost: 1.0,
            alarm_cost: 1.0,
            least_recall: 0.8,
            tune: true,
            voting: Voting::default(),
            sigma_init: None,
            sigma_min: None,
            sigma_step: None,
            weight_scale: WeightScale::default(),
            max_rounds: 20,
            early_stopping: true,
            validation: Validation::Folds(5),
            at_least_one: AtLeastOne::default(),
            class_weight: ClassWeight::default(),
            calibrate: false,
            preset: None,
            solver: SolverSettings::default(),
            seed: 0,
        }
    }
}

const OWNER: &str = "BoostedSvc";

impl BoostedSvc {
    /// The published algorithm with its 20 rounds.
    pub fn paper() -> Self {
        Self { preset: Some(Preset::Paper), ..Self::default() }.resolved()
    }

    /// The parameters a fit uses: the preset replaces sampling and its ratio, first weights, weight scale, thresholds, voting, early
    /// stopping, the rule for rows without labels, and tunes nothing. C, the widths, the number of rounds and class weights stay.
    pub fn resolved(&self) -> Self {
        match self.preset {
            None => self.clone(),
            Some(Preset::Paper) => Self {
                sampling: Sampling::Stratified,
                sampling_ratio: 0.3,
                initial_weights: InitialWeights::Uniform,
                weight_scale: WeightScale::N,
                thresholds: Thresholds::Zero,
                voting: Voting::Hard,
                early_stopping: false,
                tune: false,
                at_least_one: AtLeastOne::Never,
                ..self.clone()
            },
        }
    }

    /// Whether held-out rows are needed.
    fn holds_out(&self) -> bool {
        self.thresholds == Thresholds::Tuned || self.early_stopping || self.calibrate
    }

    /// Whether C, width and first weights are chosen by trials.
    pub(super) fn tries(&self) -> bool {
        self.tune && self.sampling == Sampling::All && (self.thresholds == Thresholds::Tuned || self.early_stopping)
    }

    /// The widths, those that were not given from the distances.
    pub(super) fn schedule(&self, distances: &Distances<'_>, weights: &[f64]) -> Result<Schedule> {
        let first = match self.sigma_init {
            Some(sigma) => sigma,
            None => distances.usual_sigma(weights, self.seed)?,
        };
        // The kernel divides by the square of the width, and squares the distances: both must stay finite.
        if !(kernel_of(first).validate().is_ok() && first.is_finite()) {
            return Err(check::complaint(
                OWNER,
                "sigma_init",
                "a width whose square is a finite number above 0 (scale the columns)",
                first,
            ));
        }
        let last = self.sigma_min.unwrap_or(first / 5.0);
        if last >= first {
            return Err(check::complaint(OWNER, "sigma_min", format!("below the first width {first}"), last));
        }
        Ok(Schedule { first, last, step: self.sigma_step.unwrap_or(first / 20.0) })
    }
}

impl Learner for BoostedSvc {
    type Model = BoostedModel;

    fn validate(&self) -> Result<()> {
        self.solver.validate(OWNER)?;
        check::positive(OWNER, "c", self.c)?;
        check::in_range(OWNER, "sampling_ratio", self.sampling_ratio, 0.0, 1.0)?;
        check::at_least(OWNER, "max_rounds", self.max_rounds, 1)?;
        if let Some(sigma) = self.sigma_init {
            check::positive(OWNER, "sigma_init", sigma)?;
        }
        if let Some(sigma) = self.sigma_min {
            check::not_negative(OWNER, "sigma_min", sigma)?;
        }
        if let Some(step) = self.sigma_step {
            check::not_negative(OWNER, "sigma_step", step)?;
        }
        if let (Some(first), Some(last)) = (self.sigma_init, self.sigma_min)
            && last >= first
        {
            return Err(check::complaint(OWNER, "sigma_min", format!("below sigma_init = {first}"), last));
        }
        check::not_negative(OWNER, "miss_cost", self.miss_cost)?;
        check::not_negative(OWNER, "alarm_cost", self.alarm_cost)?;
        if self.measure == Measure::Cost && self.miss_cost + self.alarm_cost == 0.0 {
            return Err(check::complaint(OWNER, "miss_cost", "above 0 where alarm_cost is 0", self.miss_cost));
        }
        check::in_range(OWNER, "least_recall", self.least_recall, 0.0, 1.0)?;
        if let WeightScale::Value(value) = self.weight_scale {
            check::positive(OWNER, "weight_scale", value)?;
        }
        match self.validation {
            Validation::Folds(folds) => check::at_least(OWNER, "validation", folds, 2),
            Validation::Share(share) if share > 0.0 && share <= 0.5 => Ok(()),
            Validation::Share(share) => {
                Err(check::complaint(OWNER, "validation", "a number of folds, or a share above 0 and at most 0.5", share))
            }
        }
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(&mut self.c)
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        Some(&mut self.calibrate)
    }

    fn no_search(&self) -> Option<&'static str> {
        Some("chooses its widths and rounds itself: evaluate several values of C instead")
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<BoostedModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let settings = self.resolved();
        let problems = Problems::new(data, &settings.class_weight)?;
        let part = problems.table(data);
        let x = part.as_ref().unwrap_or(&data.x);
        let distances = distances(&settings, x, context)?;
        let Found { settings, mut chosen, members } = search(&settings, &problems, x, &distances, context)?;
        let fits = fit_all(&settings, &problems, x, &distances, settings.holds_out(), true, context)?;
        let fits = seat(&settings, &members, &problems, x, &distances, fits, context)?;
        if let (Some(chosen), true) = (&mut chosen, fits.is_committee()) {
            chosen.committee = members.iter().map(|member| member.trial).collect();
        }
        let mut model = assemble(self, &settings, chosen, data, problems, fits);
        let alphas: Vec<f64> = model.labels.iter().flat_map(|label| label.rounds.iter().map(|round| round.alpha)).collect();
        let weights: Vec<&[f64]> =
            [&alphas[..]].into_iter().chain(model.machines.iter().map(|machine| &machine.coefficients[..])).collect();
        let offsets: Vec<&[f64]> = model.machines.iter().map(|machine| &machine.intercepts[..]).collect();
        model.report = model.report.finish(start, model.rows(), &weights, &offsets)?;
        Ok(model)
    }
}
