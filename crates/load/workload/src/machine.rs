use std::sync::Arc;

use state_machine::{ActionOpen, Effects, Event, Machine};
use units::{Bytes, Nanos};

use crate::instance::WorkloadMachine;
use crate::moving::{Carried, MoveOrder};
use crate::replay::ReplayMachine;

/// What decides for an instance.
#[derive(Debug, Clone)]
pub enum InstanceMachine {
    /// Users and what they do.
    Users(Box<WorkloadMachine>),
    /// A recorded load.
    Replay(Box<ReplayMachine>),
    /// One of whose disks can move.
    Carried(Box<Carried<Self>>),
}

impl InstanceMachine {
    /// The machine that the same plan gives in another round (`InstancePlan::round`). This one
    /// must not have seen an event yet.
    #[must_use]
    pub fn in_round(&self, round: u64) -> Self {
        match self {
            Self::Users(machine) => Self::Users(Box::new(machine.in_round(round))),
            Self::Replay(machine) => Self::Replay(Box::new(machine.in_round(round))),
            // Nobody asks for moves in a round of its own.
            Self::Carried(carried) => carried.inner().in_round(round),
        }
    }

    /// The recorded load it plays, if it does.
    pub fn replay(&self) -> Option<&ReplayMachine> {
        match self {
            Self::Users(_) => None,
            Self::Replay(machine) => Some(machine),
            Self::Carried(carried) => carried.inner().replay(),
        }
    }

    /// What asks it to move its disk, if it can.
    pub const fn move_order(&self) -> Option<&Arc<MoveOrder>> {
        match self {
            Self::Users(_) | Self::Replay(_) => None,
            Self::Carried(carried) => Some(carried.order()),
        }
    }

    /// Its steps that move disks give these orders, in turn. This one must not have seen an
    /// event yet.
    pub fn give_orders(&mut self, orders: &[Arc<MoveOrder>]) {
        if let Self::Users(machine) = self {
            machine.orders = orders.to_vec();
        }
    }

    /// Requests must begin and end at multiples of this, a power of two from 512 B. Users ask
    /// for the blocks that their definition names; a recorded load is rounded.
    pub fn align_to(&mut self, unit: Bytes) {
        match self {
            Self::Users(_) => {}
            Self::Replay(machine) => machine.align_to(unit),
            Self::Carried(carried) => carried.inner_mut().align_to(unit),
        }
    }
}

impl Machine for InstanceMachine {
    #[inline]
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match self {
            Self::Users(machine) => machine.handle(now, event, fx),
            Self::Replay(machine) => machine.handle(now, event, fx),
            Self::Carried(machine) => machine.handle(now, event, fx),
        }
    }

    fn waiting_for(&self, now: Nanos, each: &mut dyn FnMut(ActionOpen)) {
        match self {
            Self::Users(machine) => machine.waiting_for(now, each),
            Self::Replay(machine) => machine.waiting_for(now, each),
            Self::Carried(machine) => machine.waiting_for(now, each),
        }
    }

    /// A recorded load stays where its trace is, and operations on disks run on one host.
    fn saved(&self) -> Option<Vec<u8>> {
        match self {
            Self::Users(machine) => machine.saved(),
            Self::Replay(_) | Self::Carried(_) => None,
        }
    }

    fn go_on_from(&mut self, saved: &[u8]) -> bool {
        match self {
            Self::Users(machine) => machine.go_on_from(saved),
            Self::Replay(_) | Self::Carried(_) => false,
        }
    }

    fn begin_at(&mut self, at: Nanos) {
        if let Self::Users(machine) = self {
            machine.begin_at(at);
        }
    }
}
