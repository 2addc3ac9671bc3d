//! Files that are no trace are refused with their name, and never read as one.

use std::io::{Cursor, Write};
use std::path::Path;

use tilemark_trace::{OpenOptions, TraceError, open_stream};

use crate::help::{drain, format, read_as};

/// Why a file of this name and content is refused, with its hint.
fn refused(name: &str, bytes: &[u8]) -> String {
    let opened = open_stream(Cursor::new(bytes.to_vec()), Path::new(name), &OpenOptions::default());
    match opened {
        Ok(source) => panic!("{name} is taken for {}", source.info().format),
        Err(error) => format!("{error}\n{}", error.hint().unwrap_or_default()),
    }
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).expect("packed");
    packed.finish().expect("packed")
}

/// Each with CRLF and packed, too.
fn refused_in_any_dress(name: &str, text: &str, wanted: &str) {
    let windows = text.replace('\n', "\r\n");
    for bytes in [text.as_bytes().to_vec(), windows.into_bytes(), gz(text.as_bytes())] {
        let said = refused(name, &bytes);
        assert!(said.contains(wanted), "{name}: {said}");
    }
}

const VMSTAT: &str = "\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
";

#[test]
fn tables_of_sums_are_named_and_refused() {
    let rows: String = (0..60)
        .map(|at| {
            let free = 700_000 - at * 313;
            format!(" {}  0      0 {free} 23432 2058756    0    0    130    120 1200 2300  3  1 96  0  0\n", at % 3)
        })
        .collect();
    refused_in_any_dress("vmstat.txt", &format!("{VMSTAT}{rows}"), "vmstat");
    refused_in_any_dress("vmstat.txt", &rows, "matches no trace format");
    let iostat = "Linux 6.8.0 (host) \t11/28/2026 \t_x86_64_\t(8 CPU)\n\n\
                  Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz\n\
                  sda             10.00     40.00     0.00   0.00    0.50     4.00\n";
    refused_in_any_dress("iostat.txt", iostat, "sysstat");
    let bare = iostat.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>();
    refused_in_any_dress("iostat.txt", &bare, "matches no trace format");
    let dstat = "\"Dstat 0.7.4 CSV output\"\n\"Author:\",\"x\",,,,\"URL:\",\"y\"\n\n\
                 \"total cpu usage\",,,,\"dsk/total\",\n\"usr\",\"sys\",\"read\",\"writ\"\n1.0,2.0,0.0,4096.0\n";
    refused_in_any_dress("dstat.csv", dstat, "dstat");
}

#[test]
fn diskstats_are_named_and_refused() {
    let counters = "5102 12 409600 900 777 5 88000 1200 0 1500 2100 0 0 0 0 20 5";
    let text = format!(
        "   8       0 sda {counters}\n   8       1 sda1 {counters}\n 259  0 nvme0n1 {counters}\n"
    );
    refused_in_any_dress("diskstats", &text, "diskstats");
    refused_in_any_dress("stat", &format!("{counters}\n"), "matches no trace format");
}

#[test]
fn logs_of_fio_without_single_ios_are_refused() {
    let histogram =
        format!("1000, 0, 4096{}\n2000, 1, 4096{}\n", ", 0".repeat(1856), ", 3".repeat(1856));
    refused_in_any_dress("job_clat_hist.1.log", &histogram, "histogram");
    let averages: String =
        (1..40).map(|at| format!("{}, {}, {}, 0, 0\n", at * 500, 400_000 + at, at % 2)).collect();
    refused_in_any_dress("job_lat.1.log", &averages, "log_avg_msec");
    let both: String = (1..40).map(|at| format!("{}, 300, 900, 0, 0, 0, 0\n", at * 500)).collect();
    refused_in_any_dress("job_lat.1.log", &both, "averages");
    let singles: String = (1..40).map(|at| format!("{at}, 819200, 0, 4096, 0\n")).collect();
    refused_in_any_dress("job_bw.1.log", &singles, "bandwidth");
    refused_in_any_dress("job_iops.1.log", &singles, "IOPS");
    refused_in_any_dress("job_slat.1.log", &singles, "submission");
    assert!(refused("job_bw.1.log", singles.as_bytes()).contains("write_lat_log"));
    let named = read_as(singles.as_bytes(), Some(format("fio-lat")), 0).expect("a name decides");
    assert_eq!(named.records.len(), 39);
}

/// Seen at e6eaf978: the first five of 1,859 columns were an I/O of Tencent's.
#[test]
fn rows_with_too_many_columns_are_bad_in_a_named_format() {
    for (format, row) in [
        (format("tencent"), "1538323200,12910952,128,0,1063"),
        (format("alibaba"), "419,W,8792731648,16384,1577808144360767"),
        (format("msr"), "128166372003061629,hm,0,Write,7014912,4096,26"),
        (format("systor"), "1455592263.796951,0.000210761,R,4,5064581120,16384"),
        (format("vscsi-csv"), "1,5633.898611,0x28,4096,63"),
        (format("vscsi-text"), "2147483692,4096,1,write,24048792,2756778716647"),
    ] {
        let good = format!("{row}\n{row},\n");
        assert_eq!(read_as(good.as_bytes(), Some(format), 0).expect("good").records.len(), 2);
        let more = format!("{row},7\n");
        let error = read_as(more.as_bytes(), Some(format), 0).expect_err("a column too many");
        assert!(error.to_string().contains("too many columns"), "{format}: {error}");
    }
}

#[test]
fn tables_of_numbers_are_no_trace() {
    let table = |row: &dyn Fn(u64) -> String| (0..40).map(|at| row(at) + "\n").collect::<String>();
    let mixed = |at: u64, to: u64| at.wrapping_mul(2_654_435_761) % to;
    for text in [
        // No clock goes up.
        table(&|at| format!("{} 0 {} 8 {}", mixed(at, 1000), mixed(at, 77), at % 2)),
        table(&|at| format!("{}.5 0 {} 8 1", mixed(at, 1000), mixed(at, 77))),
        table(&|at| format!("{},{},{},{},{}", mixed(at, 1000), 50_000, at % 2, 4096, 0)),
        // No years since 1970, no size of an I/O, no number of a reference, no unit.
        table(&|at| format!("{at},{},8,{},3", mixed(at, 1000), at % 2)),
        table(&|at| format!("{at},{},0,7", mixed(at, 1000))),
        table(&|at| format!("{} 1 0 {}", mixed(at, 1000), mixed(at, 50))),
        table(&|at| format!("{} {} 5 8 1", at * 5000, 70_000 + mixed(at, 1000))),
        table(&|at| {
            format!("{},{},{},{},3", 1_767_225_600 + at, mixed(at, 997), 1 + mixed(at, 991), at % 2)
        }),
        // Brackets of a kernel's log.
        table(&|at| format!("[    {at}.000000] sd 0:0:0:0: [sda] Write Protect is off")),
        // Names of columns that no format has.
        format!("a,b,c,d,e\n{}", table(&|at| format!("{},9,8,1,3", 1_538_323_200 + at))),
        "Date,Open,High,Low,Close,Volume\n2026-01-02,10.5,11.0,10.1,10.9,120000\n".to_owned(),
        table(&|at| format!("2026-01-02,10.5,11.0,10.1,10.9,{at}")),
        table(&|at| format!("{at}")),
        table(&|at| format!("{at}\t{}", mixed(at, 9))),
        "0.00 0.01 0.05 1/123 4567\n".to_owned(),
        "hello\n".to_owned(),
    ] {
        let error = read_as(text.as_bytes(), None, 100).expect_err(&text);
        assert!(matches!(error, TraceError::Unrecognised { .. }), "{error}");
    }
}

#[test]
fn two_formats_that_fit_equally_are_both_named() {
    // Without points milliseconds of DiskSim could be nanoseconds of MQSim.
    let text = "0 0 2312 8 1\n12 0 4096 16 0\n31 0 64 8 1\n";
    let error = read_as(text.as_bytes(), None, 0).expect_err("undecided");
    assert!(error.to_string().contains("mqsim and disksim match"), "{error}");
    assert_eq!(
        error.hint(),
        Some("if the file has one of these formats, name the format with --from NAME")
    );
    for format in [format("mqsim"), format("disksim")] {
        assert_eq!(read_as(text.as_bytes(), Some(format), 0).expect("decided").records.len(), 3);
    }
}

#[test]
fn archives_and_other_packings_are_named() {
    let mut tar = vec![0_u8; 1024];
    tar[..5].copy_from_slice(b"a.csv");
    tar[257..262].copy_from_slice(b"ustar");
    for (name, bytes, wanted) in [
        ("a.csv.bz2", b"BZh91AY&SY\x01\x02\x03\x04".to_vec(), "packed with bzip2"),
        ("a.zip", b"PK\x03\x04\x14\0\0\0".to_vec(), "packed with zip"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), "packed with 7-Zip"),
        ("a.tar", tar.clone(), "tar archive"),
        ("a.tar.gz", gz(&tar), "tar archive"),
        ("a.tgz", zstd::encode_all(&tar[..], 1).expect("packed"), "tar archive"),
        ("a.gz.gz", gz(&gz(b"419,W,8792731648,16384,1577808144360767\n")), "packed twice"),
        ("a.parquet", b"PAR1\x15\x04\x15\x10\0\0".to_vec(), "Parquet"),
        ("a.txt", b"\xff\xfeD\0i\0s\0k\0".to_vec(), "UTF-16"),
    ] {
        let said = refused(name, &bytes);
        assert!(said.contains(wanted), "{name}: {said}");
        if !matches!(name, "a.parquet" | "a.txt") {
            assert!(said.contains("unpack it"), "{name}: {said}");
        }
    }
    // A packed file is also refused if a format is named.
    let error = read_as(b"BZh91AY&SY\x01\x02", Some(format("msr")), 100).expect_err("packed");
    assert!(error.to_string().contains("bzip2"), "{error}");
    // A trace may begin with the letters.
    let trace = "BZh read 0 4096\nBZh write 4096 4096\n";
    assert_eq!(read_as(trace.as_bytes(), None, 0).expect("read").records.len(), 2);
}

#[test]
fn empty_short_and_arbitrary_files_are_refused() {
    assert!(refused("a.csv", b"").contains("it is empty"));
    assert!(refused("a.csv", &gz(b"")).contains("it is empty"));
    assert!(refused("job.fio", b"[global]\nbs=4k\n[a]\nrw=read\n").contains("from-fio"));
    assert!(refused("a.json", b"{\"jobs\": []}\n").contains("JSON"));
    assert!(refused("a.json", b"[{\"a\": 1}]\n").contains("JSON"));
    let mut elf = b"\x7fELF\x02\x01\x01\0".to_vec();
    elf.resize(4096, 1);
    for bytes in [vec![0; 4096], vec![1; 4096], vec![2; 4096], vec![0xff; 4096], elf, vec![0, 1]] {
        assert!(refused("a.bin", &bytes).contains("matches no trace format"), "{:?}", &bytes[..2]);
    }
}

#[test]
fn detected_traces_of_all_formats_are_read_with_other_line_ends() {
    for (format, sample) in crate::samples::all() {
        if sample.contains(&0) {
            continue;
        }
        let text = String::from_utf8(sample).expect("text").replace('\n', "\r\n");
        let options = OpenOptions { max_bad: 0, ..OpenOptions::default() };
        let opened = open_stream(Cursor::new(gz(text.as_bytes())), Path::new("a.log.gz"), &options);
        let read = opened.and_then(drain).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert_eq!(read.info.format, format.name());
    }
}
