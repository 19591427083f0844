//! What is demanded of a model from a stranger's file: finite answers or a refusal, for questions of ordinary size.

use boulevard::data::{Categories, Csr, Matrix, Sets, Target};
use boulevard::observe::Context;
use boulevard::persist::AnyModel;
use boulevard::svm::{Answers, Model, Rows};

/// Rows of the questions.
const ROWS: usize = 5;
/// Wider tables are sparse.
const DENSE: usize = 4096;

/// A table of ordinary numbers for a model of so many columns.
fn questions(columns: usize) -> Option<Matrix<'static>> {
    let value = |row: usize, column: usize| match row {
        0 => 0.0,
        1 => 1.0,
        2 => 1.0 - 2.0 * (column % 2) as f64,
        3 => 0.5 * (column % 7) as f64,
        _ => -2.0,
    };
    if columns <= DENSE {
        let values: Vec<f64> = (0..ROWS).flat_map(|row| (0..columns).map(move |column| value(row, column))).collect();
        return Matrix::dense(values, ROWS, columns).ok();
    }
    let indices: Vec<u32> = (0..ROWS).flat_map(|_| [0, 1, (columns - 1) as u32]).collect();
    let values: Vec<f64> = (0..ROWS).flat_map(|row| (0..3).map(move |column| value(row, column))).collect();
    Csr::new((0..=ROWS).map(|row| 3 * row).collect::<Vec<_>>(), indices, values, columns).ok().map(Matrix::Sparse)
}

/// Whether every row of decisions says something: no NaN, nothing infinite upward, and minus infinity only beside something finite.
fn sound(values: &[f64], columns: usize) -> bool {
    values
        .chunks(columns.max(1))
        .all(|row| row.iter().all(|v| !v.is_nan() && *v != f64::INFINITY) && (row.is_empty() || row.iter().any(|v| v.is_finite())))
}

/// Asks a model everything; `true` if it answered, `false` if it refused.
///
/// # Panics
///
/// Where an answer is not finite, or a model that was read cannot be written and read again.
pub fn answers(model: &AnyModel) -> bool {
    let kind = model.kind();
    let _ = (model.facts(), model.details(), model.to_json(), model.notes(), model.decision_names(), model.parameters());
    if let Ok(bytes) = model.to_bytes() {
        let again = AnyModel::from_bytes(&bytes).unwrap_or_else(|error| panic!("{kind}: what was written cannot be read: {error}"));
        assert!(again.to_bytes().is_ok_and(|second| second == bytes), "{kind}: a second writing differs");
    }
    let Some(x) = questions(model.features()) else { return false };
    let tasks = match model.answers() {
        Answers::Tasks { names, .. } if !names.is_empty() => {
            Categories::new((0..ROWS).map(|row| (row % names.len()) as u32).collect(), names.to_vec()).ok()
        }
        _ => None,
    };
    let mut answered = false;
    let singles = Sets::singles(ROWS);
    let pairs = Sets::new(&[vec![0, 1], vec![2, 3, 4], vec![1, 1, 4, 3]]).expect("sets of rows");
    for sets in [&singles, &pairs] {
        let rows = Rows { x: &x, sets: model.decides_sets().then_some(sets), tasks: tasks.as_ref() };
        let Ok(decisions) = model.decide(&rows, &Context::single()) else { continue };
        answered = true;
        assert!(sound(&decisions.values, decisions.columns), "{kind}: decisions {:?}", decisions.values);
        if let Ok(Target::Real(values)) = model.predictions_from(&decisions) {
            assert!(values.iter().all(|v| v.is_finite()), "{kind}: predictions {values:?}");
        }
        if let Ok(Some(values)) = model.probabilities_from(&decisions) {
            assert!(values.iter().all(|v| (0.0..=1.0).contains(v)), "{kind}: probabilities {values:?}");
        }
        if !model.decides_sets() {
            break;
        }
    }
    answered
}
