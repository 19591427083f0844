//! The learner: class means, drawn towards the mean of all rows.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::model::NearestMeanModel;
use crate::check;
use crate::data::Dataset;
use crate::error::Result;
use crate::observe::Context;
use crate::svm::{FitReport, Learner};

/// Parameters of the toy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NearestMean {
    /// How far class means are drawn towards the mean of all rows, from 0 to 1.
    pub shrink: f64,
}

impl Learner for NearestMean {
    type Model = NearestMeanModel;

    fn validate(&self) -> Result<()> {
        check::not_negative("NearestMean", "shrink", self.shrink)
    }

    fn fit_in(&self, data: &Dataset<'_>, _context: &Context<'_>) -> Result<NearestMeanModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let (classes, columns) = (data.expect_classes()?, data.x.columns());
        let mut sums = vec![vec![0.0; columns]; classes.names().len()];
        let mut all = vec![0.0; columns];
        for (row, &code) in classes.codes().iter().enumerate() {
            data.x.for_each(row, |column, value| {
                sums[code as usize][column] += value;
                all[column] += value / data.len() as f64;
            });
        }
        let means = sums.iter().zip(classes.counts()).flat_map(|(sum, count)| {
            let own = |column: usize| sum[column] / count.max(1) as f64;
            (0..columns).map(|column| own(column) + self.shrink * (all[column] - own(column))).collect::<Vec<_>>()
        });
        Ok(NearestMeanModel {
            parameters: self.clone(),
            classes: classes.names().to_vec(),
            means: means.collect(),
            feature_names: data.feature_names.clone(),
            report: FitReport { seconds: start.elapsed().as_secs_f64(), rows: data.len(), ..FitReport::default() },
        })
    }
}
