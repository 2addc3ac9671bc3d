//! The tile of a plan, with what bench asks of it.
use spec::tile::Tile;
use spec::workload::Workload;

/// A tile with its workloads read.
#[derive(Debug, Clone, PartialEq)]
pub struct TileSet {
    /// The tile as written.
    pub tile: Tile,
    /// Each workload of the tile, in the tile's order, with how many of it there are.
    pub workloads: Vec<(Workload, u32)>,
}

impl TileSet {
    /// Each workload once.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().map(|(workload, _)| workload)
    }
}
