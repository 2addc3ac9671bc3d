use cache::Tier;
use cache::tier::{Access, Config, VmId, VmSettings, WriteMode};
use run_store::run::PartKind;
use state_machine::{Effects, Event, Machine};
use tilemark_sim::plant::{Warm, WarmFilter};
use units::Nanos;

use crate::support::{Load, array, assert_within, instance, machines, plant, run};

const GB: u64 = 1 << 30;

fn fast(rest: &str) -> String {
    format!(
        r#"
        {rest}
        [[tier]]
        name = "fast"
        size = "256MiB"
        disk = "ssd-nvme-mqsim"
        [[pool]]
        name = "lun"
        disk = "hdd-10k"
        count = 4
        "#
    )
}

fn load(seed: u64) -> Load {
    Load { reads: 0.7, length: 8192, addresses: (2 * GB) / 8192, ..Load::users(seed, 1) }
}

/// With one user the order of accesses does not depend on time, so the plain tier sees the same.
#[test]
fn a_tier_hits_as_often_as_the_plain_calculation() {
    let array = array(&fast(""));
    let run = run(plant(&array, &[instance(0, &[2 * GB])]), vec![load(1)], 30);
    let vms = VmSettings { write_mode: WriteMode::Back, ..VmSettings::default() };
    let mut tier =
        Tier::new(Config { vms, ..Config::new(256 << 20, 64 << 10) }).expect("a valid tier");
    let (mut load, mut fx, mut steps) = (load(1), Effects::default(), Vec::new());
    let mut event = Event::Start;
    for _ in 0..run.loads[0].submitted {
        load.handle(Nanos::ZERO, event, &mut fx);
        let request = fx.io.pop().expect("one user has one request");
        let (operation, offset, length) = (request.operation, request.offset, request.length);
        steps.clear();
        tier.access(&Access { vm: VmId(0), operation, offset, length }, &mut steps);
        event = Event::Done(request.token, Ok(()));
    }
    let state = run.plant.snapshot();
    let own = state.counters();
    let plain = tier.counters();
    assert!(plain.read_hits > 500 && plain.evicted_bytes > 0, "{plain:?}");
    assert_eq!(
        (own.reads, own.read_hits, own.writes, own.write_hits, own.filled_bytes),
        (plain.reads, plain.read_hits, plain.writes, plain.write_hits, plain.filled_bytes)
    );
}

#[test]
fn memory_in_front_of_a_tier_takes_its_writes_away() {
    let absorbed = |first: bool| {
        let array = array(&fast(&format!(
            "[controller]\nmemory-first = {first}\nwrite-memory = {{ size = \"512MiB\" }}\n"
        )));
        let instances = [instance(0, &[2 * GB])];
        let load = Load { addresses: 1000, ..load(1) };
        let run = run(plant(&array, &instances), vec![load], 10);
        (
            run.facts.tiers[0].counts.writes,
            run.facts.parts.iter().any(|part| part.kind == PartKind::WriteMemory),
        )
    };
    let ((behind, has_memory), (before, _)) = (absorbed(true), absorbed(false));
    assert!(has_memory);
    assert_eq!(behind, 0, "all writes stay in memory, below the high mark");
    assert!(before > 1000, "{before}");
}

#[test]
fn memory_for_tiers_answers_their_io_and_tiers_see_all_of_it() {
    let ends = |key: &str, reads: f64| {
        let array = array(&fast(&format!(
            "[controller]\n{key}write-memory = {{ size = \"512MiB\", hit = \"2ms\" }}\n\
            read-memory = {{ size = \"64MiB\", hit = \"3ms\" }}\n"
        )));
        let load = Load { addresses: 1000, reads, ..load(1) };
        let run = run(plant(&array, &[instance(0, &[2 * GB])]), vec![load], 60);
        let [tier, memory] = &run.facts.tiers[..] else { panic!("a tier and memory") };
        let hits = tier.counts.read_hits + tier.counts.write_hits;
        let all = tier.counts.reads + tier.counts.writes;
        (run.loads[0].mean(), hits as f64 / all as f64, memory.counts.reads, all)
    };
    for (reads, hit) in [(0.0, 0.002), (1.0, 0.003)] {
        let (flash, plain_hits, ..) = ends("", reads);
        let (memory, hits, counted, all) = ends("memory-for-tiers = true\n", reads);
        assert!(flash < 0.001, "flash answers: {flash} s");
        assert_within(0.1, memory, hit, "memory answers");
        assert_within(0.05, hits, plain_hits, "the tier counts accesses before memory");
        assert!(counted < all / 10, "hits count once: {counted} of {all}");
    }
}

fn warm(filter: WarmFilter, accesses_per_tile_max: u64) -> Warm {
    Warm { filter, accesses_per_tile_max, ..Warm::default() }
}

#[test]
fn filling_a_tier_ends_soon_after_it_is_told_to() {
    let array = array(&fast(""));
    let mut plant = plant(&array, &[instance(0, &[2 * GB])]);
    let options = warm(WarmFilter::Bypassed, 2_000_000);
    let report = plant.warm_while(&mut machines(vec![load(99)]), &options, &|| false);
    assert!((1..1000).contains(&report.accesses), "{report:?}");
}

#[test]
fn warmed_tier_hits_at_once_and_is_dirty_up_to_its_low_mark() {
    let array = array(&fast(""));
    let instances = [instance(0, &[2 * GB])];
    let mut plant = plant(&array, &instances);
    let report = plant.warm(&mut machines(vec![load(99)]), &warm(WarmFilter::Bypassed, 2_000_000));
    assert!(report.is_stable && report.accesses < 2_000_000, "{report:?}");
    assert!(report.filled > 0.99, "{report:?}");
    let state = plant.snapshot();
    assert_eq!(state.counters().reads, 0);
    let dirty = state.dirty_bytes();
    let run = run(plant, vec![load(1)], 10);
    let tier = &run.facts.tiers[0].counts;
    let low = run.facts.tiers[0].capacity_bytes * 45 / 100;
    assert!((1..=low).contains(&dirty), "{dirty} B, and the low mark is {low} B");
    let ratio = (tier.read_hits + tier.write_hits) as f64 / (tier.reads + tier.writes) as f64;
    assert!((ratio - report.hit_ratio).abs() < 0.02, "{ratio} against {}", report.hit_ratio);
}

#[test]
fn warmed_runs_repeat_and_restored_state_runs_the_same() {
    let array = array(&fast("[controller]\nread-memory = { size = \"32MiB\" }\n"));
    let other = array_of_five();
    let instances = [instance(0, &[2 * GB])];
    let warmed = || {
        let mut plant = plant(&array, &instances);
        plant.warm(&mut machines(vec![load(99)]), &warm(WarmFilter::Kept, 200_000));
        plant
    };
    let first = run(warmed(), vec![load(1)], 5);
    let second = run(warmed(), vec![load(1)], 5);
    assert_eq!((&first.loads, &first.facts), (&second.loads, &second.facts));
    let state = warmed().snapshot();
    let mut fresh = plant(&array, &instances);
    fresh.restore(&state).expect("it is the same plant");
    let third = run(fresh, vec![load(1)], 5);
    assert_eq!((&first.loads, &first.facts), (&third.loads, &third.facts));
    let mut more_disks = plant(&other, &instances);
    more_disks.restore(&state).expect("tiers and virtual disks are the same");
    let mut others = plant(&array, &[instance(0, &[GB])]);
    assert!(others.restore(&state).is_err(), "another virtual disk");
}

/// Reads that miss the tier come from disks, and take as long as the disks take.
#[test]
fn the_time_behind_a_tier_is_that_of_the_disks() {
    let array = array(&fast(""));
    let instances = [instance(0, &[2 * GB])];
    let mut plant = plant(&array, &instances);
    plant.warm(&mut machines(vec![load(99)]), &warm(WarmFilter::Bypassed, 2_000_000));
    let mut run = run(plant, vec![load(1)], 10);
    let told = run.plant.tiers();
    let tier = &told[0];
    let (misses, behind) = (tier.counts.reads - tier.counts.read_hits, tier.behind.read.count());
    assert!(misses > 100 && behind >= misses, "{behind} reads behind for {misses} misses");
    let p50 = behind_p50(&tier.behind.read);
    assert!((Nanos::from_millis(1)..Nanos::from_millis(500)).contains(&p50), "{p50}");
    assert!(tier.behind.write.count() > 0, "dirty pages were cleaned");
    let again = run.plant.tiers();
    assert!(again[0].behind.read.is_empty(), "it is told once");
}

fn behind_p50(latencies: &stats::Compact) -> Nanos {
    latencies.percentile(units::Ratio::new(0.5)).expect("there were reads")
}

fn array_of_five() -> spec::array::Array {
    let text = fast("[controller]\nread-memory = { size = \"32MiB\" }\n");
    array(&text.replace("count = 4", "count = 5"))
}

/// Dirty pages are bounded by the marks although the pool is far too slow for the writes, and the
/// tier slows down to the rate of the pool instead of piling up work.
#[test]
fn overload_waits_instead_of_piling_up() {
    let array = array(
        r#"
        [[tier]]
        name = "fast"
        size = "64MiB"
        disk = "ssd-nvme-mqsim"
        [[pool]]
        name = "lun"
        disk = "hdd-7200"
        count = 1
        "#,
    );
    let instances = [instance(0, &[2 * GB])];
    let load =
        Load { reads: 0.0, length: 65536, addresses: (2 * GB) / 65536, ..Load::users(1, 64) };
    let run = run(plant(&array, &instances), vec![load], 10);
    let (tier, disks) = (&run.facts.tiers[0].counts, run.facts.parts.last().expect("a pool"));
    assert!(tier.dirty_bytes_max <= 64 << 20, "{tier:?}");
    assert!(disks.utilisation > 0.99, "{disks:?}");
    // 64 requests wait, each for one destage, beside at most 16 of clean-up.
    assert!(disks.inside <= 81.0, "{disks:?}");
    assert_eq!(run.outcome.submitted, run.outcome.completed);
    assert_eq!(tier.writes, tier.write_hits + (tier.placed_bytes >> 16), "{tier:?}");
}

#[test]
fn each_host_has_a_tier_of_its_own() {
    let text = r#"
        [hosts]
        count = 2
        cores = 2
        [[tier]]
        name = "flash"
        at = "host"
        write = "through"
        size = "128MiB"
        disk = "memory"
        [[pool]]
        name = "lun"
        disk = "hdd-10k"
        count = 4
    "#;
    let array = array(text);
    let instances = [instance(0, &[GB]), instance(0, &[GB])];
    let mut plant = plant(&array, &instances);
    let load = |seed| Load { addresses: 1 << 14, ..Load::users(seed, 1) };
    plant.warm(&mut machines(vec![load(7), load(8)]), &warm(WarmFilter::Kept, 100_000));
    let run = run(plant, vec![load(1), load(2)], 2);
    let tier = &run.facts.tiers[0].counts;
    assert_eq!(run.facts.tiers[0].capacity_bytes, 256 << 20);
    assert_eq!(tier.read_hits, tier.reads);
    let hosts: Vec<_> = run.facts.places.iter().map(|place| place.hosts.join(", ")).collect();
    assert_eq!(hosts, ["host-1, host-2"], "two copies of a workload of one tile");
    assert_eq!(tier.resident_bytes, 128 << 20, "64 MiB of each machine's");
    assert_within(0.05, run.loads[0].mean(), 10e-6, "memory answers in 10 us");
}
