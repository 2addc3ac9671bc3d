use run_store::run::ReferenceOrigin;
use run_store::slice::{InstanceId, Slice};
use sim::{Instant, SimInstance};
use spec::workload::{Counted, Workload};
use units::Nanos;
use workload::InstancePlan;

use crate::error::ReferenceError;
use crate::fleet::{Member, entry, shape};
use crate::plan::{ResolvedPlan, whole_periods};
use crate::score::{metric_count, metric_rate};

/// Seed for computing references. It is constant, so that one tile's worth of work is the same
/// number in every run of a definition.
const SEED: u64 = 0x7469_6c65;

/// Minimum number of completed units of work. The relative error of a Poisson count is 1 % at
/// 10,000.
const COUNT_MIN: f64 = 10_000.0;

/// Minimum and (next constant) maximum time of the computation, before rounding to whole burst
/// periods.
const TIME_FIRST: Nanos = Nanos::from_secs(60);
const TIME_MAX: Nanos = Nanos::from_secs(3840);

/// Number of events above which no longer time is tried.
const EVENTS_MAX: u64 = 5_000_000;

/// Work of a workload that counts as one tile's worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// Value in the metric's unit; `None` if the workload is not scored.
    pub value: Option<f64>,
    /// Origin of the value: definition or computation.
    pub origin: ReferenceOrigin,
}

/// References of a tile's workloads and of operations, indexed by the position in
/// `ResolvedTile::all`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct References(pub Vec<Reference>);

impl References {
    /// Computes the reference of each workload and operation once.
    pub fn of(plan: &ResolvedPlan) -> Result<Self, ReferenceError> {
        let all = plan.tile_set.all().map(|(workload, _)| workload).enumerate();
        all.map(|place| reference(place, plan)).collect::<Result<_, _>>().map(Self)
    }
}

fn reference(
    (position, workload): (usize, &Workload),
    plan: &ResolvedPlan,
) -> Result<Reference, ReferenceError> {
    if workload.metric.count == Counted::None {
        return Ok(Reference { value: None, origin: ReferenceOrigin::None });
    }
    if let Some(value) = workload.metric.reference {
        return Ok(Reference { value: Some(value), origin: ReferenceOrigin::Declared });
    }
    let value = Some(ideal_rate(position, workload, plan)?);
    Ok(Reference { value, origin: ReferenceOrigin::IdealStorage })
}

/// Computes the rate of the workload on storage without delay, in virtual time. Uses the second
/// half of increasingly long runs, until the rate is precise enough.
fn ideal_rate(
    position: usize,
    workload: &Workload,
    plan: &ResolvedPlan,
) -> Result<f64, ReferenceError> {
    let time = plan.time;
    let mut asked = TIME_FIRST;
    loop {
        let span = whole_periods(asked, time, std::iter::once(workload));
        let run = ideal_run(position, workload, plan, span)?;
        let is_enough = run.units >= COUNT_MIN || run.events >= EVENTS_MAX || asked >= TIME_MAX;
        if is_enough && run.count > 0.0 {
            return Ok(metric_rate(&workload.metric, run.count, span));
        }
        if is_enough {
            return Err(ReferenceError::Nothing { workload: workload.name.clone(), time: span });
        }
        asked = Nanos(asked.0 * 4);
    }
}

struct IdealRun {
    /// Value of the counted metric.
    count: f64,
    /// Number of actions or I/Os that the count is based on.
    units: f64,
    events: u64,
}

/// Runs for twice `span`, and counts only the second half, because the first half warms up the
/// users.
fn ideal_run(
    position: usize,
    workload: &Workload,
    resolved: &ResolvedPlan,
    span: Nanos,
) -> Result<IdealRun, ReferenceError> {
    let plan = InstancePlan {
        workload,
        seed: SEED,
        round: 0,
        tile: 0,
        position: 0,
        copy: 0,
        footprint: resolved.footprint,
        time_scale: resolved.time,
        cpu: None,
        schedule: resolved.traces.schedule(position),
    };
    let built = workload::build(&plan)
        .map_err(|source| ReferenceError::Build { workload: workload.name.clone(), source })?;
    let member = Member { tile: Some(0), workload: 0, copy: 0 };
    let names = entry(&workload.name, member, &built);
    let (mut count, mut units) = (0.0, 0.0);
    let mut sink = |slice: Slice| {
        if slice.start >= span {
            count += metric_count(&workload.metric, &names, slice.actions.iter(), slice.io.iter());
            units += finished(workload, &slice);
        }
    };
    let shape = shape(InstanceId(0), 0, &built);
    let mut instances = [SimInstance { machine: built.machine, shape }];
    let options = sim::Options {
        until: Nanos(span.0.saturating_mul(2)),
        slice: span,
        ..sim::Options::default()
    };
    let outcome = sim::run(&mut instances, &mut Instant, &options, &mut sink)
        .map_err(|source| ReferenceError::Endless { workload: workload.name.clone(), source })?;
    Ok(IdealRun { count, units, events: outcome.events })
}

fn finished(workload: &Workload, slice: &Slice) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    match workload.metric.count {
        Counted::Actions => slice.actions.iter().map(|row| row.response.count() as f64).sum(),
        _ => slice.io.iter().map(|row| row.service.count() as f64).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::plan::Plan;

    use crate::plan::{Layer, Origin, Surroundings, resolve_simulated};
    use fixtures::{tile_of, workload};

    const CLERK: &str = r#"
name = "clerk"
title = "A clerk"
source = "ours"
metric = { unit = "orders/min", count = "actions", per = "1m" }
vm = [{ name = "db", disk = [{ name = "db", size = "1GiB" }] }]
users = [{ name = "users", vm = "db", load = { closed = { users = 1, think = "1s" } } }]
action = [{ name = "order", steps = [{ read = { disk = "db", size = "8k" } }] }]
"#;

    /// One user who thinks for a second after every order, on storage without delay.
    #[test]
    fn reference_counts_work_of_the_second_half_of_the_time() {
        let values = Plan {
            datastore: Some("array:nvme-local".to_owned()),
            tile: Some("clerk".to_owned()),
            ..Plan::default()
        };
        let layer = Layer { origin: Origin::Flag, plan: values };
        let around = Surroundings { entropy: 1, cores: 1 };
        let tile = tile_of(vec![workload(CLERK)]);
        let plan = resolve_simulated(&[layer], tile, around).expect("resolves");
        let reference = References::of(&plan).expect("references").0[0];
        assert_eq!(reference.origin, ReferenceOrigin::IdealStorage);
        let value = reference.value.expect("it is scored");
        assert!((value - 60.0).abs() < 0.1, "{value} orders a minute");
    }
}
