//! What the hosts of a load send, put together: bytes of their slices in, slices of the whole out.
//!
//! It knows no network, so hosts can be many more than there are (`figures`, a thousand on paper). It refuses
//! what is no slice and what names something that the sender does not drive. Invariant: a slice of the whole
//! holds every host's of that time, once, whatever came twice, late or in another order.

use std::time::Instant;

use bench::rig::HostLoad;
use run_store::gauge::{Gauge, ScopeKind};
use run_store::slice::{InstanceId, Slice, Topology, VmId};
use units::Nanos;

use crate::gather::Gather;
use crate::wire::Sent;

/// One host's part of a load.
#[derive(Debug)]
pub struct Part {
    /// Its position among the hosts of the run.
    pub host: usize,
    /// Its name.
    pub name: String,
    /// The ids of the whole, by its own.
    pub instances: Vec<InstanceId>,
    /// The same of machines.
    pub vms: Vec<VmId>,
    /// When it began, and how sure that is.
    pub began_late: Nanos,
    /// By how much the common moment may be wrong there.
    pub clock_uncertainty: Nanos,
}

impl Part {
    /// What a host drives: these positions of a load's instances, in this order.
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

/// The machines of every instance of a load.
#[derive(Debug)]
pub struct VmsOf(Vec<Vec<VmId>>);

impl VmsOf {
    /// Of all that a load has.
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

/// The slices of a load that hosts drive together.
#[derive(Debug)]
pub struct Merge {
    epoch: u64,
    topology: Topology,
    parts: Vec<Part>,
    pub(crate) gather: Gather,
    gauges: Vec<Gauge>,
    /// By host of the run, those without a part as well.
    hosts: Vec<HostLoad>,
}

impl Merge {
    /// Nothing yet of these parts, whose hosts are among `hosts`.
    pub fn new(epoch: u64, topology: Topology, parts: Vec<Part>, hosts: usize) -> Self {
        let gather = Gather::new(parts.len());
        let (gauges, hosts) = (Vec::new(), vec![HostLoad::default(); hosts]);
        let mut merge = Self { epoch, topology, parts, gather, gauges, hosts };
        merge.reset();
        merge
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Forgets what hosts did until now.
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

    /// Keeps what a host sent, whatever else it is told by; whether it was new.
    ///
    /// # Errors
    ///
    /// In words, when it is no slice, or one of what the host does not drive.
    pub fn keep(&mut self, part: usize, bytes: &[u8]) -> Result<bool, &'static str> {
        let sent = Sent::read(bytes).ok_or("sent what is no slice")?;
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
            .ok_or("sent a slice of what it does not drive")?;
        Ok(self.gather.put(part, sent.number, (slice, sent.gauges), Instant::now()))
    }

    /// The next slice of all, if everyone's is there.
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

    /// What was read beside the slices handed out since it was last asked for.
    pub fn gauges(&mut self) -> Vec<Gauge> {
        std::mem::take(&mut self.gauges)
    }

    /// What each host of the run did since the last [`Self::reset`].
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

/// A gauge of this host among those of others.
fn of_host(gauge: Gauge, name: &str) -> Gauge {
    let scope = match gauge.name.scope() {
        ScopeKind::Host => name.to_owned(),
        _ => format!("{name}:{}", gauge.scope),
    };
    Gauge { scope, ..gauge }
}

/// Whether a slice names nothing that is not there.
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
