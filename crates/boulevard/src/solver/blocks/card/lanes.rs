//! Many problems at once on one card: a copy of the table that they share, and a lane for each.
//!
//! A set is solved by one of the card's processors while the others wait, and a round's sums are over in a fraction of that time: one fit
//! alone leaves most of a card idle. Folds and points of a grid do not depend on each other, so that several run side by side, each driven by
//! a thread of its own.

use std::sync::{Arc, Mutex, PoisonError};

use boulevard_cuda::{Card, CudaError, LaneGuard};

use super::formula::CardKernel;
use super::table::CardTable;
use super::{AUTO_ROWS, SHARE, refusal};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::{Context, Device};
use crate::solver::route;
use crate::solver::source::TableView;

/// Lanes at most: drivers serve eight queues side by side unless they are told otherwise.
const MOST: usize = 8;

/// A table's copy on a card, for all problems on it: whoever needs it first makes it.
#[derive(Default)]
pub struct CardCopy(Mutex<Option<Arc<CardTable>>>);

impl CardCopy {
    /// The copy, for this kernel.
    pub(super) fn get(&self, card: &Arc<Card>, kernel: CardKernel, view: &TableView<'_>) -> std::result::Result<CardTable, CudaError> {
        let mut copy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = copy.as_ref().filter(|table| Arc::ptr_eq(&table.card, card) && table.rows == view.len());
        if let Some(table) = known.and_then(|table| table.with_kernel(kernel)) {
            return Ok(table);
        }
        // Finished when it is there: other lanes need not wait for this one.
        let table = CardTable::new(card.clone(), kernel, view)?;
        let own = table.with_kernel(kernel).unwrap_or(table);
        *copy = own.with_kernel(kernel).map(Arc::new);
        Ok(own)
    }
}

/// Side by side on a card: which one, and how many.
#[derive(Clone)]
pub(crate) struct CardLanes {
    card: Arc<Card>,
    device: Device,
    /// How many problems run at once.
    pub at_once: usize,
}

impl CardLanes {
    /// Lanes for `units` problems on tables of `rows` x `columns`, each of which needs `beside` bytes more; none where the processor is to
    /// solve them. A kernel that is not known yet may be for the card.
    pub(crate) fn choose(
        kernel: Option<&Kernel>,
        rows: usize,
        columns: usize,
        beside: usize,
        units: usize,
        context: &Context<'_>,
    ) -> Option<Self> {
        let number = match context.device {
            Device::Cuda(number) if rows >= route::FEWEST_ROWS => number,
            Device::Auto if rows >= AUTO_ROWS => 0,
            _ => return None,
        };
        // Kernels that are not positive semi-definite are for a card that was asked for.
        let asked = matches!(context.device, Device::Cuda(_));
        let for_card = |kernel: &Kernel| CardKernel::new(kernel).is_some() && (asked || kernel.is_positive_semidefinite() != Some(false));
        if !kernel.is_none_or(for_card) {
            return None;
        }
        let open = || -> std::result::Result<(Arc<Card>, usize), CudaError> {
            let card = Card::open(number)?;
            let room = SHARE * card.memory()?.0 as f64 / CardTable::bytes(rows, columns).saturating_add(beside) as f64;
            Ok((card, room as usize))
        };
        // Where there is no card, whoever fits says why.
        let (card, room) = open().ok()?;
        let at_once = MOST.min(units).min(context.threads).min(room).max(1);
        Some(Self { card, device: context.device, at_once })
    }

    /// A lane for this thread, for as long as the guard lives.
    pub(crate) fn enter(&self) -> Result<LaneGuard> {
        self.card.lane(self.at_once).map_err(|error| refusal(self.device, &error))
    }
}
