//! Ownership of a disk, as pure functions. The state machine, the take-over and the model in
//! `tests/` all use them to decide.
//!
//! The rule: a write is answered when the owner's log and every copy that the sidecar names have
//! accepted it. So each holder that the sidecar names has every answered write, and one of them is
//! enough to continue. The sidecar changes *durably* before an answer depends on the change: a lost
//! copy is removed first, and a complete copy is named first.
//!
//! A disk that follows its VM has two servers whose clients send requests for it. One server owns
//! the disk. The other forwards requests to the owner, and makes the owner give up the disk when
//! one of its own clients changes data ([`Standing`]). A server that gives up the disk first writes
//! all answered writes to the backing store, then confirms. It answers no request after it was
//! asked to give up the disk. So at any time at most one of the two servers answers.

use crate::format::{Holder, Sidecar, SidecarState, Uuid};

/// Returns true if the sidecar still names this set as owner, with its log of this generation.
pub fn is_owner(sidecar: &Sidecar, set: Uuid, generation: u64) -> bool {
    (sidecar.owner, sidecar.generation) == (set, generation)
        && sidecar.log_generation == 0
        && sidecar.state != SidecarState::Burnt
}

/// Returns the last group that the owner's own log and all copies have accepted.
pub fn everywhere(own: u64, copies: impl Iterator<Item = u64>) -> u64 {
    copies.fold(own, u64::min)
}

/// Returns the next copy of a sidecar, with these holders.
pub fn with_holders(sidecar: &Sidecar, holders: Vec<Holder>) -> Sidecar {
    Sidecar { seq: sidecar.seq + 1, holders, ..sidecar.clone() }
}

/// Returns true if the log has writes that the backing store lacks.
pub fn has_log(sidecar: &Sidecar) -> bool {
    matches!(sidecar.state, SidecarState::Dirty | SidecarState::Applying { .. })
}

/// Returns true if a host without the disk's log may open the disk: the backing store has all
/// writes, and no take-over is in progress. An interrupted take-over could still claim the disk
/// later.
pub fn is_free(sidecar: &Sidecar) -> bool {
    !has_log(sidecar) && sidecar.log_generation == 0
}

/// Returns the generation of the log with the writes that the backing store lacks.
pub fn log_generation(sidecar: &Sidecar) -> u64 {
    if sidecar.log_generation == 0 { sidecar.generation } else { sidecar.log_generation }
}

/// Returns the sidecar for a take-over. It fences the former owner, and any earlier take-over. The
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

/// Returns the sidecar after a take-over: all writes of the log are durable on the backing store.
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

/// Returns the sidecar after a lost log was dropped on purpose. A device or copy that returns with
/// the log is no longer valid.
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

/// Relation of a server to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The server owns the disk.
    Near,
    /// The server is giving up the disk for another server.
    Giving,
    /// Another server owns the disk, or will soon own it.
    Far,
    /// The server has asked the owner to give up the disk.
    Pulling,
}

/// Handling of a client's request for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// The request is answered here.
    Answer,
    /// The request is forwarded to the owner.
    Ask,
    /// The request waits, and the owner is asked to give up the disk.
    Pull,
    /// The request waits until one of the two servers owns the disk.
    Wait,
}

/// Answer to another server that asks for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled {
    /// The disk will be given up.
    Give,
    /// The disk was already given up, for the same server, which may have missed the answer.
    Given,
    /// This server does not own the disk, or cannot give it up now.
    Refused,
}

impl Standing {
    /// Decides how a client's request is handled. `changes` is true if the request changes data.
    pub fn course(self, changes: bool) -> Course {
        match (self, changes) {
            (Self::Near, _) => Course::Answer,
            (Self::Far, false) => Course::Ask,
            (Self::Far, true) => Course::Pull,
            (Self::Giving | Self::Pulling, _) => Course::Wait,
        }
    }

    /// Returns true if requests of another server are answered. A server that is not the owner
    /// never forwards such requests, because two servers could forward them to each other for ever.
    pub fn answers_servers(self) -> bool {
        self == Self::Near
    }

    /// Decides the answer to another server that asks for the disk. `is_heir` is true if the disk
    /// was last given up for that server.
    pub fn pulled(self, is_heir: bool) -> Pulled {
        match self {
            Self::Near => Pulled::Give,
            Self::Far if is_heir => Pulled::Given,
            Self::Giving | Self::Far | Self::Pulling => Pulled::Refused,
        }
    }
}
