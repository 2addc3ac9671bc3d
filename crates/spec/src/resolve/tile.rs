use std::path::Path;

use crate::error::SpecError;
use crate::load::{read_tile, read_workload};
use crate::shipped;
use crate::tile::ResolvedTile;
use crate::workload::Workload;

/// A tile by shipped name, or from a file whose path is relative to `base` (the plan's
/// directory); workloads with a path are looked for beside the tile's file.
pub fn resolve_tile(name: &str, base: &Path) -> Result<ResolvedTile, SpecError> {
    if !shipped::is_path(name) {
        return super::shipped::tile(name);
    }
    let path = base.join(name);
    let tile = read_tile(&path)?;
    let folder = path.parent().unwrap_or(base);
    let workloads = tile
        .workloads
        .iter()
        .map(|part| {
            let workload = if shipped::is_path(&part.workload) {
                at_home(&folder.join(&part.workload))?
            } else {
                super::shipped::workload(&part.workload)?
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

/// A workload from a file, with its trace by its whole path: it is named relative to that file.
fn at_home(path: &Path) -> Result<Workload, SpecError> {
    let mut workload = read_workload(path)?;
    if let Some(replay) = &mut workload.replay {
        let trace = path.parent().unwrap_or(Path::new("")).join(&replay.trace);
        replay.trace = std::path::absolute(&trace).unwrap_or(trace).display().to_string();
    }
    Ok(workload)
}
