//! How a model's slopes follow its moves: where columns are crowded, by their Gram matrix, of which a move costs one line; where a column
//! has few values, by what the moves have done to the rows, and a visit costs the column.

use crate::data::Csr;

/// Slopes of a quadratic model.
pub(super) trait State {
    /// Second derivative along a variable.
    fn rise(&self, k: usize) -> f64;
    /// First derivative along a variable.
    fn slope(&self, k: usize) -> f64;
    /// Takes note of a move.
    fn moved(&mut self, k: usize, delta: f64);
    /// Values read by a visit.
    fn cost(&self, k: usize, moved: bool) -> usize;
    /// Values read by an effect.
    fn cost_of_all(&self) -> usize;
    /// What moves of all variables do, in the state's own form.
    fn effect(&self, moves: &[f64]) -> Vec<f64>;
    /// How an effect changes the slope along a variable.
    fn along(&self, effect: &[f64], k: usize) -> f64;
    /// Takes note of moves by their effect.
    fn absorb(&mut self, effect: &[f64]);
}

/// All slopes, kept up to date by a Gram matrix.
pub(super) struct ByGram {
    gram: Vec<f64>,
    slope: Vec<f64>,
}

impl ByGram {
    pub(super) fn new(gram: Vec<f64>, slope: Vec<f64>) -> Self {
        Self { gram, slope }
    }

    fn line(&self, k: usize) -> &[f64] {
        &self.gram[k * self.slope.len()..(k + 1) * self.slope.len()]
    }
}

impl State for ByGram {
    fn rise(&self, k: usize) -> f64 {
        self.line(k)[k]
    }

    fn slope(&self, k: usize) -> f64 {
        self.slope[k]
    }

    fn moved(&mut self, k: usize, delta: f64) {
        let size = self.slope.len();
        self.slope.iter_mut().zip(&self.gram[k * size..(k + 1) * size]).for_each(|(s, g)| *s += delta * g);
    }

    fn cost(&self, _: usize, moved: bool) -> usize {
        if moved { 2 * self.slope.len() } else { 1 }
    }

    fn cost_of_all(&self) -> usize {
        self.gram.len()
    }

    fn effect(&self, moves: &[f64]) -> Vec<f64> {
        let mut effect = vec![0.0; self.slope.len()];
        for (k, &v) in moves.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            effect.iter_mut().zip(self.line(k)).for_each(|(e, g)| *e += v * g);
        }
        effect
    }

    fn along(&self, effect: &[f64], k: usize) -> f64 {
        effect[k]
    }

    fn absorb(&mut self, effect: &[f64]) {
        self.slope.iter_mut().zip(effect).for_each(|(s, e)| *s += e);
    }
}

/// `H X c` by row; a slope is read from it.
pub(super) struct ByRows<'a> {
    /// Where each column begins in `rows` and `values`.
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
    rises: Vec<f64>,
    /// The slopes before any move.
    first: &'a [f64],
    curvature: &'a [f64],
    pulled: Vec<f64>,
    /// The sum of `pulled`, which is the bias's slope.
    sum: f64,
}

impl<'a> ByRows<'a> {
    pub(super) fn new(x: &Csr<'_>, curvature: &'a [f64], first: &'a [f64]) -> Self {
        let m = x.columns();
        let mut starts = vec![0; m + 1];
        x.indices().iter().for_each(|&j| starts[j as usize + 1] += 1);
        (0..m).for_each(|j| starts[j + 1] += starts[j]);
        let (mut rows, mut values) = (vec![0; x.values().len()], vec![0.0; x.values().len()]);
        let mut next = starts.clone();
        for i in 0..curvature.len() {
            let (columns, row) = x.row(i);
            for (&j, &v) in columns.iter().zip(row) {
                let j = j as usize;
                (rows[next[j]], values[next[j]]) = (i as u32, v);
                next[j] += 1;
            }
        }
        let rise = |j: usize| (starts[j]..starts[j + 1]).map(|at| curvature[rows[at] as usize] * values[at] * values[at]).sum();
        let mut rises: Vec<f64> = (0..m).map(rise).collect();
        rises.push(curvature.iter().sum());
        Self { starts, rows, values, rises, first, curvature, pulled: vec![0.0; curvature.len()], sum: 0.0 }
    }

    /// The rows and values of a column; `None` for the bias.
    fn column(&self, k: usize) -> Option<(&[u32], &[f64])> {
        let column = self.starts[k]..*self.starts.get(k + 1)?;
        Some((&self.rows[column.clone()], &self.values[column]))
    }
}

impl State for ByRows<'_> {
    fn rise(&self, k: usize) -> f64 {
        self.rises[k]
    }

    fn slope(&self, k: usize) -> f64 {
        self.first[k] + if k + 1 < self.starts.len() { self.along(&self.pulled, k) } else { self.sum }
    }

    fn moved(&mut self, k: usize, delta: f64) {
        if k + 1 == self.starts.len() {
            self.pulled.iter_mut().zip(self.curvature).for_each(|(pulled, h)| *pulled += delta * h);
            self.sum = self.pulled.iter().sum();
            return;
        }
        for at in self.starts[k]..self.starts[k + 1] {
            let row = self.rows[at] as usize;
            let change = delta * self.curvature[row] * self.values[at];
            self.pulled[row] += change;
            self.sum += change;
        }
    }

    fn cost(&self, k: usize, _: bool) -> usize {
        4 * self.column(k).map_or(self.pulled.len(), |(rows, _)| rows.len())
    }

    fn cost_of_all(&self) -> usize {
        2 * self.values.len()
    }

    fn effect(&self, moves: &[f64]) -> Vec<f64> {
        let mut effect = vec![0.0; self.pulled.len()];
        for (k, &v) in moves.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            match self.column(k) {
                Some((rows, values)) => rows.iter().zip(values).for_each(|(&row, x)| effect[row as usize] += v * x),
                None => effect.iter_mut().for_each(|e| *e += v),
            }
        }
        effect.iter_mut().zip(self.curvature).for_each(|(e, h)| *e *= h);
        effect
    }

    fn along(&self, effect: &[f64], k: usize) -> f64 {
        match self.column(k) {
            Some((rows, values)) => rows.iter().zip(values).map(|(&row, x)| effect[row as usize] * x).sum(),
            None => effect.iter().sum(),
        }
    }

    fn absorb(&mut self, effect: &[f64]) {
        self.pulled.iter_mut().zip(effect).for_each(|(pulled, e)| *pulled += e);
        self.sum = self.pulled.iter().sum();
    }
}
