//! Findings for traces with known trouble.

use tilemark_analyze::{Finding, FindingKind, Settings, View, analyse};
use trace::{Clock, DeviceIndex, IoRecord, Operation, VmIndex};
use units::Nanos;

use crate::support::{everything, fold_of, options, subject};

/// A minute of small reads of `web0` (0.5 ms) and of `web1`, whose large writes (30 ms) from 12 s
/// to 14 s slow its own small reads (4 ms).
pub fn troubled() -> Vec<IoRecord> {
    let mut records = Vec::new();
    for ms in (0..60_000_u64).step_by(5) {
        let mut record = |at_us: u64, vm: u16, operation, page: u64, length: u32, us: u64| {
            let issue = Nanos::from_micros(ms * 1000 + at_us);
            let mut record = IoRecord::new(issue, operation, page * 4096, length);
            record.device_time = Some(Nanos::from_micros(us));
            record.vm = VmIndex(vm);
            record.device = DeviceIndex(vm);
            records.push(record);
        };
        let is_busy = (12_000..14_000).contains(&ms);
        record(0, 0, Operation::Read, ms * 7919 % 10_000, 4096, 500);
        record(
            100,
            1,
            Operation::Read,
            ms * 104_729 % 10_000,
            8192,
            if is_busy { 4000 } else { 400 },
        );
        if is_busy {
            record(200, 1, Operation::Write, 20_000 + ms * 64, 131_072, 30_000);
        }
    }
    records
}

fn of(records: &[IoRecord]) -> Vec<Finding> {
    everything(fold_of(records, &Settings::default()), &subject(2)).findings
}

#[test]
fn findings_name_class_moment_and_neighbour_with_evidence() {
    let findings = of(&troubled());
    assert!(findings.len() <= 5, "{findings:#?}");
    assert!(findings.is_sorted_by(|a, b| a.effect >= b.effect));
    let find = |id| findings.iter().find(|f| f.id == id && !f.text.starts_with("web0"));
    let class = find(FindingKind::Contribution).expect("the large writes");
    assert!(class.text.starts_with("web1: writes are 3.2 % of the I/Os and "));
    let limit = find(FindingKind::Limit).expect("the limit");
    assert_eq!((limit.limit, limit.samples), (20e6, 400));
    let moment = find(FindingKind::Moment).expect("the two seconds");
    assert_eq!(
        moment.command,
        "tilemark analyze 'web servers.tmt' --view time --vm web1 --from 12s --to 14s"
    );
    let all: String = findings.iter().map(|f| format!("{}\n", f.text)).collect();
    insta::assert_snapshot!("troubled", all);
}

#[test]
fn interval_of_waiting_is_the_same_wherever_the_trace_begins() {
    let interval = |records: &[IoRecord]| {
        let findings = of(records);
        let class = findings.iter().find(|own| own.id == FindingKind::Contribution);
        class.map(|own| (own.low, own.high)).expect("the large writes")
    };
    let late: Vec<IoRecord> = troubled()
        .into_iter()
        .map(|own| IoRecord { issue: own.issue + Nanos::from_secs(600), ..own })
        .collect();
    let found = interval(&troubled());
    assert!(found.0.is_some() && found.0 < found.1, "{found:?}");
    assert_eq!(interval(&late), found);
}

#[test]
fn nothing_is_found_in_fewer_than_thirty_ios() {
    let few: Vec<IoRecord> =
        troubled().into_iter().filter(|r| r.length > 65_536).take(29).collect();
    assert_eq!(of(&few), []);
}

#[test]
fn nothing_is_said_of_latency_or_time_where_there_is_none() {
    let mut records = troubled();
    for (at, record) in (0..).zip(&mut records) {
        record.device_time = None;
        record.issue = Nanos(at);
    }
    let mut subject = subject(2);
    subject.info.clock = Clock::Order;
    subject.info.has_latency = false;
    let answer = everything(fold_of(&records, &Settings::default()), &subject);
    let said: Vec<FindingKind> = answer.findings.iter().map(|finding| finding.id).collect();
    let known = [FindingKind::Tier, FindingKind::Misaligned, FindingKind::ReadShare];
    assert!(said.iter().all(|kind| known.contains(kind)), "{said:?}");
    assert!(answer.time.is_empty() && answer.bursts.is_empty() && answer.matrix_latency.is_empty());
    assert!(answer.histograms.iter().all(|row| !row.histogram.contains("interarrival")));
    assert_eq!(answer.cannot_say.len(), 2);
}

#[test]
fn small_reads_beside_large_writes_are_told_from_those_alone() {
    let answer = analyse(
        fold_of(&troubled(), &Settings::default()),
        &subject(2),
        &options(&[View::Latency]),
    );
    let row =
        answer.beside_large.iter().find(|row| row.vm == "web1").expect("web1 has small reads");
    let within =
        |ns: Option<u64>, us: u64| ns.is_some_and(|ns| ns.abs_diff(us * 1000) <= us * 1000 / 31);
    assert!(within(row.alone_p50_ns, 400) && within(row.beside_p50_ns, 4000), "{row:?}");
    // The last large write ends 30 ms after the busy time, and the first small read sees none.
    assert_eq!(row.beside_count, 400 - 1 + 6);
    assert!(answer.overview.is_empty() && answer.time.is_empty(), "views that were not asked for");
}
