//! What a class's found rows and false alarms come to as the threshold falls: what ROC and precision-recall curves are drawn from.

use crate::picture::{Layer, Mark, Role, thinned};

/// Points of a curve.
const POINTS: usize = 150;

/// Rows that reach a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// The lowest score among them.
    pub threshold: f64,
    /// Those that are of the class.
    pub found: f64,
    /// Those that are not.
    pub alarms: f64,
}

/// A class against the rest: the steps of its threshold, and what the model itself says.
pub(super) struct Curve {
    /// One step per score that occurs, from the highest on.
    pub steps: Vec<Step>,
    /// Rows of the class, and all others.
    pub totals: (f64, f64),
    /// What the decisions come to; the threshold is the one that does the same, where there is one.
    pub said: Step,
}

impl Curve {
    /// `truth` says which rows are of the class, `scores` how strongly each is taken for it, `said` which the model itself takes for it.
    pub fn new(truth: &[bool], scores: &[f64], said: &[bool]) -> Self {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let (mut found, mut alarms, mut steps) = (0.0, 0.0, Vec::new());
        for (place, &i) in order.iter().enumerate() {
            *(if truth[i] { &mut found } else { &mut alarms }) += 1.0;
            if order.get(place + 1).is_none_or(|&next| scores[next] != scores[i]) {
                steps.push(Step { threshold: scores[i], found, alarms });
            }
        }
        let counted = |own: bool| (0..truth.len()).filter(|&i| truth[i] == own && said[i]).count() as f64;
        let (own, wrong) = (counted(true), counted(false));
        let threshold = steps.iter().find(|step| step.found == own && step.alarms == wrong).map_or(f64::NAN, |step| step.threshold);
        Self { steps, totals: (found, alarms), said: Step { threshold, found: own, alarms: wrong } }
    }

    /// Steps to draw: spread evenly, the last one and the one that is said always among them.
    fn shown(&self) -> Vec<Step> {
        let mut places = thinned(self.steps.len(), POINTS);
        places.extend(self.steps.len().checked_sub(1));
        places.extend(self.steps.iter().position(|step| step.threshold == self.said.threshold));
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| self.steps[place]).collect()
    }

    /// The curve as a layer; `first` is drawn before the steps.
    pub fn layer(&self, name: &str, role: Role, first: Option<(f64, f64)>, place: impl Fn(&Step) -> (f64, f64)) -> Layer {
        let steps = self.shown();
        let column = |before: f64, value: &dyn Fn(&Step) -> f64| first.map(|_| before).into_iter().chain(steps.iter().map(value)).collect();
        Layer::new(Mark::Line, name, role)
            .points(first.into_iter().chain(steps.iter().map(&place)))
            .numbers("threshold", column(f64::NAN, &|step| step.threshold))
            .numbers("rows found", column(0.0, &|step| step.found))
            .numbers("false alarms", column(0.0, &|step| step.alarms))
    }
}
