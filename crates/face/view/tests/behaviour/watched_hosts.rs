//! The view `watch` of two hosts as one: a VM that moved, shared storage, and a host that is lost.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fixtures::watched::{SHARED, two_hosts};
use serde_json::{Value, json};
use view::{Request, Source};
use watch::{HostStore, HostStores, HostTrouble};

/// 2026-11-24 12:00 UTC.
const END_S: u64 = 1_795_521_600;

struct Here(&'static str, PathBuf, Arc<AtomicBool>);

impl HostStore for Here {
    fn name(&self) -> &str {
        self.0
    }

    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, HostTrouble> {
        let hint = Some("start it again".to_owned());
        match self.2.load(Ordering::Acquire) {
            true => Err(HostTrouble { text: "gone".to_owned(), hint }),
            false => Ok(watch::answer(&self.1, question, END_S).expect("an answer")),
        }
    }
}

fn answer(source: &Source, view: &str, query: &[(&str, &str)]) -> Value {
    let request = Request::parse(view, query.iter().copied()).expect("a request");
    serde_json::to_value(view::answer(source, &request)).expect("JSON")
}

fn names(rows: &Value) -> Vec<&str> {
    rows.as_array().expect("rows").iter().map(|row| row["name"].as_str().expect("a name")).collect()
}

#[test]
fn hosts_are_shown_as_one_and_a_lost_one_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let of = |host: &str| directory.path().join(host);
    two_hosts([&of("a"), &of("b")], END_S);
    let is_lost = Arc::new(AtomicBool::new(false));
    let hosts: Vec<Box<dyn HostStore>> = vec![
        Box::new(Here("a", of("a"), Arc::default())),
        Box::new(Here("b", of("b"), Arc::clone(&is_lost))),
    ];
    let stores = Arc::new(HostStores::new(hosts, || END_S));
    let source = Source::open_watched_hosts(&stores);
    let id = source.id().to_owned();
    let page = answer(&source, "watch", &[]);
    let sentence = page["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("sql1 (on a) suffers most: "), "{sentence}");
    assert_eq!(names(&page["vms"]), ["sql1", "web1", "backup", "a/kworker", "b/kworker"]);
    assert_eq!(page["vms"][1]["hosts"], json!(["a", "b"]), "it moved");
    assert_eq!(page["vms"][1]["workloads"], json!([format!("web1 on {SHARED}")]), "one line");
    assert_eq!(page["vms"][1]["set"], "3 GiB since 2026-11-24 11:00, 100 % of it read (on a)");
    assert_eq!(names(&page["disks"]), [SHARED, "a/nvme0n1", "b/nvme0n1"]);
    let shared = &page["disks"][0];
    assert_eq!(names(&shared["parts"]), ["a/sda", "b/sdb"]);
    let rate = |row: &Value| row["operations_per_s"].as_f64().expect("a rate");
    let parts = rate(&shared["parts"][0]) + rate(&shared["parts"][1]);
    assert!((rate(shared) - parts).abs() < 1e-6 && parts > 0.0, "{shared}");
    assert_eq!(shared["busy_share"], Value::Null, "each host has its own way there");
    let busy = shared["parts"][1]["busy_share"].as_f64().expect("a share");
    assert!((busy - 0.6).abs() < 0.01, "{busy}");
    let host = |at: usize| &page["hosts"][at];
    assert_eq!((&host(0)["name"], &host(0)["trouble"]), (&json!("a"), &Value::Null));
    let sets = page["sets"].as_array().expect("sets");
    let titles: Vec<_> = sets.iter().map(|own| (own["vm"].clone(), own["host"].clone())).collect();
    assert!(titles.contains(&(json!("web1"), json!("b"))), "{titles:?}");
    assert!(titles.contains(&(json!("sql1"), Value::Null)), "{titles:?}");

    let chosen = [("wl", "web1 on naa.60014055f0cfae3d6254576a87cf2ae1")];
    let moved = answer(&source, "watch", &chosen);
    let split = moved["split"]["host_count"].as_array().expect("points");
    assert!(split.iter().all(|count| count.as_u64() > Some(0)), "no gap where it moved");

    is_lost.store(true, Ordering::Release);
    let source = Source::open_watched_hosts(&stores);
    assert_eq!(source.id(), id);
    let page = answer(&source, "watch", &[]);
    let lost = &page["hosts"][1];
    assert_eq!((&lost["trouble"], &lost["hint"]), (&json!("gone"), &json!("start it again")));
    let sentence = page["sentence"].as_str().expect("a sentence");
    assert!(sentence.ends_with(" Not included: b."), "{sentence}");
    assert_eq!(names(&page["vms"]), ["sql1", "web1", "a/kworker"]);
    assert_eq!(names(&page["disks"]), [SHARED, "a/nvme0n1"], "names stay");

    is_lost.store(false, Ordering::Release);
    let page = answer(&Source::open_watched_hosts(&stores), "watch", &[]);
    assert_eq!(names(&page["vms"]).len(), 5, "taken up again");
}
