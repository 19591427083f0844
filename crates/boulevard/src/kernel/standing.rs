//! Rows that stay while samples come one by one: they are put in the order that tiles read once, and not for every sample.

use super::Kernel;
use super::pack::{Packed, PackedTable, Recipe, accuracy, center, recipe};
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::Context;
use crate::simd::{Isa, Real, one_row};

/// The rows of a machine, in the parts whose sums are asked for.
#[derive(Debug)]
pub(crate) struct StandingRows<T> {
    recipe: Recipe<T>,
    center: Vec<f64>,
    parts: Vec<Packed<T>>,
    accuracy: f64,
    isa: Isa,
}

/// A sample as the rows are: centered and scaled, with its start value.
pub(crate) struct Sample<T> {
    table: PackedTable<T>,
    /// A bound on the error of its kernel values.
    pub accuracy: f64,
}

impl<T: Real> StandingRows<T> {
    /// Rows in parts of so many. `None` for kernels without a formula, which have nothing to put in order.
    pub(crate) fn new(kernel: &Kernel, rows: &Matrix<'_>, parts: &[usize], context: &Context<'_>) -> Result<Option<Self>> {
        let Some(recipe) = recipe::<T>(kernel) else { return Ok(None) };
        let center = center(&recipe, rows, context)?;
        let table = PackedTable::new(&recipe, &center, rows, context)?;
        let (mut packed, mut first) = (Vec::with_capacity(parts.len()), 0);
        for &count in parts {
            packed.push(table.pack_some(count, |place| first + place, context.isa, context)?);
            first += count;
        }
        let accuracy = accuracy(&recipe, &table);
        Ok(Some(Self { recipe, center, parts: packed, accuracy, isa: context.isa }))
    }

    /// The instructions that its order is for.
    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    /// A bound on the error of the kernel values of the rows among themselves.
    pub(crate) fn accuracy(&self) -> f64 {
        self.accuracy
    }

    /// A table of one row, as the rows are.
    pub(crate) fn sample(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Sample<T>> {
        let table = PackedTable::new(&self.recipe, &self.center, x, context)?;
        let accuracy = accuracy(&self.recipe, &table).max(self.accuracy);
        Ok(Sample { table, accuracy })
    }

    /// `sums[o] += sum_r weights[o, r] k(row r, sample)` over the rows of a part, with the bits that they have in a table of many samples.
    pub(crate) fn weigh(&self, part: usize, sample: &Sample<T>, weights: &[f64], outputs: usize, sums: &mut [f64]) {
        let (query, start) = sample.table.only();
        one_row::weigh_one(self.isa, &self.recipe.formula, query, start, weights, outputs, self.parts[part].all(), sums);
    }
}
