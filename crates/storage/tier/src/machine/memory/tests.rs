use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const UNIT: u64 = UNIT_BLOCKS as u64;
const UNIT_CELLS: u64 = UNIT * BLOCK_CELLS as u64;

/// The memory and a driver of it, whose blocks are numbers.
struct Driven {
    memory: Memory,
    cells: u64,
    taken: u64,
    next: u32,
    /// Number of cells and their content, by first cell.
    kept: BTreeMap<u32, (u8, u64)>,
}

impl Driven {
    fn new(cells: u64, kind: PolicyKind) -> Self {
        let memory = Memory::new(cells * u64::from(CELL_BYTES), kind);
        Self { memory, cells, taken: 0, next: 0, kept: BTreeMap::new() }
    }

    fn carry_out(&mut self, fx: Fx) {
        for effect in fx {
            let Effect::Forget(kept) = effect else { panic!("it asks for nothing else") };
            let (cells, _) = self.kept.remove(&kept.first).expect("it is there");
            assert_eq!(cells, kept.cells);
            self.taken -= u64::from(cells);
        }
    }

    /// Content of a kept block.
    fn find(&self, disk: u16, block: u64) -> Option<u64> {
        let kept = self.memory.find(disk, block)?;
        let (cells, content) = self.kept[&kept.first];
        assert_eq!(cells, kept.cells);
        Some(content)
    }

    fn open(&mut self, disk: u16, block: u64) -> Option<Opened> {
        let mut fx = Vec::new();
        let opened = self.memory.open(disk, block, &mut fx);
        self.carry_out(fx);
        opened
    }

    /// A read that was accepted ends with this content.
    fn end(&mut self, opened: Opened, block: u64, content: u64, cells: u8) {
        let mut fx = Vec::new();
        let is_admitted = self.memory.admit(opened, block, &mut fx);
        self.carry_out(fx);
        if !is_admitted {
            return;
        }
        assert!(self.taken + u64::from(BLOCK_CELLS) <= self.cells, "there is room for it as it is");
        self.next += 1;
        self.taken += u64::from(cells);
        self.kept.insert(self.next, (cells, content));
        let mut fx = Vec::new();
        self.memory.kept(opened, block, MemoryCells { first: self.next, cells }, &mut fx);
        self.carry_out(fx);
    }

    /// A read from its beginning to its end. Whether the block was in.
    fn read(&mut self, disk: u16, block: u64, content: u64, cells: u8) -> bool {
        self.memory.touch(disk, block..block + 1);
        if let Some(found) = self.find(disk, block) {
            assert_eq!(found, content, "block {block} of disk {disk}");
            return true;
        }
        if let Some(opened) = self.open(disk, block) {
            self.end(opened, block, content, cells);
        }
        false
    }

    fn write(&mut self, disk: u16, blocks: Range<u64>) {
        let mut fx = Vec::new();
        self.memory.written(disk, blocks, &mut fx);
        self.carry_out(fx);
    }

    fn check(&self) {
        let status = self.memory.status(None);
        assert_eq!(status.taken_bytes, self.taken * u64::from(CELL_BYTES));
        assert_eq!(status.held_bytes, self.kept.len() as u64 * 4096);
        assert!(self.taken <= self.cells, "{} cells of {}", self.taken, self.cells);
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// A read is accepted and ends so many steps later, with so many cells.
    Read(u16, u64, usize, u8),
    Write(u16, u64, u64),
    Share(u16, u8),
    Policy(PolicyKind),
}

fn step() -> impl Strategy<Value = Step> {
    let (disk, block) = (0_u16..2, 0_u64..48);
    let kinds = prop::sample::select(PolicyKind::ALL.to_vec());
    prop_oneof![
        20 => (disk.clone(), block.clone(), 0_usize..6, 1_u8..=BLOCK_CELLS)
            .prop_map(|(disk, block, later, cells)| Step::Read(disk, block, later, cells)),
        6 => (disk.clone(), block, 1_u64..9).prop_map(|(disk, at, count)| Step::Write(disk, at, count)),
        1 => (disk, 0_u8..=100).prop_map(|(disk, share)| Step::Share(disk, share)),
        1 => kinds.prop_map(Step::Policy),
    ]
}

proptest! {
    #[test]
    fn what_is_found_in_memory_is_what_a_plain_map_says(
        steps in prop::collection::vec(step(), 1..400),
        cells in 8_u64..400,
        kind in prop::sample::select(PolicyKind::ALL.to_vec()),
    ) {
        let mut driven = Driven::new(cells, kind);
        // Content of each block; and accepted reads, with their end and the content that they saw.
        let mut flat: BTreeMap<(u16, u64), u64> = BTreeMap::new();
        let mut reads: Vec<(usize, Opened, u64, u64, u8)> = Vec::new();
        for (now, step) in steps.into_iter().enumerate() {
            match step {
                Step::Read(disk, block, later, cells) => {
                    let content = flat.get(&(disk, block)).copied().unwrap_or(0);
                    driven.memory.touch(disk, block..block + 1);
                    if let Some(found) = driven.find(disk, block) {
                        prop_assert_eq!(found, content);
                    } else if let Some(opened) = driven.open(disk, block) {
                        reads.push((now + later, opened, block, content, cells));
                    }
                }
                Step::Write(disk, at, count) => {
                    flat.extend((at..at + count).map(|block| ((disk, block), now as u64)));
                    driven.write(disk, at..at + count);
                }
                Step::Share(disk, percent) => driven.memory.set_share(disk, percent),
                Step::Policy(kind) => driven.memory.set_policy(kind),
            }
            for (_, opened, block, content, cells) in reads.extract_if(.., |read| read.0 <= now) {
                driven.end(opened, block, content, cells);
            }
            driven.check();
        }
        for ((disk, block), content) in flat {
            prop_assert!(driven.find(disk, block).is_none_or(|found| found == content));
        }
    }
}

/// Half of the reads on a tenth of the units.
fn trace() -> impl Iterator<Item = u64> {
    let mut state = 9_u64;
    let mut below = move |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    (0..60_000).map(move |_| if below(2) == 0 { below(400) } else { below(4000) })
}

#[test]
fn uncompressed_units_hit_exactly_as_their_policy() {
    for kind in PolicyKind::ALL {
        let mut driven = Driven::new(600 * UNIT_CELLS, kind);
        let mut policy = kind.build(600);
        let (mut hits, mut expected) = (0, 0);
        for unit in trace() {
            expected += u32::from(policy.reference(page_id(unit)).is_hit());
            driven.memory.touch(0, unit * UNIT..(unit + 1) * UNIT);
            let is_in = driven.find(0, unit * UNIT).is_some();
            hits += u32::from(is_in);
            if !is_in {
                for block in unit * UNIT..(unit + 1) * UNIT {
                    let opened = driven.open(0, block).expect("it may have all");
                    driven.end(opened, block, block, BLOCK_CELLS);
                }
            }
        }
        assert_eq!(hits, expected, "{kind}");
        assert!(hits > 10_000, "{kind}: {hits}");
    }
}

#[test]
fn memory_fills_and_hits_like_a_cache_of_its_compressed_size() {
    // A policy that was made anew knows of its units when they were used last and no more: of all, w-tinylfu loses most by it.
    // A block of each unit, of 1 to 8 cells, which change halfway: what fits is another number of them then.
    for kind in PolicyKind::ALL {
        let mut driven = Driven::new(4096, kind);
        let (mut hits, mut expected, mut asked) = (0_u32, 0_u32, 0_u32);
        let mut policy = kind.build(1);
        for (turn, unit) in trace().enumerate() {
            let (block, is_late) = (unit * UNIT, turn > 30_000);
            let cells = if is_late { 8 } else { u8::try_from(1 + unit % 3).expect("few") };
            if turn % 30_000 == 15_000 {
                // By now it is full: as many pages as there are blocks in.
                let blocks = driven.memory.status(None).held_bytes / 4096;
                policy = kind.build(usize::try_from(blocks).expect("few"));
                assert!(driven.taken > 4096 * 85 / 100, "{kind}: {} cells are taken", driven.taken);
                if is_late {
                    assert!(blocks >= 435, "{kind}: {blocks} blocks, most of 8 cells");
                }
            }
            if is_late && turn < 45_000 || turn < 15_000 {
                driven.read(0, block, block, cells);
                continue;
            }
            let is_warm = (turn % 15_000) > 5_000;
            let would = policy.reference(page_id(unit)).is_hit();
            let is_hit = driven.read(0, block, block, cells);
            if is_warm {
                asked += 1;
                hits += u32::from(is_hit);
                expected += u32::from(would);
            }
        }
        let (hits, expected) =
            (f64::from(hits) / f64::from(asked), f64::from(expected) / f64::from(asked));
        eprintln!("{kind}: {hits:.4}, of as many pages {expected:.4}");
        assert!(hits > expected - 0.015, "{kind}: {hits:.4} and {expected:.4}");
    }
}

#[test]
fn a_disk_with_a_share_pollutes_itself_and_not_its_neighbour() {
    let mut driven = Driven::new(100 * UNIT_CELLS, PolicyKind::Lru);
    driven.memory.set_share(1, 20);
    let own = 200;
    (0..own).for_each(|block| assert!(!driven.read(0, block, block, 8)));
    (0..4000).for_each(|block| assert!(!driven.read(1, block, block, 8)));
    let held = driven.memory.status(Some(1)).held_bytes / 4096;
    assert!((70..=80).contains(&held), "a fifth of 400 blocks: {held}");
    assert!((0..own).all(|block| driven.read(0, block, block, 8)), "the neighbour's are all there");
    driven.memory.set_share(1, 0);
    (5000..5100).for_each(|block| assert!(!driven.read(1, block, block, 8)));
    assert!(driven.find(1, 5050).is_none(), "nothing comes in any more");
}

#[test]
fn given_up_disk_has_nothing_in_memory_and_others_all() {
    let mut driven = Driven::new(3 * SHARD_CELLS, PolicyKind::Lru);
    (0..3000).for_each(|block| assert!(!driven.read(0, block, block, 8)));
    (0..3000).for_each(|block| assert!(!driven.read(1, block, block, 8)));
    let mut steps = 0;
    loop {
        let mut fx = Vec::new();
        let is_left = driven.memory.give_up(1, 100, &mut fx);
        driven.carry_out(fx);
        driven.check();
        steps += 1;
        if !is_left {
            break;
        }
    }
    assert_eq!(steps, 3000_usize.div_ceil(400), "a hundred units of four blocks at a time");
    assert_eq!(driven.memory.status(Some(1)).held_bytes, 0);
    assert!((0..3000).all(|block| driven.find(1, block).is_none()));
    assert!((0..3000).all(|block| driven.read(0, block, block, 8)));
}

#[test]
fn a_large_memory_is_in_parts_and_all_of_it_is_used() {
    let cells = 3 * SHARD_CELLS + 5;
    let mut driven = Driven::new(cells, PolicyKind::Lru);
    assert_eq!(driven.memory.shards.len(), 4);
    (0..cells / 8).for_each(|block| assert!(!driven.read(0, block, block, 8)));
    assert!(driven.taken > cells * 95 / 100, "{} of {cells} cells", driven.taken);
    driven.check();
}

/// `cargo test --release -p tilemark-tier -- --ignored --nocapture what_a_unit_costs`: the numbers of
/// `docs/developers/adr/0022-memory-tier.md`, with other lengths of a unit.
#[test]
#[ignore = "tells numbers"]
fn what_a_unit_costs() {
    let blocks = 1 << 18;
    for (what, stride) in [("dense", 1), ("sparse", 16)] {
        let mut driven = Driven::new(8 * blocks, PolicyKind::Lru);
        (0..blocks).for_each(|block| assert!(!driven.read(0, block * stride, 0, 8)));
        let status = driven.memory.status(None);
        let held = status.held_bytes / 4096;
        let begin = std::time::Instant::now();
        let mut found = 0;
        for turn in 0..4 * blocks {
            let block = turn.wrapping_mul(0x9e37_79b9) % blocks * stride;
            driven.memory.touch(0, block..block + 1);
            found += u64::from(driven.memory.find(0, block).is_some());
        }
        let each = begin.elapsed().as_nanos() / u128::from(4 * blocks);
        eprintln!(
            "{what}: {held} blocks, {} bytes known of each, {each} ns a look, {found} found",
            status.known_by_bytes / held
        );
    }
}
