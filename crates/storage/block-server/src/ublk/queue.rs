//! State of a device's requests by tag. A tag belongs to the kernel until a request arrives, and
//! returns to the kernel with the answer.

use nbd::{Abilities, Code, Export, Operation};

use super::abi::{
    DEPTH, DISCARD, Descriptor, FLUSH, FUA, NO_UNMAP, READ, SECTOR, WRITE, WRITE_ZEROES,
};

/// Request to submit to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// The kernel has the tag, for its next request.
    Fetching,
    /// A request arrived and is not decoded yet.
    Came,
    /// The request was submitted to the disk and is not completed.
    Asked(Ask),
    /// The kernel sends no more requests with the tag.
    Over,
}

/// States of a device's tags.
#[derive(Debug)]
pub(super) struct Queue {
    tags: Vec<Tag>,
    size: u64,
    block: u64,
    /// Maximum length of a request, in bytes.
    most: u64,
    abilities: Abilities,
}

impl Queue {
    /// Creates the state in which the kernel has all tags.
    pub fn new(export: &Export) -> Self {
        Self {
            tags: vec![Tag::Fetching; usize::from(DEPTH)],
            size: export.size(),
            block: u64::from(export.blocks().minimum()).max(SECTOR),
            most: export.blocks().maximum().into(),
            abilities: export.abilities(),
        }
    }

    /// Records that a tag's command has ended. Returns true if a request arrived, false if the
    /// kernel took the tag back.
    pub fn came(&mut self, tag: u16, result: i32) -> bool {
        let place = &mut self.tags[usize::from(tag)];
        assert_eq!(*place, Tag::Fetching, "the kernel has this tag");
        *place = if result == 0 { Tag::Came } else { Tag::Over };
        result == 0
    }

    /// Decodes the request of a tag. If the request cannot be served, returns the kernel's error
    /// number for the answer.
    pub fn take(&mut self, tag: u16, wanted: Descriptor) -> Result<Ask, i32> {
        let place = usize::from(tag);
        assert_eq!(self.tags[place], Tag::Came, "a request is taken once");
        let ask = self.understand(wanted);
        self.tags[place] = ask.map_or(Tag::Fetching, Tag::Asked);
        ask.map_err(result)
    }

    /// Returns the request that the disk has answered; its tag goes back to the kernel.
    pub fn answered(&mut self, tag: u16) -> Ask {
        let place = std::mem::replace(&mut self.tags[usize::from(tag)], Tag::Fetching);
        let Tag::Asked(ask) = place else { panic!("an answer belongs to a taken request") };
        ask
    }

    /// Returns true if no disk works on a request.
    pub fn is_idle(&self) -> bool {
        !self.tags.iter().any(|tag| matches!(tag, Tag::Asked(_)))
    }

    /// Returns true if the kernel has taken all tags back.
    pub fn is_over(&self) -> bool {
        self.tags.iter().all(|tag| *tag == Tag::Over)
    }

    fn understand(&self, wanted: Descriptor) -> Result<Ask, Code> {
        let has = |flag| wanted.op_flags & flag != 0;
        let fua = has(FUA);
        let (operation, needs) = match wanted.op_flags & 0xff {
            READ => (Operation::Read, Abilities::NONE),
            WRITE => (Operation::Write { fua }, Abilities::NONE),
            FLUSH => return Ok(Ask { operation: Operation::Flush, offset: 0, length: 0 }),
            DISCARD => (Operation::Trim { fua }, Abilities::TRIM),
            WRITE_ZEROES => {
                let no_hole = has(NO_UNMAP);
                (Operation::WriteZeroes { fua, no_hole, fast: false }, Abilities::WRITE_ZEROES)
            }
            _ => return Err(Code::NotSupported),
        };
        if !self.abilities.has(needs) {
            return Err(Code::NotSupported);
        }
        if operation.changes() && self.abilities.has(Abilities::READ_ONLY) {
            return Err(Code::NotPermitted);
        }
        let bytes = u64::from(wanted.sectors) * SECTOR;
        let offset = wanted.first.checked_mul(SECTOR).ok_or(Code::Invalid)?;
        let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= self.size);
        let fits = offset.is_multiple_of(self.block) && bytes.is_multiple_of(self.block);
        if bytes == 0 || bytes > self.most || !is_inside || !fits {
            return Err(Code::Invalid);
        }
        let length = u32::try_from(bytes).map_err(|_| Code::Invalid)?;
        Ok(Ask { operation, offset, length })
    }
}

/// Returns the negative error number for the kernel. NBD and Linux use the same numbers.
pub(super) fn result(code: Code) -> i32 {
    -i32::try_from(code.to_wire()).expect("error numbers are small")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn queue(abilities: Abilities) -> Queue {
        let blocks = nbd::BlockSizes::new(4096, 4096, 1 << 20).unwrap();
        Queue::new(&Export::new("d", 1 << 30, blocks, abilities).unwrap())
    }

    fn wants(op_flags: u32, first: u64, sectors: u32) -> Descriptor {
        Descriptor { op_flags, sectors, first, address: 0 }
    }

    /// Simulates a kernel that sends two requests with every tag, and then takes the tags back.
    #[test]
    fn tag_goes_round_until_the_kernel_takes_it_back() {
        let mut queue = queue(Abilities::FLUSH | Abilities::FUA);
        for round in 0..2 {
            for tag in 0..DEPTH {
                assert!(queue.came(tag, 0));
                let ask = queue.take(tag, wants(WRITE | FUA, 8 * u64::from(tag), 8)).unwrap();
                let offset = 4096 * u64::from(tag);
                assert_eq!(
                    ask,
                    Ask { operation: Operation::Write { fua: true }, offset, length: 4096 }
                );
            }
            assert!(!queue.is_idle(), "round {round}");
            for tag in (0..DEPTH).rev() {
                assert_eq!(queue.answered(tag).offset, 4096 * u64::from(tag));
            }
            assert!(queue.is_idle() && !queue.is_over());
        }
        for tag in 0..DEPTH {
            assert!(!queue.is_over());
            assert!(!queue.came(tag, -19), "ENODEV, UBLK_IO_RES_ABORT");
        }
        assert!(queue.is_over());
    }

    #[test]
    #[should_panic(expected = "a request is taken once")]
    fn request_that_did_not_arrive_panics() {
        let _ = queue(Abilities::NONE).take(0, wants(READ, 0, 8));
    }

    #[test]
    fn request_outside_the_disk_is_refused_and_its_tag_reused() {
        let mut queue = queue(Abilities::TRIM);
        for (wanted, errno) in [
            (wants(READ, 1 << 21, 8), 22),
            (wants(READ, (1 << 21) - 8, 16), 22),
            (wants(READ, u64::MAX, 8), 22),
            (wants(READ, 0, 0), 22),
            (wants(READ, 1, 8), 22),
            (wants(READ, 0, 1), 22),
            (wants(WRITE, 0, 4096), 22),
            (wants(WRITE_ZEROES, 0, 8), 95),
            (wants(15, 0, 8), 95),
        ] {
            assert!(queue.came(0, 0));
            assert_eq!(queue.take(0, wanted), Err(-errno), "{wanted:?}");
        }
        assert!(queue.came(0, 0));
        let ask = queue.take(0, wants(DISCARD, (1 << 21) - 8, 8)).unwrap();
        assert_eq!(ask.operation, Operation::Trim { fua: false });
    }

    #[test]
    fn read_only_disk_refuses_changes() {
        let mut queue = queue(Abilities::READ_ONLY | Abilities::TRIM | Abilities::WRITE_ZEROES);
        for kind in [WRITE, DISCARD, WRITE_ZEROES] {
            assert!(queue.came(1, 0));
            assert_eq!(queue.take(1, wants(kind, 0, 8)), Err(-1));
        }
        assert!(queue.came(1, 0));
        assert_eq!(queue.take(1, wants(READ, 0, 8)).unwrap().operation, Operation::Read);
    }
}
