use std::time::Instant;

use run_store::run::Warning;
use units::Nanos;

use super::document::{Drift, Noise};
use super::loops::Span;
use super::matrix::{Point, matrix, shuffled};
use super::measure::{Answers, Measured, Pace, Passage, measure};
use super::noise::{CpuTimes, cpu_noise};
use super::options::CalibrateOptions;
use bench::BenchError;
use bench::progress::{Control, NoObserver, about};
use bench::rig::Drives;
use bench::run::fill;

/// Minimum number of completions of a loop for a distribution; our choice.
const ANSWERS_MIN: u64 = 50;

/// Number of measurements of every loop, each in another order among the other loops. So a drift of
/// the device does not look like an effect of size or depth, and its size becomes visible. Our
/// choice.
pub const ROUNDS: u32 = 4;

/// Measured loops.
pub struct Sweep {
    pub points: Vec<Measured>,
    pub noise: Noise,
    pub drift: Option<Drift>,
    /// Number of loops that were left out because they had too few completions.
    pub silent: usize,
}

impl Sweep {
    /// Returns a warning about missing loops.
    pub fn warning(&self) -> Option<Warning> {
        (self.silent > 0).then(|| Warning {
            id: "few-answers".to_owned(),
            text: format!(
                "{} of the loops had fewer than {ANSWERS_MIN} completions and were left out",
                self.silent
            ),
            value: None,
            limit: None,
            hint: Some("give each loop more time with --point".to_owned()),
        })
    }
}

pub type Contact<'a> = (&'a Control, &'a mut dyn FnMut(&str));

/// Fills the disk and runs every loop. The work after it takes about `after`.
pub fn sweep<R: Drives>(
    rig: &mut R,
    options: &CalibrateOptions,
    (span, pace, after): (Span, Pace, Nanos),
    (control, tell): Contact<'_>,
) -> Result<Sweep, BenchError> {
    if !options.read_only {
        tell(&format!("filling {}", span.size));
        fill(rig, &[span.disk()], control, &mut NoObserver)?;
    }
    let matrix = matrix(options.quick, options.read_only);
    let (before, begun) = (CpuTimes::now(), Instant::now());
    let (mut own_s, mut worker_cpu, mut number) = (0.0, 0.0_f64, 0);
    let all = matrix.len() * usize::try_from(ROUNDS).unwrap_or(1);
    let one = |point: &Point| {
        let passage = measure(rig, (point, span, number), pace, control)?;
        number += 1;
        own_s += passage.cpu_s;
        worker_cpu = worker_cpu.max(passage.worker_cpu);
        let left = (all as u64).saturating_sub(number) as f64 / number as f64;
        let left = Nanos::from_secs_f64(begun.elapsed().as_secs_f64() * left);
        let (loops, whole) = (about(left), about(left.saturating_add(after)));
        let line = line((point, &passage), (number, all));
        tell(&format!("{line}, {loops} of loops left, about {whole} in all"));
        Ok(passage.answers)
    };
    let rounds = in_rounds(&matrix, options.seed, one)?;
    let drift = drift(&rounds);
    let points = together(&matrix, &rounds);
    let noise = Noise { worker_cpu, ..cpu_noise(before, own_s) };
    let (points, silent): (Vec<_>, Vec<_>) =
        points.into_iter().partition(|measured| measured.answers.count() >= ANSWERS_MIN);
    if points.is_empty() {
        return Err(BenchError::Silent(pace.duration));
    }
    Ok(Sweep { points, noise, drift, silent: silent.len() })
}

/// Measures every loop once in each round, in a different order each time. The results of each
/// round are in the order of the matrix.
fn in_rounds(
    matrix: &[Point],
    seed: u64,
    mut one: impl FnMut(&Point) -> Result<Answers, BenchError>,
) -> Result<Vec<Vec<Answers>>, BenchError> {
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let mut answers = vec![Answers::default(); matrix.len()];
        for place in shuffled(matrix.len(), seed.wrapping_add(u64::from(round))) {
            answers[place] = one(&matrix[place])?;
        }
        rounds.push(answers);
    }
    Ok(rounds)
}

/// Merges the rounds of every loop, separately for the fit and for the check.
fn together(matrix: &[Point], rounds: &[Vec<Answers>]) -> Vec<Measured> {
    let of_loop = |(place, point): (usize, &Point)| {
        let every_other =
            |first: usize| Answers::sum(rounds[first..].iter().step_by(2).map(|of| &of[place]));
        let halves = [every_other(0), every_other(1)];
        Measured { point: *point, answers: Answers::sum(&halves), halves }
    };
    matrix.iter().enumerate().map(of_loop).collect()
}

/// Compares the last round with the first.
fn drift(rounds: &[Vec<Answers>]) -> Option<Drift> {
    let (first, last) = rounds.first().zip(rounds.last())?;
    let both =
        || first.iter().zip(last).filter(|(first, last)| first.count().min(last.count()) > 0);
    let ratios: Vec<f64> = both().map(|(first, last)| (last.iops() / first.iops()).ln()).collect();
    let demerits: Vec<f64> = both().filter_map(|(first, last)| first.demerit(last)).collect();
    Some(Drift { iops: stats::mean(&ratios)?.exp(), demerit: stats::mean(&demerits) })
}

fn line((point, passage): (&Point, &Passage), (number, of): (u64, usize)) -> String {
    let Point { block, depth, mix, .. } = point;
    let iops = passage.answers.iops();
    format!("[{number}/{of}] {:5} {block:>8} depth {depth:2}  {iops:8.0} I/Os/s", mix.name())
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Checks a disk that is half as fast in each round as in the previous one. The fit sees the
    /// first and the third round, and both halves show the drift.
    #[test]
    fn rounds_alternate_between_fit_and_check_and_show_a_drift() {
        let matrix = &matrix(true, true)[..3];
        let mut number = 0_u64;
        let mut order = Vec::new();
        let one = |point: &Point| {
            let round = number / 3;
            number += 1;
            order.push(point.depth);
            let mut latencies = stats::Histogram::new();
            latencies.record_n(Nanos(1000 << round), 8 >> round);
            Ok(Answers { reads: latencies.compact(), seconds: 1.0, ..Answers::default() })
        };
        let rounds = in_rounds(matrix, 5, one).expect("nothing fails");
        assert_eq!(rounds.len(), 4);
        assert_ne!(order[..3], order[3..6], "the order is another one in each round");
        for measured in together(matrix, &rounds) {
            assert_eq!(measured.fitted().count(), 8 + 2);
            assert_eq!(measured.checked().count(), 4 + 1);
            assert_eq!(measured.answers.count(), 15);
            assert!((measured.answers.seconds - 4.0).abs() < 1e-9);
        }
        let drift = drift(&rounds).expect("rounds");
        assert!((drift.iops - 0.125).abs() < 1e-9, "{drift:?}");
        assert!(drift.demerit.is_some_and(|off| (off - 7.0).abs() < 0.1), "{drift:?}");
    }
}
