//! The state of the rows on the card: gradients, which way variables may move, which rows are active; and questions about it.

use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use super::partial::Sums;
use super::table::{CardTable, Packed};
use crate::solver::blocks::engine::{Candidate, Extremes, Load, Narrow, Recheck};

type Done<T> = Result<T, CudaError>;

/// As in `kernels/70_select.cu`.
const BINS: usize = 2048;
const LISTS: usize = 4;
const SELECT_ROWS: usize = 1024;
/// One in so many rows is computed anew in double precision though nothing says that it matters.
const SAMPLED: usize = 128;
/// Where things are in the memory that is read after a look, in numbers of 64 bits: extremes, totals (two each), lists, gradients.
const TOTALS: usize = LISTS;
const ENTRIES: usize = TOTALS + LISTS;
const ENTRY: usize = 3;

/// What a look at the active rows found; lists as in `kernels/70_select.cu`.
pub(super) struct Found {
    pub extremes: [Extremes; 2],
    pub lists: [Vec<Candidate>; LISTS],
    pub kept: Vec<f64>,
}

/// Active rows that are chosen: their places and numbers.
pub(super) struct Chosen {
    places: Buffer<u32>,
    pub ids: Buffer<u32>,
    pub count: usize,
}

/// Gradients and statuses by place, and by variable where rows are parked.
pub(super) struct State {
    rows: usize,
    pub active: usize,
    kink: f64,
    gradient: Buffer<f64>,
    status: Buffer<u8>,
    exact: Buffer<u8>,
    ids: Buffer<u32>,
    place: Buffer<u32>,
    all_status: Buffer<u8>,
    /// By variable, and the active rows next to each other; none while all are active.
    parked: Option<(Buffer<f64>, Packed)>,
    flags: Buffer<u8>,
    counts: Buffer<u32>,
    bins: Buffer<u32>,
    thresholds: Buffer<u32>,
    results: Buffer<u64>,
    remembered: Option<Remembered>,
}

/// Gradients, statuses and marks to come back to.
type Remembered = (Buffer<f64>, Buffer<u8>, Buffer<u8>, Buffer<u8>);

impl State {
    pub(super) fn new(card: &Arc<Card>, rows: usize) -> Done<Self> {
        Ok(Self {
            rows,
            active: rows,
            kink: 0.0,
            gradient: card.allocate(rows)?,
            status: card.allocate(rows)?,
            exact: card.allocate(rows)?,
            ids: card.allocate(rows)?,
            place: card.allocate(rows)?,
            all_status: card.allocate(rows)?,
            parked: None,
            flags: card.allocate(rows)?,
            counts: card.allocate(2 * LISTS * rows.div_ceil(SELECT_ROWS))?,
            bins: card.allocate(LISTS * BINS)?,
            thresholds: card.allocate(LISTS)?,
            results: card.allocate(0)?,
            remembered: None,
        })
    }

    pub(super) fn load(&mut self, card: &Card, state: &Load<'_>) -> Done<()> {
        self.gradient.write(0, state.gradient)?;
        self.status.write(0, state.status)?;
        self.all_status.write(0, state.status)?;
        self.exact.fill(0)?;
        self.kink = state.kink;
        self.everybody(card)
    }

    /// Every row is active: places are numbers.
    fn everybody(&mut self, card: &Card) -> Done<()> {
        (self.active, self.parked) = (self.rows, None);
        card.launch("count_up").items(self.rows).buffer(&self.ids).count(self.rows).run()?;
        card.launch("count_up").items(self.rows).buffer(&self.place).count(self.rows).run()
    }

    pub(super) fn is_narrow(&self) -> bool {
        self.parked.is_some()
    }

    /// The active rows as sums need them.
    pub(super) fn rows<'s>(&'s self, table: &'s CardTable) -> &'s Packed {
        self.parked.as_ref().map_or(&*table.all, |(_, packed)| packed)
    }

    pub(super) fn set_status(&mut self, card: &Arc<Card>, ids: &[u32], status: &[u8]) -> Done<()> {
        if status.is_empty() {
            return Ok(());
        }
        let (ids, values) = (card.upload(ids)?, card.upload(status)?);
        let launch = card.launch("set_status").items(status.len()).buffer(&ids).buffer(&values).count(status.len());
        launch.buffer(&self.place).buffer(&self.status).buffer(&self.all_status).run()
    }

    /// Adds the sums of `splits` parts, then looks for extremes, `count` candidates per list, and the gradients of those kept.
    pub(super) fn select(&mut self, card: &Arc<Card>, sums: &Sums, splits: usize, count: usize, kept: &[u32]) -> Done<Found> {
        let (n, kink, room) = (self.active, self.kink, 2 * count);
        let (kept_at, parts) = (ENTRIES + LISTS * room * ENTRY, n.div_ceil(SELECT_ROWS));
        let size = kept_at + kept.len();
        if self.results.len() < size {
            self.results = card.allocate(2 * size)?;
        }
        self.results.write(0, &[u64::MAX, u64::MAX, 0, 0])?;
        let launch = card.launch("apply_sums").grid((4 * card.processors()).min(n.div_ceil(256)), 1);
        let launch = launch.buffer(&self.gradient).buffer(&sums.values).count(splits).count(n).buffer(&self.status).buffer(&self.exact);
        launch.number(kink).buffer(&self.results).run()?;
        let kept_ids = card.upload(kept)?;
        let launch = card.launch("mark_kept").items(kept.len()).buffer(&kept_ids).count(kept.len()).buffer(&self.place);
        launch.buffer(&self.status).buffer(&self.gradient).part(&self.results, kept_at).run()?;
        if count > 0 {
            self.bins.fill(0)?;
            let launch = card.launch("count_bins").grid((2 * card.processors()).min(n.div_ceil(256)), 1);
            let launch = launch.buffer(&self.gradient).buffer(&self.status).count(n).number(kink).buffer(&self.results);
            launch.buffer(&self.bins).run()?;
            card.launch("find_bins").threads(32 * LISTS).buffer(&self.bins).count(count).buffer(&self.thresholds).run()?;
            let launch = card.launch("count_chosen").grid(parts, 1).buffer(&self.gradient).buffer(&self.status).count(n).number(kink);
            launch.buffer(&self.results).buffer(&self.thresholds).buffer(&self.counts).run()?;
            let launch = card.launch("scan_counts").threads(64 * LISTS).buffer(&self.counts).count(parts);
            launch.part(&self.results, TOTALS).run()?;
            let launch = card.launch("write_chosen").grid(parts, 1).buffer(&self.gradient).buffer(&self.status).buffer(&self.ids).count(n);
            let launch = launch.number(kink).buffer(&self.results).buffer(&self.thresholds).buffer(&self.counts);
            launch.part(&self.results, TOTALS).count(room).part(&self.results, ENTRIES).run()?;
        }
        let launch = card.launch("unmark_kept").items(kept.len()).buffer(&kept_ids).count(kept.len()).buffer(&self.place);
        launch.buffer(&self.status).run()?;
        Ok(found(&self.results.read(size)?, count, kept_at))
    }

    /// Chooses among the active rows by flags.
    fn chosen(&mut self, card: &Arc<Card>) -> Done<Chosen> {
        let parts = self.active.div_ceil(SELECT_ROWS);
        let total = card.allocate::<u32>(1)?;
        card.launch("count_flags").grid(parts, 1).buffer(&self.flags).count(self.active).buffer(&self.counts).run()?;
        card.launch("scan_counts").threads(32).buffer(&self.counts).count(parts).buffer(&total).run()?;
        let count = total.read(1)?[0] as usize;
        let (places, ids) = (card.allocate::<u32>(count)?, card.allocate::<u32>(count)?);
        card.launch("write_flags").grid(parts, 1).buffer(&self.flags).count(self.active).buffer(&self.counts).buffer(&places).run()?;
        card.launch("look_up").items(count).buffer(&places).count(count).buffer(&self.ids).buffer(&ids).run()?;
        Ok(Chosen { places, ids, count })
    }

    fn flag(&mut self, card: &Arc<Card>, ids: &[u32]) -> Done<()> {
        let on_card = card.upload(ids)?;
        let launch = card.launch("flag_ids").items(ids.len()).buffer(&on_card).count(ids.len());
        launch.buffer(&self.place).buffer(&self.flags).run()
    }

    pub(super) fn narrow(&mut self, card: &Arc<Card>, table: &CardTable, rule: Narrow<'_>) -> Done<usize> {
        match rule {
            Narrow::To(ids) => {
                self.flags.fill(0)?;
                self.flag(card, ids)?;
            }
            Narrow::Unsettled { extremes, margin, kept, .. } => {
                let launch =
                    card.launch("flag_unsettled").items(self.active).buffer(&self.gradient).buffer(&self.status).count(self.active);
                between(launch.number(self.kink), &extremes).number(margin).buffer(&self.flags).run()?;
                self.flag(card, kept)?;
            }
        }
        let stay = self.chosen(card)?;
        if stay.count == 0 || matches!(rule, Narrow::Unsettled { at_most, .. } if stay.count > at_most) {
            return Ok(self.active);
        }
        let by_variable = match self.parked.take() {
            // The old packing goes before the new one comes.
            Some((gradient, _)) => gradient,
            None => {
                let mut all = card.allocate::<f64>(self.rows)?;
                all.copy_from(&self.gradient, self.rows)?;
                all
            }
        };
        let (gradient, status, exact) =
            (card.allocate::<f64>(self.rows)?, card.allocate::<u8>(self.rows)?, card.allocate::<u8>(self.rows)?);
        let launch = card.launch("compact_state").items(stay.count).buffer(&stay.places).count(stay.count).buffer(&self.gradient);
        launch.buffer(&self.status).buffer(&self.exact).buffer(&gradient).buffer(&status).buffer(&exact).run()?;
        (self.gradient, self.status, self.exact) = (gradient, status, exact);
        self.place.fill(0xff)?;
        card.launch("set_places").items(stay.count).buffer(&stay.ids).count(stay.count).buffer(&self.place).run()?;
        self.ids.copy_from(&stay.ids, stay.count)?;
        self.active = stay.count;
        self.parked = Some((by_variable, table.gather(&stay.ids, stay.count, stay.count, None)?));
        Ok(stay.count)
    }

    /// Makes every row active; sums of `splits` parts for all variables are what parked rows missed.
    pub(super) fn widen(&mut self, card: &Arc<Card>, sums: &Sums, splits: usize) -> Done<()> {
        let Some((by_variable, _)) = self.parked.take() else { return Ok(()) };
        let exact = card.allocate::<u8>(self.rows)?;
        let launch = card.launch("bring_back").items(self.rows).buffer(&by_variable).buffer(&exact).buffer(&sums.values).count(splits);
        launch.count(self.rows).buffer(&self.place).buffer(&self.gradient).buffer(&self.exact).run()?;
        (self.gradient, self.exact) = (by_variable, exact);
        self.status.copy_from(&self.all_status, self.rows)?;
        self.everybody(card)
    }

    /// The rows that a rule means.
    pub(super) fn recheck_rows(&mut self, card: &Arc<Card>, support: &[u32], rule: Recheck) -> Done<Chosen> {
        match rule {
            Recheck::Active => self.flags.fill(1)?,
            Recheck::Near { extremes, slack } => {
                let launch = card.launch("flag_near").items(self.active).buffer(&self.gradient).buffer(&self.status).count(self.active);
                between(launch.number(self.kink), &extremes).number(slack).count(SAMPLED).buffer(&self.flags).run()?;
                self.flag(card, support)?;
                let launch = card.launch("unflag_exact").items(self.active).buffer(&self.exact).count(self.active);
                launch.buffer(&self.flags).run()?;
            }
        }
        self.chosen(card)
    }

    /// Puts sums in double precision in the place of gradients; answers the largest correction.
    pub(super) fn correct(
        &mut self,
        card: &Arc<Card>,
        chosen: &Chosen,
        from: usize,
        count: usize,
        sums: &Sums,
        splits: usize,
        linear: &Buffer<f64>,
    ) -> Done<f64> {
        let largest = card.upload(&[0u64])?;
        let launch = card.launch("correct").items(count).part(&chosen.places, from).count(count).part(&chosen.ids, from);
        let launch = launch.buffer(&sums.values).count(splits).buffer(linear).buffer(&self.gradient).buffer(&self.exact);
        launch.buffer(&largest).run()?;
        Ok(f64::from_bits(largest.read(1)?[0]))
    }

    /// Active variables and their gradients.
    pub(super) fn read_active(&self) -> Done<(Vec<u32>, Vec<f64>)> {
        Ok((self.ids.read(self.active)?, self.gradient.read(self.active)?))
    }

    /// Copies gradients, statuses and marks.
    pub(super) fn remember(&mut self, card: &Arc<Card>) -> Done<()> {
        let n = self.rows;
        let (mut gradient, mut status) = (card.allocate::<f64>(n)?, card.allocate::<u8>(n)?);
        let (mut exact, mut all) = (card.allocate::<u8>(n)?, card.allocate::<u8>(n)?);
        gradient.copy_from(&self.gradient, n)?;
        status.copy_from(&self.status, n)?;
        exact.copy_from(&self.exact, n)?;
        all.copy_from(&self.all_status, n)?;
        self.remembered = Some((gradient, status, exact, all));
        Ok(())
    }

    /// Puts them back.
    pub(super) fn restore(&mut self) {
        if let Some((gradient, status, exact, all)) = self.remembered.take() {
            (self.gradient, self.status, self.exact, self.all_status) = (gradient, status, exact, all);
        }
    }

    /// By variable; those of parked rows are of the time when they were parked.
    pub(super) fn read_gradient(&self) -> Done<Vec<f64>> {
        let Some((by_variable, _)) = &self.parked else { return self.gradient.read(self.rows) };
        let mut all = by_variable.read(self.rows)?;
        let (ids, gradient) = (self.ids.read(self.active)?, self.gradient.read(self.active)?);
        ids.iter().zip(gradient).for_each(|(&id, g)| all[id as usize] = g);
        Ok(all)
    }
}

/// The extremes of both groups as arguments.
fn between<'a>(launch: boulevard_cuda::Launch<'a>, extremes: &[Extremes; 2]) -> boulevard_cuda::Launch<'a> {
    extremes.iter().fold(launch, |launch, of| launch.number(of.least_up).number(of.most_low))
}

/// A number from its ordered bits.
fn unordered(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// Reads what a look wrote.
fn found(results: &[u64], count: usize, kept_at: usize) -> Found {
    let room = 2 * count;
    let mut found = Found { extremes: [Extremes::NONE; 2], lists: Default::default(), kept: Vec::new() };
    for group in 0..2 {
        if results[group] != u64::MAX {
            found.extremes[group].least_up = unordered(results[group]);
        }
        if results[2 + group] != 0 {
            found.extremes[group].most_low = unordered(results[2 + group]);
        }
    }
    if count > 0 {
        for (list, entries) in found.lists.iter_mut().enumerate() {
            // Two counts of 32 bits: those in better bins and those in the last.
            let totals = results[TOTALS + list].to_ne_bytes();
            let half = |at: usize| u32::from_ne_bytes([totals[at], totals[at + 1], totals[at + 2], totals[at + 3]]) as usize;
            let there = (half(0) + half(4)).min(room);
            let first = ENTRIES + list * room * ENTRY;
            *entries = results[first..first + there * ENTRY]
                .chunks_exact(ENTRY)
                .map(|entry| Candidate { slope: f64::from_bits(entry[0]), gradient: f64::from_bits(entry[1]), id: entry[2] as u32 })
                .collect();
        }
    }
    found.kept = results[kept_at..].iter().map(|&bits| f64::from_bits(bits)).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_the_kernels_write_them() {
        let ordered = |v: f64| if v.to_bits() >> 63 == 1 { !v.to_bits() } else { v.to_bits() | 1 << 63 };
        for v in [-1.5, -0.0, 0.0, 2.5e-300, f64::INFINITY] {
            assert_eq!(unordered(ordered(v)).to_bits(), v.to_bits());
        }
        let mut results = vec![ordered(-1.0), u64::MAX, ordered(0.5), 0];
        // One in a better bin and one in the last of list 0, five of which two have room in list 2.
        results.extend([1 | 1 << 32, 0, 5 << 32, 0]);
        let entry = |slope: f64, id: u64| [slope.to_bits(), (slope + 1.0).to_bits(), id];
        for list in 0..4u64 {
            results.extend([entry(-1.0, 10 + list), entry(-0.5, 20 + list)].concat());
        }
        results.extend([7.0f64.to_bits(), 8.0f64.to_bits()]);
        let found = found(&results, 1, ENTRIES + LISTS * 2 * ENTRY);
        assert_eq!(found.extremes, [Extremes { least_up: -1.0, most_low: 0.5 }, Extremes::NONE]);
        assert_eq!(found.lists[0][1], Candidate { id: 20, slope: -0.5, gradient: 0.5 });
        assert_eq!(found.lists.each_ref().map(Vec::len), [2, 0, 2, 0]);
        assert_eq!(found.kept, [7.0, 8.0]);
    }
}
