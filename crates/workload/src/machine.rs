use machine::{ActionOpen, Effects, Event, Machine};
use units::{Bytes, Nanos};

use crate::instance::WorkloadMachine;
use crate::replay::ReplayMachine;

/// What decides for an instance.
#[derive(Debug, Clone)]
pub enum InstanceMachine {
    /// Users and what they do.
    Users(WorkloadMachine),
    /// A recorded load.
    Replay(ReplayMachine),
}

impl InstanceMachine {
    /// The machine that the same plan gives in another round (`InstancePlan::round`). This one
    /// must not have seen an event yet.
    #[must_use]
    pub fn in_round(&self, round: u64) -> Self {
        match self {
            Self::Users(machine) => Self::Users(machine.in_round(round)),
            Self::Replay(machine) => Self::Replay(machine.in_round(round)),
        }
    }

    /// The recorded load it plays, if it does.
    pub const fn replay(&self) -> Option<&ReplayMachine> {
        match self {
            Self::Users(_) => None,
            Self::Replay(machine) => Some(machine),
        }
    }

    /// Requests must begin and end at multiples of this, a power of two from 512 B. Users ask
    /// for the blocks that their definition names; a recorded load is rounded.
    pub fn align_to(&mut self, unit: Bytes) {
        if let Self::Replay(machine) = self {
            machine.align_to(unit);
        }
    }
}

impl Machine for InstanceMachine {
    #[inline]
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match self {
            Self::Users(machine) => machine.handle(now, event, fx),
            Self::Replay(machine) => machine.handle(now, event, fx),
        }
    }

    fn waiting_for(&self, each: &mut dyn FnMut(ActionOpen)) {
        match self {
            Self::Users(machine) => machine.waiting_for(each),
            Self::Replay(machine) => machine.waiting_for(each),
        }
    }
}
