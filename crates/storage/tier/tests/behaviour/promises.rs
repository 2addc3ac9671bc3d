//! Guarantees of a tier, one by one. The letters are those of the list of other caches' mistakes
//! (`docs/developers/adr/0020-tier.md`).

use faults::FaultKind;
use state_machine::{Purpose, Stream};
use tilemark_tier::format::{SIDECAR_BYTES, Sidecar, SidecarState};
use tilemark_tier::{AttachError, IoTarget, Mode, Note, Op, OpenError, Order};

use super::oracle::stamps;
use super::world::{Devices, Direct, Shape, World, give_up};

const BACK: Shape = Shape { disk_bytes: 512 << 10, mode: Mode::Back, depth: 8, copies: 0 };
const THROUGH: Shape = Shape { mode: Mode::Through, ..BACK };

fn chance(seed: u64) -> Stream {
    Stream::derive(seed, &[2], Purpose::Device)
}

fn sidecar(devices: &mut Devices) -> Sidecar {
    let mut bytes = [0; SIDECAR_BYTES];
    devices.sidecar.read(0, &mut bytes).expect("no fault");
    Sidecar::newest(&bytes).expect("one copy is good")
}

fn refusal(devices: &mut Devices, mode: Mode) -> AttachError {
    match devices.open(mode) {
        Err(OpenError::Attach { error, .. }) => error,
        other => panic!("it was to be refused: {:?}", other.map(|opened| opened.writes)),
    }
}

#[test]
fn a_answered_flush_survives_a_power_cut_at_that_moment() {
    for (seed, shape) in [(1, BACK), (2, THROUGH), (3, BACK), (4, THROUGH)] {
        let mut world = World::with_memory(seed, shape, 64 << 10);
        let mut seen = 0;
        for _ in 0..2000 {
            let before = world.flushes;
            world.step();
            if world.flushes > before {
                seen += 1;
                let mut devices = world.devices.clone();
                devices.power_cut(&mut chance(seen));
                let opened = devices.open(shape.mode).expect("it opens");
                let mut after = World::of(seed, shape, devices, opened.tier, world.oracle.clone());
                after.oracle.is_loose = true;
                let content = stamps(&after.read_all());
                world.oracle.check(&content, true);
            }
        }
        assert!(seen > 10, "{seen} flushes were answered");
    }
}

#[test]
fn durable_writes_that_arrive_together_need_no_flush() {
    let mut world = World::new(33, BACK);
    for at in 0..8 {
        let request = world.request(Op::Write, at * 8192, 4096, true);
        world.gather(request);
    }
    world.ask_nothing();
    let groups = world.tier.counters().groups;
    world.end_newest();
    assert_eq!((world.waiting(), groups), (0, 1), "one write of the log answered all");
    let mut devices = world.devices.clone();
    devices.power_cut(&mut chance(33));
    assert_eq!(devices.open(Mode::Back).expect("it opens").writes, 8);
}

#[test]
fn durable_write_makes_earlier_writes_durable_before_its_answer() {
    for seed in 0..20 {
        let mut world = World::new(seed, BACK);
        world.write(0, 4096);
        let request = world.request(Op::Write, 8192, 4096, true);
        world.ask(request);
        world.settle(|world| world.waiting() == 0);
        let mut devices = world.devices.clone();
        devices.power_cut(&mut chance(seed));
        assert_eq!(devices.open(Mode::Back).expect("it opens").writes, 2, "seed {seed}");
    }
}

#[test]
fn d_disk_whose_cache_is_gone_with_writes_names_their_owner() {
    let mut world = World::new(5, BACK);
    world.write(0, 8192);
    let mut devices = world.devices.clone();
    devices.cache = Devices::new_set(BACK, [8; 16]).cache;
    assert_eq!(refusal(&mut devices, Mode::Back), AttachError::Owned(super::world::SET));
    assert_eq!(refusal(&mut devices, Mode::Through), AttachError::Owned(super::world::SET));
}

#[test]
fn e_given_up_log_is_never_replayed_when_its_device_returns() {
    let mut world = World::new(6, BACK);
    world.write(0, 8192);
    let mut devices = world.devices.clone();
    let old = devices.cache.clone();
    devices.cache = Devices::new_set(BACK, [8; 16]).cache;
    give_up(&mut devices).expect("no fault");
    let opened = devices.open(Mode::Back).expect("what was given up is no obstacle");
    let mut second = World::of(7, BACK, devices, opened.tier, world.oracle.reborn(&[0; 1024]));
    second.write(4096, 4096);
    second.close();
    let mut devices = second.devices.clone();
    devices.cache = old;
    let error = refusal(&mut devices, Mode::Back);
    assert!(matches!(error, AttachError::Stale { .. } | AttachError::Owned(_)), "{error}");
}

#[test]
fn f_a_disk_that_was_changed_without_its_set_comes_back_cold() {
    let mut world = World::new(8, THROUGH);
    world.write(0, 64 << 10);
    world.read(0, 64 << 10);
    world.close();
    let mut devices = world.devices.clone();
    let mut direct = Direct::new(&mut devices);
    use tilemark_tier::Media;
    direct.write(IoTarget::Backing(0), 0, &super::oracle::stamped(99, 4096)).expect("no fault");
    direct.flush(IoTarget::Backing(0)).expect("no fault");
    let opened = devices.open_changed(Mode::Through).expect("it has no writes in the log");
    assert_eq!(opened.pages, 0, "no page of before is served");
    let mut after = World::of(9, THROUGH, devices, opened.tier, world.oracle.clone());
    after.oracle.is_loose = true;
    assert_eq!(stamps(&after.read(0, 4096))[..8], [99; 8]);
}

/// Opening forgot the pages, and was stopped before that was durable: the next opening found a disk that was as
/// the last had left it, and believed what still was said of them.
#[test]
fn f_dropped_pages_stay_dropped_after_a_stop_at_the_opening() {
    for is_power in [false, true] {
        let mut world = World::new(8, THROUGH);
        world.write(0, 64 << 10);
        world.read(0, 64 << 10);
        world.close();
        let mut devices = world.devices.clone();
        for opening in 0..3 {
            let opened = devices.open_changed(Mode::Through).expect("it has no writes in the log");
            assert_eq!(opened.pages, 0, "opening {opening}: no page of before is served");
            if is_power {
                devices.power_cut(&mut chance(opening));
            } else {
                devices.kill(&mut chance(opening));
            }
        }
    }
}

#[test]
fn h_a_clean_stop_stays_clean_and_warm() {
    for shape in [BACK, THROUGH] {
        let mut world = World::new(10, shape);
        for _ in 0..600 {
            world.step();
        }
        world.settle(|world| world.waiting() == 0);
        world.order(Order::Drain { disk: 0 });
        world.settle(|world| world.notes.contains(&Note::Drained(0)));
        // Twice, for a page that somebody else is filling is left out.
        for _ in 0..2 {
            world.read(0, 128 << 10);
            world.settle_all();
        }
        let held = world.tier.held_bytes();
        world.close();
        assert_eq!(sidecar(&mut world.devices).state, SidecarState::Clean);
        let mut devices = world.devices.clone();
        let opened = devices.open(shape.mode).expect("it opens");
        assert!(opened.was_clean);
        assert_eq!(
            (opened.writes, opened.tier.held_bytes()),
            (0, held),
            "nothing to write, everything there"
        );
        let mut after = World::of(11, shape, devices, opened.tier, world.oracle.clone());
        after.read(0, 128 << 10);
        assert_eq!(
            after.tier.counters().misses + after.tier.counters().partial,
            0,
            "what was read last is a hit"
        );
    }
}

#[test]
fn i_a_log_that_is_full_makes_writes_wait_and_none_fail() {
    let mut world = World::new(12, BACK);
    world.devices.backing.fail(FaultKind::Flush, None);
    for at in 0..64 {
        let request = world.request(Op::Write, at % 16 * (32 << 10), 32 << 10, false);
        world.ask(request);
    }
    world.rest(4000);
    assert!(world.waiting() > 0, "2 MiB do not fit into a log of half of that");
    assert!(world.notes.contains(&Note::BackingFailed(0)));
    assert_eq!(world.errors, 0);
    world.devices.backing.heal();
    world.settle(|world| world.waiting() == 0);
    assert_eq!((world.waiting(), world.errors), (0, 0));
    world.read_all();
}

#[test]
fn j_reads_over_all_places_are_right_to_the_sector() {
    let mut world = World::new(13, BACK);
    world.write(0, 64 << 10);
    world.flush();
    world.order(Order::Drain { disk: 0 });
    world.settle(|world| world.notes.contains(&Note::Drained(0)));
    for (offset, bytes) in
        [(512, 512), (4096, 1024), (8192 - 512, 1024), (20480, 4096), (24576, 3584)]
    {
        world.write(offset, bytes);
    }
    for first in 0..80 {
        for sectors in [1, 3, 8, 17] {
            world.read(first * 512, sectors * 512);
        }
    }
    assert!(world.tier.counters().hits > 100);
}

#[test]
fn a_page_that_rots_is_read_from_the_backing_store_and_counted() {
    let mut world = World::new(14, THROUGH);
    world.write(0, 16 << 10);
    world.settle_all();
    world.read(0, 4096);
    let geometry = world.tier.geometry();
    for slot in 0..geometry.slots() {
        world.devices.cache.rot(geometry.slot_at(slot) + 100);
    }
    world.read(0, 16 << 10);
    assert_eq!(world.tier.counters().checksum_errors, 1);
    world.read(0, 16 << 10);
    assert_eq!(world.errors, 0);
}

#[test]
fn rotten_log_is_an_error_and_stops_destaging() {
    let mut world = World::new(15, BACK);
    world.write(0, 4096);
    world.write(8192, 4096);
    let geometry = world.tier.geometry();
    let first = geometry.chunk_at(geometry.page_chunks + 1);
    for block in 0..4 {
        world.devices.cache.rot(first + 4096 * block + 700);
    }
    let request = world.request(Op::Read, 0, 4096, false);
    world.ask(request);
    world.settle(|world| world.waiting() == 0);
    assert_eq!(world.errors, 1);
    world.order(Order::Drain { disk: 0 });
    world.rest(400);
    assert!(world.notes.contains(&Note::LogDamaged(0)) && !world.notes.contains(&Note::Drained(0)));
    let mut backing = vec![0; 16384];
    world.devices.backing.read(0, &mut backing).expect("no fault");
    assert_eq!(stamps(&backing), [0; 32], "neither the damaged write nor the one behind it");
}

#[test]
fn damaged_durable_log_is_refused_as_no_torn_end() {
    let mut world = World::new(16, BACK);
    for at in 0..6 {
        world.write(at * 8192, 4096);
        world.flush();
    }
    let geometry = world.tier.geometry();
    let first = geometry.chunk_at(geometry.page_chunks + 1);
    let mut devices = world.devices.clone();
    devices.cache.rot(first + 2 * 8192 + 60);
    assert!(matches!(refusal(&mut devices, Mode::Back), AttachError::Damaged(_)));
}

#[test]
fn failed_cache_device_answers_no_write_in_mode_back() {
    let mut world = World::new(17, BACK);
    world.write(0, 4096);
    let bytes = world.devices.cache.bytes();
    world.devices.cache.fail(FaultKind::Write(0..bytes), None);
    let request = world.request(Op::Write, 0, 4096, false);
    world.ask(request);
    world.settle(|world| world.waiting() == 0);
    assert_eq!(world.errors, 1);
    assert!(world.notes.contains(&Note::CacheFailed));
    // Writes that were answered before are still seen. The failed write may or may not be seen.
    world.read(0, 4096);
    let request = world.request(Op::Flush, 0, 0, false);
    world.ask(request);
    world.settle(|world| world.waiting() == 0);
    assert_eq!(world.errors, 2);
}

#[test]
fn failed_cache_device_is_bypassed_and_its_pages_never_return() {
    for seed in 0..20 {
        let mut world = World::with_memory(seed, THROUGH, seed % 4 * (32 << 10));
        for _ in 0..300 {
            world.step();
        }
        let bytes = world.devices.cache.bytes();
        let geometry = world.tier.geometry();
        world
            .devices
            .cache
            .fail(FaultKind::Write(geometry.chunk_at(geometry.page_chunks)..bytes), None);
        for _ in 0..600 {
            world.step();
        }
        world.settle(|world| world.waiting() == 0);
        assert_eq!((world.waiting(), world.errors), (0, 0), "seed {seed}");
        world.devices.cache.heal();
        world.devices.kill(&mut chance(seed));
        let opened = world.devices.open(Mode::Through).expect("it opens");
        let mut after =
            World::of(seed, THROUGH, world.devices.clone(), opened.tier, world.oracle.clone());
        after.oracle.is_loose = true;
        let content = stamps(&after.read_all());
        world.oracle.check(&content, false);
    }
}

/// A sidecar that was being written when the device failed, without the new generation, let writes go on: pages of
/// before it would have been believed again.
#[test]
fn bypass_of_a_failed_cache_device_waits_for_the_sidecar() {
    let mut seen = 0;
    for seed in 0..400 {
        let mut world = World::new(seed, Shape { copies: 1, ..BACK });
        world.oracle.is_mixed = true;
        // A peer is on its way to be named, or just was.
        for _ in 0..20 + seed % 80 {
            world.step();
        }
        let before = world.devices.said().expect("no fault").generation;
        let bytes = world.devices.cache.bytes();
        world.devices.cache.fail(FaultKind::Write(0..bytes), None);
        for _ in 0..200 {
            world.step();
        }
        world.settle(|world| world.waiting() == 0);
        let is_through = world.tier.status(0).is_some_and(|status| status.mode == Mode::Through);
        if world.notes.contains(&Note::CacheFailed) && is_through && world.waiting() == 0 {
            seen += 1;
            world.write(0, 4096);
            let said = world.devices.said().expect("no fault");
            assert_eq!(said.generation, before + 1, "seed {seed}");
        }
    }
    assert!(seen > 0, "no seed failed in mode through");
}

#[test]
fn modes_change_under_load_and_nothing_is_lost() {
    for seed in 0..12 {
        let mut world = World::with_memory(seed, BACK, seed % 4 * (32 << 10));
        world.oracle.is_mixed = true;
        for round in 0..6 {
            let mode = if round % 2 == 0 { Mode::Through } else { Mode::Back };
            for _ in 0..150 {
                world.step();
            }
            world.notes.clear();
            world.order(Order::Mode { disk: 0, mode });
            for _ in 0..6000 {
                if world.notes.contains(&Note::Mode(0, mode)) {
                    break;
                }
                world.step();
            }
            assert!(
                world.notes.contains(&Note::Mode(0, mode)),
                "seed {seed}, round {round}: {:?}",
                world.tier.status(0)
            );
            for is_power in [false, true] {
                let mut devices = world.devices.clone();
                if is_power {
                    devices.power_cut(&mut chance(seed));
                } else {
                    devices.kill(&mut chance(seed));
                }
                let opened = devices.open(mode).expect("it opens");
                let mut after = World::of(seed, BACK, devices, opened.tier, world.oracle.clone());
                after.oracle.is_loose = true;
                let content = stamps(&after.read_all());
                world.oracle.check(&content, is_power);
            }
        }
        world.settle(|world| world.waiting() == 0);
        assert_eq!(world.errors, 0);
    }
}

/// An order back to the mode that a disk is in still left what had been held for the other one waiting for ever,
/// and everything behind it.
#[test]
fn cancelled_mode_change_releases_held_requests() {
    for mode in [Mode::Back, Mode::Through] {
        let other = if mode == Mode::Back { Mode::Through } else { Mode::Back };
        let mut world = World::new(40, Shape { mode, ..BACK });
        world.oracle.is_mixed = true;
        // Nothing can be put into it, nor can it be made durable: the change has to wait.
        world.write(0, 4096);
        world.devices.backing.fail(FaultKind::Flush, None);
        world.order(Order::Mode { disk: 0, mode: other });
        let request = world.request(Op::Write, 0, 4096, false);
        world.ask(request);
        world.rest(50);
        assert_eq!(world.waiting(), 1, "it is held");
        world.order(Order::Mode { disk: 0, mode });
        world.settle(|world| world.waiting() == 0);
        assert_eq!(world.waiting(), 0, "{mode:?}");
    }
}

#[test]
fn after_a_kill_nineteen_of_twenty_hits_are_still_hits() {
    let (mut before, mut after_kill) = (0, 0);
    for seed in 0..10 {
        let mut world = World::new(seed, THROUGH);
        for _ in 0..400 {
            world.step();
        }
        world.settle(|world| world.waiting() == 0);
        world.read_half();
        world.settle_all();
        let hits = |world: &mut World| {
            let start = world.tier.counters().hits;
            world.read_half();
            world.tier.counters().hits - start
        };
        before += hits(&mut world);
        let mut devices = world.devices.clone();
        devices.kill(&mut chance(seed));
        let opened = devices.open(Mode::Through).expect("it opens");
        let mut after = World::of(seed, THROUGH, devices, opened.tier, world.oracle.clone());
        after.oracle.is_loose = true;
        after_kill += hits(&mut after);
    }
    assert!(before > 60 && after_kill * 20 >= before * 19, "{after_kill} of {before}");
}

#[test]
fn no_population_serves_old_pages_and_admits_none() {
    let mut world = World::new(20, THROUGH);
    world.read(0, 32 << 10);
    world.settle_all();
    world.order(Order::Populate { disk: 0, is_on: false });
    let resident = world.tier.resident();
    world.read(0, 256 << 10);
    world.write(128 << 10, 64 << 10);
    world.settle_all();
    assert_eq!(world.tier.resident(), resident);
    let hits = world.tier.counters().hits;
    world.read(0, 16 << 10);
    assert!(world.tier.counters().hits > hits);
}

#[test]
fn memory_of_every_request_and_run_is_given_back() {
    for (seed, shape) in [(30, BACK), (31, THROUGH)] {
        let mut world = World::with_memory(seed, shape, 64 << 10);
        for _ in 0..2000 {
            world.step();
        }
        world.settle(|world| world.waiting() == 0);
        world.order(Order::Drain { disk: 0 });
        world.settle_all();
        assert_eq!(world.bufs(), 0);
        assert!(world.tier.is_idle());
    }
}

#[test]
fn epochs_that_end_soon_after_each_other_are_one_batch() {
    let mut world = World::new(31, BACK);
    for _ in 0..50 {
        world.write(0, 4096);
        world.flush();
    }
    world.settle_all();
    let destaged = world.tier.counters().destaged_bytes;
    assert!((1..=10 * 4096).contains(&destaged), "{destaged} B of 50 writes of one block");
    let status = world.tier.status(0).expect("it is attached");
    assert_eq!((status.dirty_bytes, status.epochs), (0, 0), "and all of it is there in the end");
}

#[test]
fn fills_are_bounded_when_reads_outrun_the_cache_device() {
    let shape = Shape { disk_bytes: 24 << 20, ..THROUGH };
    let mut world = World::new_with_cache(32, shape, 64 << 20);
    let step = 32 << 10;
    for offset in (0..shape.disk_bytes).step_by(step) {
        let request = world.request(Op::Read, offset, step as u64, false);
        world.ask(request);
        // Only reads of the backing store complete.
        world.end_reads();
    }
    assert_eq!(world.waiting(), 0, "all of it was answered");
    let filling = world.tier.counters().filled_bytes;
    assert_eq!(filling, 8 << 20, "so much is on its way into pages");
    world.settle_all();
    assert_eq!(world.tier.held_bytes(), filling);
    world.read(16 << 20, 64 << 10);
    world.settle_all();
    assert_eq!(world.tier.held_bytes(), filling + (64 << 10), "and then more comes in again");
}

#[test]
fn what_waits_says_since_when_and_a_full_log_for_how_long() {
    let mut world = World::new(32, BACK);
    world.write(0, 4096);
    world.settle(|world| world.tier.status(0).is_some_and(|s| s.oldest.is_some()));
    let first = world.tier.status(0).and_then(|s| s.oldest).expect("a write waits");
    world.write(8192, 4096);
    world.settle(|world| world.tier.counters().writes == 2);
    assert_eq!(world.tier.status(0).and_then(|s| s.oldest), Some(first), "the first is the oldest");
    world.settle_all();
    let status = world.tier.status(0).expect("it is attached");
    assert_eq!((status.oldest, status.full_since), (None, None), "all is out");
}

/// A group of the pages' log that waited for its flush set a timer for a moment that had passed, again and again: the
/// thread that serves went round without rest.
#[test]
fn waiting_for_a_flush_sets_no_timer() {
    let mut world = World::new(1, THROUGH);
    world.read_half();
    // Maps of the pages that came in are due after a while. From then on no I/O ends here.
    while !world.is_busy() {
        assert!(world.fire_timer(), "nothing waits");
    }
    let fired = (0..100).take_while(|_| world.fire_timer()).count();
    assert!(world.is_busy(), "a group or a flush is under way");
    assert!(fired < 10, "the timer fired {fired} times while nothing changed");
}

#[test]
fn pages_are_admitted_without_a_timer_under_reads_alone() {
    let mut world = World::new(41, Shape { disk_bytes: 8 << 20, ..THROUGH });
    let read = |world: &mut World, pages: std::ops::Range<u64>| {
        for page in pages {
            drop(world.read(page * 16384, 16384));
            // All I/O in flight completes; the clock does not advance.
            world.settle(|world| !world.is_busy());
        }
    };
    read(&mut world, 0..128);
    // Waits until the map is durable: a slot is free only when the eviction of its page is durable.
    world.settle_all();
    let before = world.tier.counters().filled_bytes;
    read(&mut world, 128..512);
    let filled = (world.tier.counters().filled_bytes - before) / 16384;
    assert!(filled > 300, "{filled} of 384 pages came in");
}

#[test]
fn write_hits_are_writes_whose_pages_are_there() {
    const PAGE: u64 = 16 << 10;
    for shape in [BACK, THROUGH] {
        let mut world = World::with_memory(5, shape, 0);
        let mut counts = |offset, bytes| {
            let before = world.tier.counters();
            world.write(offset, bytes);
            let now = world.tier.counters();
            let hit_bytes = now.write_hit_bytes - before.write_hit_bytes;
            (now.write_hits - before.write_hits, hit_bytes)
        };
        assert_eq!(counts(0, 4096), (0, 0), "the page comes in");
        assert_eq!(counts(8192, 512), (1, 512), "another block of it");
        assert_eq!(counts(PAGE - 4096, 8192), (0, 4096), "the next page is not there");
        assert_eq!(counts(PAGE - 4096, 8192), (1, 8192));
    }
}
