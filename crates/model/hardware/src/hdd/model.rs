use std::collections::VecDeque;

use state_machine::Operation;
use units::{Bytes, Nanos};

use super::geometry::{Geometry, SECTOR, SectorPlace};
use super::parameters::{HddParameters, Order};
use super::seek::SeekCurve;
use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, OUT_OF_RANGE, Outbox};
use crate::usage::{Meter, Usage};

/// A hard disk. It serves one request at a time, and chooses the next by [`Order`].
#[derive(Debug)]
pub struct Hdd {
    parameters: HddParameters,
    geometry: Geometry,
    seek: SeekCurve,
    /// Requests from which the disk chooses, oldest first.
    window: Vec<Waiting>,
    /// Requests that arrived when the window was full.
    beyond: VecDeque<Job>,
    serving: Option<Job>,
    cylinder: u32,
    ahead: Option<Ahead>,
    meter: Meter,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    job: Job,
    came: Nanos,
    place: SectorPlace,
}

/// Sectors that were read ahead after the last read, and those still being read.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    /// First sector in the buffer.
    start: u64,
    /// First sector that had not been read at `since`.
    from: u64,
    place: SectorPlace,
    since: Nanos,
    /// Sector at which reading ahead ends.
    limit: u64,
}

/// Best candidate for the next request so far.
struct Best {
    place: usize,
    cost: Nanos,
    /// Distance in cylinders from which on no request can be cheaper.
    too_far: u32,
}

/// Amount by which a longer seek may seem shorter, because times are whole nanoseconds of rounded
/// sums.
const ROUNDING: Nanos = Nanos(1);

impl Hdd {
    /// Creates a disk whose head is at the outer edge.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: HddParameters) -> Result<Self, ParameterError> {
        let geometry = Geometry::new(&parameters)?;
        let seek = SeekCurve::fit(&parameters.seek, geometry.cylinders)?;
        Check("hdd").that(parameters.queue > 0, "queue", parameters.queue, "at least 1")?;
        Ok(Self {
            parameters,
            geometry,
            seek,
            window: Vec::new(),
            beyond: VecDeque::new(),
            serving: None,
            cylinder: 0,
            ahead: None,
            meter: Meter::new(1),
        })
    }

    /// Returns the size of the disk.
    pub fn capacity(&self) -> Bytes {
        self.parameters.capacity
    }

    fn wait(&mut self, now: Nanos, job: Job) {
        let place = self.geometry.locate(job.offset / SECTOR);
        self.window.push(Waiting { job, came: now, place });
    }

    /// Starts the next request, if there is one and the disk is idle.
    fn next(&mut self, now: Nanos, out: &mut Outbox) {
        if self.serving.is_some() || self.window.is_empty() {
            return;
        }
        let waiting = self.window.remove(self.choose(now));
        if let Some(job) = self.beyond.pop_front() {
            self.wait(now, job);
        }
        let end = self.serve_held(now, &waiting).unwrap_or_else(|| self.move_to(now, &waiting));
        self.serving = Some(waiting.job);
        self.meter.start(now);
        out.wake_at(end, 0);
    }

    fn choose(&self, now: Nanos) -> usize {
        let is_old =
            |waiting: &Waiting| now.saturating_sub(waiting.came) >= self.parameters.age_max;
        if self.window.len() == 1 || is_old(&self.window[0]) {
            return 0;
        }
        if self.parameters.order == Order::Fifo {
            return 0;
        }
        let mut best = Best { place: 0, cost: Nanos(u64::MAX), too_far: u32::MAX };
        for (place, waiting) in self.window.iter().enumerate() {
            let cost = match self.held_until(now, waiting) {
                Some(_) => Some(Nanos::ZERO),
                None => self.cost_below(now, waiting, &mut best),
            };
            if let Some(cost) = cost.filter(|cost| *cost < best.cost) {
                (best.place, best.cost) = (place, cost);
                if cost == Nanos::ZERO {
                    break;
                }
            }
        }
        best.place
    }

    /// Returns the cost of a request that is not in the buffer; `None` if it certainly costs more
    /// than the best so far.
    ///
    /// Most requests of a full window are too far away to be chosen. They cost one comparison here
    /// instead of a square root and two divisions, because seek times increase with distance.
    #[inline]
    fn cost_below(&self, now: Nanos, waiting: &Waiting, best: &mut Best) -> Option<Nanos> {
        let distance = self.cylinder.abs_diff(waiting.place.cylinder);
        if distance >= best.too_far {
            return None;
        }
        let seek = self.seek.time(distance);
        let start = match self.parameters.order {
            Order::ShortestPositioning => now + self.parameters.overhead,
            _ => Nanos::ZERO,
        };
        if start + seek > best.cost.saturating_add(ROUNDING) {
            best.too_far = distance;
            return None;
        }
        let there = start + seek + self.settle(waiting);
        Some(match self.parameters.order {
            Order::ShortestPositioning if there < best.cost => {
                there + self.geometry.rotation(there, waiting.place.angle)
            }
            _ => there,
        })
    }

    fn settle(&self, waiting: &Waiting) -> Nanos {
        match waiting.job.operation {
            Operation::Write => self.parameters.write_settle,
            _ => Nanos::ZERO,
        }
    }

    fn seek_time(&self, waiting: &Waiting) -> Nanos {
        self.seek.time(self.cylinder.abs_diff(waiting.place.cylinder)) + self.settle(waiting)
    }

    /// Returns the time at which the first sector of a request is under the head.
    fn positioned(&self, now: Nanos, waiting: &Waiting) -> Nanos {
        let there = now + self.parameters.overhead + self.seek_time(waiting);
        there + self.geometry.rotation(there, waiting.place.angle)
    }

    /// Serves a request from the platter; returns the time at which it ends.
    fn move_to(&mut self, now: Nanos, waiting: &Waiting) -> Nanos {
        let start = self.positioned(now, waiting);
        let job = &waiting.job;
        let sectors = u64::from(job.length).div_ceil(SECTOR);
        let end = start + self.geometry.transfer(&waiting.place, sectors);
        let behind = job.offset / SECTOR + sectors;
        let last = self.geometry.locate(behind.min(self.geometry.sectors - 1));
        self.cylinder = last.cylinder;
        self.ahead = (job.operation == Operation::Read).then_some(Ahead {
            start: job.offset / SECTOR,
            from: behind,
            place: last,
            since: end,
            limit: self.limit(behind),
        });
        end
    }

    fn limit(&self, behind: u64) -> u64 {
        (behind + self.parameters.read_ahead.get() / SECTOR).min(self.geometry.sectors)
    }

    /// Returns the time at which the last byte of a read is in the buffer, if the read lies within
    /// the read-ahead; otherwise `None`.
    fn held_until(&self, now: Nanos, waiting: &Waiting) -> Option<Nanos> {
        let ahead = self.ahead.as_ref()?;
        let first = waiting.job.offset / SECTOR;
        let behind = waiting.job.end().div_ceil(SECTOR);
        let is_within = waiting.job.operation == Operation::Read
            && first >= ahead.start
            && behind <= ahead.limit;
        is_within.then(|| {
            let sectors = behind.saturating_sub(ahead.from);
            let read = ahead.since + self.geometry.reading_on(&ahead.place, sectors);
            read.max(now + self.parameters.overhead)
        })
    }

    /// Serves a request from the buffer if possible, and extends the read-ahead.
    fn serve_held(&mut self, now: Nanos, waiting: &Waiting) -> Option<Nanos> {
        let end = self.held_until(now, waiting)?;
        let limit = self.limit(waiting.job.end().div_ceil(SECTOR));
        let ahead = self.ahead.as_mut().expect("a hit has a buffer");
        let read = self.geometry.passed(&ahead.place, now.saturating_sub(ahead.since));
        if ahead.from + read < ahead.limit {
            // Still reading: the limit moves on. A head that has stopped stays where it is,
            // and the next read beyond the buffer pays for the turn it lost.
            ahead.limit = ahead.limit.max(limit);
        }
        ahead.start = waiting.job.offset / SECTOR;
        Some(end)
    }
}

impl Component for Hdd {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        if job.end() > self.geometry.sectors * SECTOR {
            return out.answer(&job, Err(OUT_OF_RANGE));
        }
        if job.operation == Operation::Flush {
            return out.answer(&job, Ok(()));
        }
        self.meter.enter(now);
        if self.window.len() < self.parameters.queue as usize {
            self.wait(now, job);
        } else {
            self.beyond.push_back(job);
        }
        self.next(now, out);
    }

    fn wake(&mut self, now: Nanos, _tag: u32, out: &mut Outbox) {
        let job = self.serving.take().expect("an alarm completes a request");
        self.meter.leave(now, job.length);
        self.meter.stop(now);
        out.answer(&job, Ok(()));
        self.next(now, out);
    }

    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}

#[cfg(test)]
mod tests {
    use state_machine::{Purpose, Stream};

    use super::super::parameters::HddPreset;
    use super::*;
    use crate::part::{Class, PartId, StreamId, Ticket};

    /// Chooses by computing the full cost of every request.
    fn plainly(disk: &Hdd, now: Nanos) -> Option<usize> {
        let cost = |waiting: &Waiting| match disk.parameters.order {
            Order::Fifo => Nanos::ZERO,
            _ if disk.held_until(now, waiting).is_some() => Nanos::ZERO,
            Order::ShortestSeek => disk.seek_time(waiting),
            Order::ShortestPositioning => disk.positioned(now, waiting),
        };
        let costs = disk.window.iter().map(cost).enumerate();
        costs.min_by_key(|(place, cost)| (*cost, *place)).map(|(place, _)| place)
    }

    fn job(stream: &mut Stream, pages: u64) -> Job {
        // Some lie together: a tenth of the disk, or behind each other.
        let within = if stream.chance(0.3) { pages / 1000 } else { pages };
        let (offset, length) = (stream.below(within) * 4096, 4096);
        let operation = if stream.chance(0.5) { Operation::Read } else { Operation::Write };
        let (from, ticket) = (PartId::HOST, Ticket(0));
        Job {
            from,
            ticket,
            operation,
            offset,
            length,
            stream: StreamId(0),
            class: Class::Foreground,
        }
    }

    #[test]
    fn the_next_request_is_the_one_that_a_look_at_all_of_them_finds() {
        let mut stream = Stream::derive(1, &[], Purpose::Device);
        let orders = [Order::Fifo, Order::ShortestSeek, Order::ShortestPositioning];
        for (preset, order) in
            HddPreset::ALL.into_iter().flat_map(|preset| orders.map(|order| (preset, order)))
        {
            let parameters = HddParameters { order, ..preset.parameters() };
            let pages = parameters.capacity.get() / 4096;
            let mut disk = Hdd::new(parameters).expect("a preset is valid");
            let mut now = Nanos::ZERO;
            for _ in 0..2000 {
                while disk.window.len() < 32 {
                    disk.wait(now, job(&mut stream, pages));
                }
                now += Nanos(stream.below(5_000_000));
                if disk.window.iter().all(|waiting| now < waiting.came + disk.parameters.age_max) {
                    assert_eq!(Some(disk.choose(now)), plainly(&disk, now), "{preset:?} {order:?}");
                }
                let waiting = disk.window.remove(disk.choose(now));
                disk.serve_held(now, &waiting).unwrap_or_else(|| disk.move_to(now, &waiting));
            }
        }
    }
}
