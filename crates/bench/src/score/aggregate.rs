use std::collections::BTreeMap;

use stats::geometric_mean;

/// Share of the application workloads in the total, and of infrastructure operations:
/// the published explanation of the tile benchmark's score (Dell Info Hub, "Workload
/// performance results"; `workloads` section 1.1).
pub const APPLICATIONS_WEIGHT: f64 = 0.8;
/// See [`APPLICATIONS_WEIGHT`].
pub const INFRASTRUCTURE_WEIGHT: f64 = 0.2;

/// What one scored workload of one tile did, normalised: 1 is one tile's worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TileWork {
    /// Tile, from 0.
    pub tile: u32,
    /// Its metric divided by its reference.
    pub normalised: f64,
}

/// Each tile's geometric mean over its scored workloads. A workload that did nothing makes
/// its tile worth nothing.
pub fn tile_means(work: &[TileWork]) -> BTreeMap<u32, f64> {
    let mut tiles: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for part in work {
        tiles.entry(part.tile).or_default().push(part.normalised);
    }
    let mean = |values: Vec<f64>| geometric_mean(&values).unwrap_or(0.0);
    tiles.into_iter().map(|(tile, values)| (tile, mean(values))).collect()
}

/// The application part of the score: the sum of the tiles' means. Nothing without a scored
/// workload.
pub fn applications_score(work: &[TileWork]) -> Option<f64> {
    (!work.is_empty()).then(|| tile_means(work).values().sum())
}

/// The weighted total. Without infrastructure operations there is none: giving their share
/// to the applications would make scores with and without them look alike.
pub fn weighted_total(applications: f64, infrastructure: Option<f64>) -> Option<f64> {
    infrastructure.map(|infrastructure| {
        APPLICATIONS_WEIGHT * applications + INFRASTRUCTURE_WEIGHT * infrastructure
    })
}
