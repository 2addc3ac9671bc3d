//! Single cases of damage, each with the refusal, the remaining writes, and the remedy.

use std::collections::BTreeMap;

use faults::FaultKind;
use state_machine::{Purpose, Stream};
use tilemark_tier::format::{
    Flags, Head, Holder, Identity, Kind, LABEL_BYTES, Label, NO_CHUNK, Record, SidecarState, Uuid,
    payload_sum,
};
use tilemark_tier::{
    AttachError, Damaged, HeldCopy, IoError, IoTarget, LogWrites, Media, Mode, Note, OpenError,
    Opened, Order, Since, Skipped, TakeOverError, Taking, Tier, take_over,
};

use super::oracle::stamps;
use super::world::{DISK, Devices, Direct, OTHER, SET, Shape, World};

const BACK: Shape = Shape { disk_bytes: 512 << 10, mode: Mode::Back, depth: 10, copies: 0 };

fn chance(seed: u64) -> Stream {
    Stream::derive(seed, &[6], Purpose::Device)
}

/// Heads of the disk's log on the cache device, with their addresses, by number.
pub fn heads(devices: &mut Devices, owner: Uuid) -> Vec<(u64, Head)> {
    let mut bytes = vec![0; usize::try_from(devices.cache.bytes()).expect("small")];
    devices.cache.read(0, &mut bytes).expect("no fault");
    let blocks = (0..).step_by(4096).zip(bytes.chunks(4096));
    let heads = blocks.filter_map(|(at, block)| Some((at, Head::decode(block)?.0)));
    let mut heads: Vec<_> = heads.filter(|(_, head)| head.owner == owner).collect();
    heads.sort_by_key(|(_, head)| head.seq);
    heads
}

/// A disk with 20 flushed writes in several chunks of its log, none of which went to the backing store.
fn filled(seed: u64) -> World {
    let mut world = World::new(seed, BACK);
    world.devices.backing.fail(FaultKind::Write(0..BACK.disk_bytes), None);
    for at in 0..20 {
        world.write(at * 8192, 8192);
        if at % 5 == 4 {
            world.flush();
        }
    }
    world
}

fn left_by_kill(world: &World) -> Devices {
    let mut devices = world.devices.clone();
    devices.kill(&mut chance(0));
    devices.backing.heal();
    devices
}

fn damaged(opened: Result<Opened, OpenError>) -> Damaged {
    match opened.expect_err("it is refused") {
        OpenError::Attach { index: 0, error: AttachError::Damaged(damaged) } => damaged,
        error => panic!("{error}"),
    }
}

#[test]
fn damaged_group_of_any_kind_is_refused_with_what_is_left() {
    let devices = left_by_kill(&filled(1));
    let all = heads(&mut devices.clone(), DISK);
    assert!(all.iter().filter(|(_, head)| head.flags.has(Flags::LINK)).count() > 2);
    let writes = |all: &[(u64, Head)]| -> LogWrites {
        let writes = all.iter().flat_map(|(_, head)| &head.records);
        writes.fold(LogWrites::default(), |sum, record| LogWrites {
            count: sum.count + 1,
            bytes: sum.bytes + u64::from(record.bytes),
        })
    };
    let told = all.iter().map(|(_, head)| head.durable).max().expect("some");
    for (place, (at, head)) in all.iter().enumerate().filter(|(_, (_, head))| head.seq <= told) {
        let mut devices = devices.clone();
        devices.cache.rot(at + 60);
        let found = damaged(devices.open(Mode::Back));
        assert_eq!((found.group, found.missing_to), (head.seq, head.seq));
        assert_eq!(found.before, writes(&all[..place]), "group {}", head.seq);
        assert_eq!(found.behind, writes(&all[place + 1..]), "group {}", head.seq);
        // It is refused again, and a whole disk of the set is served meanwhile.
        let examined = Tier::examine(&mut Direct::new(&mut devices)).expect("it can be looked at");
        assert_eq!(examined.disks[0].damage, Some(found));
        let opened = devices.open_other(Mode::Back).expect("the other disk is whole");
        let mut other = World::of(1, BACK, devices, opened.tier, filled(2).oracle);
        other.close();
        assert_eq!(damaged(other.devices.open(Mode::Back)), found);
    }
}

#[test]
fn damage_behind_a_power_cut_is_a_torn_end() {
    // Groups behind the first that is lost, which nobody calls durable, are no damage.
    let mut torn = 0;
    for seed in 0..200 {
        let mut world = World::new(seed, BACK);
        for at in 0..30 {
            let request = world.request(tilemark_tier::Op::Write, at * 8192, 8192, false);
            world.ask(request);
            world.rest(3);
        }
        let mut devices = world.devices.clone();
        devices.power_cut(&mut chance(seed));
        let behind = heads(&mut devices, DISK).len();
        let opened = devices.open(Mode::Back).expect("nothing was durable");
        torn += usize::from(opened.writes < behind);
    }
    assert!(torn > 20, "{torn} had something behind their end");
}

#[test]
fn damage_that_was_found_while_served_is_refused_later() {
    let mut world = filled(3);
    let (at, _) = heads(&mut world.devices, DISK)[7].clone();
    world.devices.cache.rot(at + 4096 + 100);
    world.devices.backing.heal();
    world.settle(|world| world.notes.contains(&tilemark_tier::Note::LogDamaged(0)));
    world.close();
    let found = damaged(world.devices.open(Mode::Back));
    assert_eq!(found.before.count + found.behind.count, 19, "{found}");
}

#[test]
fn end_of_a_log_that_was_left_in_order_is_called_durable() {
    let mut world = World::new(4, BACK);
    world.devices.backing.fail(FaultKind::Write(0..BACK.disk_bytes), None);
    world.write(0, 8192);
    world.close();
    let mut devices = world.devices.clone();
    devices.backing.heal();
    let (at, _) = heads(&mut devices, DISK)[0].clone();
    devices.cache.rot(at + 60);
    assert_eq!(damaged(devices.open(Mode::Back)).group, 1);
}

#[test]
fn damage_of_what_the_backing_store_has_costs_pages_and_no_more() {
    let mut world = World::new(5, BACK);
    world.write(0, 16 << 10);
    world.flush();
    world.order(tilemark_tier::Order::Drain { disk: 0 });
    world.settle_all();
    let mut devices = left_by_kill(&world);
    let (at, _) = heads(&mut devices, DISK)[0].clone();
    devices.cache.rot(at + 60);
    let opened = devices.open(Mode::Back).expect("nothing is lost");
    assert_eq!((opened.writes, opened.pages), (0, 0));
    let mut after = World::of(5, BACK, devices, opened.tier, world.oracle.clone());
    world.oracle.check(&stamps(&after.read_all()), false);
}

/// A disk whose first writes are on the backing store by the word of its log, and whose later ones are not.
fn half_retired(seed: u64) -> World {
    let mut world = World::new(seed, BACK);
    for at in 0..4 {
        world.write(at * 8192, 8192);
        world.flush();
    }
    world.order(Order::Drain { disk: 0 });
    world.settle_all();
    world.devices.backing.fail(FaultKind::Write(0..BACK.disk_bytes), None);
    for at in 2..9 {
        world.write(at * 8192, 8192);
    }
    world.flush();
    world.rest(40);
    world
}

/// Regression: a disk with a bad sector at the beginning of its log was not served, although the
/// backing store had the lost writes, and the log itself recorded that.
#[test]
fn damage_of_what_a_log_calls_retired_is_skipped() {
    let world = half_retired(10);
    let devices = left_by_kill(&world);
    let all = heads(&mut devices.clone(), DISK);
    let retired = all.iter().map(|(_, head)| head.retired).max().expect("some");
    let mut tried = 0;
    for (at, head) in all.iter().filter(|(_, head)| head.seq <= retired) {
        let mut devices = devices.clone();
        devices.cache.rot(at + 60 + u64::from(head.bytes.min(4096)));
        let skipped = Skipped { group: head.seq, missing_to: head.seq };
        let (_, found) = devices.clone().prepare(Mode::Back).expect("as it is opened with a set");
        assert_eq!(found, Some(skipped));
        // Every opening finds the same, until the log begins behind the damage.
        for life in 0..3 {
            let opened = devices.open(Mode::Back).expect("the backing store has it");
            assert_eq!((opened.skipped, opened.pages), (vec![(0, skipped)], 0), "life {life}");
            assert!(opened.writes >= 7, "{} writes", opened.writes);
            let mut after = World::of(life, BACK, devices, opened.tier, world.oracle.clone());
            world.oracle.check(&stamps(&after.read_all()), false);
            devices = left_by_kill(&after);
        }
        let opened = devices.open(Mode::Back).expect("as before");
        let mut after = World::of(9, BACK, devices, opened.tier, world.oracle.clone());
        after.order(Order::Drain { disk: 0 });
        after.settle(|world| world.notes.contains(&Note::Drained(0)));
        let mut backing = vec![0; usize::try_from(BACK.disk_bytes).expect("small")];
        after.devices.backing.read(0, &mut backing).expect("no fault");
        world.oracle.check(&stamps(&backing), false);
        tried += 1;
    }
    assert!(tried > 3, "{all:?}");
}

#[test]
fn damage_is_not_skipped_if_the_backing_store_may_be_older() {
    let world = half_retired(10);
    let mut devices = left_by_kill(&world);
    // It is unknown if the backing store was changed since.
    devices.moments = [None; 2];
    // And its sidecar does not have the log's latest state yet.
    let mut sidecar = devices.said().expect("no fault");
    sidecar.log_retired = 0;
    let (at, block) = (sidecar.place(), sidecar.encode());
    Direct::new(&mut devices).write(IoTarget::Sidecar(0), at, &block[..]).expect("no fault");
    let all = heads(&mut devices.clone(), DISK);
    let retired = all.iter().map(|(_, head)| head.retired).max().expect("some");
    let mut tried = 0;
    for (at, head) in all.iter().filter(|(_, head)| head.seq <= retired) {
        let mut devices = devices.clone();
        devices.cache.rot(at + 60 + u64::from(head.bytes.min(4096)));
        let refused = devices.open(Mode::Back).map(|opened| opened.skipped);
        let is_refused =
            matches!(refused, Err(OpenError::Attach { error: AttachError::Damaged(_), .. }));
        assert!(is_refused, "group {}: {refused:?}", head.seq);
        tried += 1;
    }
    assert!(tried > 3, "{all:?}");
}

/// Without a later group that calls it retired nothing proves that the backing store has it.
#[test]
fn damage_of_what_no_group_calls_retired_is_refused() {
    let devices = left_by_kill(&half_retired(11));
    let all = heads(&mut devices.clone(), DISK);
    let retired = all.iter().map(|(_, head)| head.retired).max().expect("some");
    let durable = all.iter().map(|(_, head)| head.durable).max().expect("some");
    let needed = |head: &Head| head.seq > retired && head.seq <= durable && head.bytes > 0;
    let mut tried = 0;
    for (at, head) in all.iter().filter(|(_, head)| needed(head)) {
        let mut devices = devices.clone();
        devices.cache.rot(at + 60);
        assert_eq!(damaged(devices.open(Mode::Back)).group, head.seq);
        tried += 1;
    }
    assert!(tried > 3, "{all:?}");
}

#[test]
fn writes_of_a_damaged_log_can_be_exported_when_it_is_given_up() {
    let world = filled(6);
    let mut devices = left_by_kill(&world);
    let (at, _) = heads(&mut devices, DISK)[3].clone();
    devices.cache.rot(at + 60);
    let found = damaged(devices.open(Mode::Back));
    super::world::give_up(&mut devices).expect("no fault");
    let mut writes = 0;
    let mut media = Direct::new(&mut devices);
    let log = tilemark_tier::export_stale(&mut media, DISK, IoTarget::Sidecar(0), &mut |_, _| {
        writes += 1;
        Ok(())
    });
    assert_eq!(log.expect("it is stale").damage, Some(found));
    assert_eq!(writes, found.before.count + found.behind.count);
    tilemark_tier::forget_stale(&mut media, DISK, IoTarget::Sidecar(0)).expect("it is stale");
    devices.open(Mode::Back).expect("it begins again");
}

/// A copy of a log and the shared store, of which only blocks are kept that were written.
#[derive(Default, Clone)]
struct Sparse(BTreeMap<(u8, u64), Vec<u8>>);

impl Sparse {
    fn place(place: IoTarget) -> u8 {
        match place {
            IoTarget::Copy(_, copy) => copy,
            IoTarget::Sidecar(_) => 100,
            IoTarget::Backing(_) => 101,
            IoTarget::Cache => 102,
        }
    }

    fn put(&mut self, place: IoTarget, at: u64, data: &[u8]) {
        for (block, data) in (at..).step_by(4096).zip(data.chunks(4096)) {
            let mut whole = data.to_vec();
            whole.resize(4096, 0);
            self.0.insert((Self::place(place), block), whole);
        }
    }
}

impl Media for Sparse {
    fn read(&mut self, place: IoTarget, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        into.fill(0);
        let (first, end) = (at / 4096 * 4096, at + into.len() as u64);
        for (key, data) in self.0.range((Self::place(place), first)..(Self::place(place), end)) {
            let from = key.1.max(at);
            let to = (key.1 + 4096).min(end);
            let range = |start: u64| {
                usize::try_from(from - start).expect("short")
                    ..usize::try_from(to - start).expect("short")
            };
            into[range(at)].copy_from_slice(&data[range(key.1)]);
        }
        Ok(())
    }

    fn write(&mut self, place: IoTarget, at: u64, data: &[u8]) -> Result<(), IoError> {
        self.put(place, at, data);
        Ok(())
    }

    fn flush(&mut self, _: IoTarget) -> Result<(), IoError> {
        Ok(())
    }
}

const RING: u64 = 1 << 40;

/// A copy with 50 groups of 1 MiB, all durable.
fn long_copy(world: &mut Sparse, copy: u8) {
    let place = IoTarget::Copy(0, copy);
    for number in [1, 2] {
        let label = Label { disk: DISK, generation: 1, number, position: 0, seq: 1 };
        world.put(place, label.place(), &label.encode()[..]);
    }
    let (mut position, mut previous) = (0, 0);
    for seq in 1..=50 {
        let data = vec![u8::try_from(seq).expect("few"); 1 << 20];
        let (bytes, offset) = (1 << 20, (seq - 1) << 20);
        let record = Record {
            kind: Kind::Write,
            disk: 0,
            bytes,
            offset,
            sum: payload_sum(&data),
            place: 0,
            tag: 0,
            sums: None,
        };
        let head = Head {
            seq,
            previous,
            durable: seq - 1,
            owner: DISK,
            generation: 1,
            position,
            bytes,
            flags: Flags::EPOCH_END,
            epoch: seq,
            retired: 0,
            attach: 2,
            unix_ns: 0,
            next_chunk: NO_CHUNK,
            sidecar: 0,
            records: vec![record],
        };
        let (block, sum) = head.encode();
        world.put(place, LABEL_BYTES + position, &block[..]);
        world.put(place, LABEL_BYTES + position + 4096, &data);
        (position, previous) = (position + 4096 + (1 << 20), sum);
    }
}

fn named(world: &mut Sparse, copies: u8) -> Taking {
    let holder = |copy: u8| Holder { host: [copy + 1; 16], address: [0; 64] };
    let sidecar = tilemark_tier::format::Sidecar {
        disk: DISK,
        generation: 1,
        seq: 3,
        owner: SET,
        boot: [9; 16],
        state: SidecarState::Dirty,
        mode: 1,
        applied: 0,
        holders: (0..copies).map(holder).collect(),
        log_generation: 0,
        key: 0,
        stays: false,
        fingerprint: [0; 64],
        backing: Identity::default(),
        place: Identity::default(),
        opening: 0,
        superblock: 0,
        log_durable: 0,
        log_retired: 0,
    };
    world.put(IoTarget::Sidecar(0), sidecar.place(), &sidecar.encode()[..]);
    let held = |copy: u8| HeldCopy {
        host: [copy + 1; 16],
        place: IoTarget::Copy(0, copy),
        capacity: RING + LABEL_BYTES,
    };
    Taking {
        backing: Identity::default(),
        is_backing_vouched: true,
        since: Since::Unknown,
        index: 0,
        disk: DISK,
        bytes: 64 << 20,
        set: OTHER,
        boot: [2; 16],
        copies: (0..copies).map(held).collect(),
    }
}

fn rot(world: &mut Sparse, copy: u8, at: u64) {
    let block = world.0.get_mut(&(copy, LABEL_BYTES + at / 4096 * 4096)).expect("it was written");
    block[usize::try_from(at % 4096).expect("short")] ^= 1;
}

#[test]
fn long_copy_damaged_anywhere_is_refused_or_another_is_read() {
    let mut world = Sparse::default();
    long_copy(&mut world, 0);
    let taking = named(&mut world, 1);
    assert_eq!(take_over(&mut world.clone(), &taking).expect("it is whole").writes, 50);
    // Groups of 1 MiB and a head: of the first its payload, of the others their heads.
    let second = 4096 + (1 << 20);
    for (at, group) in [(4096 + 70_000, 1), (second + 9, 2), (40 * second, 41)] {
        let mut world = world.clone();
        rot(&mut world, 0, at);
        let before = world.0.clone();
        match take_over(&mut world, &taking).expect_err("it misses a group") {
            TakeOverError::Damaged(found) => {
                let left = |count| LogWrites { count, bytes: (count as u64) << 20 };
                let group_behind = usize::try_from(group).expect("few");
                assert_eq!(found.group, group);
                assert_eq!(
                    (found.before, found.behind),
                    (left(group_behind - 1), left(50 - group_behind))
                );
            }
            error => panic!("{error}"),
        }
        assert!(world.0 == before, "nothing was changed");
        // Another copy that is whole is read, and one that ends too early is not.
        long_copy(&mut world, 1);
        let taking = named(&mut world, 2);
        let taken = take_over(&mut world.clone(), &taking).expect("the second is whole");
        assert_eq!((taken.writes, taken.copy), (50, Some([2; 16])));
        world.0.retain(|(copy, at), _| *copy != 1 || *at < LABEL_BYTES + 30 * second);
        let short = take_over(&mut world, &taking).expect_err("the second has forgotten");
        assert!(matches!(short, TakeOverError::Damaged(_)), "{short}");
    }
}

/// Damages the block of the table that names the disk's pages, or so many groups of the pool's log.
fn with_pages(seed: u64) -> World {
    let mut world = World::new(seed, BACK);
    world.devices.backing.fail(FaultKind::Write(0..BACK.disk_bytes), None);
    world.read(0, 128 << 10);
    world.settle(|world| !world.is_busy());
    for at in 0..6 {
        world.write(at * 24 * 1024, 8192);
        world.flush();
    }
    world.rest(60);
    world
}

#[test]
fn damaged_page_table_costs_pages_and_no_log() {
    let world = with_pages(7);
    let mut devices = left_by_kill(&world);
    let superblock = Tier::inspect(&mut Direct::new(&mut devices)).expect("it is there");
    devices.cache.rot(superblock.table_at + 33);
    let opened = devices.open(Mode::Back).expect("pages can be read again");
    assert_eq!((opened.damage.table_blocks, opened.damage.pool_group), (1, None));
    assert_eq!(opened.writes, 6);
    let mut after = World::of(7, BACK, devices, opened.tier, world.oracle.clone());
    world.oracle.check(&stamps(&after.read_all()), false);
    // It is mended: the next opening finds nothing damaged.
    let opened = left_by_kill(&after).open(Mode::Back).expect("it was mended");
    assert_eq!(opened.damage, tilemark_tier::PageDamage::default());
}

#[test]
fn damaged_pool_log_costs_pages_and_no_log() {
    let world = with_pages(8);
    let devices = left_by_kill(&world);
    let pool = heads(&mut devices.clone(), SET);
    let told = pool.iter().map(|(_, head)| head.durable).max().expect("some");
    let mut tried = 0;
    for (at, _) in pool.iter().filter(|(_, head)| head.seq <= told) {
        let mut devices = devices.clone();
        devices.cache.rot(at + 200);
        let opened = devices.open(Mode::Back).expect("pages can be read again");
        assert!(opened.damage.pool_group.is_some() && opened.pages == 0, "{:?}", opened.damage);
        assert_eq!(opened.writes, 6);
        let mut after = World::of(8, BACK, devices, opened.tier, world.oracle.clone());
        world.oracle.check(&stamps(&after.read_all()), false);
        let opened = left_by_kill(&after).open(Mode::Back).expect("it was mended");
        assert_eq!(opened.damage, tilemark_tier::PageDamage::default());
        tried += 1;
    }
    assert!(tried > 0, "{pool:?}");
}

#[test]
fn damaged_superblock_or_sidecar_copy_is_replaced() {
    let world = filled(9);
    let devices = left_by_kill(&world);
    for (place, ats) in
        [(IoTarget::Cache, tilemark_tier::format::SUPERBLOCK_AT), (IoTarget::Sidecar(0), [0, 4096])]
    {
        for at in ats {
            let mut devices = devices.clone();
            devices.of(place).rot(at + 20);
            let opened = devices.open(Mode::Back).expect("the other copy says the same");
            let mut after = World::of(9, BACK, devices, opened.tier, world.oracle.clone());
            world.oracle.check(&stamps(&after.read_all()), false);
        }
    }
}
