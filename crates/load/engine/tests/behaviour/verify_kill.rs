//! A real process, killed with SIGKILL while it writes. All acknowledged writes must be there
//! afterwards.
//!
//! The child is this test binary again, running [`the_child_writes_until_it_is_killed`].

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::SystemTime;

use datastore::VirtualDisk;
use state_machine::{Purpose, Stream};
use tilemark_engine::verify::{Kind, Setup, Tracker, Written, check_all};
use units::{Bytes, Nanos};

use crate::disks;

const DIRECTORY: &str = "TILEMARK_TEST_KILL_DIRECTORY";
const SIZE: u64 = 4 << 20;
const THREADS_PER_DISK: usize = 3;

/// Two disks: one takes whole 4 KiB blocks, the other any sectors.
fn open(directory: &Path) -> [(VirtualDisk, u64); 2] {
    [("tile-1/db/data", 4096), ("tile-1/db/log", 512)].map(|(name, unit)| {
        let path = directory.join(name.replace('/', "_"));
        let mut disk = disks::on_file(&path, name, Bytes::new(SIZE));
        if unit < 4096 {
            disk.file = std::sync::Arc::new(
                std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap(),
            );
        }
        (disk, unit)
    })
}

fn setup(directory: &Path) -> Setup {
    Setup { state_dir: disks::own(directory), seed: 11, epoch_unix_ns: 0, elsewhere: None }
}

fn random_stream() -> Stream {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Stream::derive(Nanos::from(now).0, &[u64::from(std::process::id())], Purpose::User)
}

#[test]
#[ignore = "the child process of killed_writers_lose_nothing_that_was_acknowledged"]
fn the_child_writes_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let directory = Path::new(&directory);
    let disks = open(directory).map(|(disk, unit)| {
        let tracker = Mutex::new(Tracker::open(&setup(directory), &disk).unwrap());
        (disk, unit, tracker)
    });
    std::thread::scope(|scope| {
        for (disk, unit, tracker) in &disks {
            for _ in 0..THREADS_PER_DISK {
                scope.spawn(|| use_disk(disk, *unit, tracker, random_stream()));
            }
        }
    });
}

/// Reads and writes for ever, and says so every hundred times.
fn use_disk(disk: &VirtualDisk, unit: u64, tracker: &Mutex<Tracker>, mut random: Stream) {
    let mut space = vec![0_u8; 65_536 + 4096];
    let start = space.as_ptr().align_offset(4096);
    let space = &mut space[start..start + 65_536];
    for round in 1_u64.. {
        let length = unit * (1 + random.below(65_536 / unit));
        let offset = unit * random.below((SIZE - length) / unit + 1);
        let buffer = &mut space[..usize::try_from(length).unwrap()];
        if random.chance(0.3) {
            let ticket = tracker.lock().unwrap().on_submit_read(offset, buffer.len());
            disk.file.read_exact_at(buffer, offset).unwrap();
            if let Err(mismatch) = tracker.lock().unwrap().on_read_done(ticket, buffer) {
                say(&format!("mismatch {mismatch}"));
                std::process::exit(3);
            }
        } else {
            let ticket =
                tracker.lock().unwrap().on_submit_write(Nanos(round), offset, buffer).unwrap();
            disk.file.write_all_at(buffer, offset).unwrap();
            tracker.lock().unwrap().on_write_done(ticket, Written::Acknowledged);
        }
        if round.is_multiple_of(100) {
            say("hundred");
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "child: {line}").and_then(|()| out.flush()).unwrap();
}

/// Runs a child, kills it at a random moment after its first lines.
fn run_and_kill(directory: &Path, random: &mut Stream) {
    let name = "verify_kill::the_child_writes_until_it_is_killed";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let enough = usize::try_from(1 + random.below(20)).unwrap();
    let said: Vec<String> =
        lines.by_ref().filter(|line| line.contains("child: ")).take(enough).collect();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGKILL), "the child ended by itself: {said:?}");
    assert!(said.iter().all(|line| line.contains("hundred")), "{said:?}");
}

#[test]
fn killed_writers_lose_nothing_that_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = random_stream();
    let disks = || open(directory.path()).map(|(disk, _)| disk);
    for _ in 0..5 {
        run_and_kill(directory.path(), &mut random);
        let report = check_all(&disks(), &disks::own(directory.path())).unwrap();
        assert!(report.passed(), "{:#?}", report.disks);
        let judged: u64 = report.disks.iter().map(|disk| disk.bytes_judged).sum();
        assert!(judged > SIZE / 4, "{report:?}");
    }

    // An acknowledged byte that changes afterwards is found, and only that block is named.
    let [(disk, _), (other, _)] = open(directory.path());
    let block = 4096 * random.below(SIZE / 4096);
    write_acknowledged(directory.path(), &disk, block);
    let at = block + random.below(4096);
    let path = directory.path().join("tile-1_db_data");
    let plain = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    plain.read_exact_at(&mut byte, at).unwrap();
    plain.write_all_at(&[byte[0] ^ 0x80], at).unwrap();
    let report = check_all(&[disk, other], &disks::own(directory.path())).unwrap();
    let [mismatch] = &report.disks[0].mismatches[..] else { panic!("{report:#?}") };
    assert_eq!((mismatch.kind, mismatch.offset), (Kind::Corrupt, at / 512 * 512));
    assert_eq!(mismatch.disk, "tile-1/db/data");
    assert!(!report.passed());
}

fn write_acknowledged(directory: &Path, disk: &VirtualDisk, offset: u64) {
    let mut tracker = Tracker::open(&setup(directory), disk).unwrap();
    let mut space = vec![0_u8; 8192];
    let start = space.as_ptr().align_offset(4096);
    let buffer = &mut space[start..start + 4096];
    let ticket = tracker.on_submit_write(Nanos(0), offset, buffer).unwrap();
    disk.file.write_all_at(buffer, offset).unwrap();
    tracker.on_write_done(ticket, Written::Acknowledged);
}
