use run_store::run::Run;

use crate::document::Unit;
use crate::extract::{Scored, values};
use crate::subject::Subject;

/// Figure of one run, over its repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFigure {
    /// Number of tiles in its steps; `None` for figures of the whole run.
    pub tiles: Option<u32>,
    /// Name without the number of tiles, as in [`crate::MetricComparison::title`].
    pub title: String,
    /// Unit of the median.
    pub unit: Unit,
    /// Median of the repeats, in `unit`.
    pub median: f64,
    /// True if the figure only explains others.
    pub explains: bool,
}

/// Returns the figures of one run. They are chosen by the rules of a comparison: interrupted steps
/// have none, and a disturbed repeat counts only if there is no other.
pub fn figures(run: &Run) -> Vec<RunFigure> {
    let subject = [Subject { run, environment: None, within: None }];
    let (values, _) = values(&subject, Scored::of(subject.iter()));
    let figure = |(metric, samples): (crate::extract::Metric, Vec<crate::extract::Sample>)| {
        let own: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        Some(RunFigure {
            tiles: metric.tiles,
            title: metric.title,
            unit: metric.unit,
            median: stats::median(&own)?,
            explains: metric.explains,
        })
    };
    values.into_iter().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{disturbed, run, step};

    #[test]
    fn figures_are_medians_of_undisturbed_repeats() {
        let steps = vec![step(2, 1.0), step(2, 1.2), disturbed(step(2, 9.0)), step(4, 2.0)];
        let own = run(1, steps);
        let found = |tiles| {
            let all = figures(&own);
            let is_iops = |own: &&RunFigure| own.tiles == Some(tiles) && own.title == "iops";
            all.iter().find(is_iops).map(|own| own.median)
        };
        assert_eq!((found(2), found(4), found(3)), (Some(1100.0), Some(2000.0), None));
    }
}
