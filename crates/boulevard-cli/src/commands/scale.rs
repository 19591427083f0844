//! `boulevard scale`: as LIBSVM's svm-scale, for every format.

use anyhow::{Result, ensure};
use boulevard::data::io::{Format, TargetKind};
use boulevard::data::{Dataset, RangeFile, Scaler, Scaling, Target, TargetRange};

use crate::Outcome;
use crate::args::ScaleArgs;
use crate::report::{complain, print};
use crate::{data, files};

pub fn run(args: &ScaleArgs) -> Result<Outcome> {
    args.read.expect_no_filling()?;
    files::all_writable(args.save.iter().chain(&args.output))?;
    let restored = match &args.restore {
        Some(path) => {
            files::expect_file(path)?;
            Some(RangeFile::read(path)?)
        }
        None => None,
    };
    let scales_target = !args.target.is_empty() || restored.as_ref().is_some_and(|ranges| ranges.target.is_some());
    let target = if scales_target { TargetKind::Real } else { TargetKind::Auto };
    let mut data = data::read(&args.data, &args.read, target)?;
    let ranges = match restored {
        Some(ranges) => ranges,
        None => {
            let scaler = Scaler::fit(&data.x, None, Scaling::MinMax { low: args.lower, high: args.upper })?;
            RangeFile { target: target_range(&data, &args.target)?, ..RangeFile::from_scaler(&scaler)? }
        }
    };
    let width = data.x.columns();
    ensure!(
        ranges.columns() <= width || data.x.is_sparse(),
        "the range file lists feature {}, but the data have {width} features",
        ranges.columns()
    );
    // A sparse file that ends early has zeros in the columns beyond, and those are scaled as well.
    let columns = ranges.columns().max(width);
    let x = if columns > width { widen(&data, columns)? } else { data.x.clone() };
    data.x = ranges.scaler(columns)?.table(&x)?;
    if let (Some(range), Target::Real(values)) = (&ranges.target, &mut data.target) {
        values.iter_mut().for_each(|value| *value = range.transform(*value));
    }
    if data.x.columns() != width {
        data.feature_names = None;
    }
    if let Some(path) = &args.save {
        ranges.write(path)?;
    }
    match &args.output {
        Some(path) => {
            data.write(path)?;
            complain(&format!("scaled data written to {}", path.display()));
        }
        None => {
            let mut text = Vec::new();
            data.write_to(&mut text, "standard output", Format::Libsvm)?;
            print(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(Outcome::Done)
}

fn widen(data: &Dataset<'static>, columns: usize) -> Result<boulevard::data::Matrix<'static>> {
    use boulevard::data::{Csr, Matrix};
    let Matrix::Sparse(csr) = data.x.to_sparse() else { unreachable!("just made sparse") };
    Ok(Matrix::Sparse(Csr::new(csr.offsets().to_vec(), csr.indices().to_vec(), csr.values().to_vec(), columns)?))
}

fn target_range(data: &Dataset<'_>, limits: &[f64]) -> Result<Option<TargetRange>> {
    let (&[low, high], Target::Real(values)) = (limits, &data.target) else { return Ok(None) };
    ensure!(low < high, "-y needs a lower limit below the upper one, got {low} and {high}");
    let (min, max) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &v| (min.min(v), max.max(v)));
    Ok(Some(TargetRange { low, high, min, max }))
}
