//! A run of columns with everything the solver keeps for them: one segment per thread, touched by one thread at a time.

use std::ops::Range;

use super::arena::Arena;
use crate::error::Result;
use crate::kernel::{KernelRows, fill_watched};
use crate::observe::Context;
use crate::simd::sweep::{self, Candidates, Diagonal, Extremes, First, Motion, Rules, SECOND_GROUP_SHIFT};
use crate::simd::{Isa, Real};

pub(super) struct Segment<T: Real> {
    /// Positions of its columns; begins at a panel, the last panel may be padded.
    pub columns: Range<usize>,
    pub gradient: Vec<T>,
    /// The kernel's product with the last direction, for conjugate steps.
    pub trail: Vec<T>,
    /// See [`sweep`]; padding has status 0 and so is never chosen.
    pub status: Vec<u8>,
    pub diagonal: Vec<T>,
    /// Whether every sample of the whole problem has the same diagonal.
    pub constant_diagonal: bool,
    /// Its part of every cached row, one slot after the other.
    arena: Arena<T>,
    /// Extremes of the last update, per group.
    pub extremes: [Extremes<T>; 2],
    pub partners: Candidates<T>,
}

/// Where a kernel row is.
#[derive(Clone, Copy)]
pub(super) enum Row<'a, T> {
    /// In this slot of every segment's arena.
    Slot(usize),
    /// In the kernel's own memory.
    Resident(&'a [T]),
}

impl<'a, T> Row<'a, T> {
    /// The part of a segment with this arena.
    fn part(self, arena: &'a [T], start: usize, width: usize) -> &'a [T] {
        match self {
            Self::Slot(slot) => &arena[slot * width..(slot + 1) * width],
            Self::Resident(row) => &row[start..start + width],
        }
    }
}

/// Rows to compute before a pass: samples and the slots they go to.
#[derive(Default)]
pub(super) struct Block {
    samples: Vec<usize>,
    slots: Vec<usize>,
}

impl Block {
    pub(super) fn samples(&self) -> &[usize] {
        &self.samples
    }

    pub(super) fn push(&mut self, sample: usize, slot: usize) {
        self.samples.push(sample);
        self.slots.push(slot);
    }
}

impl<T: Real> Segment<T> {
    pub(super) fn new(columns: Range<usize>, lanes: usize, slots: usize) -> Self {
        let width = columns.len().next_multiple_of(lanes);
        Self {
            columns,
            gradient: vec![T::default(); width],
            trail: vec![T::default(); width],
            status: vec![0; width],
            diagonal: vec![T::default(); width],
            constant_diagonal: false,
            arena: Arena::new(width * slots),
            extremes: [Extremes::default(); 2],
            partners: Candidates::default(),
        }
    }

    fn width(&self) -> usize {
        self.gradient.len()
    }

    pub(super) fn slots(&self) -> usize {
        self.arena.room() / self.width().max(1)
    }

    /// Whether memory for its rows has been written before.
    pub(super) fn is_at_hand(&self) -> bool {
        self.arena.is_at_hand()
    }

    /// A kernel value of a row.
    pub(super) fn value(&self, row: Row<'_, T>, column: usize) -> T {
        row.part(&self.arena, self.columns.start, self.width())[column - self.columns.start]
    }

    /// Its part of a row, without padding.
    pub(super) fn part<'a>(&'a self, row: Row<'a, T>) -> &'a [T] {
        &row.part(&self.arena, self.columns.start, self.width())[..self.columns.len()]
    }

    /// Computes this segment's part of some rows; an error, and rows without meaning, if it was stopped.
    pub(super) fn compute(&mut self, kernel: &dyn KernelRows<T>, block: &Block, context: &Context<'_>) -> Result<()> {
        if block.samples.is_empty() {
            return Ok(());
        }
        let width = self.width();
        // Slots of a block are distinct but in no order: hand them out in the order of the arena.
        let mut order: Vec<usize> = (0..block.slots.len()).collect();
        order.sort_unstable_by_key(|&i| block.slots[i]);
        let samples: Vec<usize> = order.iter().map(|&i| block.samples[i]).collect();
        let needed = (block.slots[*order.last().expect("not empty, checked above")] + 1) * width;
        self.arena.reach(needed);
        let mut out = Vec::with_capacity(order.len());
        let (mut rest, mut passed) = (&mut self.arena[..], 0);
        for &i in &order {
            let (_, tail) = rest.split_at_mut((block.slots[i] - passed) * width);
            let (row, tail) = tail.split_at_mut(width);
            out.push(row);
            (rest, passed) = (tail, block.slots[i] + 1);
        }
        fill_watched(kernel, &samples, self.columns.clone(), &mut out, context.isa.lanes::<T>(), context)
    }

    /// Moves the gradient along two rows and finds its extremes.
    pub(super) fn update(&mut self, isa: Isa, kink: T, groups: usize, motion: Motion<T>, rows: [Row<'_, T>; 2]) {
        let (start, width) = (self.columns.start, self.width());
        let rows = rows.map(|row| row.part(&self.arena, start, width));
        let rules = Rules { status: &self.status, kink, group_shift: 0 };
        sweep::update(isa, &mut self.gradient, &mut self.trail, rules, motion, rows, &mut self.extremes[0]);
        if groups == 2 {
            let rules = Rules { group_shift: SECOND_GROUP_SHIFT, ..rules };
            sweep::update(isa, &mut self.gradient, &mut self.trail, rules, Motion::Pair([T::default(); 2]), rows, &mut self.extremes[1]);
        }
    }

    /// The extremes of the gradient as it is.
    pub(super) fn look(&mut self, isa: Isa, kink: T, groups: usize) {
        for group in 0..groups {
            let rules = Rules { status: &self.status, kink, group_shift: group as u32 * SECOND_GROUP_SHIFT };
            // A step of zero along any finite row changes nothing.
            let rows = [&self.diagonal[..], &self.diagonal[..]];
            sweep::update(
                isa,
                &mut self.gradient,
                &mut self.trail,
                rules,
                Motion::Pair([T::default(); 2]),
                rows,
                &mut self.extremes[group],
            );
        }
    }

    /// Finds the best partners for a growing variable.
    pub(super) fn partner(&mut self, isa: Isa, kink: T, group: usize, row: Row<'_, T>, diagonal: T, gradient: T, floor: T) {
        let rules = Rules { status: &self.status, kink, group_shift: group as u32 * SECOND_GROUP_SHIFT };
        let first = First { row: row.part(&self.arena, self.columns.start, self.width()), diagonal, gradient };
        let diagonal = if self.constant_diagonal { Diagonal::Constant(diagonal) } else { Diagonal::Each(&self.diagonal) };
        sweep::partner(isa, &self.gradient, rules, first, diagonal, floor, &mut self.partners);
    }

    /// Keeps only the columns `keep` (rising places within the segment), in all cached rows too, and moves to `columns`.
    pub(super) fn compact(&mut self, keep: &[usize], columns: Range<usize>, lanes: usize, filled_slots: usize) {
        let (old, new) = (self.width(), columns.len().next_multiple_of(lanes));
        // A slot may be promised to a row that this segment has not computed yet.
        for slot in 0..filled_slots.min(self.arena.len() / old) {
            for (to, &from) in keep.iter().enumerate() {
                self.arena[slot * new + to] = self.arena[slot * old + from];
            }
        }
        for (to, &from) in keep.iter().enumerate() {
            self.gradient[to] = self.gradient[from];
            self.status[to] = self.status[from];
            self.diagonal[to] = self.diagonal[from];
        }
        self.status[keep.len()..].fill(0);
        self.gradient.truncate(new);
        self.trail.truncate(new);
        self.status.truncate(new);
        self.diagonal.truncate(new);
        self.columns = columns;
    }
}
