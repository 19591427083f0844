//! Set kernels between sets that share samples: a matrix of the distinct samples, gathered from.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::gram::all_done;
use super::rows::{BaseGram, Work, panel_order};
use super::subset::BySample;
use super::{Rule, by_value, compare, sort_members};
use crate::data::{Matrix, all_finite};
use crate::error::Result;
use crate::kernel::{self, Kernel};
use crate::linalg;
use crate::observe::Context;
use crate::parallel;
use crate::simd::Isa;

/// Rows that one thread takes at a time, a whole number of panels, and that are under one lock.
const GROUP: usize = 64;
/// Bytes that stay in the second-level cache beside what is read and written in passing.
const CACHE: usize = 500 << 10;
/// No kind of sample.
const NONE: u32 = u32::MAX;

/// Members' values from a matrix of the distinct samples.
pub(super) struct Gathered {
    gram: BaseGram<f64>,
    rule: Rule,
    k: usize,
    rows: Vec<u32>,
    columns: Vec<u32>,
    /// Distinct samples among the columns.
    samples: usize,
    isa: Isa,
}

impl Gathered {
    pub(super) fn new(
        rule: Rule,
        base: &Kernel,
        (a, left): (&Matrix<'_>, &Distinct),
        (b, right): (&Matrix<'_>, &Distinct),
        k: usize,
        context: &Context<'_>,
    ) -> Result<Self> {
        let (x, z) = (a.select(&left.rows), b.select(&right.rows));
        let gram = BaseGram::new(&*kernel::cross::<f64>(base, &x, &[], &z, context)?, context)?;
        let sets = |of: &Distinct| {
            let mut sets = of.places.clone();
            // Distinct samples are numbered by value.
            sets.chunks_exact_mut(k).for_each(<[u32]>::sort_unstable);
            sets
        };
        Ok(Self { gram, rule, k, rows: sets(left), columns: sets(right), samples: right.rows.len(), isa: context.isa })
    }

    /// One panel of row sets at a time: their members' rows are turned into one run of values per sample, and every set of columns then
    /// reads its members' runs. Whether all values are finite.
    pub(super) fn fill(&self, symmetric: bool, context: &Context<'_>, values: &mut [f64]) -> Result<bool> {
        // What is gathered for a panel must stay in the second-level cache.
        let (k, register) = (self.k, self.isa.register::<f64>());
        let lanes = if 2 * self.samples * k * register * size_of::<f64>() <= CACHE { 2 * register } else { register };
        let columns = self.columns.len() / k;
        let index = panel_order(&self.rows, k, lanes);
        let rows = self.rows.len() / k;
        let groups: Vec<Mutex<&mut [f64]>> = values.chunks_mut(GROUP * columns).map(Mutex::new).collect();
        let next = AtomicUsize::new(0);
        let done = parallel::map(context.threads, context.threads.min(groups.len()), |_| {
            let mut work = Work::new(self.rule, k, self.isa);
            let (mut block, mut made) = (vec![0.0; self.samples * k * lanes], vec![0.0; columns * lanes]);
            let mut finite = true;
            // Later rows of a triangle are longer, and begun first.
            while let Some(group) = groups.len().checked_sub(next.fetch_add(1, Ordering::Relaxed) + 1) {
                if context.step("set kernel", groups.len() - 1 - group, groups.len()).is_some() {
                    return None;
                }
                for first in (group * GROUP..((group + 1) * GROUP).min(rows)).step_by(lanes) {
                    let index = &index[first * k..(first + lanes) * k];
                    linalg::transpose(self.isa, k * lanes, self.samples, |i| self.gram.row(index[i] as usize), &mut block, k * lanes);
                    // Of a symmetric matrix only what is left of the end of the panel; the rest is its mirror image.
                    let count = if symmetric { columns.min(first + lanes) } else { columns };
                    let made = &mut made[..count * lanes];
                    work.finish_at(&block, BySample { sets: &self.columns, k, lanes }, made);
                    finite &= all_finite(made);
                    let width = lanes.min(rows - first);
                    let mut own = groups[group].lock().expect("no holder panics");
                    let out = &mut own[first % GROUP * columns..];
                    linalg::transpose(self.isa, count, width, |set| &made[set * lanes..], out, columns);
                    if symmetric {
                        // Within the square on the diagonal both halves were computed.
                        linalg::mirror(&mut out[first..], width, columns);
                        drop(own);
                        mirror_panel(&groups, made, lanes, columns, first..first + width);
                    }
                }
            }
            Some(finite)
        });
        all_done(&done)
    }
}

/// Writes what was made for the rows `panel` into these columns of the rows above, at once, while it is in the cache.
fn mirror_panel(groups: &[Mutex<&mut [f64]>], made: &[f64], lanes: usize, columns: usize, panel: Range<usize>) {
    let write = |rows: &mut [f64], group: usize| {
        let made = &made[group * GROUP * lanes..panel.start * lanes];
        for (row, made) in rows.chunks_exact_mut(columns).zip(made.chunks_exact(lanes)) {
            row[panel.clone()].copy_from_slice(&made[..panel.len()]);
        }
    };
    // Whoever is busy in a group is not waited for before all others are done.
    let mut later = Vec::new();
    for (group, rows) in groups[..panel.start.div_ceil(GROUP)].iter().enumerate() {
        match rows.try_lock() {
            Ok(mut rows) => write(&mut rows, group),
            Err(_) => later.push(group),
        }
    }
    later.into_iter().for_each(|group| write(&mut groups[group].lock().expect("no holder panics"), group));
}

/// The distinct rows of a table, in the order of their values.
pub(super) struct Distinct {
    /// One row of each kind.
    pub(super) rows: Vec<usize>,
    /// The kind of every row.
    pub(super) places: Vec<u32>,
}

impl Distinct {
    pub(super) fn new(x: &Matrix<'_>) -> Self {
        // Equal rows have equal hashes: only one of each kind has to be put in order. Kinds are found by open addressing.
        let size = (2 * x.rows()).next_power_of_two();
        let mut found = vec![NONE; size];
        let (mut kinds, mut kind_of): (Vec<usize>, Vec<u32>) = (Vec::new(), vec![0; x.rows()]);
        for (row, kind) in kind_of.iter_mut().enumerate() {
            // The high bits are the well mixed ones.
            let mut at = (hash(x, row) >> 32) as usize & (size - 1);
            while found[at] != NONE && compare(x, kinds[found[at] as usize], row).is_ne() {
                at = (at + 1) & (size - 1);
            }
            if found[at] == NONE {
                found[at] = kinds.len() as u32;
                kinds.push(row);
            }
            *kind = found[at];
        }
        let mut place = vec![0; kinds.len()];
        let order = by_value(x, &kinds);
        order.iter().enumerate().for_each(|(rank, &kind)| place[kind as usize] = rank as u32);
        Self {
            rows: order.iter().map(|&kind| kinds[kind as usize]).collect(),
            places: kind_of.iter().map(|&kind| place[kind as usize]).collect(),
        }
    }

    /// All rows in sets of `k`, members of every set in their order of values.
    pub(super) fn tuples(&self, k: usize) -> Vec<u32> {
        let mut tuples: Vec<u32> = (0..self.places.len() as u32).collect();
        sort_members(&mut tuples, k, &self.places);
        tuples
    }
}

/// A number that equal rows share.
fn hash(x: &Matrix<'_>, row: usize) -> u64 {
    let mut hash = 0_u64;
    // Zeros may be stored or not.
    x.for_each(row, |column, value| {
        if value != 0.0 {
            hash = (hash.rotate_left(5) ^ value.to_bits() ^ column as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    });
    hash
}
