//! Sums of kernel values for new rows, on a card: what fitted machines evaluate.
//!
//! New rows and support vectors are one table there, so that both are centered and split alike. One output is summed without storing a
//! value; several outputs share the stored values of a part of the rows.

use std::sync::Arc;

use boulevard_cuda::{Card, CudaError};

use super::formula::CardKernel;
use super::partial::Sums;
use super::table::{CardTable, OUTSIDE};
use super::{SHARE, refusal};
use crate::data::Matrix;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::{Context, Device};

/// Kernel values from which a card is used: where it was asked for, and without being asked.
const ASKED: f64 = 5e6;
const UNASKED: f64 = 3e10;
/// Rows on the card at once, and bytes of stored values.
const ROWS: usize = 1 << 19;
const STORED: usize = 1 << 30;
/// Errors of sums of halves: by chance, in units of the coefficients' length, and all to one side, in units of their sum. Seen on an H200:
/// 6e-7 of the length for coefficients of both signs, 5e-8 of the sum for those of one sign, as the classes of a pair have them.
const BY_CHANCE: f64 = 6e-7;
const ONE_SIDED: f64 = 6e-8;

/// Some of the support vectors and their coefficients, outputs x vectors.
pub(crate) struct Job<'a> {
    pub first: usize,
    pub count: usize,
    pub outputs: usize,
    pub weights: &'a [f64],
}

impl Job<'_> {
    /// About how far sums of halves may be from the true ones.
    pub(crate) fn card_error(&self) -> f64 {
        let of_output = |weights: &[f64]| {
            let (squares, sum) = weights.iter().fold((0.0, 0.0), |(squares, sum), w| (squares + w * w, sum + w));
            BY_CHANCE * f64::sqrt(squares) + ONE_SIDED * f64::abs(sum)
        };
        self.weights.chunks_exact(self.count.max(1)).map(of_output).fold(0.0, f64::max)
    }
}

/// `sums[job][output * rows + row]`, in double precision throughout if `exactly`; none where the processor is to do it.
pub(crate) fn card_sums(
    kernel: &Kernel,
    vectors: &Matrix<'_>,
    x: &Matrix<'_>,
    jobs: &[Job<'_>],
    exactly: bool,
    context: &Context<'_>,
) -> Result<Option<Vec<Vec<f64>>>> {
    let values = x.rows() as f64 * vectors.rows() as f64;
    let number = match context.device {
        Device::Cuda(number) if values >= ASKED => number,
        Device::Auto if values >= UNASKED => 0,
        _ => return Ok(None),
    };
    if CardKernel::new(kernel).is_none() || x.columns() != vectors.columns() || x.columns() == 0 {
        return Ok(None);
    }
    match on_card(number, kernel, vectors, x, jobs, exactly) {
        Ok(sums) => Ok(Some(sums)),
        Err(error) if context.device == Device::Auto => {
            context.note(&format!("{error}; using the processor"));
            Ok(None)
        }
        Err(error) => Err(refusal(context.device, &error)),
    }
}

fn on_card(
    number: usize,
    kernel: &Kernel,
    vectors: &Matrix<'_>,
    x: &Matrix<'_>,
    jobs: &[Job<'_>],
    exactly: bool,
) -> std::result::Result<Vec<Vec<f64>>, CudaError> {
    let card = Card::open(number)?;
    let n = x.rows();
    let mut sums: Vec<Vec<f64>> = jobs.iter().map(|job| vec![0.0; job.outputs * n]).collect();
    let (free, total) = card.memory()?;
    let least = CardTable::bytes(vectors.rows() + 1, x.columns()) + STORED;
    if least as f64 > SHARE * free as f64 {
        return Err(CudaError::Memory { bytes: least, free, total });
    }
    let per_row = CardTable::bytes(1 << 20, x.columns()) >> 20;
    let at_once = ((SHARE * free as f64) as usize - least) / per_row.max(1);
    let at_once = at_once.clamp(1, ROWS);
    let several = jobs.iter().map(|job| job.outputs).sum::<usize>() > 1;
    for first in (0..n).step_by(at_once) {
        let rows = first..(first + at_once).min(n);
        let Some(known) = CardKernel::new(kernel) else { return Ok(sums) };
        let table = CardTable::stacked(card.clone(), known, x, rows.clone(), vectors, several && !exactly)?;
        // Halves have digits for values of about the same size: rows far outside of what the machine knows would take them from the others.
        let exactly = exactly || table.largest(0)? > OUTSIDE * table.largest(rows.len())?;
        for (job, sums) in jobs.iter().zip(&mut sums) {
            let part = if several && !exactly && table.is_storable() {
                stored(&card, &table, rows.len(), job)?
            } else {
                summed(&card, &table, rows.len(), job, exactly)?
            };
            for (output, part) in part.chunks_exact(rows.len()).enumerate() {
                sums[output * n..][rows.clone()].copy_from_slice(part);
            }
        }
    }
    Ok(sums)
}

/// One output after the other.
fn summed(card: &Arc<Card>, table: &CardTable, rows: usize, job: &Job<'_>, exactly: bool) -> std::result::Result<Vec<f64>, CudaError> {
    let ids: Vec<u32> = (0..job.count).map(|k| (rows + job.first + k) as u32).collect();
    let mut sums = Sums::new(card)?;
    let mut all = Vec::with_capacity(job.outputs * rows);
    let of_rows = if exactly { Some(card.upload(&(0..rows as u32).collect::<Vec<_>>())?) } else { None };
    for weights in job.weights.chunks_exact(job.count.max(1)) {
        let splits = match &of_rows {
            Some(of_rows) => table.weigh_exactly(of_rows, 0, rows, &table.exact_columns(&ids, weights)?, &mut sums)?,
            None => table.weigh(&table.all, rows, &table.columns_of(&ids, weights)?, &mut sums)?,
        };
        let mut output = vec![0.0; rows];
        for part in sums.values.read(splits * rows)?.chunks_exact(rows) {
            output.iter_mut().zip(part).for_each(|(output, part)| *output += part);
        }
        all.extend(output);
    }
    Ok(all)
}

/// All outputs from stored values, some rows at a time.
fn stored(card: &Arc<Card>, table: &CardTable, rows: usize, job: &Job<'_>) -> std::result::Result<Vec<f64>, CudaError> {
    let mut all = vec![0.0; job.outputs * rows];
    if job.count == 0 {
        return Ok(all);
    }
    let ids: Vec<u32> = (0..job.count).map(|k| (rows + job.first + k) as u32).collect();
    let ids = card.upload(&ids)?;
    let columns = table.gather(&ids, job.count, job.count, None)?;
    let weights = card.upload(job.weights)?;
    let at_once = (STORED / 4 / job.count).clamp(128, rows.max(128)).min(rows.max(1));
    let values = card.allocate::<f32>(at_once * job.count)?;
    let sums = card.allocate::<f64>(job.outputs * at_once)?;
    for first in (0..rows).step_by(at_once) {
        let count = at_once.min(rows - first);
        table.store_values(&table.all, first, count, &columns, job.count, &values, job.count, false)?;
        let launch = card.launch("weigh_stored").grid(count.div_ceil(32), job.outputs.div_ceil(4)).buffer(&values);
        let launch = launch.long(job.count as u64).count(count).count(job.count).buffer(&weights).count(job.outputs);
        launch.buffer(&sums).run()?;
        for (output, part) in sums.read(job.outputs * count)?.chunks_exact(count).enumerate() {
            all[output * rows + first..][..count].copy_from_slice(part);
        }
    }
    Ok(all)
}
