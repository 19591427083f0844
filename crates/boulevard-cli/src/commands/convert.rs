//! `boulevard convert`: data from one format to another, models to and from LIBSVM.

use anyhow::{Result, ensure};
use boulevard::data::io::TargetKind;
use boulevard::persist::libsvm_text;
use boulevard::svm::Model;

use crate::Outcome;
use crate::args::{ConvertArgs, ModelFormat};
use crate::model::load;
use crate::report::print;
use crate::{data, files};

pub fn run(args: &ConvertArgs) -> Result<Outcome> {
    args.read.expect_no_filling()?;
    files::expect_writable(&args.output)?;
    let what = match args.model {
        Some(format) => model(args, format)?,
        None => {
            let target = if args.regression { TargetKind::Real } else { TargetKind::Auto };
            let data = data::read(&args.input, &args.read, target)?;
            data.write(&args.output)?;
            data::in_words(&data)
        }
    };
    print(&format!("{} -> {} ({what})\n", args.input.display(), args.output.display()))?;
    Ok(Outcome::Done)
}

fn model(args: &ConvertArgs, format: ModelFormat) -> Result<String> {
    let model = load(&args.input)?;
    match format {
        ModelFormat::Native => model.save(&args.output)?,
        ModelFormat::Libsvm => {
            ensure!(
                model.imputer().is_none(),
                "{}: the model fills in missing values, which a LIBSVM model cannot; train on data without any",
                args.input.display()
            );
            ensure!(
                model.scaler().is_none(),
                "{}: the model scales its columns, which a LIBSVM model cannot; scale the data with `boulevard scale` and train without --scale",
                args.input.display()
            );
            let labels = (!args.class_labels.is_empty()).then(|| args.class_labels.clone());
            libsvm_text::write(&model, &args.output, &libsvm_text::WriteOptions { labels })?;
        }
    }
    Ok(format!("model of kind {}, {} support vectors", model.inner().kind(), model.support_vectors()))
}
