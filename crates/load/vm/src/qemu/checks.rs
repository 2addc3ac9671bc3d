//! Checks of a virtual machine, and of KVM.

use std::io::IoSliceMut;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use datastore::VirtualDisk;

use super::machine::{Base, Begin};
use super::{Accelerator, Limits, Vm};
use crate::VmError;
use crate::guest::{self, Digest, GuestCheck, PAGE, Work};

/// Path of KVM's device.
pub(super) const KVM: &str = "/dev/kvm";
/// Maximum time for a guest to send its first output under KVM. A host with working KVM starts a
/// guest in one or two seconds.
const KVM_WITHIN: Duration = Duration::from_secs(8);
/// Number of pages per read.
const BATCH: usize = 256;

/// Facts about a virtual machine, recorded before an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Digest of the first three quarters of its disk, which its guest never writes.
    pub disk: u64,
    /// True if its disk is raw, so that this process can also read its content.
    pub is_plain: bool,
    /// Sequence number of the guest's latest heartbeat.
    pub beat: u64,
    pub pages: u64,
    pub blocks: u64,
    looks: u64,
}

impl Known {
    pub const fn new(disk: u64, is_plain: bool) -> Self {
        Self { disk, is_plain, beat: 0, pages: 0, blocks: 0, looks: 0 }
    }
}

#[derive(Clone)]
#[repr(align(4096))]
struct Page([u8; PAGE]);

/// Reads a disk from offset `from` to offset `to`, page by page.
fn read_pages(
    disk: &VirtualDisk,
    (from, to): (u64, u64),
    each: &mut dyn FnMut(u64, &[u8]),
) -> Result<(), VmError> {
    let failed = |source| VmError::Disk { disk: disk.name.clone(), source };
    let mut pages = vec![Page([0; PAGE]); BATCH];
    let mut at = from;
    while at < to {
        let count = usize::try_from((to - at) / PAGE as u64).unwrap_or(BATCH).min(BATCH);
        let mut slices: Vec<IoSliceMut<'_>> =
            pages[..count].iter_mut().map(|page| IoSliceMut::new(&mut page.0)).collect();
        let got = rustix::io::preadv(&*disk.file, &mut slices, disk.base + at);
        let got = got.map_err(|error| failed(error.into()))? / PAGE;
        if got == 0 {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        }
        for page in &pages[..got] {
            each(at, &page.0);
            at += PAGE as u64;
        }
    }
    Ok(())
}

/// Computes the digest of the first three quarters of a disk. It starts with the guest's seed, like
/// the guest's own digest.
pub(super) fn first_quarters(disk: &VirtualDisk, seed: u64) -> Result<u64, VmError> {
    let (stamped_from, _) = guest::stamped(disk.size.get());
    let mut digest = Digest::new(seed);
    read_pages(disk, (0, stamped_from), &mut |_, page| digest.bytes(page))?;
    Ok(digest.get())
}

impl Vm {
    /// Checks the virtual machine: its heartbeats continue, no rewritten page is lost, and memory
    /// and disk have the digests that this process computes or reads itself. Describes the
    /// comparison in words.
    pub fn check(
        &mut self,
        limits: &Limits,
        go_on: &dyn Fn() -> Result<(), VmError>,
    ) -> Result<String, VmError> {
        go_on()?;
        let beat = self.machine.beat_after(self.known.beat, limits.beat, go_on)?;
        self.known.looks += 1;
        let id = self.known.looks;
        let told = self.machine.console()?.ask(id);
        told.map_err(|_| self.machine.no_sign("answer", Duration::ZERO))?;
        let until = Instant::now() + limits.check;
        let seen = loop {
            if let Some(seen) = self.machine.console()?.seen(id) {
                break seen;
            }
            self.machine.alive()?;
            go_on()?;
            if Instant::now() >= until {
                return Err(self.machine.no_sign("look at everything", limits.check));
            }
        };
        let compared = self.compare(&seen).map(|words| format!("beat {}, {words}", beat.number));
        // The guest is paused, so its disk has not changed since its check.
        let _ = self.machine.console()?.go();
        let what = compared?;
        let damage = |what| VmError::Damaged { machine: self.machine.name.clone(), what };
        if beat.pages < self.known.pages || beat.blocks < self.known.blocks {
            return Err(damage("its counters went backwards".to_owned()));
        }
        self.machine.beat_after(beat.number, limits.beat, go_on)?;
        (self.known.beat, self.known.pages, self.known.blocks) =
            (beat.number, seen.pages, seen.blocks);
        Ok(what)
    }

    fn compare(&self, seen: &GuestCheck) -> Result<String, VmError> {
        let damage = |what: String| VmError::Damaged { machine: self.machine.name.clone(), what };
        let work = &self.work;
        if seen.lost_pages + seen.lost_blocks + seen.errors > 0 {
            return Err(damage(format!(
                "{} pages and {} blocks have wrong content, {} I/Os of its disk failed",
                seen.lost_pages, seen.lost_blocks, seen.errors
            )));
        }
        let pairs = [
            ("the unchanged memory", seen.still, guest::still(work)),
            ("the rewritten memory", seen.dirty, guest::dirty(work, seen.pages)),
            ("the unchanged disk", seen.disk, self.known.disk),
        ];
        for (what, has, wanted) in pairs {
            if has != wanted {
                return Err(damage(format!("{what} has digest {has:016x}, not {wanted:016x}")));
            }
        }
        let mut words = format!(
            "{} pages and {} blocks rewritten, memory {:016x} and {:016x}, disk {:016x}",
            seen.pages, seen.blocks, seen.still, seen.dirty, seen.disk
        );
        if self.known.is_plain {
            self.compare_range(seen).map_err(|error| match error {
                VmError::Damaged { what, .. } => damage(what),
                other => other,
            })?;
            words += " (read again by the host)";
        }
        Ok(words)
    }

    /// Checks that the content of the disk is the content that the guest reported.
    fn compare_range(&self, seen: &GuestCheck) -> Result<(), VmError> {
        let Work { seed, .. } = self.work;
        let size = self.disk.size.get();
        let (stamped_from, count) = guest::stamped(size);
        let mut digest = Digest::new(seed);
        let mut wrong = 0_u64;
        read_pages(&self.disk, (stamped_from, size), &mut |at, page| {
            digest.bytes(page);
            let index = (at - stamped_from) / PAGE as u64;
            wrong += u64::from(!guest::holds(seed, page, (index, count), seen.blocks));
        })?;
        let first = first_quarters(&self.disk, seed)?;
        if (wrong, digest.get(), first) == (0, seen.stamped, seen.disk) {
            return Ok(());
        }
        let what = format!(
            "{} differs from the content that the guest saw: {wrong} stamped blocks differ, \
             digests {first:016x} and {:016x}, not {:016x} and {:016x}",
            self.disk.name,
            digest.get(),
            seen.disk,
            seen.stamped
        );
        Err(VmError::Damaged { machine: self.machine.name.clone(), what })
    }
}

/// Returns KVM if a guest sends output under it. A `/dev/kvm` that can be opened is not sufficient.
/// The result is determined once and cached.
pub(super) fn accelerator(base: &mut Base) -> Accelerator {
    static FOUND: OnceLock<Accelerator> = OnceLock::new();
    *FOUND.get_or_init(|| probe(base))
}

fn probe(base: &mut Base) -> Accelerator {
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(KVM);
    if opened.is_err() {
        return Accelerator::Emulation;
    }
    base.accelerator = Accelerator::Kvm;
    let until = Instant::now() + KVM_WITHIN;
    let Ok(machine) = base.start("probe", &Work::default(), None, Begin::Boot) else {
        return Accelerator::Emulation;
    };
    // The guest has no disk and complains, which proves that it runs.
    while Instant::now() < until && machine.alive().is_ok() {
        if machine.console().is_ok_and(super::console::Console::spoke) {
            return Accelerator::Kvm;
        }
    }
    Accelerator::Emulation
}
