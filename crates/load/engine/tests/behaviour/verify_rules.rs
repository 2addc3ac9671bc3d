//! The rules of verification, on buffers: no disk is needed to judge one.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datastore::VirtualDisk;
use proptest::prelude::*;
use state_machine::Pattern;
use tilemark_engine::payload::{Freshness, Resident, make};
use tilemark_engine::verify::{
    Kind, Mismatch, ReadTicket, Setup, StateError, Tracker, WriteTicket, Written,
};
use units::{Bytes, Nanos};

use crate::disks;

const SECTOR: usize = 512;

fn disk(name: &str, size: u64) -> VirtualDisk {
    VirtualDisk {
        file: Arc::new(File::open("/dev/null").unwrap()),
        base: 0,
        size: Bytes::new(size),
        alignment: 512,
        direct: false,
        writable: true,
        name: name.to_owned(),
    }
}

fn setup(directory: &Path) -> Setup {
    Setup {
        state_dir: disks::own(directory),
        seed: 7,
        epoch_unix_ns: 1_700_000_000_000_000_000,
        elsewhere: None,
    }
}

/// A tracker and the content of the disk it follows.
struct Rig {
    tracker: Tracker,
    content: Vec<u8>,
    _directory: tempfile::TempDir,
}

impl Rig {
    fn new(size: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tracker =
            Tracker::open(&setup(directory.path()), &disk("tile-1/shop/db", size as u64)).unwrap();
        Self { tracker, content: vec![0; size], _directory: directory }
    }

    fn submit(&mut self, offset: usize, length: usize) -> (WriteTicket, Vec<u8>) {
        let mut buffer = vec![0x77; length];
        let ticket = self.tracker.on_submit_write(Nanos(5), offset as u64, &mut buffer).unwrap();
        (ticket, buffer)
    }

    fn write(&mut self, offset: usize, length: usize) {
        let (ticket, buffer) = self.submit(offset, length);
        self.store(offset, &buffer);
        self.tracker.on_write_done(ticket, Written::Acknowledged);
    }

    fn store(&mut self, offset: usize, bytes: &[u8]) {
        self.content[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&mut self, offset: usize, length: usize) -> Result<(), Box<Mismatch>> {
        let ticket = self.tracker.on_submit_read(offset as u64, length);
        self.tracker.on_read_done(ticket, &self.content[offset..offset + length])
    }

    fn kind(&mut self, offset: usize, length: usize) -> Option<(Kind, u64)> {
        self.read(offset, length).err().map(|mismatch| (mismatch.kind, mismatch.offset))
    }
}

#[test]
fn written_blocks_are_accepted_and_others_are_not_judged() {
    let mut rig = Rig::new(1 << 20);
    rig.content.fill(0xEE);
    rig.write(8192, 65_536);
    rig.write(512, 1024);
    assert_eq!(rig.kind(0, 1 << 20), None);
}

#[test]
fn lost_first_and_lost_later_writes_have_different_names() {
    let mut rig = Rig::new(1 << 20);
    rig.write(0, 8192);
    let before = rig.content.clone();
    rig.write(4096, 4096);
    rig.store(4096, &before[4096..8192]);
    assert_eq!(rig.kind(0, 8192), Some((Kind::Stale, 4096)));
    rig.content[4096..8192].fill(0);
    assert_eq!(rig.kind(0, 8192), Some((Kind::Lost, 4096)));
    rig.content[4096..8192].fill(0x3C);
    assert_eq!(rig.kind(0, 8192), Some((Kind::Lost, 4096)));
}

#[test]
fn a_write_of_which_a_part_arrived_is_torn() {
    let mut rig = Rig::new(1 << 20);
    rig.write(0, 4096);
    let before = rig.content.clone();
    rig.write(0, 4096);
    rig.store(3 * SECTOR, &before[3 * SECTOR..4096]);
    let mismatch = rig.read(0, 4096).unwrap_err();
    assert_eq!((mismatch.kind, mismatch.offset, mismatch.length), (Kind::Torn, 1536, 2560));
    assert_eq!(mismatch.expected.oldest, 2);
    assert_eq!(mismatch.found.unwrap().version, 1);
}

#[test]
fn stale_sector_beside_other_writes_is_stale_and_not_torn() {
    let mut rig = Rig::new(1 << 20);
    rig.write(0, 4096);
    let before = rig.content.clone();
    rig.write(512, 512);
    rig.store(512, &before[512..1024]);
    assert_eq!(rig.kind(0, 4096), Some((Kind::Stale, 512)));
}

#[test]
fn data_of_another_address_or_disk_is_misplaced() {
    let mut rig = Rig::new(1 << 20);
    rig.write(0, 16_384);
    let moved = rig.content[4096..8192].to_vec();
    rig.store(12_288, &moved);
    let mismatch = rig.read(0, 16_384).unwrap_err();
    assert_eq!((mismatch.kind, mismatch.offset), (Kind::Misplaced, 12_288));
    assert_eq!(mismatch.found.as_ref().unwrap().offset, 4096);
    assert!(mismatch.to_string().contains("of this disk offset 4096"), "{mismatch}");

    let setup = setup(rig._directory.path());
    let mut other = Tracker::open(&setup, &disk("tile-1/mail/log", 1 << 20)).unwrap();
    let mut stray = vec![0; 4096];
    let ticket = other.on_submit_write(Nanos(1), 12_288, &mut stray).unwrap();
    other.on_write_done(ticket, Written::Acknowledged);
    rig.store(12_288, &stray);
    let mismatch = rig.read(0, 16_384).unwrap_err();
    assert_eq!(mismatch.kind, Kind::Misplaced);
    assert_eq!(mismatch.found.unwrap().disk.as_deref(), Some("tile-1/mail/log"));
}

#[test]
fn a_changed_byte_is_corruption_wherever_it_is() {
    for at in [0, 3, 5, 9, 17, 33, 37, 40, 511, 512, 4095] {
        let mut rig = Rig::new(1 << 20);
        rig.write(4096, 4096);
        rig.content[4096 + at] ^= 0x10;
        let sector = (4096 + at as u64) / 512 * 512;
        assert_eq!(rig.kind(0, 1 << 20), Some((Kind::Corrupt, sector)), "byte {at}");
    }
}

#[test]
fn a_version_that_was_never_issued_is_from_the_future() {
    let mut rig = Rig::new(1 << 20);
    let mut twin = Rig::new(1 << 20);
    rig.write(0, 4096);
    twin.write(0, 4096);
    twin.write(0, 4096);
    rig.content = twin.content;
    assert_eq!(rig.kind(0, 4096), Some((Kind::Future, 0)));
}

#[test]
fn a_read_may_see_either_side_of_a_write_it_overlaps_in_time() {
    let mut rig = Rig::new(1 << 20);
    rig.write(0, 4096);
    let old = rig.content[..4096].to_vec();
    let read = |rig: &mut Rig| rig.tracker.on_submit_read(0, 4096);
    let (first, second) = (read(&mut rig), read(&mut rig));
    let (ticket, new) = rig.submit(0, 4096);
    rig.tracker.on_write_done(ticket, Written::Acknowledged);
    let third = read(&mut rig);
    let mut done = |ticket: ReadTicket, bytes: &[u8]| {
        rig.tracker.on_read_done(ticket, bytes).err().map(|mismatch| mismatch.kind)
    };
    assert_eq!(done(first, &old), None);
    assert_eq!(done(second, &new), None);
    assert_eq!(done(third, &old), Some(Kind::Stale));
}

#[test]
fn overlapping_writes_may_land_in_either_order() {
    let mut rig = Rig::new(1 << 20);
    rig.write(0, 8192);
    let oldest = rig.content[..4096].to_vec();
    let (a, a_bytes) = rig.submit(0, 4096);
    let (b, b_bytes) = rig.submit(0, 4096);
    rig.tracker.on_write_done(b, Written::Acknowledged);
    rig.tracker.on_write_done(a, Written::Acknowledged);
    for (bytes, wanted) in [(&a_bytes, None), (&b_bytes, None), (&oldest, Some((Kind::Stale, 0)))] {
        rig.store(0, bytes);
        assert_eq!(rig.kind(0, 8192), wanted);
    }
    rig.write(0, 4096);
    assert_eq!(rig.kind(0, 8192), None);
    rig.store(0, &b_bytes);
    assert_eq!(rig.kind(0, 8192), Some((Kind::Stale, 0)));
}

#[test]
fn after_a_failed_write_old_and_new_content_are_both_accepted() {
    let mut rig = Rig::new(1 << 20);
    rig.write(0, 4096);
    let (ticket, bytes) = rig.submit(0, 4096);
    rig.tracker.on_write_done(ticket, Written::Failed);
    assert_eq!(rig.kind(0, 4096), None);
    rig.store(0, &bytes[..1024]);
    assert_eq!(rig.kind(0, 4096), None);
}

#[test]
fn state_reopens_but_not_for_another_run_or_process() {
    let directory = tempfile::tempdir().unwrap();
    let (setup, disk) = (setup(directory.path()), disk("a b/c%", 1 << 20));
    let mut tracker = Tracker::open(&setup, &disk).unwrap();
    let mut buffer = vec![0; 512];
    let ticket = tracker.on_submit_write(Nanos(0), 512, &mut buffer).unwrap();
    tracker.on_write_done(ticket, Written::Acknowledged);
    assert!(matches!(Tracker::open(&setup, &disk), Err(StateError::Locked { .. })));
    drop(tracker);
    let other = Setup { seed: 8, ..setup.clone() };
    assert!(matches!(Tracker::open(&other, &disk), Err(StateError::Other { .. })));
    let mut tracker = Tracker::open(&setup, &disk).unwrap();
    let ticket = tracker.on_submit_read(0, 4096);
    assert_eq!(tracker.on_read_done(ticket, &[0; 4096]).unwrap_err().kind, Kind::Lost);
}

/// Reopening state failed now and then with "in use by another process" while another thread
/// was starting a program: between fork and exec, the child held a copy of the locked file.
#[test]
fn state_can_be_reopened_while_another_thread_starts_programs() {
    let directory = tempfile::tempdir().unwrap();
    let (setup, disk) = (setup(directory.path()), disk("disk", 1 << 20));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..200 {
                std::process::Command::new("true").status().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        while !stop.load(Ordering::Relaxed) {
            drop(Tracker::open(&setup, &disk).unwrap());
        }
    });
}

#[test]
fn headers_raise_the_compressible_share_by_a_few_points_only() {
    for (percent, length) in [(0, 4096), (50, 4096), (90, 4096), (50, 1 << 20), (90, 1 << 20)] {
        let mut rig = Rig::new(1 << 20);
        let mut buffer = vec![0; length];
        let pattern = Pattern { seed: 1, compressible_percent: percent, ..Pattern::default() };
        make(&mut buffer, &mut Resident::default(), pattern, Freshness::Stamped);
        let ticket = rig.tracker.on_submit_write(Nanos(1), 0, &mut buffer).unwrap();
        rig.tracker.on_write_done(ticket, Written::Acknowledged);
        let small = zstd::bulk::compress(&buffer, 3).unwrap().len();
        let got = 100.0 - 100.0 * small as f64 / length as f64;
        assert!((0.0..7.0).contains(&(got - f64::from(percent))), "{got:.1} % for {percent} %");
    }
}

/// Step of a history, on a disk of 32 sectors.
#[derive(Debug, Clone)]
enum Step {
    Submit { first: usize, count: usize },
    Finish { which: usize, ok: bool },
    Read { first: usize, count: usize },
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0_usize..32, 1_usize..20).prop_map(|(f, c)| (f, c.min(32 - f)));
    let step = prop_oneof![
        4 => range().prop_map(|(first, count)| Step::Submit { first, count }),
        4 => (any::<usize>(), prop::bool::weighted(0.9)).prop_map(|(which, ok)| Step::Finish { which, ok }),
        2 => range().prop_map(|(first, count)| Step::Read { first, count }),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..60)
}

/// A write of the model: its ticket, its range, its bytes, and whether each of its
/// predecessors on a sector could still overtake it.
struct Flying {
    ticket: WriteTicket,
    first: usize,
    bytes: Vec<u8>,
    version: u64,
    floor: u64,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Against a plain model: for every sector the oldest and newest version it may hold, and
    /// the bytes of every version. Each sector in turn is set to every version that ever was.
    #[test]
    fn exactly_the_versions_of_the_model_are_accepted(history in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let (setup, disk) = (setup(directory.path()), disk("model", 32 * 512));
        let mut tracker = Tracker::open(&setup, &disk).unwrap();
        let mut flying: Vec<Flying> = Vec::new();
        let mut bytes: BTreeMap<(usize, u64), Vec<u8>> = BTreeMap::new();
        let (mut oldest, mut newest) = ([0_u64; 32], [0_u64; 32]);
        let mut version = 0;
        for step in history {
            match step {
                Step::Submit { first, count } => {
                    version += 1;
                    let mut buffer = vec![0x11; count * 512];
                    let ticket =
                        tracker.on_submit_write(Nanos(1), first as u64 * 512, &mut buffer).unwrap();
                    for (i, sector) in buffer.chunks(512).enumerate() {
                        bytes.insert((first + i, version), sector.to_vec());
                        newest[first + i] = version;
                    }
                    let overlaps = |other: &&Flying| {
                        first < other.first + other.bytes.len() / 512 && other.first < first + count
                    };
                    let floor =
                        flying.iter().filter(overlaps).map(|other| other.version).fold(version, u64::min);
                    flying.push(Flying { ticket, first, bytes: buffer, version, floor });
                }
                Step::Finish { which, ok } if !flying.is_empty() => {
                    let write = flying.remove(which % flying.len());
                    let result = if ok { Written::Acknowledged } else { Written::Failed };
                    tracker.on_write_done(write.ticket, result);
                    if ok {
                        let end = write.first + write.bytes.len() / 512;
                        for oldest in &mut oldest[write.first..end] {
                            *oldest = write.floor.max(*oldest);
                        }
                    }
                }
                Step::Finish { .. } => {}
                Step::Reopen => {
                    drop(tracker);
                    flying.clear();
                    tracker = Tracker::open(&setup, &disk).unwrap();
                }
                Step::Read { first, count } => {
                    for sector in first..first + count {
                        let versions: Vec<u64> =
                            bytes.range((sector, 0)..=(sector, u64::MAX)).map(|((_, v), _)| *v).collect();
                        for held in versions {
                            let ticket = tracker.on_submit_read(sector as u64 * 512, 512);
                            let result = tracker.on_read_done(ticket, &bytes[&(sector, held)]);
                            let fine = oldest[sector] == 0
                                || (oldest[sector]..=newest[sector]).contains(&held);
                            prop_assert_eq!(result.is_ok(), fine, "sector {} version {}", sector, held);
                        }
                        let ticket = tracker.on_submit_read(sector as u64 * 512, 512);
                        let lost = tracker.on_read_done(ticket, &[0; 512]);
                        prop_assert_eq!(lost.is_ok(), oldest[sector] == 0);
                    }
                }
            }
        }
    }
}

/// Seen at e6eaf978: the program ended by SIGBUS.
#[test]
fn state_that_is_shortened_while_in_use_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut tracker = Tracker::open(&setup(directory.path()), &disk("db", 1 << 20)).expect("state");
    let ticket = tracker.on_submit_write(Nanos(5), 0, &mut [0; 4096]).expect("whole");
    for entry in std::fs::read_dir(directory.path()).expect("lists") {
        let path = entry.expect("readable").path();
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("a state file");
        file.set_len(0).expect("shortened");
    }
    let error = tracker.check().expect_err("shortened").to_string();
    assert!(error.contains("has 0 bytes, but had"), "{error}");
    assert!(tracker.on_submit_write(Nanos(6), 0, &mut [0; 4096]).is_err());
    drop(ticket);
}
