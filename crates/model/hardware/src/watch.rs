use state_machine::Operation;
use units::Nanos;

use crate::part::{Job, PartId, Ticket};
use state_machine::Slab;

/// Measured job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    /// Read, write or flush.
    pub operation: Operation,
    /// Time from the request to the answer.
    pub took: Nanos,
}

/// Measures how long jobs take that some parts send to others. The answer is intercepted on its
/// way, so that measuring changes neither events nor their order.
#[derive(Debug)]
pub struct Watches {
    watches: Vec<Watch>,
    under_way: Slab<UnderWay>,
}

#[derive(Debug)]
struct Watch {
    via: PartId,
    to: Vec<PartId>,
    seen: Vec<Watched>,
}

#[derive(Debug)]
struct UnderWay {
    from: PartId,
    ticket: Ticket,
    operation: Operation,
    since: Nanos,
    watch: usize,
}

impl Default for Watches {
    fn default() -> Self {
        Self { watches: Vec::new(), under_way: Slab::new() }
    }
}

impl Watches {
    pub fn add(&mut self, via: PartId, to: Vec<PartId>) {
        self.watches.push(Watch { via, to, seen: Vec::new() });
    }

    pub fn take(&mut self, via: PartId) -> Vec<Watched> {
        let own = self.watches.iter_mut().find(|watch| watch.via == via);
        own.map(|watch| std::mem::take(&mut watch.seen)).unwrap_or_default()
    }

    /// Returns a job as it is to be delivered. If it is watched, its answer goes to
    /// [`PartId::WATCH`].
    #[inline]
    pub fn asked(&mut self, now: Nanos, (via, to): (PartId, PartId), job: Job) -> Job {
        let is_it = |watch: &Watch| watch.via == via && watch.to.contains(&to);
        let Some(watch) = self.watches.iter().position(is_it) else { return job };
        let Job { from, ticket, operation, .. } = job;
        let own = UnderWay { from, ticket, operation, since: now, watch };
        Job { from: PartId::WATCH, ticket: Ticket(self.under_way.insert(own)), ..job }
    }

    /// Returns the real receiver and ticket of an answer, and records the time of watched jobs.
    #[inline]
    pub fn answered(&mut self, now: Nanos, mut to: PartId, mut ticket: Ticket) -> (PartId, Ticket) {
        // Where watched parts are in front of each other a job is watched several times.
        while to == PartId::WATCH {
            let own = self.under_way.remove(ticket.0);
            let took = now.saturating_sub(own.since);
            self.watches[own.watch].seen.push(Watched { operation: own.operation, took });
            (to, ticket) = (own.from, own.ticket);
        }
        (to, ticket)
    }
}
