//! Guarantees of the tier: the newest data, in the right place, within the given limits.

use std::collections::HashMap;

use proptest::prelude::*;
use state_machine::Operation;
use tilemark_cache::tier::{
    Access, Admission, Config, ConfigError, HostId, Population, Step, StepDevice, VmId, VmSettings,
    WriteMode,
};
use tilemark_cache::{PolicyKind, Tier};

use crate::devices::{Devices, SECTOR};
use crate::traces;

const KIB: u32 = 1024;
/// The only host.
const HOST: HostId = HostId(0);
const TIER: StepDevice = StepDevice::Share(HOST);

fn access(vm: u16, operation: Operation, offset: u64, length: u32) -> Access {
    Access { vm: VmId(vm), operation, offset, length }
}

fn configs() -> impl Strategy<Value = Config> {
    let modes = vec![WriteMode::Through, WriteMode::Back, WriteMode::Around, WriteMode::Only];
    let admissions = vec![
        Admission::Always,
        Admission::NthAccess { accesses: 2, fill_percent: 0 },
        Admission::NthAccess { accesses: 3, fill_percent: 80 },
    ];
    (
        1_u64..12,
        prop::sample::select(modes),
        prop::sample::select(admissions),
        prop::sample::select(PolicyKind::ALL.to_vec()),
        prop::option::of(Just(64 * 1024_u64)),
    )
        .prop_map(|(pages, write_mode, admission, policy, sequential_bytes)| Config {
            vms: VmSettings { write_mode, ..VmSettings::default() },
            admission,
            policy,
            sequential_bytes,
            ..Config::new(pages * 8192, 8192)
        })
}

proptest! {
    #[test]
    fn reads_return_the_newest_write_and_cleaning_loses_nothing(
        config in configs(),
        accesses in prop::collection::vec((0_u16..3, 0_u8..5, 0_u64..320, 1_u32..80), 1..200),
    ) {
        let places = config.capacity_bytes();
        let mut tier = Tier::new(config).expect("a valid configuration");
        limit(&mut tier, 1, Population::Both, 30);
        limit(&mut tier, 2, Population::WritesOnly, 60);
        let mut devices = Devices::default();
        let mut newest: HashMap<u64, u64> = HashMap::new();
        let mut steps = Vec::new();
        for (version, (vm, kind, sector, sectors)) in (1..).zip(accesses) {
            steps.clear();
            if kind == 4 {
                tier.clean(HOST, usize::from(vm) + 1, &mut steps);
                devices.run(version, &steps);
                continue;
            }
            let operation = if kind < 2 { Operation::Read } else { Operation::Write };
            let length = sectors * 512;
            let access = access(vm, operation, sector * SECTOR, length);
            tier.access(&access, &mut steps);
            let answer = devices.run(version, &steps);
            for sector in sector..sector + u64::from(sectors) {
                if operation == Operation::Write {
                    newest.insert(sector, version);
                } else {
                    let wanted = newest.get(&sector).copied().unwrap_or(0);
                    prop_assert_eq!(answer.get(&sector).copied(), Some(wanted), "sector {}", sector);
                }
            }
            let on_tier = steps.iter().filter(|step| step.place == TIER);
            for step in on_tier {
                prop_assert!(step.offset + u64::from(step.length) <= places);
            }
            prop_assert!(tier.resident_bytes() <= places && tier.dirty_bytes() <= tier.resident_bytes());
            let sum: u64 = (0..3).map(|vm| tier.footprint_bytes(VmId(vm))).sum();
            prop_assert_eq!(sum, tier.resident_bytes());
        }
        steps.clear();
        tier.clean(HOST, usize::MAX, &mut steps);
        devices.run(0, &steps);
        prop_assert_eq!(tier.dirty_bytes(), 0);
        for (sector, version) in newest {
            prop_assert_eq!(devices.backing(sector), version);
        }
        let counters = tier.counters();
        prop_assert_eq!(
            counters.filled_bytes + counters.placed_bytes - counters.evicted_bytes,
            tier.resident_bytes()
        );
    }
}

fn tier(change: impl FnOnce(&mut Config)) -> Tier {
    let mut config = Config::new(u64::from(64 * KIB) * 10, 64 * KIB);
    change(&mut config);
    Tier::new(config).expect("a valid configuration")
}

fn limit(tier: &mut Tier, vm: u16, population: Population, share_max_percent: u8) {
    let settings = tier.settings_of(VmId(vm));
    tier.set(VmId(vm), VmSettings { population, share_max_percent, ..settings }).expect("in range");
}

fn run(tier: &mut Tier, access: Access) -> Vec<Step> {
    let mut steps = Vec::new();
    tier.access(&access, &mut steps);
    steps
}

#[test]
fn page_is_admitted_on_nth_access_above_the_fill_level() {
    let mut tier = tier(|config| {
        config.admission = Admission::NthAccess { accesses: 3, fill_percent: 80 };
    });
    let page = u64::from(64 * KIB);
    for at in 0..8 {
        run(&mut tier, access(0, Operation::Read, at * page, 4096));
    }
    assert_eq!(tier.resident_bytes(), 8 * page, "below 80 % the first access brings pages in");
    for seen in 1..=3 {
        assert_eq!(tier.resident_bytes(), 8 * page, "before access {seen}");
        run(&mut tier, access(0, Operation::Read, 20 * page, 4096));
    }
    assert_eq!(tier.resident_bytes(), 9 * page);
    assert_eq!(tier.counters().refused_bytes, 2 * 4096);
}

#[test]
fn a_long_run_brings_nothing_in_after_the_cut_off() {
    let mut tier = tier(|config| config.sequential_bytes = Some(128 * 1024));
    for at in 0..6 {
        run(&mut tier, access(0, Operation::Read, at * 65_536, 64 * KIB));
        // Another VM's accesses between do not break the run.
        run(&mut tier, access(1, Operation::Read, 1 << 30, 4096));
    }
    assert_eq!(tier.footprint_bytes(VmId(0)), 2 * 65_536);
    assert_eq!(tier.counters_of(VmId(0)).sequential_bytes, 4 * 65_536);
}

#[test]
fn noisy_vm_evicts_its_own_pages_and_suspended_vm_still_hits() {
    let mut tier = tier(|_| {});
    let page = u64::from(64 * KIB);
    limit(&mut tier, 1, Population::Both, 30);
    for at in 0..7 {
        run(&mut tier, access(0, Operation::Read, at * page, 4096));
    }
    for at in 100..200 {
        run(&mut tier, access(1, Operation::Read, at * page, 4096));
    }
    assert_eq!(tier.footprint_bytes(VmId(0)), 7 * page, "the other VM's pages are all there");
    assert_eq!(tier.footprint_bytes(VmId(1)), 3 * page);
    limit(&mut tier, 0, Population::Suspended, 100);
    run(&mut tier, access(0, Operation::Read, 0, 4096));
    run(&mut tier, access(0, Operation::Read, 50 * page, 4096));
    assert_eq!(tier.counters_of(VmId(0)).read_hits, 1);
    assert_eq!(tier.footprint_bytes(VmId(0)), 7 * page);
}

#[test]
fn write_back_destages_in_order_between_the_watermarks() {
    let mut tier = tier(|config| {
        config.vms.write_mode = WriteMode::Back;
        config.dirty_high_percent = 50;
        config.dirty_low_percent = 20;
    });
    let page = u64::from(64 * KIB);
    for at in [5, 3, 8, 1, 9] {
        let steps = run(&mut tier, access(0, Operation::Write, at * page, 64 * KIB));
        assert!(steps.iter().all(|step| step.place == TIER), "{steps:?}");
    }
    assert!(!tier.wants_cleaning(HOST), "half of the pages are allowed");
    run(&mut tier, access(0, Operation::Write, 2 * page, 64 * KIB));
    let mut order = Vec::new();
    while tier.wants_cleaning(HOST) {
        let mut steps = Vec::new();
        tier.clean(HOST, 1, &mut steps);
        order.extend(
            steps.iter().filter(|step| step.place == StepDevice::Backing).map(|s| s.offset / page),
        );
    }
    assert_eq!(order, [5, 3, 8, 1]);
    assert_eq!(tier.dirty_bytes(), 2 * page);
    assert_eq!(tier.counters().acceleration_rate(), Some(1.0));
    assert_eq!(run(&mut tier, access(0, Operation::Flush, 0, 0))[0].place, TIER);
}

fn flushed(tier: &mut Tier, vm: u16) -> Vec<StepDevice> {
    run(tier, access(vm, Operation::Flush, 0, 0)).iter().map(|step| step.place).collect()
}

#[test]
fn flush_reaches_backing_after_it_took_a_write_back_write() {
    let page = u64::from(64 * KIB);
    let partial = access(0, Operation::Write, 0, 4096);
    let whole = access(0, Operation::Write, 5 * page, 64 * KIB);
    for (write, population, scan) in [
        (partial, Population::Both, None),
        (whole, Population::ReadsOnly, None),
        (whole, Population::Both, Some(0)),
    ] {
        let mut tier = tier(|config| {
            config.vms.write_mode = WriteMode::Back;
            config.sequential_bytes = scan;
        });
        limit(&mut tier, 0, population, 100);
        let steps = run(&mut tier, write);
        assert!(steps.iter().any(|step| step.place == StepDevice::Backing), "{steps:?}");
        assert_eq!(flushed(&mut tier, 1), [TIER], "another VM wrote nothing");
        assert_eq!(flushed(&mut tier, 0), [TIER, StepDevice::Backing], "{write:?}");
        assert_eq!(flushed(&mut tier, 0), [TIER], "nothing was written since");
    }
}

#[test]
fn request_over_missing_pages_is_one_backing_request() {
    let mut tier = tier(|config| config.vms.write_mode = WriteMode::Around);
    let steps = run(&mut tier, access(0, Operation::Write, 4096, 512 * KIB));
    assert_eq!(steps.len(), 1, "{steps:?}");
    assert_eq!((steps[0].offset, steps[0].length), (4096, 512 * KIB));
    assert_eq!(tier.resident_bytes(), 0);
}

#[test]
fn impossible_tiers_are_refused_with_the_value_seen() {
    let refused = |config: Config| Tier::new(config).expect_err("refused");
    assert_eq!(refused(Config::new(1 << 30, 3000)), ConfigError::PageSize { bytes: 3000 });
    assert_eq!(refused(Config::new(1 << 30, 2 << 20)), ConfigError::PageSize { bytes: 2 << 20 });
    let error = refused(Config::new(1000, 4096)).to_string();
    assert_eq!(error, "a tier of 1000 B holds no page of 4096 B, or more than 2^28 pages");
    let marks = Config { dirty_low_percent: 60, ..Config::new(1 << 30, 4096) };
    assert_eq!(refused(marks), ConfigError::Watermarks { low: 60, high: 50 });
}

/// I/O and read hit ratios and promotions of a separately written model of the same trace: 64 KiB
/// pages, LRU, all pages of an I/O resident, twice as many counts as pages.
#[test]
#[expect(clippy::cast_precision_loss, reason = "a hundred thousand requests fit a float exactly")]
fn a_real_trace_gives_the_hits_and_promotions_of_another_model() {
    let Some(folder) = traces::folder("tier") else { return };
    let requests = traces::requests(&folder);
    let third = |fill_percent| Admission::NthAccess { accesses: 3, fill_percent };
    let rows = [
        (969, Admission::Always, 0.3866, 0.3303, 74_831.0),
        (969, third(0), 0.2990, 0.2007, 8_254.0),
        (969, third(80), 0.3035, 0.2008, 8_764.0),
        (7749, Admission::Always, 0.6504, 0.7238, 42_757.0),
        (7749, third(0), 0.5358, 0.5803, 23_636.0),
        (7749, third(80), 0.5964, 0.6416, 22_415.0),
    ];
    for (pages, admission, io_hits, read_hits, promotions) in rows {
        let config = Config {
            admission,
            vms: VmSettings { write_mode: WriteMode::Back, ..VmSettings::default() },
            ..Config::new(pages * 65_536, 64 * KIB)
        };
        let mut tier = Tier::new(config).expect("a valid configuration");
        let mut steps = Vec::new();
        for (operation, offset, length) in &requests {
            steps.clear();
            tier.access(&access(0, *operation, *offset, *length), &mut steps);
        }
        let sum = tier.counters();
        let ours = (sum.read_hits + sum.write_hits) as f64 / (sum.reads + sum.writes) as f64;
        let reads = sum.read_hits as f64 / sum.reads as f64;
        let promoted = (sum.filled_bytes + sum.placed_bytes) as f64 / 65_536.0;
        eprintln!(
            "{pages} pages, {admission:?}: I/O hits {ours:.4} ({io_hits}), read hits {reads:.4} \
             ({read_hits}), promotions {promoted} ({promotions}), tier writes {:.2} GiB",
            sum.tier_written_bytes as f64 / (1_u64 << 30) as f64,
        );
        assert!((ours - io_hits).abs() < 0.000_1 && (reads - read_hits).abs() < 0.000_1);
        assert!((promoted - promotions).abs() < 2.0);
    }
}
