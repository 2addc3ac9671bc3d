//! Recordings of breaches in a store: their number, size and removal.

use std::fs;
use std::path::Path;

use tempfile::tempdir;
use tilemark_watch::{Change, Evidences, Judge, Options, Rules, Store};
use trace::{TraceInfo, store};
use units::Bytes;

use crate::model::{START, options};
use crate::rules::{add, watched};

/// Begin of an alarm of a VM.
fn alarm() -> Change {
    let text = "[[rule]]\nname = \"r\"\nlimit = \"write p95 <= 20ms\"\nfor = \"10s\"\n";
    let mut judge = Judge::new(&Rules::load("rules.toml", text).unwrap());
    let mut slice = watched(START);
    add(&mut slice, "web1", "sda", &[(50_000, 100)]);
    judge.judge(&slice).remove(0)
}

/// Records a trace with I/O of these VMs.
fn record(path: &Path, vms: &[&str]) {
    let vms = vms.iter().map(|vm| (*vm).to_owned()).collect();
    let info = TraceInfo {
        format: "tmt",
        clock: trace::Clock::Real { resolution: units::Nanos(1) },
        started_unix_ns: None,
        has_latency: true,
        vms,
        devices: Vec::new(),
        losses: trace::Losses::default(),
    };
    store::Writer::create(path, &info, store::Options::default()).unwrap().finish().unwrap();
}

#[test]
fn limit_of_a_day_counts_the_last_24_hours() {
    let dir = tempdir().unwrap();
    let evidences = Evidences::of(dir.path());
    let begin = |at_s| evidences.begin("h", &alarm(), (at_s, 2)).unwrap().is_some();
    assert!(begin(START) && begin(START + 100) && !begin(START + 200));
    assert!(!begin(START + 86_399) && begin(START + 86_400), "the first is a day old");
    assert!(!begin(START), "the name is taken");
    let all = evidences.list().unwrap();
    assert_eq!(all.iter().map(|own| own.at_s - START).collect::<Vec<_>>(), [0, 100, 86_400]);
    assert_eq!((all[0].vm.as_deref(), &*all[0].disk), (Some("web1"), "sda"));
    assert_eq!((&all[0].trace, &all[0].findings), (&None, &vec![]));
    assert!(all[0].alarm.contains("web1 on sda: p95 of writes over 20 ms"), "{}", all[0].alarm);
}

#[test]
fn findings_are_read_and_foreign_files_are_no_recordings() {
    let dir = tempdir().unwrap();
    let evidences = Evidences::of(dir.path());
    let trace = evidences.begin("h", &alarm(), (START, 1)).unwrap().unwrap();
    record(&trace, &["web1", "backup"]);
    let findings = r#"{"findings": [{"text": "A tier would serve 82 %."}, {"no": 1}]}"#;
    fs::write(Evidences::findings_of(&trace), findings).unwrap();
    let directory = dir.path().join("evidence");
    for name in ["notes.json", "20251301T000000Z.json", "x.tmt"] {
        fs::write(directory.join(name), "{}").unwrap();
    }
    let all = evidences.list().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].findings, ["A tier would serve 82 %."]);
    assert!(all[0].trace.is_some() && all[0].bytes > 100);
    fs::write(Evidences::findings_of(&trace), "{").unwrap();
    assert!(evidences.list().unwrap()[0].findings.is_empty());
}

#[test]
fn vm_is_forgotten_with_every_recording_that_has_its_io() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let evidences = Evidences::of(dir.path());
    for (at, vms) in [&["web1", "backup"][..], &["web1"], &["web1"]].iter().enumerate() {
        let begun = evidences.begin("h", &alarm(), (START + at as u64, 9)).unwrap().unwrap();
        record(&begun, vms);
    }
    assert_eq!(store.forget(None, Some("backup")).unwrap(), 1);
    assert_eq!(store.forget(Some(START + 2), None).unwrap(), 1);
    assert_eq!(evidences.list().unwrap().len(), 1);
    assert_eq!(store.forget(None, Some("web1")).unwrap(), 1);
    assert_eq!(fs::read_dir(dir.path().join("evidence")).unwrap().count(), 0);
}

#[test]
fn recordings_over_an_eighth_of_the_store_go_oldest_first() {
    let dir = tempdir().unwrap();
    let options = Options { bytes_max: Bytes::new(800_000), ..options() };
    let evidences = Evidences::of(dir.path());
    drop(Store::open(dir.path(), options.clone()).unwrap());
    for at in 0..4 {
        let trace = evidences.begin("h", &alarm(), (START + at, 9)).unwrap().unwrap();
        record(&trace, &["web1"]);
        fs::write(trace.join("ios-1.parquet"), vec![0; 40_000]).unwrap();
    }
    drop(Store::open(dir.path(), options).unwrap());
    let left: Vec<u64> = evidences.list().unwrap().iter().map(|own| own.at_s - START).collect();
    assert_eq!(left, [2, 3]);
}
