use hardware::{Array, ClassParameters, ClassQueue, PartId, Raid, RaidLevel, RaidParameters};
use spec::array::{self, Pool};
use units::Bytes;

use super::disks::DiskModel;
use super::plan::PlantError;

/// Disks combined into one address space: sets of a RAID level, with stripes over the sets.
#[derive(Debug, Clone)]
pub struct Sets {
    pub disk: DiskModel,
    pub count: u32,
    pub level: RaidLevel,
    pub sets: u32,
    pub element: Bytes,
    /// Bounds of background I/O at each disk.
    pub classes: Option<ClassParameters>,
}

impl Sets {
    pub fn of_pool(array: &array::Array, pool: &Pool) -> Result<Self, PlantError> {
        Ok(Self {
            disk: DiskModel::find(array, &pool.disk)?,
            count: pool.count,
            level: level(pool.raid),
            sets: pool.sets,
            element: pool.element,
            classes: classes_of(array),
        })
    }

    /// Returns the capacity: whole elements of every disk, without copies and parity.
    pub fn capacity(&self) -> Bytes {
        let disk = self.disk.capacity();
        if self.element == Bytes::ZERO {
            return Bytes::ZERO;
        }
        let elements = disk.round_down(self.element).get();
        Bytes::new(elements * u64::from(self.data_disks()) * u64::from(self.sets))
    }

    /// Returns the number of disks in a set whose bytes hold data.
    fn data_disks(&self) -> u32 {
        match self.level {
            RaidLevel::Raid0 => self.count,
            RaidLevel::Raid1 => 1,
            RaidLevel::Raid10 => self.count / 2,
            RaidLevel::Raid5 => self.count.saturating_sub(1),
            RaidLevel::Raid6 => self.count.saturating_sub(2),
        }
    }

    /// Adds the disks and their RAID sets. Returns the top part and the disks.
    pub fn add(
        &self,
        parts: &mut Array,
        of: &str,
        (seed, first): (u64, u64),
    ) -> Result<(PartId, Vec<PartId>), PlantError> {
        let (mut disks, mut tops) = (Vec::new(), Vec::new());
        for set in 0..u64::from(self.sets) {
            let count = u64::from(self.count);
            let members =
                (0..count).map(|disk| self.disk.add(parts, of, (seed, first + set * count + disk)));
            let mut members = members.collect::<Result<Vec<_>, _>>()?;
            disks.extend_from_slice(&members);
            for member in &mut members {
                *member = in_classes(parts, of, self.classes, *member)?;
            }
            tops.push(combine(parts, of, (self.level, self.element), members)?);
        }
        // Sets are striped by whole stripes, so that a large write fills stripes of one set.
        let stripe = Bytes::new(self.element.get() * u64::from(self.data_disks()));
        Ok((combine(parts, of, (RaidLevel::Raid0, stripe), tops)?, disks))
    }
}

/// Returns the bounds of background I/O at the disks of an array, if its file states any.
pub fn classes_of(array: &array::Array) -> Option<ClassParameters> {
    let array::Background { least, most, slow } = *array.background.as_ref()?;
    Some(ClassParameters { least, most, slow })
}

/// Adds a queue by class in front of a disk if there are bounds. Returns the part in front.
pub fn in_classes(
    parts: &mut Array,
    of: &str,
    classes: Option<ClassParameters>,
    disk: PartId,
) -> Result<PartId, PlantError> {
    let Some(classes) = classes else { return Ok(disk) };
    let queue = ClassQueue::new(classes, disk).map_err(PlantError::parameter(of))?;
    Ok(parts.add(queue))
}

pub fn combine(
    parts: &mut Array,
    of: &str,
    (level, element): (RaidLevel, Bytes),
    members: Vec<PartId>,
) -> Result<PartId, PlantError> {
    if let ([only], RaidLevel::Raid0) = (&members[..], level) {
        return Ok(*only);
    }
    let raid = Raid::new(RaidParameters { level, element }, members);
    Ok(parts.add(raid.map_err(PlantError::parameter(of))?))
}

pub const fn level(raid: array::Raid) -> RaidLevel {
    match raid {
        array::Raid::Raid0 => RaidLevel::Raid0,
        array::Raid::Raid1 => RaidLevel::Raid1,
        array::Raid::Raid10 => RaidLevel::Raid10,
        array::Raid::Raid5 => RaidLevel::Raid5,
        array::Raid::Raid6 => RaidLevel::Raid6,
    }
}
