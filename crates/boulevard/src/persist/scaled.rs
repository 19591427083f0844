//! A scaled model's file holds the scaler, the imputer or both in its header and the inner model's own file, whole, as one array of bytes.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::native::Stored;
use crate::any::{AnyModel, Kind, ScaledModel};
use crate::data::{Imputer, Scaler};
use crate::error::{Error, Result};

/// The header of a scaled model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScaledRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scaler: Option<Scaler>,
    /// Files from before there were imputers have none, and so have files of models without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    imputer: Option<Imputer>,
}

impl Stored for ScaledModel {
    type Record = ScaledRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<ScaledRecord> {
        arrays.put_bytes("model".into(), self.model.to_bytes()?);
        Ok(ScaledRecord { scaler: self.scaler.clone(), imputer: self.imputer.clone() })
    }

    fn restore(record: ScaledRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let bytes = arrays.list_bytes("model")?;
        // Asked before the inner file is parsed: a file of files of files must not use up the stack.
        if super::native::open(bytes)?.kind == Self::KIND {
            return Err(Error::data("a scaled model inside a scaled model"));
        }
        if record.scaler.is_none() && record.imputer.is_none() {
            return Err(Error::data("a scaled model with neither a scaler nor an imputer"));
        }
        record.imputer.as_ref().map_or(Ok(()), Imputer::check)?;
        Self::prepared(record.imputer, record.scaler, AnyModel::from_bytes(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Fill, Matrix, Scaling, generate};
    use crate::persist::native;
    use crate::svm::{Learner, Model as _, Svc};

    fn parts() -> (Scaler, AnyModel) {
        let data = generate::banana(60, 0);
        let scaler = Scaler::fit(&data.x, None, Scaling::Standard).unwrap();
        (scaler, Svc::default().fit(&data).unwrap().into())
    }

    #[test]
    fn a_scaled_model_comes_back_to_the_bit() {
        let (scaler, model) = parts();
        let scaled = AnyModel::from(ScaledModel::new(scaler, model).unwrap());
        let bytes = scaled.to_bytes().unwrap();
        assert_eq!(AnyModel::from_bytes(&bytes).unwrap(), scaled);
        for cut in [9, bytes.len() / 2, bytes.len() - 1] {
            assert!(AnyModel::from_bytes(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn an_imputer_comes_back_to_the_bit_and_files_without_one_do_not_mention_it() {
        let (scaler, model) = parts();
        let holes = Matrix::dense(vec![0.1, f64::NAN, f64::NAN, 0.3, 0.7, 0.9], 3, 2).unwrap();
        for (fill, scaler) in [(Fill::Median, None), (Fill::MostFrequent, Some(scaler.clone())), (Fill::Drop, None)] {
            let imputer = Imputer::fit(&holes, fill).unwrap();
            let filled = AnyModel::from(ScaledModel::prepared(Some(imputer), scaler, model.clone()).unwrap());
            let back = AnyModel::from_bytes(&filled.to_bytes().unwrap()).unwrap();
            assert_eq!(back, filled);
            assert_eq!(back.imputer().map(Imputer::fill), Some(fill));
            if fill != Fill::Drop {
                let (a, b) = (filled.decision_values(&holes).unwrap(), back.decision_values(&holes).unwrap());
                assert!(a.iter().all(|v| v.is_finite()) && a == b);
            }
        }
        let plain = AnyModel::from(ScaledModel::new(scaler, model.clone()).unwrap()).to_bytes().unwrap();
        assert!(!plain.windows(7).any(|bytes| bytes == b"imputer"));
        let narrow = Imputer::fit(&Matrix::dense(vec![1.0], 1, 1).unwrap(), Fill::Median).unwrap();
        assert!(ScaledModel::prepared(Some(narrow), None, model).unwrap_err().to_string().contains("columns of the imputer"));
    }

    #[test]
    fn scalers_fit_their_model_and_do_not_nest() {
        let (scaler, model) = parts();
        let three = Scaler::from_ranges(0.0, 1.0, &[(0.0, 1.0); 3]).unwrap();
        assert_eq!(ScaledModel::new(three, model.clone()).unwrap_err().to_string(), "columns of the scaler: expected 2, found 3");
        let once = AnyModel::from(ScaledModel::new(scaler.clone(), model).unwrap());
        assert!(ScaledModel::new(scaler.clone(), once.clone()).is_err());
        // A file made by hand is refused as well.
        let twice = ScaledModel { imputer: None, scaler: Some(scaler), feature_names: None, model: Box::new(once) };
        assert!(AnyModel::from_bytes(&native::to_bytes(&twice, None).unwrap()).unwrap_err().to_string().contains("inside a scaled model"));
    }
}
