//! Sidecar of a disk: its content, and the copies that are being written.
//!
//! Invariant: no decision relies on new content of the sidecar (owner, copies, existence of a log)
//! before both copies have it durably. So damage of either copy does not bring back older content.
//! A sidecar of another owner is never overwritten.

use super::batch::Batch;
use super::io::Io;
use super::log::LogEnds;
use super::{Fx, Tier};
use crate::event::{Effect, IoError, IoTarget, Piece};
use crate::format::{Holder, Sidecar, SidecarState};
use crate::ownership::{self, with_holders};

/// Sidecar of a disk, with the copy that is being written.
#[derive(Debug, Clone)]
pub(crate) struct SidecarWriter {
    /// Content of the durable copies, except that generation and last applied epoch are already
    /// those of the next copy.
    sidecar: Sidecar,
    /// Copy that is being written.
    next: Option<Sidecar>,
    /// True if the second copy with the same content is being written.
    is_twin: bool,
    /// Generation of the last durable copy.
    confirmed: u64,
    /// Last group that both copies record as retired. One copy may be damaged later, and the log
    /// must not begin behind the group in the other copy.
    retired: u64,
}

/// Consequence of a copy becoming durable.
#[derive(Debug, PartialEq, Eq)]
enum Written {
    /// The copy was cancelled meanwhile.
    Nothing,
    /// The second copy must be written.
    Half,
    /// The new content is in effect.
    All,
}

impl SidecarWriter {
    pub(crate) fn new(sidecar: Sidecar) -> Self {
        let (confirmed, retired) = (sidecar.generation, sidecar.log_retired);
        Self { sidecar, next: None, is_twin: false, confirmed, retired }
    }

    /// Returns the content of the durable copies.
    pub(crate) fn word(&self) -> &Sidecar {
        &self.sidecar
    }

    /// Returns the content for changes while a set is opened, which writes both copies itself.
    pub(crate) fn word_mut(&mut self) -> &mut Sidecar {
        &mut self.sidecar
    }

    pub(super) fn is_writing(&self) -> bool {
        self.next.is_some()
    }

    pub(super) fn is_applying(&self) -> bool {
        matches!(self.sidecar.state, SidecarState::Applying { .. })
    }

    /// Returns the last group that both copies record as retired.
    pub(super) fn retired(&self) -> u64 {
        self.retired
    }

    /// Sets the last epoch that is on the backing store.
    pub(super) fn set_applied(&mut self, epoch: u64) {
        self.sidecar.applied = epoch;
    }

    /// Raises the generation of the next copy.
    pub(super) fn raise_generation(&mut self) {
        self.sidecar.generation += 1;
    }

    /// Returns true if the durable copies have the present generation.
    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed == self.sidecar.generation
    }

    /// Begins the next copy. Returns the generation that the durable copies must still have when
    /// the copy is written.
    fn begin(&mut self, state: SidecarState, mode: u32, holders: Vec<Holder>) -> u64 {
        let next = with_holders(&self.sidecar, holders);
        (self.next, self.is_twin) = (Some(Sidecar { state, mode, ..next }), false);
        self.confirmed
    }

    /// Begins the first copy of an attachment.
    pub(super) fn begin_first(&mut self) {
        (self.next, self.is_twin) = (Some(self.sidecar.clone()), false);
    }

    /// Returns the address and the bytes of the next copy. It records the superblock and the groups
    /// that are durable now, which reveals an older state of the cache. Both copies record the
    /// same.
    fn put(&mut self, superblock: u64, durable: u64, retired: u64) -> Option<(u64, Piece)> {
        let next = self.next.as_mut()?;
        if !self.is_twin {
            (next.superblock, next.log_durable, next.log_retired) = (superblock, durable, retired);
        }
        Some((next.place(), Piece::Bytes(next.encode())))
    }

    /// Records that a copy is durable. `is_first` is true for the first copy of a new attachment.
    fn written(&mut self, is_first: bool) -> Written {
        let Some(next) = &mut self.next else { return Written::Nothing };
        let before = &mut self.sidecar;
        // If only progress of destaging changed, the older copy names the same owner, log and
        // copies, and asks for more of the log to be written again. Then one copy is enough, and
        // the backing store flushes half as often.
        let is_new_word = is_first
            || next.generation != self.confirmed
            || next.holders != before.holders
            || ownership::has_log(next) != ownership::has_log(before);
        if is_new_word && !std::mem::replace(&mut self.is_twin, true) {
            next.seq += 1;
            return Written::Half;
        }
        self.retired = if is_new_word { next.log_retired } else { before.log_retired };
        self.confirmed = next.generation;
        (before.state, before.seq, before.log_retired) = (next.state, next.seq, next.log_retired);
        before.holders = std::mem::take(&mut next.holders);
        self.next = None;
        Written::All
    }

    /// Cancels the copy that is being written.
    pub(super) fn cancel(&mut self) {
        self.next = None;
    }

    /// Records that a copy could not be written. Its number is not used again.
    fn fail(&mut self) {
        let used = self.next.take().map_or(self.sidecar.seq + 1, |next| next.seq);
        self.sidecar.seq = used + 1;
    }
}

impl Tier {
    /// Writes a sidecar's next copy, after a check that no other host owns the disk.
    /// [`Tier::sidecar_flushed`] follows when the copy is durable.
    pub(super) fn write_sidecar(&mut self, index: u16, state: SidecarState, fx: &mut Fx) {
        let disk = self.disk(index);
        if disk.is_fenced {
            return;
        }
        let (mode, holders) = (disk.change.unwrap_or(disk.mode).number(), disk.copies.holders());
        let generation = disk.sidecar.begin(state, mode, holders);
        let io = self.start_io(Io::SidecarConfirm { disk: index });
        fx.push(Effect::Confirm { io, disk: index, generation });
    }

    pub(super) fn sidecar_confirmed(
        &mut self,
        index: u16,
        result: Result<(), IoError>,
        fx: &mut Fx,
    ) {
        match result {
            Err(IoError::Fenced) => self.fence(index, fx),
            Ok(()) => self.put_sidecar(index, fx),
            Err(_) => self.sidecar_failed(index, fx),
        }
    }

    /// Writes the next copy, once the check has shown that this set still owns the disk.
    pub(super) fn put_sidecar(&mut self, index: u16, fx: &mut Fx) {
        let superblock = self.roster.durable();
        let disk = self.disk(index);
        let LogEnds { durable, retired, .. } = disk.log.ends();
        let Some((at, copy)) = disk.sidecar.put(superblock, durable, retired) else {
            return self.sidecar_failed(index, fx);
        };
        let io = self.start_io(Io::SidecarWrite { disk: index });
        fx.push(Effect::write(io, IoTarget::Sidecar(index), at, vec![copy]));
    }

    pub(super) fn sidecar_written(&mut self, index: u16, is_ok: bool, fx: &mut Fx) {
        if !is_ok {
            return self.sidecar_failed(index, fx);
        }
        let io = self.start_io(Io::SidecarFlush { disk: index });
        fx.push(Effect::Flush { io, place: IoTarget::Sidecar(index) });
    }

    pub(super) fn sidecar_flushed(&mut self, index: u16, result: Result<(), IoError>, fx: &mut Fx) {
        let disk = self.disk(index);
        let is_marking = disk.is_marking();
        match result {
            // The reservation was lost before the word was durable, so it counts for nobody.
            Err(IoError::Fenced) if !is_marking => return self.fence(index, fx),
            Err(_) => return self.sidecar_failed(index, fx),
            Ok(()) => {}
        }
        match disk.sidecar.written(is_marking) {
            Written::Nothing => return,
            Written::Half => return self.put_sidecar(index, fx),
            Written::All => {}
        }
        disk.sidecar_is_durable();
        if disk.sidecar.is_applying() {
            disk.destager.batch().into_iter().for_each(Batch::may_write);
        }
        self.start_log_later(index);
        self.marked(index, fx);
        self.uncached_marked(index, fx);
    }

    /// Schedules a retry of the failed write.
    fn sidecar_failed(&mut self, index: u16, fx: &mut Fx) {
        if self.disk(index).is_marking() {
            return self.let_go_of(index, fx);
        }
        self.disk(index).sidecar.fail();
        self.batch_may_not_write(index);
        self.backing_failed(index, fx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{ADDRESS_BYTES, FINGERPRINT_BYTES, Identity};

    fn writer(state: SidecarState) -> SidecarWriter {
        SidecarWriter::new(Sidecar {
            disk: [3; 16],
            generation: 4,
            seq: 20,
            owner: [1; 16],
            boot: [2; 16],
            state,
            mode: 1,
            applied: 0,
            holders: Vec::new(),
            log_generation: 0,
            key: 0,
            stays: false,
            fingerprint: [0; FINGERPRINT_BYTES],
            backing: Identity::default(),
            place: Identity::default(),
            opening: 7,
            superblock: 9,
            log_durable: 30,
            log_retired: 10,
        })
    }

    #[test]
    fn new_word_counts_when_both_copies_say_it() {
        let mut sidecar = writer(SidecarState::Clean);
        sidecar.begin(SidecarState::Dirty, 1, Vec::new());
        let (first, _) = sidecar.put(9, 30, 12).expect("a copy is being written");
        assert_eq!(sidecar.written(false), Written::Half);
        assert_eq!((sidecar.word().state, sidecar.retired()), (SidecarState::Clean, 10));
        let (second, _) = sidecar.put(11, 40, 20).expect("so is the other");
        assert_ne!(first, second, "each has its own place");
        assert_eq!(sidecar.written(false), Written::All);
        assert_eq!((sidecar.word().state, sidecar.word().seq), (SidecarState::Dirty, 22));
        assert_eq!(sidecar.retired(), 12, "both copies say what the first did");
        assert_eq!(sidecar.written(false), Written::Nothing);
    }

    #[test]
    fn holder_counts_when_both_copies_name_it() {
        let mut sidecar = writer(SidecarState::Dirty);
        let holder = Holder { host: [9; 16], address: [0; ADDRESS_BYTES] };
        sidecar.begin(SidecarState::Dirty, 1, vec![holder.clone()]);
        assert_eq!(sidecar.written(false), Written::Half);
        assert_eq!(sidecar.word().holders, []);
        assert_eq!(sidecar.written(false), Written::All);
        assert_eq!(sidecar.word().holders, [holder]);
    }

    #[test]
    fn retired_groups_count_when_the_older_copy_calls_them_so() {
        let mut sidecar = writer(SidecarState::Dirty);
        for (said, retired) in [(12, 10), (15, 12)] {
            sidecar.begin(SidecarState::Dirty, 1, Vec::new());
            sidecar.put(9, 30, said);
            assert_eq!(sidecar.written(false), Written::All, "one copy is enough");
            assert_eq!(sidecar.retired(), retired);
        }
    }

    #[test]
    fn number_of_a_copy_that_failed_is_not_used_again() {
        let mut sidecar = writer(SidecarState::Dirty);
        let before = sidecar.begin(SidecarState::Clean, 1, Vec::new());
        sidecar.fail();
        assert_eq!((sidecar.is_writing(), sidecar.word().seq), (false, 22));
        sidecar.raise_generation();
        assert!(!sidecar.is_confirmed());
        assert_eq!(sidecar.begin(SidecarState::Clean, 1, Vec::new()), before, "it is asked for");
        assert_eq!((sidecar.written(false), sidecar.is_confirmed()), (Written::Half, false));
        assert_eq!((sidecar.written(false), sidecar.is_confirmed()), (Written::All, true));
    }
}
