//! Storage that loses, forgets, tears, swaps or damages blocks between two runs: the files
//! are edited, and each fault must be found, placed and named. Nothing else may be named.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use datastore::VirtualDisk;
use tilemark_engine::verify::{CheckError, Kind, Report, Setup, Tracker, Written, check_all};
use units::{Bytes, Nanos};

use crate::disks;

const SIZE: Bytes = Bytes::new(2 << 20);
const NAMES: [&str; 2] = ["tile-1/mail/store", "tile-1/mail/log"];

/// Two disks, all blocks written twice; the files' content after the first and second pass.
struct Bench {
    directory: tempfile::TempDir,
    disks: Vec<VirtualDisk>,
    first: Vec<Vec<u8>>,
    second: Vec<Vec<u8>>,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let disks: Vec<_> = (0..NAMES.len())
            .map(|i| disks::on_file(&directory.path().join(format!("{i}")), NAMES[i], SIZE))
            .collect();
        let mut bench = Self { directory, disks, first: Vec::new(), second: Vec::new() };
        bench.first = bench.pass();
        bench.second = bench.pass();
        bench
    }

    fn pass(&self) -> Vec<Vec<u8>> {
        let state_dir = disks::own(self.directory.path());
        let setup =
            Setup { state_dir, seed: 5, epoch_unix_ns: 1_700_000_000_000_000_000, elsewhere: None };
        for (number, disk) in self.disks.iter().enumerate() {
            let mut tracker = Tracker::open(&setup, disk).unwrap();
            for offset in (0..SIZE.get()).step_by(16_384) {
                let mut buffer = vec![0x42; 16_384];
                let ticket = tracker.on_submit_write(Nanos(7), offset, &mut buffer).unwrap();
                self.plain(number).write_all_at(&buffer, offset).unwrap();
                tracker.on_write_done(ticket, Written::Acknowledged);
            }
        }
        (0..NAMES.len()).map(|number| std::fs::read(self.path(number)).unwrap()).collect()
    }

    fn path(&self, number: usize) -> PathBuf {
        self.directory.path().join(number.to_string())
    }

    fn plain(&self, number: usize) -> File {
        File::options().read(true).write(true).open(self.path(number)).unwrap()
    }

    fn check(&self) -> Report {
        check_all(&self.disks, &disks::own(self.directory.path())).unwrap()
    }

    /// Puts `bytes` on the second disk at `offset`, and gives what the check then names.
    fn named_after(&self, offset: u64, bytes: &[u8]) -> Vec<(Kind, u64)> {
        self.plain(1).write_all_at(bytes, offset).unwrap();
        let report = self.check();
        assert!(!report.passed());
        report
            .disks
            .iter()
            .flat_map(|disk| &disk.mismatches)
            .inspect(|mismatch| assert_eq!(mismatch.disk, NAMES[1]))
            .map(|mismatch| (mismatch.kind, mismatch.offset))
            .collect()
    }
}

#[test]
fn untouched_disks_pass() {
    let bench = Bench::new();
    let report = bench.check();
    assert!(report.passed(), "{report:#?}");
    assert_eq!(report.disks.iter().map(|disk| disk.bytes_judged).sum::<u64>(), 2 * SIZE.get());
}

#[test]
fn a_zeroed_block_is_lost() {
    let bench = Bench::new();
    assert_eq!(bench.named_after(40_960, &[0; 8192]), [(Kind::Lost, 40_960), (Kind::Lost, 45_056)]);
}

#[test]
fn a_block_that_kept_its_earlier_content_is_stale() {
    let bench = Bench::new();
    let old = &bench.first[1][65_536..69_632];
    assert_eq!(bench.named_after(65_536, old), [(Kind::Stale, 65_536)]);
}

#[test]
fn a_block_of_which_one_sector_kept_its_earlier_content_is_torn() {
    let bench = Bench::new();
    let at = 65_536 + 7 * 512;
    let old = &bench.first[1][at..at + 512];
    assert_eq!(bench.named_after(at as u64, old), [(Kind::Torn, at as u64)]);
}

#[test]
fn misplaced_block_is_reported_with_its_origin() {
    let bench = Bench::new();
    let near = bench.second[1][4096..8192].to_vec();
    assert_eq!(bench.named_after(8192, &near), [(Kind::Misplaced, 8192)]);
    let far = bench.second[0][8192..12_288].to_vec();
    assert_eq!(bench.named_after(8192, &far), [(Kind::Misplaced, 8192)]);
    let mismatch = bench.check().disks.iter().find_map(|disk| disk.mismatches.first().cloned());
    let found = mismatch.unwrap().found.unwrap();
    assert_eq!(found.disk.as_deref(), Some(NAMES[0]));
    assert_eq!((found.offset, found.written_unix_ns), (8192, 1_700_000_000_000_000_007));
}

#[test]
fn one_flipped_bit_is_corrupt() {
    let bench = Bench::new();
    let byte = bench.second[1][1_000_000] ^ 1;
    assert_eq!(bench.named_after(1_000_000, &[byte]), [(Kind::Corrupt, 1_000_000 / 512 * 512)]);
}

#[test]
fn a_whole_disk_gone_is_counted_in_full_and_listed_in_part() {
    let bench = Bench::new();
    std::fs::write(bench.path(1), vec![0; 2 << 20]).unwrap();
    let report = bench.check();
    let disk = report.disks.iter().find(|disk| disk.name == NAMES[1]).unwrap();
    assert_eq!((disk.mismatches_total, disk.mismatches.len()), (512, 512));
}

#[test]
fn blocks_that_cannot_be_read_are_listed_and_the_rest_is_judged() {
    let bench = Bench::new();
    let file = File::options().write(true).open(bench.path(1)).unwrap();
    // Wrong before the end of the file, absent behind it.
    file.write_all_at(&[0; 4096], 8192).unwrap();
    file.set_len((1 << 20) + 4096).unwrap();
    let report = bench.check();
    let disk = report.disks.iter().find(|disk| disk.name == NAMES[1]).unwrap();
    assert_eq!(disk.mismatches_total, 1, "{:?}", disk.mismatches);
    assert_eq!(disk.unreadable_total, 255);
    assert_eq!(disk.unreadable[0].offset, (1 << 20) + 4096);
    assert_eq!(disk.bytes_judged, (1 << 20) + 4096);
    assert!(!report.passed());
}

#[test]
fn a_disk_that_shrank_or_is_not_given_is_no_pass() {
    let bench = Bench::new();
    let report = check_all(&bench.disks[..1], &disks::own(bench.directory.path())).unwrap();
    assert_eq!(report.missing, [NAMES[1]]);
    assert!(!report.passed());
    let mut small = bench.disks.clone();
    small[0].size = Bytes::MIB;
    let error = check_all(&small, &disks::own(bench.directory.path())).unwrap_err();
    assert!(matches!(error, CheckError::Size { size: 1_048_576, .. }), "{error}");
}

#[test]
fn damaged_or_foreign_state_file_is_refused_not_repaired() {
    let bench = Bench::new();
    let state = bench.directory.path().join("tile-1%2Fmail%2Fstore.verify");
    let mut bytes = std::fs::read(&state).unwrap();
    bytes[16] ^= 1;
    std::fs::write(&state, &bytes).unwrap();
    let error =
        check_all(&bench.disks, &disks::own(bench.directory.path())).unwrap_err().to_string();
    assert!(error.contains("its header is damaged"), "{error}");
    bytes[8] = 9;
    std::fs::write(&state, &bytes).unwrap();
    let error =
        check_all(&bench.disks, &disks::own(bench.directory.path())).unwrap_err().to_string();
    assert!(error.contains("its format is 9"), "{error}");
    std::fs::write(&state, b"short").unwrap();
    assert!(check_all(&bench.disks, &disks::own(bench.directory.path())).is_err());
}
