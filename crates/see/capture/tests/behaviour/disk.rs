//! Disk to capture, with the kernel's counters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Loop device over a temporary file.
pub struct Loop {
    pub path: PathBuf,
    _file: tempfile::TempDir,
}

/// Counters of `/sys/block/NAME/stat` (kernel `Documentation/block/stat.rst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub discards: u64,
    pub flushes: u64,
}

impl Loop {
    pub fn new(mib: u64) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("disk");
        fs::File::create(&file).expect("made").set_len(mib << 20).expect("sized");
        let output = Command::new("losetup").args(["-f", "--show"]).arg(&file).output().ok()?;
        if !output.status.success() {
            eprintln!("skipped: losetup: {}", String::from_utf8_lossy(&output.stderr).trim());
            return None;
        }
        let path = String::from_utf8(output.stdout).expect("a path");
        Some(Self { path: path.trim().into(), _file: directory })
    }

    pub fn stat(&self) -> Stat {
        let name = self.path.file_name().expect("a name").to_str().expect("plain");
        stat(Path::new("/sys/block").join(name).join("stat").as_path())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}

fn stat(path: &Path) -> Stat {
    let text = fs::read_to_string(path).expect("statistics");
    let numbers: Vec<u64> =
        text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    Stat {
        reads: numbers[0],
        read_bytes: numbers[2] * 512,
        writes: numbers[4],
        written_bytes: numbers[6] * 512,
        discards: numbers[11],
        flushes: numbers[15],
    }
}

impl std::ops::Sub for Stat {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
            writes: self.writes - before.writes,
            written_bytes: self.written_bytes - before.written_bytes,
            discards: self.discards - before.discards,
            flushes: self.flushes - before.flushes,
        }
    }
}

/// Runs a program that must succeed.
pub fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().expect("started");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}
