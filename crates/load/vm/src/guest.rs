//! Output of the guest (`scripts/vm-guest-src/init.c`), and the expected values. Both sides compute
//! the content of memory and disk from a seed and the number of rewrites, so neither has to trust
//! the other.

use std::time::Instant;

/// Size of a page and of a stamped block, in bytes.
pub const PAGE: usize = 4096;
const WORDS: usize = PAGE / 8;
/// 2^64 divided by the golden ratio, as in splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Activity of a running guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Seed of all content.
    pub seed: u64,
    /// Number of pages of 4 KiB that are written once.
    pub still_pages: u64,
    /// Number of pages that are rewritten one after another.
    pub dirty_pages: u64,
    /// Number of pages rewritten per second.
    pub pages_s: u64,
    /// Number of 4 KiB blocks in the last quarter of its disk rewritten per second.
    pub blocks_s: u64,
}

impl Default for Work {
    /// Returns 8 MiB rewritten at 8 MiB/s, as in the experiments on emulated moves, and 4 MiB that
    /// are not rewritten; 50 blocks/s is our choice.
    fn default() -> Self {
        Self { seed: 1, still_pages: 1024, dirty_pages: 2048, pages_s: 2048, blocks_s: 50 }
    }
}

impl Work {
    /// Returns the command line of the guest's kernel.
    pub(crate) fn command_line(&self, alone_seconds: u32) -> String {
        let Self { seed, still_pages, dirty_pages, pages_s, blocks_s } = self;
        format!(
            "console=ttyS0 quiet panic=-1 no_timer_check tm_seed={seed} tm_still={still_pages} tm_dirty={dirty_pages} \
             tm_pages={pages_s} tm_blocks={blocks_s} tm_alone={alone_seconds}"
        )
    }
}

/// Heartbeat of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// Number of the heartbeat, counted from 1 over the guest's lifetime.
    pub number: u64,
    /// Number of pages rewritten so far.
    pub pages: u64,
    /// Number of blocks rewritten so far.
    pub blocks: u64,
    /// Time of arrival on the host.
    pub came: Instant,
}

/// Results of a guest's check of all its memory and disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GuestCheck {
    /// Number of the check.
    pub id: u64,
    /// Digest of the pages that are not rewritten.
    pub still: u64,
    /// Digest of the pages that are rewritten.
    pub dirty: u64,
    /// Digest of the disk's first three quarters.
    pub disk: u64,
    /// Digest of the disk's last quarter.
    pub stamped: u64,
    /// Number of pages with wrong content.
    pub lost_pages: u64,
    /// Number of blocks with wrong content.
    pub lost_blocks: u64,
    /// Number of pages rewritten so far.
    pub pages: u64,
    /// Number of blocks rewritten so far.
    pub blocks: u64,
    /// Number of reads and writes of the disk that failed.
    pub errors: u64,
}

/// A line from a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Ready,
    Beat { number: u64, pages: u64, blocks: u64 },
    Seen(GuestCheck),
    Cannot(String),
}

impl Line {
    /// Parses a line without its line end; `None` if its checksum is wrong.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let (text, sum) = std::str::from_utf8(line).ok()?.rsplit_once(" *")?;
        if u32::from_str_radix(sum, 16).ok()? != fnv(text.as_bytes()) {
            return None;
        }
        let mut words = text.split(' ');
        let first = words.next()?;
        let number = words.next().unwrap_or_default();
        let field = |name: &str| {
            let value = |word: &str| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            text.split(' ').find_map(value)
        };
        let count = |name| field(name)?.parse::<u64>().ok();
        let digest = |name| u64::from_str_radix(&field(name)?, 16).ok();
        Some(match first {
            "ready" => Self::Ready,
            "cannot" => Self::Cannot(text.to_owned()),
            "beat" => {
                let number = number.parse().ok()?;
                Self::Beat { number, pages: count("pages")?, blocks: count("blocks")? }
            }
            "seen" => Self::Seen(GuestCheck {
                id: number.parse().ok()?,
                still: digest("still")?,
                dirty: digest("dirty")?,
                disk: digest("disk")?,
                stamped: digest("stamped")?,
                lost_pages: count("lost_pages")?,
                lost_blocks: count("lost_blocks")?,
                pages: count("pages")?,
                blocks: count("blocks")?,
                errors: count("errors")?,
            }),
            _ => return None,
        })
    }
}

/// Computes the 32-bit FNV-1a hash (RFC 9923).
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619))
}

/// Applies the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
const fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(STEP);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Digest of consecutive words. It detects damage, but not attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Creates an empty digest.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn word(&mut self, word: u64) {
        let h = (self.0 ^ word).wrapping_mul(STEP);
        self.0 = h ^ (h >> 32);
    }

    /// Adds bytes as little-endian words of eight bytes. Their number is a multiple of eight.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
    }

    /// Adds a page or block, given by the first word of its content.
    fn page(&mut self, first: u64) {
        (0..WORDS as u64).for_each(|at| self.word(first.wrapping_add(at.wrapping_mul(STEP))));
    }

    /// Returns the value of the digest.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Returns the first word of the page or block `index` of a kind after its `written`-th write.
const fn first_word(seed: u64, kind: u64, index: u64, written: u64) -> u64 {
    mix(mix(seed ^ (kind << 56) ^ index) ^ (written << 16))
}

/// Returns the number of writes to the `index`-th of `count` objects, after `done` writes that went
/// to the objects in turn.
fn written(done: u64, count: u64, index: u64) -> u64 {
    (done + count).saturating_sub(1 + index).checked_div(count).unwrap_or(0)
}

/// Computes the expected digest of the pages that are not rewritten.
pub(crate) fn still(work: &Work) -> u64 {
    let mut digest = Digest::new(work.seed);
    (0..work.still_pages).for_each(|page| digest.page(first_word(work.seed, 1, page, 0)));
    digest.get()
}

/// Computes the expected digest of the rewritten pages after `pages` rewrites.
pub(crate) fn dirty(work: &Work, pages: u64) -> u64 {
    let mut digest = Digest::new(work.seed);
    for page in 0..work.dirty_pages {
        let times = written(pages, work.dirty_pages, page);
        digest.page(first_word(work.seed, 2, page, times));
    }
    digest.get()
}

/// Returns true if block `index` of `count` stamped blocks has the expected content after `blocks`
/// writes. Also true if it was not written yet.
pub(crate) fn holds(seed: u64, block: &[u8], (index, count): (u64, u64), blocks: u64) -> bool {
    let times = written(blocks, count, index);
    let first = first_word(seed, 3, index, times);
    let word = |at: usize| first.wrapping_add((at as u64).wrapping_mul(STEP));
    let (words, _) = block.as_chunks::<8>();
    times == 0 || words.iter().enumerate().all(|(at, own)| u64::from_le_bytes(*own) == word(at))
}

/// Returns the offset of a disk's stamped last quarter, and its number of blocks.
pub(crate) const fn stamped(disk_bytes: u64) -> (u64, u64) {
    let all = disk_bytes / PAGE as u64;
    let count = all / 4;
    ((all - count) * PAGE as u64, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of a guest that was booted by hand with seed 7 and 100 rewritten pages.
    #[test]
    fn a_line_is_read_only_with_the_sum_of_what_is_before_it() {
        let line = b"beat 2 at=4075 pages=101 blocks=6 errors=0 *fa3953bb";
        assert_eq!(Line::parse(line), Some(Line::Beat { number: 2, pages: 101, blocks: 6 }));
        for at in 0..line.len() {
            let mut cut = line.to_vec();
            cut.remove(at);
            assert!(Line::parse(&cut).is_none_or(|read| read == Line::parse(line).expect("whole")));
        }
        assert_eq!(Line::parse(b""), None);
    }

    /// Digests that the guest printed for 1,024 still and 2,048 dirty pages, none rewritten, seed
    /// 7.
    #[test]
    fn both_sides_compute_the_same_memory() {
        let work = Work { seed: 7, ..Work::default() };
        assert_eq!(still(&work), 0x61ba_d8fa_14cf_4021);
        assert_eq!(dirty(&work, 0), 0x59d0_4193_e36b_372a);
        assert_ne!(dirty(&work, 1), dirty(&work, 0));
    }

    #[test]
    fn what_is_written_in_turn_was_written_as_often_as_a_loop_says() {
        for count in [1, 3, 7] {
            let mut times = [0; 7];
            for done in 0..40_u64 {
                for index in 0..count {
                    let own = times[usize::try_from(index).expect("small")];
                    assert_eq!(written(done, count, index), own, "{done} of {count}");
                }
                times[usize::try_from(done % count).expect("small")] += 1;
            }
        }
    }

    #[test]
    fn a_block_from_another_time_is_not_what_it_must_be() {
        let first = first_word(1, 3, 5, 2);
        let mut block: Vec<u8> = Vec::new();
        for at in 0..WORDS as u64 {
            block.extend(first.wrapping_add(at.wrapping_mul(STEP)).to_le_bytes());
        }
        assert!(holds(1, &block, (5, 10), 16));
        assert!(!holds(1, &block, (5, 10), 26), "written a third time");
        block[4000] ^= 1;
        assert!(!holds(1, &block, (5, 10), 16));
        assert!(holds(1, &block, (5, 10), 5), "not written yet");
    }
}
