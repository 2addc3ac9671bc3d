/// What is above the tiles held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stop {
    /// A limit was broken at this many tiles.
    Limit {
        /// The step that failed.
        tiles: u32,
    },
    /// Beyond the tiles held more do no more work.
    Flat {
        /// The first tested count of those that add nothing.
        tiles: u32,
        /// What the last of them adds by the curve through all steps, as a share of what a tile
        /// does by itself; may be negative.
        gain: f64,
    },
    /// Nothing can be said about this many tiles.
    Inconclusive {
        /// The step without a verdict.
        tiles: u32,
    },
}

impl Stop {
    /// The step that is meant.
    pub const fn tiles(self) -> u32 {
        match self {
            Self::Limit { tiles } | Self::Flat { tiles, .. } | Self::Inconclusive { tiles } => {
                tiles
            }
        }
    }
}
