//! Boosted classifiers in files: one machine per width, and the rounds as flat arrays.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::machine::{self, MachineRecord, check_machine};
use super::native::Stored;
use super::parts::{Report, check_feature_names, check_offsets, equal, read_sigmoids, write_sigmoids};
use crate::error::{Error, Result};
use crate::methods::boosted::{BoostedModel, BoostedSvc, Chosen, Ending, Kind, LabelEnsemble, Round};
use crate::svm::{FitReport, Layout, Learner};

/// Everything of a model that is not an array.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoostedRecord {
    parameters: BoostedSvc,
    kind: Kind,
    names: Vec<String>,
    endings: Vec<Ending>,
    /// Rounds of each label.
    rounds: Vec<usize>,
    at_least_one: bool,
    features: usize,
    machines: Vec<MachineRecord>,
    feature_names: Option<Vec<String>>,
    /// Absent where both classes count alike, and in files of versions that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sought: Option<usize>,
    /// Absent where nothing was tried, and in files of versions that tried nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chosen: Option<Chosen>,
    #[serde(with = "Report")]
    report: FitReport,
}

fn prefix(machine: usize) -> String {
    format!("machine{machine}.")
}

impl Stored for BoostedModel {
    type Record = BoostedRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<BoostedRecord> {
        check(self)?;
        let all: Vec<&Round> = self.labels.iter().flat_map(|label| &label.rounds).collect();
        let numbers: Vec<f64> = all.iter().flat_map(|round| [round.alpha, round.error, round.sigma]).collect();
        arrays.put_f64("rounds".into(), vec![all.len(), 3], &numbers);
        let place = |part: fn(&Round) -> usize| all.iter().map(|round| part(round)).collect::<Vec<usize>>();
        arrays.put_usize("rounds.drawn".into(), &place(|round| round.drawn));
        arrays.put_usize("rounds.machine".into(), &place(|round| round.machine));
        arrays.put_usize("rounds.output".into(), &place(|round| round.output));
        arrays.put_usize("missed.counts".into(), &place(|round| round.missed.len()));
        arrays.put_usize("missed".into(), &all.iter().flat_map(|round| round.missed.iter().copied()).collect::<Vec<_>>());
        let lengths: Vec<usize> = self.labels.iter().map(|label| label.start.len()).collect();
        arrays.put_usize("start.counts".into(), &lengths);
        let start: Vec<f64> = self.labels.iter().flat_map(|label| label.start.iter().copied()).collect();
        arrays.put_f64("start".into(), vec![start.len()], &start);
        let thresholds: Vec<f64> = self.labels.iter().map(|label| label.threshold).collect();
        arrays.put_f64("thresholds".into(), vec![thresholds.len()], &thresholds);
        arrays.put_f64("stage_scores".into(), vec![self.stage_scores.len()], &self.stage_scores);
        write_sigmoids(self.calibration.as_deref(), "", arrays);
        let machines = self.machines.iter().enumerate().map(|(k, one)| machine::store(one, &prefix(k), arrays));
        Ok(BoostedRecord {
            parameters: self.parameters.clone(),
            kind: self.kind,
            names: self.names.clone(),
            endings: self.labels.iter().map(|label| label.ending).collect(),
            rounds: self.labels.iter().map(|label| label.rounds.len()).collect(),
            at_least_one: self.at_least_one,
            features: self.features,
            machines: machines.collect::<Result<_>>()?,
            feature_names: self.feature_names.clone(),
            sought: self.sought,
            chosen: self.chosen.clone(),
            report: self.report,
        })
    }

    fn restore(record: BoostedRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let labels = record.endings.len();
        equal("round counts, one per label", labels, record.rounds.len())?;
        let mut rounds = rounds(arrays)?.into_iter();
        let mut starts = cut(&arrays.list_f64("start")?, &arrays.list_usize("start.counts")?)?.into_iter();
        let thresholds = arrays.list_f64("thresholds")?;
        equal("thresholds, one per label", labels, thresholds.len())?;
        equal("lists of first weights, one per label", labels, starts.len())?;
        let total = record.rounds.iter().try_fold(0usize, |sum, &count| sum.checked_add(count)).unwrap_or(usize::MAX);
        equal("rounds of all labels", total, rounds.len())?;
        let labels = (0..labels).map(|label| LabelEnsemble {
            rounds: rounds.by_ref().take(record.rounds[label]).collect(),
            start: starts.next().unwrap_or_default(),
            threshold: thresholds[label],
            ending: record.endings[label],
        });
        let labels = labels.collect();
        let machines = record.machines.into_iter().enumerate().map(|(k, one)| machine::restore(one, &prefix(k), arrays));
        let model = Self {
            parameters: record.parameters,
            kind: record.kind,
            names: record.names,
            labels,
            machines: machines.collect::<Result<_>>()?,
            at_least_one: record.at_least_one,
            calibration: read_sigmoids("", arrays)?,
            stage_scores: arrays.list_f64("stage_scores")?,
            features: record.features,
            feature_names: record.feature_names,
            sought: record.sought,
            chosen: record.chosen,
            report: record.report,
        };
        check(&model)?;
        Ok(model)
    }
}

/// The rounds of all labels, one after another.
fn rounds(arrays: &ArrayReader<'_>) -> Result<Vec<Round>> {
    let (numbers, [count, three]) = arrays.table_f64("rounds")?;
    equal("numbers per round", 3, three)?;
    let places = |name: &str| {
        let list = arrays.list_usize(name)?;
        equal(format!("entries of `{name}`, one per round"), count, list.len())?;
        Ok::<_, Error>(list)
    };
    let (drawn, machine, output) = (places("rounds.drawn")?, places("rounds.machine")?, places("rounds.output")?);
    let missed = cut(&arrays.list_usize("missed")?, &places("missed.counts")?)?;
    let round = |(k, missed): (usize, Vec<usize>)| Round {
        alpha: numbers[3 * k],
        error: numbers[3 * k + 1],
        sigma: numbers[3 * k + 2],
        drawn: drawn[k],
        missed,
        machine: machine[k],
        output: output[k],
    };
    Ok(missed.into_iter().enumerate().map(round).collect())
}

/// A flat list in pieces of these lengths.
fn cut<T: Clone>(values: &[T], lengths: &[usize]) -> Result<Vec<Vec<T>>> {
    let mut rest = values;
    let mut pieces = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let Some((piece, after)) = rest.split_at_checked(length) else {
            return Err(Error::shape("values in the pieces of a list", rest.len(), length));
        };
        pieces.push(piece.to_vec());
        rest = after;
    }
    equal("values left over in a list", 0, rest.len())?;
    Ok(pieces)
}

/// Everything that prediction and the weight history rely on.
fn check(model: &BoostedModel) -> Result<()> {
    model.parameters.validate()?;
    model.settings().validate()?;
    let names = model.names.len();
    if let Some(name) = model.names.iter().enumerate().find(|(i, name)| model.names[..*i].contains(name)).map(|(_, name)| name) {
        return Err(Error::data(format!("label `{}` is named twice", name.escape_debug())));
    }
    let ensembles = match model.kind {
        Kind::TwoClasses => {
            equal("names of two classes", 2, names)?;
            1
        }
        Kind::Classes | Kind::Labels => names.max(1),
    };
    equal("ensembles", ensembles, model.labels.len())?;
    equal("sigmoids, one per ensemble", ensembles, model.calibration.as_ref().map_or(ensembles, Vec::len))?;
    check_feature_names(model.feature_names.as_deref(), model.features)?;
    crate::check::at_least("BoostedModel", "features", model.features, 1)?;
    for one in &model.machines {
        check_machine(one)?;
        check_offsets("the intercepts", &one.intercepts, |_| false)?;
        equal("columns of a machine", model.features, one.features)?;
        if one.layout != Layout::Full {
            return Err(Error::data("the machines of a boosted model have one coefficient per output and support vector"));
        }
    }
    for (row, label) in model.labels.iter().enumerate() {
        let finite = |what: &'static str, values: &[f64]| match values.iter().position(|v| !v.is_finite()) {
            Some(column) => Err(Error::NotFinite { what, found: values[column].to_string(), row, column }),
            None => Ok(()),
        };
        finite("the thresholds", &[label.threshold])?;
        finite("the first weights", &label.start)?;
        for round in &label.rounds {
            finite("a round", &[round.alpha, round.error, round.sigma])?;
            crate::check::positive("BoostedModel", "alpha", round.alpha)?;
            let outputs = model.machines.get(round.machine).map_or(0, |machine| machine.outputs());
            if round.output >= outputs {
                return Err(Error::data(format!("a round is output {} of machine {}, which has {outputs}", round.output, round.machine)));
            }
            if let Some(row) = round.missed.iter().find(|&&row| row >= label.start.len()) {
                return Err(Error::data(format!("missed row {row} is outside the {} training rows", label.start.len())));
            }
        }
    }
    let sigmoids = model.calibration.iter().flatten();
    match sigmoids.enumerate().find(|(_, s)| !(s.a.is_finite() && s.b.is_finite())) {
        Some((row, s)) => Err(Error::NotFinite { what: "the calibration", found: format!("{} and {}", s.a, s.b), row, column: 0 }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::native::tests_only::with_arrays;
    use super::super::{AnyModel, arrays};
    use super::*;
    use crate::data::{Dataset, LabelMatrix, Target, generate};
    use crate::methods::boosted::{Sampling, Thresholds};

    fn labelled() -> Dataset<'static> {
        let data = generate::two_gaussians(40, 3, 2, 1.5);
        let on = (0..40).flat_map(|i| [data.x.get(i, 0) > 0.0, data.x.get(i, 1) > 0.8, false]).collect();
        let names = ["a", "b \u{3b1}", "never"].map(String::from).to_vec();
        Dataset { feature_names: Some(vec!["x".into(), "y".into()]), target: Target::Labels(LabelMatrix::new(on, names).unwrap()), ..data }
    }

    fn short() -> BoostedSvc {
        BoostedSvc { max_rounds: 3, sampling: Sampling::Stratified, sampling_ratio: 0.6, ..BoostedSvc::default() }
    }

    #[test]
    fn files_keep_every_bit() {
        let data = labelled();
        let plain = BoostedSvc { thresholds: Thresholds::Zero, early_stopping: false, ..short() };
        let classes = generate::two_gaussians(40, 1, 2, 2.0);
        let sparse = Dataset { x: data.x.to_sparse(), ..data.clone() };
        for (settings, data) in [(short(), &data), (plain, &data), (BoostedSvc::paper(), &sparse), (short(), &classes)] {
            let model = AnyModel::from(settings.fit(data).unwrap());
            let bytes = model.to_bytes().unwrap();
            assert_eq!(AnyModel::from_bytes(&bytes).unwrap(), model);
            assert_eq!(AnyModel::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn inconsistent_models_are_neither_written_nor_read() {
        type Change = fn(&mut BoostedModel);
        let model = short().fit(&labelled()).unwrap();
        let changes: [(Change, &str); 12] = [
            (|m| m.labels[0].rounds[0].alpha = f64::NAN, "NaN"),
            (|m| m.labels[0].rounds[0].alpha = -1.0, "`alpha`"),
            (|m| m.labels[0].rounds[0].output = 99, "output 99"),
            (|m| m.labels[0].rounds[0].machine = 99, "machine 99"),
            (|m| m.labels[0].rounds[0].missed.push(40), "missed row 40"),
            (|m| m.labels[1].threshold = f64::INFINITY, "the thresholds contains inf at row 1"),
            (|m| drop(m.labels.pop()), "ensembles: expected 3, found 2"),
            (|m| m.kind = Kind::TwoClasses, "names of two classes"),
            (|m| m.names[1] = "a".into(), "label `a` is named twice"),
            (|m| m.calibration = Some(Vec::new()), "sigmoids"),
            (|m| m.features = 7, "expected 7, found 2"),
            (|m| m.machines[0].intercepts[0] = f64::NAN, "the intercepts contains NaN"),
        ];
        for (change, expected) in changes {
            let mut model = model.clone();
            change(&mut model);
            let message = AnyModel::from(model).to_bytes().unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let read = |change: &dyn Fn(&mut arrays::ArrayWriter)| AnyModel::from_bytes(&with_arrays(&model, change));
        assert!(read(&|_| ()).is_ok());
        for name in ["missed", "missed.counts", "rounds.drawn", "rounds.machine", "rounds.output", "start.counts"] {
            let shorter = |a: &mut arrays::ArrayWriter| {
                a.arrays.remove(name);
                a.put_usize(name.into(), &[usize::MAX]);
            };
            assert!(read(&shorter).is_err(), "{name}");
        }
        for name in ["rounds", "start", "thresholds", "stage_scores", "machine0.coefficients"] {
            assert!(read(&|a| drop(a.arrays.remove(name))).is_err(), "{name}");
        }
    }
}
