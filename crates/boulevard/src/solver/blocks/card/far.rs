//! Rows of a shard on a card, and sums over rows that come from elsewhere: what a worker of a cluster spends its time with.
//!
//! The shard's rows stay on the card for as long as a fit lasts. Others come with every message, are centered and split like those, and go
//! again: a copy takes a thousandth of the time of the sums.

use std::sync::Arc;

use boulevard_cuda::{Card, CudaError};

use super::formula::CardKernel;
use super::partial::Sums;
use super::table::CardTable;
use super::{AUTO_ROWS, SHARE, refusal};
use crate::data::Matrix;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Device;

/// Rows whose sums are computed by one launch: bounds the memory beside the table, and how long nobody else can use the card.
const AT_ONCE: usize = 1 << 19;

/// The rows of a shard on a card.
pub(crate) struct FarRows {
    device: Device,
    table: CardTable,
}

impl FarRows {
    /// On the card that `device` means; none where the processor is to do it. The kernel must be resolved.
    pub(crate) fn choose(kernel: &Kernel, x: &Matrix<'_>, device: Device) -> Result<Option<Self>> {
        let number = match device {
            Device::Cpu => return Ok(None),
            Device::Auto if x.rows() < AUTO_ROWS => return Ok(None),
            Device::Auto => 0,
            Device::Cuda(number) => number,
        };
        match open(number, kernel, x) {
            Ok(table) => Ok(table.map(|table| Self { device, table })),
            Err(_) if device == Device::Auto => Ok(None),
            Err(error) => Err(refusal(device, &error)),
        }
    }

    /// `sum_k weights[k] k(others[k], row)` for each of `rows`; in double precision throughout if `exactly`.
    pub(crate) fn sums(&self, rows: &[u32], others: &Matrix<'_>, weights: &[f64], exactly: bool) -> Result<Vec<f64>> {
        self.compute(rows, others, weights, exactly).map_err(|error| refusal(self.device, &error))
    }

    fn compute(&self, rows: &[u32], others: &Matrix<'_>, weights: &[f64], exactly: bool) -> std::result::Result<Vec<f64>, CudaError> {
        let (table, card) = (&self.table, &self.table.card);
        card.enter()?;
        let (beside, near) = table.beside(others, 0..others.rows())?;
        let numbers: Vec<u32> = (0..others.rows() as u32).collect();
        // Rows far outside of what is here have no digits left in halves of this scale.
        let exactly = exactly || !near;
        let exact = if exactly { Some(beside.exact_columns(&numbers, weights)?) } else { None };
        let split = if exactly { None } else { Some(beside.columns_of(&numbers, weights)?) };
        let (mut all, mut sums) = (Vec::with_capacity(rows.len()), Sums::new(card)?);
        for rows in rows.chunks(AT_ONCE) {
            let ids = card.upload(rows)?;
            let splits = match (&exact, &split) {
                (Some(columns), _) => table.weigh_exactly(&ids, 0, rows.len(), columns, &mut sums)?,
                (_, Some(columns)) => table.weigh(&table.gather(&ids, rows.len(), rows.len(), None)?, rows.len(), columns, &mut sums)?,
                (None, None) => 0,
            };
            let first = all.len();
            all.resize(first + rows.len(), 0.0);
            for part in sums.values.read(splits * rows.len())?.chunks_exact(rows.len()) {
                all[first..].iter_mut().zip(part).for_each(|(all, part)| *all += part);
            }
        }
        Ok(all)
    }
}

/// The rows on a card with room for them; none if there is nothing for it to do.
fn open(number: usize, kernel: &Kernel, x: &Matrix<'_>) -> std::result::Result<Option<CardTable>, CudaError> {
    let card: Arc<Card> = Card::open(number)?;
    let Some(known) = CardKernel::new(kernel).filter(|_| x.rows() > 0 && x.columns() > 0) else { return Ok(None) };
    let (bytes, (free, total)) = (CardTable::bytes(x.rows(), x.columns()), card.memory()?);
    if bytes as f64 > SHARE * free as f64 || x.rows() >= u32::MAX as usize / 4 {
        return Err(CudaError::Memory { bytes, free, total });
    }
    CardTable::of_rows(card, known, x, false).map(Some)
}
