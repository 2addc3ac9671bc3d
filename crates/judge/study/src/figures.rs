//! Figures of a step, selected by a function. Times are in milliseconds, those of moves in seconds.

use run_store::gauge::GaugeName;
use run_store::run::{ActionResult, IoTotal, Latency, MeterScope, Score, Step, StepEvent, Verdict};
use run_store::slice::Direction;
use spec::study::ResolvedConfiguration;
use spec::study::formula::Function;

use super::absent::{Absent, Number, precise};
use super::model;
use super::model::fits;

/// Returns a figure of a step. `names` are those arguments of the function that are names.
pub(super) fn figure(
    function: Function,
    step: &Step,
    configuration: &ResolvedConfiguration,
    names: &[&str],
) -> Number {
    use Function as F;
    let tiles = f64::from(step.tiles);
    match function {
        F::Score => score(step),
        F::Infrastructure => of(&score_of(step)?.infrastructure),
        F::Total => of(&score_of(step)?.total),
        F::Strain => strain(step, names),
        F::Failed => Ok(f64::from(u8::from(step.verdict == Verdict::Failed))),
        F::Watts => watts(step, names),
        F::PerKilowatt => Ok(score_value(step)? / (watts(step, names)? / 1000.0)),
        F::Throughput => Ok(throughput(step, names)? / tiles),
        F::ThroughputTotal => throughput(step, names),
        F::Actions => Ok(actions_per_minute(step, names)? / tiles),
        F::ActionsTotal => actions_per_minute(step, names),
        F::Dropped => dropped(step, names),
        F::Mean => milliseconds(response(step, names)?.mean_ns),
        F::P50 => milliseconds(response(step, names)?.p50_ns),
        F::P95 => milliseconds(response(step, names)?.p95_ns),
        F::P99 => milliseconds(response(step, names)?.p99_ns),
        F::P999 => milliseconds(response(step, names)?.p999_ns),
        F::Longest => milliseconds(response(step, names)?.max_ns),
        F::Iops => Ok(iops(step, Direction::Read) + iops(step, Direction::Write)),
        F::ReadIops => Ok(iops(step, Direction::Read)),
        F::WriteIops => Ok(iops(step, Direction::Write)),
        F::ReadShare => read_share(step),
        F::Bytes => Ok(bytes(step, Direction::Read) + bytes(step, Direction::Write)),
        F::ReadBytes => Ok(bytes(step, Direction::Read)),
        F::WriteBytes => Ok(bytes(step, Direction::Write)),
        F::LatencyMean => milliseconds(service(step, names)?.mean_ns),
        F::LatencyP50 => milliseconds(service(step, names)?.p50_ns),
        F::LatencyP95 => milliseconds(service(step, names)?.p95_ns),
        F::LatencyP99 => milliseconds(service(step, names)?.p99_ns),
        F::LatencyP999 => milliseconds(service(step, names)?.p999_ns),
        F::Outstanding => of(&step.generator.in_flight_mean),
        F::MoveTime => move_time(&step.events, names),
        F::CpuPerIo => cpu_per_io(step, names.first().copied()),
        F::Tier | F::Part | F::Host | F::Vm | F::Touched | F::Events => {
            let facts = step.model.as_ref();
            let facts = facts.ok_or_else(|| Absent::because("the step was not simulated"))?;
            model::figure(function, facts, names)
        }
        _ => Err(Absent(format!(
            "{} is not a figure of a step of {}",
            function.signature().name,
            configuration.name
        ))),
    }
}

/// Returns the number of virtual machines.
pub(super) fn vms(configuration: &ResolvedConfiguration, tiles: u32) -> f64 {
    precise(configuration.tile.vms()) * f64::from(tiles)
}

/// Returns the total size of the virtual disks, after scaling, in bytes.
pub(super) fn footprint(configuration: &ResolvedConfiguration, tiles: u32) -> f64 {
    let workloads = configuration.tile.workloads.iter();
    let bytes: f64 = workloads
        .map(|(workload, count)| {
            let disks = workload.vms.iter().flat_map(|vm| &vm.disks);
            disks.map(|disk| disk.size.as_f64()).sum::<f64>() * f64::from(*count)
        })
        .sum();
    bytes * configuration.footprint * f64::from(tiles)
}

/// Returns the mean time of the migrations of virtual machines with this name, in seconds.
fn move_time(events: &[StepEvent], names: &[&str]) -> Number {
    let wanted = names.first().copied().unwrap_or_default();
    let moves = events.iter().flat_map(|event| &event.tiles);
    let own = moves.filter(|own| own.vm.as_deref().is_some_and(|name| fits(wanted, name)));
    let times: Vec<f64> =
        own.filter_map(|own| own.copy).map(|copy| precise(copy.took_ns) / 1e9).collect();
    match times.len() {
        0 => Err(Absent(format!("no virtual machine \"{wanted}\" completed a migration"))),
        count => Ok(times.iter().sum::<f64>() / precise(count as u64)),
    }
}

fn of(figure: &run_store::run::Figure) -> Number {
    let reason = || figure.reason.clone().unwrap_or_else(|| "it is unknown".to_owned());
    figure.value.ok_or_else(|| Absent(reason()))
}

fn milliseconds(ns: Option<u64>) -> Number {
    ns.map(|ns| precise(ns) / 1e6).ok_or_else(|| Absent::because("there were no samples"))
}

fn score_of(step: &Step) -> Result<&Score, Absent> {
    step.score.as_ref().ok_or_else(|| Absent::because("there is no score"))
}

/// Returns the application score.
pub(super) fn score(step: &Step) -> Number {
    of(&score_of(step)?.applications)
}

/// Returns the score with operations, if operations ran.
fn score_value(step: &Step) -> Number {
    let score = score_of(step)?;
    if score.total.value.is_some() { of(&score.total) } else { of(&score.applications) }
}

/// Returns the mean power of hosts, storage or both, in W.
fn watts(step: &Step, names: &[&str]) -> Number {
    let power = step.power.as_ref();
    let power = power.ok_or_else(|| Absent::because("the array gives no power"))?;
    let scopes: &[MeterScope] = match names.first().copied().unwrap_or_default() {
        "servers" => &[MeterScope::Host],
        "storage" => &[MeterScope::Storage],
        _ => &[MeterScope::Host, MeterScope::Storage],
    };
    let mut sum = 0.0;
    for scope in scopes {
        let own = || power.meters.iter().filter(|meter| meter.scope == *scope);
        if own().next().is_none() {
            return Err(Absent(format!("no power of the scope {} is known", scope.name())));
        }
        for meter in own() {
            sum += of(&meter.mean_watts)?;
        }
    }
    if sum > 0.0 { Ok(sum) } else { Err(Absent::because("its power is 0 W")) }
}

fn strain(step: &Step, names: &[&str]) -> Number {
    let (workload, action) = (names.first(), names.get(1));
    let of_it = step.limits.iter().filter(|limit| {
        workload.is_none_or(|name| limit.workload == *name)
            && action.is_none_or(|name| limit.result.name == *name)
    });
    let share = |limit: &run_store::run::PooledLimit| {
        let measured = limit.result.measured_ns?;
        Some(precise(measured) / precise(limit.result.limit_ns))
    };
    let most = of_it.filter_map(share).max_by(f64::total_cmp);
    most.ok_or_else(|| Absent::because("no such limit was measured"))
}

fn throughput(step: &Step, names: &[&str]) -> Number {
    let name = names.first().copied().unwrap_or_default();
    let mut sum = None;
    for result in step.workloads.iter().filter(|result| result.workload == name) {
        sum = Some(sum.unwrap_or(0.0) + of(&result.metric.value)?);
    }
    sum.ok_or_else(|| Absent(format!("there is no workload \"{name}\"")))
}

/// Returns the actions of a workload, or one of them, over all tiles.
fn actions<'a>(step: &'a Step, names: &[&str]) -> Result<Vec<&'a ActionResult>, Absent> {
    let (workload, action) = (names.first(), names.get(1));
    let found: Vec<&ActionResult> = step
        .actions
        .iter()
        .filter(|each| {
            workload.is_none_or(|name| each.workload == *name)
                && action.is_none_or(|name| each.result.action == *name)
        })
        .map(|each| &each.result)
        .collect();
    if found.is_empty() {
        return Err(Absent(format!("there is no action \"{}\"", names.join(" "))));
    }
    Ok(found)
}

fn actions_per_minute(step: &Step, names: &[&str]) -> Number {
    let count: u64 = actions(step, names)?.iter().map(|each| each.count).sum();
    if step.measured_ns == 0 {
        return Err(Absent::because("nothing was measured"));
    }
    Ok(precise(count) / (precise(step.measured_ns) / 60e9))
}

fn dropped(step: &Step, names: &[&str]) -> Number {
    let found = actions(step, names)?;
    let dropped: u64 = found.iter().map(|each| each.dropped).sum();
    let all: u64 = found.iter().map(|each| each.count + each.errors + each.dropped).sum();
    if all == 0 {
        return Err(Absent::because("no action was started"));
    }
    Ok(precise(dropped) / precise(all))
}

fn response<'a>(step: &'a Step, names: &[&str]) -> Result<&'a Latency, Absent> {
    let found = actions(step, names)?;
    found.first().map(|each| &each.response).ok_or_else(|| Absent::because("there is no action"))
}

fn total(step: &Step, direction: Direction) -> Option<&IoTotal> {
    step.io.iter().find(|total| total.direction == direction)
}

fn iops(step: &Step, direction: Direction) -> f64 {
    total(step, direction).map_or(0.0, |total| total.operations_per_s)
}

/// Returns the CPU time per I/O in microseconds, of one program or of all programs.
fn cpu_per_io(step: &Step, program: Option<&str>) -> Number {
    let [server, initiator] = [GaugeName::OverServerCpu, GaugeName::OverInitiatorCpu];
    match program {
        Some("server") => gauge_per_io(step, server),
        Some("initiator") => gauge_per_io(step, initiator),
        Some(_) => load_per_io(step),
        None => {
            // Local files have no server, and a load that is its own initiator has no other.
            let others = [server, initiator];
            let others = others.into_iter().filter_map(|name| gauge_per_io(step, name).ok());
            Ok(load_per_io(step)? + others.sum::<f64>())
        }
    }
}

fn load_per_io(step: &Step) -> Number {
    let generator = &step.generator;
    Ok(of(&generator.cpu_user_us_per_io)? + of(&generator.cpu_system_us_per_io)?)
}

/// Returns the value of a gauge that counts seconds, divided by the number of I/Os in the
/// measurement window, in microseconds.
fn gauge_per_io(step: &Step, name: GaugeName) -> Number {
    let gauge = step.levels().find(|gauge| gauge.name == name);
    let seconds_per_s =
        gauge.ok_or_else(|| Absent(format!("nothing measured {}", name.name())))?.value;
    let per_s = iops(step, Direction::Read) + iops(step, Direction::Write);
    if per_s == 0.0 {
        return Err(Absent::because("there were no I/Os"));
    }
    Ok(seconds_per_s * 1e6 / per_s)
}

fn bytes(step: &Step, direction: Direction) -> f64 {
    total(step, direction).map_or(0.0, |total| total.bytes_per_s)
}

pub(super) fn read_share(step: &Step) -> Number {
    let (reads, writes) = (iops(step, Direction::Read), iops(step, Direction::Write));
    if reads + writes == 0.0 {
        return Err(Absent::because("there were no I/Os"));
    }
    Ok(reads / (reads + writes))
}

fn service<'a>(step: &'a Step, names: &[&str]) -> Result<&'a Latency, Absent> {
    let name = names.first().copied().unwrap_or_default();
    let total = step.io.iter().find(|total| total.direction.name() == name);
    total.map(|total| &total.service).ok_or_else(|| Absent(format!("there was no {name}")))
}

#[cfg(test)]
mod tests {
    use run_store::run::{MoveCopy, StepEventKind, TileMove};

    use super::*;

    #[test]
    fn time_of_moves_is_the_mean_of_those_that_ended() {
        let moved = |vm: &str, seconds: Option<u64>| TileMove {
            vm: Some(vm.to_owned()),
            copy: seconds
                .map(|own| MoveCopy { took_ns: own * 1_000_000_000, ..MoveCopy::default() }),
            ..TileMove::default()
        };
        let tiles = vec![
            moved("mail/mail", Some(3)),
            moved("mail/mail", Some(5)),
            moved("mail/mail", None),
            moved("web/db", Some(1)),
        ];
        let event = StepEvent { tiles, ..StepEvent::begun(StepEventKind::Rebalance, 0) };
        let of = |name| move_time(std::slice::from_ref(&event), &[name]);
        assert_eq!(of("mail/*").expect("two moves"), 4.0);
        assert_eq!(of("*").expect("three moves"), 3.0);
        let none = of("shop/db").expect_err("it did not move");
        assert!(none.0.contains("\"shop/db\" completed"), "{none:?}");
    }
}
