use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use fuser::{BackgroundSession, Config, MountOption};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use sim::plant::{Plant, PlantPlan};
use spec::array::Array;
use tempfile::TempDir;
use units::Bytes;

use crate::error::LabError;
use crate::files::{Backing, Files};
use crate::fs::LabFs;
use crate::judge::Judge;
use crate::report::Report;
use crate::schedule::Schedule;
use crate::service::Service;
use crate::shared::Lab;
use crate::space::Space;
use crate::truth::Truth;

/// Minimum size of a lab: one slot.
const SIZE_MIN: Bytes = Bytes::new(64 << 20);
/// Maximum of [`default_size`]. Our choice: space for some hundred virtual machines of `--quick`.
const SIZE_DEFAULT: Bytes = Bytes::new(64 << 30);
/// Number of threads that take requests from the kernel. Our choice: a second one serves while the
/// first copies data.
const THREADS: usize = 2;

/// Options of a lab.
#[derive(Debug, Clone)]
pub struct Options {
    /// Array that is modelled.
    pub array: Array,
    /// Faults and their times.
    pub schedule: Schedule,
    /// Seed of the random numbers of the faults and of the model.
    pub seed: u64,
    /// Reported size of the file system, at least 64 MiB; [`default_size`] if absent.
    pub size: Option<Bytes>,
    /// Where the files' bytes are stored.
    pub backing: Backing,
    /// New file in which the faults are recorded.
    pub truth: Option<PathBuf>,
}

impl Options {
    /// Returns options without faults, in memory, with seed 1.
    pub const fn new(array: Array) -> Self {
        Self {
            array,
            schedule: Schedule { rules: Vec::new() },
            seed: 1,
            size: None,
            backing: Backing::Memory,
            truth: None,
        }
    }
}

/// Returns the default size of a lab: the smallest of 64 GiB, the array's size, and half of the
/// backing's space.
///
/// # Errors
///
/// If the backing cannot be used.
pub fn default_size(array: &Array, backing: &Backing) -> Result<Bytes, LabError> {
    let room = Files::new(backing)?.room()?;
    let half = Bytes::new(room.get() / 2);
    Ok(SIZE_DEFAULT.min(Plant::capacity(array, 1)).min(half).round_down(SIZE_MIN))
}

/// A mounted lab. Dropping it unmounts the file system, even if it is in use.
#[derive(Debug)]
pub struct Mounted {
    point: PathBuf,
    size: Bytes,
    lab: Arc<Lab>,
    session: Option<BackgroundSession>,
    sender: Option<JoinHandle<()>>,
    /// Temporary mount point, dropped last.
    _temporary: Option<TempDir>,
}

impl Mounted {
    /// Mounts a lab on an empty directory.
    ///
    /// # Errors
    ///
    /// If the directory does not exist, is not empty or is a mount point; the array cannot be
    /// simulated or is too small; the backing has too little space; the truth file exists; or FUSE
    /// is not allowed.
    pub fn new(point: &Path, options: &Options) -> Result<Self, LabError> {
        check_point(point)?;
        let files = Files::new(&options.backing)?;
        let space = Space::new(size(&files, options)?);
        let size = space.size();
        let is_one_tile = options.array.pools.iter().any(|pool| pool.per_tile);
        let instances = space.instances(is_one_tile);
        let plan = PlantPlan { array: &options.array, instances: &instances, seed: options.seed };
        let plant = Plant::new(&plan)
            .map_err(|source| LabError::Plant { array: options.array.name.clone(), source })?;
        let judge = Judge::new(&options.schedule, options.seed);
        let truth = Truth::new(options.truth.as_deref())?;
        let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let service = Service::new(plant);
        let lab = Arc::new(Lab::new(service, (files, space), (judge, truth), owner));
        let error = |source| LabError::Mount { path: point.to_owned(), source };
        let session =
            fuser::spawn_mount(LabFs(Arc::clone(&lab)), point, &config()).map_err(error)?;
        let own = Arc::clone(&lab);
        let sender = std::thread::Builder::new()
            .name(String::from("lab-sender"))
            .spawn(move || own.service.run())
            .map_err(LabError::Thread)?;
        Ok(Self {
            point: point.to_owned(),
            size,
            lab,
            session: Some(session),
            sender: Some(sender),
            _temporary: None,
        })
    }

    /// Mounts a lab on a new temporary directory, which is removed at the end.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], and if no directory can be created.
    pub fn temporary(options: &Options) -> Result<Self, LabError> {
        let dir = tempfile::Builder::new().prefix("tilemark-lab-").tempdir();
        let error = |source| LabError::Mount { path: std::env::temp_dir(), source };
        let dir = dir.map_err(error)?;
        let mut mounted = Self::new(dir.path(), options)?;
        mounted._temporary = Some(dir);
        Ok(mounted)
    }

    /// Returns the mount point.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Returns the size in whole slots, which may be slightly below the requested size.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Returns true while the file system is served; false after another program unmounted it.
    pub fn is_mounted(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.guard.is_finished())
    }

    /// Returns the report so far.
    pub fn report(&self) -> Report {
        Report {
            faults: self.lab.faults.load(Ordering::Relaxed),
            wrong_reads: self.lab.wrong_reads.load(Ordering::Relaxed),
            ..self.lab.service.report()
        }
    }

    /// Unmounts and returns the report, and true if the file system was still in use.
    ///
    /// All requests in flight are answered first, so that no program hangs. Open files fail with
    /// `ENOTCONN` after this process ends.
    ///
    /// # Errors
    ///
    /// If the file system cannot be unmounted.
    pub fn unmount(mut self) -> Result<(Report, bool), LabError> {
        let report = self.report();
        self.end().map(|was_busy| (report, was_busy))
    }

    fn end(&mut self) -> Result<bool, LabError> {
        let Some(session) = self.session.take() else { return Ok(false) };
        self.lab.service.close();
        if let Some(sender) = self.sender.take() {
            let _ = sender.join();
        }
        let was_busy = match unmount(&self.point, UnmountFlags::empty()) {
            Err(Errno::BUSY) => {
                unmount(&self.point, UnmountFlags::DETACH)
                    .map_err(|error| self.unmount_error(error.into()))?;
                true
            }
            // Another program has unmounted it, or only fusermount3 may: the end of the session
            // handles both.
            Ok(()) | Err(_) => false,
        };
        drop(session);
        if is_mount_point(&self.point).unwrap_or(false) {
            return Err(self.unmount_error(std::io::Error::from(Errno::BUSY)));
        }
        Ok(was_busy)
    }

    fn unmount_error(&self, source: std::io::Error) -> LabError {
        LabError::Unmount { path: self.point.clone(), source }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(String::from("tilemark-lab")),
        MountOption::Subtype(String::from("tilemark-lab")),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
    ];
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    config
}

/// Determines the size, and checks that it is possible.
fn size(files: &Files, options: &Options) -> Result<Bytes, LabError> {
    let asked = match options.size {
        Some(size) => size,
        None => default_size(&options.array, &options.backing)?,
    };
    let (room, capacity) = (files.room()?, Plant::capacity(&options.array, 1));
    let (most, reason) = if room < capacity {
        (room, "the backing has no more space")
    } else {
        (capacity, "the array has no more space")
    };
    if (SIZE_MIN..=most).contains(&asked) {
        return Ok(asked);
    }
    let reason = reason.to_owned();
    Err(LabError::Size { size: asked, least: SIZE_MIN, most, reason })
}

/// Returns true if a file system is mounted on the path: its device differs from the parent
/// directory's.
fn is_mount_point(path: &Path) -> std::io::Result<bool> {
    let own = std::fs::metadata(path)?;
    let above = std::fs::metadata(path.join(".."))?;
    Ok(own.dev() != above.dev() || own.ino() == above.ino())
}

/// Refuses a directory whose content the mount would hide.
fn check_point(path: &Path) -> Result<(), LabError> {
    let error = |reason: String| LabError::MountPoint { path: path.to_owned(), reason };
    let found = std::fs::symlink_metadata(path).map_err(|found| error(found.to_string()))?;
    if !found.is_dir() {
        return Err(error(String::from("it is not a directory")));
    }
    if is_mount_point(path).map_err(|found| error(found.to_string()))? {
        return Err(error(String::from("something is mounted there already")));
    }
    let mut names = std::fs::read_dir(path).map_err(|found| error(found.to_string()))?;
    match names.next() {
        None => Ok(()),
        Some(name) => {
            let name = name.map_or_else(
                |_| String::new(),
                |name| name.file_name().to_string_lossy().into_owned(),
            );
            Err(error(format!("it is not empty: it has \"{name}\"")))
        }
    }
}
