//! Sparse rows times the weights of a linear machine.
//!
//! The rows are read where they lie, once, with the column numbers that their owner has (32 or 64 bits). Several outputs are summed side by
//! side in registers from weights that lie side by side, so that a column costs one place in memory and not one per output. An output's sum
//! runs over the row's values in their order and gets the bias at the end: the same bits whichever way is taken, on any number of threads.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use super::LinearMachine;
use crate::parallel;
use crate::svm::multiclass::argmax;
use crate::{Error, Result};

/// Outputs that are summed at once; their sums stay in registers.
const WIDEST: usize = 8;
/// Rows that a thread takes at a time.
const STRIDE: usize = 1024;
/// Products from which a second thread pays for its start.
const WORTH_THREADS: usize = 1 << 18;

/// A number that says a place: what is negative becomes too large.
pub trait Place: Copy + Sync {
    /// The place.
    fn place(self) -> usize;
}

macro_rules! places {
    ($($kind:ty),*) => {
        $(impl Place for $kind {
            #[inline(always)]
            fn place(self) -> usize {
                self as usize
            }
        })*
    };
}
places!(i32, i64, u32, usize);

/// Rows in compressed form, borrowed: values of row `i` are those from `offsets[i]` to `offsets[i + 1]`. Nothing is known to be right.
#[derive(Clone, Copy)]
pub struct SparseRows<'a, O, I, V> {
    /// Where rows begin, and the end of the last.
    pub offsets: &'a [O],
    /// Columns, in any order.
    pub columns: &'a [I],
    /// Values.
    pub values: &'a [V],
}

/// The weights of a machine of several outputs, side by side: one row per column.
#[derive(Clone, Debug)]
pub struct SideBySide {
    weights: Vec<f64>,
}

impl SideBySide {
    /// The same numbers as the machine's, in another order.
    pub fn new(machine: &LinearMachine) -> Self {
        let k = machine.outputs();
        let mut weights = vec![0.0; machine.features * k];
        for m in 0..k {
            weights.chunks_exact_mut(k).zip(machine.output(m)).for_each(|(place, weight)| place[m] = *weight);
        }
        Self { weights }
    }

    /// Whether `values` numbers are read often enough to pay for the turning.
    pub fn pays(machine: &LinearMachine, values: usize) -> bool {
        machine.outputs() > 1 && values >= machine.features
    }
}

impl<O: Place, I: Place, V: Copy + Into<f64> + Sync> SparseRows<'_, O, I, V> {
    /// Rows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All outputs of the rows in `range`, row-major, and whether all sums are finite, which they are not where a value is not.
    pub fn outputs(
        &self,
        machine: &LinearMachine,
        turned: Option<&SideBySide>,
        range: Range<usize>,
        threads: usize,
    ) -> Result<(Vec<f64>, bool)> {
        let k = machine.outputs();
        let mut out = vec![0.0; range.len() * k];
        let finite = self.in_parts(machine, range, threads, &mut out, k, |rows, out| self.sums(machine, turned, rows, out))?;
        Ok((out, finite))
    }

    /// Class codes of the rows in `range` (the first of the largest outputs, or whether the only one is positive), and whether all sums are
    /// finite.
    pub fn codes(
        &self,
        machine: &LinearMachine,
        turned: Option<&SideBySide>,
        range: Range<usize>,
        threads: usize,
    ) -> Result<(Vec<i64>, bool)> {
        let k = machine.outputs();
        let mut out = vec![0; range.len()];
        let finite = self.in_parts(machine, range, threads, &mut out, 1, |rows, out| {
            let mut values = vec![0.0; rows.len() * k];
            let end = self.sums(machine, turned, rows, &mut values);
            if k == 1 {
                out.iter_mut().zip(&values).for_each(|(code, value)| *code = i64::from(*value > 0.0));
            } else {
                out.iter_mut().zip(values.chunks_exact(k)).for_each(|(code, values)| *code = argmax(values) as i64);
            }
            end
        })?;
        Ok((out, finite))
    }

    /// Cuts the rows in `range` and their places in `out` (`width` per row) into parts and hands them to threads; whether all was finite.
    fn in_parts<T: Send>(
        &self,
        machine: &LinearMachine,
        range: Range<usize>,
        threads: usize,
        out: &mut [T],
        width: usize,
        work: impl Fn(Range<usize>, &mut [T]) -> End + Sync,
    ) -> Result<bool> {
        if self.values.len() != self.columns.len() {
            return Err(Error::shape("values of a sparse table", self.columns.len(), self.values.len()));
        }
        let products = self.values.len().saturating_mul(machine.outputs());
        let threads = if products < WORTH_THREADS { 1 } else { threads };
        let worst = AtomicU8::new(End::Sound as u8);
        let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut(STRIDE * width.max(1)).map(Mutex::new).collect();
        parallel::map(threads, parts.len(), |part| {
            let mut out = parts[part].lock().expect("one thread has this part");
            let first = range.start + part * STRIDE;
            let end = work(first..(first + STRIDE).min(range.end), &mut out);
            worst.fetch_max(end as u8, Ordering::Relaxed);
        });
        match worst.into_inner() {
            end if end == End::Outside as u8 => Err(Error::data("a sparse table with a column or row offset outside of it")),
            end => Ok(end == End::Sound as u8),
        }
    }

    /// All outputs of the rows in `range` into `out`, row-major.
    fn sums(&self, machine: &LinearMachine, turned: Option<&SideBySide>, range: Range<usize>, out: &mut [f64]) -> End {
        let (k, mut end) = (machine.outputs(), End::Sound);
        let ends = self.offsets[range.start..=range.end].windows(2);
        for (ends, out) in ends.zip(out.chunks_exact_mut(k)) {
            let span = ends[0].place()..ends[1].place();
            let (Some(columns), Some(values)) = (self.columns.get(span.clone()), self.values.get(span)) else {
                return End::Outside;
            };
            let found = match turned {
                Some(turned) => side_by_side(columns, values, &turned.weights, machine.features, out),
                None => (0..k).all(|m| {
                    let weights = machine.output(m);
                    sum(columns, values, |column| weights.get(column).map(std::array::from_ref), &mut out[m..=m])
                }),
            };
            if !found {
                return End::Outside;
            }
            // A value that is not finite makes every sum that it enters not finite, so no other pass has to look for one.
            if !out.iter().all(|sum| sum.is_finite()) {
                end = End::NotFinite;
            }
            out.iter_mut().zip(&machine.biases).for_each(|(out, bias)| *out += bias);
        }
        end
    }
}

/// All sums of a row from weights that lie side by side; whether all columns are inside.
#[inline(always)]
fn side_by_side<I: Place, V: Copy + Into<f64>>(columns: &[I], values: &[V], weights: &[f64], features: usize, out: &mut [f64]) -> bool {
    macro_rules! by_width {
        ($($width:literal)*) => {
            match out.len() {
                $($width => {
                    let (weights, _) = weights.as_chunks::<$width>();
                    sum::<_, _, $width>(columns, values, |column| weights.get(column), out)
                })*
                // More than fit into the registers: some at a time, while the row is near.
                k => (0..k).step_by(WIDEST).all(|first| {
                    let out = &mut out[first..(first + WIDEST).min(k)];
                    let place = |column: usize| if column < features { weights.get(column * k + first..) } else { None };
                    match out.len() {
                        $($width => sum::<_, _, $width>(columns, values, |column| place(column)?.first_chunk(), out),)*
                        _ => unreachable!("at most {WIDEST} at a time"),
                    }
                }),
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8)
}

/// `K` sums of a row; `place` finds the weights of a column. Whether all columns are inside.
#[inline(always)]
fn sum<'a, I: Place, V: Copy + Into<f64>, const K: usize>(
    columns: &[I],
    values: &[V],
    place: impl Fn(usize) -> Option<&'a [f64; K]>,
    out: &mut [f64],
) -> bool {
    // The sum of nothing, to which adding changes no bit.
    let mut sums = [-0.0; K];
    for (column, value) in columns.iter().zip(values) {
        let Some(weights) = place(column.place()) else { return false };
        let value: f64 = (*value).into();
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += weight * value;
        }
    }
    out.copy_from_slice(&sums);
    true
}

/// What was found in some rows; the worst is the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Sound = 0,
    NotFinite = 1,
    Outside = 2,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A machine of `k` outputs, and rows of 0 to 12 values in any order.
    fn some(k: usize, rows: usize) -> (LinearMachine, Vec<i32>, Vec<i32>, Vec<f64>) {
        let (features, mut random) = (50, Random::new(k as u64, 0));
        let mut draw = |count: usize| (0..count).map(|_| random.normal()).collect::<Vec<f64>>();
        let machine = LinearMachine { weights: draw(k * features), biases: draw(k), features };
        let counts: Vec<usize> = (0..rows).map(|row| row * 7 % 13).collect();
        let mut offsets = vec![0];
        counts.iter().for_each(|count| offsets.push(offsets[offsets.len() - 1] + *count as i32));
        let total: usize = counts.iter().sum();
        let columns = (0..total).map(|i| (i * 31 % features) as i32).collect();
        (machine, offsets, columns, draw(total))
    }

    #[test]
    fn every_way_gives_the_bits_of_the_plain_sum() {
        for k in [1, 2, 3, 5, 6, 7, 8, 9, 17, 20] {
            let (machine, offsets, columns, values) = some(k, 3000);
            let rows = SparseRows { offsets: &offsets, columns: &columns, values: &values };
            let mut plain = Vec::new();
            for row in 0..3000 {
                let span = offsets[row] as usize..offsets[row + 1] as usize;
                for m in 0..k {
                    let pairs = columns[span.clone()].iter().zip(&values[span.clone()]);
                    let sum: f64 = pairs.map(|(&j, v)| machine.output(m)[j as usize] * v).sum();
                    plain.push(sum + machine.biases[m]);
                }
            }
            let turned = SideBySide::new(&machine);
            let wide =
                (offsets.iter().map(|&at| at as usize).collect::<Vec<_>>(), columns.iter().map(|&at| at as usize).collect::<Vec<_>>());
            let wide = SparseRows { offsets: &wide.0, columns: &wide.1, values: &values };
            let codes: Vec<i64> = plain.chunks(k).map(|row| if k == 1 { i64::from(row[0] > 0.0) } else { argmax(row) as i64 }).collect();
            for threads in [1, 2, 3] {
                for turned in [None, Some(&turned)] {
                    assert_eq!(rows.outputs(&machine, turned, 0..3000, threads).unwrap(), (plain.clone(), true));
                    assert_eq!(wide.outputs(&machine, turned, 0..3000, threads).unwrap(), (plain.clone(), true));
                    assert_eq!(rows.outputs(&machine, turned, 1500..2700, threads).unwrap(), (plain[1500 * k..2700 * k].to_vec(), true));
                    assert_eq!(rows.codes(&machine, turned, 0..3000, threads).unwrap(), (codes.clone(), true));
                }
            }
        }
    }

    #[test]
    fn faults_are_found_wherever_they_are() {
        for k in [1, 6, 11] {
            let (machine, offsets, columns, mut values) = some(k, 2000);
            let turned = SideBySide::new(&machine);
            let ask = |offsets: &[i32], columns: &[i32], values: &[f64], turned| {
                SparseRows { offsets, columns, values }.codes(&machine, turned, 0..2000, 2)
            };
            for turned in [None, Some(&turned)] {
                for wrong in [-1, 50, i32::MIN] {
                    let mut columns = columns.clone();
                    columns[9000] = wrong;
                    assert!(ask(&offsets, &columns, &values, turned).is_err());
                    let mut offsets = offsets.clone();
                    offsets[1500] = if wrong == 50 { i32::MAX } else { wrong };
                    assert!(ask(&offsets, &columns, &values, turned).is_err());
                }
                assert!(ask(&offsets, &columns[1..], &values, turned).is_err());
                for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let right = std::mem::replace(&mut values[7777], wrong);
                    assert!(!ask(&offsets, &columns, &values, turned).unwrap().1);
                    values[7777] = right;
                }
                assert!(ask(&offsets, &columns, &values, turned).unwrap().1);
            }
        }
    }
}
