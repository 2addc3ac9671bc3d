use indexmap::IndexMap;
use run_store::run::Run;
use spec::array::{Array, Disk, Raid};
use units::Bytes;

use super::model::{Kind, Memory};
use super::{blank, controller, pool, room};

/// Hypothesis that the storage consists of hard disks of a kind that the simulator has. A hard disk
/// serves the nearest waiting request first, so its throughput rises with its queue. Servers with a
/// fixed service time cannot represent this.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drives {
    /// Shipped disk.
    pub like: &'static str,
    /// Number of disks before rounding to one that the RAID level can use.
    pub count: f64,
    /// Combination of the disks.
    pub raid: Raid,
    /// Memory in front of the disks, if there is any.
    pub memory: Option<Memory>,
}

/// Shipped disks, each with its I/Os per second at queue depth 1. This is the inverse of the
/// average seek time plus half a revolution, both from the data sheet (`hardware::HddPreset`).
pub const LIKE: [(&str, f64); 3] = [("hdd-7200", 82.0), ("hdd-10k", 143.0), ("hdd-15k", 185.0)];
/// Name of the disk in the array.
pub const DRIVE: &str = "drive";
/// Maximum number of disks that is tried; our choice.
const COUNT_MAX: f64 = 1000.0;

impl Drives {
    /// Returns the kind of the model.
    pub fn kind(&self) -> Kind {
        match self.memory {
            None => Kind::Drives,
            Some(memory) if memory.reads > 0.0 => Kind::DrivesMemory,
            Some(_) => Kind::DrivesWriteMemory,
        }
    }

    /// Returns the disks at a position of the search. The first axis is the logarithm of a factor
    /// of their number, the second (if there is one) of the size of their memory.
    pub fn at(&self, place: &[f64]) -> Self {
        let factor = |axis: usize| place.get(axis).copied().unwrap_or_default().exp();
        let size = factor(1).powi(2);
        let sized = |memory: Memory| Memory {
            reads: memory.reads * size,
            writes: memory.writes * size,
            ..memory
        };
        Self { count: self.count * factor(0), memory: self.memory.map(sized), ..*self }
    }

    /// Makes an array of these disks; `None` if there are more than [`COUNT_MAX`].
    pub fn array(&self, run: &Run) -> Option<Array> {
        let count = whole(self.raid, self.count)?;
        let like = self.like.to_owned();
        let disk = Disk::Hdd {
            like,
            capacity: None,
            queue: None,
            order: None,
            age_max: None,
            rates: None,
        };
        let mut array = Array {
            controller: self.memory.map(controller),
            pools: vec![pool(DRIVE, count, self.raid)],
            disks: IndexMap::from([(DRIVE.to_owned(), disk)]),
            ..blank(run)
        };
        // How large a storage is says little of its disks. They are as large as their data sheet
        // says, or larger if the data of the run would have no room.
        let needed = room(run).div_ceil(u64::from(self.raid.data_disks(count)).max(1));
        if array.disk_capacity(DRIVE)?.get() < needed
            && let Some(Disk::Hdd { capacity, .. }) = array.disks.get_mut(DRIVE)
        {
            *capacity = Some(Bytes::new(needed));
        }
        Some(array)
    }
}

/// Returns the number of disks nearest to `asked` that the RAID level can use; `None` outside the
/// range that is tried.
pub fn whole(raid: Raid, asked: f64) -> Option<u32> {
    let (least, step) = match raid {
        Raid::Raid0 => (1.0, 1.0),
        Raid::Raid1 | Raid::Raid10 => (2.0, 2.0),
        Raid::Raid5 => (3.0, 1.0),
        Raid::Raid6 => (4.0, 1.0),
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1000")]
    let count = ((asked / step).round() * step).max(least) as u32;
    (f64::from(count) <= COUNT_MAX).then_some(count)
}
