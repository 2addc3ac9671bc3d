use indexmap::IndexMap;
use run_store::run::Run;
use spec::array::{Array, Disk, Pool, Raid};
use units::Bytes;

use super::model::{Kind, Memory};
use super::{blank, controller, room};

/// Hard disks that may have answered like the storage: those that the simulator knows. A disk serves
/// more I/Os a second the more of them wait for it, because it takes the nearest first, which no
/// fixed service time says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drives {
    /// Shipped disk.
    pub like: &'static str,
    /// Number of disks, if the RAID level takes that many; else the next that it takes.
    pub count: f64,
    /// Combination of the disks.
    pub raid: Raid,
    /// Memory in front of the disks, if there is any.
    pub memory: Option<Memory>,
}

/// Shipped disks, with the I/Os per second that one serves if they come one by one, from their data
/// sheets: the average seek and half a turn.
pub const LIKE: [(&str, f64); 3] = [("hdd-7200", 82.0), ("hdd-10k", 143.0), ("hdd-15k", 185.0)];
/// Name of the disk in the array.
pub const DRIVE: &str = "drive";
/// Most disks that are tried.
const COUNT_MAX: f64 = 1000.0;

impl Drives {
    /// Kind of the model.
    pub fn kind(&self) -> Kind {
        match self.memory {
            None => Kind::Drives,
            Some(memory) if memory.reads > 0.0 => Kind::DrivesMemory,
            Some(_) => Kind::DrivesWriteMemory,
        }
    }

    /// Disks at a position of the search: logarithms of factors of their number and, if it has a
    /// second axis, of the size of their memory.
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

    /// Array of these disks; `None` if they are more than are tried.
    pub fn array(&self, run: &Run) -> Option<Array> {
        let count = whole(self.raid, self.count)?;
        let like = self.like.to_owned();
        let disk = Disk::Hdd { like, capacity: None, queue: None, rates: None };
        let pool = Pool {
            name: "storage".to_owned(),
            disk: DRIVE.to_owned(),
            count,
            raid: self.raid,
            sets: 1,
            element: Bytes::new(64 << 10),
            per_tile: false,
            tiered: true,
        };
        let mut array = Array {
            controller: self.memory.map(controller),
            pools: vec![pool],
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
