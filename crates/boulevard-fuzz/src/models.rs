//! A small model of every kind, as files.

use boulevard::any::ScaledModel;
use boulevard::data::{Categories, Dataset, LabelMatrix, Matrix, Scaler, Scaling, Target, generate};
use boulevard::methods::multi_sample::Method;
use boulevard::persist::{AnyModel, libsvm_text};
use boulevard::prelude::*;

fn classes(rows: usize, count: usize) -> Dataset<'static> {
    let shape = generate::Clusters {
        classes: count,
        columns: 3,
        informative: 2,
        redundant: 1,
        clusters_per_class: 1,
        ..generate::Clusters::default()
    };
    generate::classification(rows, 2, &shape).expect("the shape is ours")
}

/// One model of every kind, storage and layout.
pub fn all() -> Vec<AnyModel> {
    let (two, three) = (classes(24, 2), classes(30, 3));
    let real = generate::regression(24, 1, 2, 0.3);
    let mut models: Vec<AnyModel> = Vec::new();
    let mut add = |model: boulevard::Result<AnyModel>| models.push(model.expect("ordinary data"));
    let rest = Svc { multiclass: Multiclass::OneVsRest, kernel: Kernel::poly(3, 0.1, 0.7), ..Svc::default() };
    add(Svc { calibrate: true, ..Svc::default() }.fit(&three).map(Into::into));
    add(rest.fit(&three).map(Into::into));
    add(Svc { kernel: Kernel::Linear, ..Svc::default() }.fit(&Dataset { x: two.x.to_sparse(), ..two.clone() }).map(Into::into));
    add(OneClass::default().fit(&two).map(Into::into));
    add(Svr { kernel: Kernel::sigmoid(0.1, 0.2), ..Svr::default() }.fit(&real).map(Into::into));
    add(LinearSvc::default().fit(&three).map(Into::into));
    add(LinearSvr::default().fit(&real).map(Into::into));
    add(BoostedSvc { max_rounds: 4, ..BoostedSvc::default() }.fit(&two).map(Into::into));
    add(BoostedSvc { max_rounds: 3, ..BoostedSvc::default() }.fit(&three).map(Into::into));
    add(FeatureInduction { max_induced: 3, calibrate: true, ..FeatureInduction::default() }.fit(&three).map(Into::into));
    add(FeatureInduction { max_induced: 2, kernel: Kernel::rbf(0.2), ..FeatureInduction::default() }.fit(&two).map(Into::into));
    add(MultiTaskSelection::default().fit(&two).map(Into::into));
    add(MultiTaskSelection::default().fit(&real).map(Into::into));
    let on = (0..24).flat_map(|row| [row % 2 == 0, two.x.get(row, 0) > 0.0]).collect();
    let labels = LabelMatrix::new(on, vec!["p".into(), "q".into()]).expect("two labels");
    add(MultiTaskSelection::default().fit(&Dataset::new(two.x.clone(), Target::Labels(labels))).map(Into::into));
    let kernels = vec![Kernel::Linear, Kernel::rbf(0.3)];
    let select = boulevard::methods::multitask_selection::Select::Kernels;
    add(MultiTaskSelection { select, kernels, ..MultiTaskSelection::default() }.fit(&two).map(Into::into));
    add(MultiSample { method: Method::Direct, tune: false, n_samples_per_decision: 2, ..MultiSample::default() }.fit(&two).map(Into::into));
    add(MultiSample { method: Method::Direct, tune: false, n_samples_per_decision: 2, ..MultiSample::default() }
        .fit(&three)
        .map(Into::into));
    add(ParetoSvc { n_points: 3, calibrate: true, ..ParetoSvc::default() }.fit(&three).map(Into::into));
    let gram: Vec<f64> = (0..12).flat_map(|i| (0..12).map(move |j| (-0.1 * f64::from(i - j).powi(2)).exp())).collect();
    let square = Matrix::dense(gram, 12, 12).expect("a square");
    let square = Dataset::classes(square, Categories::from_names(&["p", "q"].repeat(6)));
    add(Svc { kernel: Kernel::Precomputed, ..Svc::default() }.fit(&square).map(Into::into));
    let scaler = Scaler::fit(&two.x, None, Scaling::Standard).expect("ordinary columns");
    let inner = Svc::default().fit(&two).map(AnyModel::from).expect("ordinary data");
    add(ScaledModel::new(scaler, inner).map(Into::into));
    models
}

/// The files of [`all`].
pub fn native_files() -> Vec<Vec<u8>> {
    all().iter().map(|model| model.to_bytes().expect("a model that was just fitted")).collect()
}

/// LIBSVM's text of those that have one.
pub fn libsvm_files() -> Vec<Vec<u8>> {
    let labels = libsvm_text::WriteOptions { labels: Some(vec![1, -1, 7]) };
    let two = libsvm_text::WriteOptions { labels: Some(vec![1, -1]) };
    let texts = all().into_iter().flat_map(|model| [libsvm_text::to_text(&model, &labels), libsvm_text::to_text(&model, &two)]);
    texts.flatten().map(String::into_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_model_is_there() {
        let models = all();
        let missing: Vec<_> = AnyModel::KINDS.iter().filter(|kind| !models.iter().any(|model| model.kind() == **kind)).collect();
        assert!(missing.is_empty(), "no sample of {missing:?}");
        for model in &models {
            assert!(crate::judge::answers(model), "{} answers", model.kind());
        }
    }
}
