//! Which kernel rows are in memory, and which one to give up.
//!
//! First in, first out, with a second chance for rows used lately. The values themselves lie in the segments' arenas, one slot per row.
//!
//! Writing to memory for the first time costs about as much as computing the values, so a cache may begin with fewer slots than it may have. A
//! row that is asked for the first time takes the place of an old one; once as many rows have come back as there are slots, every further
//! one that does gets a slot of its own. Under small bounds most rows are asked for once.

/// A row that never was there, and one that was.
const NONE: u32 = u32::MAX;
const GONE: u32 = u32::MAX - 1;
/// A row used within this many steps is not given up.
const RECENT: u64 = 200;
/// Evictions per row of the matrix, in a cache that cannot grow, after which it is no help any more: blocks would have computed about as
/// many rows by then.
const CROWDED: usize = 3;

pub(super) struct Cache {
    slot_of_row: Vec<u32>,
    row_of_slot: Vec<u32>,
    used: Vec<u64>,
    /// Next slot to look at for eviction.
    hand: usize,
    slots: usize,
    /// Slots it may grow to.
    most: usize,
    evicted: usize,
    /// Rows that were asked for again after they had been given up.
    returned: usize,
}

impl Cache {
    /// Starts with `slots` and grows to `most` with rows that come back.
    pub(super) fn new(rows: usize, slots: usize, most: usize) -> Self {
        Self { slot_of_row: vec![NONE; rows], row_of_slot: Vec::new(), used: Vec::new(), hand: 0, slots, most, evicted: 0, returned: 0 }
    }

    /// Rows it may hold now.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Lets it hold this many rows at once; `false` if it may not.
    pub(super) fn make_room(&mut self, rows: usize) -> bool {
        let allowed = rows <= self.most;
        if allowed {
            self.slots = self.slots.max(rows);
        }
        allowed
    }

    /// Slots in use.
    pub(super) fn filled(&self) -> usize {
        self.row_of_slot.len()
    }

    /// Allows more slots.
    pub(super) fn grow(&mut self, slots: usize) {
        self.most = self.most.max(slots.min(self.slot_of_row.len()));
        self.slots = self.most;
    }

    /// Whether rows are computed again and again though all the memory is taken.
    pub(super) fn is_crowded(&self) -> bool {
        self.slots == self.most && self.evicted > CROWDED * self.slot_of_row.len()
    }

    pub(super) fn contains(&self, row: usize) -> bool {
        self.slot_of_row[row] < GONE
    }

    /// Whether `rows` more fit without giving one up.
    pub(super) fn has_room(&self, rows: usize) -> bool {
        self.row_of_slot.len() + rows <= self.slots
    }

    /// Up to `count` rows soon after `row` that are not there.
    pub(super) fn missing_after(&self, row: usize, count: usize) -> Vec<usize> {
        (row + 1..self.slot_of_row.len()).take(64).filter(|&other| !self.contains(other)).take(count).collect()
    }

    /// The slot of `row`, marked as used at step `now`.
    pub(super) fn find(&mut self, row: usize, now: u64) -> Option<usize> {
        let slot = self.slot_of_row[row];
        (slot < GONE).then(|| {
            self.used[slot as usize] = now;
            slot as usize
        })
    }

    /// Takes back that `row` is there: its values were not computed to the end.
    pub(super) fn forget(&mut self, row: usize) {
        let slot = std::mem::replace(&mut self.slot_of_row[row], NONE);
        if slot < GONE {
            self.row_of_slot[slot as usize] = NONE;
        }
    }

    /// A slot for `row`, which is not there yet. Rows used at step `now` itself are never given up for it.
    pub(super) fn insert(&mut self, row: usize, now: u64) -> usize {
        debug_assert!(!self.contains(row));
        if self.row_of_slot.len() == self.slots && self.slots < self.most && self.slot_of_row[row] == GONE {
            self.returned += 1;
            self.slots += usize::from(self.returned > self.slots);
        }
        if self.row_of_slot.len() < self.slots {
            self.slot_of_row[row] = self.row_of_slot.len() as u32;
            self.row_of_slot.push(row as u32);
            self.used.push(now);
            return self.row_of_slot.len() - 1;
        }
        let mut looked = 0;
        let slot = loop {
            let slot = self.hand;
            self.hand = (self.hand + 1) % self.slots;
            looked += 1;
            let age = now - self.used[slot];
            // After a full round without an old row, any row that this step does not need will do.
            if age > RECENT || (looked > self.slots && age > 0) || looked > 2 * self.slots {
                break slot;
            }
        };
        self.evicted += 1;
        if self.row_of_slot[slot] != NONE {
            self.slot_of_row[self.row_of_slot[slot] as usize] = GONE;
        }
        self.row_of_slot[slot] = row as u32;
        self.slot_of_row[row] = slot as u32;
        self.used[slot] = now;
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_come_back_get_slots_of_their_own_after_a_while() {
        let mut cache = Cache::new(100, 2, 3);
        for (now, row) in (0..50).enumerate() {
            cache.insert(row, 300 * now as u64);
        }
        assert_eq!(cache.slots(), 2, "new rows take the places of old ones");
        for (now, row) in (0..2).enumerate() {
            cache.insert(row, 300 * (50 + now) as u64);
        }
        assert_eq!(cache.slots(), 2, "two have come back to two slots");
        cache.insert(2, 300 * 52);
        assert_eq!((cache.slots(), cache.filled()), (3, 3));
        cache.insert(3, 300 * 53);
        assert_eq!(cache.slots(), 3, "there is no more room");
    }

    #[test]
    fn old_rows_go_first_and_recent_ones_stay() {
        let mut cache = Cache::new(10, 2, 2);
        assert_eq!((cache.insert(3, 0), cache.insert(4, 0)), (0, 1));
        assert_eq!(cache.find(3, 300), Some(0));
        assert_eq!(cache.insert(5, 300), 1);
        assert!(cache.contains(3) && !cache.contains(4) && cache.contains(5));
        // Both are recent now, but only one was used at this very step.
        assert_eq!(cache.find(5, 301), Some(1));
        assert_eq!(cache.insert(6, 301), 0);
        assert!(cache.find(3, 302).is_none());
    }
}
