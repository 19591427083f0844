//! Whether a crew's rounds are split or done by the caller alone, found out by timing both.

use std::time::{Duration, Instant};

use super::load::{LOOKS, free_cores};

/// Rounds over which splitting and working alone are timed against each other.
const WINDOW: usize = 128;
/// Rounds between two looks at the clock.
const LOOK: usize = 8;
/// Windows of splitting before working alone is timed again.
const KEEP_SPLIT: usize = 64;
/// Windows of working alone before splitting is tried again: few at first, because one loss may be an accident, and doubled each time
/// splitting loses, up to the second number.
const KEEP_ALONE: [usize; 2] = [8, 1024];

/// Whether splitting pays, found out by measuring: on a machine whose cores are busy with other things it may not.
pub(super) struct Pace {
    /// Whether the next round is split.
    pub split: bool,
    rounds: usize,
    start: Instant,
    /// Time of the last window alone.
    alone: Option<Duration>,
    /// Windows left before the other way is tried.
    left: usize,
    keep: usize,
}

impl Pace {
    pub fn new() -> Self {
        Self { split: false, rounds: 0, start: Instant::now(), alone: None, left: 0, keep: KEEP_ALONE[0] }
    }

    /// Called after every round.
    pub fn tick(&mut self) {
        self.rounds += 1;
        if !self.rounds.is_multiple_of(LOOK) {
            return;
        }
        let elapsed = self.start.elapsed();
        let lost = self.split && self.alone.is_some_and(|alone| elapsed >= alone);
        if self.rounds < WINDOW && !lost {
            return;
        }
        (self.rounds, self.start) = (0, Instant::now());
        match (self.split, self.left) {
            // Splitting was tried and is slower: work alone, and longer each time.
            (true, _) if lost => {
                (self.split, self.left) = (false, self.keep);
                self.keep = (2 * self.keep).min(KEEP_ALONE[1]);
            }
            // It is faster: go on, and forget how long working alone took.
            (true, 0) if self.alone.is_some() => {
                (self.alone, self.left, self.keep) = (None, KEEP_SPLIT, KEEP_ALONE[0]);
            }
            (true, 0) => (self.split, self.alone) = (false, None),
            // Every core is taken: a helper would lose its own in the middle of a part, and everybody would wait for it.
            (false, 0) if free_cores(LOOKS) < 2 => self.left = KEEP_ALONE[0],
            // Time one window alone, then try to split.
            (false, 0) => (self.split, self.alone) = (true, Some(elapsed)),
            _ => self.left -= 1,
        }
    }
}
