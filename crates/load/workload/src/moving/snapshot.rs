//! Snapshot of a disk of a running VM: made while requests are held, kept, and deleted.

// Circle: `Carried` owns the snapshot under way, and its steps for the snapshot are here.

use state_machine::{
    Content, Effects, IoRequest, KindId, METADATA, Machine, Operation, Pattern, Token,
};
use units::Nanos;

use super::Moved;
use super::carried::{Carried, Flight, SNAPSHOT_DELETE, SNAPSHOT_LINK};

/// Timer that fires at the end of a snapshot's lifetime.
pub(super) const KEPT: Token = Token(u32::MAX - 1);

/// Snapshot in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot {
    keep: Nanos,
    began: Nanos,
    /// True after the snapshot was requested from the storage, which happens when no request of the
    /// instance is outstanding.
    is_asked: bool,
    /// Time at which the held requests were released.
    made: Option<Nanos>,
    /// Time at which its deletion began.
    ended: Option<Nanos>,
}

impl Snapshot {
    pub const fn new(keep: Nanos, began: Nanos) -> Self {
        Self { keep, began, is_asked: false, made: None, ended: None }
    }

    /// Returns true if requests are held for the snapshot.
    pub const fn stands_still(&self) -> bool {
        self.made.is_none()
    }

    fn told(self, now: Nanos, failed: Option<u8>) -> Moved {
        let switched = self.made.unwrap_or(now);
        let ended = self.ended.unwrap_or(switched);
        Moved { began: self.began, switched, ended, checked: now.max(ended), failed }
    }
}

impl<M: Machine> Carried<M> {
    /// Requests the snapshot from the storage. Called when no request of the instance is
    /// outstanding.
    pub(super) fn quiesced(&mut self, now: Nanos, fx: &mut Effects) {
        let is_quiet = self.of_machine == 0;
        let Some(snapshot) = self.snapshot.as_mut().filter(|own| is_quiet && !own.is_asked) else {
            return;
        };
        snapshot.is_asked = true;
        let (of, to) = (self.place.here, self.place.beside);
        self.whole(Flight::Snapshot, (SNAPSHOT_LINK, Content::Clone(of)), to, now, fx);
    }

    /// Handles the completion of the creation or deletion of the snapshot.
    pub(super) fn snapshot_answered(&mut self, ok: bool, now: Nanos, fx: &mut Effects) {
        let Some(snapshot) = &mut self.snapshot else { return };
        let failed = match (snapshot.made, ok) {
            (None, true) => {
                snapshot.made = Some(now);
                fx.wake_at(now + snapshot.keep, KEPT);
                return self.release(fx);
            }
            (None, false) => Some(0),
            (Some(_), true) => None,
            (Some(_), false) => Some(2),
        };
        let told = snapshot.told(now, failed);
        self.snapshot = None;
        self.order().tell(told);
        self.release(fx);
    }

    /// Deletes the snapshot at the end of its lifetime.
    pub(super) fn delete_snapshot(&mut self, now: Nanos, fx: &mut Effects) {
        let Some(snapshot) = &mut self.snapshot else { return };
        snapshot.ended = Some(now);
        let at = self.place.beside;
        self.whole(Flight::Snapshot, (SNAPSHOT_DELETE, Content::Discard), at, now, fx);
    }

    /// Submits a request about a whole disk.
    fn whole(
        &mut self,
        flight: Flight,
        (kind, content): (u16, Content),
        disk: state_machine::DiskId,
        now: Nanos,
        fx: &mut Effects,
    ) {
        let token = self.begin(flight);
        fx.submit(IoRequest {
            token,
            disk,
            operation: Operation::Write,
            kind: KindId(self.place.kinds + kind),
            offset: 0,
            length: METADATA,
            due: now,
            pattern: Pattern { content, ..Pattern::default() },
            durable: true,
        });
    }
}
