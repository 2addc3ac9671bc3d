use super::io::Io;
use super::{Fx, Tier};
use crate::event::{Effect, IoTarget, Note, Piece};
use crate::format::{BLOCK, SetState, SlotEntry, TABLE_ENTRIES, encode_table, table_number};

/// Number of table blocks that are written at once.
const BLOCKS: u64 = 64;

/// Checkpoint in progress. When its table and its superblock are durable, the earlier part of the
/// pool's log is free.
#[derive(Debug, Clone, Default)]
pub(super) struct Checkpoint {
    phase: Phase,
    /// Number of the table.
    number: u64,
    /// Next block of the table.
    block: u64,
    /// Start of the pool's log after the checkpoint: chunk and first group.
    start: (u32, u64),
    state: Option<SetState>,
    /// True to write only the superblock, because the list of disks changed. Table and start stay.
    is_bare: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Idle,
    /// Blocks of the table are being written.
    Table,
    /// The table is written. Groups of the pool before the new start may not be accepted yet; no
    /// reader will need them after the checkpoint.
    TableDone,
    /// Table and these groups are being made durable.
    TableFlush,
    Superblock,
    SuperblockFlush,
}

impl Tier {
    pub(super) fn is_checkpoint_idle(&self) -> bool {
        self.checkpoint.phase == Phase::Idle
    }

    /// Begins a checkpoint if the pool's log takes more than one chunk, or if the list of disks
    /// changed.
    pub(super) fn pump_checkpoint(&mut self, fx: &mut Fx) {
        if !self.is_failed && self.is_checkpoint_idle() && self.pool.log.chunks().len() > 1 {
            self.begin_checkpoint(SetState::Open, fx);
        }
        if !self.is_failed && self.is_checkpoint_idle() && self.is_roster_new() {
            self.checkpoint = Checkpoint { is_bare: true, ..Checkpoint::default() };
            self.write_superblock(fx);
        }
        // Groups before the start are not read any more once the superblock counts, so they must be
        // written before the flush.
        let is_accepted = self.pool.log.ends().accepted + 1 >= self.checkpoint.start.1;
        if self.checkpoint.phase == Phase::TableDone && is_accepted {
            self.checkpoint.phase = Phase::TableFlush;
            self.flusher.want_for_checkpoint();
        }
    }

    pub(super) fn begin_checkpoint(&mut self, state: SetState, fx: &mut Fx) {
        let last = self.pool.log.chunks().back().expect("the pool's log has a chunk");
        let start = (last.chunk, last.first);
        let (phase, state) = (Phase::Table, Some(state));
        self.tables += 1;
        let number = table_number(self.opening, self.tables);
        self.checkpoint = Checkpoint { phase, number, start, state, ..Checkpoint::default() };
        self.table_step(fx);
    }

    /// Returns the address of the table that is not valid now.
    fn next_table(&self) -> u64 {
        let [a, b] = self.geometry.tables_at();
        if self.roster.superblock().table_at == a { b } else { a }
    }

    fn table_step(&mut self, fx: &mut Fx) {
        let (first, end) = (self.checkpoint.block, self.geometry.table_blocks());
        if first >= end {
            self.checkpoint.phase = Phase::TableDone;
            return;
        }
        let count = BLOCKS.min(end - first);
        let number = self.checkpoint.number;
        let mut bytes = Vec::new();
        for index in first..first + count {
            let slots = self.table_slots(index);
            bytes.extend_from_slice(&encode_table(number, index, &slots)[..]);
        }
        self.checkpoint.block += count;
        let io = self.start_io(Io::Table);
        let at = self.next_table() + first * BLOCK;
        fx.push(Effect::write(io, IoTarget::Cache, at, vec![Piece::Bytes(bytes.into())]));
    }

    /// Returns the table entries for the slots of a table block. These entries may become durable
    /// soon, like a map.
    fn table_slots(&mut self, index: u64) -> Vec<Option<SlotEntry>> {
        let first = index * TABLE_ENTRIES as u64;
        let end = (first + TABLE_ENTRIES as u64).min(self.geometry.slots().into());
        (first..end)
            .map(|slot| {
                let slot = u32::try_from(slot).unwrap_or(u32::MAX);
                let key = self.pages.key(slot)?;
                let disk = self.disks[usize::from(key.disk)].as_ref()?;
                let (flushed, log_seq, tag) = (disk.flushed, disk.true_to(), disk.entry.tag());
                let valid = self.pages.mappable(slot, flushed)?;
                self.pages.map_begun(slot, valid);
                (valid != 0).then(|| SlotEntry {
                    page: key.page,
                    disk: key.disk,
                    valid,
                    age: self.pages.used(slot),
                    tag,
                    log_seq,
                    sums: self.pages.sums(slot),
                })
            })
            .collect()
    }

    pub(super) fn table_written(&mut self, is_ok: bool, fx: &mut Fx) {
        if is_ok { self.table_step(fx) } else { self.fail(fx) }
    }

    /// Continues after a flush that began after the last write of the checkpoint.
    pub(super) fn checkpoint_flushed(&mut self, fx: &mut Fx) {
        match self.checkpoint.phase {
            Phase::TableFlush => self.write_superblock(fx),
            Phase::SuperblockFlush if self.roster.written() => self.checkpoint_done(fx),
            Phase::SuperblockFlush => self.put_superblock(fx),
            Phase::Idle | Phase::Table | Phase::TableDone | Phase::Superblock => {}
        }
    }

    fn write_superblock(&mut self, fx: &mut Fx) {
        if !self.checkpoint.is_bare {
            let table_at = self.next_table();
            self.roster.set_table(table_at, self.checkpoint.number, self.checkpoint.start);
        }
        let state = self.checkpoint.state.unwrap_or(SetState::Open);
        self.roster.begin(self.pool.log.ends().durable, state);
        for (index, disk) in (0..).zip(&self.disks) {
            if let Some(disk) = disk.as_ref().filter(|disk| disk.is_listed()) {
                self.roster.list(index, disk.entry.clone());
            }
        }
        self.put_superblock(fx);
    }

    fn put_superblock(&mut self, fx: &mut Fx) {
        self.checkpoint.phase = Phase::Superblock;
        let io = self.start_io(Io::Superblock);
        let (at, copy) = self.roster.put();
        fx.push(Effect::write(io, IoTarget::Cache, at, vec![copy]));
    }

    pub(super) fn superblock_written(&mut self, is_ok: bool, fx: &mut Fx) {
        if !is_ok {
            return self.fail(fx);
        }
        self.checkpoint.phase = Phase::SuperblockFlush;
        self.flusher.want_for_checkpoint();
    }

    fn checkpoint_done(&mut self, fx: &mut Fx) {
        self.checkpoint.phase = Phase::Idle;
        self.roster_written(fx);
        let (_, seq) = self.checkpoint.start;
        for chunk in self.pool.log.drop_before(seq) {
            self.chunks.release(chunk);
        }
        if self.checkpoint.state == Some(SetState::Clean) {
            self.is_closed = true;
            fx.push(Effect::Note(Note::Closed));
        }
    }
}
