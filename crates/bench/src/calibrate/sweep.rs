use record::run::Warning;

use super::document::{Drift, Noise};
use super::loops::Span;
use super::matrix::{Point, matrix, shuffled};
use super::measure::{Measured, Pace, measure};
use super::noise::{CpuTimes, cpu_noise};
use super::session::CalibrateOptions;
use crate::error::BenchError;
use crate::progress::{Control, NoObserver};
use crate::rig::Rig;
use crate::run::fill;

/// A loop with fewer answers says nothing about a distribution; our choice.
const ANSWERS_MIN: u64 = 50;

/// What was measured.
pub struct Sweep {
    pub points: Vec<Measured>,
    pub noise: Noise,
    pub drift: Option<Drift>,
    /// Loops left out because too little was answered.
    pub silent: usize,
}

impl Sweep {
    /// What a reader should know of the loops that are missing.
    pub fn warning(&self) -> Option<Warning> {
        (self.silent > 0).then(|| Warning {
            id: "few-answers".to_owned(),
            text: format!(
                "{} of the loops had fewer than {ANSWERS_MIN} answers and were left out",
                self.silent
            ),
            value: None,
            limit: None,
            hint: Some("give each loop more time with --point".to_owned()),
        })
    }
}

pub type Contact<'a> = (&'a Control, &'a mut dyn FnMut(&str));

/// Fills the disk and runs every loop.
pub fn sweep<R: Rig>(
    rig: &mut R,
    options: &CalibrateOptions,
    (span, pace): (Span, Pace),
    (control, tell): Contact<'_>,
) -> Result<Sweep, BenchError> {
    if !options.read_only {
        tell(&format!("filling {}", span.size));
        fill(rig, &[span.disk()], control, &mut NoObserver)?;
    }
    let matrix = matrix(options.quick, options.read_only);
    let order = shuffled(matrix.len(), options.seed);
    let before = CpuTimes::now();
    let mut own_s = 0.0;
    let one = |point: &Point, number: usize| {
        let measured = measure(rig, (point, span, number as u64), pace, control)?;
        own_s += measured.cpu_s;
        tell(&line(&measured, number + 1, matrix.len() + 1));
        Ok(measured)
    };
    let (points, drift) = in_order(&matrix, &order, one)?;
    let worker_cpu = points.iter().map(|measured| measured.worker_cpu).fold(0.0, f64::max);
    let noise = Noise { worker_cpu, ..cpu_noise(before, own_s) };
    let (points, silent): (Vec<_>, Vec<_>) =
        points.into_iter().partition(|measured| measured.answers.count() >= ANSWERS_MIN);
    if points.is_empty() {
        return Err(BenchError::Silent(pace.duration));
    }
    Ok(Sweep { points, noise, drift, silent: silent.len() })
}

/// Measures every loop, and the one that was first once more. The result is in the order of
/// the matrix.
fn in_order(
    matrix: &[Point],
    order: &[usize],
    mut one: impl FnMut(&Point, usize) -> Result<Measured, BenchError>,
) -> Result<(Vec<Measured>, Option<Drift>), BenchError> {
    let mut points: Vec<Option<Measured>> = vec![None; matrix.len()];
    for (number, place) in order.iter().enumerate() {
        points[*place] = Some(one(&matrix[*place], number)?);
    }
    let mut drift = None;
    if let Some(first) = order.first() {
        let again = one(&matrix[*first], matrix.len())?;
        drift = points[*first].as_ref().map(|first| Drift {
            iops: again.answers.iops() / first.answers.iops(),
            demerit: first.answers.demerit(&again.answers),
        });
    }
    Ok((points.into_iter().flatten().collect(), drift))
}

fn line(measured: &Measured, number: usize, of: usize) -> String {
    let Point { block, depth, mix, .. } = measured.point;
    let iops = measured.answers.iops();
    format!("[{number}/{of}] {:5} {block:>8} depth {depth:2}  {iops:8.0} I/Os/s", mix.name())
}
