//! Rows on a graphics card: everything but the decisions of the loop happens there.
//!
//! The table, its gradient and the set's matrix stay on the card; what travels per round is the set (some numbers per variable), its
//! solution and the next candidates. Sums run on tensor cores with tables split into halves of half precision, sets are solved by one block,
//! and the certificate is computed in double precision. `boulevard_cuda` has the kernels and the calls.

mod active;
mod border;
mod engine;
mod exact;
mod factor;
mod far;
mod formula;
mod lanes;
mod newton;
mod pairs;
mod partial;
mod predict;
mod table;
mod times;
mod upload;

use std::sync::Arc;

use boulevard_cuda::{Card, CudaError};

use self::formula::CardKernel;
pub(crate) use engine::{CardBlocks, ROUNDING as CARD_DRIFT};
pub(crate) use far::FarRows;
pub use lanes::CardCopy;
pub(crate) use lanes::CardLanes;
pub(crate) use pairs::{PairTask, card_for_pairs, solve_pairs};
pub(crate) use predict::{Job, card_sums};
#[cfg(feature = "card-times")]
pub use times::card_times;

use crate::error::{Error, Result};
use crate::observe::{Context, Device};
use crate::solver::source::KernelSource;

/// Tables from which on a card is taken without being asked for. Measured on an H200 against 16 cores: at 131 000 rows it wins by a factor
/// of 4 to 8, at 20 000 by 2, which the start of a process's first card would eat up.
const AUTO_ROWS: usize = 100_000;
/// Of the card's free memory a fit takes at most this share.
const SHARE: f64 = 0.9;

/// What a context says about cards for a table: one to use, none, or none with the reason.
pub(crate) enum Choice {
    Card(Arc<Card>),
    Processor,
    /// Tried and refused; the reason is for whoever watches.
    Refused(String),
}

/// Whether and which card fits `source`; an error where one was asked for by name and cannot be used.
pub(crate) fn choose(source: &dyn KernelSource, suitable: bool, context: &Context<'_>) -> Result<Choice> {
    let number = match context.device {
        Device::Cpu => return Ok(Choice::Processor),
        Device::Auto if !suitable || source.len() < AUTO_ROWS => return Ok(Choice::Processor),
        Device::Auto => 0,
        Device::Cuda(number) => number,
    };
    match open(source, suitable, number) {
        Ok(Some(card)) => Ok(Choice::Card(card)),
        Ok(None) => Ok(Choice::Processor),
        Err(error) if context.device == Device::Auto => Ok(Choice::Refused(error.to_string())),
        Err(error) => Err(refusal(context.device, &error)),
    }
}

/// A card with room for the table; none if there is nothing for it to do.
fn open(source: &dyn KernelSource, suitable: bool, number: usize) -> std::result::Result<Option<Arc<Card>>, CudaError> {
    let card = Card::open(number)?;
    let known = suitable && source.table().is_some_and(|view| CardKernel::new(view.kernel).is_some());
    if !known {
        return Ok(None);
    }
    let (bytes, (free, total)) = (table::CardTable::bytes(source.len(), source.dimensions()), card.memory()?);
    if bytes as f64 > SHARE * free as f64 || source.len() >= u32::MAX as usize / 4 {
        return Err(CudaError::Memory { bytes, free, total });
    }
    Ok(Some(card))
}

/// A card's error in the words of the library.
pub(crate) fn refusal(device: Device, error: &CudaError) -> Error {
    Error::Device { device: device.to_string(), reason: error.to_string() }
}
