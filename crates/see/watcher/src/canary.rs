//! Issues a few small I/Os, one at a time, whose latency distinguishes slow storage from busy
//! storage.
//!
//! A thread reads 4 KiB and writes 4 KiB durably twelve times a minute, in a file that no other
//! process sees. It skips a turn while others wait for storage. So when VMs are slow, a slow canary
//! shows that the storage itself is slow, and a paused canary that the storage is busy. An I/O that
//! hangs delays only this thread.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bystanders::HostCounters;
use datastore::{AlignedBuffer, Directory, Options, Refusal, Target, device_behind, preflight};
use run_store::slice::{Direction, SizeClass};
use rustix::fs::OFlags;
use state_machine::mix;
use units::{Bytes, Nanos};
use watch::{Cell, Key, Latencies};

/// Initiator name of the canary's I/O.
const CANARY: &str = "canary";
/// Length of the file, in bytes. Our choice: little has to be written at the start. The cache of an
/// array may serve reads of the file.
const LENGTH: u64 = 16 << 20;
const BLOCK: usize = 4096;
const PIECE: usize = 64 << 10;
/// Pause between two pieces when the file is filled: at most 1.3 MB/s.
const PIECE_WAIT: Duration = Duration::from_millis(50);
/// Interval between turns: twelve per minute.
const EVERY: Duration = Duration::from_secs(5);
/// Share of the time in which processes of this host waited for I/O, and mean outstanding I/Os of
/// the disk, above which a turn is skipped. Our choice.
const PRESSURE_MAX: f64 = 0.1;
const OUTSTANDING_MAX: f64 = 8.0;

/// Reason why a directory cannot have a canary.
#[derive(Debug, thiserror::Error)]
pub enum CanaryError {
    /// The directory may not be used.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The directory is in memory, and the latency of memory says nothing about storage.
    #[error("{}: {reason}", path.display())]
    Memory {
        /// Path of the directory.
        path: PathBuf,
        /// Kind of the file system.
        reason: String,
    },
    /// The file cannot be created.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl CanaryError {
    /// Returns a hint, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::Memory { .. } => Some("name a directory on the storage of the VMs".to_owned()),
            Self::Io { .. } => None,
        }
    }
}

/// Measuring thread. It ends when this is dropped. The file vanishes with it, however the program
/// ends.
#[derive(Debug)]
pub(crate) struct Canary {
    name: Arc<str>,
    measured: Arc<Mutex<[Measured; 2]>>,
    is_over: Arc<AtomicBool>,
}

/// Completed reads, or writes, since the last call of [`Canary::take`].
#[derive(Debug, Default)]
struct Measured {
    latencies: Vec<Nanos>,
    errors: u64,
}

impl Canary {
    /// Creates the file and starts the thread.
    ///
    /// # Errors
    /// The directory is not writable, is in memory, is full, or does not support direct I/O.
    pub fn start(directory: &Path) -> Result<Self, CanaryError> {
        let io = |source| CanaryError::Io { path: directory.to_owned(), source };
        let file = make(directory)?;
        let disk = device_behind(directory).map_err(io)?.map(|disk| disk.name);
        let measured = Arc::<Mutex<[Measured; 2]>>::default();
        let is_over = Arc::<AtomicBool>::default();
        let shared = (Arc::clone(&measured), Arc::clone(&is_over));
        std::thread::Builder::new()
            .name(CANARY.to_owned())
            .spawn(move || measure(&file, disk.as_deref(), &shared.0, &shared.1))
            .map_err(io)?;
        Ok(Self { name: directory.display().to_string().into(), measured, is_over })
    }

    /// Returns the cells of the I/Os that completed since the last call.
    pub fn take(&self) -> Vec<(Key, Cell)> {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let of = [Direction::Read, Direction::Write].into_iter().zip(measured.iter_mut());
        let used = of.filter(|(_, measured)| !measured.latencies.is_empty() || measured.errors > 0);
        used.map(|(direction, measured)| (self.key(direction), std::mem::take(measured).cell()))
            .collect()
    }

    fn key(&self, direction: Direction) -> Key {
        let class = Some(SizeClass::of(4096));
        Key { vm: CANARY.into(), disk: Arc::clone(&self.name), direction, class, is_below: false }
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        // The thread is not waited for: its I/O may hang.
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Measured {
    fn cell(self) -> Cell {
        let count = self.latencies.len() as u64;
        let latency_ns = self.latencies.iter().map(|latency| latency.0).sum();
        let latencies: Latencies = self.latencies.into_iter().map(|latency| (latency, 1)).collect();
        let bytes = count * BLOCK as u64;
        Cell { count, errors: self.errors, bytes, latency_ns, latencies, ..Cell::default() }
    }
}

/// Creates the file and removes its name, so that nothing is left of it when the program is killed.
fn make(directory: &Path) -> Result<File, CanaryError> {
    let target = Target::new(&Directory, directory);
    let options = Options {
        write: true,
        allow_root_fs: true,
        run_id: format!("canary-{}", std::process::id()),
        ..Options::default()
    };
    let memory = |reason: &str| CanaryError::Memory {
        path: directory.to_owned(),
        reason: reason.to_owned(),
    };
    let found = preflight(&target, Bytes::new(LENGTH), &options);
    let found = found.map_err(|refusal| CanaryError::Refused(Box::new(refusal)))?;
    let kind = found.file_system.as_ref().map_or("", |own| own.fs_type.as_str());
    if ["tmpfs", "ramfs", "devtmpfs"].contains(&kind) {
        return Err(memory(&format!("{kind} is memory, not storage")));
    }
    if let Some(reason) = found.direct_refused() {
        return Err(memory(reason));
    }
    let path = Path::new(&found.resolved).join(format!(".tilemark-{}", options.run_id));
    let flags = i32::try_from(OFlags::DIRECT.bits()).expect("a flag of open");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .custom_flags(flags)
        .mode(0o600)
        .open(&path)
        .and_then(|file| fs::remove_file(&path).map(|()| file));
    file.map_err(|source| CanaryError::Io { path: directory.to_owned(), source })
}

/// Fills the file, and then reads and writes until `is_over`.
fn measure(file: &File, disk: Option<&str>, measured: &Mutex<[Measured; 2]>, is_over: &AtomicBool) {
    let mut random = u64::from(std::process::id());
    let mut next = || {
        random = mix(random);
        random
    };
    let mut piece = AlignedBuffer::new(PIECE);
    for offset in (0..LENGTH).step_by(PIECE) {
        piece.chunks_mut(8).for_each(|part| part.copy_from_slice(&next().to_le_bytes()));
        if file.write_all_at(&piece, offset).is_err() || is_over.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(PIECE_WAIT);
    }
    let mut block = AlignedBuffer::new(BLOCK);
    let mut before = HostCounters::read();
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(EVERY);
        let now = HostCounters::read();
        let is_busy = others_wait(&before, &now, disk);
        before = now;
        if is_busy {
            continue;
        }
        let mut offset = || (next() % (LENGTH / BLOCK as u64)) * BLOCK as u64;
        let at = offset();
        let read = timed(|| file.read_exact_at(&mut block, at));
        note(measured, 0, read);
        let at = offset();
        let written = timed(|| file.write_all_at(&block, at).and_then(|()| file.sync_data()));
        note(measured, 1, written);
    }
}

fn timed(io: impl FnOnce() -> io::Result<()>) -> io::Result<Nanos> {
    let begin = Instant::now();
    io()?;
    Ok(u64::try_from(begin.elapsed().as_nanos()).map_or(Nanos::MAX, Nanos))
}

fn note(measured: &Mutex<[Measured; 2]>, way: usize, ended: io::Result<Nanos>) {
    let measured = &mut measured.lock().unwrap_or_else(PoisonError::into_inner)[way];
    match ended {
        Ok(latency) => measured.latencies.push(latency),
        Err(_) => measured.errors += 1,
    }
}

/// Returns true if others waited for storage between two samples.
fn others_wait(before: &HostCounters, now: &HostCounters, disk: Option<&str>) -> bool {
    let seconds = now.at.saturating_sub(before.at).as_secs_f64().max(f64::MIN_POSITIVE);
    let per_second = |now: Nanos, before: Nanos| now.saturating_sub(before).as_secs_f64() / seconds;
    let pressure = now.io_pressure.zip(before.io_pressure);
    let pressure = pressure.map_or(0.0, |(now, before)| per_second(now, before));
    let queued =
        |own: &HostCounters| disk.and_then(|disk| own.disks.get(disk)).map(|own| own.queued);
    let outstanding = queued(now).zip(queued(before));
    let outstanding = outstanding.map_or(0.0, |(now, before)| per_second(now, before));
    pressure >= PRESSURE_MAX || outstanding >= OUTSTANDING_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use bystanders::DiskCounters;

    #[test]
    fn turn_is_left_out_while_others_wait() {
        let at = |seconds: u64, waited_ms: u64, queued_ms: u64| {
            let queued = Nanos::from_millis(queued_ms);
            let disk = DiskCounters { queued, ..DiskCounters::default() };
            HostCounters {
                at: Nanos::from_secs(seconds),
                io_pressure: Some(Nanos::from_millis(waited_ms)),
                disks: [("sda".to_owned(), disk)].into(),
                ..HostCounters::default()
            }
        };
        let waits = |now: &HostCounters, disk| others_wait(&at(10, 0, 0), now, disk);
        assert!(!waits(&at(15, 400, 30_000), Some("sda")), "8 % and six outstanding");
        assert!(waits(&at(15, 600, 0), None), "12 % of the time");
        assert!(waits(&at(15, 0, 45_000), Some("sda")), "nine outstanding");
        assert!(!waits(&at(15, 0, 45_000), Some("sdb")), "of another disk");
    }

    #[test]
    fn measured_ios_are_taken_once() {
        let canary =
            Canary { name: "/srv".into(), measured: Arc::default(), is_over: Arc::default() };
        assert!(canary.take().is_empty());
        note(&canary.measured, 0, Ok(Nanos::from_millis(2)));
        note(&canary.measured, 1, Ok(Nanos::from_millis(3)));
        note(&canary.measured, 1, Err(io::ErrorKind::Other.into()));
        let taken = canary.take();
        let facts: Vec<_> = taken
            .iter()
            .map(|(key, cell)| (key.direction, cell.count, cell.errors, cell.latency_ns))
            .collect();
        let expected = [(Direction::Read, 1, 0, 2_000_000), (Direction::Write, 1, 1, 3_000_000)];
        assert_eq!(facts, expected);
        assert!(canary.take().is_empty());
    }

    #[test]
    fn memory_has_no_canary_and_nothing_is_left_of_its_file() {
        let shm = Path::new("/dev/shm");
        if shm.is_dir() {
            assert!(matches!(make(shm), Err(CanaryError::Memory { .. })));
        }
        assert!(make(Path::new("/nowhere")).is_err());
        let dir = tempfile::tempdir().expect("a directory");
        match make(dir.path()) {
            Ok(_) => assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 0),
            Err(CanaryError::Memory { reason, .. }) => eprintln!("skipped: {reason}"),
            Err(error) => panic!("{error}"),
        }
    }
}
