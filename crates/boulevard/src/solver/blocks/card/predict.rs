//! Sums of kernel values for new rows, on a card: what fitted machines evaluate.
//!
//! Support vectors lie there as a table; new rows come in pieces, centered and split like it, and while one piece is copied another is
//! computed. One output is summed without storing a value; so are up to sixteen at once on Hopper, elsewhere several outputs share stored
//! values of a part of the rows.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use boulevard_cuda::{Buffer, Card, CudaError};

use super::formula::CardKernel;
use super::partial::Sums;
use super::table::{CardTable, Columns, Packed};
use super::times::timed;
use super::{SHARE, refusal};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::{Context, Device, StopReason};

/// Kernel values from which a card is used: where it was asked for, and without being asked.
const ASKED: f64 = 5e6;
const UNASKED: f64 = 3e10;
/// Bytes of a piece of new rows: small ones are there soon, and the card has something to do; and of stored values.
const PIECE: usize = 16 << 20;
const STORED: usize = 64 << 20;
/// Rows of a piece are a multiple of this, and pieces under way at a time.
const WHOLE: usize = 128;
const LANES: usize = 4;
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

/// Makes values of so many rows' sums, `sums[job][output * rows + row]`.
type Finish<'a> = dyn Fn(usize, &[Vec<f64>]) -> Vec<f64> + Sync + 'a;

/// What `finish` makes of the sums of all rows, so many outputs for each, one piece after the other; sums are in double precision throughout if `exactly`.
/// None where the processor is to do it.
pub(crate) fn card_sums(
    kernel: &Kernel,
    vectors: &Matrix<'_>,
    x: &Matrix<'_>,
    jobs: &[Job<'_>],
    exactly: bool,
    context: &Context<'_>,
    outputs: usize,
    finish: &Finish<'_>,
) -> Result<Option<Vec<f64>>> {
    let values = x.rows() as f64 * vectors.rows() as f64;
    let number = match context.device {
        Device::Cuda(number) if values >= ASKED => number,
        Device::Auto if values >= UNASKED => 0,
        _ => return Ok(None),
    };
    let Some(known) = CardKernel::new(kernel) else { return Ok(None) };
    if x.columns() != vectors.columns() || x.columns() == 0 {
        return Ok(None);
    }
    match on_card(number, known, vectors, x, jobs, exactly, context, outputs, finish) {
        Ok(values) => Ok(Some(values)),
        Err(End::Interrupted) => Err(Error::Stopped { reason: StopReason::Interrupted }),
        Err(End::Failed(error)) if context.device == Device::Auto => {
            context.note(&format!("{error}; using the processor"));
            Ok(None)
        }
        Err(End::Failed(error)) => Err(refusal(context.device, &error)),
    }
}

/// Why there are no sums.
enum End {
    Interrupted,
    Failed(CudaError),
}

impl From<CudaError> for End {
    fn from(error: CudaError) -> Self {
        Self::Failed(error)
    }
}

fn on_card(
    number: usize,
    kernel: CardKernel,
    vectors: &Matrix<'_>,
    x: &Matrix<'_>,
    jobs: &[Job<'_>],
    exactly: bool,
    context: &Context<'_>,
    outputs: usize,
    finish: &Finish<'_>,
) -> std::result::Result<Vec<f64>, End> {
    let card = Card::open(number)?;
    let (n, columns) = (x.rows(), x.columns());
    let each = (PIECE / (8 * columns)).max(WHOLE) / WHOLE * WHOLE;
    let (free, total) = card.memory()?;
    let least = CardTable::bytes(vectors.rows(), columns) + LANES * (CardTable::bytes(each, columns) + STORED);
    if least as f64 > SHARE * free as f64 {
        return Err(CudaError::Memory { bytes: least, free, total }.into());
    }
    let several = !exactly && jobs.iter().map(|job| job.outputs).sum::<usize>() > 1;
    let table = timed(&card, "predict: table", || CardTable::of_rows(card.clone(), kernel, vectors, several))?;
    let parts = jobs.iter().map(|job| Part::new(&table, job, exactly, several)).collect::<std::result::Result<Vec<_>, CudaError>>()?;
    // What all lanes read is there before they begin.
    card.synchronize()?;
    // Whoever shares the card with others already has a lane, and no more.
    let lanes = if card.sharing() > 1 { 1 } else { LANES };
    let (count, sharing) = (n.div_ceil(each), card.sharing().max(lanes));
    in_pieces(lanes, n * outputs, each * outputs, |piece| {
        // A time limit is for fits: what they need of their machines afterwards is finished.
        if count > 1 && context.step("evaluate", piece, count) == Some(StopReason::Interrupted) {
            return Err(End::Interrupted);
        }
        let rows = piece * each..((piece + 1) * each).min(n);
        // Rows get ready while thousands of blocks of other pieces wait for their turn.
        let _ahead = card.urgent_lane(sharing)?;
        let (beside, near) = timed(&card, "predict: rows", || table.beside(x, rows.clone()))?;
        let lane = card.lane(sharing)?;
        // Halves have digits for values of about the same size: rows far outside of what the machine knows have none left.
        let sums = parts.iter().map(|part| part.sums(&table, &beside, exactly || !near));
        let sums = sums.collect::<std::result::Result<Vec<_>, CudaError>>()?;
        // Memory goes back to the lane that it came from.
        drop(lane);
        drop(beside);
        Ok(finish(rows.len(), &sums))
    })
}

/// All values, of which `work` has `each` per piece. Its threads wait for the card most of the time, so nobody looks whether there are cores
/// for them.
fn in_pieces(
    threads: usize,
    values: usize,
    each: usize,
    work: impl Fn(usize) -> std::result::Result<Vec<f64>, End> + Sync,
) -> std::result::Result<Vec<f64>, End> {
    let mut all = vec![0.0; values];
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    // Memory that is new is mapped piece by piece while the card works, not at the end.
    let pieces: Vec<Mutex<&mut [f64]>> = all.chunks_mut(each.max(1)).map(Mutex::new).collect();
    let run = || {
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            let Some(to) = pieces.get(piece) else { break };
            match work(piece) {
                Ok(values) => to.lock().unwrap_or_else(PoisonError::into_inner).copy_from_slice(&values),
                Err(end) => {
                    // Nothing new is begun.
                    next.store(pieces.len(), Ordering::Relaxed);
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(end);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads.min(pieces.len())).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    drop(pieces);
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(end) => Err(end),
        None => Ok(all),
    }
}

/// A job's vectors, as its sums need them.
struct Part<'a> {
    job: &'a Job<'a>,
    ids: Vec<u32>,
    on_card: OnCard,
}

enum OnCard {
    /// Nothing: double precision gathers what it needs.
    Nothing,
    /// For one output after the other.
    Columns(Vec<Columns>),
    /// Padded, and weights of all outputs.
    Several(Packed, Buffer<f32>),
    /// For values that are stored, and weights of all outputs.
    Stored(Packed, Buffer<f64>),
}

impl<'a> Part<'a> {
    fn new(table: &CardTable, job: &'a Job<'a>, exactly: bool, several: bool) -> std::result::Result<Self, CudaError> {
        let (card, count) = (&table.card, job.count);
        let ids: Vec<u32> = (0..count).map(|k| (job.first + k) as u32).collect();
        let on_card = if exactly || count == 0 {
            OnCard::Nothing
        } else if several && job.outputs <= table.at_once() {
            let padded = table.padded(count);
            let mut weights = vec![0.0f32; job.outputs * padded];
            for (to, from) in weights.chunks_exact_mut(padded).zip(job.weights.chunks_exact(count)) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from as f32);
            }
            OnCard::Several(table.gather(&card.upload(&ids)?, count, padded, None)?, card.upload(&weights)?)
        } else if several && table.is_storable() {
            OnCard::Stored(table.gather(&card.upload(&ids)?, count, count, None)?, card.upload(job.weights)?)
        } else {
            let columns = job.weights.chunks_exact(count).map(|weights| table.columns_of(&ids, weights));
            OnCard::Columns(columns.collect::<std::result::Result<_, _>>()?)
        };
        Ok(Self { job, ids, on_card })
    }

    /// `sums[output * rows + row]` for rows beside the table.
    fn sums(&self, table: &CardTable, rows: &CardTable, exactly: bool) -> std::result::Result<Vec<f64>, CudaError> {
        let (job, card, n) = (self.job, &rows.card, rows.rows);
        let mut all = vec![0.0; job.outputs * n];
        if job.count == 0 {
            return Ok(all);
        }
        let mut sums = Sums::new(card)?;
        let take = |splits: usize, sums: &Sums, to: &mut [f64]| -> std::result::Result<(), CudaError> {
            if splits > 1 {
                // Few numbers, and somebody waits for them: blocks of other lanes would come first.
                card.synchronize()?;
                let _ahead = card.urgent_lane(card.sharing())?;
                let launch = card.launch("add_parts").items(to.len()).buffer(&sums.values).count(splits);
                launch.long(to.len() as u64).run()?;
                return sums.values.read_into(0, to);
            }
            sums.values.read_into(0, to)
        };
        match &self.on_card {
            OnCard::Several(columns, weights) if !exactly => {
                let work = || rows.weigh_several(&rows.all, n, columns, weights, job.outputs, &mut sums);
                let splits = timed(card, "predict: sums", work)?;
                take(splits, &sums, &mut all)?;
            }
            OnCard::Stored(columns, weights) if !exactly => stored(rows, columns, weights, job, &mut all)?,
            OnCard::Columns(columns) if !exactly => {
                for (columns, output) in columns.iter().zip(all.chunks_exact_mut(n)) {
                    let splits = timed(card, "predict: sums", || rows.weigh(&rows.all, n, columns, &mut sums))?;
                    take(splits, &sums, output)?;
                }
            }
            _ => {
                let of_rows = card.upload(&(0..n as u32).collect::<Vec<_>>())?;
                for (weights, output) in job.weights.chunks_exact(job.count).zip(all.chunks_exact_mut(n)) {
                    let columns = table.exact_columns(&self.ids, weights)?;
                    let splits = timed(card, "predict: exact sums", || rows.weigh_exactly(&of_rows, 0, n, &columns, &mut sums))?;
                    take(splits, &sums, output)?;
                }
            }
        }
        Ok(all)
    }
}

/// All outputs from stored values, some rows at a time.
fn stored(rows: &CardTable, columns: &Packed, weights: &Buffer<f64>, job: &Job<'_>, all: &mut [f64]) -> std::result::Result<(), CudaError> {
    let (card, n) = (&rows.card, rows.rows);
    let at_once = (STORED / 4 / job.count).clamp(1, n);
    let values = card.allocate::<f32>(at_once * job.count)?;
    let sums = card.allocate::<f64>(job.outputs * at_once)?;
    for first in (0..n).step_by(at_once) {
        let count = at_once.min(n - first);
        rows.store_values(&rows.all, first, count, columns, job.count, &values, job.count, false)?;
        let launch = card.launch("weigh_stored").grid(count.div_ceil(32), job.outputs.div_ceil(4)).buffer(&values);
        let launch = launch.long(job.count as u64).count(count).count(job.count).buffer(weights).count(job.outputs);
        launch.buffer(&sums).run()?;
        for (output, part) in sums.read(job.outputs * count)?.chunks_exact(count).enumerate() {
            all[output * n + first..][..count].copy_from_slice(part);
        }
    }
    Ok(())
}
