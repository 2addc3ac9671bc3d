//! Predicts the hits of a planned cache, from the working sets of the VMs that would use it.
//!
//! An LRU cache keeps every page for about the same time after its last use, even if several VMs
//! share the cache (Che and others 2002, "Hierarchical Web caching systems"). So the cache contains
//! the pages used within that time, and misses whenever a page is added to this set. The rate of
//! misses is therefore the slope of the set's size over time (Denning and Schwartz 1972,
//! "Properties of the working-set model"). A store has the sizes over an hour, a day and a week.
//! The slope never increases with time, so these sizes bound it at all times in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run_store::slice::Direction;
use units::Bytes;

use crate::{Key, SetRow, SetSpan, Slice};

/// Minimum number of hours for a mean. Our choice: a span longer than an hour is used once a
/// quarter of a day has such sets.
const HOURS_MIN: usize = 6;
/// Longest time that is reported, in hours: a year.
const KEPT_MAX: f64 = 8760.0;
/// Number of standard errors by which sampled set sizes may be wrong.
const ERRORS: f64 = 2.0;

/// Predicted hits of a cache.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheHits {
    /// Begin of the first hour and end of the last, in seconds since 1970.
    pub window_s: (u64, u64),
    /// Number of hours over which sizes and rates are averaged.
    pub hours: usize,
    /// Shortest and longest time, in hours, for which the cache may keep a page after its last use.
    /// The longest is `None` if the cache is larger than all known sets.
    pub kept_hours: (f64, Option<f64>),
    /// VMs, the busiest first.
    pub vms: Vec<VmHits>,
    /// All VMs together.
    pub all: VmHits,
}

/// Use and hits of one VM, or of all VMs together.
#[derive(Debug, Clone, PartialEq)]
pub struct VmHits {
    /// Name of the VM or other initiator; empty for all together.
    pub name: Arc<str>,
    /// Bytes read and written per second, in whole pages.
    pub bytes_per_s: f64,
    /// Mean working sets by span, shortest first.
    pub sets: Vec<(SetSpan, Bytes)>,
    /// Smallest and largest share of the bytes read and written that hits the cache, once it is
    /// warm.
    pub hits: (f64, f64),
}

/// Reason why hits cannot be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoHits {
    /// No working set of a whole hour is known.
    #[error("for this time, no working set of a whole hour is stored for these VMs")]
    NoSets,
    /// Nothing was read or written, or only slices coarser than an hour are left.
    #[error("for the hours of the working sets, the reads and writes of these VMs are unknown")]
    NoIo,
}

/// Predicts the hits of an LRU cache that only the VMs of these rows use. Slices must cover the
/// same time.
///
/// # Errors
/// The rows or slices contain too little.
pub fn cache_hits(rows: &[SetRow], slices: &[Slice], cache: Bytes) -> Result<CacheHits, NoHits> {
    let (span, hours) = longest(rows).ok_or(NoHits::NoSets)?;
    let mut vms: BTreeMap<&str, Use> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.span <= span && hours.contains(&row.start_s)) {
        vms.entry(&row.vm).or_insert_with(|| Use::of(&row.vm)).add(row);
    }
    for slice in slices.iter().filter(|slice| slice.width_s <= 3600) {
        if hours.contains(&(slice.start_s - slice.start_s % 3600)) {
            for (key, cell) in slice.io.iter().filter(|(key, _)| is_in_sets(key)) {
                if let Some(own) = vms.get_mut(&*key.vm) {
                    // An I/O below the size of a page uses a page.
                    own.used += cell.bytes.max(cell.count.saturating_mul(SetRow::PAGE_BYTES));
                }
            }
        }
    }
    let mut all = Use::of(&Arc::from(""));
    vms.values().for_each(|own| all.add_all(own));
    if all.used == 0 {
        return Err(NoHits::NoIo);
    }
    let curve = all.curve(span, hours.len());
    let kept = curve.times(size(cache.get()), all.error());
    let told = |own: &Use| own.hits(span, hours.len(), kept);
    let mut told_vms: Vec<VmHits> = vms.values().filter(|own| own.used > 0).map(told).collect();
    told_vms.sort_by(|left, right| right.bytes_per_s.total_cmp(&left.bytes_per_s));
    let ends = (hours.first().copied().unwrap_or(0), hours.last().copied().unwrap_or(0) + 3600);
    Ok(CacheHits {
        window_s: ends,
        hours: hours.len(),
        // A set that does not grow any more is kept for ever.
        kept_hours: (kept.0.min(KEPT_MAX), kept.1.is_finite().then_some(kept.1)),
        vms: told_vms,
        all: told(&all),
    })
}

/// Returns true for I/O that working sets include.
fn is_in_sets(key: &Key) -> bool {
    let moves_data = matches!(key.direction, Direction::Read | Direction::Write);
    key.class.is_some() && key.is_counted() && moves_data
}

/// Returns the longest span with enough hours whose sets cover the whole span, and these hours.
fn longest(rows: &[SetRow]) -> Option<(SetSpan, BTreeSet<u64>)> {
    SetSpan::ALL.into_iter().rev().find_map(|span| {
        let whole = rows.iter().filter(|row| row.span == span && row.is_whole());
        let hours: BTreeSet<u64> = whole.map(|row| row.start_s).collect();
        let least = if span == SetSpan::Hour { 1 } else { HOURS_MIN };
        (hours.len() >= least).then_some((span, hours))
    })
}

/// Sums of a VM's use over the hours. An hour without a row had no I/O in its span.
struct Use {
    name: Arc<str>,
    /// Total bytes, read and written.
    used: u64,
    /// Sum of sizes by span, and sum of squares of their standard errors.
    sets: [(f64, f64); SetSpan::ALL.len()],
}

impl Use {
    fn of(name: &Arc<str>) -> Self {
        Self { name: Arc::clone(name), used: 0, sets: Default::default() }
    }

    fn add(&mut self, row: &SetRow) {
        let (sum, error) = &mut self.sets[row.span as usize];
        *sum += size(row.used_bytes);
        // The sample of one hour is most of that of the next, so their errors do not cancel out.
        *error = (error.sqrt() + size(row.used_bytes) * row.error()).powi(2);
    }

    fn add_all(&mut self, other: &Self) {
        self.used = self.used.saturating_add(other.used);
        for (own, more) in self.sets.iter_mut().zip(other.sets) {
            *own = (own.0 + more.0, own.1 + more.1);
        }
    }

    /// Returns the largest standard error of a set, as a share of the set's size.
    fn error(&self) -> f64 {
        let shares = self.sets.iter().filter(|own| own.0 > 0.0).map(|own| own.1.sqrt() / own.0);
        shares.fold(0.0, f64::max)
    }

    fn curve(&self, span: SetSpan, hours: usize) -> Curve {
        let spans = SetSpan::ALL.into_iter().filter(|own| *own <= span);
        let points =
            spans.map(|own| (f64::from(own.hours()), self.sets[own as usize].0 / count(hours)));
        let points = std::iter::once((0.0, 0.0)).chain(points).collect();
        Curve { rate: size(self.used) / count(hours), points }
    }

    fn hits(&self, span: SetSpan, hours: usize, kept: (f64, f64)) -> VmHits {
        let curve = self.curve(span, hours);
        let (least, most) = curve.slopes(kept);
        let error = ERRORS * self.error();
        let share = |misses: f64| (1.0 - misses / curve.rate.max(1.0)).clamp(0.0, 1.0);
        let sets = SetSpan::ALL.into_iter().zip(&curve.points[1..]);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes")]
        let sets = sets.map(|(span, (_, bytes))| (span, Bytes::new(bytes.round() as u64)));
        VmHits {
            name: Arc::clone(&self.name),
            bytes_per_s: curve.rate / 3600.0,
            sets: sets.collect(),
            hits: (share(most * (1.0 + error)), share(least * (1.0 - error))),
        }
    }
}

/// Size of the used data over time (bytes over hours), at the known points.
struct Curve {
    /// Bytes used per hour, counting every use: the initial slope.
    rate: f64,
    /// Known sizes, beginning with size 0 at time 0.
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// Returns the slope between a point and the next; `None` after the last point.
    fn chord(&self, at: usize) -> Option<f64> {
        let (from, to) = (self.points[at], self.points.get(at + 1)?);
        Some(((to.1 - from.1) / (to.0 - from.0)).max(0.0))
    }

    /// Returns an upper bound of the slope after a point. Means of sampled sets may be slightly out
    /// of order.
    fn before(&self, at: usize) -> f64 {
        let own = at.checked_sub(1).and_then(|at| self.chord(at)).unwrap_or(self.rate);
        self.chord(at).map_or(own, |next| own.max(next))
    }

    /// Returns a lower bound of the slope between a point and the next.
    fn after(&self, at: usize) -> f64 {
        let own = self.chord(at).unwrap_or(0.0);
        self.chord(at + 1).unwrap_or(0.0).min(own)
    }

    /// Returns the largest possible size at a time between a point and the next.
    fn most(&self, at: usize, hours: f64) -> f64 {
        let (from, size) = self.points[at];
        let first = size + self.before(at) * (hours - from);
        match self.points.get(at + 1) {
            Some((to, next)) => first.min(next - self.after(at) * (to - hours)),
            None => first,
        }
    }

    /// Returns the index of the last point for which `holds` is true.
    fn last(&self, holds: impl Fn(&(f64, f64)) -> bool) -> usize {
        self.points.iter().rposition(holds).unwrap_or(0)
    }

    /// Returns the shortest and longest time in which this size may be used. The size has a
    /// relative error.
    fn times(&self, size: f64, error: f64) -> (f64, f64) {
        let low = size * (1.0 - ERRORS * error).max(0.0);
        let high = size * (1.0 + ERRORS * error);
        let at = self.last(|point| point.1 <= low);
        let (from, own) = self.points[at];
        let first = match low - own {
            0.0 => from,
            more => from + more / self.before(at),
        };
        let shortest = match self.points.get(at + 1) {
            Some((to, next)) if self.after(at) > 0.0 => {
                first.max(to - (next - low) / self.after(at))
            }
            _ => first,
        };
        let at = self.last(|point| point.1 <= high);
        let (from, own) = self.points[at];
        let longest = self.chord(at).map_or(f64::INFINITY, |slope| from + (high - own) / slope);
        (shortest, longest)
    }

    /// Returns the smallest and largest slope at times within this range.
    fn slopes(&self, (shortest, longest): (f64, f64)) -> (f64, f64) {
        let at = self.last(|point| point.0 <= shortest);
        let (from, size) = self.points[at];
        let most = match shortest - from {
            time if time > 0.0 && time.is_finite() => (self.most(at, shortest) - size) / time,
            _ => self.before(at),
        };
        let at = self.last(|point| point.0 <= longest);
        let least = match self.points.get(at + 1) {
            Some((to, next)) => (next - self.most(at, longest)) / (to - longest),
            None => 0.0,
        };
        (least, most.max(least))
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are read to a few digits")]
fn size(bytes: u64) -> f64 {
    bytes as f64
}

#[expect(clippy::cast_precision_loss, reason = "hours of a year")]
fn count(hours: usize) -> f64 {
    hours as f64
}
