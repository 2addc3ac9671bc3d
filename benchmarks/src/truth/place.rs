//! Datastore on a lab: ext4 on a loop device on a file of the lab.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench::binary;

/// Size of the disk. Its bytes take memory only when they are written.
const SIZE: u64 = 21 << 30;

/// Mounted datastore. Dropping it unmounts everything.
pub(super) struct MountedStore {
    lab: Child,
    mounted: Instant,
    disk: String,
    /// Settings of the disk's queue that were changed, with their former values.
    queue: Vec<(PathBuf, String)>,
    directory: PathBuf,
}

impl MountedStore {
    pub(super) fn set_up(directory: &Path, schedule: &str) -> Result<Self> {
        let (lab, datastore) = (directory.join("lab"), directory.join("datastore"));
        for new in [directory, &lab, &datastore] {
            fs::create_dir(new).with_context(|| format!("making {}", new.display()))?;
        }
        let faults = directory.join("stairs.toml");
        fs::write(&faults, schedule)?;
        let mut command = Command::new(binary()?);
        command.args(["lab", "mount", "--array", "nvme-local", "--seed", "1", "--size", "22GiB"]);
        command.arg("--faults").arg(&faults).arg("--truth").arg(directory.join("faults.jsonl"));
        command.arg(&lab);
        let log = fs::File::create(directory.join("lab.log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("starting the lab")?;
        let mut place = Self {
            lab: child,
            mounted: Instant::now(),
            disk: String::new(),
            queue: Vec::new(),
            directory: directory.to_owned(),
        };
        while !is_mounted(&lab)? {
            ensure!(place.lab.try_wait()?.is_none(), "the lab ended; see lab.log");
            ensure!(place.age() < Duration::from_secs(10), "the lab did not mount");
            std::thread::sleep(Duration::from_millis(10));
        }
        place.mounted = Instant::now();
        let file = lab.join("disk");
        fs::File::create(&file)?.set_len(SIZE)?;
        let words = ["--find", "--show", "--direct-io=on"];
        place.disk = said(Command::new("losetup").args(words).arg(&file))?.trim().to_owned();
        place.queue_like_virtio()?;
        // Else the kernel writes inode tables and journal for minutes after the mount.
        let whole = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        said(Command::new("mkfs.ext4").args(["-q", "-E", whole, &place.disk]))?;
        said(Command::new("mount").arg(&place.disk).arg(&datastore))?;
        Ok(place)
    }

    pub(super) fn datastore(&self) -> PathBuf {
        self.directory.join("datastore")
    }

    /// Returns the device, such as `/dev/loop0`.
    pub(super) fn disk(&self) -> &str {
        &self.disk
    }

    /// Returns the time since the mount of the lab, which is the origin of the stairs' times.
    pub(super) fn age(&self) -> Duration {
        self.mounted.elapsed()
    }

    /// Gives the loop device the queue settings of a VM's virtio disk. A loop device on this lab counts
    /// as flash, whose reads the kernel wants answered within 2 ms: while they take longer, it lets
    /// one write of the page cache pass at a time (writeback throttling), and every server that
    /// syncs waits for it. QEMU's disks count as rotating, with 75 ms.
    fn queue_like_virtio(&mut self) -> Result<()> {
        let name = Path::new(&self.disk).file_name().context("the name of the device")?;
        let queue = Path::new("/sys/block").join(name).join("queue");
        for (setting, value) in [("rotational", "1"), ("wbt_lat_usec", "75000")] {
            let path = queue.join(setting);
            let failed = || format!("setting {}", path.display());
            let former = fs::read_to_string(&path).with_context(failed)?;
            fs::write(&path, value).with_context(failed)?;
            self.queue.push((path, former));
        }
        Ok(())
    }

    /// Unmounts everything.
    pub(super) fn tear_down(mut self) -> Result<()> {
        self.undo()
    }

    fn undo(&mut self) -> Result<()> {
        let datastore = self.datastore();
        if is_mounted(&datastore)? {
            said(Command::new("umount").arg(&datastore))?;
        }
        // The settings would stay with the device for its next user.
        for (path, former) in self.queue.drain(..).rev() {
            fs::write(&path, former).with_context(|| format!("setting {}", path.display()))?;
        }
        if !self.disk.is_empty() {
            said(Command::new("losetup").args(["--detach", &self.disk]))?;
            self.disk.clear();
        }
        if self.lab.try_wait()?.is_none() {
            said(Command::new("kill").args(["-INT", &self.lab.id().to_string()]))?;
            self.lab.wait()?;
        }
        Ok(())
    }
}

impl Drop for MountedStore {
    fn drop(&mut self) {
        if let Err(error) = self.undo() {
            eprintln!("what was mounted in {} is left: {error:#}", self.directory.display());
        }
    }
}

fn is_mounted(directory: &Path) -> Result<bool> {
    let path = fs::canonicalize(directory)?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let path = path.to_str().context("a path in UTF-8")?;
    Ok(mounts.lines().any(|line| line.split(' ').nth(1) == Some(path)))
}

/// Runs a command that must succeed and returns its stdout.
pub(super) fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(output.status.success(), "{command:?} ended with {}: {words}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
