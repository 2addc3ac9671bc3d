//! Sampling of the middle of a device whose ends are empty: some thousand blocks, half spread
//! evenly and half at random.
//!
//! Detection: if a share `p` of the blocks holds data, the sample misses all of them with
//! probability `(1 - p) ^ 4096`. This is 2 % for one block in a thousand, and below 2e-18 for one
//! in a hundred. Cost: 16 MiB of reading, or, if every read is a seek, about [`LONGEST`]. A device
//! that was discarded and reads as zeros counts as empty.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};

/// Size of one sample in bytes: the block of most file systems and databases.
pub(crate) const BLOCK: u64 = 4096;
/// Number of samples of each kind, even and random. Our choice, for the probabilities above.
const LOOKS: u64 = 2048;
/// Number of passes over the device, each from start to end. If time runs out, the samples so far
/// are still spread over the whole device.
const PASSES: usize = 8;
/// Time after which no further pass begins; the first pass is always made. Our choice: a disk of
/// 7,200 turns per minute completes some 1,500 random reads in this time.
const LONGEST: Duration = Duration::from_secs(10);

/// Result of sampling the middle of a device.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Middle {
    /// Number of blocks that were read.
    pub looked: u64,
    /// Number of blocks in the range.
    pub blocks: u64,
    /// Number of blocks that hold a byte other than zero.
    pub filled: u64,
    /// Lowest offset of a non-zero byte that was read.
    pub first: Option<u64>,
}

/// Samples the bytes of `range`, whose start must be a multiple of the block size.
pub(crate) fn look(file: &File, range: Range<u64>) -> io::Result<Middle> {
    let blocks = range.end.saturating_sub(range.start) / BLOCK;
    let mut middle = Middle { blocks, ..Middle::default() };
    // Neighbours of a block that is looked at once are not worth reading.
    let _ = fadvise(file, 0, None, Advice::Random);
    let begun = Instant::now();
    let random = RandomState::new();
    for pass in (0..).take(PASSES) {
        if pass > 0 && begun.elapsed() > LONGEST {
            break;
        }
        for block in pass_of(pass, blocks, &random) {
            middle.see(file, range.start + block * BLOCK)?;
        }
    }
    let _ = fadvise(file, 0, None, Advice::Normal);
    Ok(middle)
}

/// Returns the blocks of one pass, ascending. Each block is in one pass only.
fn pass_of(pass: u64, blocks: u64, random: &RandomState) -> Vec<u64> {
    if blocks <= 2 * LOOKS {
        return (pass..blocks).step_by(PASSES).collect();
    }
    let at = |strip: u64| u64::try_from(u128::from(blocks) * u128::from(strip) / u128::from(LOOKS));
    let mut found = Vec::new();
    for strip in (pass..LOOKS).step_by(PASSES) {
        let (Ok(start), Ok(end)) = (at(strip), at(strip + 1)) else { continue };
        // The evenly spaced sample is the first block of the strip, because structures on devices
        // lie at powers of two. The random sample is another block of the strip.
        let rest = (end - start).max(2) - 1;
        found.extend([start, start + 1 + random.hash_one(strip) % rest]);
    }
    found
}

impl Middle {
    fn see(&mut self, file: &File, offset: u64) -> io::Result<()> {
        let mut bytes = [0; 4096];
        file.read_exact_at(&mut bytes, offset)?;
        self.looked += 1;
        if let Some(at) = bytes.iter().position(|byte| *byte != 0) {
            let byte = offset + at as u64;
            self.filled += 1;
            self.first = Some(self.first.map_or(byte, |first| first.min(byte)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn content_check_samples_each_block_once_up_to_4096() {
        for (blocks, looks) in [(0, 0), (1, 1), (4096, 4096), (4097, 4096), (1 << 30, 4096)] {
            let random = RandomState::new();
            let all: Vec<u64> =
                (0..).take(PASSES).flat_map(|pass| pass_of(pass, blocks, &random)).collect();
            let different: BTreeSet<u64> = all.iter().copied().collect();
            assert_eq!(all.len() as u64, looks, "{blocks}");
            assert_eq!(different.len(), all.len(), "{blocks}");
            assert!(different.iter().all(|block| *block < blocks), "{blocks}");
        }
    }

    #[test]
    fn one_pass_alone_reaches_from_start_to_end() {
        let seen = pass_of(0, 1 << 30, &RandomState::new());
        let widest = seen.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(widest < Some((1 << 30) / 128), "{widest:?}");
        assert_eq!(seen.first(), Some(&0));
    }

    #[test]
    fn the_lowest_byte_that_is_not_zero_is_reported_with_the_count() {
        let file = tempfile::tempfile().expect("temporary file");
        file.set_len(1 << 20).expect("size");
        file.write_all_at(&[1; 5000], 700_000).expect("write");
        let found = look(&file, 8192..1 << 20).expect("read");
        let blocks = (1 << 20) / 4096 - 2;
        assert_eq!(found, Middle { looked: blocks, blocks, filled: 3, first: Some(700_000) });
    }
}
