use sim::plant::{PlantDisk, PlantInstance};
use state_machine::{DiskId, IoRequest, KindId, Operation, Pattern, Token};
use units::{Bytes, Nanos};

/// Unit of allocation, equal to the unit of the plant's layout.
pub const PIECE: u64 = 1 << 20;
/// Minimum size of a slot: the size of a virtual disk of `--quick` for a disk of 32 GiB. Our
/// choice.
const SLOT_MIN: u64 = 64 << 20;
/// Maximum number of slots. Our choice: as many virtual disks as large tiles have on a large array.
const SLOTS_MAX: u64 = 1024;
const SECTOR: u64 = 512;
const NOWHERE: u32 = u32::MAX;

/// Addresses of the array, allocated to files piece by piece.
#[derive(Debug)]
pub struct Space {
    pieces_per_slot: u32,
    /// Free pieces of each slot, lowest last.
    free: Vec<Vec<u32>>,
    free_count: u64,
    next_home: usize,
}

/// Addresses of a file's bytes.
#[derive(Debug, Default)]
pub struct Map {
    home: Option<usize>,
    pieces: Vec<u32>,
    held: u64,
}

/// Error for too little space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Space {
    /// Creates a space of at most this size, in whole slots, at least one.
    pub fn new(size: Bytes) -> Self {
        let slot = (size.get() / SLOTS_MAX).next_multiple_of(PIECE).max(SLOT_MIN);
        let pieces_per_slot = u32::try_from(slot / PIECE).expect("a slot is below 2^52 B");
        let slots = u32::try_from(size.get() / slot).unwrap_or(0).max(1);
        let pieces = |slot: u32| {
            let first = slot * pieces_per_slot;
            (first..first + pieces_per_slot).rev().collect()
        };
        let free = (0..slots).map(pieces).collect();
        let free_count = u64::from(slots) * u64::from(pieces_per_slot);
        Self { pieces_per_slot, free, free_count, next_home: 0 }
    }

    /// Returns the size of the space.
    pub fn size(&self) -> Bytes {
        self.slot_size() * self.free.len() as u64
    }

    /// Returns the number of free bytes.
    pub fn free(&self) -> Bytes {
        Bytes::new(self.free_count * PIECE)
    }

    fn slot_size(&self) -> Bytes {
        Bytes::new(u64::from(self.pieces_per_slot) * PIECE)
    }

    /// Returns the slots, each as a virtual machine with one disk. If every tile has its own pool,
    /// all slots belong to one tile. Otherwise each belongs to its own tile, so that placement
    /// rules for tiles distribute them.
    pub fn instances(&self, is_one_tile: bool) -> Vec<PlantInstance> {
        let size = self.slot_size();
        let instance = |slot: usize| PlantInstance {
            tile: if is_one_tile { 0 } else { u32::try_from(slot).unwrap_or(0) },
            vcpus: vec![1],
            vms: Vec::new(),
            copy_kinds: Vec::new(),
            disks: vec![PlantDisk {
                name: String::from("slot"),
                workload: String::from("lab"),
                role: spec::workload::Role::Data,
                size,
                vm: 0,
                pool: None,
            }],
        };
        (0..self.free.len()).map(instance).collect()
    }

    /// Allocates missing addresses of a range. Nothing changes if there is too little space, or the
    /// range ends beyond the size of the space.
    pub fn ensure(&mut self, map: &mut Map, offset: u64, length: u64) -> Result<(), Full> {
        if length == 0 {
            return Ok(());
        }
        let end = offset.checked_add(length).filter(|end| *end <= self.size().get()).ok_or(Full)?;
        let (first, last) = (offset / PIECE, (end - 1) / PIECE);
        let has = |piece: u64| map.at(piece).is_some();
        let needed = (first..=last).filter(|piece| !has(*piece)).count() as u64;
        if needed > self.free_count {
            return Err(Full);
        }
        let last = usize::try_from(last).map_err(|_| Full)?;
        let is_small = map.home.is_none() && last == 0;
        if map.pieces.len() <= last {
            map.pieces.resize(last + 1, NOWHERE);
        }
        for piece in usize::try_from(first).map_err(|_| Full)?..=last {
            if map.pieces[piece] == NOWHERE {
                map.pieces[piece] =
                    if is_small { self.take_last() } else { self.take(&mut map.home) };
                map.held += 1;
            }
        }
        Ok(())
    }

    /// Takes a free piece of the last slot that has any. Small state files of a program go there,
    /// so that its virtual disks lie as close together as in a plant.
    fn take_last(&mut self) -> u32 {
        let has_any = |free: &Vec<u32>| !free.is_empty();
        self.take(&mut self.free.iter().rposition(has_any))
    }

    /// Takes a free piece of the file's slot, or of the next slot that has any, which becomes the
    /// file's slot.
    fn take(&mut self, home: &mut Option<usize>) -> u32 {
        let slots = self.free.len();
        let mut slot = *home.get_or_insert_with(|| {
            let slot = self.next_home;
            self.next_home = (slot + 1) % slots;
            slot
        });
        while self.free[slot].is_empty() {
            slot = (slot + 1) % slots;
        }
        *home = Some(slot);
        self.free_count -= 1;
        self.free[slot].pop().expect("the slot has a free piece")
    }

    /// Frees all pieces that lie completely at or beyond an offset.
    pub fn cut(&mut self, map: &mut Map, offset: u64) {
        let kept = usize::try_from(offset.div_ceil(PIECE)).unwrap_or(usize::MAX);
        let gone = map.pieces.split_off(kept.min(map.pieces.len()));
        for piece in gone.into_iter().rev().filter(|piece| *piece != NOWHERE) {
            self.free[(piece / self.pieces_per_slot) as usize].push(piece);
            self.free_count += 1;
            map.held -= 1;
        }
    }

    /// Returns the model's requests for a range of a file: slot and request, in order. Sectors are
    /// whole; holes are left out.
    pub fn parts(
        &self,
        map: &Map,
        operation: Operation,
        (offset, length): (u64, u64),
    ) -> Vec<(usize, IoRequest)> {
        if operation == Operation::Flush {
            let first = map.pieces.iter().find(|piece| **piece != NOWHERE);
            let slot = first.map_or(0, |piece| (piece / self.pieces_per_slot) as usize);
            return vec![(slot, request(operation, 0, 0))];
        }
        let mut parts: Vec<(usize, IoRequest)> = Vec::new();
        let end = (offset + length).next_multiple_of(SECTOR);
        let mut at = offset - offset % SECTOR;
        while at < end && length > 0 {
            let step = (PIECE - at % PIECE).min(end - at);
            if let Some(piece) = map.at(at / PIECE) {
                let slot = (piece / self.pieces_per_slot) as usize;
                let base = u64::from(piece % self.pieces_per_slot) * PIECE + at % PIECE;
                let step = u32::try_from(step).expect("at most a piece");
                match parts.last_mut() {
                    Some((same, last))
                        if *same == slot && last.offset + u64::from(last.length) == base =>
                    {
                        last.length += step;
                    }
                    _ => parts.push((slot, request(operation, base, step))),
                }
            }
            at += step;
        }
        parts
    }
}

impl Map {
    fn at(&self, piece: u64) -> Option<u32> {
        let piece = usize::try_from(piece).ok()?;
        self.pieces.get(piece).copied().filter(|piece| *piece != NOWHERE)
    }

    /// Returns the number of bytes with addresses.
    pub fn held(&self) -> u64 {
        self.held * PIECE
    }
}

fn request(operation: Operation, offset: u64, length: u32) -> IoRequest {
    IoRequest {
        token: Token(0),
        disk: DiskId(0),
        operation,
        kind: KindId(0),
        offset,
        length,
        due: Nanos::ZERO,
        pattern: Pattern::default(),
        durable: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(mib: u64) -> Space {
        Space::new(Bytes::MIB * mib)
    }

    #[test]
    fn files_begin_in_slots_of_their_own_and_lie_together() {
        let mut space = space(256);
        let (mut a, mut b) = (Map::default(), Map::default());
        space.ensure(&mut a, 0, 3 * PIECE).expect("room");
        space.ensure(&mut b, 0, 2 * PIECE).expect("room");
        let parts = space.parts(&a, Operation::Read, (PIECE / 2, PIECE));
        assert_eq!(parts.len(), 1, "two pieces that touch are one request: {parts:?}");
        assert_eq!((parts[0].0, parts[0].1.offset), (0, PIECE / 2));
        assert_eq!(space.parts(&b, Operation::Write, (1, 1))[0].0, 1);
        assert_eq!(space.parts(&b, Operation::Write, (1, 1))[0].1.length, 512);
    }

    /// A run stores a small file beside each of its disks. Before this rule, the disks were twice
    /// as far apart as in the simulated array, and 40 tiles passed instead of 43.
    #[test]
    fn notes_of_less_than_a_piece_do_not_drive_disks_apart() {
        let mut space = space(256);
        for slot in 0..3 {
            let (mut disk, mut note) = (Map::default(), Map::default());
            space.ensure(&mut disk, 0, 2 * PIECE).expect("room");
            space.ensure(&mut note, 0, 200).expect("room");
            assert_eq!(space.parts(&disk, Operation::Read, (0, 512))[0].0, slot);
            assert_eq!(space.parts(&note, Operation::Flush, (0, 0))[0].0, 3);
        }
    }

    #[test]
    fn what_grows_beyond_a_piece_goes_on_in_a_slot_of_its_own() {
        let (mut space, mut file) = (space(256), Map::default());
        space.ensure(&mut file, 0, 1).expect("room");
        space.ensure(&mut file, 0, 3 * PIECE).expect("room");
        let parts = space.parts(&file, Operation::Read, (0, 3 * PIECE));
        assert_eq!(parts.iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), [3, 0]);
    }

    #[test]
    fn a_hole_asks_nothing_of_the_array() {
        let mut space = space(64);
        let mut map = Map::default();
        space.ensure(&mut map, 2 * PIECE, 1).expect("room");
        assert_eq!(space.parts(&map, Operation::Read, (0, 2 * PIECE)), []);
        assert_eq!(space.parts(&map, Operation::Read, (PIECE, 2 * PIECE)).len(), 1);
    }

    #[test]
    fn failed_allocation_changes_nothing_and_truncation_frees_space() {
        let mut space = space(64);
        let mut map = Map::default();
        assert_eq!(space.ensure(&mut map, 0, 65 * PIECE), Err(Full));
        assert_eq!(space.ensure(&mut map, u64::MAX - 1, 5), Err(Full));
        assert_eq!(space.ensure(&mut map, 1 << 60, 1), Err(Full), "no list of 2^40 pieces is made");
        assert_eq!(space.free(), Bytes::MIB * 64);
        space.ensure(&mut map, 0, 64 * PIECE).expect("room");
        assert_eq!(space.free(), Bytes::ZERO);
        space.cut(&mut map, PIECE + 1);
        assert_eq!((space.free(), map.held()), (Bytes::MIB * 62, 2 * PIECE));
    }

    #[test]
    fn a_file_larger_than_a_slot_goes_on_in_the_next() {
        let mut space = space(192);
        let mut map = Map::default();
        space.ensure(&mut map, 0, 65 * PIECE).expect("room");
        let parts = space.parts(&map, Operation::Read, (63 * PIECE, 2 * PIECE));
        let slots: Vec<usize> = parts.iter().map(|(slot, _)| *slot).collect();
        assert_eq!(slots, [0, 1]);
    }
}
