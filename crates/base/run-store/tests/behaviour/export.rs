use std::collections::{HashMap, HashSet};
use std::path::Path;

use base64::Engine as _;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use tilemark_run_store::export::{Format, export};
use tilemark_run_store::gauge::{Gauge, GaugeName};
use tilemark_run_store::run::{self, Phase};
use tilemark_run_store::rundir::{RunDir, RunId, StoredRun};
use tilemark_run_store::series::{CallRecord, IoRecord, StepKey};
use tilemark_run_store::slice::{CallRow, InstanceId, Slice};
use units::Bytes;

use crate::sample;

const SECONDS: u64 = 5;
const WARM_UP: u64 = 2;

fn stored(base: &Path) -> StoredRun {
    let id = RunId::parse("20261121T184207Z-datacenter-abcdef").expect("an id");
    let dir = RunDir::create(base, &id).expect("creates");
    let mut topology = sample::topology();
    topology.vms[1].name = "tile-0/shop/\"web\", \\ front".to_owned();
    let mut writer = dir.series().expect("creates");
    for step in 1..=2 {
        for second in 0..SECONDS {
            let phase = if second < WARM_UP { Phase::WarmUp } else { Phase::Measured };
            let key = StepKey { step, tiles: 2, repeat: 1, phase };
            let mut slice = sample::slice(second);
            slice.calls = calls(&slice);
            writer.append(key, &topology, &slice).expect("appends");
            let mut gauges = sample::gauges();
            let of = |name, value| Gauge { name, scope: "fast".to_owned(), value };
            gauges.push(of(GaugeName::TierReads, 2.0));
            gauges.push(of(GaugeName::TierDirty, 4096.0));
            writer.gauges(key, &slice, &gauges).expect("appends");
        }
    }
    writer.finish().expect("finishes");
    dir.write_run(&sample::run()).expect("writes");
    StoredRun::at(&dir.finish().expect("finishes")).expect("a run")
}

/// Calls with one failure of each class but the first.
fn calls(slice: &Slice) -> Vec<CallRow> {
    let (service, response) = (slice.io[0].service.clone(), slice.io[0].response.clone());
    let errors = [0, 1, 2, 3, 4];
    let bytes = Bytes::new(700);
    vec![CallRow { instance: InstanceId(1), kind: 0, bytes, errors, service, response }]
}

fn exported(run: &StoredRun, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    export(run, format, &mut bytes).expect("exports");
    bytes
}

fn text(run: &StoredRun, format: Format) -> String {
    String::from_utf8(exported(run, format)).expect("text")
}

#[test]
fn json_is_the_run() {
    let base = tempfile::tempdir().expect("a directory");
    let text = text(&stored(base.path()), Format::Json);
    assert_eq!(run::parse(&text).expect("reads"), sample::run());
}

#[test]
fn parquet_reads_back_to_the_same_rows() {
    let base = tempfile::tempdir().expect("a directory");
    let run = stored(base.path());
    let copy = base.path().join("copy.parquet");
    std::fs::write(&copy, exported(&run, Format::Parquet)).expect("writes");
    let collect = |rows: tilemark_run_store::series::Rows<IoRecord>| {
        rows.collect::<Result<Vec<_>, _>>().expect("reads")
    };
    let rows = collect(tilemark_run_store::series::read(&copy).expect("opens"));
    assert_eq!(rows, collect(run.series().expect("opens")));
}

/// Splits RFC 4180 text strictly.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' if is_quoted => is_quoted = false,
            c if is_quoted => field.push(c),
            '"' => {
                assert!(field.is_empty(), "a quote inside a plain field");
                is_quoted = true;
            }
            ',' => record.push(std::mem::take(&mut field)),
            '\r' => {
                assert_eq!(chars.next(), Some('\n'), "a line ends with CRLF");
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => {
                assert_ne!(c, '\n', "a bare LF");
                field.push(c);
            }
        }
    }
    assert!(!is_quoted && field.is_empty() && record.is_empty(), "the last line is complete");
    records
}

#[test]
fn csv_has_a_field_for_every_column_of_every_row() {
    let base = tempfile::tempdir().expect("a directory");
    let run = stored(base.path());
    let mut records = parse_csv(&text(&run, Format::Csv)).into_iter();
    let header = records.next().expect("a header");
    let column = |name: &str| header.iter().position(|found| found == name).expect("a column");
    let rows: Vec<IoRecord> = run.series().expect("opens").map(|row| row.expect("reads")).collect();
    assert_eq!(records.len(), rows.len());
    for (record, row) in records.zip(&rows) {
        assert_eq!(record.len(), header.len());
        assert_eq!(record[column("vm")], row.vm);
        assert_eq!(record[column("count")], row.service.count().to_string());
        assert_eq!(record[column("response_sum_ns")], row.response.sum_ns.to_string());
        let max = row.service.max().expect("not empty");
        assert_eq!(record[column("service_max_ns")], max.0.to_string());
    }
}

#[test]
fn calls_are_a_table_with_a_column_per_class_of_errors() {
    let base = tempfile::tempdir().expect("a directory");
    let run = stored(base.path());
    let mut records = parse_csv(&text(&run, Format::CallsCsv)).into_iter();
    let header = records.next().expect("a header");
    let column = |name: &str| header.iter().position(|found| found == name).expect("a column");
    let rows: Vec<CallRecord> =
        run.calls().expect("opens").map(|row| row.expect("reads")).collect();
    assert_eq!(records.len(), rows.len());
    for (record, row) in records.zip(&rows) {
        assert_eq!(record.len(), header.len());
        assert_eq!(
            (record[column("kind")].as_str(), &*record[column("bytes")]),
            (&*row.kind, "700")
        );
        assert_eq!(record[column("count")], row.service.count().to_string());
        let failed =
            [record[column("errors_refused")].as_str(), &record[column("errors_protocol")]];
        assert_eq!(failed, ["0", "4"]);
        assert_eq!(record[column("response_sum_ns")], row.response.sum_ns.to_string());
    }
}

#[test]
fn gauges_are_a_table_with_unit_and_scope() {
    let base = tempfile::tempdir().expect("a directory");
    let run = stored(base.path());
    let records = parse_csv(&text(&run, Format::GaugesCsv));
    let rows: Vec<_> = run.gauges().expect("opens").map(|row| row.expect("reads")).collect();
    assert_eq!(records.len(), 1 + rows.len());
    assert_eq!(
        records[0].join(","),
        "step,tiles,repeat,phase,start_ns,width_ns,name,kind,scope,unit,value"
    );
    let of = |name: &str| records.iter().find(|record| record[6] == name).expect("a row");
    assert_eq!(of("device.busy")[7..], ["device", "sdb", "share of the time", "0.5"]);
    assert_eq!(of("tier.reads")[7..], ["tier", "fast", "I/Os", "2"]);
}

#[test]
fn the_hdr_library_reads_the_log_and_every_histogram_in_it() {
    let base = tempfile::tempdir().expect("a directory");
    let run = stored(base.path());
    let log = exported(&run, Format::Hlog);
    let (mut counts, mut starts): (HashMap<String, u64>, Vec<f64>) = Default::default();
    let (mut start_time, mut base_time) = (None, None);
    for entry in IntervalLogIterator::new(&log) {
        match entry.expect("a line of the format") {
            LogEntry::StartTime(time) => start_time = Some(time),
            LogEntry::BaseTime(time) => base_time = Some(time),
            LogEntry::Interval(interval) => {
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(interval.encoded_histogram())
                    .expect("base64");
                let histogram: hdrhistogram::Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
                let max_ms = histogram.max() as f64 / 1e6;
                assert!((interval.max() - max_ms).abs() < 0.001, "{} {max_ms}", interval.max());
                assert_eq!(interval.duration().as_secs_f64(), 1.0);
                let tag = interval.tag().expect("a tag").as_str().to_owned();
                *counts.entry(tag).or_default() += histogram.len();
                starts.push(interval.start_timestamp().as_secs_f64());
            }
        }
    }
    let run_start = sample::run().started.as_second().unsigned_abs();
    assert_eq!(start_time.expect("a start").as_secs(), run_start);
    assert_eq!(base_time.expect("a base").as_secs(), run_start);
    assert_eq!(starts[0], 10.0, "the step began ten seconds into the run");
    assert_eq!(counts.len(), 4 * 2 * 2, "VM, direction, service and response");
    let expected: u64 = 2 * (0..SECONDS).map(|second| 40 + second % 7).sum::<u64>();
    assert!(counts.values().all(|count| *count == expected), "{counts:?}");
    assert!(counts.contains_key("tile-1/shop/db:read:response"), "{counts:?}");
}

#[test]
fn openmetrics_has_every_gauge_with_its_unit_and_what_it_is_of() {
    let base = tempfile::tempdir().expect("a directory");
    let text = text(&stored(base.path()), Format::OpenMetrics);
    parse_openmetrics(&text);
    let reads = 2 * (SECONDS - WARM_UP);
    let of_step = "step=\"1\",tiles=\"2\",repeat=\"1\"";
    for line in [
        "# UNIT tilemark_cpu_others_ratio ratio".to_owned(),
        format!("tilemark_cpu_others_ratio{{{of_step},host=\"host\"}} 0.25"),
        format!("tilemark_device_busy_ratio{{{of_step},device=\"sdb\"}} 0.5"),
        "# TYPE tilemark_tier_reads counter".to_owned(),
        format!("tilemark_tier_reads_total{{{of_step},tier=\"fast\"}} {reads}"),
        format!("tilemark_tier_dirty_bytes{{{of_step},tier=\"fast\"}} 4096"),
    ] {
        assert!(text.lines().any(|own| own == line), "{line} in {text}");
    }
}

type Labels = Vec<(String, String)>;
/// Name, labels and value.
type Sample = (String, Labels, f64);

/// Reads a sample line of OpenMetrics text.
fn parse_sample(line: &str) -> Sample {
    let (head, value) = line.rsplit_once(' ').expect("a value");
    let value = value.parse().expect("a number");
    let Some((name, rest)) = head.split_once('{') else {
        return (head.to_owned(), Vec::new(), value);
    };
    let (mut labels, mut rest) = (Vec::new(), rest.strip_suffix('}').expect("a closing brace"));
    while !rest.is_empty() {
        let (label, tail) = rest.split_once("=\"").expect("a quoted value");
        let is_name = label.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(is_name && !label.is_empty(), "label {label}");
        let (mut text, mut chars) = (String::new(), tail.char_indices());
        let end = loop {
            match chars.next().expect("a closing quote") {
                (at, '"') => break at,
                (_, '\\') => match chars.next().expect("an escaped character").1 {
                    'n' => text.push('\n'),
                    c @ ('"' | '\\') => text.push(c),
                    c => panic!("\\{c} is no escape"),
                },
                (_, c) => text.push(c),
            }
        };
        labels.push((label.to_owned(), text));
        rest = &tail[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    (name.to_owned(), labels, value)
}

fn suffixes(kind: &str) -> &'static [&'static str] {
    match kind {
        "counter" => &["_total"],
        "gauge" => &[""],
        "info" => &["_info"],
        "histogram" => &["_bucket", "_count", "_sum"],
        other => panic!("type {other}"),
    }
}

/// Parses OpenMetrics 1.0 text, and checks the rules that a scraper enforces.
fn parse_openmetrics(text: &str) -> Vec<Sample> {
    let body = text.strip_suffix("# EOF\n").expect("the text ends with # EOF");
    assert!(!body.contains("# EOF"));
    let (mut family, mut kind) = (String::new(), String::new());
    let (mut families, mut seen, mut samples) = (HashSet::new(), HashSet::new(), Vec::new());
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (keyword, name) = (words.next().expect("a word"), words.next().expect("a name"));
            let rest = words.next().expect("more");
            if keyword == "TYPE" {
                assert!(families.insert(name.to_owned()), "{name} is interleaved");
                (family, kind) = (name.to_owned(), rest.to_owned());
            }
            assert_eq!(name, family, "metadata of another family");
            match keyword {
                "UNIT" => assert!(family.ends_with(&format!("_{rest}")), "{family} in {rest}"),
                "TYPE" | "HELP" => {}
                other => panic!("# {other}"),
            }
            continue;
        }
        let (name, labels, value) = parse_sample(line);
        let suffix = name.strip_prefix(&family).expect("a sample of the open family");
        assert!(suffixes(&kind).contains(&suffix), "{name} of a {kind}");
        assert!(seen.insert((name.clone(), labels.clone())), "{line} is there twice");
        samples.push((name, labels, value));
    }
    samples
}

#[test]
fn openmetrics_text_keeps_the_rules_and_the_totals() {
    let base = tempfile::tempdir().expect("a directory");
    let run = stored(base.path());
    let samples = parse_openmetrics(&text(&run, Format::OpenMetrics));
    let sum = |wanted: &str| -> f64 {
        samples.iter().filter(|(name, ..)| name == wanted).map(|(.., value)| value).sum()
    };
    let rows: Vec<IoRecord> = run.series().expect("opens").map(|row| row.expect("reads")).collect();
    let measured = || rows.iter().filter(|row| row.key.phase == Phase::Measured);
    let count: u64 = measured().map(|row| row.service.count()).sum();
    assert_eq!(sum("tilemark_io_operations_total"), count as f64);
    assert_eq!(sum("tilemark_io_service_seconds_count"), count as f64);
    assert_eq!(sum("tilemark_io_bytes_total"), measured().map(|r| r.bytes.as_f64()).sum::<f64>());
    let seconds: f64 = measured().map(|row| row.response.sum_ns as f64 / 1e9).sum();
    assert!((sum("tilemark_io_response_seconds_sum") - seconds).abs() < 1e-6);
    assert_eq!(sum("tilemark_tiles_held"), 1.0);
    let dropped = 2 * 2 * 2 * (SECONDS - WARM_UP);
    assert_eq!(sum("tilemark_action_dropped_total"), dropped as f64);
    let steps = 2 * (SECONDS - WARM_UP);
    assert_eq!(sum("tilemark_call_bytes_total"), (700 * steps) as f64);
    let status = samples.iter().filter(|(name, labels, _)| {
        let is_own = |(name, value): &(String, String)| name == "error" && value == "status";
        name == "tilemark_call_errors_total" && labels.iter().any(is_own)
    });
    assert_eq!(status.map(|(.., value)| value).sum::<f64>(), (3 * steps) as f64);
    let front = samples.iter().any(|(_, labels, _)| {
        labels.iter().any(|(name, value)| name == "vm" && value == "tile-0/shop/\"web\", \\ front")
    });
    assert!(front, "a name with every special character survives");
}

#[test]
fn openmetrics_buckets_are_cumulative_and_end_at_the_count() {
    let base = tempfile::tempdir().expect("a directory");
    let samples = parse_openmetrics(&text(&stored(base.path()), Format::OpenMetrics));
    let mut running: HashMap<Labels, (f64, f64)> = HashMap::new();
    for (name, mut labels, value) in samples {
        match name.as_str() {
            "tilemark_io_service_seconds_bucket" => {
                let (label, le) = labels.pop().expect("le");
                assert_eq!(label, "le");
                let edge = if le == "+Inf" { f64::INFINITY } else { le.parse().expect("a number") };
                let last = running.insert(labels, (edge, value)).unwrap_or_default();
                assert!(last.0 < edge && last.1 <= value, "{last:?} before {edge} {value}");
            }
            "tilemark_io_service_seconds_count" => {
                assert_eq!(running[&labels], (f64::INFINITY, value));
            }
            _ => {}
        }
    }
    assert_eq!(running.len(), 2 * 4 * 2);
}

#[test]
fn a_run_without_series_is_not_exported_as_an_empty_table() {
    let base = tempfile::tempdir().expect("a directory");
    let run = stored(base.path());
    std::fs::remove_file(run.path().join("series.parquet")).expect("removes");
    let error = export(&run, Format::Csv, &mut Vec::new()).expect_err("nothing to write");
    assert_eq!(error.to_string(), "run 20261121T184207Z-datacenter-abcdef has no series");
}

#[test]
fn an_unknown_format_is_refused_with_the_known_ones() {
    let error = "xml".parse::<Format>().expect_err("unknown");
    assert_eq!(
        error.to_string(),
        "\"xml\" is not an export format; formats are json, csv, calls-csv, gauges-csv, parquet, hlog, openmetrics"
    );
}
