use std::collections::BTreeMap;

use run_store::run::{Edge, PooledLimit, Run, Statistic, Step, Verdict};
use units::Nanos;

use super::document::{LimitGap, ModelError, ModelKind, StepGap};
use super::measured::is_finished;

/// Maximum distance of the model's edge from the measured edge, as a share of the measured edge, or
/// one tile if that is more. Beyond it, the model cannot answer. Our choice: a purchase depends on
/// differences of this size, and a wider interval would be useless.
pub(super) const EDGE_OFF_MAX: f64 = 0.25;

/// Maximum factor between model and measurement at the limit with the least room, at the largest
/// count that passed. Beyond it, the model lacks the deciding effect and cannot answer. Our choice;
/// the waiting in a queue doubles from half to two thirds of its load.
pub(super) const LIMIT_OFF_MAX: f64 = spec::array::OFF_MAX;

/// Compares the model's steps, and the range of its edges, with the measured run.
pub(super) fn model_error(
    (run, kind): (&Run, ModelKind),
    modelled: &BTreeMap<u32, Step>,
    (low, high): (u32, u32),
) -> ModelError {
    let steps: Vec<StepGap> =
        modelled.iter().filter_map(|(tiles, step)| gap(run, *tiles, step)).collect();
    let measured = run.answer.tiles_held;
    let range = measured.map(|held| Measured::of(run, held));
    let (low_factor, high_factor) = range.map_or((1.0, 1.0), |range| range.factors((low, high)));
    let rate_off = if kind == ModelKind::Fitted { fitted_off(&steps) } else { 0.0 };
    let reproduced = range.is_some_and(|range| range.off((low, high)) == 0);
    let sentence = sentence(range, (low, high), reproduced, &steps);
    let refused = range.and_then(|range| range.refusal((low, high))).or_else(|| limit_off(&steps));
    ModelError {
        refused,
        measured_tiles: measured,
        measured_at_least: range.is_some_and(|range| range.at_least),
        reproduced,
        low_factor: low_factor.min(1.0 / (1.0 + rate_off)),
        high_factor: high_factor.max(1.0 + rate_off),
        steps,
        sentence,
    }
}

/// Minimum error of a fitted model, as a share. It is needed because a run does not determine a
/// model, and several seeds of one model only show the spread of that model. Our choice.
const FITTED_OFF_MIN: f64 = 0.1;

/// Returns the largest error of a fitted model in I/Os per second, over the measured tile counts.
fn fitted_off(steps: &[StepGap]) -> f64 {
    let gap = |step: &StepGap| {
        let ratio = step.modelled_operations_per_s / step.measured_operations_per_s;
        (ratio > 0.0 && ratio.is_finite()).then(|| ratio.max(1.0 / ratio) - 1.0)
    };
    steps.iter().filter_map(gap).fold(FITTED_OFF_MIN, f64::max)
}

/// Edge that the run measured, with its interval.
#[derive(Debug, Clone, Copy)]
struct Measured {
    held: u32,
    low: u32,
    high: u32,
    /// True if the run found no edge, so that more may hold.
    at_least: bool,
}

impl Measured {
    fn of(run: &Run, held: u32) -> Self {
        let at_least =
            run.answer.edge != Edge::LimitBroken && run.answer.edge != Edge::ThroughputFlat;
        let interval = run.answer.tiles_interval.as_ref();
        let low = interval.map_or(held, |interval| interval.low.min(held));
        let high = interval.map_or(Some(held), |interval| interval.high);
        Self {
            held,
            low,
            high: high.unwrap_or(held).max(held),
            at_least: at_least || high.is_none(),
        }
    }

    /// Returns factors that widen an interval. Each is an end of the measured interval divided by
    /// the nearest edge of the model for the unchanged array, if the end is outside the model's
    /// edges. So an answer is never narrower than the run that it comes from.
    ///
    /// If the run found no edge, the low factor only covers the doubt about the tiles that passed.
    fn factors(self, (low, high): (u32, u32)) -> (f64, f64) {
        let part = |end: u32, of: u32| f64::from(end) / f64::from(of.max(1));
        let lower = match self.at_least {
            true => part(self.low.max(1), self.held),
            false if self.low < low => part(self.low, low),
            false => 1.0,
        };
        (lower, if self.high > high { part(self.high, high) } else { 1.0 })
    }

    /// Returns the distance between the measured edge and the model's, in tiles.
    fn off(self, (low, high): (u32, u32)) -> u32 {
        let above = if self.at_least { 0 } else { low.saturating_sub(self.high) };
        above.max(self.low.saturating_sub(high))
    }

    /// Returns the reason why the model's edge is too inaccurate, if it is.
    fn refusal(self, edges: (u32, u32)) -> Option<String> {
        let off = self.off(edges);
        let allowed = (EDGE_OFF_MAX * f64::from(self.held)).max(1.0);
        (f64::from(off) > allowed).then(|| {
            format!(
                "its edge is {off} tiles off the measured {}; at most {allowed:.0} are allowed",
                self.shown()
            )
        })
    }

    /// Returns the measured edge as text, with its interval.
    fn shown(self) -> String {
        let Self { held, low, high, at_least } = self;
        match (at_least, low == high) {
            (true, _) => format!("at least {held}"),
            (false, true) => held.to_string(),
            (false, false) => format!("{held} ({low} to {high})"),
        }
    }
}

/// Share of a limit below which the error of a model is irrelevant for the edge; our choice.
const FAR_BELOW: f64 = 0.1;

/// Returns the reason why the deciding limit is too inaccurate, if it is. Only the largest count
/// that passed is examined, because the edge is next to it. If measurement and model are both far
/// below the limit, a factor between them is irrelevant.
fn limit_off(steps: &[StepGap]) -> Option<String> {
    let held = steps.iter().filter(|step| step.measured == Verdict::Passed);
    let largest = held.max_by_key(|step| step.tiles);
    largest.and_then(|step| {
        let decide = step.limits.iter().filter(|limit| limit.statistic != Statistic::Max);
        let share = |limit: &LimitGap| {
            Nanos(limit.measured_ns).as_secs_f64() / Nanos(limit.limit_ns).as_secs_f64()
        };
        let closest = decide.max_by(|one, other| share(one).total_cmp(&share(other)))?;
        let (measured, modelled) = (closest.measured_ns.max(1), closest.modelled_ns.max(1));
        let off = Nanos(modelled).as_secs_f64() / Nanos(measured).as_secs_f64();
        let larger = Nanos(measured.max(modelled)).as_secs_f64();
        let is_near = larger >= FAR_BELOW * Nanos(closest.limit_ns).as_secs_f64();
        (is_near && off.max(1.0 / off) > LIMIT_OFF_MAX).then(|| {
            format!(
                "{} {} {} with {} tiles, the closest limit there, is {} measured and {} modelled. \
                 The maximum allowed factor is {LIMIT_OFF_MAX}",
                closest.workload,
                closest.name,
                closest.statistic,
                step.tiles,
                Nanos(measured),
                Nanos(modelled)
            )
        })
    })
}

fn gap(run: &Run, tiles: u32, step: &Step) -> Option<StepGap> {
    let measured: Vec<&Step> =
        run.steps.iter().filter(|step| step.tiles == tiles && is_finished(step)).collect();
    let rates: Vec<f64> = measured.iter().map(|step| step.throughput.operations_per_s).collect();
    let failed = measured.iter().find(|step| step.verdict != Verdict::Passed);
    Some(StepGap {
        tiles,
        measured_operations_per_s: stats::mean(&rates)?,
        modelled_operations_per_s: step.throughput.operations_per_s,
        measured: failed.map_or(Verdict::Passed, |step| step.verdict),
        modelled: step.verdict,
        limits: step.limits.iter().filter_map(|limit| limit_gap(&measured, limit)).collect(),
    })
}

fn limit_gap(measured: &[&Step], modelled: &PooledLimit) -> Option<LimitGap> {
    let result = &modelled.result;
    let is_same = |other: &&PooledLimit| {
        other.workload == modelled.workload
            && other.result.name == result.name
            && other.result.statistic == result.statistic
    };
    let values: Vec<f64> = measured
        .iter()
        .filter_map(|step| step.limits.iter().find(is_same)?.result.measured_ns)
        .map(|ns| Nanos(ns).as_secs_f64())
        .collect();
    Some(LimitGap {
        workload: modelled.workload.clone(),
        name: result.name.clone(),
        statistic: result.statistic,
        limit_ns: result.limit_ns,
        measured_ns: Nanos::from_secs_f64(stats::mean(&values)?).0,
        modelled_ns: result.measured_ns?,
    })
}

fn sentence(
    measured: Option<Measured>,
    (low, high): (u32, u32),
    reproduced: bool,
    steps: &[StepGap],
) -> String {
    let model = if low == high { low.to_string() } else { format!("{low} to {high}") };
    let edge = match measured {
        None => format!("the run has no number of tiles that held; the model holds {model}"),
        Some(measured) => {
            let (sign, measured) = (if reproduced { "and" } else { "but" }, measured.shown());
            format!("measured {measured}, {sign} the model of the same storage holds {model}")
        }
    };
    let furthest = |gaps: Vec<f64>| {
        gaps.into_iter()
            .max_by(|one, other| one.ln().abs().total_cmp(&other.ln().abs()))
            .map_or_else(|| "not known".to_owned(), |ratio| units::print::change(ratio - 1.0))
    };
    let ratio =
        |(model, measured): (f64, f64)| (model > 0.0 && measured > 0.0).then(|| model / measured);
    let rates = steps
        .iter()
        .filter_map(|step| ratio((step.modelled_operations_per_s, step.measured_operations_per_s)));
    let limits = steps.iter().flat_map(|step| &step.limits).filter_map(|limit| {
        let seconds = |ns| Nanos(ns).as_secs_f64();
        ratio((seconds(limit.modelled_ns), seconds(limit.measured_ns)))
    });
    format!(
        "{edge}; the model's largest error against the measurement is {} for I/Os per second and \
         {} for the limited metrics",
        furthest(rates.collect()),
        furthest(limits.collect())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(low: u32, held: u32, high: u32) -> Measured {
        Measured { held, low, high, at_least: false }
    }

    fn at_least(held: u32) -> Measured {
        Measured { at_least: true, ..edge(held, held, held) }
    }

    #[test]
    fn interval_is_widened_on_the_side_on_which_the_model_is_off() {
        let cases = [
            (edge(2, 2, 2), (2, 3), (1.0, 1.0)),
            (edge(2, 2, 2), (4, 5), (0.5, 1.0)),
            (at_least(2), (4, 5), (1.0, 1.0)),
            (at_least(6), (2, 4), (1.0, 1.5)),
            (at_least(0), (0, 2), (1.0, 1.0)),
            (Measured { low: 3, ..at_least(4) }, (8, 8), (0.75, 1.0)),
            (edge(3, 3, 3), (0, 0), (1.0, 3.0)),
            (edge(0, 0, 0), (0, 0), (1.0, 1.0)),
            (edge(3, 7, 16), (8, 8), (0.375, 2.0)),
            (edge(3, 7, 16), (2, 20), (1.0, 1.0)),
        ];
        for (measured, edges, expected) in cases {
            assert_eq!(measured.factors(edges), expected, "{measured:?} {edges:?}");
        }
    }

    #[test]
    fn model_may_be_a_tile_or_a_quarter_off_the_measured_interval() {
        let is_off = |measured: Measured, edges| measured.refusal(edges).is_some();
        let two = edge(2, 2, 2);
        assert!(!is_off(two, (3, 3)) && is_off(two, (4, 4)));
        let forty = edge(40, 40, 40);
        assert!(!is_off(forty, (50, 60)) && is_off(forty, (51, 60)));
        assert!(!is_off(forty, (20, 30)) && is_off(forty, (20, 29)));
        assert!(!is_off(at_least(40), (90, 95)) && is_off(at_least(40), (20, 29)));
        let open = edge(3, 4, 16);
        assert!(!is_off(open, (17, 17)) && is_off(open, (18, 18)) && is_off(open, (1, 1)));
        assert_eq!(open.refusal((18, 18)).map(|it| it.contains("4 (3 to 16)")), Some(true));
    }

    fn step_of(measured: Verdict, limits: &[(Statistic, u64, u64)]) -> StepGap {
        let limit = |(statistic, measured_ns, modelled_ns): &(Statistic, u64, u64)| LimitGap {
            workload: "shop".to_owned(),
            name: "order".to_owned(),
            statistic: *statistic,
            limit_ns: 500_000_000,
            measured_ns: *measured_ns,
            modelled_ns: *modelled_ns,
        };
        StepGap {
            tiles: 4,
            measured_operations_per_s: 100.0,
            modelled_operations_per_s: 100.0,
            measured,
            modelled: Verdict::Passed,
            limits: limits.iter().map(limit).collect(),
        }
    }

    #[test]
    fn model_is_judged_at_the_largest_count_that_held() {
        let p95 = Statistic::Percentile(95.0);
        let far =
            StepGap { tiles: 2, ..step_of(Verdict::Passed, &[(p95, 100_000_000, 20_000_000)]) };
        let near = step_of(Verdict::Passed, &[(p95, 400_000_000, 300_000_000)]);
        assert_eq!(limit_off(&[far.clone(), near]), None);
        assert!(limit_off(&[far]).is_some());
    }

    /// Calibrated on the page cache: rates within 1 %, reads of 774 us modelled as 35 us.
    #[test]
    fn model_wrong_in_the_deciding_latency_cannot_answer() {
        let p95 = Statistic::Percentile(95.0);
        let off = |limits: &[_]| limit_off(&[step_of(Verdict::Passed, limits)]);
        assert_eq!(off(&[(p95, 100_000_000, 51_000_000)]), None);
        let reason = off(&[(p95, 100_000_000, 49_000_000)]).expect("refused");
        assert!(reason.contains("100 ms measured and 49 ms modelled"), "{reason}");
        assert!(off(&[(p95, 49_000_000, 100_000_000)]).is_some());
        // A limit that is far away, or decides nothing, does not matter for the answer.
        assert_eq!(off(&[(p95, 100_000_000, 90_000_000), (p95, 1_000_000, 9_000_000)]), None);
        assert_eq!(off(&[(p95, 20_000_000, 49_000_000)]), None, "both below a tenth of 500 ms");
        assert_eq!(off(&[(Statistic::Max, 100_000_000, 900_000_000)]), None);
        let beyond = step_of(Verdict::Failed, &[(p95, 900_000_000, 90_000_000)]);
        assert_eq!(limit_off(&[beyond]), None, "beyond the edge nothing is stationary");
    }
}
