use std::path::Path;

use serde::Serialize;

use crate::array::{self, Array};
use crate::error::SpecError;
use crate::load::{read, read_tile, read_workload};
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
                at_home(&folder.join(&part.workload))?
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

/// A workload from a file, with its trace by its whole path: it is named relative to that file.
fn at_home(path: &Path) -> Result<Workload, SpecError> {
    let mut workload = read_workload(path)?;
    if let Some(replay) = &mut workload.replay {
        let trace = path.parent().unwrap_or(Path::new("")).join(&replay.trace);
        replay.trace = std::path::absolute(&trace).unwrap_or(trace).display().to_string();
    }
    Ok(workload)
}

/// The text of an array's file, with the file's name for messages: an array by shipped name,
/// or from a file whose path is relative to `base`.
pub fn array_text(name: &str, base: &Path) -> Result<(String, String), SpecError> {
    if shipped::is_path(name) {
        let path = base.join(name);
        return Ok((path.display().to_string(), read(&path, "array")?));
    }
    Ok((format!("arrays/{name}.toml"), shipped::array_file(name)?.text.to_owned()))
}

/// An array by shipped name, or from a file whose path is relative to `base`.
pub fn resolve_array(name: &str, base: &Path) -> Result<Array, SpecError> {
    resolve_array_with(name, base, &[])
}

/// The same with changes laid over it, one after the other (see [`array::with`]).
pub fn resolve_array_with(
    name: &str,
    base: &Path,
    overlays: &[toml::Table],
) -> Result<Array, SpecError> {
    let (file, text) = array_text(name, base)?;
    array::with_all(&file, &text, overlays)
}
