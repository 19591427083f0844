//! A machine with its certificate, probabilities, a file, and a search: the guide's first steps (`docs/guide/rust.md`).

use boulevard::prelude::*;

fn main() -> boulevard::Result<()> {
    // Or Dataset::read("iris.csv")?: CSV, LIBSVM and ARFF are told apart, the last column is the label.
    let data = boulevard::data::generate::banana(400, 0);

    let learner = Svc { kernel: Kernel::rbf(1.0), penalty: Penalty::C(10.0), calibrate: true, ..Default::default() };
    let model = learner.fit(&data)?;
    let report = model.report();
    assert!(report.stop == StopReason::Converged && report.gap < 1e-3);

    // One value per row, positive for the second class.
    let decisions = model.decision_values(&data.x)?;
    assert_eq!(decisions.len(), data.len());
    let predicted = model.predict(&data.x)?;
    assert_eq!(predicted.names().len(), 2);

    // The same file serves the program and Python.
    let path = std::env::temp_dir().join("boulevard-first-steps.safetensors");
    model.save(&path)?;
    let again = boulevard::any::AnyModel::load(&path)?;
    assert_eq!(again.kind(), "svc");
    std::fs::remove_file(&path).map_err(|error| Error::data(error.to_string()))
}
