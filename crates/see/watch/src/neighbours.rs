//! Finds other VMs whose I/O rises together with a VM's latency.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run_store::slice::Direction;
use statrs::distribution::{ContinuousCDF, Normal};
use stats::{Interval, Resampling, bootstrap};
use units::Ratio;

use crate::Slice;

/// Minimum number of the VM's I/Os in a slice for its mean latency to count.
const IOS_MIN: u64 = 5;
/// Minimum number of slices with high, and with low, load of a neighbour.
const SLICES_MIN: usize = 10;
/// Share of the slices that count as high load of a neighbour.
const TOP: f64 = 0.1;
/// Number of groups into which slices are divided by the VM's own load. Within a group the own load
/// explains no difference.
const STRATA: usize = 5;
/// Number of blocks for the bootstrap. Blocks are used because latencies of neighbouring slices
/// depend on each other.
const BLOCKS: usize = 60;
/// Minimum number of slices in a block.
const BLOCK_MIN: usize = 10;
/// Probability that any of all neighbours is named by mistake, if slices were independent. But
/// latencies that drift for an hour make intervals too narrow. So with this value a neighbour is
/// named on about one in twenty simulated hosts without any interference (`watch.neighbour_false`),
/// and with 0.05 on three in twenty.
const FALSE_CHANCE: f64 = 0.0025;
/// Minimum factor that is worth reporting.
const TIMES_MIN: f64 = 1.1;

/// Neighbour whose I/O rises together with a VM's latency.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// Name of the neighbour.
    pub name: Arc<str>,
    /// Disk that both use.
    pub disk: Arc<str>,
    /// Direction of the neighbour's I/O: reads or writes.
    pub direction: Direction,
    /// Minimum rate at which the neighbour's load counts as high, in bytes per second.
    pub bytes_per_s: f64,
    /// Direction of the VM's I/O that is slower then.
    pub felt_by: Direction,
    /// Factor by which the VM's I/O takes longer while the neighbour's load is high, at equal load
    /// of the VM, with the interval at 95 %.
    pub times: Interval,
    /// Number of slices with high load of the neighbour.
    pub slices: usize,
    /// Number of days (UTC) with both high and low load of the neighbour.
    pub days: usize,
    /// Number of these days on which the VM's I/O took longer while the neighbour's load was high.
    pub days_slower: usize,
}

/// Neighbours of a VM, and pairs that cannot be distinguished.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neighbours {
    /// Named neighbours, the one with the largest factor first.
    pub named: Vec<Neighbour>,
    /// Pairs of neighbours whose loads rise together, so that neither can be named.
    pub together: Vec<(Arc<str>, Arc<str>)>,
    /// Number of examined neighbours, each an initiator, a disk and a direction.
    pub examined: usize,
}

/// Finds the neighbours of a VM.
///
/// For each neighbour, slices in the top tenth of its load are compared with slices below its
/// median load, within groups of equal own load of the VM. The factor compares geometric means of
/// the slices' mean latencies; its interval comes from a bootstrap over blocks of slices. A
/// neighbour is named if chance would give as large a factor in only about one of twenty searches,
/// however many neighbours are searched (Bonferroni; by simulation, see the constant
/// `FALSE_CHANCE`). Two neighbours are both left out if each one's factor vanishes without the
/// other's load.
///
/// The result shows correlation, not cause. A neighbour with fewer than ten slices of high or of
/// low load is not examined. Only clear neighbours are named, so a factor near the smallest that
/// can be found is rather too large.
pub fn neighbours(slices: &[Slice], vm: &str, seed: u64) -> Neighbours {
    let mut disks: BTreeSet<Arc<str>> = BTreeSet::new();
    for key in slices.iter().flat_map(|slice| slice.io.keys()).filter(|key| &*key.vm == vm) {
        disks.insert(Arc::clone(&key.disk));
    }
    let mut tests = Vec::new();
    for disk in disks {
        let loads = loads(slices, vm, &disk);
        for felt_by in [Direction::Read, Direction::Write, Direction::Flush] {
            let Some(victim) = Victim::new(slices, vm, &disk, felt_by) else { continue };
            for ((name, direction), rates) in &loads {
                let test = Test::new(&victim, rates, |_| true);
                tests.extend(test.map(|test| Candidate {
                    name: Arc::clone(name),
                    disk: Arc::clone(&disk),
                    direction: *direction,
                    felt_by,
                    rates: rates.clone(),
                    test,
                }));
            }
        }
    }
    name_them(slices, vm, &tests, seed)
}

/// Neighbour with enough slices for a test.
struct Candidate {
    name: Arc<str>,
    disk: Arc<str>,
    direction: Direction,
    felt_by: Direction,
    rates: Vec<f64>,
    test: Test,
}

fn name_them(slices: &[Slice], vm: &str, tests: &[Candidate], seed: u64) -> Neighbours {
    let mut found = Neighbours { examined: tests.len(), ..Neighbours::default() };
    let Ok(normal) = Normal::new(0.0, 1.0) else { return found };
    #[expect(clippy::cast_precision_loss, reason = "thousands of tests")]
    let least = normal.inverse_cdf(1.0 - FALSE_CHANCE / tests.len().max(1) as f64);
    let passing: Vec<&Candidate> =
        tests.iter().filter(|own| own.test.stands_out(least, seed)).collect();
    for own in &passing {
        let rivals = passing.iter().filter(|other| {
            other.name != own.name && (&other.disk, other.felt_by) == (&own.disk, own.felt_by)
        });
        let rival = rivals.into_iter().find(|other| !own.stands_without(slices, vm, other, seed));
        match rival {
            Some(other) => {
                let (first, second) = (&own.name, &other.name);
                let pair = (first.min(second).clone(), first.max(second).clone());
                if !found.together.contains(&pair) {
                    found.together.push(pair);
                }
            }
            None => found.named.extend(own.neighbour(seed)),
        }
    }
    // Of a neighbour's reads and writes, and of the VM's, the clearest is enough.
    found.named.sort_by(|left, right| right.times.value.total_cmp(&left.times.value));
    let mut seen = BTreeSet::new();
    found.named.retain(|own| seen.insert(Arc::clone(&own.name)));
    found
}

impl Candidate {
    /// Returns true if the factor also exists while the other neighbour has little load. Without
    /// enough such slices the two cannot be distinguished.
    fn stands_without(&self, slices: &[Slice], vm: &str, other: &Self, seed: u64) -> bool {
        let Some(victim) = Victim::new(slices, vm, &self.disk, self.felt_by) else { return false };
        let little = other.test.little;
        let test = Test::new(&victim, &self.rates, |at| other.rates[at] <= little);
        // One test of its own: nothing is searched for.
        test.is_some_and(|test| test.stands_out(1.645, seed))
    }

    fn neighbour(&self, seed: u64) -> Option<Neighbour> {
        let effect = self.test.effect(seed, Resampling::with_seed(seed))?;
        Some(Neighbour {
            name: Arc::clone(&self.name),
            disk: Arc::clone(&self.disk),
            direction: self.direction,
            bytes_per_s: self.test.much,
            felt_by: self.felt_by,
            times: Interval {
                value: effect.value.exp(),
                low: effect.low.exp(),
                high: effect.high.exp(),
            },
            slices: self.test.slices,
            days: self.test.days,
            days_slower: self.test.days_slower,
        })
    }
}

/// Returns the bytes per second of every other initiator on a disk, by slice; reads and writes are
/// separate.
fn loads(slices: &[Slice], vm: &str, disk: &str) -> BTreeMap<(Arc<str>, Direction), Vec<f64>> {
    let mut loads: BTreeMap<(Arc<str>, Direction), Vec<f64>> = BTreeMap::new();
    for (at, slice) in slices.iter().enumerate() {
        let seconds = slice.watched.as_secs_f64().max(f64::MIN_POSITIVE);
        for (key, cell) in &slice.io {
            if &*key.vm == vm || &*key.disk != disk || key.direction == Direction::Flush {
                continue;
            }
            let rates = loads.entry((Arc::clone(&key.vm), key.direction));
            #[expect(clippy::cast_precision_loss, reason = "a rate is read to a few digits")]
            let rate = cell.bytes as f64 / seconds;
            rates.or_insert_with(|| vec![0.0; slices.len()])[at] += rate;
        }
    }
    loads
}

/// Latency of the VM's I/O by slice, in groups of equal own load.
struct Victim {
    /// Logarithm of the mean latency; `None` in slices with too few I/Os.
    latency: Vec<Option<f64>>,
    /// Group of the slice.
    stratum: Vec<usize>,
    /// Day of the slice.
    day: Vec<u64>,
}

impl Victim {
    #[expect(clippy::cast_precision_loss, reason = "means are read to a few digits")]
    fn new(slices: &[Slice], vm: &str, disk: &str, direction: Direction) -> Option<Self> {
        let mut load = vec![0.0; slices.len()];
        let mut latency = vec![None; slices.len()];
        for (at, slice) in slices.iter().enumerate() {
            let seconds = slice.watched.as_secs_f64().max(f64::MIN_POSITIVE);
            let (mut count, mut sum) = (0_u64, 0_u64);
            let own = slice.io.iter().filter(|(key, _)| &*key.vm == vm && &*key.disk == disk);
            for (key, cell) in own {
                load[at] += cell.count as f64 / seconds;
                if key.direction == direction {
                    count = count.saturating_add(cell.count);
                    sum = sum.saturating_add(cell.latency_ns);
                }
            }
            latency[at] = (count >= IOS_MIN).then(|| (sum.max(1) as f64 / count as f64).ln());
        }
        let mut known: Vec<f64> = load
            .iter()
            .zip(&latency)
            .filter(|(_, own)| own.is_some())
            .map(|(own, _)| *own)
            .collect();
        if known.len() < 2 * SLICES_MIN {
            return None;
        }
        known.sort_by(f64::total_cmp);
        let edges: Vec<f64> = (1..STRATA).map(|part| known[known.len() * part / STRATA]).collect();
        let stratum = load.iter().map(|own| edges.partition_point(|edge| edge <= own)).collect();
        let day = slices.iter().map(|slice| slice.start_s / 86_400).collect();
        Some(Self { latency, stratum, day })
    }
}

/// Sums of a block of slices. For each group they are the number and sum of logarithmic latencies,
/// with low and with high load of the neighbour.
type Block = [[(f64, f64); 2]; STRATA];

/// Comparison of slices with high load of a neighbour and slices with low load.
struct Test {
    blocks: Vec<Block>,
    /// Minimum rate of a slice with high load.
    much: f64,
    /// Maximum rate of a slice with low load.
    little: f64,
    slices: usize,
    days: usize,
    days_slower: usize,
}

impl Test {
    /// Sorts slices into high and low load; `None` if there are too few of either.
    fn new(victim: &Victim, rates: &[f64], is_used: impl Fn(usize) -> bool) -> Option<Self> {
        let usable = |at: &usize| victim.latency[*at].is_some() && is_used(*at);
        let mut sorted: Vec<f64> = (0..rates.len()).filter(usable).map(|at| rates[at]).collect();
        sorted.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a position in a list"
        )]
        let much = *sorted.get((sorted.len() as f64 * (1.0 - TOP)) as usize)?;
        let little = sorted[sorted.len() / 2];
        if much <= little {
            return None;
        }
        let length = rates.len().div_ceil(BLOCKS).max(BLOCK_MIN);
        let mut blocks = vec![Block::default(); rates.len().div_ceil(length)];
        let mut days: BTreeMap<u64, [(f64, f64); 2]> = BTreeMap::new();
        let mut counts = [0, 0];
        for at in (0..rates.len()).filter(usable) {
            let kind = usize::from(rates[at] >= much);
            if kind == 0 && rates[at] > little {
                continue;
            }
            let latency = victim.latency[at].unwrap_or_default();
            let add = |sum: &mut (f64, f64)| (sum.0, sum.1) = (sum.0 + 1.0, sum.1 + latency);
            add(&mut blocks[at / length][victim.stratum[at]][kind]);
            add(&mut days.entry(victim.day[at]).or_default()[kind]);
            counts[kind] += 1;
        }
        if counts.iter().any(|count| *count < SLICES_MIN) {
            return None;
        }
        let both = days.values().filter(|[little, much]| little.0 > 0.0 && much.0 > 0.0);
        let is_slower = |[little, much]: &&[(f64, f64); 2]| much.1 / much.0 > little.1 / little.0;
        let (days_slower, days) = (both.clone().filter(is_slower).count(), both.count());
        Some(Self { blocks, much, little, slices: counts[1], days, days_slower })
    }

    /// Calculates the logarithm of the factor: the mean difference within the groups, each weighted
    /// by the precision of a difference of two means.
    fn value(blocks: &[Block]) -> f64 {
        let mut sums = Block::default();
        for block in blocks {
            for (sum, own) in sums.iter_mut().flatten().zip(block.iter().flatten()) {
                *sum = (sum.0 + own.0, sum.1 + own.1);
            }
        }
        let (mut weights, mut total) = (0.0, 0.0);
        for [little, much] in sums {
            if little.0 > 0.0 && much.0 > 0.0 {
                let weight = little.0 * much.0 / (little.0 + much.0);
                weights += weight;
                total += weight * (much.1 / much.0 - little.1 / little.0);
            }
        }
        // Blocks without both kinds say nothing of a difference.
        if weights > 0.0 { total / weights } else { 0.0 }
    }

    fn effect(&self, seed: u64, how: Resampling) -> Option<Interval> {
        bootstrap(&self.blocks, Self::value, Resampling { seed, ..how })
    }

    /// Returns true if the factor is at least this many standard deviations above 1, and at least
    /// [`TIMES_MIN`].
    fn stands_out(&self, deviations: f64, seed: u64) -> bool {
        let value = Self::value(&self.blocks);
        if value < TIMES_MIN.ln() {
            return false;
        }
        // The middle two thirds of the draws are two standard deviations wide.
        let how = Resampling { confidence: Ratio::new(0.6827), resamples: 400, seed };
        let deviation = self.effect(seed, how).map(|own| (own.high - own.low) / 2.0);
        deviation.is_some_and(|deviation| value > deviations * deviation)
    }
}
