use super::{Family, Figure, OPERATIONS_OF_ACTIONS, SECONDS, Unit};
use crate::provider::Current;

/// Kind of a metric that users notice: Prometheus name, OpenTelemetry name, unit and description.
struct Kind(&'static str, &'static str, Unit, &'static str);

const RATE: Kind = Kind(
    "tilemark_action_rate_actions_per_second",
    "tilemark.action.rate",
    OPERATIONS_OF_ACTIONS,
    "Successful actions of users per second: of the last seconds, or of the largest step that \
    passed",
);
const P95: Kind = Kind(
    "tilemark_action_response_p95_seconds",
    "tilemark.action.response.p95",
    SECONDS,
    "95th percentile of response time from the intended start: of the last seconds, or of the \
     largest step that passed",
);
const SHARE: Kind = Kind(
    "tilemark_limit_used_ratio",
    "tilemark.limit.used",
    Some(("ratio", "1")),
    "Measured value as a share of the limit, broken above 1: of the last judged step, or of the \
    largest step that passed",
);
const VERDICT: Kind = Kind(
    "tilemark_step_verdict",
    "tilemark.step.verdict",
    None,
    "A step that was judged, with its verdict as a label; always 1",
);

/// Returns the families of metrics that users of these runs notice.
pub(super) fn families(runs: &[Current]) -> [Family; 4] {
    [
        family(RATE, runs, |run| {
            let rate = |of: &crate::felt::FeltAction| {
                figure(run, [("workload", &of.workload), ("action", &of.action)], of.per_s)
            };
            run.felt.actions.iter().map(rate).collect()
        }),
        family(P95, runs, |run| {
            let p95 = |of: &crate::felt::FeltAction| {
                let labels = [("workload", &of.workload), ("action", &of.action)];
                Some(figure(run, labels, super::seconds(of.p95_ns?)))
            };
            run.felt.actions.iter().filter_map(p95).collect()
        }),
        family(SHARE, runs, |run| {
            let share = |of: &crate::felt::FeltLimit| {
                let labels =
                    [("workload", &of.workload), ("on", &of.on), ("statistic", &of.statistic)];
                figure(run, labels, of.share)
            };
            run.felt.limits.iter().map(share).collect()
        }),
        family(VERDICT, runs, |run| run.felt.steps.iter().map(|of| verdict(run, of)).collect()),
    ]
}

fn verdict(run: &Current, of: &crate::felt::FeltStep) -> Figure {
    let labels = [
        ("step", &of.step.to_string()),
        ("repeat", &of.repeat.to_string()),
        ("tiles", &of.tiles.to_string()),
        ("verdict", &of.verdict.to_owned()),
    ];
    figure(run, labels, 1.0)
}

fn family(kind: Kind, runs: &[Current], of: impl Fn(&Current) -> Vec<Figure>) -> Family {
    let Kind(name, dotted, unit, help) = kind;
    Family {
        name: name.to_owned(),
        dotted: dotted.to_owned(),
        unit,
        help: help.to_owned(),
        figures: runs.iter().flat_map(of).collect(),
    }
}

fn figure<const N: usize>(
    run: &Current,
    labels: [(&'static str, &String); N],
    value: f64,
) -> Figure {
    let own = labels.into_iter().map(|(name, value)| (name, value.clone()));
    Figure { labels: std::iter::once(("run", run.row.id.clone())).chain(own).collect(), value }
}
