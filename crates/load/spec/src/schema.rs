use schemars::schema_for;

use crate::array::Array;
use crate::plan::Plan;
use crate::study::Study;
use crate::tile::Tile;
use crate::workload::Workload;

/// Kind of a definition file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Settings of a run.
    Plan,
    /// Workloads that run together.
    Tile,
    /// Virtual machines with users.
    Workload,
    /// Model of a storage.
    Array,
    /// Comparison of configurations.
    Study,
}

impl Kind {
    /// All kinds of files.
    pub const ALL: [Self; 5] = [Self::Plan, Self::Tile, Self::Workload, Self::Array, Self::Study];

    /// Returns the name of the kind on the command line and in file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Tile => "tile",
            Self::Workload => "workload",
            Self::Array => "array",
            Self::Study => "study",
        }
    }
}

/// Returns the JSON Schema (draft 2020-12) of a kind of file, generated from the types that parse
/// it.
pub fn schema(kind: Kind) -> serde_json::Value {
    match kind {
        Kind::Plan => schema_for!(Plan),
        Kind::Tile => schema_for!(Tile),
        Kind::Workload => schema_for!(Workload),
        Kind::Array => schema_for!(Array),
        Kind::Study => schema_for!(Study),
    }
    .to_value()
}
