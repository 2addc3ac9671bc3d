//! A storage protocol through which the disks of a run are reached.
//!
//! What it does: serves the disks of a load, which are files of the first datastore, through a
//! protocol, and gives the engine access to them through the initiator. Server and initiator are
//! started with each load and end with it. Disks are filled without the protocol.
//!
//! What it refuses: disks that are parts of a file or device, because the programs serve whole
//! files.
//!
//! Invariants: a load whose server exited or hung never counts as measured. The error names the
//! program.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use datastore::VirtualDisk;
use engine::{EngineInstance, Served, ServerAddress};
use over::{Answered, Checked, OverError, Protocol, Reached, ServedFile, Session};
use run_store::gauge::{Gauge, GaugeName, Readings};
use run_store::slice::Slice;
use rustix::fs::OFlags;
use units::{Bytes, Nanos};
use workload::InstanceMachine;

use crate::error::BenchError;
use crate::rig::through::path_of;

/// A protocol whose programs have been checked.
#[derive(Debug)]
pub struct Over {
    protocol: &'static dyn Protocol,
    checked: Checked,
    run_id: String,
}

impl Over {
    /// Creates the protocol for the run with this identifier.
    pub fn new(protocol: &'static dyn Protocol, checked: Checked, run_id: String) -> Self {
        Self { protocol, checked, run_id }
    }

    /// Serves these disks until the load ends. `slice` is the length of the load's slices.
    ///
    /// # Errors
    ///
    /// A disk is not a whole file, or server or initiator cannot be started.
    pub fn serve<'a>(
        &self,
        disks: impl Iterator<Item = &'a VirtualDisk>,
        slice: Nanos,
    ) -> Result<OverLoad, BenchError> {
        let disks: Vec<&VirtualDisk> = disks.collect();
        let files: Vec<ServedFile> =
            disks.iter().map(|disk| served(disk)).collect::<Result<_, _>>()?;
        let session = Session::set_up(self.protocol, &self.checked, &self.run_id, &files)?;
        let way = match session.reached() {
            Reached::Nbd { server, exports, namespace } => DiskAccess::Connection(Served {
                server: match namespace {
                    Some(namespace) => ServerAddress::TcpIn(namespace.clone(), *server),
                    None => ServerAddress::Tcp(*server),
                },
                exports: exports.clone(),
            }),
            Reached::Files(paths) => {
                let sector = self.protocol.facts().sector;
                let opened = disks.iter().zip(paths);
                let opened = opened.map(|(disk, path)| reached(disk, path, sector));
                DiskAccess::Files(opened.collect::<Result<_, _>>()?)
            }
        };
        let silence_max = Duration::from_nanos(slice.0.saturating_mul(4));
        let cpu = session.cpu_times();
        Ok(OverLoad { session, way, silence_max, cpu, trouble: None })
    }
}

fn served(disk: &VirtualDisk) -> Result<ServedFile, BenchError> {
    let VirtualDisk { base, ref name, direct, .. } = *disk;
    let is_whole = disk.file.metadata().is_ok_and(|found| found.is_file() && base == 0);
    if !is_whole {
        return Err(BenchError::OverParts { disk: name.clone() });
    }
    Ok(ServedFile { disk: name.clone(), path: path_of(disk)?, direct })
}

/// Opens a disk at the path where the initiator provides it, with sectors of at most `sector` bytes.
fn reached(
    disk: &VirtualDisk,
    path: &PathBuf,
    sector: u32,
) -> Result<(String, VirtualDisk), BenchError> {
    let flags = if disk.direct { OFlags::DIRECT } else { OFlags::empty() };
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).write(disk.writable).custom_flags(flags).open(path);
    let file = file.map_err(|source| OverError::Io {
        attempt: "open",
        object: path.display().to_string(),
        source,
    })?;
    let alignment = disk.alignment.max(sector);
    Ok((disk.name.clone(), VirtualDisk { file: Arc::new(file), alignment, ..disk.clone() }))
}

/// Aligns each instance to its disks. Returns the largest alignment in bytes.
pub fn align_to_disks(load: &mut [EngineInstance<InstanceMachine>]) -> u32 {
    let aligned = load.iter_mut().map(|own| {
        let unit = own.disks.iter().map(|disk| disk.alignment).max().unwrap_or(512);
        own.machine.align_to(Bytes::new(u64::from(unit)));
        unit
    });
    aligned.fold(512, u32::max)
}

/// Access of a load to its disks.
#[derive(Debug)]
enum DiskAccess {
    Connection(Served),
    /// Disks by name, opened at the initiator.
    Files(BTreeMap<String, VirtualDisk>),
}

/// Served disks during a load.
#[derive(Debug)]
pub struct OverLoad {
    session: Session,
    way: DiskAccess,
    /// Maximum time without completions: several slices, because the load reports only at the end
    /// of a slice.
    silence_max: Duration,
    /// CPU time of server and initiator at the last reading, where they are processes.
    cpu: [Option<Duration>; 2],
    /// Error of a program that exited or hung.
    trouble: Option<Arc<OverError>>,
}

impl OverLoad {
    /// Returns the connection data for the engine, if the engine itself connects to the disks.
    pub fn connection(&self) -> Option<Served> {
        match &self.way {
            DiskAccess::Connection(served) => Some(served.clone()),
            DiskAccess::Files(_) => None,
        }
    }

    /// Replaces a disk by the same disk at the initiator.
    pub fn replace(&self, disk: &mut VirtualDisk) {
        if let DiskAccess::Files(files) = &self.way
            && let Some(reached) = files.get(&disk.name)
        {
            *disk = reached.clone();
        }
    }

    /// Checks that the programs run, and that I/Os completed in the last slice. `slice` is `None`
    /// before the first slice.
    pub fn check(&mut self, slice: Option<&Slice>) {
        if self.trouble.is_some() {
            return;
        }
        // Only finished I/O has rows. Without a slice the workers may be blocked in the kernel, by
        // a FUSE file whose requests are not answered.
        let is_fine = |own: &Slice| !own.io.is_empty() || own.generator.in_flight == 0;
        let answered =
            if slice.is_some_and(is_fine) { Answered::Fine } else { Answered::NothingOfOpen };
        // Checked first: a session that hangs is ended by the kill of its initiator, which would
        // then be named in place of the program that hangs.
        let checked = self.session.check();
        let noted = checked.and_then(|()| self.session.note(answered, self.silence_max));
        self.trouble = noted.err().map(Arc::new);
    }

    /// Returns the CPU time of server and initiator since the last call, where they are processes.
    pub fn readings(&mut self) -> Readings {
        let now = self.session.cpu_times();
        let before = std::mem::replace(&mut self.cpu, now);
        let names = [GaugeName::OverServerCpu, GaugeName::OverInitiatorCpu];
        let gauges = names.into_iter().zip(now.into_iter().zip(before));
        let gauges = gauges.filter_map(|(name, (now, before))| {
            Some(Gauge::of_host(name, now?.saturating_sub(before?).as_secs_f64()))
        });
        Readings { gauges: gauges.collect(), ..Readings::default() }
    }

    /// Returns the error of the programs so far, which is the cause of failed I/Os.
    pub fn trouble(&self) -> Option<Arc<OverError>> {
        self.trouble.clone()
    }

    /// Stops the programs in order. The files at the initiator are closed first.
    ///
    /// # Errors
    ///
    /// A program had exited before.
    pub fn end(self) -> Result<(), OverError> {
        let Self { session, way, trouble, .. } = self;
        drop(way);
        let ended = session.end();
        if trouble.is_some() { Ok(()) } else { ended }
    }
}
