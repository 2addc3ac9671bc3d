//! I/O that passes several disks, each of which is watched: sums over disks count it once.
//!
//! On a host with LVM every I/O of a VM is on a volume (dm-3) and on the disk below it (nvme0n1).
//! Both were the VM's, so its I/Os, bytes and working set were counted twice.

use run_store::slice::{Direction, SizeClass};
use tempfile::tempdir;
use tilemark_watch::{
    Archive, Cell, Change, Fold, Judge, Key, Load, Rules, SetSpan, Sets, Slice, Store, Subject,
    Totals, Window,
};
use trace::{Clock, Device, DeviceIndex, Flags, IoRecord, Losses, Operation, TraceInfo, VmIndex};
use units::Nanos;

use crate::model::{START, options};

const DM: u16 = 0;
const NVME: u16 = 1;
const LIMIT: Nanos = Nanos::from_millis(20);

fn info() -> TraceInfo {
    let device = |name: &str| Device { name: name.to_owned(), size: None };
    TraceInfo {
        format: "record",
        clock: Clock::Order,
        started_unix_ns: None,
        has_latency: true,
        vms: vec!["web1".to_owned()],
        devices: vec![device("dm-3"), device("nvme0n1")],
        losses: Losses::default(),
    }
}

fn read(device: u16, page: u64, is_below: bool) -> IoRecord {
    let record = IoRecord::new(Nanos::ZERO, Operation::Read, page * 4096, 4096);
    let flags = if is_below { Flags::BELOW } else { Flags::NONE };
    let device_time = Some(Nanos::from_micros(100));
    IoRecord { vm: VmIndex(0), device: DeviceIndex(device), flags, device_time, ..record }
}

/// 100 reads through both disks, and 7 of another partition of the lower one.
fn records() -> Vec<IoRecord> {
    let both = (0..100).flat_map(|page| [read(NVME, 9000 + page, true), read(DM, page, false)]);
    both.chain((0..7).map(|page| read(NVME, page, false))).collect()
}

fn folded() -> Slice {
    let mut fold = Fold::default();
    fold.add(&records());
    fold.close(START, 10, Nanos::from_secs(10), &info())
}

fn counts(loads: &[Load]) -> Vec<(&str, u64, u64, usize)> {
    let mut told: Vec<_> =
        loads.iter().map(|own| (&*own.name, own.ios, own.bytes / 4096, own.others)).collect();
    told.sort_unstable();
    told
}

fn assert_once(slices: &[Slice]) {
    assert_eq!(counts(&Load::by_vm(slices, LIMIT)), [("web1", 107, 107, 2)]);
    let disks = Load::by_disk(slices, LIMIT);
    assert_eq!(counts(&disks), [("dm-3", 100, 100, 1), ("nvme0n1", 107, 107, 1)]);
}

#[test]
fn io_through_two_disks_counts_once_for_its_vm() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    store.push(folded()).unwrap();
    let window = || Archive::open(dir.path()).unwrap().window((START, START + 10), 1).unwrap();
    assert_once(&window().slices);
    store.close().unwrap();
    // By now in a segment.
    assert_once(&window().slices);
}

#[test]
fn export_marks_io_below_another_disk() {
    let window = Window { slices: vec![folded()], ..Window::default() };
    let mut csv = Vec::new();
    window.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = |name| rows[0].iter().position(|own| *own == name).expect("a column");
    let (disk, count, below) = (at("disk"), at("count"), at("below"));
    let mut told: Vec<_> =
        rows[1..].iter().map(|row| [row[disk], row[count], row[below]]).collect();
    told.sort_unstable();
    let wanted = [["dm-3", "100", "false"], ["nvme0n1", "100", "true"], ["nvme0n1", "7", "false"]];
    assert_eq!(told, wanted);
}

#[test]
fn working_set_has_pages_through_two_disks_once() {
    let mut sets = Sets::new(START);
    sets.add(&records(), &info());
    let rows = sets.rows();
    let hour = rows.iter().find(|row| row.span == SetSpan::Hour).unwrap();
    assert_eq!(hour.used_bytes, 107 * 4096);
}

#[test]
fn metrics_tell_the_layer_of_a_disk() {
    let mut totals = Totals::new("pve1");
    totals.add(&folded());
    let text = run_store::metrics::text(&totals.families()).unwrap();
    let text = String::from_utf8(text).unwrap();
    for (disk, layer, bytes) in
        [("dm-3", "top", 100), ("nvme0n1", "top", 7), ("nvme0n1", "below", 100)]
    {
        let labels = format!(r#"vm="web1",disk="{disk}",direction="read",layer="{layer}""#);
        let line = format!("tilemark_watch_operation_bytes_total{{host=\"pve1\",{labels}}}");
        let line = format!("{line} {}", bytes * 4096);
        assert!(text.lines().any(|own| own == line), "{line} in {text}");
    }
}

/// Slice of VMs with a volume each, on one disk; those named are slow.
fn volumes(start_s: u64, slow: &[&str]) -> Slice {
    let mut slice = Slice { watched: Nanos::from_secs(10), ..Slice::new(start_s, 10) };
    for (number, vm) in ["a", "b", "c"].into_iter().enumerate() {
        let latency = Nanos::from_millis(if slow.contains(&vm) { 50 } else { 1 });
        let latencies = [(latency, 50)].into_iter().collect();
        let cell = Cell { count: 50, latencies, ..Cell::default() };
        for (disk, is_below) in [(format!("dm-{number}"), false), ("nvme0n1".to_owned(), true)] {
            let (direction, class) = (Direction::Write, Some(SizeClass::of(4096)));
            let key = Key { vm: vm.into(), disk: disk.into(), direction, class, is_below };
            slice.io.insert(key, cell.clone());
        }
    }
    slice
}

fn alarms(rule: &str, slow: &[&str]) -> Vec<String> {
    let rule =
        format!("[[rule]]\nname = \"r\"\nlimit = \"write p95 <= 20ms\"\nfor = \"1m\"\n{rule}");
    let mut judge = Judge::new(&Rules::load("rules.toml", &rule).expect("rules"));
    let changes = (0..6).flat_map(|own| judge.judge(&volumes(START + 10 * own, slow)));
    let told = |Change { alarm, .. }| match alarm.subject {
        Subject::Vm { vm, disk } => format!("{vm} on {disk}"),
        Subject::Disk { disk } => disk.to_string(),
    };
    let mut told: Vec<String> = changes.map(told).collect();
    told.sort();
    told
}

#[test]
fn slow_vm_is_one_alarm_on_its_uppermost_disk() {
    assert_eq!(alarms("", &["a"]), ["a on dm-0"]);
    // A rule that names a disk is about that one.
    assert_eq!(alarms("disk = \"nvme*\"\n", &["a"]), ["a on nvme0n1"]);
}

#[test]
fn slow_disk_below_volumes_of_many_vms_is_an_alarm() {
    let told = alarms("", &["a", "b", "c"]);
    assert_eq!(told, ["a on dm-0", "b on dm-1", "c on dm-2", "nvme0n1"]);
}
