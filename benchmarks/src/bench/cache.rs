//! Measures how many references per second the replacement policies and the miss-ratio curves
//! process on one core.
//!
//! Uses two streams of power-law references over 2^20 pages, scattered so that neighbours in
//! popularity are not neighbours in address. A warm-up pass comes first, so the caches are full.

use std::hint::black_box;

use anyhow::{Context, Result};
use cache::PageId;
use cache::mrc::{ExactStack, SampleRate, Shards};
use cache::policy::{Arc, Lru, Policy, S3Fifo};
use state_machine::{Purpose, Stream};

use super::cpu::cpu_seconds;
use super::{Figure, median};

/// Number of references in a stream.
const REFERENCES: usize = 1 << 22;
/// Number of different pages that a stream may refer to: 4 GiB in pages of 4 KiB.
const PAGES: u64 = 1 << 20;
/// Number of pages that fit in the caches: 256 MiB in pages of 4 KiB.
pub(super) const CAPACITY: usize = 1 << 16;
/// Number of timed rounds over the stream; the median is used.
const ROUNDS: usize = 5;
/// Exponents of the power law with which an LRU cache misses about 7 and 55 percent.
pub(super) const LOW: f64 = 1.2;
const HIGH: f64 = 0.82;

pub(crate) fn policies(name: &str) -> Result<Vec<Figure>> {
    let (low, high) = (stream(LOW), stream(HIGH));
    Ok(vec![
        policy(format!("{name}.lru_low"), Lru::new(CAPACITY), &low),
        policy(format!("{name}.lru_high"), Lru::new(CAPACITY), &high),
        policy(format!("{name}.arc_low"), Arc::new(CAPACITY), &low),
        policy(format!("{name}.s3fifo_low"), S3Fifo::new(CAPACITY), &low),
    ])
}

pub(crate) fn curves(name: &str) -> Result<Vec<Figure>> {
    let low = stream(LOW);
    let rate = SampleRate::new(0.01).context("a sample rate")?;
    let mut exact = ExactStack::new();
    let exact_rate = rate_of(&low, |page| exact.reference(page));
    let mut shards = Shards::fixed_rate(rate);
    let shards_rate = rate_of(&low, |page| shards.reference(page));
    let capacity = CAPACITY as u64;
    eprintln!(
        "{name}: {} different pages; miss ratio at {CAPACITY} pages: exact {:.4}, SHARDS at 1 % {:.4}",
        exact.pages(),
        exact.curve().miss_ratio(capacity),
        shards.curve().miss_ratio(capacity),
    );
    Ok(vec![
        Figure::new(format!("{name}.exact.refs_per_s"), exact_rate, "1/s"),
        Figure::new(format!("{name}.shards_1pct.refs_per_s"), shards_rate, "1/s"),
    ])
}

fn policy(name: String, mut policy: impl Policy, pages: &[PageId]) -> Figure {
    let mut misses = 0_u64;
    let rate = rate_of(pages, |page| misses += u64::from(!policy.reference(page).is_hit()));
    let first = misses;
    for page in pages {
        misses += u64::from(!policy.reference(*page).is_hit());
    }
    eprintln!("{name}: {CAPACITY} pages, miss ratio {:.4}", ratio(misses - first, pages.len()));
    Figure::new(format!("{name}.refs_per_s"), rate, "1/s")
}

/// Returns the number of references per second of this thread's CPU time: the median of the timed
/// rounds after a warm-up pass. CPU time is used so that other work on the host changes the figure
/// less.
pub(super) fn rate_of(pages: &[PageId], mut reference: impl FnMut(PageId)) -> f64 {
    let mut round = |passes: usize| {
        let start = cpu_seconds();
        for _ in 0..passes {
            for page in black_box(pages) {
                reference(*page);
            }
        }
        (cpu_seconds() - start) / f64_of(passes * pages.len())
    };
    let once = round(1) * f64_of(pages.len());
    // The kernel's account is exact to a few milliseconds.
    let passes = (1..16).find(|passes| f64_of(*passes) * once > 0.25).unwrap_or(16);
    let seconds: Vec<f64> = (0..ROUNDS).map(|_| round(passes)).collect();
    1.0 / median(&seconds)
}

/// Returns references whose popularity falls with the rank to the power of `exponent` (not 1): a
/// continuous power law on 1 to `PAGES + 1`, inverted and rounded down.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ranks are below 2^21")]
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(super) fn stream(exponent: f64) -> Vec<PageId> {
    let mut random = Stream::derive(1, &[], Purpose::Addresses);
    let power = 1.0 - exponent;
    let area = ((PAGES + 1) as f64).powf(power) - 1.0;
    let mut page = || {
        let rank = (1.0 + random.unit() * area).powf(1.0 / power) as u64 - 1;
        // An odd factor permutes the pages.
        PageId(rank.wrapping_mul(0x9e37_79b1) % PAGES)
    };
    (0..REFERENCES).map(|_| page()).collect()
}

fn ratio(part: u64, whole: usize) -> f64 {
    f64_of(usize::try_from(part).unwrap_or(usize::MAX)) / f64_of(whole)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn f64_of(count: usize) -> f64 {
    count as f64
}
