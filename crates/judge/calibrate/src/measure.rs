use std::time::Duration;

use run_store::slice::{Direction, Slice};
use stats::{Compact, Histogram};
use units::Nanos;

use super::loops::Span;
use super::matrix::Point;
use bench::BenchError;
use bench::progress::{Control, Request};
use bench::rig::{Drives, Load, LoadOutcome, Received};

/// Latencies of a loop, from submission to completion.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answers {
    /// Latencies of reads.
    pub reads: Compact,
    /// Latencies of writes.
    pub writes: Compact,
    /// Duration in seconds.
    pub seconds: f64,
}

impl Answers {
    /// Returns the latencies of reads, then of writes.
    pub fn directions(&self) -> [&Compact; 2] {
        [&self.reads, &self.writes]
    }

    /// Returns the number of completions.
    pub fn count(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }

    /// Returns completions per second; zero for an empty duration.
    pub fn iops(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let count = self.count() as f64;
        if self.seconds > 0.0 { count / self.seconds } else { 0.0 }
    }

    /// Merges the latencies of several intervals.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut reads, mut writes, mut seconds) = (Histogram::new(), Histogram::new(), 0.0);
        for part in parts {
            reads.merge_compact(&part.reads);
            writes.merge_compact(&part.writes);
            seconds += part.seconds;
        }
        Self { reads: reads.compact(), writes: writes.compact(), seconds }
    }

    /// Returns the latencies of reads and writes together.
    pub fn all(&self) -> Histogram {
        let mut all = self.reads.expand();
        all.merge_compact(&self.writes);
        all
    }

    /// Returns the demerit of a model: the mean of the demerits of both directions, weighted by the
    /// measured I/Os. `None` if a direction was not measured or not modelled.
    pub fn demerit(&self, model: &Self) -> Option<f64> {
        self.off_by(model, super::demerit)
    }

    /// Returns the demerit for the fastest 99 % of each direction.
    pub fn demerit_p99(&self, model: &Self) -> Option<f64> {
        self.off_by(model, super::demerit_p99)
    }

    /// Returns the absolute logarithm of the ratio of the rates: 0.1 is about 10 %. `None` without
    /// completions.
    pub fn rate_error(&self, model: &Self) -> Option<f64> {
        let (measured, model) = (self.iops(), model.iops());
        (measured > 0.0 && model > 0.0).then(|| (model / measured).ln().abs())
    }

    fn off_by(&self, model: &Self, demerit: fn(&Compact, &Compact) -> Option<f64>) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0.0);
        for (measured, simulated) in self.directions().into_iter().zip(model.directions()) {
            if measured.is_empty() {
                continue;
            }
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let weight = measured.count() as f64;
            sum += demerit(measured, simulated)? * weight;
            count += weight;
        }
        (count > 0.0).then(|| sum / count)
    }
}

/// Collector of slices, which sums their latencies.
#[derive(Debug, Default)]
pub(super) struct Collector {
    reads: Histogram,
    writes: Histogram,
    width: Nanos,
}

impl Collector {
    pub fn add(&mut self, slice: &Slice) {
        self.width += slice.width;
        for row in &slice.io {
            match row.direction {
                Direction::Read => self.reads.merge_compact(&row.service),
                Direction::Write => self.writes.merge_compact(&row.service),
                Direction::Flush => {}
            }
        }
    }

    /// Returns the number of completions.
    pub fn count(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }

    pub fn answers(&self) -> Answers {
        Answers {
            reads: self.reads.compact(),
            writes: self.writes.compact(),
            seconds: self.width.as_secs_f64(),
        }
    }
}

/// Durations for measuring a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Initial time that is not measured.
    pub warm_up: Nanos,
    /// Measurement time.
    pub duration: Nanos,
}

/// Measured point.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Loop of the point.
    pub point: Point,
    /// Latencies of the whole measurement.
    pub answers: Answers,
    /// Latencies of the odd rounds, which are fitted, and of the even rounds, which check the fit.
    /// Their difference shows how well the device predicts itself.
    pub halves: [Answers; 2],
}

impl Measured {
    /// Returns the latencies for the fit.
    pub fn fitted(&self) -> &Answers {
        &self.halves[0]
    }

    /// Returns the latencies that check the fit.
    pub fn checked(&self) -> &Answers {
        &self.halves[1]
    }
}

/// One measurement of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Latencies after the warm-up.
    pub answers: Answers,
    /// CPU share of the generator's busiest worker, 0 to 1.
    pub worker_cpu: f64,
    /// CPU time of this process, in seconds.
    pub cpu_s: f64,
}

const POLL: Duration = Duration::from_millis(50);
const SILENCE_MAX: Nanos = Nanos::from_secs(30);

/// Runs a loop on the rig's prepared disk.
///
/// # Errors
///
/// If the load cannot start, fails, reports nothing for too long, or is interrupted.
pub fn measure<R: Drives>(
    rig: &mut R,
    (point, span, round): (&Point, Span, u64),
    pace: Pace,
    control: &Control,
) -> Result<Passage, BenchError> {
    let machine = span
        .machine(point, round)
        .map_err(|source| BenchError::Build { tile: "calibrate".to_owned(), source })?;
    let mut load = rig.drive(vec![machine])?;
    let mut course = Course { pace, answers: Collector::default(), cpu: 0.0 };
    let driven = drive(&mut load, &mut course, control);
    load.stop();
    if matches!(driven, Err(BenchError::Aborted | BenchError::Silent(_))) {
        // Waiting for a load that hangs would hang this program.
        load.abandon();
        return Err(driven.err().unwrap_or(BenchError::Aborted));
    }
    if let Err(stuck) = drain(&mut load, control) {
        load.abandon();
        return Err(stuck);
    }
    let outcome = load.finish()?;
    if !outcome.failures.is_empty() {
        return Err(BenchError::Storage { tiles: 1, failures: outcome.failures });
    }
    driven?;
    Ok(course.passage(&outcome))
}

struct Course {
    pace: Pace,
    answers: Collector,
    cpu: f64,
}

impl Course {
    /// Adds a slice. Returns true after the last slice that is needed.
    fn take(&mut self, slice: &Slice) -> bool {
        let Some(since) = slice.start.0.checked_sub(self.pace.warm_up.0) else { return false };
        self.answers.add(slice);
        self.cpu = slice.generator.worker_cpu.iter().copied().fold(self.cpu, f64::max);
        since + slice.width.0 >= self.pace.duration.0
    }

    fn passage(&self, outcome: &LoadOutcome) -> Passage {
        let cpu_s = outcome.cpu_s.map_or(0.0, |(user, system)| user + system);
        Passage { answers: self.answers.answers(), worker_cpu: self.cpu, cpu_s }
    }
}

fn drive(load: &mut impl Load, course: &mut Course, control: &Control) -> Result<(), BenchError> {
    let mut silent = Nanos::ZERO;
    loop {
        match control.request() {
            Request::GoOn => {}
            Request::Stop => return Err(BenchError::Interrupted),
            Request::Abort => return Err(BenchError::Aborted),
        }
        match load.next(POLL) {
            Received::Slice(slice) => {
                silent = Nanos::ZERO;
                if slice.io.iter().any(|row| row.errors > 0) {
                    // The failures are known only after the end of the load.
                    return Err(BenchError::Storage { tiles: 1, failures: Vec::new() });
                }
                if course.take(&slice) {
                    return Ok(());
                }
            }
            Received::Nothing => {
                silent = silent.saturating_add(POLL.into());
                if silent > SILENCE_MAX {
                    return Err(BenchError::Silent(silent));
                }
            }
            Received::Failed(error) => return Err(error),
            Received::Ended => return Err(BenchError::Silent(silent)),
        }
    }
}

/// Receives slices until the load has ended.
fn drain(load: &mut impl Load, control: &Control) -> Result<(), BenchError> {
    let mut silent = Nanos::ZERO;
    loop {
        match load.next(POLL) {
            Received::Ended | Received::Failed(_) => return Ok(()),
            Received::Slice(_) => silent = Nanos::ZERO,
            Received::Nothing if control.request() == Request::Abort => {
                return Err(BenchError::Aborted);
            }
            Received::Nothing => {
                silent = silent.saturating_add(POLL.into());
                if silent > SILENCE_MAX {
                    return Err(BenchError::Silent(silent));
                }
            }
        }
    }
}
