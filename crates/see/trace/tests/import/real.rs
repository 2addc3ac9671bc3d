//! Public real traces, with facts about them from other sources.

use std::collections::HashSet;

use tilemark_trace::{Clock, OpenOptions, Operation, open, vscsi_stats};

use crate::help::{Read, drain};
use crate::shared::file;

fn trace(name: &str, test: &str) -> Option<Read> {
    let options = OpenOptions { max_bad: 0, ..OpenOptions::default() };
    let source = open(&file(name, test)?, &options).expect("it opens");
    Some(drain(source).expect("it reads"))
}

#[test]
fn cloudphysics_is_as_its_publishers_say() {
    let Some(read) = trace("cloudphysics.vscsi.zst", "cloudphysics") else { return };
    assert_eq!(read.info.format, "vscsi");
    assert_eq!(read.info.devices[0].name, "cloudphysics");
    assert_eq!(read.records.len(), 113_872);
    let count = |is: fn(&tilemark_trace::IoRecord) -> bool| {
        let count = read.records.iter().filter(|record| is(record)).count();
        count * 1000 / read.records.len()
    };
    assert_eq!(count(|record| record.operation == Operation::Read) / 10, 41, "percent of reads");
    assert_eq!(count(|record| record.offset / 512 % 8 == 7), 795, "per mille at sector 7 mod 8");
    let moved: u64 = read.records.iter().map(|record| u64::from(record.length)).sum();
    let hundredths = (moved * 100 + (1 << 29)) >> 30;
    assert_eq!(hundredths, 392, "3.92 GiB are moved");
    let hours = read.records.last().expect("a last one").issue.as_secs_f64() / 3600.0;
    assert!((1.95..2.05).contains(&hours), "{hours} h");
}

#[test]
fn websearch_is_as_its_publishers_say() {
    let Some(read) = trace("websearch1-60s.mqsim.zst", "websearch") else { return };
    assert_eq!(read.info.format, "mqsim");
    assert_eq!(read.records.len(), 24_783);
    let seconds = read.records.last().expect("a last one").issue.as_secs_f64();
    assert!((59.0..60.5).contains(&seconds), "{seconds} s");
    let reads = read.records.iter().filter(|record| record.operation == Operation::Read).count();
    assert!(reads * 100 > 99 * read.records.len(), "a search engine reads: {reads}");
}

#[test]
fn oltp_is_as_its_publishers_say() {
    let Some(read) = trace("oltp.lis.zst", "oltp") else { return };
    assert_eq!((read.info.format, read.info.clock), ("arc", Clock::Order));
    assert_eq!(read.records.len(), 914_145);
    let pages: HashSet<u64> = read.records.iter().map(|record| record.offset).collect();
    assert_eq!(pages.len(), 186_880);
    let in_order = read.records.iter().zip(0..).all(|(record, number)| record.issue.0 == number);
    assert!(in_order, "references are numbered");
}

#[test]
fn sixteen_histograms_of_vscsistats_and_the_last_bucket_is_open() {
    let Some(path) = file("vscsistats-histograms.csv", "vscsistats") else { return };
    let histograms = vscsi_stats::read(&path).expect("it reads");
    assert_eq!((histograms.all.len(), histograms.bad.len()), (16, 0));
    let lengths = &histograms.all[0];
    assert_eq!(lengths.name, "IO lengths of commands");
    assert_eq!(
        (lengths.world_group.as_str(), lengths.disk.as_str()),
        ("2099979", "8194 (scsi0:0)")
    );
    assert_eq!((lengths.min, lengths.max, lengths.mean, lengths.count), (512, 65_536, 5_332, 793));
    let limits: Vec<Option<i64>> = lengths.buckets.iter().map(|bucket| bucket.limit).collect();
    assert_eq!(
        limits[limits.len() - 2..],
        [Some(524_288), None],
        "above 524,288, not up to it again"
    );
    for histogram in &histograms.all[..3] {
        assert_eq!(histogram.total(), histogram.count, "{}", histogram.name);
    }
}
