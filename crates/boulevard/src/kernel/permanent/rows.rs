//! Rows of a set kernel, gathered from the kernel matrix of single samples.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::subset::{IN_REGISTERS, InRows, Places, permanents};
use super::{Rule, factorial, value};
use crate::error::Result;
use crate::kernel::rows::{KernelRows, fill_watched};
use crate::observe::Context;
use crate::parallel;
use crate::simd::{Isa, Real};

/// Values gathered before permanents are taken of them: small enough for the first cache.
const BUFFER: usize = 24 << 10;

/// A kernel matrix between single samples, in memory.
pub(crate) struct BaseGram<T> {
    values: Vec<T>,
    width: usize,
}

impl<T: Real> BaseGram<T> {
    /// Evaluates all of `kernel`, rows in parallel.
    pub(crate) fn new(kernel: &dyn KernelRows<T>, context: &Context<'_>) -> Result<Self> {
        const PART: usize = 64;
        let width = kernel.columns().next_multiple_of(context.isa.lanes::<T>());
        let threads = if kernel.rows() * width < 1 << 16 { 1 } else { context.threads };
        let mut values = vec![T::default(); kernel.rows() * width];
        let parts: Vec<Mutex<&mut [T]>> = values.chunks_mut((PART * width).max(1)).map(Mutex::new).collect();
        let lanes = context.isa.lanes::<T>();
        let done = parallel::try_map(threads, parts.len(), |p| {
            let rows: Vec<usize> = (p * PART..((p + 1) * PART).min(kernel.rows())).collect();
            let part = &mut *parts[p].lock().expect("only one thread has this part");
            fill_watched(kernel, &rows, 0..kernel.columns(), &mut part.chunks_exact_mut(width).collect::<Vec<_>>(), lanes, context)
        });
        drop(parts);
        done?;
        Ok(Self { values, width })
    }

    pub(super) fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// One value.
    pub(crate) fn get(&self, row: usize, column: usize) -> T {
        self.row(row)[column]
    }
}

impl BaseGram<f64> {
    /// The same values in single precision, rows padded to whole panels of that.
    pub(crate) fn single(&self, isa: Isa) -> BaseGram<f32> {
        let (rows, width) = (self.values.len() / self.width.max(1), self.width.next_multiple_of(isa.lanes::<f32>()));
        let mut values = vec![0.0; rows * width];
        if width > 0 {
            for (to, from) in values.chunks_exact_mut(width).zip(self.values.chunks_exact(self.width)) {
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as f32);
            }
        }
        BaseGram { values, width }
    }
}

/// Where values between single samples come from.
pub(crate) enum Base<'a, T> {
    /// Kept in memory.
    Gram(Arc<BaseGram<T>>),
    /// Computed again for every set: K rows of the base kernel.
    Rows(Arc<dyn KernelRows<T> + 'a>),
}

impl<T> Clone for Base<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Gram(gram) => Self::Gram(Arc::clone(gram)),
            Self::Rows(rows) => Self::Rows(Arc::clone(rows)),
        }
    }
}

/// Values between sets of `k` samples: rows and columns are tuples of row and column numbers of the base kernel.
pub(crate) struct SetRows<'a, T> {
    base: Base<'a, T>,
    rule: Rule,
    k: usize,
    row_sets: Arc<Vec<u32>>,
    column_sets: Arc<Vec<u32>>,
    /// Member numbers of the columns in the order panels read them: panel, member, lane.
    index: Vec<u32>,
    /// One over the root of the diagonals, for cosines.
    row_scale: Option<Arc<Vec<f64>>>,
    column_scale: Option<Vec<f64>>,
    accuracy: f64,
    isa: Isa,
}

impl<'a, T: Real> SetRows<'a, T> {
    /// `base_accuracy` bounds the error of a base value by rounding, `largest` its size.
    pub(crate) fn new(
        base: Base<'a, T>,
        rule: Rule,
        k: usize,
        row_sets: Arc<Vec<u32>>,
        column_sets: Arc<Vec<u32>>,
        [base_accuracy, largest]: [f64; 2],
        isa: Isa,
    ) -> Self {
        let size = k as f64;
        let accuracy = match rule {
            Rule::Permanent | Rule::Ordered => size * (base_accuracy + 2.0 * T::ROUNDING * largest) * largest.powi(k as i32 - 1),
            Rule::Power { degree, coef0 } | Rule::OrderedPower { degree, coef0 } => {
                let (power, reach) = (f64::from(degree), coef0.abs() + size * largest);
                (power + 1.0) * reach.powi(degree as i32 - 1).max(1.0) * (size * base_accuracy + 4.0 * T::ROUNDING * reach)
            }
        };
        let index = panel_order(&column_sets, k, isa.lanes::<T>());
        Self { base, rule, k, row_sets, column_sets, index, row_scale: None, column_scale: None, accuracy, isa }
    }

    /// Divides by the roots of the rows' and the columns' own values.
    pub(crate) fn cosine(mut self, rows: &[f64], columns: &[f64]) -> Self {
        let scale = |diagonal: &[f64]| diagonal.iter().map(|&v| if v > 0.0 { 1.0 / v.sqrt() } else { 0.0 }).collect::<Vec<_>>();
        let (rows, columns) = (scale(rows), scale(columns));
        let largest = |scale: &[f64]| scale.iter().fold(0.0, |a: f64, b| a.max(*b));
        self.accuracy = self.accuracy * largest(&rows) * largest(&columns) + 2.0 * T::ROUNDING;
        (self.row_scale, self.column_scale) = (Some(Arc::new(rows)), Some(columns));
        self
    }

    fn members(&self, set: usize) -> &[u32] {
        &self.row_sets[set * self.k..(set + 1) * self.k]
    }

    /// One row: gathers the members' values of some panels at a time and takes permanents of them.
    fn fill_row<'s>(&self, row: impl Fn(usize) -> &'s [T], panels: Range<usize>, values: &mut [T], work: &mut Work<T>, out: &mut [T])
    where
        T: 's,
    {
        let panel = self.k * self.isa.lanes::<T>();
        let most = (BUFFER / size_of::<T>() / (self.k * panel)).max(1);
        for first in panels.clone().step_by(most) {
            let chunk = first..(first + most).min(panels.end);
            let index = &self.index[chunk.start * panel..chunk.end * panel];
            for (member, to) in values.chunks_exact_mut(index.len()).take(self.k).enumerate() {
                let from = row(member);
                to.iter_mut().zip(index).for_each(|(to, &place)| *to = from[place as usize]);
            }
            let lanes = panel / self.k;
            let out = &mut out[(chunk.start - panels.start) * lanes..(chunk.end - panels.start) * lanes];
            work.finish(values, index.len(), out);
        }
    }
}

/// Member numbers in the order panels read them; missing lanes repeat the last set, which keeps their values finite.
pub(super) fn panel_order(sets: &[u32], k: usize, lanes: usize) -> Vec<u32> {
    let count = sets.len() / k;
    let mut index = Vec::with_capacity(count.next_multiple_of(lanes) * k);
    for first in (0..count).step_by(lanes) {
        for member in 0..k {
            index.extend((first..first + lanes).map(|set| sets[set.min(count - 1) * k + member]));
        }
    }
    index
}

/// From values between members to values between sets, with the work space of one thread.
pub(super) struct Work<T> {
    rule: Rule,
    k: usize,
    isa: Isa,
    factor: T,
    table: Vec<T>,
    one: Vec<f64>,
}

impl<T: Real> Work<T> {
    pub(super) fn new(rule: Rule, k: usize, isa: Isa) -> Self {
        let table = if k > IN_REGISTERS && rule == Rule::Permanent { isa.register::<T>() << k } else { 0 };
        Self { rule, k, isa, factor: T::from_f64(1.0 / factorial(k)), table: vec![T::default(); table], one: vec![0.0; k * k] }
    }

    /// Entry (r, c) of panel p is at `values[r * stride + (p * k + c) * lanes]`.
    pub(super) fn finish(&mut self, values: &[T], stride: usize, out: &mut [T]) {
        self.finish_at(values, InRows { stride, k: self.k, lanes: self.isa.lanes::<T>() }, out);
    }

    /// The same with entries at these places.
    pub(super) fn finish_at(&mut self, values: &[T], places: impl Places, out: &mut [T]) {
        let k = self.k;
        match self.rule {
            Rule::Permanent => permanents(self.isa, k, values, places, &mut self.table, self.factor, out),
            _ => {
                let lanes = places.lanes();
                for (place, to) in out.iter_mut().enumerate() {
                    let (panel, lane) = (place / lanes, place % lanes);
                    for (entry, one) in self.one.iter_mut().enumerate() {
                        *one = values[places.at(panel, entry / k, entry % k) + lane].to_f64();
                    }
                    *to = T::from_f64(value(self.rule, &self.one, k));
                }
            }
        }
    }
}

impl<T: Real> KernelRows<T> for SetRows<'_, T> {
    fn rows(&self) -> usize {
        self.row_sets.len() / self.k
    }

    fn columns(&self) -> usize {
        self.column_sets.len() / self.k
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        let lanes = self.isa.lanes::<T>();
        let panels = columns.start / lanes..columns.end.div_ceil(lanes);
        let most = (BUFFER / size_of::<T>() / (self.k * self.k * lanes)).clamp(1, panels.len().max(1));
        let mut values = vec![T::default(); self.k * self.k * lanes * most];
        let mut work = Work::new(self.rule, self.k, self.isa);
        let mut buffer = Vec::new();
        for (&row, out) in rows.iter().zip(out) {
            let members = self.members(row);
            match &self.base {
                Base::Gram(gram) => self.fill_row(|member| gram.row(members[member] as usize), panels.clone(), &mut values, &mut work, out),
                Base::Rows(base) => {
                    let width = base.columns().next_multiple_of(lanes);
                    buffer.resize(self.k * width, T::default());
                    let members: Vec<usize> = members.iter().map(|&row| row as usize).collect();
                    base.fill(&members, 0..base.columns(), &mut buffer.chunks_exact_mut(width).collect::<Vec<_>>());
                    let row = |member: usize| &buffer[member * width..(member + 1) * width];
                    self.fill_row(row, panels.clone(), &mut values, &mut work, out);
                }
            }
            if let (Some(row_scale), Some(column_scale)) = (&self.row_scale, &self.column_scale) {
                for (to, scale) in out.iter_mut().zip(&column_scale[columns.clone()]) {
                    *to = T::from_f64(to.to_f64() * (scale * row_scale[row]));
                }
            }
        }
    }

    fn accuracy(&self) -> f64 {
        self.accuracy
    }

    fn work(&self) -> usize {
        match (&self.base, self.rule) {
            (Base::Gram(_), Rule::Permanent) => self.k * self.k + (self.k << (self.k - 1)),
            (Base::Gram(_), _) => 4 * self.k * self.k,
            // Every piece of a row would compute the members' rows anew: better not cut.
            (Base::Rows(_), _) => 1,
        }
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        let chosen: Vec<u32> = columns.iter().flat_map(|&c| self.column_sets[c * self.k..(c + 1) * self.k].iter().copied()).collect();
        Box::new(SetRows {
            base: self.base.clone(),
            rule: self.rule,
            k: self.k,
            row_sets: Arc::clone(&self.row_sets),
            index: panel_order(&chosen, self.k, self.isa.lanes::<T>()),
            column_sets: Arc::new(chosen),
            row_scale: self.row_scale.clone(),
            column_scale: self.column_scale.as_ref().map(|scale| columns.iter().map(|&c| scale[c]).collect()),
            accuracy: self.accuracy,
            isa: self.isa,
        })
    }
}
