use std::collections::{BTreeMap, BTreeSet};

use hardware::{
    Clocking, CpuParameters, CpuSample, Governor, HostCpu, HostPower, HostSample, InstancePlace,
    IoCost, ParameterError, RunOrder, ThreadQueueParameters,
};
use run_store::run::{HostFacts, PlaceFacts, VmFacts};
use spec::array::{Array, Hosts, RunQueue};
use units::Nanos;

use super::links::{copies_of, link_parameters};
use super::plan::{PlantError, PlantInstance};

/// Returns the host of each virtual machine, by instance. Hosts are used in turn; each tile begins
/// one host further than the tile before.
pub fn assign(instances: &[PlantInstance], count: usize) -> Vec<Vec<usize>> {
    // Without the shift, tiles of as many VMs as there are hosts (or a multiple) would put all VMs
    // of a kind on one host.
    let mut turn = 0;
    let mut tile = 0;
    let place = |instance: &PlantInstance| {
        if instance.tile != tile {
            tile = instance.tile;
            turn = usize::try_from(tile).unwrap_or(0);
        }
        let hosts = (0..instance.vm_count()).map(|_| {
            turn += 1;
            (turn - 1) % count
        });
        hosts.collect()
    };
    instances.iter().map(place).collect()
}

/// Builds the hosts with their virtual machines. Also returns the place of each instance and the
/// CPU cost of an I/O.
pub fn build(
    array: &Array,
    instances: &[PlantInstance],
    assigned: &[Vec<usize>],
) -> Result<(Vec<HostCpu>, Vec<InstancePlace>, IoCost), PlantError> {
    let Some(hosts) = &array.hosts else {
        return Ok((Vec::new(), Vec::new(), IoCost::default()));
    };
    let parameters = CpuParameters {
        cores: hosts.cores,
        speed: hosts.speed / hosts.hypervisor.as_ref().map_or(1.0, |own| own.cpu),
        threads: hosts.threads,
        capacity: hosts.capacity,
        slice: hosts.slice,
        order: match hosts.run_queue {
            RunQueue::Shares => RunOrder::Shares,
            RunQueue::Turns => RunOrder::Turns,
        },
        thread_queues: hosts.thread_queues.as_ref().map(|own| ThreadQueueParameters {
            search: own.search,
            rebalance: own.rebalance,
            co_stop: own.co_stop,
            co_start: own.co_start,
            check: own.check,
        }),
    };
    let new = |_| clocked(hosts, parameters).map_err(PlantError::parameter("the hosts"));
    let mut cpus = (0..hosts.count.max(1)).map(new).collect::<Result<Vec<_>, _>>()?;
    let places = instances.iter().zip(assigned).map(|(instance, assigned)| {
        let vms = assigned.iter().enumerate().map(|(vm, host)| {
            let cpus_of_vm = instance.vcpus.get(vm).copied().unwrap_or(1);
            (*host, cpus[*host].add_machine(cpus_of_vm))
        });
        let vms = vms.collect();
        let disk_vm = |vm: usize| u16::try_from(vm).unwrap_or(u16::MAX);
        InstancePlace {
            vms,
            disk_vms: instance.disks.iter().map(|disk| disk_vm(disk.vm)).collect(),
        }
    });
    let places = places.collect();
    let copies = array.local.as_ref().map_or(1, |local| local.copies);
    let link = array.link.as_ref().map(|link| link_parameters(array, link)).transpose()?;
    let cost = hosts.io_cpu.as_ref().map(|cpu| IoCost {
        per_io: cpu.per_io,
        per_8k: cpu.per_8k,
        per_frame: cpu.per_frame,
        frame_data: link.map_or(0, |link| link.frame_data),
        per_copy: cpu.per_copy,
        copies,
        full_copies: copies_of(array),
    });
    let cost = cost.unwrap_or_default();
    let cost = hosts.hypervisor.as_ref().map_or(cost, |own| cost.scaled(own.io_cpu / own.cpu));
    Ok((cpus, places, cost))
}

/// Totals of a host at the end of each second.
#[derive(Debug, Default)]
pub struct HostSeconds {
    since: HostSample,
    at: Nanos,
    /// End of each second, with the totals at that time.
    seconds: Vec<(Nanos, HostSample)>,
}

impl HostSeconds {
    /// Begins measured time.
    pub fn mark(&mut self, now: Nanos, host: &mut HostCpu) {
        *self = Self { since: host.total(now), at: now, seconds: Vec::new() };
    }

    /// Stores the totals at the end of a second.
    pub fn tick(&mut self, now: Nanos, host: &mut HostCpu) {
        self.seconds.push((now, host.total(now)));
    }

    /// Returns the use of the host since measured time began.
    pub fn facts(&self, number: usize, now: Nanos, host: &mut HostCpu) -> HostFacts {
        let cores = f64::from(host.parameters().cores);
        let of_span = |from: (Nanos, HostSample), to: (Nanos, HostSample)| {
            let seconds = to.0.saturating_sub(from.0).as_secs_f64();
            let done = to.1 - from.1;
            let share =
                |time: Nanos| if seconds > 0.0 { time.as_secs_f64() / seconds } else { 0.0 };
            (share(done.used) / cores, share(done.ready), share(done.cycles) / cores)
        };
        let start = (self.at, self.since);
        let largest = |width: usize| {
            let ends = self.seconds.iter().skip(width - 1).step_by(width);
            let mut from = start;
            ends.fold((0.0_f64, 0.0_f64), |most, end| {
                let (used, ready, _) = of_span(from, *end);
                from = *end;
                (most.0.max(used), most.1.max(ready))
            })
        };
        let (used, ready, cycles) = of_span(start, (now, host.total(now)));
        let ((used_max_1s, ready_max_1s), (used_max_20s, ready_max_20s)) =
            (largest(1), largest(20));
        HostFacts {
            name: name(number),
            used,
            cycles: host.has_frequencies().then_some(cycles),
            capacity: host.parameters().capacity.get(),
            used_max_1s,
            used_max_20s,
            ready,
            ready_max_1s,
            ready_max_20s,
        }
    }
}

/// Returns the name of the host at a position.
pub fn name(position: usize) -> String {
    format!("host-{}", position + 1)
}

/// Returns the hosts of each workload of a tile. Copies of a workload in one tile are counted
/// together.
pub fn places(instances: &[PlantInstance], places: &[InstancePlace]) -> Vec<PlaceFacts> {
    let mut hosts: BTreeMap<(u32, &str), BTreeSet<usize>> = BTreeMap::new();
    for (instance, place) in instances.iter().zip(places) {
        let Some(disk) = instance.disks.first() else { continue };
        let own = hosts.entry((instance.tile, &disk.workload)).or_default();
        own.extend(place.vms.iter().map(|(host, _)| *host));
    }
    let facts = hosts.into_iter().map(|((tile, workload), hosts)| PlaceFacts {
        tile,
        workload: workload.to_owned(),
        hosts: hosts.into_iter().map(name).collect(),
    });
    facts.filter(|facts| !facts.hosts.is_empty()).collect()
}

/// A virtual machine with its name and hosts.
#[derive(Debug, Clone)]
pub struct NamedVm {
    pub name: String,
    /// Instance, and position in the instance.
    pub of: (usize, usize),
    /// Hosts on which it has run, the last one last, each with its number there.
    pub places: Vec<(usize, usize)>,
    pub cpus: u32,
}

/// Returns the named virtual machines of the hosts.
pub fn names(instances: &[PlantInstance], places: &[InstancePlace]) -> Vec<NamedVm> {
    let mut names = Vec::new();
    for (at, (instance, place)) in instances.iter().zip(places).enumerate() {
        let cpus = instance.vcpus.iter().map(|cpus| (*cpus).max(1));
        for (vm, ((name, cpus), first)) in instance.vms.iter().zip(cpus).zip(&place.vms).enumerate()
        {
            let (of, places) = ((at, vm), vec![*first]);
            names.push(NamedVm { name: name.clone(), of, places, cpus });
        }
    }
    names
}

/// Returns the use of the virtual machines in whole seconds from `since` to `now`. VMs with the
/// same name are merged.
pub fn vm_facts(
    hosts: &mut [HostCpu],
    vms: &[NamedVm],
    (since, now): (Nanos, Nanos),
) -> Vec<VmFacts> {
    let first = usize::try_from(since.0 / Nanos::SECOND.0).unwrap_or(usize::MAX);
    let mut facts: Vec<VmFacts> = Vec::new();
    for vm in vms {
        let seconds = seconds_of(hosts, vm, now);
        let own = facts_of(vm, seconds.get(first..).unwrap_or_default());
        match facts.iter_mut().find(|facts| facts.name == vm.name) {
            Some(facts) => merge(facts, &own),
            None => facts.push(own),
        }
    }
    facts
}

/// Returns the samples of a virtual machine on all its hosts, for each full second up to `now`.
fn seconds_of(hosts: &mut [HostCpu], vm: &NamedVm, now: Nanos) -> Vec<CpuSample> {
    let mut all: Vec<CpuSample> = Vec::new();
    for (host, number) in &vm.places {
        let seconds = hosts[*host].seconds(*number, now);
        all.resize(all.len().max(seconds.len()), CpuSample::default());
        all.iter_mut().zip(seconds).for_each(|(sum, own)| *sum = *sum + *own);
    }
    all
}

fn facts_of(vm: &NamedVm, seconds: &[CpuSample]) -> VmFacts {
    let cpus = f64::from(vm.cpus);
    let of_chunk = |chunk: &[CpuSample]| {
        let sum: CpuSample = chunk.iter().copied().sum();
        let seconds = span(chunk.len().max(1));
        (sum.used.as_secs_f64() / seconds / cpus, sum.ready.as_secs_f64() / seconds)
    };
    let largest = |width: usize| {
        seconds
            .chunks_exact(width)
            .map(of_chunk)
            .fold((0.0_f64, 0.0_f64), |most, own| (most.0.max(own.0), most.1.max(own.1)))
    };
    let (used, ready) = of_chunk(seconds);
    let ((used_max_1s, ready_max_1s), (used_max_20s, ready_max_20s)) = (largest(1), largest(20));
    VmFacts {
        name: vm.name.clone(),
        count: 1,
        used,
        used_max_1s,
        used_max_20s,
        ready,
        ready_max_1s,
        ready_max_20s,
    }
}

fn merge(sum: &mut VmFacts, own: &VmFacts) {
    sum.count += 1;
    let share = 1.0 / f64::from(sum.count);
    sum.used += (own.used - sum.used) * share;
    sum.ready += (own.ready - sum.ready) * share;
    sum.used_max_1s = sum.used_max_1s.max(own.used_max_1s);
    sum.used_max_20s = sum.used_max_20s.max(own.used_max_20s);
    sum.ready_max_1s = sum.ready_max_1s.max(own.ready_max_1s);
    sum.ready_max_20s = sum.ready_max_20s.max(own.ready_max_20s);
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
const fn span(seconds: usize) -> f64 {
    seconds as f64
}

/// Builds a host from an array's file, with its frequencies and watts.
fn clocked(hosts: &Hosts, parameters: CpuParameters) -> Result<HostCpu, ParameterError> {
    let cpu = HostCpu::new(parameters)?;
    let cpu = match clocking(hosts) {
        Some(clocking) => cpu.with_clocking(clocking)?,
        None => cpu,
    };
    match power(hosts) {
        Some(power) => cpu.with_power(&power),
        None => Ok(cpu),
    }
}

fn clocking(hosts: &Hosts) -> Option<Clocking> {
    let (frequency, memory) = (hosts.frequency.as_ref(), hosts.memory.as_ref());
    if frequency.is_none() && memory.is_none() {
        return None;
    }
    let mut clocking = Clocking::default();
    if let Some(own) = frequency {
        clocking.nominal = own.nominal;
        clocking.states.clone_from(&own.states);
        clocking.turbo.clone_from(&own.turbo);
        clocking.limit = own.limit;
        let governor = own.governor.as_ref();
        clocking.governor = governor.map(|own| Governor { every: own.every, target: own.target });
    }
    if let Some(own) = memory {
        clocking.memory_speed = own.speed;
        clocking.memory_bound = own.bound;
    }
    Some(clocking)
}

pub fn power(hosts: &Hosts) -> Option<HostPower> {
    let own = hosts.power.as_ref()?;
    let memory = hosts.memory.as_ref().map_or(1.0, |memory| memory.speed);
    Some(HostPower {
        idle: (own.idle - own.memory * (1.0 - memory)).max(0.0),
        core: own.core,
        exponent: own.exponent,
        awake: own.awake,
        sleep_after: own.sleep_after,
        together: own.sleep_together,
        wake: own.wake,
    })
}
