//! Turns of the run queues of threads: balancing, and the lead of virtual CPUs over siblings.

use units::Nanos;

use super::super::ready::Ready;
use super::{Change, HostCpu, Running, Whose};

impl HostCpu {
    /// Balances the queues, stops virtual CPUs that are too far ahead of a sibling, and restarts
    /// stopped ones whose siblings have caught up, if any of this is due at `now`.
    pub(super) fn balance(&mut self, now: Nanos) {
        let at = self.moment(now);
        let Ready::Each(queues) = &mut self.ready else { return };
        queues.rebalance(at);
        let skewed = queues.skewed(now);
        for place in skewed.start {
            queues.start(at, place);
            if let Whose::Machine { vm, .. } = self.bursts[place].whose {
                self.machines[vm].change(now, Change::CoStart);
            }
        }
        for place in skewed.stop {
            self.co_stop(now, place);
        }
    }

    fn co_stop(&mut self, now: Nanos, place: u32) {
        let at = self.moment(now);
        let Ready::Each(queues) = &mut self.ready else { return };
        let Some(found) = self.running.iter().position(|running| running.place == place) else {
            return;
        };
        let Running { end, .. } = self.running.remove(found);
        let undone = end.saturating_sub(at.clock);
        let burst = &mut self.bursts[place];
        burst.left += undone;
        burst.slice += undone;
        queues.stop(at, place);
        if let Whose::Machine { vm, .. } = burst.whose {
            self.machines[vm].change(now, Change::CoStop);
        }
    }
}
