//! Merge of the messages of a load's hosts: encoded slices in, slices of the whole load out.
//!
//! It does not depend on the network, so a benchmark can use more hosts than exist. It refuses
//! invalid slices, and slices with objects that the sending host does not drive. Invariant: a
//! merged slice contains every host's slice of that time once, even if slices arrive twice, late or
//! in another order.

use std::time::Instant;

use bench::rig::HostLoad;
use run_store::gauge::{Gauge, ScopeKind};
use run_store::slice::{InstanceId, Slice, Topology, VmId};
use units::Nanos;

use crate::gather::Gather;
use crate::wire::Sent;

/// Part of a load on one host.
#[derive(Debug)]
pub struct LoadPart {
    /// Position among the hosts of the run.
    pub host: usize,
    /// Name of the host.
    pub name: String,
    /// Instance ids of the whole load, indexed by the part's own ids.
    pub instances: Vec<InstanceId>,
    /// VM ids of the whole load, indexed by the part's own ids.
    pub vms: Vec<VmId>,
    /// Delay of the start.
    pub began_late: Nanos,
    /// Uncertainty of the common start on that host.
    pub clock_uncertainty: Nanos,
}

impl LoadPart {
    /// Creates a host's part with these positions of a load's instances, in this order.
    pub fn new((host, name): (usize, &str), positions: &[usize], whole: &VmsOf) -> Self {
        let id = |at: &usize| InstanceId(u32::try_from(*at).unwrap_or(u32::MAX));
        Self {
            host,
            name: name.to_owned(),
            instances: positions.iter().map(id).collect(),
            vms: positions.iter().flat_map(|at| whole.of(*at)).copied().collect(),
            began_late: Nanos::ZERO,
            clock_uncertainty: Nanos::ZERO,
        }
    }
}

/// VMs of every instance of a load.
#[derive(Debug)]
pub struct VmsOf(Vec<Vec<VmId>>);

impl VmsOf {
    /// Collects the VMs of a load.
    pub fn new(topology: &Topology) -> Self {
        let mut by_instance = vec![Vec::new(); topology.instances.len()];
        for (vm, at) in topology.vms.iter().zip(0..) {
            if let Some(own) = by_instance.get_mut(vm.instance.0 as usize) {
                own.push(VmId(at));
            }
        }
        Self(by_instance)
    }

    fn of(&self, instance: usize) -> &[VmId] {
        self.0.get(instance).map_or(&[], Vec::as_slice)
    }
}

/// Slices of a load that hosts drive together.
#[derive(Debug)]
pub struct Merge {
    epoch: u64,
    topology: Topology,
    parts: Vec<LoadPart>,
    pub(crate) gather: Gather,
    gauges: Vec<Gauge>,
    /// Counters of each host of the run, including hosts without a part.
    hosts: Vec<HostLoad>,
}

impl Merge {
    /// Creates an empty merge of these parts, whose hosts are among `hosts`.
    pub fn new(epoch: u64, topology: Topology, parts: Vec<LoadPart>, hosts: usize) -> Self {
        let gather = Gather::new(parts.len());
        let (gauges, hosts) = (Vec::new(), vec![HostLoad::default(); hosts]);
        let mut merge = Self { epoch, topology, parts, gather, gauges, hosts };
        merge.reset();
        merge
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> &[LoadPart] {
        &self.parts
    }

    /// Resets the hosts' counters.
    pub fn reset(&mut self) {
        for (at, part) in self.parts.iter().enumerate() {
            let _ = self.gather.punctuality(at);
            self.hosts[part.host] = HostLoad {
                began_late: part.began_late,
                clock_uncertainty: part.clock_uncertainty,
                ..HostLoad::default()
            };
        }
    }

    /// Stores a slice from a host, received as a message or as an answer. Returns true if it was
    /// new.
    ///
    /// # Errors
    ///
    /// If the bytes are not a slice, or the slice has tiles that the host does not drive.
    pub fn keep(&mut self, part: usize, bytes: &[u8]) -> Result<bool, &'static str> {
        let sent = Sent::read(bytes).ok_or("sent data that is not a slice")?;
        if sent.epoch != self.epoch {
            return Ok(false);
        }
        let Some(slice) = sent.slice else {
            self.gather.ended(part, sent.number);
            return Ok(true);
        };
        let own = &self.parts[part];
        let slice = slice
            .renumbered(&own.instances, &own.vms)
            .filter(|slice| fits(slice, &self.topology))
            .ok_or("sent a slice of load that it does not drive")?;
        Ok(self.gather.put(part, sent.number, (slice, sent.gauges), Instant::now()))
    }

    /// Returns the next merged slice, if all hosts' parts have arrived.
    pub fn gathered(&mut self) -> Option<Slice> {
        let gathered = self.gather.take(Instant::now())?;
        let (parts, hosts, all) = (&self.parts, &mut self.hosts, &mut self.gauges);
        Slice::merged(gathered.parts.into_iter().zip(parts).filter_map(|(own, part)| {
            let (slice, gauges) = own?;
            all.extend(gauges.into_iter().map(|gauge| of_host(gauge, &part.name)));
            hosts[part.host].generator.add(&slice);
            Some(slice)
        }))
    }

    /// Returns the gauges that were sampled with the slices handed out since the last call.
    pub fn gauges(&mut self) -> Vec<Gauge> {
        std::mem::take(&mut self.gauges)
    }

    /// Returns the counters of each host of the run since the last [`Self::reset`].
    pub fn hosts(&mut self) -> Vec<HostLoad> {
        for (at, part) in self.parts.iter().enumerate() {
            let (late, fetched) = self.gather.punctuality(at);
            let host = &mut self.hosts[part.host];
            host.slice_late_max = host.slice_late_max.max(late.into());
            host.slices_fetched += fetched;
        }
        self.hosts.clone()
    }
}

/// Returns a gauge of a host with the host's name added.
fn of_host(gauge: Gauge, name: &str) -> Gauge {
    let scope = match gauge.name.scope() {
        ScopeKind::Host => name.to_owned(),
        _ => format!("{name}:{}", gauge.scope),
    };
    Gauge { scope, ..gauge }
}

/// Returns true if a slice contains only known objects.
fn fits(slice: &Slice, topology: &Topology) -> bool {
    use run_store::slice::Unfinished;
    let entry = |instance: InstanceId| topology.instances.get(instance.0 as usize);
    let kind = |instance, kind: u16| {
        entry(instance).is_some_and(|own| usize::from(kind) < own.kinds.len())
    };
    let action = |instance, action: u16| {
        entry(instance).is_some_and(|own| usize::from(action) < own.actions.len())
    };
    let vm = |vm: VmId| topology.vms.get(vm.0 as usize).map(|vm| vm.instance);
    slice.io.iter().all(|row| vm(row.vm).is_some_and(|own| kind(own, row.kind)))
        && slice.calls.iter().all(|row| kind(row.instance, row.kind))
        && slice.actions.iter().all(|row| {
            let groups = entry(row.instance).map_or(0, |own| own.groups.len());
            action(row.instance, row.action) && usize::from(row.group) < groups.max(1)
        })
        && slice.open.iter().all(|row| match row.what {
            Unfinished::Action(number) | Unfinished::Start(number) => action(row.instance, number),
            Unfinished::Io(number, _) | Unfinished::Call(number) => kind(row.instance, number),
        })
}
