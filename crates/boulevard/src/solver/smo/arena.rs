//! Memory for kernel rows, handed on from one fit to the next.
//!
//! Writing to fresh memory for the first time costs as much as computing the kernel values that go there: the system has to find, clear
//! and map every page. A large arena is therefore not returned at once but kept for the next fit of the process, and the system is told
//! that it may take the pages back whenever it needs them. A few small ones are kept as they are: hundreds of pairs of classes would
//! otherwise fill theirs with zeros first, a twentieth of their time.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use crate::heap::is_ready;
use crate::simd::Real;

/// Allocators take blocks above this from the system, already zero and untouched; smaller ones they keep and clear themselves.
const LARGE: usize = 32 << 20;
/// Bytes that are kept at most.
const MOST_KEPT: usize = 1 << 30;
/// And of small arenas.
const MOST_SMALL: usize = 32 << 20;

/// Arenas nobody uses: their bytes and a `Vec` of some type.
type Kept = Mutex<Vec<(usize, Box<dyn Any + Send>)>>;
static KEPT: Kept = Mutex::new(Vec::new());
/// Small ones, the one used last at the end.
static SMALL: Kept = Mutex::new(Vec::new());

/// Room for rows. Memory is taken when they are written, and never moved; what is in it before that means nothing.
pub(super) struct Arena<T: Real> {
    values: Vec<T>,
    room: usize,
    /// Whether its pages have been written before.
    at_hand: bool,
}

impl<T: Real> Arena<T> {
    pub(super) fn new(room: usize) -> Self {
        // Large pages (madvise) were tried: a tenth to a quarter faster where memory is at hand, but up to three times slower in virtual
        // machines that give free memory back to their host, and who has which cannot be seen from here.
        let bytes = room * size_of::<T>();
        if bytes > LARGE {
            let values = take(&KEPT, room).unwrap_or_else(|| vec![T::default(); room]);
            return Self { values, room, at_hand: false };
        }
        match take_small(&SMALL, room) {
            Some(values) => Self { at_hand: !values.is_empty(), values, room },
            None => {
                // Later fits may want a little more.
                let (most, at_hand) = (room + room / 4, is_ready(bytes));
                // What was made ready is zero: nobody has to write that first.
                Self { values: if at_hand { vec![T::default(); most] } else { Vec::with_capacity(most) }, room, at_hand }
            }
        }
    }

    /// How many values it may hold.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Whether it is a small one whose memory was written before: by an earlier fit, or when it was made ready.
    pub(super) fn is_at_hand(&self) -> bool {
        self.at_hand
    }

    /// Makes the first `length` values accessible.
    pub(super) fn reach(&mut self, length: usize) {
        debug_assert!(length <= self.room, "rows stay within the arena");
        if self.values.len() < length {
            self.values.resize(length, T::default());
        }
    }
}

impl<T: Real> Deref for Arena<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Real> DerefMut for Arena<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: Real> Drop for Arena<T> {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.values);
        if values.len() * size_of::<T>() > LARGE { keep(&KEPT, values) } else { keep_small(&SMALL, values) }
    }
}

fn keep<T: Real>(kept: &Kept, mut values: Vec<T>) {
    let bytes = values.len() * size_of::<T>();
    // Never waiting: whoever holds the lock may be a thread that a fork left behind.
    if bytes > LARGE
        && let Ok(mut kept) = kept.try_lock()
        && kept.iter().map(|(bytes, _)| bytes).sum::<usize>() + bytes <= MOST_KEPT
    {
        disown(&mut values);
        kept.push((bytes, Box::new(values)));
    }
}

/// The smallest kept arena with room for `room` values. If there is none the others go, so that memory does not add up.
fn take<T: Real>(kept: &Kept, room: usize) -> Option<Vec<T>> {
    let mut kept = kept.try_lock().ok()?;
    let fits = |entry: &(usize, Box<dyn Any + Send>)| entry.1.downcast_ref::<Vec<T>>().is_some_and(|values| values.len() >= room);
    let Some(at) = (0..kept.len()).filter(|&at| fits(&kept[at])).min_by_key(|&at| kept[at].0) else {
        kept.clear();
        return None;
    };
    kept.swap_remove(at).1.downcast::<Vec<T>>().ok().map(|values| *values)
}

/// Those that wait longest go for it.
fn keep_small<T: Real>(kept: &Kept, values: Vec<T>) {
    let bytes = values.capacity() * size_of::<T>();
    if bytes == 0 || bytes > MOST_SMALL {
        return;
    }
    let Ok(mut kept) = kept.try_lock() else { return };
    while kept.iter().map(|(bytes, _)| bytes).sum::<usize>() + bytes > MOST_SMALL {
        kept.remove(0);
    }
    kept.push((bytes, Box::new(values)));
}

/// The smallest kept arena that can have `room` values without being moved, unless it is many times larger.
fn take_small<T: Real>(kept: &Kept, room: usize) -> Option<Vec<T>> {
    let mut kept = kept.try_lock().ok()?;
    let fits = |entry: &(usize, Box<dyn Any + Send>)| {
        entry.1.downcast_ref::<Vec<T>>().is_some_and(|values| (room..=4 * room).contains(&values.capacity()))
    };
    let at = (0..kept.len()).rev().filter(|&at| fits(&kept[at])).min_by_key(|&at| kept[at].0)?;
    kept.remove(at).1.downcast::<Vec<T>>().ok().map(|values| *values)
}

/// Gives all kept arenas back to the system; the bytes they had.
///
/// A process that forked while another thread held the list keeps them: waiting for that thread would be for ever.
pub(in super::super) fn release() -> usize {
    let drained = |kept: &Kept| kept.try_lock().map_or(0, |mut kept| kept.drain(..).map(|(bytes, _)| bytes).sum());
    drained(&KEPT) + drained(&SMALL)
}

/// Tells the system that it may take the pages back: until they are written again they read as they are or as zeros.
fn disown<T: Real>(values: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: asks for a number, and has no other effect.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let Some(page) = usize::try_from(page).ok().filter(|&page| page > 0) else { return };
        let start = values.as_mut_ptr() as usize;
        let (first, end) = (start.next_multiple_of(page), (start + size_of_val(values)) / page * page);
        // SAFETY: whole pages inside a slice we hold alone, and every pattern of bits is a number. A system that does not know the advice
        // refuses it, which does no harm.
        unsafe {
            libc::madvise(first as *mut libc::c_void, end.saturating_sub(first), libc::MADV_FREE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_is_handed_on_and_small_ones_are_not_kept() {
        let (kept, room) = (Kept::default(), LARGE / size_of::<f32>() + 1000);
        let mut first = vec![0.0_f32; room];
        first[3] = 5.0;
        let address = first.as_ptr();
        keep(&kept, first);
        let second = take::<f32>(&kept, room - 10).expect("there is one");
        assert_eq!((second.as_ptr(), second.len()), (address, room));
        assert!(second[3] == 5.0 || second[3] == 0.0);
        keep(&kept, second);
        assert!(take::<f64>(&kept, 1).is_none(), "it is of another type");
        assert!(take::<f32>(&kept, 1).is_none(), "and had to go");
        keep(&kept, vec![0.0_f64; 100]);
        assert!(take::<f64>(&kept, 1).is_none(), "small ones are kept elsewhere");
    }

    #[test]
    fn an_arena_knows_whether_an_earlier_fit_left_it() {
        // Other tests take from the same list: some try finds what it left.
        let at_hand = (0..1000).any(|_| {
            let mut arena = Arena::<f32>::new(1000);
            arena.reach(1000);
            drop(arena);
            Arena::<f32>::new(900).is_at_hand()
        });
        assert!(at_hand);
        assert!(!Arena::<f32>::new(LARGE).is_at_hand(), "large ones may have lost their pages");
    }

    #[test]
    fn small_arenas_wait_where_they_are_up_to_a_limit() {
        let kept = Kept::default();
        let mut first = Vec::with_capacity(1000);
        first.push(7.0_f32);
        let address = first.as_ptr();
        keep_small(&kept, first);
        assert!(take_small::<f64>(&kept, 900).is_none(), "it is of another type");
        assert!(take_small::<f32>(&kept, 1001).is_none(), "it would have to move");
        assert!(take_small::<f32>(&kept, 100).is_none(), "a small fit does not take a large one");
        let second = take_small::<f32>(&kept, 900).expect("there is one");
        assert_eq!((second.as_ptr(), second[0]), (address, 7.0));
        for _ in 0..10 {
            keep_small(&kept, Vec::<f32>::with_capacity(1 << 20));
        }
        assert_eq!(kept.lock().unwrap().len(), MOST_SMALL >> 22);
        keep_small(&kept, Vec::<f32>::with_capacity(MOST_SMALL));
        assert_eq!(kept.lock().unwrap().len(), MOST_SMALL >> 22, "more than all of it does not wait");
    }
}
