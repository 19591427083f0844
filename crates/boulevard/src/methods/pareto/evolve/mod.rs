//! The evolved front: NSGA-II on `(-q, s)` or `(-q, s, -|sum alpha y|)`, all maximized, in the box `0 <= alpha <= 1`.
//!
//! [`Variant::Paper`], one generation (Mierswa 2007, as his program runs it):
//! 1. keep the best candidates by non-dominated rank, then by crowding;
//! 2. random disjoint pairs; with probability 0.9 both children of a crossover are *added*;
//! 3. mutated clones of parents and children are *added* (clones without a change are dropped);
//! 4. evaluate what is new. There is no tournament.
//!
//! [`Variant::Textbook`] (Deb et al. 2002): as many children as parents, from binary tournaments on (rank, crowding), crossover and
//! mutation; then the best of parents and children survive.
//!
//! Both divide crowding by the range of each objective and drop candidates with the same objectives as another one while enough others
//! are left (generation 0 is one point many times over).

pub(super) mod population;
pub(super) mod variation;

use serde::{Deserialize, Serialize};

use self::population::{Base, Draft, Landscape, Member};
use self::variation::{Crossover, Mutation, Mutator};
use crate::error::Result;
use crate::metrics::pareto::{CrowdingScale, crowding_distance, dominates, non_dominated_fronts};
use crate::observe::{Context, StopReason};
use crate::random::Random;

/// Which NSGA-II.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Variant {
    /// As in the paper's experiments.
    #[default]
    Paper,
    /// As its authors published it.
    ///
    /// As in Deb's article.
    Textbook,
}

const CROSSOVER_RATE: f64 = 0.9;
/// Generations between two exact evaluations of the survivors: carried-over gradients drift.
const REFRESH: usize = 50;
/// The stream of random numbers that evolutions draw from.
const STREAM: u64 = 0x70_61_72;

/// How to evolve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evolution {
    pub population: usize,
    pub generations: usize,
    pub mutation: Mutation,
    pub crossover: Crossover,
    pub variant: Variant,
    pub seed: u64,
}

/// What an evolution came to.
pub(super) struct Evolved {
    /// Non-dominated candidates, without repetitions, by rising sum.
    pub front: Vec<Member>,
    /// Generations done.
    pub generations: u64,
    pub stop: StopReason,
}

/// A survivor's place in the order of merit.
#[derive(Clone, Copy)]
struct Merit {
    rank: usize,
    crowding: f64,
}

impl Merit {
    fn better(self, other: Self) -> bool {
        self.rank < other.rank || (self.rank == other.rank && self.crowding > other.crowding)
    }
}

impl Evolution {
    /// Runs all generations, from `alpha = 0`.
    pub(super) fn run(&self, landscape: &Landscape<'_>, context: &Context<'_>) -> Result<Evolved> {
        let mut random = Random::new(self.seed, STREAM);
        let mut mutator = Mutator::new(self.mutation);
        let mut members = vec![landscape.zero(); self.population];
        let mut merits = vec![Merit { rank: 0, crowding: 0.0 }; self.population];
        let (mut done, mut stop) = (0, StopReason::Converged);
        while done < self.generations {
            if let Some(reason) = context.step("evolve", done, self.generations) {
                stop = reason;
                break;
            }
            match self.variant {
                Variant::Paper => self.grow(landscape, &mut members, &mut mutator, &mut random),
                Variant::Textbook => self.breed(landscape, &mut members, &merits, &mut mutator, &mut random),
            }
            (members, merits) = self.survivors(members)?;
            done += 1;
            if done % REFRESH == 0 || done == self.generations {
                landscape.refresh(&mut members);
            }
        }
        if done < self.generations {
            landscape.refresh(&mut members);
        }
        Ok(Evolved { front: first_front(members)?, generations: done as u64, stop })
    }

    /// The paper's steps 2 to 4.
    fn grow(&self, landscape: &Landscape<'_>, members: &mut Vec<Member>, mutator: &mut Mutator, random: &mut Random) {
        let order = random.permutation(members.len());
        let mut drafts = Vec::new();
        for pair in order.chunks_exact(2) {
            if random.uniform() < CROSSOVER_RATE {
                drafts.extend(self.crossover.children(&members[pair[0]], &members[pair[1]], random));
            }
        }
        let children = landscape.evaluate(drafts);
        members.extend(children);
        let mut clones = Vec::new();
        let mut parents = Vec::new();
        for (place, member) in members.iter().enumerate() {
            let mut alpha = member.alpha.clone();
            if mutator.change(&mut alpha, random) {
                clones.push(Draft { alpha, bases: [Some(Base::Point(member)), None] });
                parents.push(place);
            }
        }
        let clones = landscape.evaluate(clones);
        mutator.adapt(successes(&clones, &parents, members), clones.len());
        members.extend(clones);
    }

    /// Deb's children: tournaments, crossover, mutation.
    fn breed(&self, landscape: &Landscape<'_>, members: &mut Vec<Member>, merits: &[Merit], mutator: &mut Mutator, random: &mut Random) {
        let tournament = |random: &mut Random| {
            let (a, b) = (random.below(members.len()), random.below(members.len()));
            if merits[b].better(merits[a]) { b } else { a }
        };
        let mut drafts: Vec<Draft<'_>> = Vec::with_capacity(self.population + 1);
        let mut parents = Vec::with_capacity(self.population + 1);
        while drafts.len() < self.population {
            let (a, b) = (tournament(random), tournament(random));
            let pair = if random.uniform() < CROSSOVER_RATE {
                self.crossover.children(&members[a], &members[b], random)
            } else {
                [a, b].map(|parent| Draft { alpha: members[parent].alpha.clone(), bases: [Some(Base::Point(&members[parent])), None] })
            };
            drafts.extend(pair);
            parents.extend([a, b]);
        }
        for draft in &mut drafts {
            mutator.change(&mut draft.alpha, random);
        }
        let children = landscape.evaluate(drafts);
        mutator.adapt(successes(&children, &parents, members), children.len());
        members.extend(children);
    }

    /// The best of all by rank, then by crowding.
    fn survivors(&self, members: Vec<Member>) -> Result<(Vec<Member>, Vec<Merit>)> {
        let members = without_twins(members, self.population);
        let points: Vec<_> = members.iter().map(|member| member.objectives).collect();
        let mut chosen: Vec<(usize, Merit)> = Vec::with_capacity(self.population);
        for (rank, front) in non_dominated_fronts(&points)?.into_iter().enumerate() {
            let of_front: Vec<_> = front.iter().map(|&i| points[i]).collect();
            let crowding = crowding_distance(&of_front, CrowdingScale::Range)?;
            let mut ranked: Vec<(usize, Merit)> =
                front.into_iter().zip(crowding).map(|(i, crowding)| (i, Merit { rank, crowding })).collect();
            let room = self.population - chosen.len();
            if ranked.len() > room {
                ranked.sort_by(|a, b| b.1.crowding.total_cmp(&a.1.crowding).then(a.0.cmp(&b.0)));
                ranked.truncate(room);
            }
            chosen.extend(ranked);
            if chosen.len() == self.population {
                break;
            }
        }
        let mut members: Vec<Option<Member>> = members.into_iter().map(Some).collect();
        Ok(chosen.into_iter().filter_map(|(i, merit)| Some((members[i].take()?, merit))).unzip())
    }
}

/// How many of the new members dominate the parent they were made from.
fn successes(new: &[Member], parents: &[usize], members: &[Member]) -> usize {
    let better = |(new, parent): (&Member, &usize)| dominates(new.objectives.as_ref(), members[*parent].objectives.as_ref());
    new.iter().zip(parents).filter(|&pair| better(pair)).count()
}

/// Leaves out repetitions of objectives as long as `enough` members stay.
fn without_twins(members: Vec<Member>, enough: usize) -> Vec<Member> {
    let key = |i: usize| members[i].objectives.values;
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|&a, &b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(&b)));
    let mut twins: Vec<usize> = order.windows(2).filter(|pair| key(pair[0]) == key(pair[1])).map(|pair| pair[1]).collect();
    twins.sort_unstable();
    // The last ones go first.
    let spare = members.len().saturating_sub(enough);
    let mut keep = vec![true; members.len()];
    twins.iter().rev().take(spare).for_each(|&twin| keep[twin] = false);
    members.into_iter().zip(keep).filter_map(|(member, keep)| keep.then_some(member)).collect()
}

/// The non-dominated members without repetitions, by rising sum.
fn first_front(members: Vec<Member>) -> Result<Vec<Member>> {
    let points: Vec<_> = members.iter().map(|member| member.objectives).collect();
    let first = non_dominated_fronts(&points)?.into_iter().next().unwrap_or_default();
    let mut members: Vec<Option<Member>> = members.into_iter().map(Some).collect();
    let mut front: Vec<Member> = first.into_iter().filter_map(|i| members[i].take()).collect();
    let key = |member: &Member| [member.objectives.values[1], member.objectives.values[0], member.objectives.values[2]];
    front.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
    front.dedup_by(|a, b| a.objectives == b.objectives);
    Ok(front)
}
