//! Reads shipped definitions.

use crate::array::Array;
use crate::error::SpecError;
use crate::load::{load_array, load_tile, load_workload};
use crate::shipped::{self, MICRO, Shipped, not_shipped, workload_names};
use crate::tile::{ResolvedTile, Tile, TileWorkload};
use crate::workload::Workload;

/// Reads a shipped workload by name.
pub fn workload(name: &str) -> Result<Workload, SpecError> {
    let file = shipped::workloads().iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| not_shipped("workload", name, workload_names()))?;
    load_workload(&format!("tiles/workloads/{name}.toml"), file.text)
}

/// Reads a shipped tile by name, with its workloads. `micro/NAME` is a tile that only contains that
/// workload.
pub fn tile(name: &str) -> Result<ResolvedTile, SpecError> {
    if name.starts_with(MICRO) && workload_names().any(|known| known == name) {
        return Ok(alone(name, workload(name)?));
    }
    let file = shipped::tiles().iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| not_shipped("tile", name, shipped::tile_names()))?;
    read(&format!("tiles/{name}.toml"), file)
}

/// Reads a shipped group of infrastructure operations by name, with its workloads.
pub fn group(name: &str) -> Result<ResolvedTile, SpecError> {
    let file = shipped::groups().iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| not_shipped("operation group", name, shipped::group_names()))?;
    read(&format!("tiles/operations/{name}.toml"), file)
}

fn read(path: &str, file: &Shipped) -> Result<ResolvedTile, SpecError> {
    let tile = load_tile(path, file.text)?;
    let workloads = tile
        .workloads
        .iter()
        .map(|part| Ok((workload(&part.workload)?, part.count)))
        .collect::<Result<_, SpecError>>()?;
    Ok(ResolvedTile::new(tile, workloads))
}

/// Reads a shipped array by name.
pub fn array(name: &str) -> Result<Array, SpecError> {
    let file = shipped::array_file(name)?;
    load_array(&format!("arrays/{name}.toml"), file.text)
}

/// Creates a tile that only contains one shipped workload.
fn alone(name: &str, workload: Workload) -> ResolvedTile {
    let tile = Tile {
        name: name.to_owned(),
        title: workload.title.clone(),
        source: workload.source.clone(),
        estate: None,
        workloads: vec![TileWorkload { workload: name.to_owned(), count: 1 }],
    };
    ResolvedTile::new(tile, vec![(workload, 1)])
}
