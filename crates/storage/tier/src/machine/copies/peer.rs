use std::collections::VecDeque;

use units::Nanos;

use crate::format::Holder;
use crate::machine::PAUSE;
use crate::machine::log::Log;

/// Time without progress after which a peer is lost. Our choice: longer than a slow flush, shorter
/// than a delay that a guest notices.
const PATIENCE: Nanos = Nanos(500_000_000);

/// State of one of a disk's peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The peer has no usable copy.
    None,
    /// The existing log is being sent, up to this position.
    Copying(u64),
    /// The peer has all of the log. New groups pause until this many writes have marked the start
    /// and the end of the copy.
    Marking(u32),
    /// The copy is being made durable.
    Sealing,
    /// The copy is complete, and the sidecar must name it.
    Named,
    /// The sidecar names the peer.
    Holding,
    /// The peer is lost, and the sidecar must not name it any more.
    Leaving,
}

/// Label of a copy, and the progress of trimming before its start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CopyLabel {
    pub(super) number: u64,
    pub(super) position: u64,
    pub(super) seq: u64,
    /// Position of the former label. The bytes from there to the present position are trimmed next.
    pub(super) before: u64,
    pub(super) step: KeptStep,
    /// Number of I/Os of the present step in progress.
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

/// Peer that may hold a copy.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) holder: Holder,
    pub(super) is_up: bool,
    pub(super) capacity: u64,
    pub(super) state: State,
    /// Number of the connection. Completions on an older connection are ignored.
    pub(super) link: u32,
    /// Last group that the peer has accepted.
    pub(super) accepted: u64,
    /// Last group that is durable at the peer.
    pub(super) durable: u64,
    /// Groups in progress: number, remaining I/Os, and position in the log.
    pub(super) groups: VecDeque<(u64, u32, u64)>,
    pub(super) is_flushing: bool,
    pub(super) is_reading: bool,
    pub(super) kept: CopyLabel,
    pub(super) under_way: u32,
    /// Time of the last completion at the peer, or of the first I/O that was started while none was
    /// in progress.
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
            kept: CopyLabel::default(),
            under_way: 0,
            since: Nanos(0),
        }
    }

    /// Returns true if answers to requests depend on the peer.
    pub(super) fn counts(&self) -> bool {
        matches!(self.state, State::Named | State::Holding | State::Leaving)
    }

    /// Returns the number of log bytes that the peer lacks.
    pub(super) fn lag(&self, log: &Log) -> u64 {
        let has_to = match self.state {
            State::None | State::Leaving => log.first_chunk().start,
            State::Copying(to) => to,
            _ => self.groups.front().map_or(log.ends().position, |(.., begin)| *begin),
        };
        log.ends().position.saturating_sub(has_to)
    }

    /// Returns the time at which the peer is lost if none of its I/Os completes before; for an idle
    /// peer, the time at which it gets a flush to check that it still exists.
    pub(super) fn due(&self) -> Option<Nanos> {
        match self.state {
            _ if self.under_way > 0 => Some(self.since + PATIENCE),
            State::Holding => Some(self.since + PAUSE),
            _ => None,
        }
    }
}
