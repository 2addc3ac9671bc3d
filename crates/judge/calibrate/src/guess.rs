use stats::Compact;
use units::{Bytes, Nanos, Ratio};

use super::matrix::Mix;
use super::measure::{Answers, Measured};

/// Simple figures from the measurements, in seconds and per second.
#[derive(Debug, Clone, Copy)]
pub struct Guess {
    /// Median read latency of the smallest blocks at depth 1; the next field is for writes.
    pub read: f64,
    pub write: f64,
    /// Maximum IOPS of reads of the smallest blocks; the next field is for writes.
    pub read_iops: f64,
    pub write_iops: f64,
    /// Maximum number of bytes read per second; the next field is for writes.
    pub read_rate: f64,
    pub write_rate: f64,
}

impl Guess {
    pub fn of(points: &[Measured]) -> Self {
        let smallest = points.iter().map(|m| m.point.block).min().unwrap_or(Bytes::new(4096));
        let training = || points.iter().filter(|m| m.point.is_training);
        let alone = |direction: fn(&Answers) -> &Compact| {
            let mut alone: Vec<&Measured> =
                training().filter(|m| !direction(m.fitted()).is_empty()).collect();
            alone.sort_by_key(|m| (m.point.depth, m.point.block));
            let median = alone.first()?;
            direction(median.fitted()).percentile(Ratio::new(0.5)).map(Nanos::as_secs_f64)
        };
        let most = |mix: Mix, value: &dyn Fn(&Measured) -> f64| {
            let of_mix = training().filter(|m| m.point.mix == mix).map(value);
            of_mix.fold(0.0, f64::max)
        };
        let iops = |m: &Measured| {
            if m.point.block == smallest { m.fitted().iops() } else { 0.0 }
        };
        let rate = |m: &Measured| m.fitted().iops() * m.point.block.as_f64();
        let read = alone(|answers| &answers.reads).unwrap_or(1e-4);
        let or = |found: f64, other: f64| if found > 0.0 { found } else { other };
        let read_iops = or(most(Mix::Read, &iops), 1.0 / read);
        let read_rate = or(most(Mix::Read, &rate), 1e9);
        Self {
            read,
            write: alone(|answers| &answers.writes).unwrap_or(read),
            read_iops,
            write_iops: or(most(Mix::Write, &iops), read_iops),
            read_rate,
            write_rate: or(most(Mix::Write, &rate), read_rate),
        }
    }
}
