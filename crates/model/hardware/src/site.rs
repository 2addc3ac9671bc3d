use state_machine::{CpuBurst, IoRequest};
use units::Nanos;

use crate::array::Array;
use crate::cpu::{HostCpu, HostEffects, IoCost, Suspended};
use crate::effects::ModelEffects;
use crate::part::{Alarm, Ticket};
use state_machine::Slab;

/// Hosts, and the array that they share.
///
/// A CPU burst runs on the host of its virtual machine. An I/O first uses the CPU time of
/// [`IoCost`] on that host, and enters the array afterwards.
#[derive(Debug)]
pub struct Site {
    /// Storage that the hosts share.
    pub array: Array,
    /// Hosts, identified by position.
    pub hosts: Vec<HostCpu>,
    places: Vec<InstancePlace>,
    io_cost: IoCost,
    /// Requests that are using CPU time before they enter the array, by the number of the
    /// hypervisor's work.
    entering: Slab<(usize, Ticket, IoRequest)>,
    host_effects: HostEffects,
}

/// Hosts of an instance's virtual machines, and the virtual machine of each of its disks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstancePlace {
    /// Host, and number on that host ([`HostCpu::add_machine`]), by the virtual machine's position
    /// in the instance. A virtual machine without an entry computes on a core of its own, and its
    /// I/Os use no CPU time.
    pub vms: Vec<(usize, usize)>,
    /// Position of the virtual machine of each disk, by the disk's position in the instance;
    /// disks beyond the list belong to the first virtual machine.
    pub disk_vms: Vec<u16>,
}

/// Timer of an array or of a host's processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SiteAlarm {
    /// Timer of the array.
    Array(Alarm),
    /// Timer of a host's processors, by the host's position.
    Host(usize),
}

impl From<Alarm> for SiteAlarm {
    fn from(alarm: Alarm) -> Self {
        Self::Array(alarm)
    }
}

impl Site {
    /// Creates a site of these parts; `places` are the places of the instances, by position. I/Os
    /// use no CPU time.
    pub fn new(array: Array, hosts: Vec<HostCpu>, places: Vec<InstancePlace>) -> Self {
        let (entering, host_effects) = (Slab::new(), HostEffects::default());
        Self { array, hosts, places, io_cost: IoCost::default(), entering, host_effects }
    }

    /// Sets the CPU cost of an I/O, which is zero otherwise.
    #[must_use]
    pub fn with_io_cost(self, io_cost: IoCost) -> Self {
        Self { io_cost, ..self }
    }

    /// Submits a request of an instance, as [`Array::submit`].
    pub fn submit(
        &mut self,
        now: Nanos,
        (instance, ticket): (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        let cost = self.io_cost.of(request, self.array.class_of(instance, request));
        match self.host_of(instance, request) {
            Some(host) if cost > Nanos::ZERO => {
                let number = self.entering.insert((instance, ticket, *request));
                self.hosts[host].run_system(now, number, cost, &mut self.host_effects);
                self.collect(now, host, fx);
            }
            _ => self.array.submit(now, instance, ticket, request, fx),
        }
    }

    fn host_of(&self, instance: usize, request: &IoRequest) -> Option<usize> {
        let place = self.places.get(instance)?;
        let vm = place.disk_vms.get(usize::from(request.disk.0)).copied().unwrap_or(0);
        place.vms.get(usize::from(vm)).map(|(host, _)| *host)
    }

    /// Starts a CPU burst of an instance.
    pub fn run_cpu(
        &mut self,
        now: Nanos,
        instance: usize,
        burst: &CpuBurst,
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        let place = self.places.get(instance);
        let Some(&(host, vm)) = place.and_then(|place| place.vms.get(usize::from(burst.vm))) else {
            fx.ran.push((now.saturating_add(burst.cost), instance, burst.token));
            return;
        };
        self.hosts[host].run(now, vm, (instance, burst), &mut self.host_effects);
        self.collect(now, host, fx);
    }

    /// Handles an alarm that is due.
    pub fn wake(&mut self, now: Nanos, alarm: SiteAlarm, fx: &mut ModelEffects<SiteAlarm>) {
        match alarm {
            SiteAlarm::Array(alarm) => self.array.wake(now, alarm, fx),
            SiteAlarm::Host(host) => {
                self.hosts[host].wake(now, &mut self.host_effects);
                self.collect(now, host, fx);
            }
        }
    }

    /// Returns the host of a virtual machine and its number there; `None` if it has no host.
    pub fn place_of(&self, (instance, vm): (usize, usize)) -> Option<(usize, usize)> {
        self.places.get(instance)?.vms.get(vm).copied()
    }

    /// Returns the position of the virtual machine of a disk.
    pub fn vm_of_disk(&self, (instance, disk): (usize, usize)) -> usize {
        let place = self.places.get(instance);
        place.and_then(|place| place.disk_vms.get(disk)).map_or(0, |vm| usize::from(*vm))
    }

    /// Stops the bursts of a virtual machine. Until [`Site::resume`], the caller must hold back its
    /// new bursts and requests.
    pub fn suspend(
        &mut self,
        now: Nanos,
        of: (usize, usize),
        fx: &mut ModelEffects<SiteAlarm>,
    ) -> Suspended {
        let Some((host, vm)) = self.place_of(of) else { return Suspended::default() };
        let suspended = self.hosts[host].suspend(now, vm, &mut self.host_effects);
        self.collect(now, host, fx);
        suspended
    }

    /// Continues a stopped virtual machine on a host, the same one or another.
    pub fn resume(
        &mut self,
        now: Nanos,
        of: (usize, usize),
        (host, suspended): (usize, Suspended),
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        let Some((before, mut vm)) = self.place_of(of) else { return };
        if host != before {
            let cpus = self.hosts[before].retire(now, vm);
            vm = self.hosts[host].add_machine_at(now, cpus);
            self.places[of.0].vms[of.1] = (host, vm);
        }
        self.hosts[host].resume(now, vm, suspended, &mut self.host_effects);
        self.collect(now, host, fx);
    }

    /// Drops the requests that use CPU time of a host before they enter the array, as a power cut
    /// does. They are never answered. Returns their tickets.
    pub fn drop_entering(
        &mut self,
        now: Nanos,
        host: usize,
        fx: &mut ModelEffects<SiteAlarm>,
    ) -> Vec<Ticket> {
        let numbers = self.hosts[host].drop_system(now, &mut self.host_effects);
        self.collect(now, host, fx);
        numbers.into_iter().map(|number| self.entering.remove(number).1).collect()
    }

    fn collect(&mut self, now: Nanos, host: usize, fx: &mut ModelEffects<SiteAlarm>) {
        if !self.host_effects.ran.is_empty() {
            let ran = self.host_effects.ran.drain(..);
            fx.ran.extend(ran.map(|(instance, token)| (now, instance, token)));
        }
        if !self.host_effects.alarms.is_empty() {
            let alarms = self.host_effects.alarms.drain(..);
            fx.alarms.extend(alarms.map(|at| (at, SiteAlarm::Host(host))));
        }
        for number in self.host_effects.system.drain(..) {
            let (instance, ticket, request) = self.entering.remove(number);
            self.array.submit(now, instance, ticket, &request, fx);
        }
    }
}
