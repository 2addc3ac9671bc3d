//! Working sets of VMs beside exact sets of pages, and their files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proptest::prelude::*;
use tempfile::tempdir;
use tilemark_watch::{Archive, Options, SetRow, SetSpan, Sets, Store};
use trace::{Clock, Device, DeviceIndex, IoRecord, Losses, Operation, TraceInfo, VmIndex};
use units::{Bytes, Nanos};

use crate::model::{START, options, slice};

const HOUR: u64 = 3600;
/// Begin of an hour and of a day.
const DAY: u64 = START - START % 86_400;

fn info(vms: &[&str], disks: &[&str]) -> TraceInfo {
    TraceInfo {
        format: "record",
        clock: Clock::Order,
        started_unix_ns: None,
        has_latency: true,
        vms: vms.iter().map(|name| (*name).to_owned()).collect(),
        devices: disks.iter().map(|name| Device { name: (*name).to_owned(), size: None }).collect(),
        losses: Losses::default(),
    }
}

fn io(vm: u16, device: u16, operation: Operation, offset: u64, length: u32) -> IoRecord {
    let record = IoRecord::new(Nanos::ZERO, operation, offset, length);
    IoRecord { vm: VmIndex(vm), device: DeviceIndex(device), ..record }
}

fn row<'a>(rows: &'a [SetRow], vm: &str, span: SetSpan) -> &'a SetRow {
    rows.iter().find(|row| &*row.vm == vm && row.span == span).expect("a row")
}

/// Pages by VM and direction with the hour of their last use.
type Exact = BTreeMap<(String, bool), BTreeMap<(String, u64), u64>>;

fn exact(used: &Exact, vm: &str, span: SetSpan, hour: u64) -> [usize; 3] {
    let of = |is_write| -> BTreeSet<&(String, u64)> {
        let pages = used.get(&(vm.to_owned(), is_write));
        let last = pages.into_iter().flatten();
        last.filter(|(_, at)| **at + u64::from(span.hours()) > hour).map(|(page, _)| page).collect()
    };
    let (read, written) = (of(false), of(true));
    [read.union(&written).count(), read.len(), written.len()]
}

#[derive(Debug, Clone)]
enum Step {
    Io {
        vm: u16,
        device: u16,
        is_write: bool,
        page: u64,
        pages: u32,
    },
    Hours(u64),
    /// The capture begins anew: indices change.
    Renumber,
}

fn step() -> impl Strategy<Value = Step> {
    let io = (0_u16..4, 0_u16..2, any::<bool>(), 0_u64..4000, 1_u32..600).prop_map(
        |(vm, device, is_write, page, pages)| Step::Io { vm, device, is_write, page, pages },
    );
    prop_oneof![12 => io, 4 => (1_u64..60).prop_map(Step::Hours), 1 => Just(Step::Renumber)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// VMs come and go, over hours and captures. Small sets are exact, larger ones within six
    /// standard errors.
    #[test]
    fn sets_are_those_of_an_exact_model(steps in prop::collection::vec(step(), 1..120)) {
        let (mut vms, mut disks) = (vec!["a", "b", "c", "d"], vec!["sda", "sdb"]);
        let (mut sets, mut used, mut hour) = (Sets::new(DAY), Exact::new(), 0);
        let mut rows = Vec::new();
        for step in steps.into_iter().chain([Step::Hours(1)]) {
            match step {
                Step::Io { vm, device, is_write, page, pages } => {
                    let operation = if is_write { Operation::Write } else { Operation::Read };
                    let record = io(vm, device, operation, 4096 * page, 4096 * pages);
                    sets.add(&[record], &info(&vms, &disks));
                    let own = used.entry((vms[usize::from(vm)].to_owned(), is_write)).or_default();
                    let disk = disks[usize::from(device)];
                    for page in page..page + u64::from(pages) {
                        own.insert((disk.to_owned(), page), hour);
                    }
                }
                Step::Hours(hours) => {
                    for _ in 0..hours {
                        hour += 1;
                        rows = sets.pass(DAY + HOUR * hour);
                    }
                }
                Step::Renumber => {
                    sets.renumber();
                    vms.rotate_left(1);
                    disks.rotate_left(1);
                }
            }
        }
        for (vm, span) in vms.iter().flat_map(|vm| SetSpan::ALL.map(|span| (vm, span))) {
            let wanted = exact(&used, vm, span, hour - 1);
            let Some(row) = rows.iter().find(|row| &*row.vm == *vm && row.span == span) else {
                prop_assert_eq!(exact(&used, vm, SetSpan::Week, hour - 1)[0], 0, "{} has no row", vm);
                continue;
            };
            let found = [row.used_bytes, row.read_bytes, row.written_bytes];
            for (found, wanted) in found.into_iter().zip(wanted) {
                let (found, wanted) = (found as f64 / 4096.0, wanted as f64);
                let error = (wanted * (1.0 - row.share) / row.share).sqrt();
                let most = if row.share == 1.0 { 0.001 } else { 6.0 * error + 1.0 / row.share };
                prop_assert!((found - wanted).abs() <= most, "{vm} {span:?}: {found}, not {wanted}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A watcher that continues after another one reports the same as a single watcher.
    #[test]
    fn sets_that_were_saved_go_on_as_before(steps in prop::collection::vec(step(), 1..120)) {
        let info = info(&["a", "b", "c", "d"], &["sda", "sdb"]);
        let (mut sets, mut restarted, mut hour) = (Sets::new(DAY), Sets::new(DAY), 0);
        for step in steps.into_iter().chain([Step::Renumber, Step::Hours(1)]) {
            match step {
                Step::Io { vm, device, is_write, page, pages } => {
                    let operation = if is_write { Operation::Write } else { Operation::Read };
                    let record = io(vm, device, operation, 4096 * page, 4096 * pages);
                    sets.add(&[record], &info);
                    restarted.add(&[record], &info);
                }
                Step::Hours(hours) => for _ in 0..hours {
                    hour += 1;
                    let now_s = DAY + HOUR * hour;
                    prop_assert_eq!(sets.pass(now_s), restarted.pass(now_s));
                },
                Step::Renumber => {
                    let saved = restarted.save();
                    restarted = Sets::restore(&saved, DAY + HOUR * hour + 599).expect("sets");
                }
            }
        }
        prop_assert_eq!(sets.rows(), restarted.rows());
    }

    #[test]
    fn foreign_bytes_are_no_sets(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        prop_assert!(Sets::restore(&bytes, DAY).is_none());
    }
}

#[test]
fn sets_of_long_ago_and_damaged_ones_are_not_taken_up() {
    let mut sets = Sets::new(DAY);
    sets.add(&[io(0, 0, Operation::Read, 0, 4096)], &info(&["web1"], &["sda"]));
    let saved = sets.save();
    assert!(
        Sets::restore(&saved, DAY + 600).is_some() && Sets::restore(&saved, DAY - 600).is_some()
    );
    assert!(Sets::restore(&saved, DAY + 601).is_none(), "who knows what was used meanwhile");
    for place in 0..saved.len() {
        let mut damaged = saved.clone();
        damaged[place] ^= 1;
        assert!(Sets::restore(&damaged, DAY).is_none(), "byte {place}");
    }
}

#[test]
fn saved_sets_take_at_most_a_tenth_of_the_store() {
    let directory = tempdir().unwrap();
    let options = Options { bytes_max: Bytes::new(100_000), ..options() };
    let mut store = Store::open(directory.path(), options).unwrap();
    assert_eq!(store.saved_sets(), None);
    store.save_sets(&[7; 10_000]).unwrap();
    assert_eq!(store.saved_sets(), Some(vec![7; 10_000]));
    assert_eq!(Archive::open(directory.path()).unwrap().state().unwrap().bytes, 10_000);
    store.save_sets(&[7; 10_001]).unwrap();
    assert_eq!(store.saved_sets(), None, "they would push out slices");
    store.save_sets(&[7; 100]).unwrap();
    assert_eq!(store.forget(None, Some("web1")).unwrap(), 1);
    assert_eq!(store.saved_sets(), None);
    fs::write(directory.path().join("working-sets.tmp"), b"half").unwrap();
    drop(store);
    drop(Store::open(directory.path(), crate::model::options()).unwrap());
    assert!(!directory.path().join("working-sets.tmp").exists());
}

#[test]
fn flushes_discards_and_ranges_of_two_disks_are_told_apart() {
    let mut sets = Sets::new(DAY);
    let records = [
        io(0, 0, Operation::Read, 0, 4096),
        io(0, 1, Operation::Read, 0, 4096),
        io(0, 0, Operation::Write, 4095, 2),
        io(0, 0, Operation::Discard, 1 << 20, 4096),
        io(0, 0, Operation::Flush, 0, 0),
    ];
    sets.add(&records, &info(&["web1"], &["sda", "sdb"]));
    let rows = sets.rows();
    let week = row(&rows, "web1", SetSpan::Week);
    assert_eq!([week.used_bytes, week.read_bytes, week.written_bytes], [12_288, 8192, 8192]);
    assert_eq!((week.share, week.error()), (1.0, 0.0));
}

#[test]
fn set_tells_since_when_it_knows_its_vm() {
    let mut sets = Sets::new(DAY + 1800);
    let info = info(&["web1"], &["sda"]);
    sets.add(&[io(0, 0, Operation::Read, 0, 4096)], &info);
    let rows = sets.pass(DAY + HOUR);
    assert_eq!(row(&rows, "web1", SetSpan::Week).since_s, DAY + 1800);
    assert!(!row(&rows, "web1", SetSpan::Hour).is_whole());
    let rows = sets.pass(DAY + 2 * HOUR);
    let hour = row(&rows, "web1", SetSpan::Hour);
    assert_eq!((hour.since_s, hour.used_bytes), (DAY + HOUR, 0));
    assert!(hour.is_whole());
    assert_eq!(row(&rows, "web1", SetSpan::Day).since_s, DAY + 1800);
    // 168 hours after its last I/O the VM is gone.
    for hour in 3..170 {
        sets.pass(DAY + hour * HOUR);
    }
    assert_eq!(sets.rows(), []);
}

#[test]
fn clock_that_steps_begins_anew_and_one_that_is_slewed_does_not() {
    let info = info(&["web1"], &["sda"]);
    let read = [io(0, 0, Operation::Read, 0, 4096)];
    for (steps_to, is_anew) in
        [(DAY - 5, false), (DAY - 2 * HOUR, true), (DAY + 3 * HOUR, true), (DAY + HOUR, false)]
    {
        let mut sets = Sets::new(DAY - HOUR);
        sets.add(&read, &info);
        assert_eq!(sets.pass(DAY).len(), 3);
        sets.add(&read, &info);
        let rows = sets.pass(steps_to);
        assert_eq!(rows.len(), if steps_to == DAY - 5 { 0 } else { 3 }, "what was known is told");
        sets.add(&read, &info);
        let rows = sets.rows();
        let week = row(&rows, "web1", SetSpan::Week);
        let since_s = if is_anew { steps_to } else { DAY - HOUR };
        assert_eq!((week.since_s, week.used_bytes), (since_s, 4096), "{steps_to}");
    }
}

/// A thousand VMs that come and go keep memory bounded; who is left out gets a set later.
#[test]
fn senders_beyond_the_limit_wait_for_a_place() {
    let names: Vec<String> = (0..1000).map(|at| format!("vm{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let info = info(&names, &["sda"]);
    let mut sets = Sets::new(DAY);
    for vm in 0..1000 {
        sets.add(&[io(vm, 0, Operation::Write, 0, 4096)], &info);
    }
    let rows = sets.pass(DAY + HOUR);
    assert_eq!(rows.len(), 256 * 3);
    // An hour later the first are idle, and those that were left out take their places.
    let again = |sets: &mut Sets| {
        for vm in 900..1000 {
            sets.add(&[io(vm, 0, Operation::Write, 0, 4096)], &info);
        }
    };
    again(&mut sets);
    let rows = sets.pass(DAY + 2 * HOUR);
    assert!(rows.iter().all(|row| &*row.vm != "vm999"));
    again(&mut sets);
    let rows = sets.pass(DAY + 3 * HOUR);
    let week = row(&rows, "vm999", SetSpan::Week);
    assert_eq!((week.since_s, week.used_bytes), (DAY + 2 * HOUR, 4096));
    assert!(rows.len() <= 256 * 3);
}

fn own_row(vm: &str, start_s: u64, used_bytes: u64) -> SetRow {
    SetRow {
        start_s,
        vm: vm.into(),
        span: SetSpan::Day,
        since_s: start_s,
        used_bytes,
        read_bytes: used_bytes / 2,
        written_bytes: used_bytes,
        share: 0.25,
    }
}

#[test]
fn stored_sets_survive_restart_and_the_fuller_one_is_kept() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let first = [own_row("db", DAY, 4096), own_row("a\nb/..", DAY, 8192)];
    store.push_sets(first.to_vec()).unwrap();
    store.push_sets(vec![own_row("db", DAY + HOUR, 1 << 40)]).unwrap();
    drop(store);
    let mut store = Store::open(dir.path(), options()).unwrap();
    // Of the same hour: one began anew in it, one knows as much and came later.
    let later = SetRow { since_s: DAY + HOUR + 60, ..own_row("db", DAY + HOUR, 5) };
    store.push_sets(vec![later, own_row("db", DAY, 12_288)]).unwrap();
    store.push_sets(vec![own_row("db", DAY + 86_400, 7)]).unwrap();
    let archive = Archive::open(dir.path()).unwrap();
    let found = archive.sets((0, u64::MAX), 1).unwrap();
    let wanted = [
        own_row("a\nb/..", DAY, 8192),
        own_row("db", DAY, 12_288),
        own_row("db", DAY + HOUR, 1 << 40),
        own_row("db", DAY + 86_400, 7),
    ];
    assert_eq!(found.rows, wanted);
    let inside = archive.sets((DAY + HOUR, DAY + 86_400), 1).unwrap();
    assert_eq!(inside.rows, wanted[2..3]);
    let thin = archive.sets((0, u64::MAX), 86_400).unwrap();
    assert_eq!(thin.rows, [wanted[0].clone(), wanted[2].clone(), wanted[3].clone()]);
    assert_eq!(archive.newest_sets().unwrap().rows, wanted[3..], "the other is gone");
    assert!(archive.state().unwrap().bytes > 0);
}

#[test]
fn sets_are_forgotten_by_vm_and_by_time() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    store.push(slice(START, &[("db", 1, 1)])).unwrap();
    for day in 0..3 {
        let start_s = DAY + 86_400 * day;
        store.push_sets(vec![own_row("db", start_s, 1), own_row("web", start_s, 2)]).unwrap();
    }
    // Its hour begins later, and it knows I/O from before.
    let week = SetRow { since_s: DAY, ..own_row("web", DAY + 2 * 86_400 + HOUR, 3) };
    store.push_sets(vec![week]).unwrap();
    store.forget(None, Some("db")).unwrap();
    let archive = Archive::open(dir.path()).unwrap();
    let left = || archive.sets((0, u64::MAX), 1).unwrap().rows;
    assert!(left().iter().all(|row| &*row.vm == "web") && left().len() == 4);
    store.forget(Some(DAY + 86_400), None).unwrap();
    assert_eq!(left().len(), 2, "{:?}", left());
    assert!(left().iter().all(|row| row.since_s >= DAY + 86_400));
}

#[test]
fn sets_take_a_tenth_of_the_cap_and_the_oldest_go_first() {
    let dir = tempdir().unwrap();
    let bytes_max = Bytes::new(400_000);
    let mut store = Store::open(dir.path(), Options { host: "h".to_owned(), bytes_max }).unwrap();
    for day in 0..60_u64 {
        let rows = (0..24).map(|hour| {
            let start_s = DAY + 86_400 * day + HOUR * hour;
            own_row("db", start_s, state_of(start_s))
        });
        store.push_sets(rows.collect()).unwrap();
    }
    let rows = Archive::open(dir.path()).unwrap().sets((0, u64::MAX), 1).unwrap().rows;
    assert_eq!(rows.last().map(|row| row.start_s), Some(DAY + 59 * 86_400 + 23 * HOUR));
    assert!(rows.len() > 48 && rows.len() < 60 * 24, "{}", rows.len());
    let files = fs::read_dir(dir.path()).unwrap().map(Result::unwrap);
    let sets = files.filter(|own| own.file_name().to_string_lossy().starts_with("sets-"));
    let bytes: u64 = sets.map(|own| own.metadata().unwrap().len()).sum();
    assert!(bytes <= bytes_max.get() / 10, "{bytes}");
}

/// Numbers that do not compress.
fn state_of(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

#[test]
fn broken_file_is_a_gap_and_what_a_kill_left_is_removed() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    store.push_sets(vec![own_row("db", DAY, 1), own_row("db", DAY + 86_400, 2)]).unwrap();
    drop(store);
    let path = dir.path().join(format!("sets-{DAY}.parquet"));
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let unfinished = dir.path().join(format!("sets-{DAY}.parquet.tmp"));
    fs::write(&unfinished, "half").unwrap();
    // Names that are nearly those of a day.
    for name in ["sets-5.parquet", "sets-0864000.parquet", "sets-99999999999999999999.parquet"] {
        fs::write(dir.path().join(name), "other").unwrap();
    }
    let archive = Archive::open(dir.path()).unwrap();
    let found = archive.sets((0, u64::MAX), 1).unwrap();
    assert_eq!((found.rows.len(), found.unreadable.len()), (1, 1), "{found:?}");
    let mut store = Store::open(dir.path(), options()).unwrap();
    assert!(!unfinished.exists());
    store.push_sets(vec![own_row("db", DAY + HOUR, 3)]).unwrap();
    assert_eq!(archive.sets((0, DAY + 86_400), 1).unwrap().rows.len(), 1, "the day goes on");
}

#[test]
fn sets_that_could_not_be_stored_are_stored_with_the_next_hour() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let blocked = dir.path().join(format!("sets-{DAY}.parquet.tmp"));
    fs::create_dir(&blocked).unwrap();
    store.push_sets(vec![own_row("db", DAY, 1)]).unwrap_err();
    fs::remove_dir(&blocked).unwrap();
    store.push_sets(vec![own_row("db", DAY + HOUR, 2)]).unwrap();
    let rows = Archive::open(dir.path()).unwrap().sets((0, u64::MAX), 1).unwrap().rows;
    assert_eq!(rows.len(), 2);
}
