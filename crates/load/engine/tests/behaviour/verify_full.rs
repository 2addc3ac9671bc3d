//! Verification state on a full file system: an error, never a SIGBUS.

use std::path::{Path, PathBuf};
use std::process::Command;

use tilemark_engine::verify::{Setup, StateError, Tracker, Written};
use units::{Bytes, Nanos};

use crate::disks;

/// A file system of 64 KiB, unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Option<Self> {
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(at)
            .stderr(std::process::Stdio::null())
            .status();
        status.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn is_full(error: &StateError) -> bool {
    matches!(error, StateError::Io { source, .. } if source.raw_os_error() == Some(libc::ENOSPC))
}

#[test]
fn state_that_cannot_grow_is_an_error_and_stays_valid() {
    let directory = tempfile::tempdir().unwrap();
    let state_dir = directory.path().join("state");
    std::fs::create_dir(&state_dir).unwrap();
    let Some(_small) = Small::mount(&state_dir) else {
        eprintln!("skipped: mounting a small tmpfs needs root");
        return;
    };
    let setup =
        Setup { state_dir: disks::own(&state_dir), seed: 1, epoch_unix_ns: 0, elsewhere: None };
    let disk = |name: &str, size| disks::on_file(&directory.path().join(name), name, size);
    let mut tracker = Tracker::open(&setup, &disk("small", Bytes::MIB * 8)).unwrap();

    // Each of these first sector writes needs new cells in the sector table.
    let mut submit = |offset: u64, buffer: &mut [u8]| {
        let ticket = tracker.on_submit_write(Nanos(0), offset, buffer)?;
        tracker.on_write_done(ticket, Written::Acknowledged);
        Ok(())
    };
    let results: Vec<Result<(), StateError>> =
        (0..2048).map(|block| submit(block * 4096, &mut [0; 512])).collect();
    let admitted = results.iter().take_while(|result| result.is_ok()).count() as u64;
    assert!((1..2048).contains(&admitted), "{admitted}");
    assert!(results.iter().filter_map(|result| result.as_ref().err()).all(is_full));
    submit(0, &mut vec![0; 1 << 20]).unwrap();
    for block in 0..2048 {
        let ticket = tracker.on_submit_read(block * 4096, 512);
        let judged = tracker.on_read_done(ticket, &[0; 512]).is_err();
        assert_eq!(judged, block < admitted.max(256), "block {block}");
    }

    let error = Tracker::open(&setup, &disk("large", Bytes::GIB)).unwrap_err();
    assert!(is_full(&error), "{error}");
    assert!(!state_dir.join("large.verify.partial").exists());
}
