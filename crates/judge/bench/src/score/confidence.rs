use run_store::run::Interval;
use stats::{Resampling, bootstrap};

use crate::score::{TileWork, score};

/// Work of every scored instance in one block of slices, in the order of `shares`.
pub type SliceWork = Vec<f64>;

/// Minimum number of blocks for an interval. Fewer blocks have too few different resamples (two
/// blocks have three).
pub const BLOCKS_MIN: usize = 5;

/// Computes the interval of one step's score ([`score`]) from the work of consecutive blocks of
/// time (whole burst periods, or slices). Blocks are resampled, and each resample is scored.
/// `shares` contains each instance's tile, and the count per block that is one tile's worth.
pub fn score_interval(
    blocks: &[SliceWork],
    shares: &[(Option<u32>, f64)],
    seed: u64,
    block_name: &str,
) -> Option<Interval> {
    if blocks.len() < BLOCKS_MIN || shares.is_empty() {
        return None;
    }
    let positions: Vec<usize> = (0..blocks.len()).collect();
    #[expect(clippy::cast_precision_loss, reason = "thousands of blocks at most")]
    let scored = |drawn: &[usize]| {
        let work = |(index, (tile, share)): (usize, &(Option<u32>, f64))| {
            let sum: f64 = drawn.iter().map(|block| blocks[*block][index]).sum();
            TileWork { tile: *tile, normalised: sum / (share * drawn.len() as f64) }
        };
        let work: Vec<TileWork> = shares.iter().enumerate().map(work).collect();
        score(&work).unwrap_or(0.0)
    };
    let how = Resampling {
        resamples: resamples(blocks.len() * shares.len()),
        ..Resampling::with_seed(seed)
    };
    let found = bootstrap(&positions, scored, how)?;
    let (count, resamples) = (blocks.len(), how.resamples);
    let method = format!("bootstrap of {count} {block_name}, {resamples} resamples, seed {seed}");
    Interval::new(found.low, found.high, how.confidence.get(), method)
}

/// Computes the interval of the score at one number of tiles from several repeats, by resampling
/// runs x tiles (`models` section 5, item 8). `means` contains the geometric means of each run's
/// tiles.
pub fn work_interval(means: &[Vec<f64>], seed: u64) -> Option<Interval> {
    let tiles: Vec<f64> = means.iter().flatten().copied().collect();
    if means.len() < 2 || tiles.len() < BLOCKS_MIN {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "thousands of tiles at most")]
    let score =
        |drawn: &[f64]| drawn.iter().sum::<f64>() / drawn.len() as f64 * means[0].len() as f64;
    let how = Resampling::with_seed(seed);
    let found = bootstrap(&tiles, score, how)?;
    let (runs, resamples) = (means.len(), how.resamples);
    let method = format!(
        "bootstrap of {runs} runs x {} tiles, {resamples} resamples, seed {seed}",
        means[0].len()
    );
    Interval::new(found.low, found.high, how.confidence.get(), method)
}

/// Returns the number of resamples: a thousand, or fewer (at least 200) if a thousand would take
/// seconds.
fn resamples(values: usize) -> u32 {
    let affordable = 20_000_000 / values.max(1);
    u32::try_from(affordable.clamp(200, 1000)).unwrap_or(1000)
}
