//! The toy in a file.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::native::Stored;
use super::parts::Report;
use crate::error::Result;
use crate::methods::nearest_mean::{NearestMean, NearestMeanModel};
use crate::svm::FitReport;

/// The header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NearestMeanRecord {
    parameters: NearestMean,
    classes: Vec<String>,
    means: Vec<f64>,
    feature_names: Option<Vec<String>>,
    #[serde(with = "Report")]
    report: FitReport,
}

impl Stored for NearestMeanModel {
    type Record = NearestMeanRecord;

    fn store(&self, _arrays: &mut ArrayWriter) -> Result<NearestMeanRecord> {
        let (parameters, classes, means) = (self.parameters.clone(), self.classes.clone(), self.means.clone());
        Ok(NearestMeanRecord { parameters, classes, means, feature_names: self.feature_names.clone(), report: self.report })
    }

    fn restore(record: NearestMeanRecord, _arrays: &ArrayReader<'_>) -> Result<Self> {
        let NearestMeanRecord { parameters, classes, means, feature_names, report } = record;
        Ok(Self { parameters, classes, means, feature_names, report })
    }
}
