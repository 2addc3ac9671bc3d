//! Real traces with known facts (`../shared/traces`).

use tilemark_analyze::{FindingKind, Settings, View, analyse};
use trace::OpenOptions;

use crate::shared::file;
use crate::support::{everything, options, read};

#[test]
fn cloudphysics_trace_has_its_published_facts() {
    let Some(path) = file("cloudphysics.vscsi.zst", "cloudphysics") else { return };
    let mut source = trace::open(&path, &OpenOptions::default()).expect("it opens");
    let (fold, subject) = read(source.as_mut(), &Settings::default());
    let answer = everything(fold, &subject);
    let row = &answer.overview[0];
    assert_eq!(row.reads + row.writes, 113_872);
    let gib = (row.read_bytes + row.write_bytes) as f64 / f64::from(1 << 30);
    assert!((gib - 3.92).abs() < 0.005, "{gib} GiB");
    assert!((row.read_share_of_count.expect("I/Os") - 0.41).abs() < 0.005);
    let seven: u64 =
        answer.alignment.iter().filter(|row| row.sector_mod_8 == 7).map(|row| row.count).sum();
    assert!((seven as f64 / 113_872.0 - 0.795).abs() < 0.0005, "{seven} at sector 7 modulo 8");
    assert!(row.read_p99_ns.is_none() && answer.matrix_latency.is_empty());
    assert!(answer.cannot_say.iter().any(|remark| remark.what.starts_with("latency")));
    assert!(answer.findings.iter().any(|finding| finding.id == FindingKind::Misaligned));
    assert!(
        answer
            .findings
            .iter()
            .all(|finding| !matches!(finding.id, FindingKind::Limit | FindingKind::Moment))
    );
    assert!(answer.working_set.iter().all(|row| row.sampled_share == 1.0));
}

#[test]
fn the_web_search_has_its_known_number_of_ios() {
    let Some(path) = file("websearch1-60s.mqsim.zst", "web search") else { return };
    let mut source = match trace::open(&path, &OpenOptions::default()) {
        Ok(source) => source,
        Err(error) => {
            eprintln!("web search: skipped, no reader for its format yet: {error}");
            return;
        }
    };
    let (fold, subject) = read(source.as_mut(), &Settings::default());
    let answer = analyse(fold, &subject, &options(&[View::Overview]));
    assert_eq!(answer.source.records, 24_783);
    assert!(answer.overview[0].iops.is_some_and(|iops| (400.0..430.0).contains(&iops)));
}
