//! Calculates the amount of storage in use, and the size of a cache for it.

use cache::mrc::{CurvePoint, ExactStack, MissRatioCurve};
use cache::tier::{Access, Config, HostId, Step, StepDevice, VmId, VmSettings, Wait, WriteMode};
use cache::{PageId, Tier};
use state_machine::Operation;

use crate::fold::{PAGE, Pages, Reference, SMALL};
use crate::interval::{Blocks, ShareInterval};

/// Lengths of the windows in milliseconds: 1 min, 5 min, 1 h; `None` is the whole trace.
pub(crate) const WINDOWS_MS: [Option<u32>; 4] =
    [Some(60_000), Some(300_000), Some(3_600_000), None];
/// Host id of the tested tiers.
const HOST: HostId = HostId(0);
/// Smallest tested tier.
const TIER_MIN: u64 = 64 << 20;

/// Distinct bytes in windows of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Touched {
    pub(crate) window_ms: Option<u32>,
    pub(crate) windows: u64,
    pub(crate) mean_bytes: f64,
    pub(crate) max_bytes: f64,
}

/// Result of a tier of some size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TierAnswer {
    pub(crate) bytes: u64,
    pub(crate) reads_served: Option<f64>,
    pub(crate) io_served: Option<f64>,
    /// Intervals of `reads_served` and of `io_served`.
    pub(crate) intervals: [Option<ShareInterval>; 2],
    pub(crate) written_bytes: f64,
}

/// Miss-ratio curve for all pages, estimated from the sampled pages.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Page size, bytes.
    pub page_bytes: u64,
    pub(crate) references: u64,
    curve: MissRatioCurve,
    share: f64,
    /// Ratio of sampled to expected references: the correction of SHARDS for a sample with more or
    /// fewer references than its share (FAST 2015, section 3.3).
    correction: f64,
}

impl Curve {
    /// Returns the share of references that miss in a cache of so many sampled pages.
    fn at_pages(&self, pages: u64) -> f64 {
        self.corrected(self.curve.miss_ratio(pages))
    }

    /// Returns the share of references that miss in a cache of `bytes`, interpolated between whole
    /// pages.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole pages")]
    pub fn miss_ratio(&self, bytes: f64) -> f64 {
        let pages = bytes / self.page_bytes as f64 * self.share;
        let below = self.at_pages(pages.floor() as u64);
        let above = self.at_pages(pages.ceil() as u64);
        below + (above - below) * pages.fract()
    }

    fn corrected(&self, miss_ratio: f64) -> f64 {
        (miss_ratio * self.correction).min(1.0)
    }

    fn bytes(&self, point: &CurvePoint) -> f64 {
        point.pages as f64 / self.share * self.page_bytes as f64
    }

    /// Returns bytes and miss ratio of the knee.
    pub(crate) fn knee(&self) -> Option<(f64, f64)> {
        let knee = self.curve.knee()?;
        Some((self.bytes(&knee), self.corrected(knee.miss_ratio)))
    }

    /// Returns the share of references that miss in a cache of any size.
    pub(crate) fn least(&self) -> f64 {
        self.corrected(self.curve.points().last().map_or(1.0, |point| point.miss_ratio))
    }

    /// Returns points of the curve, about evenly spaced on a logarithmic scale, as bytes and miss
    /// ratio. Each point is at a whole number of pages.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole pages")]
    pub(crate) fn points(&self, most: u32) -> Vec<(f64, f64)> {
        let points = self.curve.points();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
        let (low, high) = (first.pages as f64, last.pages as f64);
        let step = |at: u32| low * (high / low).powf(f64::from(at) / f64::from(most - 1));
        let mut pages: Vec<u64> = (0..most).map(|at| step(at).round() as u64).collect();
        pages.dedup();
        let bytes = |pages: u64| pages as f64 / self.share * self.page_bytes as f64;
        pages.into_iter().map(|pages| (bytes(pages), self.at_pages(pages))).collect()
    }
}

/// References of one VM, or of all VMs, with pages numbered from 0.
pub(crate) struct Subject {
    references: Vec<Reference>,
    ids: Vec<u32>,
    pages: usize,
    share: f64,
    large: f64,
    small: f64,
}

impl Subject {
    /// Selects the references of `vm`, or of all VMs for `None`.
    pub(crate) fn new(pages: &Pages, vm: Option<u16>) -> Self {
        let is_wanted = |reference: &&Reference| vm.is_none_or(|vm| vm == reference.vm);
        let references: Vec<Reference> = pages.log().iter().filter(is_wanted).copied().collect();
        let mut order: Vec<(u64, u32)> =
            (0..).zip(&references).map(|(at, r)| (r.page, at)).collect();
        order.sort_unstable();
        let mut ids = vec![0; references.len()];
        let mut id = 0_u32;
        for at in 0..order.len() {
            id += u32::from(at > 0 && order[at].0 != order[at - 1].0);
            ids[order[at].1 as usize] = id;
        }
        let share = pages.share();
        let small: u64 = references.iter().map(|r| r.small().1 - r.small().0 + 1).sum();
        // For all VMs the number of references is known exactly; for one it is estimated from the
        // sample.
        let (large, small) = match vm {
            None => (pages.large as f64, pages.small as f64),
            Some(_) => (references.len() as f64 / share, small as f64 / share),
        };
        let pages = if references.is_empty() { 0 } else { id as usize + 1 };
        Self { references, ids, pages, share, large, small }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.references.is_empty()
    }

    pub(crate) fn share(&self) -> f64 {
        self.share
    }

    pub(crate) fn references(&self) -> u64 {
        self.references.len() as u64
    }

    /// Counts distinct pages of 4 KiB, in windows that begin at multiples of their length.
    pub(crate) fn touched(&self, window_ms: Option<u32>) -> Touched {
        let mut masks = vec![0_u16; self.pages];
        let mut stamps = vec![u32::MAX; self.pages];
        let (mut windows, mut all, mut most, mut now, mut now_at) =
            (0_u64, 0_u64, 0_u64, 0_u64, None);
        for (reference, id) in self.references.iter().zip(&self.ids) {
            let window = window_ms.map_or(0, |length| reference.at_ms / length);
            if now_at != Some(window) {
                now_at = Some(window);
                windows += 1;
                now = 0;
            }
            let id = *id as usize;
            if stamps[id] != window {
                stamps[id] = window;
                masks[id] = 0;
            }
            let (first, last) = reference.small();
            let bits = (u16::MAX >> (15 - (last - first))) << first;
            let fresh = u64::from((bits & !masks[id]).count_ones());
            masks[id] |= bits;
            now += fresh;
            all += fresh;
            most = most.max(now);
        }
        let bytes = |pages: f64| pages * SMALL as f64 / self.share;
        let mean_bytes = bytes(all as f64 / windows.max(1) as f64);
        Touched { window_ms, windows, mean_bytes, max_bytes: bytes(most as f64) }
    }

    /// Calculates the miss ratios of LRU with pages of 64 KiB.
    pub(crate) fn large_curve(&self) -> Curve {
        let mut stack = ExactStack::new();
        self.ids.iter().for_each(|id| stack.reference(PageId(u64::from(*id))));
        self.curve(&stack, PAGE, self.references(), self.large)
    }

    /// Calculates the miss ratios of LRU with pages of 4 KiB.
    pub(crate) fn small_curve(&self) -> Curve {
        let mut stack = ExactStack::new();
        let mut seen = 0;
        for (reference, id) in self.references.iter().zip(&self.ids) {
            let (first, last) = reference.small();
            seen += last - first + 1;
            (first..=last).for_each(|at| stack.reference(PageId(u64::from(*id) * 16 + at)));
        }
        self.curve(&stack, SMALL, seen, self.small)
    }

    fn curve(&self, stack: &ExactStack, page_bytes: u64, references: u64, all: f64) -> Curve {
        let correction = references as f64 / (all * self.share).max(1.0);
        let curve = stack.curve();
        Curve { page_bytes, references, curve, share: self.share, correction }
    }

    /// Returns the tier sizes to test, as powers of two: from a sixteenth of the accessed bytes up
    /// to all of them, and the knee.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes, rounded")]
    pub(crate) fn tier_sizes(&self, knee: Option<f64>) -> Vec<u64> {
        let all = self.pages as f64 / self.share * PAGE as f64;
        let sizes = [all / 16.0, all / 8.0, all / 4.0, all / 2.0, all];
        let sizes = sizes.into_iter().chain(knee);
        let mut sizes: Vec<u64> =
            sizes.map(|size| (size.max(TIER_MIN as f64) as u64).next_power_of_two()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Simulates a tier of this size. For a sample, the tier is smaller by the same factor
    /// (miniature simulation, Waldspurger and others, USENIX ATC 2017).
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes, rounded")]
    pub(crate) fn tier(&self, bytes: u64) -> Option<TierAnswer> {
        let scaled = ((bytes as f64 * self.share) as u64).max(PAGE);
        let page_bytes = u32::try_from(PAGE).ok()?;
        let vms = VmSettings { write_mode: WriteMode::Back, ..VmSettings::default() };
        let config = Config { vms, ..Config::new(scaled, page_bytes) };
        let mut tier = Tier::new(config).ok()?;
        let mut steps = Vec::new();
        let from_ms = self.references.first().map_or(0, |reference| reference.at_ms);
        let to_ms = self.references.last().map_or(0, |reference| reference.at_ms);
        let mut served = Served::new(u64::from(to_ms.saturating_sub(from_ms)) + 1);
        // A sample has only some pages of an I/O, so each counts separately.
        let is_whole = self.share >= 1.0;
        for (reference, id) in self.references.iter().zip(&self.ids) {
            let (first, last) = reference.small();
            let operation = if reference.is_write() { Operation::Write } else { Operation::Read };
            let offset = u64::from(*id) * PAGE + first * SMALL;
            let length = u32::try_from((last - first + 1) * SMALL).unwrap_or(u32::MAX);
            tier.access(&Access { vm: VmId(0), operation, offset, length }, &mut steps);
            let waits =
                |step: &Step| step.place == StepDevice::Backing && step.wait == Wait::Request;
            let is_served = !steps.iter().any(waits);
            let at = u64::from(reference.at_ms.saturating_sub(from_ms));
            served.take(at, reference.is_write(), is_whole && reference.goes_on(), is_served);
            if tier.wants_cleaning(HOST) {
                tier.clean(HOST, 64, &mut steps);
            }
            steps.clear();
        }
        let written_bytes = tier.counters().tier_written_bytes as f64 / self.share;
        let [reads_served, io_served] = served.shares();
        // Blocks of time share one sample of pages, so they cannot show the error of sampling.
        let interval = |own: &Blocks| own.interval_of_counts().filter(|_| is_whole);
        let intervals = served.blocks.each_ref().map(interval);
        Some(TierAnswer { bytes, reads_served, io_served, intervals, written_bytes })
    }
}

/// Counts I/Os that a tier served without the storage behind it: all their pages were hits.
#[derive(Debug)]
struct Served {
    /// `[direction][kind]`: direction is read, write; kind is all I/Os, I/Os not served.
    counts: [[u64; 2]; 2],
    /// Reads, and all I/Os, by block of time. Served I/Os are the part.
    blocks: [Blocks; 2],
    /// True if all pages of the current I/O were hits so far.
    is_so_far: bool,
}

impl Served {
    fn new(length_ms: u64) -> Self {
        let blocks = [(); 2].map(|()| Blocks::new(length_ms));
        Self { counts: [[0; 2]; 2], blocks, is_so_far: false }
    }

    fn take(&mut self, at_ms: u64, is_write: bool, goes_on: bool, is_served: bool) {
        let [all, failed] = &mut self.counts[usize::from(is_write)];
        let (mut part, mut whole) = (0.0, 0.0);
        if !goes_on {
            *all += 1;
            self.is_so_far = true;
            (part, whole) = (1.0, 1.0);
        }
        if self.is_so_far && !is_served {
            *failed += 1;
            part -= 1.0;
        }
        self.is_so_far &= is_served;
        let [reads, ios] = &mut self.blocks;
        ios.add(at_ms, part, whole);
        if !is_write {
            reads.add(at_ms, part, whole);
        }
    }

    /// Returns the served shares of reads, and of all I/Os; `None` if there are none.
    fn shares(&self) -> [Option<f64>; 2] {
        let [reads, writes] = self.counts;
        let all = [reads[0] + writes[0], reads[1] + writes[1]];
        [reads, all].map(|[all, failed]| (all > 0).then(|| (all - failed) as f64 / all as f64))
    }
}

#[cfg(test)]
#[path = "../../trace/tests/import/shared.rs"]
mod shared;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use trace::OpenOptions;

    use super::*;

    fn folder() -> Option<PathBuf> {
        Some(shared::file("oracle.csv", "oracle")?.parent()?.to_owned())
    }

    fn pages(folder: &std::path::Path, room: usize) -> Pages {
        let path = folder.join("cloudphysics.vscsi.zst");
        let mut source = trace::open(&path, &OpenOptions::default()).expect("it opens");
        let mut pages = Pages::new(room);
        let mut batch = Vec::new();
        loop {
            source.read(&mut batch).expect("it is whole");
            if batch.is_empty() {
                return pages;
            }
            batch.iter().for_each(|record| pages.push(record));
        }
    }

    #[test]
    fn miss_ratios_are_those_of_an_independent_simulator() {
        let Some(folder) = folder() else { return };
        let subject = Subject::new(&pages(&folder, 10_000_000), None);
        let curves = [("cp4k", subject.small_curve()), ("cp64k", subject.large_curve())];
        let oracle = fs::read_to_string(folder.join("oracle.csv")).expect("readable");
        let mut compared = 0;
        for line in oracle.lines() {
            let fields: Vec<&str> = line.split(',').collect();
            let [trace, _, "LRU", size, references, ratio, ..] = fields[..] else { continue };
            let Some((_, curve)) = curves.iter().find(|(name, _)| *name == trace) else { continue };
            assert_eq!(curve.references.to_string(), references, "{trace}");
            let size: f64 = size.parse().expect("pages");
            let ratio: f64 = ratio.parse().expect("a ratio");
            let ours = curve.miss_ratio(size * curve.page_bytes as f64);
            assert!((ours - ratio).abs() <= 0.000_051, "{trace} at {size}: {ours}, not {ratio}");
            compared += 1;
        }
        assert!(compared >= 4, "only {compared} lines of the oracle were compared");
    }

    fn subject(records: &[(u64, Operation, u64, u32)]) -> Subject {
        let mut pages = Pages::new(1000);
        for (at, operation, offset, length) in records {
            let operation = match operation {
                Operation::Write => trace::Operation::Write,
                _ => trace::Operation::Read,
            };
            let issue = units::Nanos(*at);
            pages.push(&trace::IoRecord::new(issue, operation, *offset, *length));
        }
        Subject::new(&pages, None)
    }

    #[test]
    fn an_io_of_which_the_tier_lacks_a_page_is_not_served_by_it() {
        let kib = 1024;
        let subject = subject(&[
            (0, Operation::Read, 0, 64 * kib),
            // Three pages, of which the first is in the tier.
            (1, Operation::Read, 0, 192 * kib),
            (2, Operation::Read, 0, 192 * kib),
            (3, Operation::Write, 1 << 20, 64 * kib),
        ]);
        let tier = subject.tier(64 << 20).expect("a tier");
        assert_eq!(tier.reads_served, Some(1.0 / 3.0));
        assert_eq!(tier.io_served, Some(0.5));
    }

    #[test]
    fn every_point_of_a_curve_is_at_the_very_size_it_names() {
        let loops = (0..40_u64).map(|at| (at, Operation::Read, at % 5 * PAGE, 64 * 1024));
        let curve = subject(&loops.collect::<Vec<_>>()).large_curve();
        for (bytes, miss_ratio) in curve.points(50) {
            let pages = bytes / PAGE as f64;
            assert_eq!(pages.fract(), 0.0, "{bytes} B");
            // A loop over five pages always misses in a smaller cache; with five pages it misses
            // only once each.
            let expected = if pages < 5.0 { 1.0 } else { 5.0 / 40.0 };
            assert_eq!(miss_ratio, expected, "{pages} pages");
        }
        assert_eq!(curve.miss_ratio(4.0 * PAGE as f64), 1.0);
        assert!(curve.miss_ratio(4.9 * PAGE as f64) > curve.miss_ratio(5.0 * PAGE as f64));
    }

    #[test]
    fn a_sample_is_near_the_whole() {
        let Some(folder) = folder() else { return };
        let whole = Subject::new(&pages(&folder, 10_000_000), None);
        let sample = pages(&folder, 40_000);
        assert!(sample.share() < 0.5, "{} is not much of a sample", sample.share());
        let sample = Subject::new(&sample, None);
        let (exact, near) = (whole.large_curve(), sample.large_curve());
        for mib in [64.0, 256.0, 1024.0, 2048.0] {
            let bytes = mib * 1024.0 * 1024.0;
            let apart = (exact.miss_ratio(bytes) - near.miss_ratio(bytes)).abs();
            assert!(apart < 0.03, "{mib} MiB: {apart}");
        }
        let (all, about) = (whole.touched(None).max_bytes, sample.touched(None).max_bytes);
        assert!((about / all - 1.0).abs() < 0.05, "{about} B for {all} B");
    }
}
