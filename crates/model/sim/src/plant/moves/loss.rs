use hardware::Ticket;
use run_store::run::{StepEventKind, TileMove};
use spec::events::PlannedEvent;
use state_machine::IoRequest;
use units::Nanos;

use super::context::{MoveContext, WaitingWork};
use super::vm::Stop;
use super::{HostState, Migration, Moves, Order, Stage, Time, host};

/// Time without heartbeats after which a host counts as failed ("vSphere Availability", failure
/// detection: heartbeats every second, 15 s without any).
const NOTICED_AFTER: Nanos = Nanos::from_secs(15);

/// Losses of hosts.
impl Moves {
    /// Cuts a host's power. Acknowledged writes that were only in its tiers are lost.
    pub(super) fn lose(
        &mut self,
        event: &PlannedEvent,
        host: usize,
        context: &mut MoveContext<'_>,
    ) {
        let kind = (StepEventKind::LoseHost, Some(host));
        let event_at = self.begin_event(kind, Some(event), context.now);
        (self.hosts[host].is_lost, self.hosts[host].paused_until) = (true, None);
        self.give_up_migrations(host, context);
        let here = |vm: &usize| self.vms[*vm].host == host;
        let vms: Vec<usize> = (0..self.vms.len()).filter(here).collect();
        for vm in &vms {
            let stop = self.vms[*vm].stop(context);
            (stop.lost_by, stop.paused_until) = (Some(event_at), None);
            let suspended = std::mem::take(&mut stop.suspended);
            stop.suspended = suspended.from_the_start();
        }
        let never = context.site.drop_entering(context.now, host, context.fx);
        self.send_again(&vms, &never, context);
        let lost = context.lose_shares(host);
        self.events[event_at].own.event.lost_bytes = Some(lost).filter(|lost| *lost > 0);
        self.affects(event_at, &vms);
        self.set_time(context.now + NOTICED_AFTER, Time::Noticed(event_at), context);
        self.start_orders(context);
    }

    /// Makes the requests in flight of lost virtual machines wait for their restart. A virtual machine
    /// that has left the host sends those again at once that were still on their way through it.
    fn send_again(&mut self, vms: &[usize], never: &[Ticket], context: &mut MoveContext<'_>) {
        let Some(in_flight) = &mut self.in_flight else { return };
        let lost: Vec<(usize, usize)> = vms.iter().map(|vm| self.vms[*vm].of).collect();
        let of = |instance: usize, request: &IoRequest| {
            (instance, context.site.vm_of_disk((instance, usize::from(request.disk.0))))
        };
        let again = in_flight.lose(never, |instance, own| lost.contains(&of(instance, own)));
        let mut at_once = Vec::new();
        for (sender, request) in again {
            let of = of(sender.0, &request);
            let vm = self.vms.iter_mut().find(|vm| vm.of == of);
            match vm.and_then(|vm| vm.stop.as_mut()) {
                Some(Stop { waiting, .. }) => waiting.push(WaitingWork::Request(sender, request)),
                None => at_once.push(WaitingWork::Request(sender, request)),
            }
        }
        self.release(at_once, context);
    }

    /// Ends the migrations from and to a lost host. A virtual machine on its way to the lost host
    /// stays where it was, and moves to another host.
    fn give_up_migrations(&mut self, lost: usize, context: &mut MoveContext<'_>) {
        for order in &mut self.orders {
            if order.to == lost {
                self.vms[order.vm].goal = self.vms[order.vm].host;
            }
        }
        let mut again: Vec<Order> = Vec::new();
        self.orders.retain(|order| {
            let is_over = order.to == lost;
            again.extend(is_over.then_some(*order));
            !is_over
        });
        for number in 0..self.migrations.len() {
            let Migration { order, from, stage, .. } = self.migrations[number];
            if stage == Stage::Over || (from != lost && order.to != lost) {
                continue;
            }
            self.end_migration(u32::try_from(number).expect("fewer than 2^32 moves"), context);
            again.push(order);
            let own = &mut self.vms[order.vm];
            own.goal = own.host;
            if from != lost && matches!(stage, Stage::Stopped(_)) && !own.is_paused() {
                let waiting = own.resume_here(context);
                self.release(waiting, context);
            }
        }
        for Order { vm, event_at, pool, .. } in again {
            self.events[event_at].open -= 1;
            match self.fewest().filter(|_| self.vms[vm].host != lost) {
                Some(to) => self.order(event_at, vm, (to, pool)),
                None => self.end_if_done(event_at, context.now, ""),
            }
        }
    }

    pub(super) fn noticed(&mut self, event_at: usize, context: &mut MoveContext<'_>) {
        let lost = self.lost_by(event_at);
        let event = &mut self.events[event_at].own.event;
        event.noticed_ns = Some(context.now.0);
        event.detection_ns = Some(NOTICED_AFTER.0);
        let (stood_ns, from) = (event.began_ns, event.host.clone().unwrap_or_default());
        event.tiles = lost
            .iter()
            .map(|vm| TileMove {
                tile: self.vms[*vm].tile,
                vm: Some(self.vms[*vm].name.clone()),
                from: from.clone(),
                stood_ns,
                begins_anew: true,
                ..TileMove::default()
            })
            .collect();
        match self.restart {
            Some(restart) if !lost.is_empty() => {
                let at = context.now.saturating_add(restart.delay);
                self.set_time(at, Time::Restart(event_at), context);
            }
            _ => self.end_if_done(event_at, context.now, "no virtual machine ran on it"),
        }
    }

    fn lost_by(&self, event_at: usize) -> Vec<usize> {
        let is_own = |vm: &usize| {
            self.vms[*vm].stop.as_ref().is_some_and(|stop| stop.lost_by == Some(event_at))
        };
        (0..self.vms.len()).filter(is_own).collect()
    }

    /// Restarts lost virtual machines, each on the host whose virtual machines have the fewest
    /// virtual CPUs. vSphere HA takes the host with the most unreserved capacity, which is the same
    /// for equal hosts and virtual machines without reservations.
    pub(super) fn restarted(&mut self, event_at: usize, context: &mut MoveContext<'_>) {
        if !self.hosts.iter().any(HostState::runs)
            && let Some(until) = self.hosts.iter().filter_map(|host| host.paused_until).min()
        {
            return self.set_time(until, Time::Restart(event_at), context);
        }
        for (at, vm) in self.lost_by(event_at).into_iter().enumerate() {
            let cpus =
                |host: &usize| self.vms_of(*host).iter().map(|vm| self.vms[*vm].cpus).sum::<u32>();
            // A drained host is better than none.
            let others = || (0..self.hosts.len()).filter(|host| self.hosts[*host].runs());
            let to = self.takers().min_by_key(cpus).or_else(|| others().min_by_key(cpus));
            let Some(to) = to else { continue };
            let waiting = self.vms[vm].resume(to, context);
            self.release(waiting, context);
            if let Some(tile) = self.events[event_at].own.event.tiles.get_mut(at) {
                tile.to = Some(host::name(to));
                tile.goes_on_ns = Some(context.now.0);
                tile.outage_ns = Some(context.now.0.saturating_sub(tile.stood_ns));
            }
        }
        self.end_if_done(event_at, context.now, "");
    }
}
