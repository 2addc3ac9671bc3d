use record::slice::{ActionRow, InstanceEntry, IoRow};
use spec::workload::{Counted, Metric};
use units::Nanos;

/// What a metric counts in these rows of one instance: actions, I/Os or bytes that finished
/// well. Only those the metric names, if it names some.
pub fn metric_count<'a>(
    metric: &Metric,
    names: &InstanceEntry,
    actions: impl Iterator<Item = &'a ActionRow>,
    io: impl Iterator<Item = &'a IoRow>,
) -> f64 {
    let wanted = |names: &[String], id: u16| {
        let name = names.get(usize::from(id));
        metric.of.as_ref().is_none_or(|of| name.is_some_and(|name| of.contains(name)))
    };
    let io = io.filter(|row| wanted(&names.kinds, row.kind));
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    match metric.count {
        Counted::Actions => actions
            .filter(|row| wanted(&names.actions, row.action))
            .map(|row| row.response.count() as f64)
            .sum(),
        Counted::Io => io.map(|row| row.service.count() as f64).sum(),
        Counted::Bytes => io.map(|row| row.bytes.as_f64()).sum(),
        Counted::None => 0.0,
    }
}

/// A count over a time, in the metric's unit.
pub fn metric_rate(metric: &Metric, count: f64, duration: Nanos) -> f64 {
    count / (duration.as_secs_f64() / metric.per.as_secs_f64()) / metric.divide_by
}
