//! Virtual machines that stop on a host, and go on there or on another one.

use units::Nanos;

use super::{Burst, Change, HostCpu, HostEffects, Running, Whose};

/// Unfinished bursts of a stopped virtual machine, in the order in which they would have run.
#[derive(Debug, Default)]
pub struct Suspended(Vec<Burst>);

impl Suspended {
    /// Undoes the work that was already done, as after a power cut: each burst runs again whole.
    #[must_use]
    pub fn from_the_start(mut self) -> Self {
        self.0.iter_mut().for_each(|burst| burst.left = burst.whole);
        self
    }
}

impl HostCpu {
    /// Stops a virtual machine: takes its bursts off the threads and out of the queues.
    pub fn suspend(&mut self, now: Nanos, vm: usize, out: &mut HostEffects) -> Suspended {
        self.advance(now);
        let mut bursts = Vec::new();
        let mut at = 0;
        while let Some(Running { end, place }) = self.running.get(at).copied() {
            if !matches!(self.bursts[place].whose, Whose::Machine { vm: own, .. } if own == vm) {
                at += 1;
                continue;
            }
            self.running.remove(at);
            self.machines[vm].change(now, Change::Stop);
            let moment = self.moment(now);
            self.ready.finish(moment, vm, place);
            let mut burst = self.bursts.remove(place);
            burst.left += end.saturating_sub(self.clock.now);
            bursts.push(burst);
        }
        // The burst that leaves first is last in the list.
        bursts.reverse();
        let moment = self.moment(now);
        for place in self.ready.withdraw(moment, vm) {
            bursts.push(self.bursts.remove(place));
        }
        let machine = &mut self.machines[vm];
        machine.advance(now);
        (machine.ready, machine.stopped) = (0, 0);
        bursts.extend(machine.queued.drain(..));
        self.dispatch(now, out);
        Suspended(bursts)
    }

    /// Continues a stopped virtual machine, which has the number `vm` on this host. The hosts must
    /// be equally fast.
    pub fn resume(&mut self, now: Nanos, vm: usize, suspended: Suspended, out: &mut HostEffects) {
        self.advance(now);
        for mut burst in suspended.0 {
            if let Whose::Machine { vm: own, .. } = &mut burst.whose {
                *own = vm;
            }
            burst.slice = super::work(self.parameters.slice);
            let machine = &mut self.machines[vm];
            if machine.is_full() {
                machine.queued.push_back(burst);
            } else {
                self.enqueue(now, vm, burst);
            }
        }
        self.dispatch(now, out);
    }

    /// Ends the accounting of a stopped virtual machine that has left the host. Returns its number
    /// of virtual CPUs.
    pub fn retire(&mut self, now: Nanos, vm: usize) -> u32 {
        let machine = &mut self.machines[vm];
        machine.advance(now);
        std::mem::take(&mut machine.cpus)
    }

    /// Drops all work of the hypervisor, as a power cut does. Returns the numbers of the work.
    pub fn drop_system(&mut self, now: Nanos, out: &mut HostEffects) -> Vec<u32> {
        self.advance(now);
        let mut places: Vec<u32> = self.system.drain(..).collect();
        let (bursts, ready) = (&self.bursts, &mut self.ready);
        self.running.retain(|running| {
            let is_system = matches!(bursts[running.place].whose, Whose::System(_));
            if is_system {
                ready.release(running.place);
                places.push(running.place);
            }
            !is_system
        });
        self.totals.system_running = 0;
        self.dispatch(now, out);
        let number = |place: u32| match self.bursts.remove(place).whose {
            Whose::System(number) => number,
            Whose::Machine { .. } => unreachable!("only hypervisor work was collected"),
        };
        places.into_iter().map(number).collect()
    }
}
