use run_store::rollup::SliceRow;
use units::Nanos;

use crate::request::Lens;
use crate::source::Source;

/// A rest of a span shorter than this part of a point is no point of its own. Our choice.
const REST_MIN: u64 = 2;

/// The buckets of a lens, numbered flat over all spans.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    /// By span: first bucket in the lens, one past the last, flat number of the first.
    parts: Vec<(u32, u32, usize)>,
    /// Begin of each bucket on the run's axis.
    pub at: Vec<Nanos>,
    /// Its length.
    pub width: Vec<Nanos>,
    /// Time in it that was under load: what counts are divided by.
    pub load: Vec<Nanos>,
}

impl Frame {
    /// The buckets of the wanted spans that touch the lens's time: a window is widened to whole
    /// buckets.
    pub fn new(source: &Source, width: Nanos, wanted: &[bool], lens: &Lens) -> Self {
        let (from, to) = lens
            .time
            .map_or((Nanos::ZERO, Nanos::MAX), |(from, to)| (from, to.unwrap_or(Nanos::MAX)));
        let mut frame = Self::default();
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

    /// The same with the time of the slices that began in each bucket. Each bucket is as long as
    /// `each` buckets of the slices' rows.
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

    /// The same of what has an order and no times: nothing has a rate.
    pub fn untimed(mut self) -> Self {
        self.load.fill(Nanos::ZERO);
        self
    }

    /// The flat number of a bucket of a span, if it is in the lens.
    #[inline]
    pub fn flat(&self, span: u32, bucket: u32) -> Option<usize> {
        let (first, end, offset) = *self.parts.get(span as usize)?;
        (first..end).contains(&bucket).then(|| offset + (bucket - first) as usize)
    }

    /// Spans with buckets in the lens: the span, its first bucket, one past the last, and the
    /// flat number of the first.
    pub fn parts(&self) -> impl Iterator<Item = (u32, u32, u32, usize)> + '_ {
        let numbered = (0_u32..).zip(&self.parts).filter(|(_, (first, end, _))| first < end);
        numbered.map(|(span, (first, end, offset))| (span, *first, *end, *offset))
    }

    /// The flat number of the first bucket of a span that has any in the lens.
    pub fn first(&self, span: u32) -> Option<usize> {
        let (first, end, offset) = *self.parts.get(span as usize)?;
        (first < end).then_some(offset)
    }

    /// The flat numbers of the buckets of a span.
    pub fn range(&self, span: u32) -> std::ops::Range<usize> {
        let (first, end, offset) = self.parts.get(span as usize).copied().unwrap_or_default();
        offset..offset + (end - first) as usize
    }

    /// The bucket of a span in which a moment lies.
    pub fn holding(&self, span: u32, at: Nanos) -> Option<usize> {
        let range = self.range(span);
        let after = self.at[range.clone()].partition_point(|begin| *begin <= at);
        let bucket = range.start + after.checked_sub(1)?;
        (at < self.at[bucket].saturating_add(self.width[bucket])).then_some(bucket)
    }

    /// How many buckets there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// All time in the lens that was under load.
    pub fn time(&self) -> Nanos {
        self.load.iter().fold(Nanos::ZERO, |sum, width| sum.saturating_add(*width))
    }

    /// Time under load of neighbouring buckets.
    fn time_of(&self, buckets: std::ops::Range<usize>) -> Nanos {
        self.load[buckets].iter().fold(Nanos::ZERO, |sum, load| sum.saturating_add(*load))
    }

    /// At most `most` points of as many neighbouring buckets each as needed; a point does not
    /// reach from one span into another, so that more spans than `most` have a point each. The
    /// rest of a span that is much shorter than a point belongs to the point before it: a rate
    /// over a few milliseconds says nothing.
    pub fn points(&self, most: usize) -> Points {
        let lengths: Vec<usize> =
            self.parts.iter().map(|(first, end, _)| (end - first) as usize).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0).max(1);
        let points = |each: usize| lengths.iter().map(|len| len.div_ceil(each)).sum::<usize>();
        let mut each = (self.len() / most.max(1)).clamp(1, longest);
        while each < longest && points(each) > most {
            each += 1;
        }
        let mut found = Points::default();
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

/// Points over time, each some buckets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Points {
    /// By flat bucket: its point.
    pub of: Vec<usize>,
    /// Begin of each point.
    pub at: Vec<Nanos>,
    /// Its length.
    pub width: Vec<Nanos>,
    /// Its time under load.
    pub load: Vec<Nanos>,
}

impl Points {
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

    /// Begins, nanoseconds.
    pub fn at_ns(&self) -> Vec<u64> {
        self.at.iter().map(|at| at.0).collect()
    }

    /// Lengths, nanoseconds.
    pub fn width_ns(&self) -> Vec<u64> {
        self.width.iter().map(|width| width.0).collect()
    }
}
