use std::collections::BTreeMap;

use stats::geometric_mean;

/// Weight of the application workloads in the total; the rest is the weight of infrastructure
/// operations. Source: the published explanation of the tile benchmark's score (Dell Info Hub,
/// "Workload performance results"; `workloads` section 1.1).
pub const APPLICATIONS_WEIGHT: f64 = 0.8;
/// Weight of infrastructure operations in the total, see [`APPLICATIONS_WEIGHT`].
pub const INFRASTRUCTURE_WEIGHT: f64 = 0.2;

/// Normalised work of one scored workload of one tile, where 1 is one tile's worth; or of one kind
/// of infrastructure operation, where 1 is its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TileWork {
    /// Tile, counted from 0; `None` for infrastructure operations.
    pub tile: Option<u32>,
    /// Metric divided by its reference.
    pub normalised: f64,
}

/// Returns the geometric mean of each tile over its scored workloads. A workload without any work
/// reduces its tile to zero.
pub fn tile_means(work: &[TileWork]) -> BTreeMap<u32, f64> {
    let mut tiles: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for part in work {
        if let Some(tile) = part.tile {
            tiles.entry(tile).or_default().push(part.normalised);
        }
    }
    let mean = |values: Vec<f64>| geometric_mean(&values).unwrap_or(0.0);
    tiles.into_iter().map(|(tile, values)| (tile, mean(values))).collect()
}

/// Returns the application part of the score: the sum of the tiles' means. `None` without a scored
/// workload.
pub fn applications_score(work: &[TileWork]) -> Option<f64> {
    let tiles = tile_means(work);
    (!tiles.is_empty()).then(|| tiles.values().sum())
}

/// Returns the infrastructure part of the score: the geometric mean, over kinds of operations, of
/// their rate divided by the reference. Operations are one group for any number of tiles, so
/// nothing is summed (`workloads` section 1.1). `None` without operations.
pub fn infrastructure_score(work: &[TileWork]) -> Option<f64> {
    let own: Vec<f64> =
        work.iter().filter(|part| part.tile.is_none()).map(|part| part.normalised).collect();
    (!own.is_empty()).then(|| geometric_mean(&own).unwrap_or(0.0))
}

/// Returns the score of a step: the weighted total if operations ran, otherwise the application
/// part.
pub fn score(work: &[TileWork]) -> Option<f64> {
    let applications = applications_score(work)?;
    Some(weighted_total(applications, infrastructure_score(work)).unwrap_or(applications))
}

/// Returns the weighted total; `None` without infrastructure operations. If the applications got
/// the weight of missing operations, scores with and without operations would seem comparable.
pub fn weighted_total(applications: f64, infrastructure: Option<f64>) -> Option<f64> {
    infrastructure.map(|infrastructure| {
        APPLICATIONS_WEIGHT * applications + INFRASTRUCTURE_WEIGHT * infrastructure
    })
}
