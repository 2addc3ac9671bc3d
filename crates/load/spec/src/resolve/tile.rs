use std::path::Path;

use crate::error::SpecError;
use crate::load::{read_tile, read_workload};
use crate::shipped;
use crate::steps::disk_asked;
use crate::tile::ResolvedTile;
use crate::workload::Workload;

/// Resolves a tile by shipped name, or from a file with a path relative to `base` (the plan's
/// directory). Paths of workloads are relative to the tile's file.
pub fn resolve_tile(name: &str, base: &Path) -> Result<ResolvedTile, SpecError> {
    if !shipped::is_path(name) {
        return super::shipped::tile(name);
    }
    from_file(&base.join(name), base)
}

/// Adds a group of infrastructure operations to a tile, given by shipped name or by path as in
/// [`resolve_tile`].
///
/// # Errors
///
/// [`SpecError::Operations`] if tile and group do not fit together.
pub fn with_operations(
    tile: ResolvedTile,
    name: &str,
    base: &Path,
) -> Result<ResolvedTile, SpecError> {
    let group = match shipped::is_path(name) {
        true => from_file(&base.join(name), base)?,
        false => super::shipped::group(name)?,
    };
    beside(tile, name, group)
}

/// Adds a group of infrastructure operations to a tile.
pub(super) fn beside(
    mut tile: ResolvedTile,
    name: &str,
    group: ResolvedTile,
) -> Result<ResolvedTile, SpecError> {
    let refused = |problem: String| {
        Err(SpecError::Operations { group: name.to_owned(), tile: tile.tile.name.clone(), problem })
    };
    for (operation, _) in &group.workloads {
        if tile.workloads.iter().any(|(own, _)| own.name == operation.name) {
            return refused(format!("both have a workload \"{}\"", operation.name));
        }
        if operation.replay.is_some() {
            return refused(format!("\"{}\" plays a trace", operation.name));
        }
    }
    let steps = group.workloads.iter().flat_map(|(own, _)| &own.actions).flat_map(|own| &own.steps);
    let disks = tile.workloads.iter().flat_map(|(own, _)| &own.vms).flat_map(|vm| &vm.disks);
    let mut moved: Vec<Option<&str>> = Vec::new();
    for step in steps {
        let Some(disk) = disk_asked(step) else { continue };
        let is_there = match disk {
            Some(name) => disks.clone().any(|own| own.name == name),
            None => disks.clone().next().is_some(),
        };
        if !is_there {
            let what = disk.map_or_else(|| "a disk".to_owned(), |name| format!("disk \"{name}\""));
            return refused(format!("it moves {what}, which the tile does not have"));
        }
        if moved.first().is_some_and(|first| *first != disk) {
            let why = "it moves, or takes snapshots of, more than one disk of a tile";
            return refused(why.to_owned());
        }
        moved.push(disk);
    }
    tile.operations = group.workloads;
    Ok(tile)
}

fn from_file(path: &Path, base: &Path) -> Result<ResolvedTile, SpecError> {
    let tile = read_tile(path)?;
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
    Ok(ResolvedTile::new(tile, workloads))
}

/// Reads a workload from a file. Makes the path of its trace, which is relative to that file,
/// absolute.
fn at_home(path: &Path) -> Result<Workload, SpecError> {
    let mut workload = read_workload(path)?;
    if let Some(replay) = &mut workload.replay {
        let trace = path.parent().unwrap_or(Path::new("")).join(&replay.trace);
        replay.trace = std::path::absolute(&trace).unwrap_or(trace).display().to_string();
    }
    Ok(workload)
}
