use run_store::rollup::SliceRow;
use units::Nanos;

use crate::request::Lens;
use crate::source::{Axis, Source};
use crate::words::whole_seconds;

/// Divisor that defines a short rest of a span: a rest shorter than the length of a point divided
/// by this is not a point of its own. Our choice.
const REST_MIN: u64 = 2;

/// Buckets of a lens, numbered consecutively over all spans.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    /// For each span: first bucket in the lens, end (exclusive), and consecutive number of the
    /// first bucket.
    parts: Vec<(u32, u32, usize)>,
    /// Begin of each bucket on the run's axis.
    pub at: Vec<Nanos>,
    /// Length of each bucket.
    pub width: Vec<Nanos>,
    /// Time under load in each bucket. Counts are divided by it to get rates.
    pub load: Vec<Nanos>,
    axis: Axis,
}

impl Frame {
    /// Selects the buckets of the wanted spans that overlap the lens's time; a window is widened to
    /// whole buckets.
    pub fn new(source: &Source, width: Nanos, wanted: &[bool], lens: &Lens) -> Self {
        let (from, to) = lens
            .time
            .map_or((Nanos::ZERO, Nanos::MAX), |(from, to)| (from, to.unwrap_or(Nanos::MAX)));
        let mut frame = Self { axis: source.axis(), ..Self::default() };
        for (span, wanted) in source.rollup().spans().iter().zip(wanted) {
            let (begin, end) = (span.from.max(from), span.to.min(to));
            if !wanted || begin >= end || width.0 == 0 {
                frame.parts.push((0, 0, 0));
                continue;
            }
            let number = |bucket: u64| u32::try_from(bucket).unwrap_or(u32::MAX);
            let first = number((begin - span.from).0 / width.0);
            let last = number((end - span.from).0.div_ceil(width.0));
            frame.parts.push((first, last, frame.at.len()));
            for bucket in first..last {
                let at = span.from.saturating_add(Nanos(width.0.saturating_mul(bucket.into())));
                frame.at.push(at);
                frame.width.push(width.min(span.to.saturating_sub(at)));
            }
        }
        frame.load.clone_from(&frame.width);
        frame
    }

    /// Sets the time under load of each bucket to the sum over the slices that began in it. A
    /// bucket is as long as `each` buckets of the slices' rows.
    pub fn timed(mut self, slices: &[SliceRow], each: u32) -> Self {
        let mut times = vec![Nanos::ZERO; self.len()];
        for row in slices {
            if let Some(bucket) = self.flat(row.span, row.bucket / each.max(1)) {
                times[bucket] += row.time;
            }
        }
        for (load, time) in self.load.iter_mut().zip(times) {
            if time > Nanos::ZERO {
                *load = time;
            }
        }
        self
    }

    /// Removes the times of data that has only an order, so that there are no rates.
    pub fn untimed(mut self) -> Self {
        self.load.fill(Nanos::ZERO);
        self
    }

    /// Returns the consecutive number of a span's bucket, if the bucket is in the lens.
    #[inline]
    pub fn flat(&self, span: u32, bucket: u32) -> Option<usize> {
        let (first, end, offset) = *self.parts.get(span as usize)?;
        (first..end).contains(&bucket).then(|| offset + (bucket - first) as usize)
    }

    /// Returns the spans with buckets in the lens: the span, its first bucket, the end (exclusive),
    /// and the consecutive number of the first bucket.
    pub fn parts(&self) -> impl Iterator<Item = (u32, u32, u32, usize)> + '_ {
        let numbered = (0_u32..).zip(&self.parts).filter(|(_, (first, end, _))| first < end);
        numbered.map(|(span, (first, end, offset))| (span, *first, *end, *offset))
    }

    /// Returns the consecutive number of the first bucket of a span, if the span has buckets in the
    /// lens.
    pub fn first(&self, span: u32) -> Option<usize> {
        let (first, end, offset) = *self.parts.get(span as usize)?;
        (first < end).then_some(offset)
    }

    /// Returns the consecutive numbers of the buckets of a span.
    pub fn range(&self, span: u32) -> std::ops::Range<usize> {
        let (first, end, offset) = self.parts.get(span as usize).copied().unwrap_or_default();
        offset..offset + (end - first) as usize
    }

    /// Returns the bucket of a span that contains a time.
    pub fn holding(&self, span: u32, at: Nanos) -> Option<usize> {
        let range = self.range(span);
        let after = self.at[range.clone()].partition_point(|begin| *begin <= at);
        let bucket = range.start + after.checked_sub(1)?;
        (at < self.at[bucket].saturating_add(self.width[bucket])).then_some(bucket)
    }

    /// Returns the number of buckets.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Returns the time under load in the lens.
    pub fn time(&self) -> Nanos {
        self.load.iter().fold(Nanos::ZERO, |sum, width| sum.saturating_add(*width))
    }

    /// Returns the time under load of consecutive buckets.
    fn time_of(&self, buckets: std::ops::Range<usize>) -> Nanos {
        self.load[buckets].iter().fold(Nanos::ZERO, |sum, load| sum.saturating_add(*load))
    }

    /// Merges consecutive buckets to at most `most` points. A point belongs to one span, so if
    /// there are more spans than `most`, each span is a point. The rest of a span that is much
    /// shorter than a point is added to the point before it, because a rate over a few milliseconds
    /// means nothing.
    pub fn points(&self, most: usize) -> Points {
        let lengths: Vec<usize> =
            self.parts.iter().map(|(first, end, _)| (end - first) as usize).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0).max(1);
        let points = |each: usize| lengths.iter().map(|len| len.div_ceil(each)).sum::<usize>();
        let mut each = (self.len() / most.max(1)).clamp(1, longest);
        while each < longest && points(each) > most {
            each += 1;
        }
        let mut found = Points { axis: self.axis, ..Points::default() };
        for (first, end, offset) in &self.parts {
            let buckets = *offset..offset + (end - first) as usize;
            for (position, bucket) in buckets.clone().enumerate() {
                let rest = || self.time_of(bucket..buckets.end);
                let before = || self.time_of(bucket - each..bucket);
                let is_rest = || rest().0 < before().0 / REST_MIN;
                if position % each == 0 && (position == 0 || !is_rest()) {
                    found.push(self.at[bucket]);
                }
                found.extend(self.width[bucket], self.load[bucket]);
            }
        }
        found
    }
}

/// Points over time, each made of some buckets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Points {
    /// Point that each bucket belongs to, by consecutive number.
    pub of: Vec<usize>,
    /// Begin of each point.
    pub at: Vec<Nanos>,
    /// Length of each point.
    pub width: Vec<Nanos>,
    /// Time under load of each point.
    pub load: Vec<Nanos>,
    axis: Axis,
}

impl Points {
    /// Formats the begin of a point for people, in whole seconds.
    pub fn clock(&self, point: usize) -> String {
        self.axis.clock(whole_seconds(self.at[point]))
    }

    fn push(&mut self, at: Nanos) {
        self.at.push(at);
        self.width.push(Nanos::ZERO);
        self.load.push(Nanos::ZERO);
    }

    fn extend(&mut self, width: Nanos, load: Nanos) {
        if let Some(point) = self.at.len().checked_sub(1) {
            self.of.push(point);
            self.width[point] += width;
            self.load[point] += load;
        }
    }

    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Returns the begins of the points, in nanoseconds.
    pub fn at_ns(&self) -> Vec<u64> {
        self.at.iter().map(|at| at.0).collect()
    }

    /// Returns the lengths of the points, in nanoseconds.
    pub fn width_ns(&self) -> Vec<u64> {
        self.width.iter().map(|width| width.0).collect()
    }
}
