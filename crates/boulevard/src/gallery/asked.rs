//! A model as pictures ask it: one number per row that can be followed while columns change.

use crate::data::{Dataset, Matrix};
use crate::error::Result;
use crate::observe::Context;
use crate::svm::{Answers, Model, Rows};

/// Multiplications that a question about all columns may take.
const BUDGET: usize = 400_000_000;
/// Columns beyond which nobody looks at them one by one.
const MOST_COLUMNS: usize = 300;

/// A model whose answer is followed as a number: the decision for (or probability of) one class, or the predicted number.
pub struct Asked<'a, M> {
    /// The model.
    pub model: &'a M,
    context: &'a Context<'a>,
    /// The class that is followed; none for numbers.
    class: Option<usize>,
    classes: usize,
}

impl<'a, M: Model> Asked<'a, M> {
    /// A model that answers row by row with classes, inside or outside, or one number; `None` for others, and for tables of kernel values.
    pub fn new(model: &'a M, data: &Dataset<'_>, context: &'a Context<'a>) -> Option<Self> {
        let kernel_values = model.kernel_machines().iter().any(|machine| machine.kernel == crate::kernel::Kernel::Precomputed);
        if kernel_values || data.x.columns() != model.features() || data.x.columns() > MOST_COLUMNS || data.is_empty() {
            return None;
        }
        match model.answers() {
            Answers::Classes(names) => Some(Self { model, context, class: Some(names.len().min(2) - 1), classes: names.len() }),
            Answers::Inside => Some(Self { model, context, class: Some(1), classes: 2 }),
            Answers::Numbers(1) => Some(Self { model, context, class: None, classes: 0 }),
            _ => None,
        }
    }

    /// The same, following another class.
    pub fn following(self, class: usize) -> Self {
        Self { class: self.class.map(|_| class.min(self.classes.max(1) - 1)), ..self }
    }

    /// The number of every row of a dense table.
    pub fn values(&self, x: &Matrix<'_>) -> Result<Vec<f64>> {
        let decisions = self.model.decide(&Rows { x, sets: None, tasks: None }, self.context)?;
        let Some(class) = self.class else { return Ok(decisions.values) };
        if self.model.has_probabilities()
            && let Some(probabilities) = self.model.probabilities_from(&decisions)?
        {
            return Ok(probabilities.iter().skip(class).step_by(self.classes).map(|p| 100.0 * p).collect());
        }
        Ok(match decisions.columns {
            1 if class == 0 => decisions.values.iter().map(|value| -value).collect(),
            1 => decisions.values,
            columns => decisions.values.iter().skip(class).step_by(columns).copied().collect(),
        })
    }

    /// What the number is.
    pub fn measure(&self) -> String {
        let name = match (self.model.answers(), self.class) {
            (Answers::Classes(names), Some(class)) => names[class].clone(),
            (Answers::Inside, _) => "inside".to_owned(),
            _ => return "prediction".to_owned(),
        };
        if self.model.has_probabilities() { format!("probability of {name}") } else { format!("decision for {name}") }
    }

    /// Whether the number is a probability in percent.
    pub fn in_percent(&self) -> bool {
        self.class.is_some() && self.model.has_probabilities()
    }

    /// Rows that a question about every column may use, spread evenly.
    pub(super) fn sample(&self, data: &Dataset<'_>, questions: usize, most: usize) -> Vec<usize> {
        let one = self.model.support_vectors().max(1).saturating_mul(data.x.columns());
        let affordable = BUDGET / one.saturating_mul(questions).max(1);
        crate::picture::thinned(data.len(), affordable.clamp(10, most))
    }
}

/// How much the answer moves when a column gets other rows' values.
#[derive(Clone, Debug, PartialEq)]
pub struct Importance {
    /// Columns with their mean movement, the largest first.
    pub columns: Vec<(usize, f64)>,
}

impl Importance {
    /// Asks for every column.
    pub fn new<M: Model>(asked: &Asked<'_, M>, data: &Dataset<'_>) -> Result<Self> {
        let width = data.x.columns();
        let rows = asked.sample(data, width, 200);
        let table = dense(&data.x, &rows);
        let before = asked.values(&Matrix::dense(table.clone(), rows.len(), width)?)?;
        let shift = (rows.len() / 2).max(1);
        let mut columns = Vec::with_capacity(width);
        for column in 0..width {
            // Values change places in a fixed way, so that a picture is the same every time.
            let mut changed = table.clone();
            for row in 0..rows.len() {
                changed[row * width + column] = table[(row + shift) % rows.len() * width + column];
            }
            let after = asked.values(&Matrix::dense(changed, rows.len(), width)?)?;
            let moved: f64 = before.iter().zip(&after).map(|(a, b)| (a - b).abs()).filter(|moved| moved.is_finite()).sum();
            columns.push((column, moved / rows.len() as f64));
        }
        columns.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(Self { columns })
    }
}

/// Some rows as a dense table.
pub(super) fn dense(x: &Matrix<'_>, rows: &[usize]) -> Vec<f64> {
    let width = x.columns();
    let mut values = vec![0.0; rows.len() * width];
    rows.iter().zip(values.chunks_exact_mut(width.max(1))).for_each(|(&row, out)| x.copy_row(row, out));
    values
}

/// The values of a column in order.
pub(super) fn sorted_column(x: &Matrix<'_>, column: usize) -> Vec<f64> {
    let mut values: Vec<f64> = (0..x.rows()).map(|row| x.get(row, column)).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A quantile of sorted values.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted.get((share * (sorted.len().max(1) - 1) as f64).round() as usize).copied().unwrap_or(f64::NAN)
}
