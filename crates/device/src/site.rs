use machine::{CpuBurst, IoRequest, Token};
use units::Nanos;

use crate::array::{Answers, Array};
use crate::cpu::{HostCpu, HostEffects};
use crate::part::{Alarm, Ticket};

/// Hosts and the array they share.
#[derive(Debug)]
pub struct Site {
    /// The storage.
    pub array: Array,
    /// The hosts.
    pub hosts: Vec<HostCpu>,
    /// Host and virtual machine of each instance, by the instance's position. An instance
    /// without an entry runs its CPU bursts on a core of its own.
    pub places: Vec<(usize, usize)>,
    host_effects: HostEffects,
}

/// An alarm of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SiteAlarm {
    /// Of the array.
    Array(Alarm),
    /// Of a core of a host.
    Core {
        /// Which host.
        host: usize,
        /// Which of its cores.
        core: u32,
    },
}

/// What a site tells its driver.
#[derive(Debug, Default)]
pub struct SiteEffects {
    /// Requests answered now.
    pub answers: Answers,
    /// CPU bursts that end at a time: instance and token.
    pub ran: Vec<(Nanos, usize, Token)>,
    /// Alarms of cores.
    pub cores: Vec<(Nanos, SiteAlarm)>,
}

impl Site {
    /// A site of these parts.
    pub fn new(array: Array, hosts: Vec<HostCpu>, places: Vec<(usize, usize)>) -> Self {
        Self { array, hosts, places, host_effects: HostEffects::default() }
    }

    /// A request of an instance, see [`Array::submit`].
    pub fn submit(
        &mut self,
        now: Nanos,
        (instance, ticket): (usize, Ticket),
        request: &IoRequest,
        fx: &mut SiteEffects,
    ) {
        self.array.submit(now, instance, ticket, request, &mut fx.answers);
    }

    /// A CPU burst of an instance.
    pub fn run_cpu(&mut self, now: Nanos, instance: usize, burst: &CpuBurst, fx: &mut SiteEffects) {
        let Some(&(host, vm)) = self.places.get(instance) else {
            fx.ran.push((now.saturating_add(burst.cost), instance, burst.token));
            return;
        };
        self.hosts[host].run(now, vm, (instance, burst), &mut self.host_effects);
        self.collect(now, host, fx);
    }

    /// An alarm has come due.
    pub fn wake(&mut self, now: Nanos, alarm: SiteAlarm, fx: &mut SiteEffects) {
        match alarm {
            SiteAlarm::Array(alarm) => self.array.wake(now, alarm, &mut fx.answers),
            SiteAlarm::Core { host, core } => {
                self.hosts[host].wake(now, core, &mut self.host_effects);
                self.collect(now, host, fx);
            }
        }
    }

    fn collect(&mut self, now: Nanos, host: usize, fx: &mut SiteEffects) {
        let ran = self.host_effects.ran.drain(..);
        fx.ran.extend(ran.map(|(instance, token)| (now, instance, token)));
        let alarms = self.host_effects.alarms.drain(..);
        fx.cores.extend(alarms.map(|(at, core)| (at, SiteAlarm::Core { host, core })));
    }
}
