use state_machine::Stream;
use units::Nanos;

use crate::cursor::Cursor;
use crate::pick::Pick;
use crate::region::Blocks;
use crate::reuse::{Habit, History};
use crate::scatter::Scatter;
use crate::walk::Walk;
use crate::zipf::Zipf;

/// Rule by which blocks of one length get their addresses. Numbers are indexes into the lists of
/// [`Addresses`].
#[derive(Debug, Clone)]
pub enum Placement {
    Uniform(Blocks),
    Zipf { blocks: Blocks, ranks: usize },
    Hot { spot: Pick, spots: Box<[Blocks]> },
    Sequential { cursor: usize },
    Mixed { random: f64, blocks: Blocks, cursor: usize },
    Drift(Drift),
    ReuseWalk { blocks: Blocks, walk: usize },
    Reuse { blocks: Blocks, history: usize, habit: usize },
}

/// Window of places that moves at constant speed and wraps around.
#[derive(Debug, Clone, Copy)]
pub struct Drift {
    pub blocks: Blocks,
    /// Width of the window, in places.
    pub set: u64,
    /// Place at which the window begins at time 0.
    pub base: u64,
    /// Share of I/O inside the window. The rest is uniform.
    pub inside: f64,
    /// Time in which the window moves by its own width, above zero.
    pub turnover: Nanos,
}

/// Popularity of the pages of one region of a disk. All steps that use the region share it, so that
/// reads and writes of all sizes have the same popular pages.
#[derive(Debug, Clone)]
pub struct Ranks {
    pub zipf: Zipf,
    pub scatter: Scatter,
    pub pages: Blocks,
}

/// Reuse walk over one region of a disk, shared by the steps that use the region.
#[derive(Debug, Clone)]
pub struct SharedWalk {
    pub walk: Walk,
    pub pages: Blocks,
}

/// State of an instance's address generators.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    pub cursors: Vec<Cursor>,
    pub ranks: Vec<Ranks>,
    pub walks: Vec<SharedWalk>,
    /// // In a box: few workloads have any.
    pub reuse: Box<ReuseState>,
}

/// Recently touched pages, and the parameters of the steps that reuse them.
#[derive(Debug, Clone, Default)]
pub struct ReuseState {
    pub histories: Vec<History>,
    pub habits: Vec<Habit>,
}

/// Block that needs an address.
#[derive(Debug, Clone, Copy)]
pub struct BlockRequest {
    pub now: Nanos,
    pub length: u32,
    pub is_write: bool,
}

impl Addresses {
    /// Returns the first byte of the next block. A run may change the length in `wanted`.
    #[inline]
    pub fn offset(
        &mut self,
        place: &Placement,
        wanted: &mut BlockRequest,
        stream: &mut Stream,
    ) -> u64 {
        match place {
            Placement::Uniform(blocks) => uniform(blocks, stream),
            Placement::Zipf { blocks, ranks } => {
                let Ranks { zipf, scatter, pages } = &self.ranks[*ranks];
                blocks.covering(pages.offset(scatter.place(zipf.draw(stream))))
            }
            Placement::Hot { spot, spots } => uniform(&spots[spot.draw(stream)], stream),
            Placement::Sequential { cursor } => self.cursors[*cursor].next(wanted.length),
            Placement::Mixed { random, blocks, cursor } => {
                if !stream.chance(*random) {
                    return self.cursors[*cursor].next(wanted.length);
                }
                let offset = uniform(blocks, stream);
                self.cursors[*cursor].follow(offset, wanted.length);
                offset
            }
            Placement::Drift(drift) => drift.offset(wanted.now, stream),
            Placement::ReuseWalk { blocks, walk } => {
                let SharedWalk { walk, pages } = &mut self.walks[*walk];
                let page = if wanted.is_write { walk.write(stream) } else { walk.read(stream) };
                blocks.covering(pages.offset(page))
            }
            Placement::Reuse { blocks, history, habit } => {
                let block = (wanted.length, wanted.is_write);
                let ReuseState { histories, habits } = &mut *self.reuse;
                let found = histories[*history].next(&habits[*habit], blocks, block, stream);
                wanted.length = found.1;
                found.0
            }
        }
    }
}

#[inline]
fn uniform(blocks: &Blocks, stream: &mut Stream) -> u64 {
    blocks.offset(stream.below(blocks.count))
}

impl Drift {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a remainder of a 64-bit number")]
    fn offset(&self, now: Nanos, stream: &mut Stream) -> u64 {
        if self.inside < 1.0 && !stream.chance(self.inside) {
            return uniform(&self.blocks, stream);
        }
        let moved = u128::from(now.0) * u128::from(self.set) / u128::from(self.turnover.0);
        let place = moved + u128::from(self.base) + u128::from(stream.below(self.set));
        self.blocks.offset((place % u128::from(self.blocks.count)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::Region;
    use state_machine::Purpose;

    #[test]
    fn a_drifting_set_moves_by_its_own_length_in_its_turnover() {
        let blocks = Region::whole(1000 << 12).blocks(4096);
        let drift =
            Drift { blocks, set: 100, base: 950, inside: 1.0, turnover: Nanos::from_secs(10) };
        let mut stream = Stream::derive(1, &[], Purpose::User);
        for second in 0..200 {
            // Ten blocks a second, around a disk of a thousand.
            let begin = (950 + second * 10) % 1000;
            let place = drift.offset(Nanos::from_secs(second), &mut stream) >> 12;
            assert!((place + 1000 - begin) % 1000 < 100, "{second} s: {place} not after {begin}");
        }
    }
}
