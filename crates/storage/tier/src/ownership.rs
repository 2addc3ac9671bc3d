//! Who may answer for a disk, as functions without anything around them: the machine, the take-over and the
//! model in `tests/` all decide by these.
//!
//! The rule: a write is answered when the owner's log and every copy that the sidecar names have accepted it.
//! So whoever the sidecar names has everything that was answered, and one of them is enough to go on with.
//! The sidecar changes *durably* before an answer depends on the change: a copy that is lost is struck out
//! first, one that is complete is named first.
//!
//! A disk that follows its machine has two servers that clients ask for it. One owns it; the other asks that one, and has
//! it let go when a client of its own changes something ([`Standing`]). Whoever lets go has put all that he answered into
//! the backing store before he says so, and answers nothing from the moment he was asked. So one of them answers, or none.

use crate::format::{Holder, Sidecar, SidecarState, Uuid};

/// Whether the sidecar still says that this set owns the disk, with its log of this generation.
pub fn is_owner(sidecar: &Sidecar, set: Uuid, generation: u64) -> bool {
    (sidecar.owner, sidecar.generation) == (set, generation)
        && sidecar.log_generation == 0
        && sidecar.state != SidecarState::Burnt
}

/// How far groups count: as far as the owner's own log and all copies that count have them.
pub fn everywhere(own: u64, copies: impl Iterator<Item = u64>) -> u64 {
    copies.fold(own, u64::min)
}

/// The sidecar with other copies.
pub fn with_holders(sidecar: &Sidecar, holders: Vec<Holder>) -> Sidecar {
    Sidecar { seq: sidecar.seq + 1, holders, ..sidecar.clone() }
}

/// Whether the backing store alone is not all there is.
pub fn has_log(sidecar: &Sidecar) -> bool {
    matches!(sidecar.state, SidecarState::Dirty | SidecarState::Applying { .. })
}

/// Whether anybody may open the disk who does not have its log: the backing store is all there is, and nobody is
/// taking it over, who would say so in the end whatever happened meanwhile.
pub fn is_free(sidecar: &Sidecar) -> bool {
    !has_log(sidecar) && sidecar.log_generation == 0
}

/// The generation of the log that has what the backing store has not.
pub fn log_generation(sidecar: &Sidecar) -> u64 {
    if sidecar.log_generation == 0 { sidecar.generation } else { sidecar.log_generation }
}

/// The sidecar when somebody takes the disk over: from now on its owner so far, and whoever began to take it
/// over before, is none. The log that has its writes, and who has copies of it, stay as they are.
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

/// The sidecar when what the log had is on the backing store, durably.
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

/// The sidecar when a lost log is given up: no device and no copy that returns with it counts.
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

/// How a server stands to a disk that its clients ask it for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It owns the disk.
    Near,
    /// It lets go of it for another server.
    Giving,
    /// Another server owns it, or is about to.
    Far,
    /// It has asked that one to let go.
    Pulling,
}

/// What becomes of a client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It is answered here.
    Answer,
    /// The owner is asked.
    Ask,
    /// It waits, and the owner is asked to let go.
    Pull,
    /// It waits until one of both owns the disk.
    Wait,
}

/// What becomes of another server's wish to own the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled {
    /// It will be let go of.
    Give,
    /// It was let go of already, for the very one who asks: he may not have heard of it.
    Given,
    /// It is not to be had here, or not now.
    Refused,
}

impl Standing {
    /// What becomes of what a client of this server asks.
    pub fn course(self, changes: bool) -> Course {
        match (self, changes) {
            (Self::Near, _) => Course::Answer,
            (Self::Far, false) => Course::Ask,
            (Self::Far, true) => Course::Pull,
            (Self::Giving | Self::Pulling, _) => Course::Wait,
        }
    }

    /// Whether another server is answered that asks for what the owner has. Nobody asks on for it, or two could ask
    /// each other for ever.
    pub fn answers_servers(self) -> bool {
        self == Self::Near
    }

    /// What becomes of another server's wish; `is_heir` if it is the one for whom the disk was let go of last.
    pub fn pulled(self, is_heir: bool) -> Pulled {
        match self {
            Self::Near => Pulled::Give,
            Self::Far if is_heir => Pulled::Given,
            Self::Giving | Self::Far | Self::Pulling => Pulled::Refused,
        }
    }
}
