//! Blocks in memory: reads that they may and must not serve, and their eviction.

use faults::FaultKind;
use tilemark_tier::{Mode, Note, Op, Order};

use super::oracle::stamps;
use super::world::{Shape, World};

const THROUGH: Shape = Shape { disk_bytes: 512 << 10, mode: Mode::Through, depth: 8, copies: 0 };
const BACK: Shape = Shape { mode: Mode::Back, ..THROUGH };
/// Memory for the whole disk, whatever the compressed size of its blocks is.
const ALL: u64 = 1 << 20;

/// Reads and asserts that the answer came at once, without an I/O.
fn read_at_once(world: &mut World, offset: u64, bytes: u64) -> Vec<u64> {
    let request = world.request(Op::Read, offset, bytes, false);
    let id = u64::from(request.id.0);
    world.gather(request);
    let data = world.answers.remove(&id).expect("it was answered before anything else happened");
    stamps(&data)
}

fn held(world: &World) -> u64 {
    world.tier.memory().held_bytes
}

#[test]
fn reread_is_answered_from_memory_and_counted_apart() {
    for shape in [THROUGH, BACK] {
        let mut world = World::with_memory(1, shape, ALL);
        world.write(0, 64 << 10);
        world.order(Order::Drain { disk: 0 });
        world.settle_all();
        assert_eq!(held(&world), 0, "what is written does not come in");
        world.read(0, 16 << 10);
        assert_eq!(held(&world), 16 << 10, "what is read does, from its page here");
        let before = world.tier.counters();
        for (offset, bytes) in [(0, 16 << 10), (4096, 4096), (512, 1024), (4096 - 512, 8192)] {
            let first = world.read(offset, bytes);
            assert_eq!(read_at_once(&mut world, offset, bytes), stamps(&first));
        }
        let counters = world.tier.counters();
        assert_eq!(
            (counters.hits - before.hits, counters.memory_hits - before.memory_hits),
            (8, 8)
        );
        world.read(12 << 10, 8 << 10);
        let (last, counters) = (counters, world.tier.counters());
        assert_eq!((counters.hits - last.hits, counters.memory_hits - last.memory_hits), (1, 0));
        assert_eq!(
            counters.memory_hit_bytes - last.memory_hit_bytes,
            4096,
            "the other came from a page"
        );
    }
}

#[test]
fn write_drops_its_blocks_from_memory_before_the_answer() {
    for shape in [THROUGH, BACK] {
        let mut world = World::with_memory(2, shape, ALL);
        world.read(0, 64 << 10);
        assert_eq!(held(&world), 64 << 10);
        let request = world.request(Op::Write, 4096 + 512, 512, false);
        world.ask(request);
        assert_eq!(held(&world), 60 << 10);
        world.settle_all();
        let zero = world.request(Op::Zero { unmap: true }, 16 << 10, 16 << 10, false);
        world.ask(zero);
        assert_eq!(held(&world), 44 << 10);
        world.settle_all();
        world.read(0, 64 << 10);
        world.settle_all();
        world.read(0, 64 << 10);
    }
}

#[test]
fn a_read_that_a_write_overtakes_leaves_nothing_in_memory() {
    for shape in [THROUGH, BACK] {
        let mut world = World::with_memory(3, shape, ALL);
        let read = world.request(Op::Read, 0, 16 << 10, false);
        world.ask(read);
        let write = world.request(Op::Write, 0, 4096, false);
        world.ask(write);
        // The read ends first, or last.
        world.end_reads();
        assert_eq!(held(&world), 0, "what it read may be old");
        world.settle_all();
        world.read(0, 16 << 10);
        world.settle_all();
        assert_ne!(stamps(&world.read(0, 512)), [0]);
    }
}

#[test]
fn read_beside_a_write_through_is_not_kept_in_memory() {
    let mut world = World::with_memory(4, THROUGH, ALL);
    let write = world.request(Op::Write, 0, 4096, false);
    world.ask(write);
    let read = world.request(Op::Read, 0, 16 << 10, false);
    world.ask(read);
    world.end_reads();
    assert_eq!(held(&world), 12 << 10, "all but the block that is being written");
}

#[test]
fn memory_without_population_serves_and_admits_nothing() {
    let mut world = World::with_memory(5, THROUGH, ALL);
    world.read(0, 32 << 10);
    world.order(Order::Populate { disk: 0, is_on: false });
    world.read(64 << 10, 64 << 10);
    assert_eq!(held(&world), 32 << 10);
    read_at_once(&mut world, 0, 32 << 10);
}

#[test]
fn a_disk_has_its_share_of_memory_and_no_more() {
    let mut world = World::with_memory(6, THROUGH, 128 << 10);
    world.order(Order::Share { disk: 0, percent: 25 });
    world.read(0, 512 << 10);
    let status = world.tier.status(0).expect("it is attached").memory;
    assert!((1..=32 << 10).contains(&status.taken_bytes), "{status:?}");
    world.order(Order::Share { disk: 0, percent: 0 });
    world.read(0, 512 << 10);
    assert!(world.tier.memory().taken_bytes <= 32 << 10, "nothing more comes in");
}

#[test]
fn memory_serves_fresh_blocks_after_the_cache_device_failed() {
    for shape in [THROUGH, BACK] {
        let mut world = World::with_memory(7, shape, ALL);
        world.read(0, 64 << 10);
        let bytes = world.devices.cache.bytes();
        world.devices.cache.fail(FaultKind::Write(0..bytes), None);
        let write = world.request(Op::Write, 0, 4096, false);
        world.ask(write);
        world.settle(|world| world.waiting() == 0);
        assert!(shape.mode == Mode::Through || world.notes.contains(&Note::CacheFailed));
        read_at_once(&mut world, 4096, 28 << 10);
        world.read(0, 4096);
    }
    // The disk goes on uncached: its memory is as true as before.
    let mut world = World::with_memory(8, THROUGH, ALL);
    let bytes = world.devices.cache.bytes();
    world.write(0, 64 << 10);
    world.settle_all();
    let geometry = world.tier.geometry();
    world
        .devices
        .cache
        .fail(FaultKind::Write(geometry.chunk_at(geometry.page_chunks)..bytes), None);
    world.write(0, 32 << 10);
    world.settle(|world| world.notes.contains(&Note::CacheFailed));
    world.settle(|world| world.waiting() == 0);
    world.read(0, 64 << 10);
    read_at_once(&mut world, 0, 32 << 10);
    world.write(8192, 4096);
    world.read(0, 64 << 10);
    assert_eq!(world.errors, 0);
}

#[test]
fn memory_is_empty_after_a_restart_and_pages_stay_warm() {
    for bytes in [0, ALL] {
        let mut world = World::with_memory(9, THROUGH, bytes);
        for _ in 0..2 {
            world.read(0, 128 << 10);
            world.settle_all();
        }
        let pages = world.tier.held_bytes();
        assert_eq!(pages, 128 << 10);
        world.close();
        let opened = world.devices.open(Mode::Through).expect("it opens");
        let (devices, oracle) = (world.devices.clone(), world.oracle.clone());
        let mut after = World::of(9, THROUGH, devices, opened.tier, oracle);
        assert_eq!((held(&after), after.tier.held_bytes()), (0, pages));
        after.read(0, 128 << 10);
        let counters = after.tier.counters();
        assert_eq!((counters.hits, counters.memory_hits), (4, 0), "pages have it all");
    }
}

#[test]
fn a_page_that_rots_never_comes_into_memory() {
    let mut world = World::with_memory(10, THROUGH, ALL);
    world.write(0, 16 << 10);
    world.settle_all();
    let geometry = world.tier.geometry();
    for slot in 0..geometry.slots() {
        world.devices.cache.rot(geometry.slot_at(slot) + 100);
    }
    let first = stamps(&world.read(0, 16 << 10));
    assert_eq!(world.tier.counters().checksum_errors, 1);
    assert_eq!(read_at_once(&mut world, 0, 16 << 10), first, "what the backing store had");
}

#[test]
fn memory_serves_as_many_hits_as_pages_alone() {
    for shape in [THROUGH, BACK] {
        // With one seed, some 10 % are chance: the next request depends on the number of I/Os so
        // far.
        let hits = |bytes| {
            let mut sum = (0, 0);
            for seed in 11..31 {
                let mut world = World::with_memory(seed, shape, bytes);
                for _ in 0..3000 {
                    world.step();
                    world.settle(|world| world.waiting() == 0);
                }
                let counters = world.tier.counters();
                sum = (sum.0 + counters.hits, sum.1 + counters.memory_hits);
            }
            sum
        };
        let (without, with) = (hits(0), hits(64 << 10));
        assert!(with.0 * 100 >= without.0 * 95, "{with:?} of {without:?}");
        assert!(with.1 > 20 && without.1 == 0, "{with:?}");
    }
}
