//! Lanes: several threads that use one card side by side, each with a queue and memory of its own.
//!
//! Most of what a fit does at a time leaves most of a card idle: a set is solved by one of its hundred processors. Kernels of one queue wait
//! for each other, those of different queues do not, so that several fits at once fill the card.
//!
//! Whoever takes no lane is in the common one, where everything happens in order. Memory is given back to the lane of the thread that drops
//! it: what several lanes use must outlive their work, of which [`LaneGuard`] waits for the end.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use crate::card::Card;
use crate::driver::Stream;
use crate::error::CudaError;

/// The lane of a thread.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    pub(crate) number: usize,
    pub(crate) stream: Stream,
    /// How many share the card at a time.
    sharing: usize,
    /// Where the card is, which never moves.
    card: usize,
}

const COMMON: Lane = Lane { number: 0, stream: Stream::COMMON, sharing: 1, card: 0 };

thread_local! {
    static LANE: Cell<Lane> = const { Cell::new(COMMON) };
}

/// Queues with their numbers.
type Queues = Vec<(usize, Stream)>;

/// Queues of a card that nobody has, usual and urgent ones, and how many there are.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<([Queues; 2], usize)>);

/// As long as it lives, this thread has a lane for itself.
pub struct LaneGuard {
    card: Arc<Card>,
    before: Lane,
    urgent: bool,
    /// The lane is this thread's: the guard stays here.
    here: PhantomData<*const ()>,
}

impl Card {
    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Gives this thread a lane for itself, one of `sharing` at a time.
    pub fn lane(self: &Arc<Self>, sharing: usize) -> Result<LaneGuard, CudaError> {
        self.take_lane(sharing, false)
    }

    /// The same for short work that others wait for: its blocks go before those of usual lanes, which may be thousands.
    pub fn urgent_lane(self: &Arc<Self>, sharing: usize) -> Result<LaneGuard, CudaError> {
        self.take_lane(sharing, true)
    }

    fn take_lane(self: &Arc<Self>, sharing: usize, urgent: bool) -> Result<LaneGuard, CudaError> {
        self.enter()?;
        let mut lanes = self.lanes.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (number, stream) = match lanes.0[usize::from(urgent)].pop() {
            Some(lane) => lane,
            None => {
                let stream = self.driver.stream(urgent)?;
                lanes.1 += 1;
                (lanes.1, stream)
            }
        };
        let own = Lane { number, stream, sharing: sharing.max(1), card: self.id() };
        Ok(LaneGuard { card: self.clone(), before: LANE.replace(own), urgent, here: PhantomData })
    }

    /// This thread's lane.
    pub(crate) fn own(&self) -> Lane {
        let lane = LANE.get();
        if lane.card == self.id() { lane } else { COMMON }
    }

    /// How many share this card at a time, as far as this thread's lane says.
    pub fn sharing(&self) -> usize {
        self.own().sharing
    }
}

impl Drop for LaneGuard {
    fn drop(&mut self) {
        // What others share with this lane may go once its work is done; a card that failed has no work left.
        if self.card.enter().is_ok() {
            let _ = self.card.synchronize();
        }
        let own = LANE.replace(self.before);
        let mut lanes = self.card.lanes.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lanes.0[usize::from(self.urgent)].push((own.number, own.stream));
    }
}
