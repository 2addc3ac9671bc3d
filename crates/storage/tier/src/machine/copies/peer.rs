use std::collections::VecDeque;

use units::Nanos;

use crate::format::Holder;
use crate::machine::PAUSE;
use crate::machine::log::Log;

/// A peer that ends nothing for so long is lost. Our choice: longer than a slow flush, shorter than what a
/// guest notices.
const PATIENCE: Nanos = Nanos(500_000_000);

/// Where one of a disk's peers stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has no copy that counts.
    None,
    /// What the log has is on its way, up to this position.
    Copying(u64),
    /// It has all; the log pauses while so many writes mark where the copy begins and ends.
    Marking(u32),
    /// And is being made durable.
    Sealing,
    /// It is complete; the sidecar is to say so.
    Named,
    /// The sidecar says so.
    Holding,
    /// It is lost; the sidecar is to say so.
    Leaving,
}

/// What a label says, and how far the copy was cut off behind it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kept {
    pub(super) number: u64,
    pub(super) position: u64,
    pub(super) seq: u64,
    /// Where the last label began; what lies between is given up next.
    pub(super) before: u64,
    pub(super) step: KeptStep,
    /// I/Os of this step that are under way.
    pub(super) left: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum KeptStep {
    #[default]
    Idle,
    Label,
    Flush,
    Trim,
}

/// One who may hold a copy.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) holder: Holder,
    pub(super) is_up: bool,
    pub(super) capacity: u64,
    pub(super) state: State,
    /// Counts ways to it: what ends on an older one says nothing of this.
    pub(super) link: u32,
    /// Groups up to this one are accepted there, and durable.
    pub(super) accepted: u64,
    pub(super) durable: u64,
    /// Groups under way: number, I/Os that are left, where in the log it begins.
    pub(super) groups: VecDeque<(u64, u32, u64)>,
    pub(super) is_flushing: bool,
    pub(super) is_reading: bool,
    pub(super) kept: Kept,
    pub(super) under_way: u32,
    /// When something last ended there, or began with nothing under way.
    pub(super) since: Nanos,
}

impl Peer {
    pub(super) fn new(holder: Holder) -> Self {
        Self {
            holder,
            is_up: false,
            capacity: 0,
            state: State::None,
            link: 0,
            accepted: 0,
            durable: 0,
            groups: VecDeque::new(),
            is_flushing: false,
            is_reading: false,
            kept: Kept::default(),
            under_way: 0,
            since: Nanos(0),
        }
    }

    /// Whether an answer depends on it.
    pub(super) fn counts(&self) -> bool {
        matches!(self.state, State::Named | State::Holding | State::Leaving)
    }

    /// Bytes of the log that it lacks.
    pub(super) fn lag(&self, log: &Log) -> u64 {
        let has_to = match self.state {
            State::None | State::Leaving => log.first_chunk().start,
            State::Copying(to) => to,
            _ => self.groups.front().map_or(log.ends().position, |(.., begin)| *begin),
        };
        log.ends().position.saturating_sub(has_to)
    }

    /// When it is to be given up, if nothing ends there before; or asked for a sign of life, if nothing is
    /// under way.
    pub(super) fn due(&self) -> Option<Nanos> {
        match self.state {
            _ if self.under_way > 0 => Some(self.since + PATIENCE),
            State::Holding => Some(self.since + PAUSE),
            _ => None,
        }
    }
}
