//! File systems for tests, on loop devices.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::rig::{Workspace, err};

/// Mounted file system on a loop device; removed at the end.
pub struct Mounted {
    pub at: PathBuf,
    device: String,
}

impl Mounted {
    /// Makes a mostly sparse one of so many bytes, in a directory of a place; `None`, with the
    /// reason printed, where that is impossible.
    pub fn new(place: &Workspace, name: &str, kind: &str, bytes: u64) -> Option<Self> {
        let file = place.path(&format!("{name}.img"));
        let at = place.path(name);
        std::fs::create_dir_all(&at).expect("a directory");
        std::fs::File::create(&file).and_then(|file| file.set_len(bytes)).expect("a file");
        let attached = ran(Command::new("losetup").args(["-f", "--show"]).arg(&file))?;
        let device = String::from_utf8_lossy(&attached.stdout).trim().to_owned();
        let mounted = Self { at, device };
        let quiet = if kind == "xfs" { "-q" } else { "-F" };
        ran(Command::new(format!("mkfs.{kind}")).arg(quiet).arg(&mounted.device))?;
        ran(Command::new("mount").arg(&mounted.device).arg(&mounted.at))?;
        Some(mounted)
    }

    /// Fills the remaining space.
    pub fn fill_up(&self) {
        let file = std::fs::File::create(self.at.join("filler")).expect("a file");
        let mut piece: u64 = 1 << 30;
        let mut end = 0;
        while piece >= 4096 {
            let flags = rustix::fs::FallocateFlags::empty();
            match rustix::fs::fallocate(&file, flags, end, piece) {
                Ok(()) => end += piece,
                Err(_) => piece /= 2,
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
        let _ = Command::new("losetup").args(["-d", &self.device]).output();
    }
}

fn ran(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) if output.status.success() => Some(output),
        Ok(output) => {
            eprintln!("skipped: {command:?}: {}", err(&output).trim());
            None
        }
        Err(error) => {
            eprintln!("skipped: {command:?}: {error}");
            None
        }
    }
}

/// File of a run's disk whose name ends in `suffix`, in a datastore; waits until the file exists.
pub fn disk_file(datastore: &Path, suffix: &str) -> PathBuf {
    let (begun, name) = (std::time::Instant::now(), format!("{suffix}.disk"));
    loop {
        let own = std::fs::read_dir(datastore).expect("a directory").flatten();
        let own = own.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tilemark-"));
        let files = own.flat_map(|entry| std::fs::read_dir(entry.path()).into_iter().flatten());
        let mut files = files.flatten().map(|entry| entry.path());
        if let Some(found) = files.find(|path| path.to_string_lossy().ends_with(&name)) {
            return found;
        }
        assert!(begun.elapsed() < crate::rig::DEADLINE, "no disk that ends in {suffix}");
        std::thread::yield_now();
    }
}

/// Blocks of 512 B that a file occupies, including shared ones.
pub fn held(file: &Path) -> u64 {
    std::fs::metadata(file).expect("a file").blocks()
}

/// Waits until a condition is true.
pub fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < crate::rig::DEADLINE, "{what}");
        std::thread::yield_now();
    }
}

/// Waits until a file is written to.
pub fn wait_for_writes(file: &Path) {
    let written = || std::fs::metadata(file).and_then(|found| found.modified()).expect("a file");
    let before = written();
    wait_until(|| written() != before, "nobody writes to it");
}
