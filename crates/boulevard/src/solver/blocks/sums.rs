//! Weighted sums of kernel rows over many columns: all threads, and an ear for whoever wants to stop.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::kernel::KernelRows;
use crate::observe::{Context, Progress, StopReason};
use crate::parallel::Crew;
use crate::simd::Real;

/// How often the context is asked.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// Rows and what each of them counts.
#[derive(Clone, Copy)]
pub(super) struct Weighted<'a> {
    pub rows: &'a [usize],
    pub weights: &'a [f64],
}

/// A context, and when it was last asked: calls are often shorter than the time between two questions.
pub(super) struct Watch<'a> {
    pub context: Context<'a>,
    asked: Instant,
}

impl<'a> Watch<'a> {
    pub(super) fn new(context: &Context<'a>) -> Self {
        Self { context: *context, asked: Instant::now() }
    }
}

/// `sums[c] = sum_r weights[r] K[rows[r], c]` for all columns, padded to whole panels; or the reason to stop.
///
/// A column's sum has the same bits however columns are cut into parts.
pub(super) fn weigh<T: Real>(
    kernel: &dyn KernelRows<T>,
    of: Weighted<'_>,
    dimensions: usize,
    sums: &mut Vec<f64>,
    crew: &mut Crew,
    watch: &mut Watch<'_>,
    progress: &Progress<'_>,
) -> Option<StopReason> {
    sums.clear();
    add(kernel, of, dimensions, sums, crew, watch, progress)
}

/// Adds the same to `sums`, which is empty or has the sums of other rows over the same columns.
pub(super) fn add<T: Real>(
    kernel: &dyn KernelRows<T>,
    of: Weighted<'_>,
    dimensions: usize,
    sums: &mut Vec<f64>,
    crew: &mut Crew,
    watch: &mut Watch<'_>,
    progress: &Progress<'_>,
) -> Option<StopReason> {
    let context = &watch.context;
    let (columns, lanes) = (kernel.columns(), context.isa.lanes::<T>());
    sums.resize(columns.next_multiple_of(lanes), 0.0);
    // Parts of a few milliseconds, so that a stop is noticed soon and nobody waits long for the last one.
    let work = of.rows.len().max(1) * (dimensions + 20);
    let part = columns.div_ceil(6 * crew.threads()).min((1 << 28) / work + 1).max(columns >> 15).next_multiple_of(lanes);
    let asked = Mutex::new((watch.asked, None));
    let parts: Vec<Mutex<&mut [f64]>> = sums.chunks_mut(part).map(Mutex::new).collect();
    crew.share(parts.len(), &|p| {
        if let Ok(mut asked) = asked.try_lock() {
            if asked.1.is_none() && asked.0.elapsed() >= ASK_EVERY {
                *asked = (Instant::now(), context.check(progress));
            }
            if asked.1.is_some() {
                return;
            }
        }
        let columns = p * part..((p + 1) * part).min(columns);
        let mut sums = parts[p].lock().expect("every part is taken once");
        kernel.weigh(of.rows, of.weights, 1, columns, &mut sums);
    });
    let (asked, reason) = asked.into_inner().expect("no thread panicked");
    watch.asked = asked;
    reason
}
