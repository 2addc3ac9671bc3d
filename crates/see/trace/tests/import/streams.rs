//! Compressed, cut, torn and disordered input.

use std::fmt::Write as _;
use std::io::Write as _;

use tilemark_trace::{BATCH, TraceError};
use units::Nanos;

use crate::help::{format, read, read_as};

const MSR: &str = "128166372003061629,hm,0,Write,7014912,4096,26\n\
                   128166372016382155,hm,1,Read,2657792,4096,1000\n";

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("packed")
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).expect("packed");
    packer.finish().expect("packed")
}

/// `MSR` packed by `xz -9`, made once with xz 5.4.
fn xz() -> Vec<u8> {
    include_bytes!("msr.csv.xz").to_vec()
}

#[test]
fn compression_is_told_by_content() {
    let plain = read(MSR);
    for packed in [zst(MSR.as_bytes()), gz(MSR.as_bytes()), xz()] {
        let unpacked = read(packed);
        assert_eq!(unpacked.records, plain.records);
        assert_eq!(unpacked.info, plain.info);
    }
}

#[test]
fn packed_files_put_one_after_another_are_one_trace() {
    let (first, second) = MSR.split_at(MSR.find('\n').expect("a line") + 1);
    for pack in [zst, gz] {
        let both = [pack(first.as_bytes()), pack(second.as_bytes())].concat();
        assert_eq!(read(both).records, read(MSR).records);
    }
}

#[test]
fn a_packed_trace_that_is_cut_short_says_so() {
    let mut text = String::new();
    for number in 0..20_000_u64 {
        let time = 128_166_372_003_061_629 + number * number;
        writeln!(text, "{time},hm,0,Write,{},4096,26", number * 7919 % 100_003 * 512)
            .expect("text");
    }
    for pack in [zst, gz] {
        let packed = pack(text.as_bytes());
        let read = read_as(&packed[..packed.len() / 2], Some(format("msr")), 2).expect("some");
        let examples = &read.info.losses.examples;
        assert!(read.records.len() > 100, "{}", read.records.len());
        assert!(
            examples.iter().any(|e| e.contains("compressed trace is cut short")),
            "{examples:?}"
        );
        let failed = read_as(&packed[..packed.len() / 2], Some(format("msr")), 0);
        assert!(matches!(failed, Err(TraceError::TooManyBad { .. })), "{failed:?}");
    }
}

#[test]
fn bad_lines_are_counted_and_located() {
    let text = format!("{MSR}nonsense,here\n\n{MSR}128166372003061629,hm,0,Wri");
    let read = read_as(text.as_bytes(), Some(format("msr")), 2).expect("two are allowed");
    let losses = &read.info.losses;
    assert_eq!((read.records.len(), losses.bad, losses.skipped), (4, 2, 1));
    assert_eq!(
        losses.examples,
        [
            "line 3 (byte 93): Timestamp is not a whole number: \"nonsense,here\"",
            "line 7 (byte 201): last line is cut short: \"128166372003061629,hm,0,Wri\"",
        ]
    );
    let error = read_as(text.as_bytes(), Some(format("msr")), 1).expect_err("one is allowed");
    assert_eq!(
        error.to_string(),
        "disk.trace: 2 bad lines, but only 1 are allowed; the first: \
         line 3 (byte 93): Timestamp is not a whole number: \"nonsense,here\""
    );
}

#[test]
fn a_trace_of_bad_lines_only_is_an_error_whatever_is_allowed() {
    let failed = read_as(b"a\nb\n", Some(format("msr")), u64::MAX);
    assert!(matches!(failed, Err(TraceError::TooManyBad { bad: 2, .. })), "{failed:?}");
}

#[test]
fn a_line_without_end_is_one_bad_line_and_the_next_is_read() {
    let long = "7".repeat(1 << 20);
    for text in [format!("{MSR}{long}\n{MSR}"), format!("{long}\n{MSR}{MSR}")] {
        let read = read_as(text.as_bytes(), Some(format("msr")), 1).expect("one is allowed");
        assert_eq!((read.records.len(), read.info.losses.bad), (4, 1));
        assert!(read.info.losses.examples[0].contains("longer than 256 KiB"));
        assert!(read.info.losses.examples[0].len() < 200, "quoted in short");
    }
}

#[test]
fn line_ends_of_windows_and_a_byte_order_mark_do_no_harm() {
    let text = format!("\u{feff}{}", MSR.replace('\n', "\r\n"));
    assert_eq!(read(&text).records, read(MSR).records);
}

#[test]
fn an_unknown_text_names_the_formats() {
    let failed = read_as(b"dear diary\n", None, 0).expect_err("no trace");
    let text = failed.to_string();
    assert!(text.starts_with("disk.trace: its beginning matches no trace format"), "{text}");
    assert!(text.contains("vscsi, ") && text.contains("msr"), "{text}");
}

/// Lines whose times fall within a window are put in order; one that comes later than that is
/// handed out with the time of the one before it, and counted.
#[test]
fn records_are_put_in_order_and_what_comes_too_late_is_counted() {
    let line = |time: u64| format!("{},hm,0,Read,0,512,1\n", 128_166_372_000_000_000 + time);
    let many = 4 * BATCH as u64;
    let mut text: String = (0..many).map(|n| line((n ^ 0xfff) + 10)).collect();
    text.push_str(&line(5));
    let read = read(&text);
    assert_eq!(read.records.len(), 4 * BATCH + 1);
    assert!(read.records.is_sorted_by_key(|record| record.issue));
    assert_eq!(read.info.losses.disordered, 1);
    let last = read.records.last().expect("a last one").issue;
    assert_eq!(last, Nanos((many - 1) * 100));
}

/// Readers once took a full buffer for the end of the trace: with records of 32 bytes it is full
/// to the last byte, and 8,192 of them were all.
#[test]
fn traces_are_read_beyond_the_first_buffer() {
    for (format, sample) in crate::samples::all() {
        let whole = sample.repeat((1 << 20) / sample.len());
        let read = read_as(&whole, Some(format), u64::MAX).expect("a good trace");
        let one = read_as(&sample, Some(format), 0).expect("a good trace");
        let expected = one.records.len() * ((1 << 20) / sample.len());
        assert_eq!(read.records.len(), expected, "{format}: {:?}", read.info.losses);
    }
}
