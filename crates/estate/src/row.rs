//! What one row of a file says of one machine, and what several say together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::place::Place;
use crate::vm::{Load, Vm};

/// Why a machine, or a disk, is not part of the load.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// A template.
    Template,
    /// Not running.
    Off,
    /// A placeholder of another site's machine.
    Placeholder,
    /// A machine that the platform keeps for itself (vCLS).
    Platform,
}

impl LeftOut {
    /// In words, of several.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Template => "templates",
            Self::Off => "not running",
            Self::Placeholder => "placeholders of another site",
            Self::Platform => "machines of the platform itself",
        }
    }
}

/// What one row says of one machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub at: Place,
    pub name: String,
    /// Empty where there is none.
    pub id: String,
    /// Whether it lists a machine; otherwise it adds to one.
    pub lists: bool,
    pub facts: Facts,
}

/// The facts of a row. Sizes and loads of several rows of one machine add up, of others the first holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Facts {
    pub os: String,
    pub vcpus: Option<u32>,
    pub provisioned: Option<Bytes>,
    pub used: Option<Bytes>,
    /// Of disks or partitions, a row each.
    pub disk: Option<Bytes>,
    pub consumed: Option<Bytes>,
    /// Of disks that are another array's (raw device mappings).
    pub raw: Option<Bytes>,
    pub class: Option<String>,
    pub out: Option<LeftOut>,
    pub load: Load,
}

impl Facts {
    /// What another row of the same machine says.
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
        sum(&mut self.disk, other.disk);
        sum(&mut self.consumed, other.consumed);
        sum(&mut self.raw, other.raw);
        self.class = self.class.take().or(other.class);
        self.out = self.out.or(other.out);
        self.load.add(&other.load);
    }

    /// The machine that all its rows together tell of.
    pub fn into_vm(self, name: String, id: String) -> Vm {
        let raw = self.raw.unwrap_or(Bytes::ZERO);
        // Totals of a machine contain its raw disks; disks and partitions are told one by one.
        let own = |size: Option<Bytes>| size.map(|size| size.saturating_sub(raw));
        Vm {
            name,
            id,
            os: self.os,
            vcpus: self.vcpus,
            provisioned: own(self.provisioned).or(self.disk),
            used: self.consumed.or_else(|| own(self.used)),
            class: self.class,
            load: self.load,
        }
    }
}
