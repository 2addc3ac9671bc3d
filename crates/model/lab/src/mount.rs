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

/// Smallest lab: one slot.
const SIZE_MIN: Bytes = Bytes::new(64 << 20);
/// What [`default_size`] is at most. Our choice: room for some hundred virtual machines of `--quick`.
const SIZE_DEFAULT: Bytes = Bytes::new(64 << 30);
/// Threads that take requests from the kernel. Our choice: a second one while the first copies.
const THREADS: usize = 2;

/// What a lab is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whose service times.
    pub array: Array,
    /// What goes wrong.
    pub schedule: Schedule,
    /// Of the faults and of the model.
    pub seed: u64,
    /// What the file system says it holds, at least 64 MiB; [`default_size`] if absent.
    pub size: Option<Bytes>,
    /// Where the bytes are.
    pub backing: Backing,
    /// A file to be made, in which faults are written down.
    pub truth: Option<PathBuf>,
}

impl Options {
    /// An array without faults, in memory, seed 1.
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

/// The size of a lab if none is asked for: 64 GiB, or as much as the array holds, or half of what
/// the backing has room for, whichever is least.
///
/// # Errors
///
/// When the backing cannot be used.
pub fn default_size(array: &Array, backing: &Backing) -> Result<Bytes, LabError> {
    let room = Files::new(backing)?.room()?;
    let half = Bytes::new(room.get() / 2);
    Ok(SIZE_DEFAULT.min(Plant::capacity(array, 1)).min(half).round_down(SIZE_MIN))
}

/// A mounted lab. Dropping it unmounts, whoever still uses it.
#[derive(Debug)]
pub struct Mounted {
    point: PathBuf,
    size: Bytes,
    lab: Arc<Lab>,
    session: Option<BackgroundSession>,
    sender: Option<JoinHandle<()>>,
    /// Removed last.
    _temporary: Option<TempDir>,
}

impl Mounted {
    /// Mounts on an empty directory.
    ///
    /// # Errors
    ///
    /// When the directory is not there, not empty or a mount point; the array cannot be played or
    /// does not hold the size; the backing has no room; the truth exists; FUSE is not allowed.
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

    /// Mounts on a new directory in the system's place for temporary ones; it is removed at the end.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], and when no directory can be made.
    pub fn temporary(options: &Options) -> Result<Self, LabError> {
        let dir = tempfile::Builder::new().prefix("tilemark-lab-").tempdir();
        let error = |source| LabError::Mount { path: std::env::temp_dir(), source };
        let dir = dir.map_err(error)?;
        let mut mounted = Self::new(dir.path(), options)?;
        mounted._temporary = Some(dir);
        Ok(mounted)
    }

    /// Where it is mounted.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// What it holds: whole slots, so perhaps a little less than was asked for.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Whether it is still served; not when somebody else has unmounted it.
    pub fn is_mounted(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.guard.is_finished())
    }

    /// What happened so far.
    pub fn report(&self) -> Report {
        Report {
            faults: self.lab.faults.load(Ordering::Relaxed),
            wrong_reads: self.lab.wrong_reads.load(Ordering::Relaxed),
            ..self.lab.service.report()
        }
    }

    /// Unmounts and says what happened; whether somebody still used it.
    ///
    /// Whatever is under way is answered first, so that nobody hangs. If files are open it is taken
    /// away from under them: they fail with `ENOTCONN` once this process ends.
    ///
    /// # Errors
    ///
    /// When it cannot be taken away.
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
            // Somebody else has unmounted it, or only fusermount3 may: the session's end sees to it.
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

/// The size, if it is possible.
fn size(files: &Files, options: &Options) -> Result<Bytes, LabError> {
    let asked = match options.size {
        Some(size) => size,
        None => default_size(&options.array, &options.backing)?,
    };
    let (room, capacity) = (files.room()?, Plant::capacity(&options.array, 1));
    let (most, reason) = if room < capacity {
        (room, "the backing has no room for more")
    } else {
        (capacity, "the array holds no more")
    };
    if (SIZE_MIN..=most).contains(&asked) {
        return Ok(asked);
    }
    let reason = reason.to_owned();
    Err(LabError::Size { size: asked, least: SIZE_MIN, most, reason })
}

/// Whether something is mounted there: it lies on another file system than the directory above.
fn is_mount_point(path: &Path) -> std::io::Result<bool> {
    let own = std::fs::metadata(path)?;
    let above = std::fs::metadata(path.join(".."))?;
    Ok(own.dev() != above.dev() || own.ino() == above.ino())
}

/// Nothing may be hidden by the mount.
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
