//! View `access`: for a stored trace the results of the analysis, else the reason why there are
//! none.

use std::path::Path;

use trace::store::{self, Columns, Options, Writer};
use trace::{Clock, Device, IoRecord, Losses, Operation, Source as _, TraceInfo};
use units::Nanos;
use view::document::AccessPage;
use view::sample::Sample;
use view::{Lens, Source};

use crate::model;

/// A trace of reads of 4 KiB that begin one sector late, over 4 MiB, again and again.
fn trace(path: &Path) {
    let info = TraceInfo {
        format: "test",
        clock: Clock::Real { resolution: Nanos(1) },
        started_unix_ns: None,
        has_latency: true,
        vms: vec!["db".to_owned()],
        devices: vec![Device { name: "sda".to_owned(), size: None }],
        losses: Losses::default(),
    };
    let records: Vec<IoRecord> = (0..4096_u64)
        .map(|at| {
            let issue = Nanos::from_millis(at);
            let mut io = IoRecord::new(issue, Operation::Read, (at % 1024) * 4096 + 512, 4096);
            io.device_time = Some(Nanos::from_micros(300));
            io
        })
        .collect();
    let mut writer = Writer::create(path, &info, Options::default()).expect("a directory");
    writer.write(&records).expect("it writes");
    writer.finish().expect("it ends");
}

#[test]
fn stored_trace_has_the_results_of_the_analysis() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("late.tmt");
    trace(&path);
    let page = model::access(&Source::open_trace(&path).expect("it opens"), &Lens::default());
    let mut fold = analyze::Fold::new(&analyze::Settings::default());
    let mut source = store::open(&path).expect("a trace").source(Columns::ALL);
    fold.read(&mut source).expect("it reads");
    let subject =
        analyze::Subject { name: String::new(), info: source.info().clone(), remarks: Vec::new() };
    let options = analyze::Options {
        tool: String::new(),
        views: analyze::View::ALL.to_vec(),
        limit: analyze::Limit::usual(),
        filter: analyze::Filter::default(),
    };
    let analysis = analyze::analyse(fold, &subject, &options);
    assert_eq!(page.working_set, analysis.working_set);
    assert_eq!(page.miss_ratio, analysis.miss_ratio);
    assert_eq!((page.tiers, page.alignment), (analysis.tiers, analysis.alignment));
    assert!(!page.miss_ratio.is_empty() && page.beside_large == analysis.beside_large);
    assert!(page.sentence.contains("are touched by 4,096 I/Os; 0 % of them"), "{}", page.sentence);
    assert!(page.findings.iter().any(|text| text.contains("at sector 1 modulo 8")));
}

#[test]
fn a_run_says_why_it_does_not_know_and_invents_nothing() {
    let run = Source::in_memory(Sample::LADDER.run(), std::sync::Arc::default());
    let page = model::access(&run, &Lens::default());
    assert!(page.sentence.contains("no offsets of I/Os"), "{}", page.sentence);
    assert_eq!(AccessPage { sentence: String::new(), ..page }, AccessPage::default());
}
