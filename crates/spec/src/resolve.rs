use std::path::Path;

use serde::Serialize;

use crate::array::Array;
use crate::error::SpecError;
use crate::load::{read_array, read_tile, read_workload};
use crate::shipped;
use crate::tile::Tile;
use crate::workload::Workload;

/// A tile with its workloads read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResolvedTile {
    /// The tile as written.
    pub tile: Tile,
    /// Each workload of the tile, in the tile's order, with how many of it there are.
    pub workloads: Vec<(Workload, u32)>,
}

impl ResolvedTile {
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

/// A tile by shipped name, or from a file whose path is relative to `base` (the plan's
/// directory); workloads with a path are looked for beside the tile's file.
pub fn resolve_tile(name: &str, base: &Path) -> Result<ResolvedTile, SpecError> {
    if !shipped::is_path(name) {
        return shipped::tile(name);
    }
    let path = base.join(name);
    let tile = read_tile(&path)?;
    let folder = path.parent().unwrap_or(base);
    let workloads = tile
        .workloads
        .iter()
        .map(|part| {
            let workload = if shipped::is_path(&part.workload) {
                read_workload(&folder.join(&part.workload))?
            } else {
                shipped::workload(&part.workload)?
            };
            Ok((workload, part.count))
        })
        .collect::<Result<Vec<_>, SpecError>>()?;
    for (i, (workload, _)) in workloads.iter().enumerate() {
        if workloads[..i].iter().any(|(before, _)| before.name == workload.name) {
            return Err(SpecError::SameName { tile: tile.name, name: workload.name.clone() });
        }
    }
    Ok(ResolvedTile { tile, workloads })
}

/// An array by shipped name, or from a file whose path is relative to `base`.
pub fn resolve_array(name: &str, base: &Path) -> Result<Array, SpecError> {
    if shipped::is_path(name) { read_array(&base.join(name)) } else { shipped::array(name) }
}
