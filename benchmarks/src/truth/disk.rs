//! Recording of the I/O that reaches a disk.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use trace::store::{self, Columns};
use trace::{IoRecord, Operation, Source};

use super::RECORDED;
use super::place::{MountedStore, said};
use crate::bench::binary;

/// Kernel thread that writes inode tables of a new file system. Its I/O belongs to no application.
const FILE_SYSTEM_MAKER: &str = "ext4lazyinit";

/// I/O that reached the disk while it was recorded.
#[derive(Debug, Default)]
pub(super) struct Disk {
    reads: Sum,
    writes: Sum,
    flushes: Sum,
}

#[derive(Debug, Default)]
struct Sum {
    count: u64,
    bytes: u64,
}

impl Sum {
    fn per_s(&self) -> f64 {
        self.count as f64 / RECORDED.as_secs_f64()
    }

    fn kib(&self) -> f64 {
        self.bytes as f64 / 1024.0 / self.count.max(1) as f64
    }
}

impl Disk {
    /// Reads a recording.
    pub(super) fn of(trace: &Path) -> Result<Self> {
        let store = store::open(trace)?;
        let maker = store.info().vms.iter().position(|name| **name == *FILE_SYSTEM_MAKER);
        let mut source = store.source(Columns::ALL);
        let (mut batch, mut disk) = (Vec::<IoRecord>::new(), Self::default());
        loop {
            source.read(&mut batch)?;
            if batch.is_empty() {
                return Ok(disk);
            }
            for io in batch.iter().filter(|io| Some(io.vm.0 as usize) != maker) {
                let sum = match io.operation {
                    Operation::Read => &mut disk.reads,
                    Operation::Write => &mut disk.writes,
                    Operation::Flush => &mut disk.flushes,
                    _ => continue,
                };
                sum.count += 1;
                sum.bytes += u64::from(io.length);
            }
        }
    }

    /// Returns the cells of the table.
    pub(super) fn cells(&self) -> String {
        let Self { reads, writes, flushes } = self;
        let share = reads.count as f64 / (reads.count + writes.count).max(1) as f64;
        format!(
            "{:.0} | {:.0} | {:.0} | {:.0} % | {:.1} KiB | {:.1} KiB",
            reads.per_s(),
            writes.per_s(),
            flushes.per_s(),
            share * 100.0,
            reads.kib(),
            writes.kib()
        )
    }
}

/// Records the disk for [`RECORDED`].
pub(super) fn record(place: &MountedStore, trace: &Path) -> Result<()> {
    let seconds = RECORDED.as_secs().to_string() + "s";
    let mut command = Command::new(binary()?);
    command.args(["record", place.disk(), "--duration", &seconds, "--out"]).arg(trace);
    said(&mut command).map(drop)
}
