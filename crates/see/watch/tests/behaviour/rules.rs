//! Rules on slices: when alarms begin and end.

use std::collections::BTreeMap;

use proptest::prelude::*;
use run_store::slice::Direction;
use tilemark_watch::{Archive, Cell, Change, Ending, Judge, Key, Rules, Slice, Store, Subject};
use units::Nanos;

const START: u64 = 1_764_374_400;

/// I/O of a VM in a slice: name, disk, number and latency.
type Row<'a> = (&'a str, &'a str, u32, u64);

pub fn add(slice: &mut Slice, vm: &str, disk: &str, latencies_us: &[(u64, u32)]) {
    let (direction, class) = (Direction::Write, None);
    let key = Key { vm: vm.into(), disk: disk.into(), direction, class, is_below: false };
    let cell = slice.io.entry(key).or_default();
    let latencies = latencies_us.iter().map(|(us, count)| (Nanos::from_micros(*us), *count));
    cell.latencies.merge(&latencies.collect());
    cell.count = cell.latencies.count();
}

pub fn watched(start_s: u64) -> Slice {
    Slice { watched: Nanos::from_secs(10), ..Slice::new(start_s, 10) }
}

fn slice(start_s: u64, rows: &[Row<'_>]) -> Slice {
    let mut slice = watched(start_s);
    for (vm, disk, count, latency_ms) in rows {
        add(&mut slice, vm, disk, &[(latency_ms * 1000, *count)]);
    }
    slice
}

fn judge(limit: &str) -> Judge {
    let rule = format!("[[rule]]\nname = \"r\"\nlimit = \"{limit}\"\nfor = \"1m\"\n");
    Judge::new(&Rules::load("rules.toml", &rule).expect("rules"))
}

/// Judges a window in which every slice has these rows.
fn window(judge: &mut Judge, number: u64, rows: &[Row<'_>]) -> Vec<Change> {
    let start_s = START + 60 * number;
    (0..6).flat_map(|own| judge.judge(&slice(start_s + 10 * own, rows))).collect()
}

/// Begins as `+vm` or `+disk!`, ends as `-vm kept`.
fn told(changes: &[Change]) -> Vec<String> {
    let mut told: Vec<String> = changes
        .iter()
        .map(|change| {
            let subject = match &change.alarm.subject {
                Subject::Vm { vm, .. } => vm.to_string(),
                Subject::Disk { disk } => format!("{disk}!"),
            };
            match change.end {
                None => format!("+{subject}"),
                Some(end) => format!("-{subject} {}", end.how.name()),
            }
        })
        .collect();
    told.sort();
    told
}

const LIMIT: &str = "write p95 <= 20ms";

#[test]
fn alarm_begins_after_a_broken_window_and_ends_after_a_kept_one() {
    let mut judge = judge(LIMIT);
    let slow = [("web1", "sda", 50, 30)];
    assert!(window(&mut judge, 0, &[("web1", "sda", 50, 5)]).is_empty());
    for own in 0..5 {
        assert!(judge.judge(&slice(START + 60 + 10 * own, &slow)).is_empty(), "not a whole window");
    }
    let changes = judge.judge(&slice(START + 110, &slow));
    assert_eq!(told(&changes), ["+web1"], "the last slice of a window decides");
    let line = changes[0].line();
    assert!(line.starts_with("alarm: web1 on sda: p95 of writes over 20 ms. From "), "{line}");
    assert!(line.contains("(300 I/Os)") && line.contains("Limit: write p95 <= 20 ms"), "{line}");
    assert!(window(&mut judge, 2, &slow).is_empty(), "told once");
    assert_eq!(judge.active().count(), 1);
    let changes = window(&mut judge, 3, &[("web1", "sda", 50, 5)]);
    assert_eq!(told(&changes), ["-web1 kept"]);
    assert_eq!(changes[0].end.expect("an end").at_s, START + 240);
    assert_eq!(changes[0].alarm.began_s, START + 60);
}

#[test]
fn other_direction_and_too_few_ios_are_not_judged() {
    let mut of_reads = judge("read p95 <= 20ms");
    assert!(window(&mut of_reads, 0, &[("web1", "sda", 50, 500)]).is_empty());
    let mut judge = judge(LIMIT);
    assert!(window(&mut judge, 0, &[("web1", "sda", 4, 500)]).is_empty(), "24 I/Os");
    assert_eq!(told(&window(&mut judge, 1, &[("web1", "sda", 5, 500)])), ["+web1"], "30 I/Os");
    assert!(window(&mut judge, 2, &[("web1", "sda", 4, 1)]).is_empty(), "24 good ones");
}

#[test]
fn second_look_of_qemu_at_the_same_io_is_no_second_alarm() {
    let mut judge = judge(LIMIT);
    let rows =
        [("web1", "sda", 50, 30), ("web1", "drive0 in QEMU", 50, 30), ("web1", "rbd0", 50, 30)];
    assert_eq!(told(&window(&mut judge, 0, &rows)), ["+web1", "+web1"], "sda and rbd0");
}

#[test]
fn undecided_window_neither_begins_nor_ends_an_alarm() {
    let mut judge = judge(LIMIT);
    // 20 ms lies in the bucket of 18.9 to 21 ms.
    let undecided = [("web1", "sda", 50, 20)];
    assert!(window(&mut judge, 0, &undecided).is_empty());
    assert_eq!(told(&window(&mut judge, 1, &[("web1", "sda", 50, 30)])), ["+web1"]);
    for number in 2..20 {
        assert!(window(&mut judge, number, &undecided).is_empty());
    }
    assert_eq!(told(&window(&mut judge, 20, &[("web1", "sda", 50, 5)])), ["-web1 kept"]);
}

#[test]
fn slow_disk_is_one_alarm_that_names_its_vms() {
    let mut judge = judge(LIMIT);
    let one = [("a", "sda", 50, 30), ("b", "sda", 50, 5), ("c", "sda", 50, 5)];
    assert_eq!(told(&window(&mut judge, 0, &one)), ["+a"], "one of three is not the disk");
    let all = [
        ("a", "sda", 50, 30),
        ("b", "sda", 50, 60),
        ("c", "sda", 50, 30),
        ("d", "sda", 2, 90),
        ("a", "sdb", 50, 30),
    ];
    let changes = window(&mut judge, 1, &all);
    assert_eq!(told(&changes), ["+a", "+sda!", "-a joined"], "a on sdb is another alarm");
    let disk = changes.iter().find(|own| matches!(own.alarm.subject, Subject::Disk { .. }));
    let alarm = &disk.expect("the disk's").alarm;
    let names: Vec<&str> = alarm.sufferers.iter().map(|own| &*own.vm).collect();
    assert_eq!(names, ["b", "a", "c"], "the slowest first");
    assert_eq!(alarm.summary(), "sda: 3 of 3 VMs have p95 of writes over 20 ms");
    assert!(alarm.description().contains("too few I/Os: 1"), "{}", alarm.description());
    // One more that is well does not end it, and a VM gets no alarm beside its disk's.
    let most =
        [("a", "sda", 50, 30), ("b", "sda", 50, 5), ("c", "sda", 50, 30), ("a", "sdb", 50, 30)];
    assert!(window(&mut judge, 2, &most).is_empty());
    let few = [
        ("a", "sda", 50, 30),
        ("b", "sda", 50, 5),
        ("c", "sda", 50, 5),
        ("d", "sda", 50, 5),
        ("a", "sdb", 50, 5),
    ];
    assert_eq!(told(&window(&mut judge, 3, &few)), ["+a", "-a kept", "-sda! kept"]);
}

#[test]
fn alarm_of_a_vanished_vm_or_disk_ends_as_gone() {
    let mut judge = judge(LIMIT);
    window(&mut judge, 0, &[("a", "sda", 50, 30)]);
    assert_eq!(told(&window(&mut judge, 1, &[("b", "sda", 50, 5)])), ["-a gone"]);
    let all = [("a", "sda", 50, 30), ("b", "sda", 50, 30), ("c", "sda", 50, 30)];
    assert_eq!(told(&window(&mut judge, 2, &all)), ["+sda!"]);
    assert_eq!(told(&window(&mut judge, 3, &[])), ["-sda! gone"]);
}

#[test]
fn unwatched_time_changes_nothing() {
    let slow = [("a", "sda", 50, 30)];
    let good = [("a", "sda", 50, 5)];
    let mut judge = judge(LIMIT);
    // A day without a slice, then half a window.
    judge.judge(&slice(START, &slow));
    let later = START + 86_400 + 30;
    assert!((0..3).all(|own| judge.judge(&slice(later + 10 * own, &slow)).is_empty()));
    // Slices that lost events, so that their missing I/O is unknown.
    let lossy = |start_s, rows: &[Row<'_>]| Slice { lost: 7, ..slice(start_s, rows) };
    assert!((0..6).all(|own| judge.judge(&lossy(START + 10 * own, &slow)).is_empty()));
    assert_eq!(told(&window(&mut judge, 3, &slow)), ["+a"]);
    for own in 0..6 {
        assert!(judge.judge(&lossy(START + 240 + 10 * own, &good)).is_empty());
        let blind = Slice { watched: Nanos::from_secs(5), ..slice(START + 300 + 10 * own, &[]) };
        assert!(judge.judge(&blind).is_empty(), "half of the time watched, and no I/O");
    }
    assert_eq!(told(&window(&mut judge, 6, &good)), ["-a kept"]);
}

#[test]
fn failed_ios_are_an_alarm_however_few() {
    let mut judge = judge("errors <= 0");
    let with = |errors, start_s| {
        let mut slice = slice(start_s, &[("a", "sda", 1, 5)]);
        slice.io.values_mut().for_each(|cell: &mut Cell| cell.errors = errors);
        slice
    };
    let window = |judge: &mut Judge, number: u64, errors: [u64; 6]| {
        let slices = (0_u64..).zip(errors);
        let slices = slices.map(|(own, errors)| with(errors, START + 60 * number + 10 * own));
        slices.flat_map(|slice| judge.judge(&slice)).collect::<Vec<_>>()
    };
    let changes = window(&mut judge, 0, [0, 0, 1, 0, 0, 0]);
    assert_eq!(told(&changes), ["+a"]);
    let line = changes[0].line();
    assert!(line.contains("more than 0 failed I/Os") && line.contains("a 1 of 7 I/Os"), "{line}");
    assert_eq!(told(&window(&mut judge, 1, [0; 6])), ["-a kept"]);
}

#[test]
fn restored_judge_tells_no_active_alarm_again() {
    let slow: Vec<Slice> =
        (0..9).map(|own| slice(START + 10 * own, &[("a", "sda", 50, 30)])).collect();
    let mut judge = judge(LIMIT);
    judge.restore(&slow);
    assert_eq!(judge.active().count(), 1);
    // The rest of the window that was open, and a whole further one.
    let rest = (9..18).map(|own| slice(START + 10 * own, &[("a", "sda", 50, 30)]));
    assert!(rest.flat_map(|slice| judge.judge(&slice)).collect::<Vec<_>>().is_empty());
    assert_eq!(told(&window(&mut judge, 3, &[("a", "sda", 50, 5)])), ["-a kept"]);
}

#[test]
fn rounded_latencies_of_a_store_make_no_alarm_active() {
    for (latency_us, active) in [(17_000, 0), (25_000, 1)] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path(), crate::model::options()).unwrap();
        for own in 0..40 {
            let mut slice = watched(START + 10 * own);
            add(&mut slice, "a", "sda", &[(latency_us, 50)]);
            store.push(slice).unwrap();
        }
        store.close().unwrap();
        let slices = Archive::open(dir.path()).unwrap().window((0, u64::MAX / 2), u64::MAX);
        // A store keeps 17 ms as up to 21 ms.
        let mut judge = judge("write p95 <= 18ms");
        judge.restore(&slices.unwrap().slices);
        assert_eq!(judge.active().count(), active, "{latency_us} us");
    }
}

#[test]
fn rules_of_the_guide_are_right() {
    let guide = include_str!("../../../../../docs/guides/watch.md");
    let (_, rest) = guide.split_once("```toml\n").expect("an example");
    let (text, _) = rest.split_once("```").expect("its end");
    let rules = Rules::load("guide", text).expect("rules");
    assert!(rules.rules.len() > 2 && !rules.send.alertmanagers.is_empty());
}

#[test]
fn vms_that_come_and_go_leave_nothing() {
    let mut judge = judge(LIMIT);
    for number in 0..1_000 {
        let vm = format!("vm \u{1b}[31m\n{number}{}", "x".repeat(500));
        window(&mut judge, number, &[(&vm, "sda", 50, 30)]);
        assert_eq!(judge.active().count(), 1, "the last one's is over");
        let alarm = judge.active().next().expect("one");
        let text = alarm.summary() + &alarm.description();
        assert!(!text.contains(['\u{1b}', '\n']) && text.len() < 600, "{text}");
    }
    window(&mut judge, 1_000, &[]);
    assert_eq!(judge.active().count(), 0);
}

proptest! {
    /// Whatever comes, alarms begin and end in turn, each at most once in a window, a VM has none
    /// beside that of its disk, and what is told is what is active.
    #[test]
    fn alarms_never_flap(
        steps in proptest::collection::vec(
            (0_u64..5, proptest::collection::vec((0_usize..6, 0_u32..12, 1_u64..50), 0..6), 0_u64..12),
            1..160,
        )
    ) {
        const VMS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
        let mut judge = judge(LIMIT);
        let mut active: BTreeMap<Subject, u64> = BTreeMap::new();
        let mut changed: BTreeMap<Subject, u64> = BTreeMap::new();
        let (mut now_s, mut is_stepped) = (START, false);
        for (skip, rows, oddity) in steps {
            // Mostly the next slice; at times a gap, a step back, or loss.
            now_s = match oddity {
                0 => now_s + 10 * skip,
                1 => now_s.saturating_sub(10 * skip),
                _ => now_s,
            };
            let rows: Vec<Row<'_>> =
                rows.iter().map(|(vm, count, ms)| (VMS[*vm], "sda", 10 * *count, *ms)).collect();
            let lost = u64::from(oddity == 2);
            let slice = Slice { lost, ..slice(now_s, &rows) };
            is_stepped |= oddity == 1;
            for change in judge.judge(&slice) {
                let subject = change.alarm.subject.clone();
                match change.end {
                    None => {
                        prop_assert!(active.insert(subject.clone(), now_s).is_none());
                        prop_assert!(!change.alarm.sufferers.is_empty());
                    }
                    Some(end) => {
                        prop_assert!(active.remove(&subject).is_some(), "{subject:?} was active");
                        if end.how == Ending::Joined {
                            let is_vm = matches!(subject, Subject::Vm { .. });
                            prop_assert!(is_vm);
                        }
                    }
                }
                let judged_s = change.end.map_or(change.alarm.sufferers[0].seen.from_s + 60, |end| end.at_s);
                let before = changed.insert(subject, judged_s);
                prop_assert!(is_stepped || before.is_none_or(|before| before < judged_s));
            }
            let known: Vec<Subject> = judge.active().map(|own| own.subject.clone()).collect();
            prop_assert_eq!(&known, &active.keys().cloned().collect::<Vec<_>>());
            let is_disk = |own: &Subject| matches!(own, Subject::Disk { .. });
            prop_assert!(known.len() == 1 || !known.iter().any(is_disk));
            now_s += 10;
        }
    }
}
