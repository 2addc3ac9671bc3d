use std::sync::Arc;

use state_machine::{ActionOpen, Effects, Event, Machine};
use units::{Bytes, Nanos};

use crate::instance::WorkloadMachine;
use crate::moving::{Carried, MoveOrder};
use crate::replay::ReplayMachine;

/// State machine of an instance.
#[derive(Debug, Clone)]
pub enum InstanceMachine {
    /// Users and their actions.
    Users(Box<WorkloadMachine>),
    /// Recorded load.
    Replay(Box<ReplayMachine>),
    /// Instance with a disk that can move.
    Carried(Box<Carried<Self>>),
}

impl InstanceMachine {
    /// Creates the state machine of another round of the same plan (`InstancePlan::round`). Call it
    /// before this state machine has received an event.
    #[must_use]
    pub fn in_round(&self, round: u64) -> Self {
        match self {
            Self::Users(machine) => Self::Users(Box::new(machine.in_round(round))),
            Self::Replay(machine) => Self::Replay(Box::new(machine.in_round(round))),
            // Extra rounds (for warming) order no moves.
            Self::Carried(carried) => carried.inner().in_round(round),
        }
    }

    /// Returns the replay, if the instance replays a recorded load.
    pub fn replay(&self) -> Option<&ReplayMachine> {
        match self {
            Self::Users(_) => None,
            Self::Replay(machine) => Some(machine),
            Self::Carried(carried) => carried.inner().replay(),
        }
    }

    /// Returns the order with which its disk is moved, if it has a disk that can move.
    pub const fn move_order(&self) -> Option<&Arc<MoveOrder>> {
        match self {
            Self::Users(_) | Self::Replay(_) => None,
            Self::Carried(carried) => Some(carried.order()),
        }
    }

    /// Sets the orders that its steps give for disks, in turn. Call it before the instance has
    /// received an event.
    pub fn give_orders(&mut self, orders: &[Arc<MoveOrder>]) {
        if let Self::Users(machine) = self {
            machine.orders = orders.to_vec();
        }
    }

    /// Sets the alignment of the start and end of requests: a power of two, at least 512 B. A
    /// recorded load is rounded to it. Users keep the block sizes of their definition.
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

    /// Saves the state of an instance with users; `None` for others. A recorded load stays where
    /// its trace is, and operations on disks run on one host.
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
