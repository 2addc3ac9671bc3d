//! A tile: workloads that run together as one unit of load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Ratio};

use crate::workload::Workload;

/// Definition of one unit of data-centre load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tile {
    /// Short name, for commands and results.
    pub name: String,
    /// Title in lists, one line.
    pub title: String,
    /// Source of the composition, or the reason for our choice.
    pub source: String,
    /// Existing virtual machines that the tile represents a part of. Answers are also stated in
    /// numbers of these machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estate: Option<Estate>,
    /// Workloads that run together.
    #[serde(rename = "workload")]
    pub workloads: Vec<TileWorkload>,
}

/// Set of existing virtual machines, as described by `tilemark estate import`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Estate {
    /// Number of virtual machines.
    pub vms: u32,
    /// Number of tiles that is equivalent to all of the virtual machines, above 0.
    pub tiles: f64,
    /// Total size of their data.
    pub capacity: Bytes,
    /// Share of the virtual machines with measured load. The load of the others is assumed.
    pub measured: Ratio,
}

/// Workload of a tile, and its number of copies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TileWorkload {
    /// Name of a shipped workload, or a path to a workload file relative to the tile's file.
    #[serde(rename = "use")]
    pub workload: String,
    /// Number of copies (default 1).
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

/// A tile with its workloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResolvedTile {
    /// Tile as written in its file.
    pub tile: Tile,
    /// Workloads of the tile, in the tile's order, with the number of copies of each.
    pub workloads: Vec<(Workload, u32)>,
    /// Infrastructure operations beside the tiles, with the number of copies of each. They run once
    /// for all tiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<(Workload, u32)>,
}

impl ResolvedTile {
    /// Creates a tile with its workloads and without operations.
    pub const fn new(tile: Tile, workloads: Vec<(Workload, u32)>) -> Self {
        Self { tile, workloads, operations: Vec::new() }
    }

    /// Returns everything that runs, with the number of copies: the workloads of the tile, then the
    /// operations. Positions of workloads refer to this list.
    pub fn all(&self) -> impl Iterator<Item = &(Workload, u32)> {
        self.workloads.iter().chain(&self.operations)
    }

    /// Returns the workload or operation at a position of [`ResolvedTile::all`], with the number of
    /// copies.
    ///
    /// # Panics
    ///
    /// The position is beyond the end.
    pub fn at(&self, position: usize) -> &(Workload, u32) {
        let beyond = position.checked_sub(self.workloads.len());
        beyond.map_or_else(|| &self.workloads[position], |beyond| &self.operations[beyond])
    }

    /// Returns the number of virtual machines of one tile.
    pub fn vms(&self) -> u64 {
        self.workloads
            .iter()
            .map(|(workload, count)| {
                u64::from(*count) * u64::try_from(workload.vms.len()).unwrap_or(u64::MAX)
            })
            .sum()
    }
}
