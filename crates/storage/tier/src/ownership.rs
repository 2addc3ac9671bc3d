//! Ownership of a disk, as pure functions: the state machine, the take-over and the model in
//! `tests/` all decide by them.
//!
//! The rule: a write is answered when the owner's log and every copy that the sidecar names have
//! accepted it. So each holder that the sidecar names has every answered write, and one of them is
//! enough to continue. The sidecar changes *durably* before an answer depends on the change: a lost
//! copy is struck out first, and a complete copy is named first.
//!
//! A disk that follows its virtual machine has two servers whose clients send requests for it. One
//! server owns the disk. The other forwards requests to the owner, and makes the owner let go of
//! the disk when one of its own clients changes something ([`Standing`]). A server that lets go
//! writes all that it answered to the backing store before it confirms, and answers nothing from
//! the moment of the demand. So one of the two answers, or neither.

use crate::format::{Holder, Sidecar, SidecarState, Uuid};

/// Returns true if the sidecar still names this set as owner, with its log of this generation.
pub fn is_owner(sidecar: &Sidecar, set: Uuid, generation: u64) -> bool {
    (sidecar.owner, sidecar.generation) == (set, generation)
        && sidecar.log_generation == 0
        && sidecar.state != SidecarState::Burnt
}

/// Last group that counts: the owner's own log and all copies have accepted it.
pub fn everywhere(own: u64, copies: impl Iterator<Item = u64>) -> u64 {
    copies.fold(own, u64::min)
}

/// Sidecar with these holders.
pub fn with_holders(sidecar: &Sidecar, holders: Vec<Holder>) -> Sidecar {
    Sidecar { seq: sidecar.seq + 1, holders, ..sidecar.clone() }
}

/// Returns true if the backing store alone lacks writes.
pub fn has_log(sidecar: &Sidecar) -> bool {
    matches!(sidecar.state, SidecarState::Dirty | SidecarState::Applying { .. })
}

/// Returns true if a host without the disk's log may open the disk: the backing store has
/// everything, and no take-over is under way. A take-over would claim the disk in the end, whatever
/// happened meanwhile.
pub fn is_free(sidecar: &Sidecar) -> bool {
    !has_log(sidecar) && sidecar.log_generation == 0
}

/// Generation of the log with the writes that the backing store lacks.
pub fn log_generation(sidecar: &Sidecar) -> u64 {
    if sidecar.log_generation == 0 { sidecar.generation } else { sidecar.log_generation }
}

/// Sidecar for a take-over: from now on its former owner, and any earlier take-over, is fenced. The
/// log generation and the holders stay as they are.
pub fn claim(sidecar: &Sidecar, set: Uuid, boot: Uuid, state: SidecarState) -> Sidecar {
    Sidecar {
        generation: sidecar.generation + 1,
        seq: sidecar.seq + 1,
        owner: set,
        boot,
        state,
        log_generation: log_generation(sidecar),
        ..sidecar.clone()
    }
}

/// Sidecar after a take-over: all writes of the log are durable on the backing store.
pub fn settle(claimed: &Sidecar, applied: u64) -> Sidecar {
    Sidecar {
        seq: claimed.seq + 1,
        state: SidecarState::Clean,
        applied,
        holders: Vec::new(),
        log_generation: 0,
        ..claimed.clone()
    }
}

/// Sidecar after a lost log was given up: no device or copy that returns with the log counts.
pub fn give_up(sidecar: &Sidecar) -> Sidecar {
    Sidecar {
        generation: sidecar.generation + 1,
        seq: sidecar.seq + 1,
        state: SidecarState::Burnt,
        holders: Vec::new(),
        log_generation: 0,
        ..sidecar.clone()
    }
}

/// Standing of a server towards a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The server owns the disk.
    Near,
    /// The server lets go of the disk for another server.
    Giving,
    /// Another server owns the disk, or is about to.
    Far,
    /// The server has asked the owner to let go.
    Pulling,
}

/// Handling of a client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// Answered here.
    Answer,
    /// Forwarded to the owner.
    Ask,
    /// Waits, and the owner is asked to let go.
    Pull,
    /// Waits until one of the two servers owns the disk.
    Wait,
}

/// Answer to another server's demand for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled {
    /// The disk will be let go.
    Give,
    /// The disk was let go already, for the same server, which may have missed the answer.
    Given,
    /// The disk is not here, or not available now.
    Refused,
}

impl Standing {
    /// Handling of a request by a client of this server.
    pub fn course(self, changes: bool) -> Course {
        match (self, changes) {
            (Self::Near, _) => Course::Answer,
            (Self::Far, false) => Course::Ask,
            (Self::Far, true) => Course::Pull,
            (Self::Giving | Self::Pulling, _) => Course::Wait,
        }
    }

    /// Returns true if the request of another server is answered. A server that is not the owner
    /// never forwards such requests, or two servers could ask each other for ever.
    pub fn answers_servers(self) -> bool {
        self == Self::Near
    }

    /// Answers another server's demand; `is_heir` says that the disk was let go for this server
    /// last.
    pub fn pulled(self, is_heir: bool) -> Pulled {
        match self {
            Self::Near => Pulled::Give,
            Self::Far if is_heir => Pulled::Given,
            Self::Giving | Self::Far | Self::Pulling => Pulled::Refused,
        }
    }
}
