//! Kernel limits on this process, on a real file.
//!
//! Separate test binary: while the limits hold, the whole process is slow.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use tilemark_bystanders::throttle::{Limits, Throttle, remove_stale};

const BLOCK: usize = 4096;

/// File of 1 MiB on a disk, removed when dropped.
struct OnDisk(PathBuf);

impl OnDisk {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut file = File::create(&path).expect("a file");
        file.write_all(&vec![7; 1 << 20]).expect("written");
        file.sync_all().expect("durable");
        Self(path)
    }

    /// Seconds for so many direct reads.
    fn read(&self, count: u64) -> f64 {
        let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).expect("a small flag");
        let file = OpenOptions::new().read(true).custom_flags(direct).open(&self.0).expect("open");
        let mut buffer = vec![0; 2 * BLOCK];
        let start = buffer.as_ptr().align_offset(BLOCK);
        let begun = Instant::now();
        for block in 0..count {
            let place = &mut buffer[start..start + BLOCK];
            file.read_exact_at(place, block * 4096).expect("read");
            assert_eq!(place[0], 7);
        }
        begun.elapsed().as_secs_f64()
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        fs::remove_file(&self.0).expect("removed");
    }
}

fn reads_per_s(limit: u32) -> Limits {
    Limits { read_iops: Some(limit), ..Limits::default() }
}

/// Throttle; `None` with a printed reason if the test is skipped.
fn begin(path: &Path, limit: u32) -> Option<Throttle> {
    match Throttle::begin(path, &reads_per_s(limit)) {
        Ok(throttle) => Some(throttle),
        Err(refusal) => {
            eprintln!("skipped: {}", refusal.reason());
            None
        }
    }
}

fn own_groups() -> String {
    fs::read_to_string("/proc/self/cgroup").expect("proc")
}

/// Checks all limits in sequence in a single test, because a process has one throttle at a time.
#[test]
fn limits_hold_while_they_are_there_and_leave_nothing() {
    let file = OnDisk::new("throttled");
    let before = own_groups();
    let Some(throttle) = begin(&file.0, 50) else { return };
    assert_ne!(own_groups(), before, "the process did not move");
    // 25 reads at 50 per second; the first tenth of a second may pass five at once.
    let slow = file.read(25);
    assert!(slow >= 0.3, "25 reads took {slow} s under {}", throttle.describe());
    drop(throttle);
    assert_eq!(own_groups(), before, "the process did not come back");
    assert_eq!(remove_stale(), 0, "the group stayed");
    let fast = file.read(25);
    assert!(fast < slow, "{fast} s without limits, {slow} s with them");
    after_kill_9_the_next_one_removes_the_group(&file);
}

fn after_kill_9_the_next_one_removes_the_group(file: &OnDisk) {
    let me = std::env::current_exe().expect("this test");
    let mut child = Command::new(me)
        .args(["--exact", "a_process_that_is_killed", "--ignored", "--nocapture"])
        .env("THROTTLED_FILE", &file.0)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let is_throttled = lines.map_while(Result::ok).any(|line| line.contains("throttled now"));
    assert!(is_throttled, "the child has no throttle");
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert_eq!(remove_stale(), 1, "the group of a killed process");
    assert_eq!(remove_stale(), 0);
}

/// Process that the test above kills. It waits for its standard input, which stays open.
#[test]
#[ignore = "started by another test"]
fn a_process_that_is_killed() {
    let Ok(path) = std::env::var("THROTTLED_FILE") else { return };
    let Some(_throttle) = begin(Path::new(&path), 50) else { return };
    eprintln!("throttled now");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("standard input");
}

#[test]
fn a_place_without_a_device_is_refused_with_the_reason() {
    let refusal = Throttle::begin(Path::new("/proc/self"), &reads_per_s(1)).expect_err("no device");
    assert!(refusal.reason().contains("no single block device"), "{}", refusal.reason());
}
