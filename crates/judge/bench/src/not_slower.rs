//! `not slower than RUN`: compares a run with a stored one, figure by figure, as `compare` does.
//!
//! A figure fails if its whole interval is worse by more than the relevant effect. It passes if its
//! estimate is not worse by that much; the answer then states the loss that its interval does not
//! exclude. Between these cases, and if other work interfered, the figure is undecided. A rule that
//! the interval must exclude any loss would decide nothing, because two single runs differ by that
//! much by chance.

use std::path::Path;

use compare::{Better, MetricComparison, Options, Subject, Verdict as Compared, Within};
use run_store::run::{Run, Verdict};
use run_store::rundir;
use run_store::series::SeriesError;

use crate::error::Absent;

/// Returns the verdict and its reason for a run compared with a stored run. The new run's series
/// are in a directory, and the stored run is in a base directory.
///
/// # Errors
///
/// The series of the new run cannot be read.
pub fn judged(
    (run, directory): (&Run, &Path),
    (base, name): (&Path, &str),
) -> Result<(Verdict, String), SeriesError> {
    let own = Within::of(run, directory)?;
    Ok(against(run, &own, base, name).unwrap_or_else(|why| (Verdict::Inconclusive, why.0)))
}

/// Returns the verdict with its reason. The error is the reason why the two runs cannot be
/// compared.
fn against(run: &Run, own: &Within, base: &Path, name: &str) -> Result<(Verdict, String), Absent> {
    let stored = rundir::open(base, name).map_err(|error| error.to_string())?;
    let before = stored.run().map_err(|error| error.to_string())?;
    alike(before, run)?;
    let within = Within::of(before, stored.path()).map_err(|error| error.to_string())?;
    let of = |run, within| Subject { run, environment: None, within: Some(within) };
    let options = Options::default();
    let comparison = compare::compare(&[of(before, &within)], &[of(run, own)], &options)
        .map_err(|error| error.to_string())?;
    Ok(decided(&comparison.metrics, options.min_effect.get()))
}

/// Refuses runs whose figures cannot be compared.
fn alike(before: &Run, run: &Run) -> Result<(), Absent> {
    if before.tile.sha256 != run.tile.sha256 {
        let (other, own) = (&before.tile.name, &run.tile.name);
        return Err(format!("{} ran another tile ({other}, this one {own})", before.id).into());
    }
    if before.scale.footprint.to_bits() != run.scale.footprint.to_bits()
        || before.scale.time.to_bits() != run.scale.time.to_bits()
    {
        return Err(format!("{} ran at another scale of disks or time", before.id).into());
    }
    match (before.target.is_simulated(), run.target.is_simulated()) {
        (true, false) => Err(format!("{} was simulated and this run measured", before.id).into()),
        (false, true) => Err(format!("{} was measured and this run simulated", before.id).into()),
        _ => Ok(()),
    }
}

/// Returns the verdict of all figures together, with the figure that decided.
fn decided(metrics: &[MetricComparison], effect: f64) -> (Verdict, String) {
    let judged: Vec<(Verdict, &MetricComparison)> = metrics
        .iter()
        .filter(|own| !own.explains)
        .filter_map(|own| Some((of_figure(own, effect)?, own)))
        .collect();
    let with = |wanted| {
        let fitting = judged.iter().filter(move |(verdict, _)| *verdict == wanted);
        fitting.map(|(_, own)| *own).collect::<Vec<_>>()
    };
    let all = judged.len();
    match (with(Verdict::Failed).as_slice(), with(Verdict::Inconclusive).as_slice()) {
        ([], []) if all == 0 => {
            (Verdict::Inconclusive, "no figure of both runs is conclusive".to_owned())
        }
        ([], []) => {
            let hidden = judged.iter().filter_map(|(_, own)| Some((hidden_loss(own)?, *own)));
            let hidden = hidden.max_by(|one, other| one.0.total_cmp(&other.0));
            let hidden =
                hidden.filter(|(loss, _)| *loss > effect).map_or_else(String::new, |(_, own)| {
                    format!("; the least certain: {}", words(own))
                });
            (Verdict::Passed, format!("none of {all} figures is worse{hidden}"))
        }
        ([], [first, ..]) => {
            let count = judged.iter().filter(|(own, _)| *own == Verdict::Inconclusive).count();
            let text = format!("{count} of {all} figures are undecided: {}", words(first));
            (Verdict::Inconclusive, text)
        }
        (worse @ [first, ..], _) => {
            let text = format!("{} of {all} figures are worse: {}", worse.len(), words(first));
            (Verdict::Failed, text)
        }
    }
}

/// Returns the verdict of a figure; `None` if both sides are only lower bounds, because the
/// comparison then has no information.
fn of_figure(own: &MetricComparison, effect: f64) -> Option<Verdict> {
    if own.at_least_a && own.at_least_b {
        return None;
    }
    Some(match own.verdict {
        Compared::Worse => Verdict::Failed,
        Compared::Better | Compared::Same => Verdict::Passed,
        Compared::Inconclusive if !own.is_wide => Verdict::Inconclusive,
        Compared::Inconclusive => {
            let loss = own.change.as_ref().map(|change| match own.better {
                Better::Higher => -change.value,
                Better::Lower => change.value,
            });
            let is_small = loss.is_some_and(|loss| loss <= effect + 1e-9);
            if is_small { Verdict::Passed } else { Verdict::Inconclusive }
        }
    })
}

/// Returns the largest loss that the interval of a figure does not exclude, as a share.
fn hidden_loss(own: &MetricComparison) -> Option<f64> {
    let change = own.change.as_ref()?;
    match own.better {
        Better::Higher => change.low.map(|low| -low),
        Better::Lower => change.high,
    }
}

/// Returns a text such as `score -12.5 %`, `4 tiles, read p99 +30.0 % (-2.1 % to +60.2 %)`.
fn words(own: &MetricComparison) -> String {
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let tiles = own.tiles.map_or_else(String::new, |tiles| {
        format!("{}, ", units::print::count(u64::from(tiles), "tile"))
    });
    let change = own.change.as_ref().map_or_else(String::new, |change| {
        let ends = change.low.zip(change.high);
        let ends = ends.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", percent(low), percent(high))
        });
        format!(" {}{ends}", percent(change.value))
    });
    let why = own.reason.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    format!("{tiles}{}{change}{why}", own.title)
}

#[cfg(test)]
mod tests {
    use compare::Comparison;
    use fixtures::{disturbed, run, step};

    use super::*;

    fn compared(before: &Run, after: &Run) -> Comparison {
        let of = |run| Subject { run, environment: None, within: None };
        compare::compare(&[of(before)], &[of(after)], &Options::default()).expect("comparable")
    }

    fn with(change: f64, better: Better, ends: (f64, f64), verdict: Compared) -> MetricComparison {
        let same = run(1, vec![step(2, 1.0)]);
        let mut own = compared(&same, &same).metrics.remove(0);
        own.change = Some(compare::Change { value: change, low: Some(ends.0), high: Some(ends.1) });
        (own.better, own.verdict, own.is_wide) =
            (better, verdict, verdict == Compared::Inconclusive);
        (own.at_least_a, own.at_least_b, own.explains) = (false, false, false);
        own
    }

    #[test]
    fn figure_passes_only_if_its_estimate_is_no_loss() {
        let of =
            |change, better, verdict| of_figure(&with(change, better, (-0.3, 0.3), verdict), 0.03);
        let open = Compared::Inconclusive;
        assert_eq!(of(-0.02, Better::Higher, open), Some(Verdict::Passed));
        assert_eq!(of(-0.04, Better::Higher, open), Some(Verdict::Inconclusive));
        assert_eq!(of(0.02, Better::Lower, open), Some(Verdict::Passed));
        assert_eq!(of(0.04, Better::Lower, open), Some(Verdict::Inconclusive));
        assert_eq!(of(-0.2, Better::Lower, open), Some(Verdict::Passed));
        assert_eq!(of(0.2, Better::Lower, Compared::Worse), Some(Verdict::Failed));
        let mut disturbed = with(0.0, Better::Lower, (0.0, 0.0), open);
        disturbed.is_wide = false;
        assert_eq!(of_figure(&disturbed, 0.03), Some(Verdict::Inconclusive));
        let mut bounds = with(0.0, Better::Higher, (0.0, 0.0), open);
        (bounds.at_least_a, bounds.at_least_b) = (true, true);
        assert_eq!(of_figure(&bounds, 0.03), None);
    }

    #[test]
    fn worst_figure_decides_and_is_named() {
        let good = with(0.0, Better::Higher, (-0.01, 0.01), Compared::Same);
        let unsure = with(0.0, Better::Higher, (-0.2, 0.1), Compared::Inconclusive);
        let open = with(-0.1, Better::Higher, (-0.2, 0.1), Compared::Inconclusive);
        let bad = with(-0.2, Better::Higher, (-0.3, -0.1), Compared::Worse);
        let of = |all: &[&MetricComparison]| {
            decided(&all.iter().map(|own| (*own).clone()).collect::<Vec<_>>(), 0.03)
        };
        assert_eq!(of(&[&good]).0, Verdict::Passed);
        let (verdict, reason) = of(&[&good, &unsure]);
        assert_eq!(verdict, Verdict::Passed);
        assert!(reason.contains("the least certain: ") && reason.contains("-20.0 %"), "{reason}");
        assert_eq!(of(&[&good, &open]).0, Verdict::Inconclusive);
        let (verdict, reason) = of(&[&good, &open, &bad]);
        assert_eq!(verdict, Verdict::Failed);
        assert!(reason.starts_with("1 of 3 figures are worse: "), "{reason}");
        assert!(reason.contains("-20.0 %"), "{reason}");
        assert_eq!(of(&[]).0, Verdict::Inconclusive);
    }

    #[test]
    fn disturbed_run_is_not_told_to_be_slower() {
        let before = run(1, vec![step(2, 1.0), step(2, 1.0)]);
        let slow = || step(2, 0.5);
        let after = run(2, vec![disturbed(slow()), disturbed(slow())]);
        let of = |after: &Run| decided(&compared(&before, after).metrics, 0.03).0;
        assert_ne!(of(&after), Verdict::Failed);
        assert_ne!(of(&after), Verdict::Passed);
    }

    #[test]
    fn runs_of_other_tiles_are_not_held_against_each_other() {
        let before = run(1, vec![step(2, 1.0)]);
        let mut after = before.clone();
        assert_eq!(alike(&before, &after), Ok(()));
        after.tile.sha256 = "other".to_owned();
        assert!(alike(&before, &after).is_err_and(|why| why.0.contains("another tile")));
    }
}
