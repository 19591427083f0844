//! The working set: which variables stay in it, and which ones join.
//!
//! A set without memory stalls: the next one undoes what the last one gained. Free variables carry the solution's shape, so they stay
//! first, the newest of them where there are too many; at least half the set stays in any case.

use super::engine::{Answer, Candidate};

/// Free variables may fill this much of the next set.
const FREE_SHARE: f64 = 0.75;
/// Something stays up to this much.
const LEAST_SHARE: f64 = 0.5;

#[derive(Clone, Copy)]
struct Member {
    id: u32,
    entered: u32,
}

pub(super) struct WorkingSet {
    pub size: usize,
    members: Vec<Member>,
    kept: Vec<u32>,
    round: u32,
    /// By variable, as far as any was taken: the round it was taken in last.
    taken: Vec<u32>,
}

impl WorkingSet {
    pub(super) fn new(size: usize) -> Self {
        Self { size, members: Vec::new(), kept: Vec::new(), round: 0, taken: Vec::new() }
    }

    /// The variables that stay.
    pub(super) fn kept(&self) -> &[u32] {
        &self.kept
    }

    /// Candidates to ask for, per list and group.
    pub(super) fn wanted(&self, groups: usize) -> usize {
        (self.size - self.kept.len()).div_ceil(2 * groups)
    }

    /// Decides who stays: free variables first, or where most are free (a narrow kernel) simply the newest half.
    pub(super) fn keep(&mut self, is_free: impl Fn(u32) -> bool, mostly_free: bool) {
        let mut members = std::mem::take(&mut self.members);
        let newest = |member: &Member| u64::from(u32::MAX - member.entered) << 32 | u64::from(member.id);
        let least = (LEAST_SHARE * self.size as f64) as usize;
        if mostly_free {
            members.sort_unstable_by_key(newest);
            members.truncate(least);
        } else {
            let (mut free, mut bound): (Vec<Member>, Vec<Member>) = members.into_iter().partition(|member| is_free(member.id));
            free.sort_unstable_by_key(newest);
            bound.sort_unstable_by_key(newest);
            free.truncate((FREE_SHARE * self.size as f64) as usize);
            let more = least.saturating_sub(free.len());
            free.extend(bound.into_iter().take(more));
            members = free;
        }
        self.kept = members.iter().map(|member| member.id).collect();
        self.members = members;
    }

    /// The next set: who stayed and the best candidates of every list in turn, each variable once; every `thinned`th of them first, then
    /// those after these, and so on. Answers ids and gradients.
    pub(super) fn renew(&mut self, answer: &Answer, thinned: usize) -> (Vec<u32>, Vec<f64>) {
        self.round += 1;
        let mut gradient = answer.kept.clone();
        // Who cannot be reached for the moment waits outside, and so do those who came last if nothing moved since.
        let mut reached = gradient.iter().map(|g| !g.is_nan());
        self.members.retain(|_| reached.next().unwrap_or(false));
        self.kept = self.members.iter().map(|member| member.id).collect();
        gradient.retain(|g| !g.is_nan());
        let mut ids = self.kept.clone();
        let (room, round, taken) = (self.size, self.round, &mut self.taken);
        let mut take = |candidate: &Candidate| {
            let id = candidate.id as usize;
            if taken.len() <= id {
                taken.resize(id + 1, 0);
            }
            if ids.len() < room && taken[id] != round {
                taken[id] = round;
                ids.push(candidate.id);
                gradient.push(candidate.gradient);
            }
        };
        let longest = answer.up.iter().chain(&answer.low).map(Vec::len).max().unwrap_or(0);
        for place in (0..thinned).flat_map(|first| (first..longest).step_by(thinned)) {
            answer.up.iter().chain(&answer.low).filter_map(|list| list.get(place)).for_each(&mut take);
        }
        let entered = self.round;
        self.members.extend(ids[self.members.len()..].iter().map(|&id| Member { id, entered }));
        (ids, gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::Extremes;
    use super::*;

    fn list(ids: &[u32]) -> Vec<Candidate> {
        ids.iter().map(|&id| Candidate { id, slope: f64::from(id), gradient: f64::from(id) }).collect()
    }

    fn answer(up: &[u32], low: &[u32], kept: &[u32]) -> Answer {
        Answer {
            extremes: [Extremes::NONE; 2],
            up: [list(up), Vec::new()],
            low: [list(low), Vec::new()],
            kept: kept.iter().map(|&id| f64::from(id)).collect(),
        }
    }

    #[test]
    fn variables_enter_once_and_free_ones_stay_first() {
        let mut set = WorkingSet::new(8);
        assert_eq!(set.wanted(1), 4);
        let (ids, gradient) = set.renew(&answer(&[1, 2, 3, 4], &[4, 5, 6, 7], &[]), 1);
        assert_eq!(ids, [1, 4, 2, 5, 3, 6, 7], "4 is in both lists");
        assert_eq!(gradient, ids.iter().map(|&id| f64::from(id)).collect::<Vec<_>>());
        set.keep(|id| id == 6 || id == 7, false);
        assert_eq!(set.kept(), [6, 7, 1, 2], "free ones, then others up to half");
        let (ids, _) = set.renew(&answer(&[8], &[9, 10, 11], &[6, 7, 1, 2]), 1);
        assert_eq!(ids, [6, 7, 1, 2, 8, 9, 10, 11]);
        set.keep(|_| true, false);
        assert_eq!(set.kept(), [8, 9, 10, 11, 1, 2], "the newest where there are too many");
        set.keep(|_| true, true);
        assert_eq!(set.kept(), [8, 9, 10, 11]);
        let mut lost = answer(&[1], &[2], &[8, 9, 10, 11]);
        (lost.kept[1], lost.kept[3]) = (f64::NAN, f64::NAN);
        let (ids, gradient) = set.renew(&lost, 1);
        assert_eq!(ids, [8, 10, 1, 2], "those out of reach wait outside");
        assert_eq!(gradient, [8.0, 10.0, 1.0, 2.0]);
        let (ids, gradient) = set.renew(&answer(&[3, 4], &[5, 6], &[8, 10]), 1);
        assert_eq!((ids, gradient), (vec![8, 10, 3, 5, 4, 6], vec![8.0, 10.0, 3.0, 5.0, 4.0, 6.0]), "nothing moved: nobody else stays");
        let (ids, _) = WorkingSet::new(6).renew(&answer(&[1, 2, 3, 4], &[5, 6, 7, 8], &[]), 2);
        assert_eq!(ids, [1, 5, 3, 7, 2, 6], "every second one first");
    }
}
