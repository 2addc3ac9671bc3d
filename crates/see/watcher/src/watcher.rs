use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use capture::{
    By, Capture, CaptureError, Disk, Options, Order, SenderFilter, disks_below, disks_of,
    raise_priority,
};
use trace::{IoRecord, TraceInfo};
use units::{Bytes, Nanos};
use watch::{Fold, LEVELS, SetRow, Sets, Sightings, Slice};

use crate::canary::{Canary, CanaryError};
use crate::identity::identity;
use crate::probes::Probes;
use crate::qemu::QemuDisks;

/// Longest wait between two readings of the kernel's buffers; the shortest is below. A disk that
/// was idle may begin with 250,000 I/Os per second and CPU, which fill 2 MiB in the longest wait. So
/// the kernel ends a wait when a buffer is half full.
const WAIT_MAX: Duration = Duration::from_millis(100);
const WAIT_MIN: Duration = Duration::from_millis(20);
/// Number of I/Os that a MiB of buffer holds (`docs/record.md`).
const IOS_PER_MIB: u64 = 12_000;
/// Inverse of the share of a buffer that may fill during a wait, so that a rate that doubles twice
/// still fits.
const FILL: u64 = 4;
/// Number of initiator names after which the capture is restarted. A capture keeps every name:
/// processes of a year would fill its table, and VMs that start later would have no name.
const NAMES_MAX: usize = 20_000;

/// Directory in which the kernel lists disks.
const SYS_BLOCK: &str = "/sys/block";

/// Disks and initiators that a watcher records, and its buffers.
#[derive(Debug, Clone)]
pub struct WatcherOptions {
    /// Block devices, or files and directories on them; every disk if none is named.
    pub targets: Vec<PathBuf>,
    /// Kernel buffer of each CPU.
    pub buffer: Bytes,
    /// Property that distinguishes initiators that are not virtual machines.
    pub by: By,
    /// URI of the libvirt whose VMs are asked for their counters; none are asked without it.
    pub libvirt: Option<String>,
}

/// Watches the block I/O of this host and returns it slice by slice. It never blocks the watched
/// I/O: events that find the buffer full are lost and counted.
#[derive(Debug)]
pub struct Watcher {
    options: WatcherOptions,
    capture: Capture,
    disks: Vec<Disk>,
    fold: Fold,
    sets: Sets,
    /// Working sets of ended hours that were not taken yet.
    ended_sets: Vec<SetRow>,
    /// Names of initiators and devices so far.
    info: TraceInfo,
    probes: Probes,
    qemu: QemuDisks,
    /// Disks that only QEMU reports, with their identities.
    vm_disks: Vec<(String, Option<String>)>,
    canary: Option<Canary>,
    /// Begin of the open slice, in seconds since 1970.
    start_s: u64,
    /// Begin of the open slice on the monotonic clock.
    began: Instant,
    /// Number of events lost before the open slice.
    lost: u64,
    wait: Duration,
    records: Vec<IoRecord>,
}

impl Watcher {
    /// Starts to watch. The calling thread gets a higher priority where allowed.
    ///
    /// # Errors
    /// If a target is not on a disk, or the kernel's events cannot be read.
    pub fn start(options: WatcherOptions) -> Result<Self, CaptureError> {
        let disks = disks_of(&options.targets)?;
        raise_priority();
        let capture = begin(&options, &disks)?;
        let mut probes = Probes::default();
        probes.sample(&[], &mut Slice::default());
        Ok(Self {
            info: capture.info(),
            capture,
            disks,
            fold: Fold::default(),
            sets: Sets::new(now_s()),
            ended_sets: Vec::new(),
            probes,
            qemu: QemuDisks::start(options.libvirt.clone()),
            vm_disks: Vec::new(),
            canary: None,
            start_s: LEVELS[0].slice_of(now_s()),
            began: Instant::now(),
            lost: 0,
            wait: WAIT_MIN,
            records: Vec::new(),
            options,
        })
    }

    /// Starts a canary in a directory.
    ///
    /// # Errors
    /// The directory is not writable, is in memory, is full, or does not support direct I/O.
    pub fn start_canary(&mut self, directory: &Path) -> Result<(), CanaryError> {
        self.canary = Some(Canary::start(directory)?);
        Ok(())
    }

    /// Continues with the working sets that an earlier watcher saved, if they were saved recently.
    pub fn take_up(&mut self, saved: &[u8]) {
        if let Some(sets) = Sets::restore(saved, now_s()) {
            self.sets = sets;
        }
    }

    /// Returns the state of the working sets, for the next watcher.
    pub fn saved_sets(&self) -> Vec<u8> {
        self.sets.save()
    }

    /// Returns the names of the watched disks.
    pub fn disks(&self) -> impl Iterator<Item = &str> {
        self.disks.iter().map(|disk| disk.name.as_str())
    }

    /// Returns the names of the watched disks that other watched disks are made of. I/O that passes
    /// both is stored for both, and counts for its initiator at the upper disk.
    pub fn disks_below(&self) -> Vec<&str> {
        disks_below(&self.disks)
    }

    /// Waits a moment, then reads new events. If a slice ended meanwhile, returns it.
    ///
    /// # Errors
    /// If the kernel's pages become unreadable.
    pub fn turn(&mut self) -> Result<Option<Slice>, CaptureError> {
        let since = Instant::now();
        self.capture.wait(WAIT_MIN, self.wait);
        self.read(since.elapsed())?;
        let now_s = LEVELS[0].slice_of(now_s());
        // A clock that steps, in whichever direction, ends the slice.
        if now_s == self.start_s {
            return Ok(None);
        }
        // Disks come and go, and so do partitions.
        let disks = disks_of(&self.options.targets).unwrap_or_else(|_| self.disks.clone());
        let is_on = self.capture.is_on();
        if is_on && disks == self.disks && self.capture.info().vms.len() <= NAMES_MAX {
            return self.close(now_s).map(Some);
        }
        self.drain()?;
        let mut slice = self.close(now_s)?;
        if !is_on {
            // Nobody knows how many: a slice with lost events is told as that, and judged by no rule.
            slice.lost = slice.lost.max(1);
        }
        self.capture = begin(&self.options, &disks)?;
        self.info = self.capture.info();
        self.sets.renumber();
        (self.disks, self.lost) = (disks, 0);
        Ok(Some(slice))
    }

    /// Returns the working sets of the hours that ended since the previous call.
    pub fn take_sets(&mut self) -> Vec<SetRow> {
        std::mem::take(&mut self.ended_sets)
    }

    /// Returns the running VMs and the watched disks, with the identities by which other hosts' VMs
    /// and disks are matched.
    pub fn sightings(&self) -> Sightings {
        let disks =
            self.disks().map(|name| (name.to_owned(), identity(Path::new(SYS_BLOCK), name)));
        let (disks, vm_disks) = (disks.collect(), self.vm_disks.clone());
        Sightings { vms: self.probes.vms(), disks, vm_disks }
    }

    /// Ends the open slice and the open hour early, when watching ends.
    ///
    /// # Errors
    /// As [`Watcher::turn`].
    pub fn finish(&mut self) -> Result<(Slice, Vec<SetRow>), CaptureError> {
        self.drain()?;
        let slice = self.close(self.start_s)?;
        let mut sets = self.take_sets();
        sets.extend(self.sets.rows());
        Ok((slice, sets))
    }

    fn read(&mut self, waited: Duration) -> Result<(), CaptureError> {
        self.records.clear();
        self.capture.step(&mut self.records)?;
        self.add_records();
        self.wait = wait(self.records.len() as u64, waited, self.options.buffer);
        Ok(())
    }

    /// Reads the remaining events of the capture, before it ends or is replaced.
    fn drain(&mut self) -> Result<(), CaptureError> {
        self.records.clear();
        self.capture.drain(&mut self.records)?;
        self.add_records();
        Ok(())
    }

    fn add_records(&mut self) {
        if let Some(info) = self.capture.info_if_more_than(self.info.vms.len()) {
            self.info = info;
        }
        self.fold.add(&self.records);
        self.sets.add(&self.records, &self.info);
    }

    /// Ends the open slice; the next one begins at `next_s`.
    fn close(&mut self, next_s: u64) -> Result<Slice, CaptureError> {
        let now = Instant::now();
        let watched = u64::try_from((now - self.began).as_nanos()).map_or(Nanos::MAX, Nanos);
        let info = self.capture.info();
        let mut slice = self.fold.close(self.start_s, LEVELS[0].width_s, watched, &info);
        let lost = info.losses.dropped;
        slice.lost = lost.saturating_sub(self.lost);
        self.lost = lost;
        let names: Vec<String> = self.disks().map(str::to_owned).collect();
        self.probes.sample(&names, &mut slice);
        let canary = self.canary.as_ref().map(Canary::take);
        let found = self.qemu.take().map(|found| {
            self.vm_disks = found.disks;
            found.cells
        });
        let found = found.into_iter().flatten();
        for (key, cell) in found.chain(canary.into_iter().flatten()) {
            slice.io.entry(key).or_default().merge(&cell);
        }
        (self.start_s, self.began) = (next_s, now);
        self.ended_sets.extend(self.sets.pass(next_s));
        Ok(slice)
    }
}

fn begin(options: &WatcherOptions, disks: &[Disk]) -> Result<Capture, CaptureError> {
    Capture::start(Options {
        disks: disks.to_vec(),
        buffer: options.buffer,
        by: options.by,
        wanted: SenderFilter::default(),
        order: Order::End,
    })
}

/// Returns the next wait, after this many I/Os came in the last one. All of them may have come from
/// one CPU.
fn wait(ios: u64, last: Duration, buffer: Bytes) -> Duration {
    let room = (buffer.get() * IOS_PER_MIB) >> 20;
    let per_wait = room / FILL;
    let next = last.mul_f64(per_wait.max(1) as f64 / ios.max(1) as f64);
    next.clamp(WAIT_MIN, WAIT_MAX)
}

/// Returns the seconds since 1970; a time before 1970 is 0.
fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_short_where_the_buffer_fills() {
        let buffer = Bytes::new(2 << 20);
        assert_eq!(wait(0, WAIT_MIN, buffer), WAIT_MAX);
        assert_eq!(wait(1_000, WAIT_MAX, buffer), WAIT_MAX, "10,000 a second");
        assert_eq!(wait(40_000, WAIT_MAX, buffer), WAIT_MIN, "400,000 a second");
        let at = wait(12_000, WAIT_MAX, buffer);
        assert!(at > WAIT_MIN && at < WAIT_MAX, "{at:?}");
    }
}
