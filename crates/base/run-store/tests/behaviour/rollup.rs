//! The rollup against a plain model that puts every row of every slice into its bucket.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::prelude::*;
use stats::Histogram;
use tilemark_run_store::gauge::{GaugeName, Readings};
use tilemark_run_store::rollup::{
    Group, Level, NARROW_BUCKETS, NARROW_ROWS, Rollup, TierRow, WIDE_BUCKETS, WIDE_ROWS,
};
use tilemark_run_store::run::{Phase, TierCounts, TierFacts};
use tilemark_run_store::rundir::{RunDir, RunId, StoredRun, files};
use tilemark_run_store::series::{
    IoRecord, StepKey, Writer, count_between, read_between, read_run,
};
use tilemark_run_store::slice::{
    ActionRow, CallRow, Direction, InstanceId, IoRow, SizeClass, Slice, Topology, VmId,
};
use units::{Bytes, Nanos};

use crate::sample;

/// A phase of a step: its key, and its slices with their I/O.
#[derive(Debug, Clone)]
struct StepPhase {
    key: StepKey,
    slices: Vec<Slice>,
}

fn io_row() -> impl Strategy<Value = IoRow> {
    let samples = proptest::collection::vec(1_000_u64..50_000_000, 0..6);
    (0_u32..4, 0_usize..3, 0_u8..8, samples, 0_u64..2).prop_map(
        |(vm, direction, class, samples, errors)| {
            let mut histogram = Histogram::new();
            samples.iter().for_each(|value| histogram.record(Nanos(*value)));
            IoRow {
                vm: VmId(vm),
                kind: 0,
                direction: Direction::ALL[direction],
                class: SizeClass::from_index(class).expect("a class"),
                bytes: Bytes::new(4096 * samples.len() as u64),
                errors,
                service: histogram.compact(),
                response: histogram.compact(),
            }
        },
    )
}

fn action_row() -> impl Strategy<Value = ActionRow> {
    (0_u32..2, 0_u16..2, 0_u64..3, proptest::collection::vec(1_000_u64..9_000_000, 0..4)).prop_map(
        |(instance, action, dropped, samples)| {
            let mut histogram = Histogram::new();
            samples.iter().for_each(|value| histogram.record(Nanos(*value)));
            ActionRow {
                instance: InstanceId(instance),
                action,
                group: 0,
                errors: 0,
                dropped,
                service: histogram.compact(),
                response: histogram.compact(),
            }
        },
    )
}

fn call_row() -> impl Strategy<Value = CallRow> {
    let samples = proptest::collection::vec(1_000_u64..9_000_000, 0..4);
    (0_u32..2, samples, [0_u64..2, 0..2, 0..2, 0..2, 0..2]).prop_map(|(own, samples, errors)| {
        let mut histogram = Histogram::new();
        samples.iter().for_each(|value| histogram.record(Nanos(*value)));
        CallRow {
            instance: InstanceId(own),
            kind: 0,
            bytes: Bytes::new(700 * samples.len() as u64),
            errors,
            service: histogram.compact(),
            response: histogram.compact(),
        }
    })
}

/// Random steps of up to `most` slices per phase. Most slices are idle, so that buckets differ.
fn run(most: usize) -> impl Strategy<Value = Vec<StepPhase>> {
    let slice = prop_oneof![
        3 => Just((Vec::new(), Vec::new(), Vec::new())),
        2 => (
            proptest::collection::vec(io_row(), 0..4),
            proptest::collection::vec(action_row(), 0..3),
            proptest::collection::vec(call_row(), 0..2)
        ),
    ];
    let step = proptest::collection::vec(proptest::collection::vec(slice, 0..most), 3);
    proptest::collection::vec(step, 1..4).prop_map(|steps| {
        let mut parts = Vec::new();
        for (step, phases) in (1..).zip(steps) {
            let mut start = Nanos::ZERO;
            for (phase, contents) in Phase::ALL.into_iter().zip(phases) {
                let key = StepKey { step, tiles: 2, repeat: 1, phase };
                let slices = contents.into_iter().map(|(io, actions, calls)| {
                    let slice = Slice {
                        start,
                        width: Nanos::SECOND,
                        io,
                        actions,
                        calls,
                        ..sample::slice(0)
                    };
                    start += Nanos::SECOND;
                    slice
                });
                parts.push(StepPhase { key, slices: slices.collect() });
            }
        }
        parts
    })
}

fn folded(parts: &[StepPhase]) -> Rollup {
    let mut rollup = Rollup::new();
    for part in parts {
        for slice in &part.slices {
            rollup.slice(part.key, &sample::topology(), slice);
        }
    }
    rollup
}

type Cell = (u64, u64, Histogram);

/// Cells of a level by the model: by span, bucket, name, direction and class.
fn model(
    parts: &[StepPhase],
    width: Nanos,
    who: fn(u32) -> String,
) -> BTreeMap<(usize, u64, String, Direction, SizeClass), Cell> {
    let mut cells: BTreeMap<_, Cell> = BTreeMap::new();
    let filled = parts.iter().filter(|part| !part.slices.is_empty());
    for (span, part) in filled.enumerate() {
        let zero = part.slices[0].start;
        for slice in &part.slices {
            let bucket = slice.start.saturating_sub(zero).0 / width.0;
            for row in &slice.io {
                let key = (span, bucket, who(row.vm.0 / 2), row.direction, row.class);
                let cell = cells.entry(key).or_default();
                cell.0 += row.bytes.get();
                cell.1 += row.errors;
                cell.2.merge_compact(&row.service);
            }
        }
    }
    cells
}

fn assert_level(level: &Level, parts: &[StepPhase], who: fn(u32) -> String) {
    let model = model(parts, level.width, who);
    assert_eq!(level.rows.len(), model.len());
    let places: Vec<_> = level
        .rows
        .iter()
        .map(|row| (row.span, row.bucket, row.entity, row.direction, row.class))
        .collect();
    assert!(places.is_sorted_by(|a, b| a < b), "ascending, and none twice");
    for row in &level.rows {
        let entity = &level.entities[row.entity as usize];
        let name = match entity.tile {
            Some(tile) => format!("{tile} {}", entity.workload),
            None => entity.workload.clone(),
        };
        let key = (row.span as usize, row.bucket.into(), name, row.direction, row.class);
        let (bytes, errors, service) = &model[&key];
        assert_eq!((row.bytes, row.errors), (*bytes, *errors));
        assert_eq!(row.service, service.compact());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn merged_buckets_equal_their_slices_after_any_merges(
        parts in prop_oneof![4 => run(150), 1 => run(900)]
    ) {
        let rollup = folded(&parts);
        assert_level(rollup.wide(), &parts, |_| "shop".to_owned());
        assert_level(rollup.narrow(), &parts, |tile| format!("{tile} shop"));
    }

    #[test]
    fn buckets_are_few_and_lie_in_their_spans(
        parts in prop_oneof![4 => run(150), 1 => run(900)]
    ) {
        let rollup = folded(&parts);
        let filled: Vec<_> = parts.iter().filter(|part| !part.slices.is_empty()).collect();
        prop_assert_eq!(rollup.spans().len(), filled.len());
        let mut end = Nanos::ZERO;
        for (span, part) in rollup.spans().iter().zip(filled) {
            prop_assert_eq!(span.from, end);
            prop_assert_eq!(span.to.saturating_sub(span.from).0, part.slices.len() as u64 * Nanos::SECOND.0);
            prop_assert_eq!(span.from, span.zero + part.slices[0].start);
            end = span.to;
        }
        prop_assert_eq!(rollup.end(), end);
        for (level, most) in [(rollup.wide(), WIDE_BUCKETS), (rollup.narrow(), NARROW_BUCKETS)] {
            let mut count = 0;
            for span in rollup.spans() {
                count += span.to.saturating_sub(span.from).0.div_ceil(level.width.0);
            }
            prop_assert!(count <= most.max(rollup.spans().len()) as u64);
            for row in &level.rows {
                let (from, width) = rollup.place(level, row.span, row.bucket);
                let span = rollup.spans()[row.span as usize];
                prop_assert!(span.from <= from && from < span.to && width > Nanos::ZERO);
                prop_assert!(from + width <= span.to);
            }
        }
    }

    #[test]
    fn rates_are_the_least_and_most_of_the_slices_in_a_bucket(parts in run(900)) {
        let rollup = folded(&parts);
        let filled: Vec<_> = parts.iter().filter(|part| !part.slices.is_empty()).collect();
        for row in rollup.rates() {
            let part = filled[row.span as usize];
            let width = rollup.wide().width.0 / Nanos::SECOND.0;
            let from = usize::try_from(u64::from(row.bucket) * width).expect("small");
            let to = part.slices.len().min(from + usize::try_from(width).expect("small"));
            let is_of = |io: &&IoRow| match row.group {
                Group::All | Group::Entity(_) => true,
                Group::Direction(direction) => io.direction == direction,
                Group::Class(class) => io.class == class,
            };
            let counts = part.slices[from..to].iter().map(|slice| {
                slice.io.iter().filter(is_of).map(|io| io.service.count()).sum::<u64>()
            });
            let (least, most) = counts.fold((u64::MAX, 0), |(a, b), n| (a.min(n), b.max(n)));
            prop_assert_eq!((row.operations_min, row.operations_max), (least as f64, most as f64));
        }
        let all = rollup.rates().iter().filter(|row| row.group == Group::All).count();
        prop_assert_eq!(all, rollup.slices().len());
    }

    #[test]
    fn what_is_written_reads_back(parts in run(150)) {
        let dir = tempfile::tempdir().expect("a directory");
        let mut rollup = folded(&parts);
        let slow = TierFacts { name: "slow".to_owned(), ..tier(1, 1) };
        rollup.readings(Nanos::SECOND, &Readings::of_tiers(vec![tier(7, 3), slow]));
        rollup.write(dir.path()).expect("writes");
        let back = Rollup::read(dir.path()).expect("reads");
        prop_assert_eq!(&back, &rollup);
        // A rollup that was read can be added to like the original.
        let key = StepKey { step: 9, tiles: 2, repeat: 1, phase: Phase::Measured };
        let mut both = [rollup, back];
        for one in &mut both {
            one.slice(key, &sample::topology(), &sample::slice(0));
        }
        prop_assert_eq!(&both[0], &both[1]);
    }

    #[test]
    fn totals_equal_the_series_and_older_runs_fold_to_the_same(parts in run(60)) {
        let base = tempfile::tempdir().expect("a directory");
        let id = RunId::new("test", Timestamp::UNIX_EPOCH).expect("an id");
        let directory = RunDir::create(base.path(), &id).expect("creates");
        let mut writer = directory.series().expect("a series");
        for part in &parts {
            for slice in &part.slices {
                writer.append(part.key, &sample::topology(), slice).expect("appends");
            }
        }
        writer.finish().expect("finishes");
        let stored = StoredRun::at(directory.path()).expect("a run");
        let rollup = Rollup::of_run(&stored).expect("folds");
        let direct = folded(&parts);
        prop_assert_eq!(rollup.spans(), direct.spans());
        prop_assert_eq!(rollup.slices(), direct.slices());
        prop_assert_eq!(&rollup.wide().rows, &direct.wide().rows);
        assert_level(rollup.narrow(), &parts, |tile| format!("{tile} shop"));
        let mut of_series = (0, 0, Histogram::new());
        for record in read_run::<IoRecord>(directory.path()).expect("opens") {
            let record = record.expect("reads");
            of_series.0 += record.bytes.get();
            of_series.1 += record.errors;
            of_series.2.merge_compact(&record.service);
        }
        for level in [rollup.wide(), rollup.narrow()] {
            let mut sum = (0, 0, Histogram::new());
            for row in &level.rows {
                sum.0 += row.bytes;
                sum.1 += row.errors;
                sum.2.merge_compact(&row.service);
            }
            prop_assert_eq!(&sum, &of_series);
        }
        let dropped: u64 = rollup.actions().iter().map(|row| row.dropped).sum();
        let of_slices = parts.iter().flat_map(|part| &part.slices).flat_map(|slice| &slice.actions);
        prop_assert_eq!(dropped, of_slices.map(|row| row.dropped).sum::<u64>());
        prop_assert_eq!(rollup.calls(), direct.calls());
        let mut calls = (0, 0, Histogram::new());
        for row in parts.iter().flat_map(|part| &part.slices).flat_map(|slice| &slice.calls) {
            calls.0 += row.bytes.get();
            calls.1 += row.failed();
            calls.2.merge_compact(&row.service);
        }
        let mut sum = (0, 0, Histogram::new());
        for row in rollup.calls() {
            prop_assert_eq!(&rollup.call_names()[row.call as usize].workload, "shop");
            sum.0 += row.bytes;
            sum.1 += row.errors;
            sum.2.merge_compact(&row.service);
        }
        prop_assert_eq!(sum, calls);
    }
}

fn tier(reads: u64, dirty_bytes: u64) -> TierFacts {
    TierFacts {
        name: "fast".to_owned(),
        capacity_bytes: 1 << 30,
        counts: TierCounts { reads, dirty_bytes, ..TierCounts::default() },
        ..TierFacts::default()
    }
}

#[test]
fn tier_counters_add_up_and_levels_are_those_of_the_end() {
    let mut rollup = Rollup::new();
    rollup.readings(Nanos::SECOND, &Readings::of_tiers(vec![tier(5, 5)]));
    let key = StepKey { step: 1, tiles: 2, repeat: 1, phase: Phase::Measured };
    let seconds = 2 * WIDE_BUCKETS as u64;
    for second in 0..seconds {
        rollup.slice(key, &Topology::default(), &Slice { io: Vec::new(), ..sample::slice(second) });
        let tier = tier(second, if second == 2 { 900 } else { second });
        rollup.readings(Nanos::SECOND, &Readings::of_tiers(vec![tier]));
    }
    assert_eq!(rollup.wide().width, Nanos::from_secs(2));
    let rows = rollup.tiers();
    assert_eq!(rows.len(), WIDE_BUCKETS);
    assert_eq!(rows.iter().map(|row| row.counts.reads).sum::<u64>(), (0..seconds).sum::<u64>());
    let second = rows[1].counts;
    assert_eq!((second.reads, second.dirty_bytes, second.dirty_bytes_max), (5, 3, 900));
}

#[test]
fn a_killed_run_folds_to_what_its_parts_hold() {
    let base = tempfile::tempdir().expect("a directory");
    let id = RunId::new("test", Timestamp::UNIX_EPOCH).expect("an id");
    let directory = RunDir::create(base.path(), &id).expect("creates");
    let mut writer = Writer::create(directory.path()).expect("creates");
    for second in 0..90 {
        let phase = if second < 10 { Phase::WarmUp } else { Phase::Measured };
        let key = StepKey { step: 1, tiles: 2, repeat: 1, phase };
        writer.append(key, &sample::topology(), &sample::slice(second)).expect("appends");
    }
    // The open part is lost, as after kill -9.
    std::mem::forget(writer);
    let stored = StoredRun::at(directory.path()).expect("a run");
    let rollup = Rollup::of_run(&stored).expect("folds");
    assert_eq!(rollup.end(), Nanos::from_secs(70));
    assert_eq!(rollup.spans().len(), 2);
}

#[test]
fn many_names_take_time_resolution_and_not_memory() {
    let mut rollup = Rollup::new();
    let template = sample::topology();
    let mut topology = Topology::default();
    for vm in 0..3000_u32 {
        let mut instance = template.instances[0].clone();
        instance.workload = format!("vm-{vm}");
        topology.instances.push(instance);
        topology.vms.push(tilemark_run_store::slice::VmEntry {
            instance: InstanceId(vm),
            name: format!("vm-{vm}"),
        });
    }
    let key = StepKey { step: 1, tiles: 1, repeat: 1, phase: Phase::Measured };
    let row = IoRow { service: sample::latencies(2), ..sample::slice(0).io[0].clone() };
    for second in 0..80 {
        let mut slice = Slice { io: Vec::new(), actions: Vec::new(), ..sample::slice(second) };
        for vm in 0..3000 {
            slice.io.push(IoRow { vm: VmId(vm), ..row.clone() });
        }
        rollup.slice(key, &topology, &slice);
    }
    assert!(rollup.wide().rows.len() <= WIDE_ROWS);
    assert!(rollup.narrow().rows.len() <= NARROW_ROWS);
    let count: u64 = rollup.narrow().rows.iter().map(|row| row.count()).sum();
    assert_eq!(count, 80 * 3000 * 2);
}

/// Regression for simulated runs of 0.1.0: tiers had columns of their own, and gauges were in the
/// series alone.
#[test]
fn rollup_of_version_1_is_read_with_tiers_and_gauges() {
    let dir = tempfile::tempdir().expect("a directory");
    let key = StepKey { step: 1, tiles: 1, repeat: 1, phase: Phase::Measured };
    let old = include_bytes!("../golden/rollup-1.0.parquet");
    std::fs::write(dir.path().join(files::ROLLUP), old).expect("writes");
    let before = Rollup::read(dir.path()).expect("reads without a series");
    let mut writer = Writer::create(dir.path()).expect("creates");
    let slice = Slice { start: before.spans()[1].from, ..sample::slice(0) };
    writer.append(key, &sample::topology(), &slice).expect("appends");
    writer.gauges(key, &slice, &sample::gauges()).expect("appends");
    writer.finish().expect("finishes");
    let rollup = Rollup::read(dir.path()).expect("reads");
    assert_eq!(rollup.tiers(), before.tiers());

    let names: Vec<&str> = rollup.tier_names().iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(names, ["fast", "read memory"]);
    assert_eq!(rollup.tier_names()[0].capacity_bytes, 392_989_507_584);
    let tiers = rollup.tiers();
    let measured = |row: &&TierRow| rollup.spans()[row.span as usize].phase == Phase::Measured;
    let fast = tiers.iter().filter(measured).filter(|row| row.tier == 0);
    assert!(fast.clone().all(|row| row.backing_read.count() > 0));
    let of_run = TierCounts {
        resident_bytes: 16_937_385_984,
        dirty_bytes: 13_648_330_752,
        dirty_bytes_max: 13_648_330_752,
        reads: 466_816,
        read_hits: 453_527,
        read_bytes: 3_824_156_672,
        read_hit_bytes: 3_715_293_184,
        writes: 199_472,
        write_hits: 193_962,
        write_bytes: 1_634_074_624,
        write_hit_bytes: 1_588_936_704,
        writes_absorbed: 193_962,
        filled_bytes: 508_624_896,
        tier_written_bytes: 2_097_561_600,
        ..TierCounts::default()
    };
    assert_eq!(fast.map(|row| row.counts).reduce(TierCounts::and_then), Some(of_run));

    let of_machine = rollup.gauges().iter().filter(|row| row.name == GaugeName::CpuOthers);
    let values: Vec<(u32, f64)> = of_machine.map(|row| (row.span, row.folded.value)).collect();
    assert_eq!(values, [(1, 0.25)]);
}

#[test]
fn other_major_version_and_file_without_metadata_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join(files::ROLLUP), "PAR1 but not really").expect("writes");
    let error = Rollup::read(dir.path()).expect_err("not Parquet");
    assert!(error.to_string().contains("rollup.parquet"), "{error}");
}

/// A stored run of two steps with many parts of its series.
fn stored(seconds: u64) -> (tempfile::TempDir, StoredRun, Rollup) {
    let base = tempfile::tempdir().expect("a directory");
    let id = RunId::new("test", Timestamp::UNIX_EPOCH).expect("an id");
    let directory = RunDir::create(base.path(), &id).expect("creates");
    let mut writer = directory.series().expect("a series");
    let mut rollup = Rollup::new();
    for step in 1..=2 {
        for second in 0..seconds {
            let phase = if second < 10 { Phase::WarmUp } else { Phase::Measured };
            let key = StepKey { step, tiles: 2, repeat: 1, phase };
            let slice = sample::slice(second);
            writer.append(key, &sample::topology(), &slice).expect("appends");
            rollup.slice(key, &sample::topology(), &slice);
        }
    }
    writer.finish().expect("finishes");
    let run = StoredRun::at(directory.path()).expect("a run");
    (base, run, rollup)
}

#[test]
fn only_the_rows_of_a_time_are_read() {
    let (_base, run, rollup) = stored(150);
    // The last 5 s of step 1, and the first 7 s of step 2.
    let stretches = rollup.stretches(Nanos::from_secs(145), Nanos::from_secs(157));
    let rows = read_between::<IoRecord>(run.path(), &stretches).expect("opens");
    let found: Vec<_> =
        rows.map(|row| row.map(|row| (row.key.step, row.start)).expect("reads")).collect();
    let all = read_run::<IoRecord>(run.path()).expect("opens");
    let wanted: Vec<_> = all
        .map(|row| row.map(|row| (row.key.step, row.start)).expect("reads"))
        .filter(|(step, start)| match step {
            1 => *start >= Nanos::from_secs(145),
            _ => *start < Nanos::from_secs(7),
        })
        .collect();
    assert_eq!(found, wanted);
    assert_eq!(found.len(), 12 * 8);
    assert_eq!(count_between::<IoRecord>(run.path(), &stretches).expect("counts"), 12 * 8);
    assert_eq!(count_between::<IoRecord>(run.path(), &[]).expect("counts"), 0);
}

#[test]
fn a_part_of_a_run_is_folded_finer_on_the_same_axis() {
    let (_base, run, rollup) = stored(2000);
    assert_eq!(rollup.wide().width, Nanos::from_secs(2));
    let window = (Nanos::from_secs(1990), Nanos::from_secs(2020));
    let zoomed = rollup.zoomed(&run, window, 10_000).expect("reads").expect("finer");
    assert_eq!(zoomed.spans(), rollup.spans());
    assert_eq!(zoomed.wide().width, Nanos::SECOND);
    let places: Vec<Nanos> = zoomed
        .slices()
        .iter()
        .map(|row| zoomed.place(zoomed.wide(), row.span, row.bucket).0)
        .collect();
    assert_eq!(places, (1990..2020).map(Nanos::from_secs).collect::<Vec<_>>());
    assert!(rollup.zoomed(&run, window, 100).expect("counts").is_none(), "too many rows");
    let (_base, run, rollup) = stored(20);
    let window = (Nanos::from_secs(5), Nanos::from_secs(7));
    assert!(rollup.zoomed(&run, window, 10_000).expect("counts").is_none(), "no finer");
}
