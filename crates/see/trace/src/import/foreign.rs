//! Recognises files that are not traces of single I/Os, and advises what to do instead.

use std::path::Path;

/// A file of a known kind that is not a readable trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Foreign {
    /// Continuation of a sentence after "FILE: ".
    pub(super) what: &'static str,
    pub(super) hint: &'static str,
}

impl Foreign {
    const fn new(what: &'static str, hint: &'static str) -> Self {
        Self { what, hint }
    }
}

const UNPACK: &str = "unpack it first: a trace is read unpacked, or packed with gz, xz or zst";
const RECORD: &str = "a trace needs a row for each I/O: record one with tilemark record, blktrace \
                      or biosnoop. --from FORMAT reads the file as that format in any case";
const SINGLE: &str = "log single I/Os: write_lat_log=NAME with log_offset=1, without log_avg_msec";

/// Magic numbers of packed files, whose content is not readable here: offset, bytes, kind.
const PACKED: [(usize, &[u8], &str); 9] = [
    (0, b"BZh", "packed with bzip2"),
    (0, b"PK\x03\x04", "packed with zip"),
    (0, b"PK\x05\x06", "packed with zip, and empty"),
    (0, b"7z\xbc\xaf\x27\x1c", "packed with 7-Zip"),
    (0, b"Rar!\x1a\x07", "packed with RAR"),
    (0, b"\x04\x22\x4d\x18", "packed with lz4"),
    (0, b"\x1f\x9d", "packed with compress"),
    (0, b"LZIP", "packed with lzip"),
    (257, b"ustar", "a tar archive"),
];

/// Magic numbers of a second compression inside the first.
const PACKED_TWICE: [&[u8]; 3] = [b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"];

/// Returns how a file that begins with `head` is packed, after zst, gz or xz were undone; `None` if
/// it is not packed.
pub(super) fn packed(head: &[u8]) -> Option<Foreign> {
    let is = |(at, magic, _): &&(usize, &[u8], &str)| {
        head.get(*at..).is_some_and(|head| head.starts_with(magic))
    };
    let found = PACKED.iter().find(is).filter(|(_, magic, _)| *magic != b"BZh" || is_bzip2(head));
    if let Some((_, _, what)) = found {
        return Some(Foreign::new(what, UNPACK));
    }
    if PACKED_TWICE.iter().any(|magic| head.starts_with(magic)) {
        return Some(Foreign::new(
            "packed twice",
            "unpack it once: only one level of packing is supported",
        ));
    }
    is_old_tar(head).then(|| Foreign::new("a tar archive", UNPACK))
}

/// Checks the level and the first block's magic number (or the end's magic number, in an empty
/// file).
fn is_bzip2(head: &[u8]) -> bool {
    let magics: [&[u8]; 2] = [&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], &[0x17, 0x72, 0x45, 0x38]];
    head.get(3).is_some_and(|level| (b'1'..=b'9').contains(level))
        && magics.iter().any(|magic| head[4..].starts_with(magic))
}

/// Returns true if a block is the header of a tar archive without a magic number, by its checksum
/// (POSIX.1-1988, 10.1.1: the sum of the header's bytes, with the checksum's own bytes counted as
/// blanks).
fn is_old_tar(head: &[u8]) -> bool {
    let Some(block) = head.get(..512) else { return false };
    let field = block[148..156].trim_ascii_start();
    let digits = field.iter().take_while(|byte| (b'0'..=b'7').contains(byte));
    let told = digits.fold(0_u32, |sum, byte| sum * 8 + u32::from(byte - b'0'));
    let is_field = |at: usize| (148..156).contains(&at);
    let sum: u32 = (0..512).map(|at| if is_field(at) { 32 } else { u32::from(block[at]) }).sum();
    block[0] != 0 && told > 0 && sum == told
}

/// Recognises a binary file by its first bytes.
pub(super) fn binary(head: &[u8]) -> Option<Foreign> {
    if head.starts_with(b"PAR1") {
        let hint = "a trace of Tilemark's own is a directory NAME.tmt: name the directory";
        return Some(Foreign::new("a Parquet file", hint));
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Some(Foreign::new(
            "text in UTF-16",
            "iconv -f UTF-16 -t UTF-8 FILE makes it readable",
        ));
    }
    None
}

const JSON: Foreign = Foreign::new("JSON", RECORD);

/// First bytes of other tools' text output.
const BEGINS: [(&[u8], Foreign); 7] = [
    (b"procs ", Foreign::new("a table of vmstat: sums of all I/O over time", RECORD)),
    (
        b"Linux ",
        Foreign::new("a table of sysstat (iostat, sar, mpstat): sums of all I/O over time", RECORD),
    ),
    (b"\"Dstat ", Foreign::new("a table of dstat: sums of all I/O over time", RECORD)),
    (b"\"pcp-dstat ", Foreign::new("a table of dstat: sums of all I/O over time", RECORD)),
    (b"{", JSON),
    (
        b"Histogram: ",
        Foreign::new(
            "histograms of vscsiStats: VMware's counts of all I/Os",
            "tilemark analyze FILE shows them; vscsiStats -s -t -w WORLDGROUP and vscsiStats -t \
             record single commands",
        ),
    ),
    (b"<", Foreign::new("XML or HTML", RECORD)),
];

/// Recognises a text that has none of the formats, by its first lines and the name of its file.
pub(super) fn text(lines: &[&[u8]], name: &Path) -> Option<Foreign> {
    let first = lines.first()?.trim_ascii_start();
    if let Some(found) = fio_log(lines, name) {
        return Some(found);
    }
    if lines.iter().all(|line| is_diskstats(line)) {
        return Some(Foreign::new("the kernel's diskstats: counters of each device", RECORD));
    }
    if is_section(first) {
        let hint = "tilemark tiles from-fio FILE makes a workload of it";
        return Some(Foreign::new("a job file of fio", hint));
    }
    // A kernel log also begins with a bracket.
    let in_list = first.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    if in_list.is_some_and(|rest| rest.first().is_none_or(|byte| b"{[\"]".contains(byte))) {
        return Some(JSON);
    }
    let begins = BEGINS.iter().find(|(begin, _)| first.starts_with(begin));
    begins.map(|(_, foreign)| *foreign)
}

/// Returns true for `[name]` alone on a line, as in a job file.
fn is_section(line: &[u8]) -> bool {
    let name = line.trim_ascii_end().strip_prefix(b"[").and_then(|line| line.strip_suffix(b"]"));
    name.is_some_and(|name| !name.is_empty() && !name.iter().any(|byte| b"\"{}[],".contains(byte)))
}

/// Returns true for `major minor name` and at least 11 counters (kernel,
/// `Documentation/admin-guide/iostats.rst`).
fn is_diskstats(line: &[u8]) -> bool {
    let words: Vec<&[u8]> =
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&[u8]| word.iter().all(u8::is_ascii_digit);
    match &words[..] {
        [major, minor, name, counters @ ..] => {
            is_number(major)
                && is_number(minor)
                && !is_number(name)
                && counters.len() >= 11
                && counters.iter().all(is_number)
        }
        _ => false,
    }
}

/// Number of bins of fio's histograms with no `log_hist_coarseness`, each step of which halves the
/// number: fio 3 has 29 groups of 64 bins, fio 2 had 19.
const BINS: [usize; 2] = [29 * 64, 19 * 64];
/// Maximum number of halvings by `log_hist_coarseness`.
const COARSENESS_MAX: usize = 6;

/// Recognises a fio log without single I/Os, or without latencies. Columns are documented in fio's
/// HOWTO ("Log File Formats").
fn fio_log(lines: &[&[u8]], name: &Path) -> Option<Foreign> {
    let rows: Vec<Vec<u64>> = lines.iter().map(|line| numbers(line)).collect::<Option<_>>()?;
    let columns = rows.first()?.len();
    if columns < 4 || rows.iter().any(|row| row.len() != columns) {
        return None;
    }
    let bins = columns - 3;
    let is_bins = BINS.iter().any(|all| (0..=COARSENESS_MAX).any(|half| all >> half == bins));
    if is_bins && rows.iter().all(|row| row[1] <= 2) {
        return Some(Foreign::new(
            "a histogram log of fio (write_hist_log): counts, not single I/Os",
            SINGLE,
        ));
    }
    if columns > 9 {
        return None;
    }
    if rows.iter().filter(|row| is_average(row)).count() * 2 >= rows.len() {
        return Some(Foreign::new(
            "a log of fio's averages (log_avg_msec): not single I/Os",
            SINGLE,
        ));
    }
    let name = name.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_named = |kind: &str| name.contains(&format!("_{kind}."));
    if is_named("iops") || rows.iter().all(|row| row[1] == 1) {
        return Some(Foreign::new("a log of fio's IOPS (write_iops_log): no latencies", SINGLE));
    }
    if is_named("bw") {
        return Some(Foreign::new("a log of fio's bandwidth (write_bw_log): no latencies", SINGLE));
    }
    is_named("slat").then(|| {
        let what = "a log of fio's submission latencies (slat): the I/O is not complete when they \
            end";
        Foreign::new(what, "use the log in the same directory with _lat or _clat in its name")
    })
}

/// Returns true for an average, which has no block size. With `log_window_value=both`, the maximum
/// follows the average.
fn is_average(row: &[u64]) -> bool {
    let is_of = |direction: u64, size: u64| direction <= 2 && size == 0;
    is_of(row[2], row[3]) || row.len() > 4 && row[2] >= row[1] && is_of(row[3], row[4])
}

/// Parses numbers between commas, priorities in base 16; `None` if the line contains anything else.
fn numbers(line: &[u8]) -> Option<Vec<u64>> {
    let text = str::from_utf8(line).ok()?.trim();
    let fields = text.strip_suffix(',').unwrap_or(text).split(',');
    let number = |field: &str| {
        let field = field.trim();
        let hex = field.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16).ok());
        hex.unwrap_or_else(|| field.parse().ok())
    };
    fields.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, name: &str) -> Option<&'static str> {
        let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
        super::text(&lines, Path::new(name)).map(|foreign| foreign.what)
    }

    #[test]
    fn fio_logs_without_single_ios_are_named() {
        let both = "1000, 300, 900, 0, 0, 0, 0\n2000, 310, 800, 1, 0, 0, 0\n";
        let is = |text: &str, name: &str, wanted: &str| {
            let found = said(text, name);
            assert!(found.is_some_and(|found| found.contains(wanted)), "{name}: {found:?}");
        };
        is("1000, 401000, 0, 0, 0\n2000, 402000, 1, 0, 0\n", "a_lat.1.log", "averages");
        is(both, "a_lat.1.log", "averages");
        is("10, 819200, 0, 4096, 0\n11, 4096, 0, 4096, 0\n", "a_bw.1.log", "bandwidth");
        is("10, 1, 0, 4096, 0\n11, 1, 0, 4096, 0\n", "a.log", "IOPS");
        is("10, 4000, 0, 4096, 0\n11, 5000, 0, 4096, 0\n", "a_slat.1.log", "submission");
        let bins = format!("1000, 0, 4096{}\n", ", 0".repeat(BINS[0] >> 3));
        is(&bins.repeat(3), "a_clat_hist.1.log", "histogram");
        assert_eq!(said("10, 4000, 0, 4096, 0\n11, 5000, 0, 4096, 0\n", "a_lat.1.log"), None);
    }

    #[test]
    fn tar_without_a_magic_number_is_found_by_its_checksum() {
        let mut block = vec![0_u8; 1024];
        block[..5].copy_from_slice(b"a.csv");
        block[124..136].copy_from_slice(b"00000000012\0");
        let sum: u32 = block[..512].iter().map(|byte| u32::from(*byte)).sum::<u32>() + 8 * 32;
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert_eq!(packed(&block).map(|foreign| foreign.what), Some("a tar archive"));
        block[200] = 1;
        assert_eq!(packed(&block), None);
    }
}
