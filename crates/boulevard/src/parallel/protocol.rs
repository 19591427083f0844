//! The crew's protocol as a small machine whose every interleaving is tried.
//!
//! Each thread's program is cut at the reads and writes that others can see; one step is one of them. All orders of steps of a caller with
//! several rounds and its helpers are walked through, and in every state must hold: a part runs once per round, nobody follows the closure
//! of a round that has returned, and some thread can always go on until the caller is done. Orders of memory are taken as sequential: that
//! the acquires and releases are enough is for Miri and ThreadSanitizer, which need a nightly toolchain and have not been run.

use std::collections::HashSet;

const PARTS: u8 = 2;
const ROUNDS: u8 = 2;
const HELPERS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Caller {
    Publish,
    Wake,
    Claim { seen: (u8, u8) },
    Work { part: u8 },
    Finish,
    Wait,
    Quit,
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Helper {
    /// Says that it sleeps, having seen this round.
    Rest {
        round: u8,
    },
    /// Looks once more before it parks.
    Look {
        round: u8,
    },
    Parked,
    /// Says that it is awake.
    Rise,
    /// Reads the ticket.
    Read,
    /// Tries to take what it read.
    Claim {
        seen: (u8, u8),
    },
    Work {
        round: u8,
        part: u8,
    },
    Finish,
    Gone,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    caller: Caller,
    helpers: [Helper; HELPERS],
    /// Round and next part.
    ticket: (u8, u8),
    finished: u8,
    sleeping: u8,
    quit: bool,
    /// A wake-up that came before its helper parked is kept for it, as `unpark` promises.
    tokens: [bool; HELPERS],
    /// How often each part of this round ran; the round whose closure is alive, or 0.
    ran: [u8; PARTS as usize],
    alive: u8,
}

/// The states after one step of the caller; none where it must wait.
fn step_caller(state: &State) -> Vec<State> {
    let mut next = state.clone();
    match state.caller {
        Caller::Publish => {
            next.ran = [0; PARTS as usize];
            next.alive = state.ticket.0 + 1;
            next.finished = 0;
            next.ticket = (state.ticket.0 + 1, 0);
            next.caller = Caller::Wake;
        }
        Caller::Wake => {
            if state.sleeping > 0 {
                next.tokens = [true; HELPERS];
            }
            next.caller = Caller::Claim { seen: state.ticket };
        }
        Caller::Claim { seen } => {
            if seen.1 >= PARTS {
                next.caller = Caller::Wait;
            } else if state.ticket == seen {
                next.ticket.1 += 1;
                next.caller = Caller::Work { part: seen.1 };
            } else {
                next.caller = Caller::Claim { seen: state.ticket };
            }
        }
        Caller::Work { part } => {
            next.ran[part as usize] += 1;
            next.caller = Caller::Finish;
        }
        Caller::Finish => {
            next.finished += 1;
            next.caller = Caller::Claim { seen: state.ticket };
        }
        Caller::Wait if state.finished < PARTS => return Vec::new(),
        Caller::Wait => {
            assert_eq!(state.ran, [1; PARTS as usize], "every part once: {state:?}");
            next.alive = 0;
            next.caller = if state.ticket.0 == ROUNDS { Caller::Quit } else { Caller::Publish };
        }
        Caller::Quit => {
            next.quit = true;
            next.tokens = [true; HELPERS];
            next.caller = Caller::Done;
        }
        Caller::Done => return Vec::new(),
    }
    vec![next]
}

fn step_helper(state: &State, who: usize) -> Vec<State> {
    let mut next = state.clone();
    let helper = &mut next.helpers[who];
    match state.helpers[who] {
        Helper::Rest { round } => {
            next.sleeping += 1;
            *helper = Helper::Look { round };
        }
        Helper::Look { round } => *helper = if state.ticket.0 == round && !state.quit { Helper::Parked } else { Helper::Rise },
        // A token wakes it; so does its timeout, at any time. Without the timeout a lost wake-up would show as a state that cannot go on.
        Helper::Parked if !state.tokens[who] => return Vec::new(),
        Helper::Parked => {
            next.tokens[who] = false;
            *helper = Helper::Rise;
        }
        Helper::Rise => {
            next.sleeping -= 1;
            *helper = Helper::Read;
        }
        Helper::Read if state.quit => *helper = Helper::Gone,
        Helper::Read => *helper = Helper::Claim { seen: state.ticket },
        Helper::Claim { seen } => {
            if seen.1 >= PARTS {
                // Nothing to do: it spins or goes to sleep.
                let mut sleeps = next.clone();
                sleeps.helpers[who] = Helper::Rest { round: seen.0 };
                next.helpers[who] = Helper::Read;
                return vec![next, sleeps];
            } else if state.ticket == seen {
                next.ticket.1 += 1;
                *helper = Helper::Work { round: seen.0, part: seen.1 };
            } else {
                *helper = Helper::Claim { seen: state.ticket };
            }
        }
        Helper::Work { round, part } => {
            assert_eq!(state.alive, round, "a closure is followed after its round returned: {state:?}");
            next.ran[part as usize] += 1;
            *helper = Helper::Finish;
        }
        Helper::Finish => {
            next.finished += 1;
            *helper = Helper::Read;
        }
        Helper::Gone => return Vec::new(),
    }
    vec![next]
}

#[test]
fn every_interleaving_of_the_crews_protocol_is_sound() {
    let first = State {
        caller: Caller::Publish,
        helpers: [Helper::Rest { round: 0 }; HELPERS],
        ticket: (0, PARTS),
        finished: 0,
        sleeping: 0,
        quit: false,
        tokens: [false; HELPERS],
        ran: [0; PARTS as usize],
        alive: 0,
    };
    let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
    let mut ends = 0;
    while let Some(state) = open.pop() {
        let mut after = step_caller(&state);
        (0..HELPERS).for_each(|who| after.extend(step_helper(&state, who)));
        if after.is_empty() {
            // Nobody can go on, not even by a timeout that never comes: then all must be over.
            assert_eq!((state.caller, state.helpers), (Caller::Done, [Helper::Gone; HELPERS]), "stuck: {state:?}");
            ends += 1;
        }
        for next in after {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    assert!(seen.len() > 1000 && ends > 0, "{} states, {ends} ends", seen.len());
}
