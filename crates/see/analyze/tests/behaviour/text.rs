//! Output for people and other programs.

use tilemark_analyze::{Filter, Settings, View, hosts_json_schema, json_schema, text, vscsi_stats};
use trace::{DeviceIndex, Flags, IoRecord, Operation};
use units::Nanos;

use crate::findings::troubled;
use crate::shared::file;
use crate::support::{everything, fold_of, subject};

#[test]
fn the_text_of_every_view() {
    let answer = everything(fold_of(&troubled(), &Settings::default()), &subject(2));
    let views: Vec<View> = View::ALL.into_iter().filter(|view| *view != View::Histograms).collect();
    insta::assert_snapshot!("every_view", text(&answer, &views));
}

#[test]
fn io_through_two_disks_counts_once_unless_devices_are_named() {
    let above = IoRecord {
        device_time: Some(Nanos::from_micros(100)),
        ..IoRecord::new(Nanos(5), Operation::Read, 0, 4096)
    };
    let below = IoRecord { device: DeviceIndex(1), flags: Flags::BELOW, ..above };
    let records: Vec<IoRecord> = [above, below].repeat(40);
    let answer = everything(fold_of(&records, &Settings::default()), &subject(1));
    assert_eq!((answer.overview[0].reads, answer.source.filtered), (40, 40));
    let text = text(&answer, &[View::Overview]);
    assert!(text.contains("40 I/Os at disks below other disks are left out"), "{text}");
    let filter = Filter { devices: Some(vec![1]), ..Filter::default() };
    let settings = Settings { filter, ..Settings::default() };
    let answer = everything(fold_of(&records, &settings), &subject(1));
    assert_eq!((answer.overview[0].reads, answer.source.filtered), (40, 40));
    let of_vm = Filter { vms: Some(vec![0]), ..Filter::default() };
    let answer =
        everything(fold_of(&records, &Settings { filter: of_vm, ..settings }), &subject(1));
    assert_eq!(answer.overview[0].reads, 40);
}

#[test]
fn tables_of_csv_have_a_name_for_every_column() {
    let answer = everything(fold_of(&troubled(), &Settings::default()), &subject(2));
    for table in answer.tables() {
        let mut csv = Vec::new();
        table.write_csv(&mut csv).expect("memory does not fail");
        let csv = String::from_utf8(csv).expect("text");
        let columns = csv.lines().next().expect("a line of names").split(',').count();
        if table.name != "findings" {
            assert!(csv.lines().all(|line| line.split(',').count() == columns), "{}", table.name);
        }
        let mut parquet = Vec::new();
        table.write_parquet(&mut parquet).expect("memory does not fail");
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    }
}

#[test]
fn the_stored_schemas_are_those_of_the_types() {
    for (name, schema) in [("analysis", json_schema()), ("hosts-analysis", hosts_json_schema())] {
        let path = format!("{}/../../../docs/schemas/{name}-1.0.json", env!("CARGO_MANIFEST_DIR"));
        let fresh = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
        if std::env::var_os("TILEMARK_UPDATE").is_some() {
            std::fs::write(&path, &fresh).expect("writable docs/schemas");
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == fresh, "docs/schemas/{name}-1.0.json: run this with TILEMARK_UPDATE=1");
    }
}

#[test]
fn vscsistats_histograms_round_trip() {
    let answer = everything(fold_of(&troubled(), &Settings::default()), &subject(2));
    let printed = vscsi_stats(&answer);
    let read = trace::vscsi_stats::parse(&printed);
    assert!(read.bad.is_empty(), "{:?}", read.bad);
    let disks: std::collections::BTreeSet<&str> =
        answer.histograms.iter().map(|row| row.vm.as_str()).collect();
    assert_eq!(read.all.len() % 16, 0);
    assert!(read.all.len() >= 16 * disks.len());
    let filled: Vec<_> = read.all.iter().filter(|histogram| histogram.count > 0).collect();
    assert_eq!(filled.len(), answer.histograms.len());
    for (histogram, row) in filled.iter().zip(&answer.histograms) {
        assert_eq!((histogram.count, histogram.total()), (row.count, row.count));
        let range = (Some(histogram.min), Some(histogram.max), Some(histogram.mean));
        assert_eq!(range, (row.min, row.max, row.mean), "{}", row.histogram);
        let counts: Vec<u64> = histogram.buckets.iter().map(|bucket| bucket.frequency).collect();
        assert_eq!(counts, row.counts, "{}", row.histogram);
        let limits: Vec<i64> = histogram.buckets.iter().filter_map(|it| it.limit).collect();
        assert_eq!(limits, row.limits, "the last bucket is open");
    }
}

#[test]
fn the_layout_is_that_of_a_real_file_of_vscsistats() {
    let Some(path) = file("vscsistats-histograms.csv", "vscsistats") else { return };
    let real = trace::vscsi_stats::read(&path);
    let real = real.expect("readable");
    let answer = everything(fold_of(&troubled(), &Settings::default()), &subject(2));
    let ours = trace::vscsi_stats::parse(&vscsi_stats(&answer));
    assert_eq!(real.all.len(), 16);
    for (real, ours) in real.all.iter().zip(&ours.all) {
        assert_eq!(ours.name, real.name);
        let limits = |histogram: &trace::vscsi_stats::Histogram| -> Vec<Option<i64>> {
            histogram.buckets.iter().map(|bucket| bucket.limit).collect()
        };
        assert_eq!(limits(ours), limits(real), "{}", real.name);
    }
}
