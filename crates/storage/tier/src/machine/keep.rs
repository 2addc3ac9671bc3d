use super::disk::Stage;
use super::io::{Io, ReadPiece};
use super::memory::Opened;
use super::read::whole_blocks;
use super::{Fx, Tier};
use state_machine::IoId;

use crate::event::{Effect, MemoryCells};

impl Tier {
    /// Opens places in the memory tier for the blocks that a read will read whole. Blocks are
    /// admitted at their first read, because memory does not wear out.
    pub(super) fn open_memory<'a>(
        &mut self,
        disk: u16,
        parts: impl Iterator<Item = &'a ReadPiece>,
        fx: &mut Fx,
    ) -> Vec<Opened> {
        let mut opened: Vec<Opened> = Vec::new();
        let found = self.disk(disk);
        let is_welcome = found.populate && found.stage == Stage::Serving;
        if !is_welcome || !self.memory.is_on() {
            return opened;
        }
        for block in parts.flat_map(whole_blocks) {
            // A read beside a write of its block may see the old or the new bytes, but later reads
            // must see the new ones.
            if self.is_written_through(disk, block) {
                continue;
            }
            if !opened.last_mut().is_some_and(|last| last.add(disk, block)) {
                opened.extend(self.memory.open(disk, block, fx));
            }
        }
        opened
    }

    /// Stores blocks from a read's buffer in the memory tier, if they were opened and not written
    /// meanwhile.
    pub(super) fn keep(&mut self, read: u32, part: ReadPiece, fx: &mut Fx) {
        let found = &mut self.reads[read];
        let (disk, from, offset) = (found.disk, found.buf, found.offset);
        // Blocks of a disk that is being released would be found by the next disk with the same
        // index.
        if self.disk(disk).stage != Stage::Serving {
            return;
        }
        for block in whole_blocks(&part) {
            let opened = Opened::of(&self.reads[read].opened, disk, block);
            if let Some(opened) = opened
                && self.memory.admit(opened, block, fx)
            {
                let io = self.start_io(Io::Keep { opened, block });
                let at = u32::try_from(block * 4096 - offset).unwrap_or(u32::MAX);
                fx.push(Effect::Keep { io, from, at });
            }
        }
    }

    /// Records that a block is stored in the memory tier.
    pub(super) fn kept(&mut self, io: IoId, kept: MemoryCells, fx: &mut Fx) {
        let Io::Keep { opened, block } = self.ios.remove(io.0) else {
            panic!("the I/O stores a block in memory")
        };
        self.memory.kept(opened, block, kept, fx);
    }
}
