//! Guarantees of a tier over several hosts: reads return the newest data, from the right place.
//! Nothing is lost while at most as many hosts fail at once as there are copies.

use std::collections::HashMap;

use proptest::prelude::*;
use state_machine::Operation;
use tilemark_cache::tier::{
    Access, Config, HostId, Population, Step, StepDevice, VmId, VmSettings, WriteMode,
};
use tilemark_cache::{PolicyKind, Tier};

use crate::devices::{Devices, SECTOR};

const PAGE: u32 = 4096;
const READ: Operation = Operation::Read;
const WRITE: Operation = Operation::Write;

#[derive(Debug, Clone)]
enum Event {
    Access { vm: u16, operation: Operation, sector: u64, sectors: u64 },
    Set { vm: u16, host: u16, is_back: bool, population: Population },
    Destage { host: u16, pages: usize },
    Fail { hosts: [u16; 2] },
    Restore { host: u16 },
}

const HOSTS: u16 = 4;
const SECTORS: u64 = 10 * 8;

fn events() -> impl Strategy<Value = Vec<Event>> {
    let populations = [
        Population::Both,
        Population::Both,
        Population::ReadsOnly,
        Population::WritesOnly,
        Population::Suspended,
    ];
    // Sizes of requests: whole pages, small parts of a page, and random sizes.
    let span = prop_oneof![
        (0..SECTORS / 8, 1..3_u64).prop_map(|(page, pages)| (page * 8, pages * 8)),
        (0..SECTORS, 1..3_u64),
        (0..SECTORS, 1..20_u64),
    ];
    let access = (0..3_u16, prop::bool::weighted(0.6), span).prop_map(|(vm, is_write, span)| {
        let operation = if is_write { WRITE } else { READ };
        let (sector, sectors) = (span.0, span.1.min(SECTORS - span.0));
        Event::Access { vm, operation, sector, sectors }
    });
    let set =
        (0..3_u16, 0..HOSTS, prop::bool::weighted(0.8), prop::sample::select(populations.to_vec()))
            .prop_map(|(vm, host, is_back, population)| Event::Set {
                vm,
                host,
                is_back,
                population,
            });
    let destage = (0..HOSTS, 1..4_usize).prop_map(|(host, pages)| Event::Destage { host, pages });
    let fail = (0..HOSTS, 0..HOSTS).prop_map(|(a, b)| Event::Fail { hosts: [a, b] });
    let restore = (0..HOSTS).prop_map(|host| Event::Restore { host });
    let event = prop_oneof![
        40 => access, 2 => set, 1 => destage, 2 => fail, 3 => restore
    ];
    prop::collection::vec(event, 1..250)
}

fn configs() -> impl Strategy<Value = Config> {
    let shares = prop::collection::vec(0..16_u64, usize::from(HOSTS));
    let policies = prop::sample::select(PolicyKind::ALL.to_vec());
    let domains = prop::collection::vec(0..3_u16, usize::from(HOSTS));
    (shares, 0..60_u8, policies, prop::option::of(domains)).prop_map(
        |(pages, log_percent, policy, domains)| {
            let shares_bytes = pages.iter().map(|pages| pages * u64::from(PAGE)).collect();
            let domains = domains.unwrap_or_default();
            Config { log_percent, policy, domains, ..Config::of_hosts(shares_bytes, PAGE) }
        },
    )
}

/// A cluster, its devices, and the expected content of every sector.
struct World {
    cluster: Tier,
    devices: Devices,
    newest: HashMap<u64, u64>,
    version: u64,
    copies: u8,
}

impl World {
    fn happen(&mut self, event: &Event) {
        let mut steps = Vec::new();
        match event {
            Event::Access { vm, operation, sector, sectors } => {
                self.access(*vm, *operation, *sector, *sectors);
            }
            Event::Set { vm, host, is_back, population } => {
                let write_mode = if *is_back { WriteMode::Back } else { WriteMode::Through };
                let (host, population) = (HostId(*host), *population);
                let settings = VmSettings { host, population, ..writes(write_mode, self.copies) };
                self.cluster.set(VmId(*vm), settings).expect("a host of the cluster");
            }
            Event::Destage { host, pages } => {
                self.cluster.clean(HostId(*host), *pages, &mut steps);
                self.devices.run(0, &steps);
            }
            Event::Fail { hosts } => {
                let hosts = &hosts.map(HostId)[..usize::from(self.copies)];
                self.cluster.fail(hosts, &mut steps);
                hosts.iter().for_each(|host| self.devices.lose(StepDevice::Share(*host)));
                self.devices.run(0, &steps);
            }
            Event::Restore { host } => self.cluster.restore(HostId(*host)),
        }
    }

    fn access(&mut self, vm: u16, operation: Operation, sector: u64, sectors: u64) {
        let length = u32::try_from(sectors * SECTOR).expect("a few pages");
        let access = Access { vm: VmId(vm), operation, offset: sector * SECTOR, length };
        let mut steps = Vec::new();
        self.cluster.access(&access, &mut steps);
        self.version += 1;
        let answer = self.devices.run(self.version, &steps);
        for sector in sector..sector + sectors {
            if operation == WRITE {
                self.newest.insert(sector, self.version);
            } else {
                let newest = self.newest.get(&sector).copied().unwrap_or(0);
                assert_eq!(answer.get(&sector), Some(&newest), "sector {sector}: {steps:?}");
            }
        }
    }

    fn check(&mut self) {
        let (counters, page) = (self.cluster.counters(), u64::from(PAGE));
        assert_eq!(counters.lost_bytes, 0, "no more hosts failed at once than there are copies");
        let mut steps = Vec::new();
        for host in (0..HOSTS).map(HostId) {
            let backlog = self.cluster.dirty_bytes_of(host) / page;
            let destaged = self.cluster.clean(host, usize::MAX, &mut steps);
            assert_eq!(destaged as u64, backlog);
        }
        assert_eq!(self.cluster.dirty_bytes(), 0);
        self.devices.run(0, &steps);
        for (sector, version) in &self.newest {
            assert_eq!(self.devices.backing(*sector), *version, "sector {sector}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn reads_see_newest_write_and_failures_within_copies_are_safe(
        config in configs(), copies in 0..3_u8, events in events()
    ) {
        let cluster = Tier::new(config).expect("within its range");
        let devices = Devices::default();
        let mut world =
            World { cluster, devices, newest: HashMap::new(), version: 0, copies };
        events.iter().for_each(|event| world.happen(event));
        world.check();
    }
}

const KIB: u64 = 1024;

const THROUGH: VmSettings = writes(WriteMode::Through, 0);

/// A virtual machine on the first host.
const fn writes(write_mode: WriteMode, copies: u8) -> VmSettings {
    let (host, population, share_max_percent) = (HostId(0), Population::Both, 100);
    VmSettings { host, write_mode, copies, population, share_max_percent }
}

/// Kept, with so many copies.
const fn back(copies: u8) -> VmSettings {
    writes(WriteMode::Back, copies)
}

/// Four hosts with 1 MiB each, and virtual machine 0 on the first.
fn cluster(vm: VmSettings) -> Tier {
    let mut cluster = Tier::new(Config::of_hosts(vec![1024 * KIB; 4], PAGE)).expect("in range");
    place(&mut cluster, 0, vm);
    cluster
}

fn place(cluster: &mut Tier, host: u16, vm: VmSettings) {
    cluster.set(VmId(0), VmSettings { host: HostId(host), ..vm }).expect("one of four");
}

fn steps(cluster: &mut Tier, operation: Operation, offset: u64, length: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    cluster.access(&Access { vm: VmId(0), operation, offset, length }, &mut steps);
    steps
}

const BACK: VmSettings = back(1);

#[test]
fn moved_vm_reads_old_footprint_remotely_and_builds_a_new_one() {
    let mut cluster = cluster(THROUGH);
    (0..16).for_each(|page| drop(steps(&mut cluster, READ, page * 4 * KIB, PAGE)));
    place(&mut cluster, 2, THROUGH);
    for page in 0..8 {
        let steps = steps(&mut cluster, READ, page * 4 * KIB, PAGE);
        assert!(steps[0].is_remote(), "{steps:?}");
        assert_eq!(steps[0].place, StepDevice::Share(HostId(0)));
    }
    (0..8).for_each(|page| drop(steps(&mut cluster, READ, page * 4 * KIB, PAGE)));
    let found = cluster.counters_of(VmId(0));
    assert_eq!((found.reads, found.remote_hits, found.read_hits), (32, 8, 16));
    assert_eq!(found.read_bytes - found.read_hit_bytes, 64 * KIB);
    assert_eq!(found.remote_hit_bytes, 32 * KIB);
    assert_eq!(cluster.resident_bytes_of(HostId(2)), 32 * KIB);
    assert_eq!(cluster.resident_bytes_of(HostId(0)), 64 * KIB, "what others read stays");
    assert_eq!(found.acceleration_rate(), Some(0.5));
}

#[test]
fn a_write_back_waits_for_its_copies_and_not_for_the_store() {
    for copies in 0..3 {
        let mut cluster = cluster(back(copies));
        let steps = steps(&mut cluster, WRITE, 0, PAGE);
        assert_eq!(steps.len(), 1 + usize::from(copies));
        assert_eq!(steps.iter().filter(|step| step.is_remote()).count(), usize::from(copies));
        assert!(steps.iter().all(|step| step.place != StepDevice::Backing));
        let found = cluster.counters();
        assert_eq!(found.copied_bytes, 4 * KIB * u64::from(copies));
        assert_eq!((found.writes_absorbed, found.writes_fallen_back), (1, 0));
        assert_eq!(cluster.dirty_bytes_of(HostId(0)), 4 * KIB);
    }
}

#[test]
fn a_write_goes_through_when_too_few_peers_are_up_or_have_room() {
    let mut cluster = cluster(back(2));
    cluster.fail(&[HostId(1), HostId(2)], &mut Vec::new());
    let through = steps(&mut cluster, WRITE, 0, PAGE);
    assert_eq!(through[0].place, StepDevice::Backing);
    cluster.restore(HostId(2));
    let back = steps(&mut cluster, WRITE, 0, PAGE);
    assert!(back.iter().all(|step| step.place != StepDevice::Backing), "{back:?}");
    // A log of 6 % of 1 MiB holds 15 pages: one is taken, fourteen more fit.
    for page in 1..20 {
        steps(&mut cluster, WRITE, page * 4 * KIB, PAGE);
    }
    let found = cluster.counters();
    assert_eq!((found.writes_absorbed, found.writes_fallen_back), (15, 6));
    let mut steps = Vec::new();
    assert_eq!(cluster.clean(HostId(0), 100, &mut steps), 15, "room is given back");
    assert_eq!(steps.len(), 30);
}

#[test]
fn flush_reaches_the_store_after_it_took_a_write_back_write() {
    let own = StepDevice::Share(HostId(0));
    let flushed = |cluster: &mut Tier| -> Vec<StepDevice> {
        steps(cluster, Operation::Flush, 0, 0).iter().map(|step| step.place).collect()
    };
    // First a write to a part of a page that is not cached. Then a write to a page with too few
    // peers for its copies.
    for (failed, length) in [(&[][..], 512), (&[HostId(1), HostId(2)], PAGE)] {
        let mut cluster = cluster(back(2));
        cluster.fail(failed, &mut Vec::new());
        assert_eq!(steps(&mut cluster, WRITE, 0, length)[0].place, StepDevice::Backing);
        assert_eq!(flushed(&mut cluster), [own, StepDevice::Backing]);
        assert_eq!(flushed(&mut cluster), [own], "nothing was written since");
    }
}

#[test]
fn a_host_without_a_share_reads_remotely_and_writes_through() {
    let shares = vec![1024 * KIB, 0];
    let mut cluster = Tier::new(Config::of_hosts(shares, PAGE)).expect("in range");
    steps(&mut cluster, READ, 0, PAGE);
    place(&mut cluster, 1, back(0));
    assert!(steps(&mut cluster, READ, 0, PAGE)[0].is_remote());
    assert_eq!(steps(&mut cluster, WRITE, 8 * KIB, PAGE)[0].place, StepDevice::Backing);
    assert_eq!(cluster.counters().writes_fallen_back, 1);
    assert_eq!(cluster.resident_bytes_of(HostId(1)), 0);
}

#[test]
fn what_is_dirty_where_a_machine_was_is_read_from_there() {
    let mut cluster = cluster(BACK);
    steps(&mut cluster, WRITE, 0, PAGE);
    place(&mut cluster, 3, BACK);
    let read = steps(&mut cluster, READ, 0, PAGE);
    assert_eq!(read[0].place, StepDevice::Share(HostId(0)));
    let write = steps(&mut cluster, WRITE, 0, PAGE);
    assert!(
        write
            .iter()
            .all(|step| step.place != StepDevice::Share(HostId(0)) || step.operation == WRITE),
        "{write:?}"
    );
    assert_eq!(cluster.dirty_bytes_of(HostId(0)), 0, "the newer write replaces the older");
    assert_eq!(cluster.dirty_bytes_of(HostId(3)), 4 * KIB);
}

#[test]
fn a_failed_host_loses_only_what_has_no_copy() {
    let mut with_copy = cluster(BACK);
    steps(&mut with_copy, WRITE, 0, PAGE);
    let mut rescue = Vec::new();
    with_copy.fail(&[HostId(0)], &mut rescue);
    assert_eq!(rescue[0].place, StepDevice::Share(HostId(1)), "from the copy");
    assert_eq!(rescue[1].place, StepDevice::Backing);
    assert_eq!(with_copy.counters().lost_bytes, 0);

    let mut without = cluster(back(0));
    steps(&mut without, WRITE, 0, PAGE);
    without.fail(&[HostId(0)], &mut Vec::new());
    assert_eq!(without.counters().lost_bytes, 4 * KIB);

    let mut both = cluster(BACK);
    steps(&mut both, WRITE, 0, PAGE);
    both.fail(&[HostId(0), HostId(1)], &mut Vec::new());
    assert_eq!(both.counters().lost_bytes, 4 * KIB, "host and peer together");
}

#[test]
fn two_parts_of_a_page_are_destaged_as_one_span() {
    let mut cluster = cluster(BACK);
    steps(&mut cluster, READ, 0, PAGE);
    steps(&mut cluster, WRITE, 0, 512);
    let second = steps(&mut cluster, WRITE, 1536, 512);
    assert_eq!(second.iter().map(|step| step.length).sum::<u32>(), 512 + 1024 + 1024 + 512);
    let mut destaged = Vec::new();
    cluster.clean(HostId(0), 1, &mut destaged);
    assert_eq!((destaged[1].offset, destaged[1].length), (0, 2048));
}

#[test]
fn a_cluster_that_cannot_be_is_refused_with_the_value() {
    let text = |config: Config| Tier::new(config).expect_err("refused").to_string();
    let of = |shares| Config::of_hosts(shares, PAGE);
    let good = of(vec![1024 * KIB; 2]);
    assert_eq!(text(of(Vec::new())), "a cluster of 0 hosts is outside 1 to 1024");
    let page = Config { page_bytes: 3000, ..good.clone() };
    assert_eq!(text(page), "page size 3000 B is not a power of two from 4 KiB to 1 MiB");
    let small = of(vec![1024, 1024 * KIB]);
    assert_eq!(text(small), "the share of host 0, 1024 B, holds no page or more than 2^28 pages");
    let mut cluster = Tier::new(good).expect("in range");
    let nowhere = VmSettings { host: HostId(2), ..THROUGH };
    let error = cluster.set(VmId(0), nowhere).expect_err("two hosts");
    assert_eq!(error.to_string(), "host 2 is not one of 2, counted from 0");
    assert!(cluster.set(VmId(0), back(3)).is_err());
}

#[test]
fn copies_are_outside_the_writers_fault_domain_and_apart() {
    let placed = |domains: &[u16], copies| {
        let shares = vec![8 * u64::from(PAGE); domains.len()];
        let config =
            Config { domains: domains.to_vec(), log_percent: 50, ..Config::of_hosts(shares, PAGE) };
        let mut cluster = Tier::new(config).expect("a valid tier");
        cluster.set(VmId(0), writes(WriteMode::Back, copies)).expect("host 0 exists");
        let mut steps = Vec::new();
        let access = Access { vm: VmId(0), operation: WRITE, offset: 0, length: PAGE };
        cluster.access(&access, &mut steps);
        let host = |step: &Step| match step.place {
            StepDevice::Share(host) => Some(host.0),
            StepDevice::Backing => None,
        };
        steps.iter().map(host).collect::<Vec<_>>()
    };
    assert_eq!(placed(&[0, 0, 1, 1], 1), [Some(0), Some(2)]);
    assert_eq!(placed(&[0, 1, 1, 2], 2), [Some(0), Some(1), Some(3)]);
    // Two domains have no room for two copies apart, so the write goes through.
    assert!(placed(&[0, 1, 1, 1], 2).contains(&None));
    let wrong = Config { domains: vec![0], ..Config::of_hosts(vec![1 << 20; 2], PAGE) };
    let error = Tier::new(wrong).expect_err("one domain for two hosts");
    assert_eq!(error.to_string(), "1 fault domains for 2 hosts");
}
