//! Saved state of an instance with users. It contains everything that changes, but nothing that the
//! definition determines. Another instance that was built from the same plan continues from it,
//! identical in every bit.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use state_machine::Stream;
use units::Nanos;

use crate::address::{Addresses, ReuseState, SharedWalk};
use crate::commit::CommitLog;
use crate::group::{Arrivals, Load};
use crate::instance::{Aside, Strand, User, WorkloadMachine};
use crate::program::Op;
use crate::reuse::SavedHistory;

/// State of an instance.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    users: Vec<User>,
    asides: Vec<Aside>,
    strands: Vec<Strand>,
    counters: Vec<u32>,
    logs: Vec<CommitLog>,
    payload: Stream,
    /// Arrivals by group; `None` for a group that is not open-loop.
    arrivals: Vec<Option<SavedArrivals>>,
    /// Positions, and the number of the next stream.
    cursors: Vec<(Vec<u64>, u64)>,
    /// Leaf, block read last, and block that the next write repeats.
    walks: Vec<(u64, u64, Option<u64>)>,
    histories: Vec<SavedHistory>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedArrivals {
    stream: Stream,
    /// Start of each kind's burst, and the number of its periods that have begun.
    bursts: Vec<(f64, f64)>,
    next_active_ns: f64,
    next: Nanos,
    made: u64,
    free: Vec<u32>,
    waiting: VecDeque<Nanos>,
}

impl WorkloadMachine {
    /// Saves the state that has changed since the instance was built.
    pub(crate) fn saved(&self) -> Option<Vec<u8>> {
        let Self { groups, addresses, payload, users, asides, strands, counters, logs, .. } = self;
        let Addresses { cursors, ranks: _, walks, reuse } = addresses;
        let ReuseState { histories, habits: _ } = &**reuse;
        let saved = Saved {
            users: users.clone(),
            asides: asides.clone(),
            strands: strands.clone(),
            counters: counters.clone(),
            logs: logs.clone(),
            payload: payload.stream().clone(),
            arrivals: groups.iter().map(|group| arrivals(&group.load)).collect(),
            cursors: cursors.iter().map(crate::cursor::Cursor::saved).collect(),
            walks: walks.iter().map(|SharedWalk { walk, .. }| walk.saved()).collect(),
            histories: histories.iter().map(crate::reuse::History::saved).collect(),
        };
        postcard::to_stdvec(&saved).ok()
    }

    /// Restores a saved state. Returns false if it is of another kind of instance.
    pub(crate) fn go_on_from(&mut self, saved: &[u8]) -> bool {
        let Ok(saved) = postcard::from_bytes::<Saved>(saved) else { return false };
        if !self.is_alike(&saved) {
            return false;
        }
        let Saved { users, asides, strands, counters, logs, .. } = saved;
        let Saved { payload, arrivals, cursors, walks, histories, .. } = saved;
        (self.users, self.asides) = (users, asides);
        (self.strands, self.counters, self.logs) = (strands, counters, logs);
        *self.payload.stream_mut() = payload;
        for (group, saved) in self.groups.iter_mut().zip(arrivals) {
            if let (Load::Open(own), Some(saved)) = (&mut group.load, saved) {
                go_on(own, saved);
            }
        }
        let Addresses { cursors: own_cursors, walks: own_walks, reuse, .. } = &mut self.addresses;
        own_cursors.iter_mut().zip(cursors).for_each(|(own, saved)| own.go_on_from(saved));
        own_walks.iter_mut().zip(walks).for_each(|(own, saved)| own.walk.go_on_from(saved));
        reuse.histories.iter_mut().zip(histories).for_each(|(own, saved)| own.go_on_from(saved));
        true
    }

    /// Returns true if all lists of the saved state have the same lengths as here, and no number is
    /// out of range.
    fn is_alike(&self, saved: &Saved) -> bool {
        let per_user = (self.program.strands as usize, self.program.counters as usize);
        let count = saved.users.len();
        let has_users = saved.asides.len() == count
            && saved.strands.len() == count * per_user.0
            && saved.counters.len() == count * per_user.1
            && saved.users.iter().all(|user| usize::from(user.group) < self.groups.len())
            && saved.strands.iter().all(|strand| {
                (strand.user as usize) < count && (strand.op as usize) < self.program.ops.len()
            });
        let is_open =
            |(group, saved): (&crate::group::Group, &Option<SavedArrivals>)| match &group.load {
                Load::Open(own) => saved.as_ref().is_some_and(|saved| {
                    own.rhythm.bursts().count() == saved.bursts.len()
                        && saved.free.iter().all(|user| (*user as usize) < count)
                }),
                Load::Closed { .. } | Load::Paced { .. } => saved.is_none(),
            };
        let enters = |strand: &u32| {
            let strand = saved.strands.get(*strand as usize);
            strand.is_some_and(|strand| {
                matches!(self.program.ops.get(strand.op as usize), Some(Op::Enter { .. }))
            })
        };
        let has_logs = self.logs.len() == saved.logs.len()
            && saved.logs.iter().all(|log| log.covered.iter().chain(&log.waiting).all(enters));
        let addresses = &self.addresses;
        has_users
            && has_logs
            && self.groups.len() == saved.arrivals.len()
            && self.groups.iter().zip(&saved.arrivals).all(is_open)
            && addresses.cursors.len() == saved.cursors.len()
            && addresses.walks.len() == saved.walks.len()
            && addresses.reuse.histories.len() == saved.histories.len()
    }
}

fn arrivals(load: &Load) -> Option<SavedArrivals> {
    let Load::Open(arrivals) = load else { return None };
    let Arrivals { stream, rhythm, next_active_ns, next, limit: _, made, free, waiting } =
        &**arrivals;
    Some(SavedArrivals {
        stream: stream.clone(),
        bursts: rhythm.bursts().collect(),
        next_active_ns: *next_active_ns,
        next: *next,
        made: *made as u64,
        free: free.clone(),
        waiting: waiting.clone(),
    })
}

fn go_on(own: &mut Arrivals, saved: SavedArrivals) {
    let SavedArrivals { stream, bursts, next_active_ns, next, made, free, waiting } = saved;
    (own.stream, own.next_active_ns, own.next) = (stream, next_active_ns, next);
    own.rhythm.go_on_from(&bursts);
    own.made = usize::try_from(made).unwrap_or(usize::MAX);
    (own.free, own.waiting) = (free, waiting);
}
