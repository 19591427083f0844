//! Memory of a card that waits for its next use.

use std::collections::HashMap;

use crate::driver::Address;

/// Blocks up to this size are kept when they are given back, and so many bytes of them, or this share of the card's memory: asking the driver
/// takes longer than most kernels, and what goes back to it waits for the kernels of all lanes. Smaller ones are rounded up, so that others
/// find them.
pub(crate) const KEPT_BLOCK: usize = 512 << 20;
pub(crate) const KEPT_BYTES: usize = 2 << 30;
pub(crate) const KEPT_SHARE: usize = 16;
pub(crate) const ROUNDED: usize = 64 << 20;

/// Blocks of memory that nobody uses, by lane and size.
///
/// All work of a lane is in one queue, so that whoever gets a block there comes after whoever had it.
#[derive(Default)]
pub(crate) struct Pool {
    /// Each with the time when it came, counted in blocks; the newest are last, and go first.
    blocks: HashMap<(usize, usize), Vec<(Address, u64)>>,
    pub bytes: usize,
    came: u64,
}

impl Pool {
    pub(crate) fn pop(&mut self, lane: usize, bytes: usize) -> Option<Address> {
        let (address, _) = self.blocks.get_mut(&(lane, bytes)).and_then(Vec::pop)?;
        self.bytes -= bytes;
        Some(address)
    }

    pub(crate) fn push(&mut self, lane: usize, bytes: usize, address: Address) {
        self.came += 1;
        self.bytes += bytes;
        self.blocks.entry((lane, bytes)).or_default().push((address, self.came));
    }

    /// The block that nobody has asked for the longest: what is left of other work makes room for what comes and goes.
    pub(crate) fn oldest(&mut self) -> Option<Address> {
        let of_kind = |(kind, blocks): (&(usize, usize), &Vec<(Address, u64)>)| blocks.first().map(|(_, came)| (*came, *kind));
        let (_, kind) = self.blocks.iter().filter_map(of_kind).min()?;
        self.bytes -= kind.1;
        self.blocks.get_mut(&kind).map(|blocks| blocks.remove(0).0)
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn what_came_last_goes_first_and_the_oldest_makes_room() {
        let mut pool = Pool::default();
        for (lane, bytes, address) in [(1, 256, 10), (2, 256, 20), (1, 256, 11), (1, 512, 30)] {
            pool.push(lane, bytes, address);
        }
        assert_eq!((pool.bytes, pool.pop(1, 256), pool.pop(2, 512)), (1280, Some(11), None));
        pool.push(1, 256, 11);
        assert_eq!([pool.oldest(), pool.oldest(), pool.oldest()], [Some(10), Some(20), Some(30)]);
        assert_eq!((pool.bytes, pool.oldest(), pool.oldest(), pool.bytes), (256, Some(11), None, 0));
    }
}
