//! Two hosts that share storage, a VM that moved, hosts that lie, and hosts that are lost.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fixtures::watched::{SHARED, SLICES, WEB_IOS, two_hosts};
use tempfile::TempDir;
use units::Nanos;

use super::check::CheckedContent;
use super::long::{self, Limits};
use super::wire::{
    ANSWER_MAX, Answer, CELLS_MAX, Content, EvidenceFacts, Question, SetFacts, encode,
};
use super::{HostStore, HostStores, HostTrouble, answer};
use crate::slice::Names;
use crate::{Archive, KnownDisk, KnownVm, Load, SetSpan, Slice, journal};

/// 2026-11-24 12:00 UTC.
const END_S: u64 = 1_795_521_600;
const WINDOW: (u64, u64) = (END_S - 3600, END_S);

fn now_s() -> u64 {
    END_S + 60
}

/// Host in this process.
struct Here {
    name: &'static str,
    directory: PathBuf,
    is_lost: AtomicBool,
    change: Box<dyn Fn(Vec<u8>) -> Vec<u8> + Send + Sync>,
}

impl HostStore for Here {
    fn name(&self) -> &str {
        self.name
    }

    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, HostTrouble> {
        let trouble = |text: String| HostTrouble { text, hint: None };
        if self.is_lost.load(Ordering::Acquire) {
            return Err(trouble("gone".to_owned()));
        }
        let answer = answer(&self.directory, question, now_s());
        Ok((self.change)(answer.map_err(|error| trouble(error.to_string()))?))
    }
}

fn here(name: &'static str, directory: &Path) -> Here {
    let (directory, is_lost) = (directory.to_owned(), AtomicBool::new(false));
    Here { name, directory, is_lost, change: Box::new(|bytes| bytes) }
}

struct Two {
    directory: TempDir,
}

impl Two {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let two = Self { directory };
        two_hosts([&two.of("a"), &two.of("b")], END_S);
        two
    }

    fn of(&self, host: &str) -> PathBuf {
        self.directory.path().join(host)
    }

    fn stores(&self) -> HostStores {
        let hosts = [here("a", &self.of("a")), here("b", &self.of("b"))];
        HostStores::new(hosts.map(|host| Box::new(host) as Box<dyn HostStore>).into(), now_s)
    }

    /// Both hosts, of which b changes its answers.
    fn with_liar(&self, lie: impl Fn(&mut Answer) + Send + Sync + 'static) -> HostStores {
        self.with_changed(move |bytes| {
            let mut answer: Answer = postcard::from_bytes(&bytes).unwrap();
            lie(&mut answer);
            encode(&answer)
        })
    }

    fn with_changed(
        &self,
        change: impl Fn(Vec<u8>) -> Vec<u8> + Send + Sync + 'static,
    ) -> HostStores {
        let liar = Here { change: Box::new(change), ..here("b", &self.of("b")) };
        HostStores::new(vec![Box::new(here("a", &self.of("a"))), Box::new(liar)], now_s)
    }
}

fn ios(slices: &[Slice]) -> u64 {
    slices.iter().flat_map(|slice| slice.io.values()).map(|cell| cell.count).sum()
}

fn names<'a>(
    slices: &'a [Slice],
    of: impl Fn(&'a crate::Key) -> &'a Arc<str>,
) -> BTreeSet<&'a str> {
    slices.iter().flat_map(|slice| slice.io.keys()).map(|key| &**of(key)).collect()
}

#[test]
fn hosts_are_one_with_every_io_once() {
    let two = Two::new();
    let stores = two.stores();
    let merged = stores.window(WINDOW, 600);
    let alone = |host| Archive::open(&two.of(host)).unwrap().window(WINDOW, 600).unwrap().slices;
    let (a, b) = (alone("a"), alone("b"));
    assert_eq!((merged.width_s, merged.slices.len()), (10, 360));
    assert_eq!(ios(&merged.slices), ios(&a) + ios(&b));
    let senders = names(&merged.slices, |key| &key.vm);
    assert_eq!(senders, ["a/kworker", "b/kworker", "backup", "sql1", "web1"].into());
    let disks = names(&merged.slices, |key| &key.disk);
    assert_eq!(disks, ["a/nvme0n1", "b/nvme0n1", SHARED].into());
    assert!(
        merged.slices.iter().all(|own| own.watched == Nanos::from_secs(10)),
        "time counts once"
    );
    assert!(stores.notes().iter().all(|note| note.trouble.is_none()));

    // The VM that moved is one, with the histograms of both hosts.
    assert_eq!(merged.hosts["web1"], ["a", "b"]);
    assert_eq!(
        (&merged.hosts["sql1"], &merged.hosts["b/kworker"]),
        (&vec!["a".into()], &vec!["b".into()])
    );
    let loads = Load::by_vm(&merged.slices, Nanos::from_millis(20));
    let web = loads.iter().find(|own| &*own.name == "web1").unwrap();
    assert_eq!((web.ios, web.others), (WEB_IOS * SLICES, 1));
    let p = |share| web.percentile(run_store::slice::Direction::Read, units::Ratio::new(share));
    assert!(p(0.4) < Some(Nanos::from_micros(900)) && p(0.9) >= Some(Nanos::from_micros(1_500)));
    assert_eq!(&*loads[0].name, "sql1", "who suffers most, over all hosts");

    // The I/O of shared storage is the sum of each host's I/O on it.
    let shared: Vec<(&str, &str)> =
        merged.disks.iter().map(|part| (&*part.storage, &*part.disk)).collect();
    assert_eq!(shared, [(SHARED, "a/sda"), (SHARED, "b/sdb")]);
    let of_storage = merged.slices.iter().flat_map(|slice| &slice.io);
    let of_storage: u64 =
        of_storage.filter(|(key, _)| *key.disk == *SHARED).map(|(_, cell)| cell.count).sum();
    assert_eq!(ios(&merged.parts), of_storage);
    let scopes: BTreeSet<&str> =
        merged.slices[0].gauges.keys().map(|(_, scope)| &**scope).collect();
    assert_eq!(scopes, ["a", "a/nvme0n1", "a/sda", "b", "b/nvme0n1", "b/sdb", "web1"].into());
}

#[test]
fn coarser_slices_and_working_sets_have_the_names_of_all_hosts() {
    let two = Two::new();
    let stores = two.stores();
    let merged = stores.window(WINDOW, 60);
    assert_eq!((merged.width_s, merged.slices.len()), (60, 60));
    assert_eq!(ios(&merged.slices), ios(&stores.window(WINDOW, 600).slices));
    let sets = stores.newest_sets();
    let web = |host: usize| {
        let row = sets[host].rows.iter().find(|row| &*row.vm == "web1" && row.span == SetSpan::Day);
        row.unwrap().used_bytes >> 30
    };
    assert_eq!((web(0), web(1)), (3, 2), "sets of two hosts are never added");
    assert_eq!(stores.sets((END_S - 3600, END_S), 3600).len(), 2);
    let states = stores.states();
    assert_eq!(states.iter().map(|own| own.bounds).collect::<Vec<_>>(), [Some(WINDOW); 2]);
}

#[test]
fn disks_without_an_identity_are_never_one() {
    let two = Two::new();
    // As an earlier version stored it.
    std::fs::remove_file(two.of("b").join("names.json")).unwrap();
    let merged = two.stores().window(WINDOW, 600);
    assert_eq!(merged.disks, []);
    let disks = names(&merged.slices, |key| &key.disk);
    assert_eq!(disks, ["a/nvme0n1", "a/sda", "b/nvme0n1", "b/sdb"].into());
    let senders = names(&merged.slices, |key| &key.vm);
    assert!(senders.contains("web1") && !senders.contains("b/web1"), "its processors are seen");
    assert!(senders.contains("b/backup"), "nothing tells that it is a VM");
}

#[test]
fn lost_host_is_named_and_taken_up_again() {
    let two = Two::new();
    let (a, b) = (Arc::new(here("a", &two.of("a"))), Arc::new(here("b", &two.of("b"))));
    let stores = HostStores::new(vec![Box::new(Arc::clone(&a)), Box::new(Arc::clone(&b))], now_s);
    let all = ios(&stores.window(WINDOW, 600).slices);
    b.is_lost.store(true, Ordering::Release);
    let merged = stores.window(WINDOW, 600);
    assert!(ios(&merged.slices) < all);
    assert_eq!(merged.hosts["web1"], ["a"]);
    assert!(merged.disks.iter().any(|part| &*part.storage == SHARED), "names stay as they were");
    let trouble = |notes: Vec<super::HostNote>| {
        notes.into_iter().map(|note| note.trouble.map(|own| own.text)).collect::<Vec<_>>()
    };
    assert_eq!(trouble(stores.notes()), [None, Some("gone".to_owned())]);
    b.is_lost.store(false, Ordering::Release);
    assert_eq!(ios(&stores.window(WINDOW, 600).slices), all);
    assert_eq!(trouble(stores.notes()), [None, None]);
}

const PARTS: Limits = Limits { slices: 7, slices_min: 4, bytes: usize::MAX };

/// Reads a window of a host in parts.
fn in_parts(host: &Here, slices_max: u64, limits: Limits) -> super::check::CheckedSlices {
    match long::slices(host, WINDOW, slices_max, limits).unwrap().content {
        CheckedContent::Slices(own) => own,
        other => panic!("{other:?}"),
    }
}

#[test]
fn window_in_parts_has_every_io_once() {
    let two = Two::new();
    let (a, archive) = (here("a", &two.of("a")), Archive::open(&two.of("a")).unwrap());
    let whole = archive.window(WINDOW, 600).unwrap().slices;
    let parts = in_parts(&a, 600, PARTS);
    assert!(parts.width_s == 10 && parts.slices == whole, "{} slices", parts.slices.len());
    // Where the finest slices are gone, a slice is longer than a part.
    for file in std::fs::read_dir(two.of("a")).unwrap().flatten() {
        if file.file_name().to_str().unwrap().starts_with("10s-") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    let coarse = archive.window(WINDOW, 600).unwrap().slices;
    assert!(coarse.len() == 30 && coarse.iter().all(|own| own.width_s == 60));
    assert_eq!(in_parts(&a, 600, Limits { slices: 4, ..PARTS }).slices, coarse);
}

#[test]
fn long_answers_are_coarser_and_never_above_their_limit() {
    let two = Two::new();
    let (a, asked) = (here("a", &two.of("a")), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let change = Box::new(move |bytes: Vec<u8>| {
        count.fetch_add(bytes.len(), Ordering::Relaxed);
        bytes
    });
    let counted = Here { change, ..a };
    let fine = in_parts(&counted, 600, PARTS);
    let bytes = asked.swap(0, Ordering::Relaxed) / 2;
    let coarse = in_parts(&counted, 600, Limits { bytes, ..PARTS });
    assert_eq!((fine.width_s, coarse.width_s), (10, 60));
    assert_eq!(ios(&coarse.slices), ios(&fine.slices));
    let none = long::slices(&counted, WINDOW, 600, Limits { bytes: 100, ..PARTS }).unwrap_err();
    assert_eq!(none.text, "its answers exceed 0 MiB");
}

#[test]
fn host_failing_in_a_later_part_is_left_out_whole() {
    let two = Two::new();
    // An empty answer is a lie from the second question on.
    let asked = AtomicUsize::new(0);
    let stores = two.with_changed(move |bytes| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => bytes,
        _ => Vec::new(),
    });
    // Two days of 10 s are asked for in several parts.
    let merged = stores.long_window((END_S - 2 * 86_400, END_S), 20_000);
    let senders = names(&merged.slices, |key| &key.vm);
    assert_eq!(senders, ["a/kworker", "sql1", "web1"].into());
    assert!(stores.notes()[1].trouble.as_ref().unwrap().text.contains("its answer is invalid"));
    let all = two.stores().long_window((END_S - 2 * 86_400, END_S), 20_000);
    assert_eq!(all.slices, two.stores().window(WINDOW, 600).slices);
}

#[test]
fn long_sets_are_of_each_host() {
    let two = Two::new();
    let month = two.stores().long_sets((END_S - 30 * 86_400, END_S));
    let hour = two.stores().sets((END_S - 3600, END_S), 1);
    assert!(month == hour && month.iter().all(|own| own.rows.len() == 6), "{month:?}");
}

#[test]
fn recordings_of_all_hosts_are_in_order_and_named_alike() {
    let two = Two::new();
    let write = |host: &str, name: &str, disk: &str| {
        let directory = two.of(host).join("evidence");
        std::fs::create_dir_all(&directory).unwrap();
        let text = format!(r#"{{"summary": "slow", "vm": "web1", "disk": "{disk}"}}"#);
        std::fs::write(directory.join(format!("{name}.json")), text).unwrap();
    };
    write("b", "20261124T115000Z", "sdb");
    write("a", "20261124T112000Z", "sda");
    write("a", "20261124T112001Z", "nvme0n1");
    let stores = two.stores();
    let told: Vec<_> = stores.evidence().into_iter().map(|own| (own.host, own.evidence)).collect();
    let told: Vec<(&str, Option<&str>, &str)> = told
        .iter()
        .map(|(host, own)| (host.as_str(), own.vm.as_deref(), own.disk.as_str()))
        .collect();
    let web = Some("web1");
    assert_eq!(told, [("a", web, SHARED), ("a", web, "a/nvme0n1"), ("b", web, SHARED)]);

    type EvidenceLie = fn(&mut Vec<EvidenceFacts>);
    let lies: [(&str, EvidenceLie); 4] = [
        ("has no time", |all| all[0].name = "../../etc".to_owned()),
        ("a text has 9000 bytes", |all| all[0].alarm = "x".repeat(9000)),
        ("not in ascending order", |all| all.push(all[0].clone())),
        ("101 findings", |all| all[0].findings = vec![String::new(); 101]),
    ];
    for (reason, lie) in lies {
        let stores = two.with_liar(move |answer| {
            if let Content::Evidence(all) = &mut answer.content {
                lie(all);
            }
        });
        assert_eq!(stores.evidence().len(), 2, "{reason}");
        let trouble = stores.notes()[1].trouble.clone().unwrap().text;
        assert!(trouble.contains(reason), "{reason}: {trouble}");
    }
}

/// Changes the slices of an answer.
fn slices(change: impl Fn(&mut Vec<Slice>)) -> impl Fn(&mut Answer) {
    move |answer| {
        let Content::Slices(own) = &mut answer.content else { return };
        let mut names = Names::default();
        let frames = own.frames.iter();
        let mut slices = frames.map(|own| journal::decode(own, &mut names).unwrap()).collect();
        change(&mut slices);
        own.frames = slices.iter().map(journal::frame).collect();
    }
}

/// Changes the first cell of the kernel's events.
fn first_cell(change: impl Fn(&mut crate::Cell)) -> impl Fn(&mut Answer) {
    slices(move |slices| change(slices[0].io.values_mut().next().unwrap()))
}

/// Answers with single bytes changed are refused or hold: nothing panics, and nothing grows.
#[test]
fn changed_bytes_never_panic() {
    let two = Two::new();
    let question = encode(&Question::Window { from_s: END_S - 50, to_s: END_S, slices_max: 5 });
    let honest = answer(&two.of("b"), &question, now_s()).unwrap();
    let asked = postcard::from_bytes(&question).unwrap();
    let mut held = 0;
    for at in 0..honest.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = honest.clone();
            bytes[at] ^= change;
            let Ok(checked) = super::check::checked(&bytes, &asked) else { continue };
            let super::check::CheckedContent::Slices(slices) = checked.content else { continue };
            let mut names = super::merge::Names::default();
            names.learn("b", &checked.known);
            let merged = super::merge::merge(&mut names, &[("b", slices)]);
            assert!(merged.slices.len() <= 7);
            held += 1;
        }
    }
    assert!(held > 0, "names may be any");
}

type Change = fn(Vec<u8>) -> Vec<u8>;
type Lie = Box<dyn Fn(&mut Answer) + Send + Sync>;

fn lies_of_slices() -> Vec<(&'static str, Lie)> {
    let rename = |name: &'static str| {
        slices(move |slices| {
            let (mut key, cell) = slices[0].io.pop_first().unwrap();
            key.vm = name.into();
            slices[0].io.insert(key, cell);
        })
    };
    let long: &'static str = Box::leak("x".repeat(2000).into_boxed_str());
    vec![
        ("21 I/Os, but 20 in their histogram", Box::new(first_cell(|cell| cell.count += 1))),
        ("are too many", Box::new(first_cell(|cell| cell.errors = u64::MAX))),
        (
            "do not match the sum of its latencies",
            Box::new(first_cell(|cell| cell.latency_ns *= 1000)),
        ),
        ("its queue time is longer", Box::new(first_cell(|cell| cell.queue_ns = Some(u64::MAX)))),
        ("bytes in", Box::new(first_cell(|cell| cell.bytes = u64::MAX))),
        ("is not from", Box::new(slices(|slices| slices[359].start_s = END_S + 3600))),
        ("is not from", Box::new(slices(|slices| slices[0].start_s = 0))),
        ("there is no slice of 10 s at", Box::new(slices(|slices| slices[3].start_s += 1))),
        ("there is no slice of 7 s", Box::new(slices(|slices| slices[3].width_s = 7))),
        ("not in ascending order", Box::new(slices(|slices| slices.swap(0, 1)))),
        ("slices (limit 362)", Box::new(slices(|slices| slices.extend(slices.clone())))),
        (
            "is not a number",
            Box::new(slices(|slices| {
                slices[0].gauges.values_mut().for_each(|own| own.value = f64::NAN);
            })),
        ),
        (
            "cells (limit",
            Box::new(slices(|slices| {
                let (key, cell) = slices[0].io.pop_first().unwrap();
                for number in 0..CELLS_MAX {
                    let key = crate::Key { vm: format!("v{number}").into(), ..key.clone() };
                    slices[0].io.insert(key, crate::Cell { count: 0, ..crate::Cell::default() });
                }
                slices[0].io.insert(key, cell);
            })),
        ),
        ("a name has 2000 bytes", Box::new(rename(long))),
    ]
}

fn lies_of_answers() -> Vec<(&'static str, Lie)> {
    vec![
        (
            "it belongs to another request",
            Box::new(|answer| {
                let Content::Slices(_) = answer.content else { return };
                let (from_s, to_s) = (END_S - 7200, END_S - 3600);
                answer.question = Question::Window { from_s, to_s, slices_max: 600 };
            }),
        ),
        (
            "it belongs to another request",
            Box::new(|answer| answer.content = Content::Sets(Vec::new())),
        ),
        (
            "there are no slices of 11 s",
            Box::new(|answer| {
                if let Content::Slices(own) = &mut answer.content {
                    own.width_s = 11;
                }
            }),
        ),
        (
            "a slice cannot be read",
            Box::new(|answer| {
                if let Content::Slices(own) = &mut answer.content {
                    own.frames[7].truncate(9);
                }
            }),
        ),
        (
            "VMs (limit",
            Box::new(|answer| {
                let vm = |at| KnownVm { name: format!("vm{at}"), uuid: None, day_s: 0 };
                answer.known.vms = (0..100_000).map(vm).collect();
            }),
        ),
        (
            "the identity of a disk is empty",
            Box::new(|answer| {
                let identity = Some(String::new());
                answer.known.disks.push(KnownDisk { name: "sda".into(), identity, from_s: 0 });
            }),
        ),
    ]
}

#[test]
fn host_that_lies_is_named_and_left_out() {
    let two = Two::new();
    let honest = {
        let a = Archive::open(&two.of("a")).unwrap().window(WINDOW, 600).unwrap();
        ios(&a.slices)
    };
    for (reason, lie) in lies_of_slices().into_iter().chain(lies_of_answers()) {
        let stores = two.with_liar(lie);
        let merged = stores.window(WINDOW, 600);
        let trouble = stores.notes()[1].trouble.clone();
        let trouble = trouble.unwrap_or_else(|| panic!("{reason}: it was believed"));
        assert!(trouble.text.contains(reason), "{reason}: {}", trouble.text);
        assert!(trouble.text.starts_with("its answer is invalid: "), "{}", trouble.text);
        assert_eq!(stores.notes()[0].trouble, None, "{reason}");
        assert_eq!(ios(&merged.slices), honest, "{reason}: the other is shown");
    }
}

#[test]
fn overlong_answer_and_one_with_more_behind_it_are_refused() {
    let two = Two::new();
    let changes: [(&str, Change); 4] = [
        ("but the maximum is", |bytes| [bytes, vec![0; ANSWER_MAX]].concat()),
        ("at its end", |bytes| [bytes, vec![0]].concat()),
        ("it is not an answer", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("it is not an answer", |_| b"\xff\xff\xff\xff\xff\xff\xff\xff\x01 hello".to_vec()),
    ];
    for (reason, change) in changes {
        let stores = two.with_changed(change);
        stores.window(WINDOW, 600);
        let text = stores.notes()[1].trouble.clone().map(|own| own.text).unwrap_or_default();
        assert!(text.contains(reason), "{reason}: {text}");
    }
}

#[test]
fn working_sets_that_cannot_be_are_refused() {
    let two = Two::new();
    let lies: [fn(&mut SetFacts); 6] = [
        |set| set.share = f64::NAN,
        |set| set.share = 0.0,
        |set| set.hours = 5,
        |set| set.read_bytes = u64::MAX,
        |set| set.start_s += 1,
        // The end of its hour would be beyond 64 bits.
        |set| set.start_s = u64::MAX - u64::MAX % 3600,
    ];
    for lie in lies {
        let stores = two.with_liar(move |answer| {
            if let Content::Sets(rows) = &mut answer.content {
                rows.iter_mut().for_each(lie);
            }
        });
        assert_eq!(stores.newest_sets().len(), 1);
        assert!(stores.notes()[1].trouble.is_some());
    }
}

#[test]
fn names_with_anything_in_them_stay_names() {
    let two = Two::new();
    let name = "a/kworker\u{1b}[2J<script>\n,\u{202e}";
    let stores = two.with_liar(slices(move |slices| {
        for slice in slices {
            let backup = slice.io.keys().find(|key| &*key.vm == "backup").cloned();
            if let Some((key, cell)) = backup.and_then(|key| slice.io.remove_entry(&key)) {
                slice.io.insert(crate::Key { vm: name.into(), ..key }, cell);
            }
        }
    }));
    let merged = stores.window(WINDOW, 600);
    let senders = names(&merged.slices, |key| &key.vm);
    assert!(senders.contains(&*format!("b/{name}")), "{senders:?}");
    // Such a name is no other host's sender either.
    assert_eq!(merged.hosts["a/kworker"], ["a"]);
}

#[test]
fn times_that_clocks_tell_are_bounded_and_a_wrong_clock_is_told() {
    let two = Two::new();
    let stores = two.with_liar(|answer| {
        answer.now_s += 3600;
        if let Content::State(state) = &mut answer.content {
            state.bounds = Some((0, u64::MAX));
        }
    });
    let bounds = stores.states()[1].bounds.unwrap();
    assert!(bounds.0 > END_S - 501 * 86_400 && bounds.1 < END_S + 2 * 86_400, "{bounds:?}");
    let ahead: Vec<_> = stores.notes().iter().map(|note| note.clock_ahead_s).collect();
    assert_eq!(ahead, [None, Some(3600)]);
}

#[test]
fn answer_that_would_be_too_long_is_of_coarser_slices() {
    let directory = tempfile::tempdir().unwrap();
    let options = crate::Options { host: "a".into(), bytes_max: units::Bytes::new(1 << 40) };
    let mut store = crate::Store::open(directory.path(), options).unwrap();
    let sample = Two::new();
    let known = Archive::open(&sample.of("a")).unwrap().window(WINDOW, 600).unwrap();
    let (key, cell) = known.slices[0].io.first_key_value().unwrap();
    for number in 0..360 {
        let mut slice = Slice::new(END_S - 3600 + 10 * number, 10);
        for vm in 0..40 {
            let key = crate::Key { vm: format!("{vm:01000}").into(), ..key.clone() };
            slice.io.insert(key, cell.clone());
        }
        store.push(slice).unwrap();
    }
    store.close().unwrap();
    let stores = HostStores::new(vec![Box::new(here("a", directory.path()))], now_s);
    let merged = stores.window(WINDOW, 600);
    assert_eq!(stores.notes()[0].trouble, None);
    assert_eq!((merged.width_s, merged.slices.len()), (60, 60), "14 MB are too many");
    assert_eq!(ios(&merged.slices), 360 * 40 * cell.count);
}

#[test]
fn names_of_an_older_store_are_known_from_now_on() {
    let two = Two::new();
    let directory = two.of("b");
    std::fs::remove_file(directory.join("names.json")).unwrap();
    let options = crate::Options { host: "b".into(), bytes_max: units::Bytes::new(1 << 40) };
    let mut store = crate::Store::open(&directory, options).unwrap();
    let disks = vec![("sdb".to_owned(), Some(SHARED.to_owned()))];
    store.note(END_S, &crate::Sightings { disks, ..crate::Sightings::default() }).unwrap();
    store.close().unwrap();
    let known = crate::known::read(&directory);
    assert_eq!(known.identity("sdb", (END_S, END_S + 10)), Some(SHARED));
    assert_eq!(known.identity("sdb", (END_S - 10, END_S)), None, "it may have been another one");
    assert_eq!(crate::known::read(&two.of("a")).since_s, 0);
}

/// Answers with which the fuzzer of `fuzz/fuzz_targets/hosts.rs` begins: the number of the question
/// there, and the answer without its question.
#[test]
fn seeds_of_the_fuzzer_are_accepted() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/seeds/hosts");
    let (from_s, to_s) = (END_S - 60, END_S);
    let questions = [
        (0, Question::State),
        (1, Question::Window { from_s, to_s, slices_max: 6 }),
        (4, Question::NewestSets),
        (6, Question::Evidence),
    ];
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        let two = Two::new();
        let evidence = two.of("b").join("evidence");
        std::fs::create_dir_all(&evidence).unwrap();
        let alarm = r#"{"summary": "slow", "vm": "web1", "disk": "sdb"}"#;
        std::fs::write(evidence.join("20261124T115000Z.json"), alarm).unwrap();
        std::fs::create_dir_all(&seeds).unwrap();
        for (number, question) in &questions {
            let question = encode(question);
            let answer = answer(&two.of("b"), &question, now_s()).unwrap();
            let seed = [&[*number], &answer[question.len()..]].concat();
            std::fs::write(seeds.join(number.to_string()), seed).unwrap();
        }
    }
    for (number, question) in &questions {
        let seed = std::fs::read(seeds.join(number.to_string())).unwrap();
        let answer = [&encode(question), &seed[1..]].concat();
        let accepted = super::check::checked(&answer, question);
        assert!(accepted.is_ok() && seed[0] == *number && seed.len() <= 4096, "{question:?}");
    }
}
