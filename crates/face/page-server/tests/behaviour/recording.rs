//! Live recording: the page shows the fed records, and feeding never waits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use run_store::rundir::RunId;
use serde_json::Value;
use server::{Library, LiveRun, Provider, Recording, Shelf, TraceFeed};
use trace::store::{self, Columns};
use trace::{IoRecord, Source as _, TraceInfo};
use units::Nanos;
use view::document::LivePhase;
use view::{Request, Source, TraceFacts};

/// Far more than anything takes on a busy computer.
const DEADLINE: Duration = Duration::from_secs(60);

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../see/capture/samples/mixed.tmt")
}

fn records() -> (TraceInfo, Vec<IoRecord>) {
    let mut source = store::open(&sample()).expect("a trace").source(Columns::ALL);
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.read(&mut batch).expect("it reads");
        if batch.is_empty() {
            return (source.info().clone(), all);
        }
        all.extend_from_slice(&batch);
    }
}

fn begin(info: &TraceInfo) -> (Library, RunId, TraceFeed) {
    let facts = TraceFacts::new(&sample(), info, Some("here"));
    let unnamed = TraceInfo { vms: Vec::new(), ..info.clone() };
    let recording = Recording { facts, info: unnamed, duration: Some(Nanos::from_secs(3600)) };
    let (run, feed) = LiveRun::record(recording).expect("a thread");
    let library = Library::new(Shelf::Some(Vec::new()));
    let id = run.id().clone();
    library.set_live(run);
    (library, id, feed)
}

fn ask(library: &Library, id: &RunId, view: &str) -> Value {
    let request = Request::parse(view, std::iter::empty()).expect("a request");
    library.answer(id, &request).expect("an answer")
}

fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < DEADLINE, "it does not come to that");
        std::thread::yield_now();
    }
}

#[test]
fn recording_shows_the_same_figures_live_and_afterwards() {
    let (info, records) = records();
    let (library, id, mut feed) = begin(&info);
    let last = records.last().expect("it is not empty").issue;
    feed.seen(Some(info), &Arc::new(Vec::new()), Nanos::ZERO);
    for batch in records.chunks(500) {
        let batch = Arc::new(batch.to_vec());
        let elapsed = batch.last().map_or(Nanos::ZERO, |record| record.issue);
        feed.seen(None, &batch, elapsed);
        // A recorder looks every 25 ms, slower than this test.
        wait_until(|| Arc::strong_count(&batch) == 1);
    }
    // Without further records, the last slices end as time passes.
    let later = last.saturating_add(Nanos::from_secs(4));
    feed.seen(None, &Arc::new(Vec::new()), later);
    wait_until(|| feed.run().rollup().end() > last);

    let state = library.live(&id).expect("it is known").expect("it goes on");
    assert_eq!((state.phase, state.lost_slices), (LivePhase::Measured, 0));
    assert!(state.sentence.contains("watching"), "{}", state.sentence);
    assert_eq!(state.left_ns, Some(3_600_000_000_000 - later.0));
    let page = library.page(&id).expect("a page");
    assert!(page.live.is_some() && !page.dimensions.has_ladder);
    let row = &library.runs().expect("a list").runs[0];
    assert_eq!((row.id.as_str(), row.tile.as_str()), (id.as_str(), "mixed"));
    let live = ["overview", "matrix", "percentiles"].map(|view| ask(&library, &id, view));
    let map = ask(&library, &id, "map");
    assert_eq!(map["items"][0]["host"], "here");
    for view in ["series", "heatmap", "map", "moment", "breaks"] {
        assert!(ask(&library, &id, view)["sentence"].is_string(), "{view}");
    }

    library.add_trace(&sample()).expect("a trace");
    drop(feed);
    assert_eq!(library.live(&id).expect("it is known"), None);
    assert!(library.events(&id).expect("none").events.is_empty());
    let stored = Source::open_trace(&sample()).expect("a trace");
    assert_eq!(stored.id(), id.as_str(), "it keeps its address");
    let ended = ["overview", "matrix", "percentiles"].map(|view| ask(&library, &id, view));
    assert_eq!(live[0]["sizes"], ended[0]["sizes"]);
    assert_eq!(live[1]["panels"], ended[1]["panels"]);
    assert_eq!(live[2]["curves"], ended[2]["curves"]);
    assert!(ended[0]["sentence"].as_str().expect("one").starts_with("Observed: "));
}

#[test]
fn slow_page_drops_and_counts_batches_without_blocking() {
    let (info, records) = records();
    let (library, id, mut feed) = begin(&info);
    // Folding this takes far longer than queueing all later batches.
    let one = records.iter().find(|record| record.operation.moves_data()).expect("a read");
    let (heavy, small) = (vec![*one; 1_000_000], Arc::new(vec![*one]));
    feed.seen(None, &Arc::new(heavy), Nanos::ZERO);
    let begun = Instant::now();
    for _ in 0..1000 {
        feed.seen(None, &small, Nanos::ZERO);
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?} for handing over");
    let lost = || library.live(&id).expect("it is known").expect("it goes on").lost_slices;
    assert!((1..1000).contains(&lost()), "{}", lost());
    // Names survive the loss of their batch.
    feed.seen(Some(info.clone()), &small, Nanos::ZERO);
    wait_until(|| Arc::strong_count(&small) == 1);
    feed.seen(None, &small, Nanos::from_secs(4));
    wait_until(|| Arc::strong_count(&small) == 1 && feed.run().rollup().end() > Nanos::ZERO);
    let workloads = library.page(&id).expect("a page").dimensions.workloads;
    assert!(!workloads.is_empty());
    assert!(workloads.iter().all(|name| info.vms.iter().any(|vm| name.starts_with(vm.as_str()))));
}
