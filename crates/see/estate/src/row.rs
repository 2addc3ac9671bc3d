//! Facts about a VM from one row, and from several rows together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::place::RowLocation;
use crate::vm::{Load, Vm};

/// Reason why a VM, or a disk, is not part of the load.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// Template for new VMs.
    Template,
    /// VM that is not running.
    Off,
    /// Placeholder for another site's VM.
    Placeholder,
    /// VM of the platform itself (vCLS).
    Platform,
}

impl LeftOut {
    /// Returns the plural for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Template => "templates",
            Self::Off => "not running",
            Self::Placeholder => "placeholders of another site",
            Self::Platform => "VMs of the platform itself",
        }
    }
}

/// One row about one VM.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub at: RowLocation,
    pub name: String,
    /// UUID or another globally unique id; empty if there is none.
    pub id: String,
    /// Number on the VM's platform, which another cluster may also use; empty if there is none.
    pub number: String,
    /// True if the row lists a VM; otherwise it adds facts to a listed VM.
    pub lists: bool,
    pub facts: Facts,
}

/// Facts from a row. Over several rows of one VM, sizes and loads are added; of other facts the
/// first one is used.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Facts {
    pub os: String,
    pub vcpus: Option<u32>,
    pub provisioned: Option<Bytes>,
    pub used: Option<Bytes>,
    /// Size of the first disk, for a list that has no other size.
    pub first_disk: Option<Bytes>,
    /// Sum over disks or partitions, which have a row each.
    pub disk: Option<Bytes>,
    pub consumed: Option<Bytes>,
    /// Size of disks that belong to another array (raw device mappings).
    pub raw: Option<Bytes>,
    pub class: Option<String>,
    pub out: Option<LeftOut>,
    /// True if a list shows the VM as running.
    pub is_on: bool,
    pub load: Load,
}

impl Facts {
    /// Adds another row of the same VM.
    pub fn add(&mut self, other: Self) {
        let sum = |own: &mut Option<Bytes>, other: Option<Bytes>| {
            if let Some(more) = other {
                let sum = own.map_or(0, Bytes::get).saturating_add(more.get());
                *own = Some(Bytes::new(sum));
            }
        };
        if self.os.is_empty() {
            self.os = other.os;
        }
        self.vcpus = self.vcpus.or(other.vcpus);
        self.provisioned = self.provisioned.or(other.provisioned);
        self.used = self.used.or(other.used);
        self.first_disk = self.first_disk.or(other.first_disk);
        sum(&mut self.disk, other.disk);
        sum(&mut self.consumed, other.consumed);
        sum(&mut self.raw, other.raw);
        self.class = self.class.take().or(other.class);
        self.out = self.out.or(other.out);
        self.is_on |= other.is_on;
        self.load.add(&other.load);
    }

    /// Returns true if the sizes of two lists can belong to one VM. The used size may not exceed
    /// the provisioned size, and the first disk may not exceed all disks. Provisioned sizes may
    /// differ by swapped memory, which VMware includes.
    pub fn agrees(&self, other: &Self) -> bool {
        let size = |facts: &Self| facts.provisioned.or(facts.disk).map(Bytes::as_f64);
        let least = |facts: &Self| {
            let parts = [facts.used, facts.consumed, facts.first_disk];
            parts.into_iter().flatten().map(Bytes::as_f64).fold(0.0, f64::max)
        };
        let fits = |least: f64, whole: Option<f64>| whole.is_none_or(|whole| least <= whole * 1.1);
        let is_near = match (size(self), size(other)) {
            (Some(own), Some(other)) => own <= other * 2.0 && other <= own * 2.0,
            _ => true,
        };
        is_near && fits(least(self), size(other)) && fits(least(other), size(self))
    }

    /// Returns true if any size is known.
    pub fn has_size(&self) -> bool {
        let sizes = [self.provisioned, self.used, self.first_disk, self.disk, self.consumed];
        sizes.iter().any(Option::is_some)
    }

    /// Returns true if a row has nothing but the VM's name.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Makes a VM from the facts of all its rows.
    pub fn into_vm(self, name: String, id: String) -> Vm {
        let raw = self.raw.unwrap_or(Bytes::ZERO);
        // Totals of a VM include its raw disks; disks and partitions are listed one by one.
        let own = |size: Option<Bytes>| size.map(|size| size.saturating_sub(raw));
        let whole = own(self.provisioned).or(self.disk);
        Vm {
            name,
            id,
            os: self.os,
            vcpus: self.vcpus,
            provisioned: whole.or(self.first_disk),
            is_first_disk: whole.is_none() && self.first_disk.is_some(),
            used: self.consumed.or_else(|| own(self.used)),
            class: self.class,
            load: self.load,
        }
    }
}
