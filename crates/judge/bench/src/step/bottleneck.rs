//! Search for the resource that was at its limit in a step.
//!
//! What it does: in a model, it takes the busiest part by the utilisation law. On a host, it uses
//! the host's gauges, the generator and the ladder's other steps.
//!
//! What it refuses: to call a device "at its limit" because it always had something to do. A device
//! that serves many I/Os in parallel is busy all the time long before its limit (`iostat`'s manual
//! says the same about its `%util`). It is at its limit when more tiles bring no more I/Os while
//! its queue grows.

use run_store::gauge::{Gauge, GaugeName, HOST};
use run_store::run::{
    Bottleneck, Cause, HostFacts, ModelFacts, PartFacts, PartKind, Resource, Step, Verdict,
};
use run_store::slice::Direction;
use units::print::percent;

/// Minimum utilisation at which a part of a model is named. In a queue with one server and random
/// arrivals, a response then takes 1/(1 - 0.8), five times its service time (M/M/1; Lazowska and
/// others, "Quantitative System Performance", 1984, chapter 3). The value is our choice.
pub const UTILISATION_MIN: f64 = 0.8;
/// Minimum utilisation at which a real host's CPUs are named: the bound for a worker of the
/// generator.
const CPU_MIN: f64 = crate::verdict::WORKER_CPU_MAX;
/// Minimum share of flushes in the I/O time at which they are named: more than half of it.
const FLUSH_MIN: f64 = 0.5;
/// Maximum number of tiles in the step used for comparison, as a share of this step's tiles. Rates
/// count as equal if they differ by less than twice the agreement of repeated steps (3 %).
const FEWER_TILES: f64 = 0.8;
const SAME_RATE: f64 = 1.06;
/// Minimum share of busy time above which a device is not waiting for the load.
const BUSY_MIN: f64 = 0.95;

const LAW: &str = "the model's utilisation of its parts, compared with 80 %";

/// Returns the resource at its limit in a step. `earlier` are the other steps of the same ladder.
pub fn of(step: &Step, earlier: &[Step]) -> Bottleneck {
    if step.cause == Some(Cause::Generator) {
        return generator(step);
    }
    match &step.model {
        Some(model) => of_model(model),
        None => of_machine(step, earlier),
    }
}

fn generator(step: &Step) -> Bottleneck {
    let health = &step.generator;
    let why = health.reason.as_deref().unwrap_or("it could not keep up");
    Bottleneck {
        kind: Resource::Generator,
        name: "load generator".to_owned(),
        utilisation: health.worker_cpu_max.value,
        text: format!("the load generator was the limit: {why}"),
        source: "its own lateness, slots and processor time".to_owned(),
    }
}

/// Returns the busiest part of a model. Parts with working servers come first. A queue or a write
/// memory fills up because of the parts behind it, so it is only named if none of these is busy.
fn of_model(model: &ModelFacts) -> Bottleneck {
    let busiest = |of: Vec<Bottleneck>| {
        of.into_iter()
            .max_by(|a, b| a.utilisation.unwrap_or(0.0).total_cmp(&b.utilisation.unwrap_or(0.0)))
    };
    let full = |part: &Bottleneck| part.utilisation.is_some_and(|used| used >= UTILISATION_MIN);
    let (working, waiting) = parts(model);
    let (working, waiting) = (busiest(working), busiest(waiting));
    match (working, waiting) {
        (Some(working), _) if full(&working) => working,
        (_, Some(waiting)) if full(&waiting) => waiting,
        (Some(nearest), _) | (None, Some(nearest)) => table(model).unwrap_or_else(|| Bottleneck {
            text: format!("nothing in the model was at its limit: {} maximum", nearest.text),
            kind: Resource::NoneSeen,
            ..nearest
        }),
        (None, None) => nothing("the model has no part with a limit"),
    }
}

/// Returns a text for a disk model without servers that could be busy.
fn table(model: &ModelFacts) -> Option<Bottleneck> {
    let is_table = |part: &&PartFacts| part.utilisation_max == 0.0 && part.inside > 0.0;
    let table = model.parts.iter().filter(|part| part.kind == PartKind::Disk).find(is_table)?;
    Some(Bottleneck {
        kind: Resource::NoneSeen,
        name: table.name.clone(),
        utilisation: None,
        text: format!(
            "{} uses a table of measurements, which does not show its limit; {:.1} I/Os were in it \
             on average",
            table.name, table.inside
        ),
        source: LAW.to_owned(),
    })
}

fn parts(model: &ModelFacts) -> (Vec<Bottleneck>, Vec<Bottleneck>) {
    let (mut working, mut waiting) = (Vec::new(), Vec::new());
    for part in &model.parts {
        let kind = match part.kind {
            PartKind::Disk => Resource::Disk,
            PartKind::TierDisk => Resource::Tier,
            PartKind::Link => Resource::Link,
            PartKind::Processor | PartKind::WriteMemory => Resource::Controller,
            PartKind::Queue => Resource::Queue,
        };
        let found = busy(kind, part.name.clone(), part.utilisation_max);
        if part.kind.works() { working.push(found) } else { waiting.push(found) }
    }
    working.extend(model.hosts.iter().map(host));
    let vms = model.vms.iter();
    working.extend(
        vms.map(|vm| busy(Resource::VmCpu, format!("virtual processors of {}", vm.name), vm.used)),
    );
    (working, waiting)
}

fn host(host: &HostFacts) -> Bottleneck {
    let used = if host.capacity > 0.0 { host.used / host.capacity } else { 0.0 };
    busy(Resource::HostCpu, format!("processors of {}", host.name), used.min(1.0))
}

fn busy(kind: Resource, name: String, used: f64) -> Bottleneck {
    let text = format!("{name}: {} busy", percent(used));
    Bottleneck { kind, name, utilisation: Some(used), text, source: LAW.to_owned() }
}

fn nothing(why: &str) -> Bottleneck {
    Bottleneck {
        kind: Resource::NoneSeen,
        name: String::new(),
        utilisation: None,
        text: format!("nothing that can be seen here was at its limit: {why}"),
        source: "none".to_owned(),
    }
}

fn of_machine(step: &Step, earlier: &[Step]) -> Bottleneck {
    processors(step)
        .or_else(|| device_at_limit(step, earlier))
        .or_else(|| flushes(step))
        .unwrap_or_else(|| nearest(step))
}

fn gauge(step: &Step, name: GaugeName, scope: &str) -> Option<f64> {
    let of = |gauge: &&Gauge| gauge.name == name && gauge.scope == scope;
    step.gauges.iter().find(of).map(|gauge| gauge.value)
}

fn processors(step: &Step) -> Option<Bottleneck> {
    let share = |name| gauge(step, name, HOST);
    let own = share(GaugeName::CpuOwn)?;
    let others =
        share(GaugeName::CpuOthers).unwrap_or(0.0) + share(GaugeName::CpuSteal).unwrap_or(0.0);
    let used = (own + others).min(1.0);
    (used >= CPU_MIN).then(|| Bottleneck {
        kind: Resource::HostCpu,
        name: HOST.to_owned(),
        utilisation: Some(used),
        text: format!(
            "the processors of this machine were {} used, {} by the load generator",
            percent(used),
            percent(own)
        ),
        source: format!("{}, compared with 90 %", GaugeName::CpuOthers.source()),
    })
}

struct Device<'a> {
    name: &'a str,
    busy: f64,
    queue: f64,
}

fn devices(step: &Step) -> impl Iterator<Item = Device<'_>> {
    let busy = step.gauges.iter().filter(|gauge| gauge.name == GaugeName::DeviceBusy);
    busy.filter_map(|busy| {
        let queue = gauge(step, GaugeName::DeviceQueue, &busy.scope)?;
        Some(Device { name: &busy.scope, busy: busy.value, queue })
    })
}

/// Returns the device with the largest share of busy time.
fn busiest(step: &Step) -> Option<Device<'_>> {
    devices(step).max_by(|a, b| a.busy.total_cmp(&b.busy))
}

/// Compares the step with the largest of the earlier steps that had clearly fewer tiles, if that
/// one measured the storage.
fn device_at_limit(step: &Step, earlier: &[Step]) -> Option<Bottleneck> {
    let tiles = f64::from(step.tiles);
    let before = earlier
        .iter()
        .filter(|before| f64::from(before.tiles) <= FEWER_TILES * tiles)
        .filter(|before| matches!(before.verdict, Verdict::Passed | Verdict::Failed))
        .max_by_key(|before| before.tiles)?;
    let rate = |step: &Step| step.throughput.operations_per_s;
    let more = tiles / f64::from(before.tiles.max(1));
    let is_flat = rate(step) <= SAME_RATE * rate(before);
    let grown = devices(step).filter_map(|now| {
        let then = devices(before).find(|then| then.name == now.name)?;
        (now.busy >= BUSY_MIN && now.queue >= more * then.queue).then_some((now, then))
    });
    let most = grown.max_by(|(a, _), (b, _)| a.queue.total_cmp(&b.queue));
    most.filter(|_| is_flat).map(|(now, then)| Bottleneck {
        kind: Resource::Device,
        name: now.name.to_owned(),
        utilisation: Some(now.busy),
        text: format!(
            "{} was at its limit: with {} instead of {} tiles it did no more I/Os, and its queue \
             grew from {:.1} to {:.1}",
            now.name, step.tiles, before.tiles, then.queue, now.queue
        ),
        source: format!("{}, and the rates of both steps", GaugeName::DeviceQueue.source()),
    })
}

fn flushes(step: &Step) -> Option<Bottleneck> {
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let time = |io: &run_store::run::IoTotal| {
        io.service.mean_ns.unwrap_or(0) as f64 * io.service.samples as f64
    };
    let all: f64 = step.io.iter().map(time).sum();
    let own = step.io.iter().filter(|io| io.direction == Direction::Flush).map(time).sum::<f64>();
    let share = own / all.max(f64::MIN_POSITIVE);
    (share >= FLUSH_MIN).then(|| Bottleneck {
        kind: Resource::Flush,
        name: busiest(step).map_or_else(String::new, |device| device.name.to_owned()),
        utilisation: Some(share),
        text: format!("flushes took {} of all time spent in I/Os", percent(share)),
        source: "service times of this step, compared with 50 %".to_owned(),
    })
}

fn nearest(step: &Step) -> Bottleneck {
    let Some(Device { name, busy, queue }) = busiest(step) else {
        return nothing("no device or queue statistics are available for this storage");
    };
    Bottleneck {
        kind: Resource::NoneSeen,
        name: name.to_owned(),
        utilisation: Some(busy),
        text: format!(
            "nothing that can be seen here was at its limit: {name} was busy {} of the time, \
             {queue:.1} I/Os queued",
            percent(busy)
        ),
        source: GaugeName::DeviceBusy.source().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, kind: PartKind, used: f64) -> PartFacts {
        PartFacts {
            name: name.to_owned(),
            kind,
            count: 8,
            utilisation: used / 2.0,
            utilisation_max: used,
            iops: 1.0,
            bytes_per_s: 1.0,
            inside: 1.0,
        }
    }

    fn modelled(parts: Vec<PartFacts>, used: f64) -> Bottleneck {
        let host = HostFacts {
            name: "host-3".to_owned(),
            used,
            cycles: None,
            capacity: 0.84,
            used_max_1s: used,
            used_max_20s: used,
            ready: 1.0,
            ready_max_1s: 1.0,
            ready_max_20s: 1.0,
        };
        let mut step = fixtures::step(5, 1.0);
        step.model = Some(ModelFacts { parts, hosts: vec![host], ..ModelFacts::default() });
        of(&step, &[])
    }

    #[test]
    fn idle_disks_are_not_blamed_when_hosts_are_at_their_limit() {
        let disks = || {
            vec![
                part("pool lun1 disks", PartKind::Disk, 0.06),
                part("queue", PartKind::Queue, 0.97),
            ]
        };
        let found = modelled(disks(), 0.83);
        assert_eq!((found.kind, found.name.as_str()), (Resource::HostCpu, "processors of host-3"));
        assert!(found.utilisation.expect("known") > 0.98, "of what may be used: {found:?}");
        let full = modelled(disks(), 0.2);
        assert_eq!(full.kind, Resource::Queue, "nothing behind the queue is busy: {full:?}");
        // Regression from a calibrated disk: "disks 0 % busy at most" although it answered no more
        // I/Os per second.
        let table = modelled(vec![part("pool disk disks", PartKind::Disk, 0.0)], 0.2);
        assert_eq!((table.kind, table.utilisation), (Resource::NoneSeen, None), "{table:?}");
        assert!(table.text.contains("its limit; 1.0 I/Os were in it"), "{table:?}");
        let idle = modelled(vec![part("link", PartKind::Link, 0.3)], 0.2);
        assert_eq!((idle.kind, idle.name.as_str()), (Resource::NoneSeen, "link"));
    }

    #[test]
    fn busy_disks_are_named_before_the_queue_in_front_of_them() {
        let parts = vec![
            part("lun queue", PartKind::Queue, 1.0),
            part("pool a disks", PartKind::Disk, 0.93),
        ];
        let found = modelled(parts, 0.1);
        assert_eq!((found.kind, found.name.as_str()), (Resource::Disk, "pool a disks"));
    }

    fn real(tiles: u32, rate: f64, queue: f64) -> Step {
        let mut step = fixtures::step(tiles, 1.0);
        step.throughput.operations_per_s = rate;
        let of = |name, value| Gauge { name, scope: "sda".to_owned(), value };
        step.gauges = vec![
            Gauge::of_host(GaugeName::CpuOwn, 0.2),
            of(GaugeName::DeviceBusy, 1.0),
            of(GaugeName::DeviceQueue, queue),
        ];
        step
    }

    #[test]
    fn busy_device_is_at_its_limit_only_if_more_tiles_add_no_io() {
        let before = [real(8, 9_000.0, 10.0)];
        let rising = of(&real(12, 13_000.0, 20.0), &before);
        assert_eq!(rising.kind, Resource::NoneSeen, "{rising:?}");
        assert!(rising.text.contains("sda was busy 100 % of the time"), "{rising:?}");
        assert!(rising.text.contains("20.0 I/Os queued"), "{rising:?}");
        let flat = of(&real(12, 9_100.0, 60.0), &before);
        assert_eq!((flat.kind, flat.name.as_str()), (Resource::Device, "sda"));
        let short = of(&real(12, 9_100.0, 10.0), &before);
        assert_eq!(short.kind, Resource::NoneSeen, "a queue that does not grow: {short:?}");
        assert_eq!(of(&real(9, 9_100.0, 60.0), &before).kind, Resource::NoneSeen, "too near");
    }

    /// Regression of ea41adf: the first device was paired with the first queue, even if the queue
    /// belonged to another device.
    #[test]
    fn a_queue_is_held_against_its_own_device() {
        let with = |tiles, rate, idle_first: bool, queue| {
            let mut step = real(tiles, rate, queue);
            let of = |name, value| Gauge { name, scope: "sdb".to_owned(), value };
            let idle = [of(GaugeName::DeviceQueue, 0.5), of(GaugeName::DeviceBusy, 0.1)];
            let at = if idle_first { 0 } else { step.gauges.len() };
            step.gauges.splice(at..at, idle);
            step
        };
        for idle_first in [true, false] {
            let before = [with(8, 9_000.0, idle_first, 10.0)];
            let flat = of(&with(12, 9_100.0, idle_first, 60.0), &before);
            assert_eq!((flat.kind, flat.name.as_str()), (Resource::Device, "sda"), "{flat:?}");
            assert!(flat.text.contains("from 10.0 to 60.0"), "{flat:?}");
            let rising = of(&with(12, 13_000.0, idle_first, 20.0), &before);
            assert!(rising.text.contains("sda was busy 100 %"), "{rising:?}");
        }
        // Load of another host is no load of this host.
        let mut step = real(2, 100.0, 1.0);
        let elsewhere =
            Gauge { scope: "host-2".to_owned(), ..Gauge::of_host(GaugeName::CpuOwn, 0.95) };
        step.gauges.insert(0, elsewhere);
        assert_eq!(of(&step, &[]).kind, Resource::NoneSeen);
    }

    #[test]
    fn processors_flushes_and_generator_are_named_by_their_share() {
        let mut step = real(2, 100.0, 1.0);
        step.gauges[0].value = 0.95;
        assert_eq!(of(&step, &[]).kind, Resource::HostCpu);
        step.gauges[0].value = 0.2;
        let mut flush = step.io[0].clone();
        flush.direction = Direction::Flush;
        flush.service.mean_ns = step.io[0].service.mean_ns.map(|mean| 2 * mean);
        step.io.push(flush);
        let found = of(&step, &[]);
        assert_eq!(found.kind, Resource::Flush);
        assert!((found.utilisation.expect("a share") - 2.0 / 3.0).abs() < 1e-9);
        step.cause = Some(Cause::Generator);
        assert_eq!(of(&step, &[]).kind, Resource::Generator);
        step.cause = None;
        (step.gauges, step.io) = (Vec::new(), Vec::new());
        assert_eq!(of(&step, &[]).kind, Resource::NoneSeen);
    }
}
