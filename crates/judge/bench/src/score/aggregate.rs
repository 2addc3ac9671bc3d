use std::collections::BTreeMap;

use stats::geometric_mean;

/// Share of the application workloads in the total, and of infrastructure operations:
/// the published explanation of the tile benchmark's score (Dell Info Hub, "Workload
/// performance results"; `workloads` section 1.1).
pub const APPLICATIONS_WEIGHT: f64 = 0.8;
/// Share of infrastructure operations in the total, see [`APPLICATIONS_WEIGHT`].
pub const INFRASTRUCTURE_WEIGHT: f64 = 0.2;

/// Normalised work of one scored workload of one tile, where 1 is one tile's worth; or of one kind
/// of infrastructure operation, where 1 is its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TileWork {
    /// Tile, from 0; none for infrastructure operations.
    pub tile: Option<u32>,
    /// Metric divided by its reference.
    pub normalised: f64,
}

/// Geometric mean of each tile over its scored workloads. A workload without any work makes its
/// tile worth nothing.
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

/// Applications' part of the score: the sum of the tiles' means. `None` without a scored workload.
pub fn applications_score(work: &[TileWork]) -> Option<f64> {
    let tiles = tile_means(work);
    (!tiles.is_empty()).then(|| tiles.values().sum())
}

/// Infrastructure part of the score: the geometric mean over kinds of operations of their rate
/// divided by the reference. They are one group however many tiles there are, so nothing is summed
/// (`workloads` section 1.1). `None` without operations.
pub fn infrastructure_score(work: &[TileWork]) -> Option<f64> {
    let own: Vec<f64> =
        work.iter().filter(|part| part.tile.is_none()).map(|part| part.normalised).collect();
    (!own.is_empty()).then(|| geometric_mean(&own).unwrap_or(0.0))
}

/// Value of a step: the weighted total if operations ran, else the applications' part.
pub fn score(work: &[TileWork]) -> Option<f64> {
    let applications = applications_score(work)?;
    Some(weighted_total(applications, infrastructure_score(work)).unwrap_or(applications))
}

/// Weighted total; `None` without infrastructure operations. Giving their share to the applications
/// would make scores with and without them look alike.
pub fn weighted_total(applications: f64, infrastructure: Option<f64>) -> Option<f64> {
    infrastructure.map(|infrastructure| {
        APPLICATIONS_WEIGHT * applications + INFRASTRUCTURE_WEIGHT * infrastructure
    })
}
