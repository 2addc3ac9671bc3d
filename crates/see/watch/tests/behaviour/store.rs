use proptest::prelude::*;
use tempfile::tempdir;
use tilemark_watch::{Archive, Key, LEVELS, Options, Slice, Store};
use units::{Bytes, Nanos, Ratio};

use crate::model::{START, assert_alike, options, slice, sum};

/// Events of a store, in steps.
#[derive(Debug, Clone)]
enum Step {
    /// A slice this many slices after the last one.
    Slice { ahead: i64, vm: u8, count: u32, latency_us: u64 },
    /// The writer ends in an orderly way and another one begins.
    Restart,
    /// The writer is killed and another one begins.
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let ahead = prop_oneof![8 => Just(1_i64), 2 => 2_i64..400, 1 => -200_i64..0, 1 => Just(0)];
    let slice = (ahead, 0_u8..4, 1_u32..500, 1_u64..2_000_000)
        .prop_map(|(ahead, vm, count, latency_us)| Step::Slice { ahead, vm, count, latency_us });
    prop_oneof![12 => slice, 1 => Just(Step::Restart), 1 => Just(Step::Kill)]
}

/// Merges slices of the same time.
fn by_time(slices: &[Slice], width_s: u64) -> Vec<Slice> {
    let mut merged = std::collections::BTreeMap::new();
    for slice in slices {
        let start_s = slice.start_s - slice.start_s % width_s;
        merged.entry(start_s).or_insert_with(|| Slice::new(start_s, width_s)).merge(slice);
    }
    merged.into_values().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn store_gives_back_every_slice_at_every_width(
        steps in proptest::collection::vec(step(), 1..200)
    ) {
        let dir = tempdir().unwrap();
        let mut store = Store::open(dir.path(), options()).unwrap();
        let (mut at, mut pushed) = (START, Vec::new());
        for step in steps {
            match step {
                Step::Slice { ahead, vm, count, latency_us } => {
                    at = at.checked_add_signed(10 * ahead).unwrap();
                    let own = slice(at, &[(&format!("vm{vm}"), count, latency_us)]);
                    store.push(own.clone()).unwrap();
                    pushed.push(own);
                }
                Step::Restart => {
                    store.close().unwrap();
                    store = Store::open(dir.path(), options()).unwrap();
                }
                Step::Kill => {
                    drop(store);
                    store = Store::open(dir.path(), options()).unwrap();
                }
            }
        }
        let archive = Archive::open(dir.path()).unwrap();
        let (from, to) = (START - 1_000_000, START + 2_000_000);
        let fine = archive.window((from, to), u64::MAX).unwrap();
        prop_assert_eq!(fine.width_s, 10);
        prop_assert_eq!(fine.unreadable, Vec::<String>::new());
        // Gauges of equal times are folded in another order after a restart.
        let expected = by_time(&pushed, 10);
        let facts = |slices: &[Slice]| -> Vec<_> {
            slices.iter().map(|own| (own.start_s, own.watched, own.lost)).collect()
        };
        prop_assert_eq!(facts(&fine.slices), facts(&expected));
        fine.slices.iter().zip(&expected).for_each(|(own, model)| assert_alike(&own.io, &model.io));
        for level in LEVELS {
            let most = (to - from).div_ceil(level.width_s);
            let window = archive.window((from, to), most).unwrap();
            prop_assert_eq!(window.width_s, level.width_s);
            assert_alike(&sum(&window.slices), &sum(&pushed));
        }
    }
}

#[test]
fn coarser_levels_are_merged_histograms_and_read_alone() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let mut pushed = Vec::new();
    for at in 0..3 * 360 {
        let own = slice(START + 10 * at, &[("db", 10, if at % 10 == 0 { 50_000 } else { 200 })]);
        pushed.push(own.clone());
        store.push(own).unwrap();
    }
    let archive = Archive::open(dir.path()).unwrap();
    let levels = archive.state().unwrap().levels;
    assert_eq!(levels[0].segments, 35, "35 times five minutes have ended");
    assert_eq!(levels[1].segments, 5, "five half hours have ended");
    // Without the finest level, the first two hours come from the next one.
    for entry in std::fs::read_dir(dir.path()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("10s-") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    let window = archive.window((START, START + 7200), 720).unwrap();
    assert_eq!((window.width_s, window.slices.len()), (10, 120));
    assert!(window.slices.iter().all(|own| own.width_s == 60), "what is left is told as it is");
    assert_alike(&sum(&window.slices), &sum(&pushed[..720]));
    let all = &window.slices[0].io.values().next().unwrap().latencies;
    let p = |share| all.compact(0).percentile(Ratio::new(share)).unwrap();
    assert!(p(0.5) < Nanos::from_micros(230) && p(0.99) > Nanos::from_millis(49));
}

#[test]
fn limit_of_bytes_drops_the_oldest_of_the_finest() {
    let dir = tempdir().unwrap();
    let bytes_max = Bytes::new(150_000);
    let options = Options { bytes_max, ..options() };
    let mut store = Store::open(dir.path(), options).unwrap();
    let vms: Vec<String> = (0..20).map(|vm| format!("vm{vm}")).collect();
    let archive = Archive::open(dir.path()).unwrap();
    for at in 0..2000_u32 {
        let io: Vec<(&str, u32, u64)> =
            vms.iter().map(|vm| (vm.as_str(), 1 + at % 7, 100 + u64::from(at % 91))).collect();
        store.push(slice(START + 10 * u64::from(at), &io)).unwrap();
        if at % 90 == 0 {
            // The journal of the open period comes on top, until it is sealed.
            assert!(archive.state().unwrap().bytes <= bytes_max.get() + 60_000);
        }
    }
    let levels = archive.state().unwrap().levels;
    assert!(levels[0].time_s.unwrap().0 > START, "the beginning is no longer there in 10 s");
    assert_eq!(levels[1].time_s.unwrap().0, START, "but in minutes");
}

#[test]
fn number_of_periods_limits_a_level_by_count_and_not_by_age() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let period = LEVELS[0].period_s;
    for at in 0..LEVELS[0].periods_max as u64 + 5 {
        store.push(slice(START + period * at, &[("db", 1, 100)])).unwrap();
    }
    // The clock jumps ten years ahead, and back.
    store.push(slice(START + 315_360_000, &[("db", 1, 100)])).unwrap();
    store.push(slice(START + period * 300, &[("db", 1, 100)])).unwrap();
    store.close().unwrap();
    let levels = Archive::open(dir.path()).unwrap().state().unwrap().levels;
    assert_eq!(levels[0].segments, LEVELS[0].periods_max + 1, "the last is sealed without a look");
    assert!(levels[0].time_s.unwrap().0 > START);
}

/// In the last five minutes of a day a restart makes coarser slices, which end later than anything that
/// was seen: alarms were then restored from a time without slices.
#[test]
fn bounds_end_with_the_finest_slices() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let last = START - START % 86_400 + 86_400 - 300;
    store.push(slice(last, &[("db", 1, 1)])).unwrap();
    store.close().unwrap();
    Store::open(dir.path(), options()).unwrap().close().unwrap();
    let archive = Archive::open(dir.path()).unwrap();
    assert!(archive.state().unwrap().levels[3].segments > 0, "a coarser slice was made");
    assert_eq!(archive.bounds().unwrap().map(|bounds| bounds.1), Some(last + 10));
}

#[test]
fn period_whose_sources_all_tell_no_sizes_is_read() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let mut own = slice(START, &[("db", 7, 100)]);
    own.io = std::mem::take(&mut own.io)
        .into_iter()
        .map(|(key, cell)| (Key { class: None, ..key }, cell))
        .collect();
    own.gauges.clear();
    store.push(own.clone()).unwrap();
    store.close().unwrap();
    let window = Archive::open(dir.path()).unwrap().window((START, START + 10), 1).unwrap();
    assert_eq!(window.unreadable, Vec::<String>::new());
    assert_alike(&sum(&window.slices), &own.io);
}

#[test]
fn bounds_are_those_of_the_slices() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let archive = Archive::open(dir.path()).unwrap();
    assert_eq!(archive.bounds().unwrap(), None);
    store.push(slice(START + 50, &[("db", 1, 100)])).unwrap();
    store.push(slice(START + 90, &[])).unwrap();
    assert_eq!(archive.bounds().unwrap(), Some((START + 50, START + 100)));
    store.push(slice(START + 5000, &[])).unwrap();
    assert_eq!(archive.bounds().unwrap(), Some((START + 50, START + 5010)));
}
