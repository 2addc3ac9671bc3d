//! A tile: the workloads that run together as one unit of load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Ratio};

use crate::workload::Workload;

/// One unit of data-centre load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tile {
    /// Short name.
    pub name: String,
    /// One line a person reads in lists.
    pub title: String,
    /// Where the composition comes from, or that it is our choice and why.
    pub source: String,
    /// The virtual machines that somebody has, of which a tile is a part; answers are told in them, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estate: Option<Estate>,
    /// What runs together.
    #[serde(rename = "workload")]
    pub workloads: Vec<TileWorkload>,
}

/// An estate of virtual machines, as `tilemark estate import` says it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Estate {
    /// Its virtual machines.
    pub vms: u32,
    /// So many tiles are all of it; above 0.
    pub tiles: f64,
    /// What they hold.
    pub capacity: Bytes,
    /// The share of them whose load was measured; of the others it is assumed.
    pub measured: Ratio,
}

/// A workload's place in a tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TileWorkload {
    /// A shipped workload's name, or a path to a workload file relative to the tile's file.
    #[serde(rename = "use")]
    pub workload: String,
    /// How many of it (default 1).
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

/// A tile with its workloads read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResolvedTile {
    /// The tile as written.
    pub tile: Tile,
    /// Each workload of the tile, in the tile's order, with how many of it there are.
    pub workloads: Vec<(Workload, u32)>,
    /// Infrastructure operations that run beside the tiles, once however many those are; each
    /// with how many of it there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<(Workload, u32)>,
}

impl ResolvedTile {
    /// A tile with its workloads, beside which no operations run.
    pub const fn new(tile: Tile, workloads: Vec<(Workload, u32)>) -> Self {
        Self { tile, workloads, operations: Vec::new() }
    }

    /// All that runs, with how many of it there are: workloads of a tile, then operations. A
    /// position of a workload is a position in this list.
    pub fn all(&self) -> impl Iterator<Item = &(Workload, u32)> {
        self.workloads.iter().chain(&self.operations)
    }

    /// The workload or operation at a position of [`ResolvedTile::all`], and how many there are.
    ///
    /// # Panics
    ///
    /// Where there is none.
    pub fn at(&self, position: usize) -> &(Workload, u32) {
        let beyond = position.checked_sub(self.workloads.len());
        beyond.map_or_else(|| &self.workloads[position], |beyond| &self.operations[beyond])
    }

    /// Virtual machines of one tile.
    pub fn vms(&self) -> u64 {
        self.workloads
            .iter()
            .map(|(workload, count)| {
                u64::from(*count) * u64::try_from(workload.vms.len()).unwrap_or(u64::MAX)
            })
            .sum()
    }
}
