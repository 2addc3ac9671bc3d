use run_store::run::{MoveCopy, StepEvent, StepEventKind, TileMove};
use spec::events::{EventKind, PlannedEvent};
use units::Nanos;

use super::context::MoveContext;
use super::drs::Balance;
use super::live::Next;
use super::{HostState, Migration, Moves, OngoingEvent, Order, PlantEvent, Stage, Time, host};

/// Time from the end of the last copy until the virtual machine runs on the new host: state of its
/// devices, and the network's knowledge of its new place. Our choice, within the 60 ms that a whole
/// switch-over took at best in "Live Migration of Virtual Machines" (Clark and others, NSDI 2005).
const SWITCH: Nanos = Nanos::from_millis(50);

/// Share of a host's migrations that one with disks takes ("vCenter Server and Host Management",
/// VMware vSphere 5.0 to 6.7: 4 of 8, where a migration of memory takes 1).
const DISKS_COST: u32 = 4;

/// Course of events.
impl Moves {
    pub(super) fn time_came(&mut self, time: Time, context: &mut MoveContext<'_>) {
        match time {
            Time::Planned(at) => self.happen(&self.planned[at].clone(), context),
            Time::Switched(number) => self.switched(number, context),
            Time::PauseOver(event_at) => self.pause_over(event_at, context),
            Time::Noticed(event_at) => self.noticed(event_at, context),
            Time::Restart(event_at) => self.restarted(event_at, context),
            Time::Balance => self.balance(context),
        }
    }

    fn happen(&mut self, event: &PlannedEvent, context: &mut MoveContext<'_>) {
        let place = |name: &Option<String>| {
            let name = name.as_ref()?;
            (0..self.hosts.len()).find(|at| host::name(*at) == *name)
        };
        let (host, to) = (place(&event.host), place(&event.to));
        match (event.kind, host) {
            (EventKind::Drain, Some(host)) => self.drain(event, (host, to), context),
            (EventKind::Rebalance, _) => self.rebalance(event, to, context),
            (EventKind::StopHost, Some(host)) => self.pause(event, host, context),
            (EventKind::LoseHost, Some(host)) => self.lose(event, host, context),
            // Names were checked before the plant was built.
            (_, None) => {}
        }
    }

    /// Records an event that has begun, and returns its position.
    pub(super) fn begin_event(
        &mut self,
        (kind, host): (StepEventKind, Option<usize>),
        planned: Option<&PlannedEvent>,
        now: Nanos,
    ) -> usize {
        let event = StepEvent {
            host: host.map(host::name),
            planned_ns: planned.map(|own| own.at.0),
            ..StepEvent::begun(kind, now.0)
        };
        let own = PlantEvent { event, affected: Vec::new() };
        self.events.push(OngoingEvent { own, open: 0 });
        self.events.len() - 1
    }

    pub(super) fn affects(&mut self, event_at: usize, vms: &[usize]) {
        let tiles = vms.iter().map(|vm| self.vms[*vm].tile);
        let affected = &mut self.events[event_at].own.affected;
        affected.extend(tiles);
        affected.sort_unstable();
        affected.dedup();
    }

    /// Ends an event without open orders.
    pub(super) fn end_if_done(&mut self, event_at: usize, now: Nanos, none: &str) {
        let own = &mut self.events[event_at];
        if own.open > 0 {
            return;
        }
        let event = &mut own.own.event;
        event.ended_ns = Some(now.0);
        if event.tiles.is_empty() && !none.is_empty() {
            event.note = Some(none.to_owned());
        }
    }

    /// Returns the virtual machines that run on a host after all orders so far.
    pub(super) fn vms_of(&self, host: usize) -> Vec<usize> {
        let all = self.vms.iter().enumerate();
        all.filter(|(_, vm)| vm.goal == host && !vm.is_lost()).map(|(at, _)| at).collect()
    }

    /// Returns the hosts that may take virtual machines.
    pub(super) fn takers(&self) -> impl Iterator<Item = usize> {
        let may = |own: &HostState| own.runs() && !own.is_drained;
        self.hosts.iter().enumerate().filter(move |(_, own)| may(own)).map(|(at, _)| at)
    }

    /// Returns the host with the fewest virtual machines, the first of several.
    pub(super) fn fewest(&self) -> Option<usize> {
        self.takers().min_by_key(|host| self.vms_of(*host).len())
    }

    pub(super) fn order(&mut self, event_at: usize, vm: usize, (to, pool): (usize, Option<usize>)) {
        self.vms[vm].goal = to;
        self.events[event_at].open += 1;
        self.affects(event_at, &[vm]);
        self.orders.push_back(Order { vm, to, pool, event_at });
    }

    fn drain(
        &mut self,
        event: &PlannedEvent,
        (host, to): (usize, Option<usize>),
        context: &mut MoveContext<'_>,
    ) {
        let event_at =
            self.begin_event((StepEventKind::Drain, Some(host)), Some(event), context.now);
        self.hosts[host].is_drained = true;
        let vms = self.vms_of(host);
        for vm in &vms {
            if let Some(to) = to.or_else(|| self.fewest()) {
                self.order(event_at, *vm, (to, None));
            }
        }
        self.start_orders(context);
        let none = match vms.is_empty() {
            true => "no virtual machine ran on it",
            false => "no other host could take its virtual machines",
        };
        self.end_if_done(event_at, context.now, none);
    }

    fn rebalance(
        &mut self,
        event: &PlannedEvent,
        to: Option<usize>,
        context: &mut MoveContext<'_>,
    ) {
        let event_at = self.begin_event((StepEventKind::Rebalance, None), Some(event), context.now);
        let pool = event.pool.as_ref();
        let pool = pool.and_then(|name| self.pools.iter().position(|own| own == name));
        if to.is_some() || pool.is_some() {
            let is_asked = |tile: u32| event.tiles.iter().any(|number| *number == tile + 1);
            for vm in 0..self.vms.len() {
                let own = &self.vms[vm];
                let to = to.unwrap_or(own.goal);
                let has_to_move = own.goal != to || own.disk_for(pool, 0).is_some();
                if is_asked(own.tile) && has_to_move && !own.is_lost() {
                    self.order(event_at, vm, (to, pool));
                }
            }
        } else {
            while let Some((vm, to)) = self.uneven() {
                self.order(event_at, vm, (to, None));
            }
        }
        self.start_orders(context);
        self.end_if_done(event_at, context.now, "no virtual machine had to move");
    }

    /// Balances the load since the last time, and sets the next time. It is an event only if virtual
    /// machines move.
    fn balance(&mut self, context: &mut MoveContext<'_>) {
        let Some(drs) = self.drs.clone() else { return };
        let mut balance = self.loads(context);
        let mut event_at = None;
        while let Some((vm, to)) = balance.next_move(drs.threshold) {
            let event = (StepEventKind::Rebalance, None);
            let event_at =
                *event_at.get_or_insert_with(|| self.begin_event(event, None, context.now));
            self.order(event_at, vm, (to, None));
        }
        self.balanced = context.now;
        self.set_time(context.now.saturating_add(drs.every), Time::Balance, context);
        self.start_orders(context);
    }

    /// Returns the loads of hosts and virtual machines since the last balancing. The load of a
    /// virtual machine is the CPU time that it used or waited for. A virtual machine with an order
    /// counts where it will run, but does not move again.
    fn loads(&self, context: &mut MoveContext<'_>) -> Balance {
        let mut balance = Balance { hosts: Vec::new(), vms: Vec::new() };
        balance.hosts.extend(self.takers().map(|host| (host, 0.0)));
        for (at, vm) in self.vms.iter().enumerate().filter(|(_, vm)| !vm.is_lost()) {
            let load = context.load_of(vm.of, self.balanced.max(vm.arrived));
            if let Some((_, sum)) = balance.hosts.iter_mut().find(|(host, _)| *host == vm.goal) {
                *sum += load;
            }
            if vm.goal == vm.host {
                balance.vms.push((at, vm.host, load));
            }
        }
        balance
    }

    /// Returns a virtual machine of the host with the most, and the host with the fewest, if their
    /// numbers differ by more than one.
    fn uneven(&self) -> Option<(usize, usize)> {
        let to = self.fewest()?;
        // Of several hosts, `max_by_key` would take the last.
        let takers: Vec<usize> = self.takers().collect();
        let most = takers.into_iter().rev().max_by_key(|host| self.vms_of(*host).len())?;
        let most = self.vms_of(most);
        let vm = *most.last()?;
        (most.len() > self.vms_of(to).len() + 1).then_some((vm, to))
    }

    /// Starts the orders whose turn has come.
    pub(super) fn start_orders(&mut self, context: &mut MoveContext<'_>) {
        let mut at = 0;
        while let Some(order) = self.orders.get(at).copied() {
            let Order { vm, to, pool, event_at } = order;
            let (own, from) = (&self.vms[vm], self.vms[vm].host);
            let (cost, most) = (self.cost(order), self.at_once_max);
            let is_full = |host: usize| self.hosts[host].migrations + cost > most.max(cost);
            // An earlier move decides where this one begins, and whether it is already there.
            let is_later = own.migration.is_some()
                || self.orders.iter().take(at).any(|earlier| earlier.vm == vm);
            if !own.is_lost() && (own.stop.is_some() || is_later) {
                at += 1;
            } else if own.is_lost() || (from == to && own.disk_for(pool, 0).is_none()) {
                self.orders.remove(at);
                self.events[event_at].open -= 1;
                self.end_if_done(event_at, context.now, "");
            } else if is_full(from) || is_full(to) {
                at += 1;
            } else {
                self.orders.remove(at);
                self.migrate(order, from, context);
            }
        }
    }

    /// Returns the share of a host's migrations that an order takes.
    fn cost(&self, order: Order) -> u32 {
        match self.vms[order.vm].disk_for(order.pool, 0) {
            Some(_) => DISKS_COST,
            None => 1,
        }
    }

    fn migrate(&mut self, order: Order, from: usize, context: &mut MoveContext<'_>) {
        let number = u32::try_from(self.migrations.len()).expect("fewer than 2^32 moves");
        let (copy, _) = self.memory.copy_of(context.now, 0);
        let (began, stage, cost) = (context.now, Stage::Disk(0), self.cost(order));
        let hosts = if from == order.to { vec![from] } else { vec![from, order.to] };
        hosts.iter().for_each(|host| self.hosts[*host].migrations += cost);
        self.vms[order.vm].migration = Some(number);
        self.migrations.push(Migration {
            order,
            from,
            began,
            copy,
            disk_bytes: 0,
            taken: (hosts, cost),
            stage,
        });
        self.copy_next_disk(number, 0, context);
    }

    /// Copies the next disk of a migration, from this position on. After the last, memory follows.
    fn copy_next_disk(&mut self, number: u32, from: usize, context: &mut MoveContext<'_>) {
        let own = &mut self.migrations[number as usize];
        let Order { vm, to, pool, .. } = own.order;
        let way = (own.from, to);
        let machine = &mut self.vms[vm];
        if let Some((at, extent)) = machine.disk_for(pool, from) {
            own.stage = Stage::Disk(at);
            own.disk_bytes += machine.disks[at].size;
            let of = (machine.of.0, way.0);
            return context.copy_disk(number, of, &mut machine.disks[at], &extent);
        }
        if way.0 == way.1 {
            own.stage = Stage::Stopped(context.now);
            machine.stop(context);
            return self.set_time(context.now + SWITCH, Time::Switched(number), context);
        }
        let (copy, memory) = self.memory.copy_of(context.now, machine.cpus);
        (own.copy, own.stage) = (copy, Stage::Copying);
        context.send(number, way, memory);
    }

    /// Handles the end of the copy of a disk.
    pub(super) fn disk_copied(&mut self, number: u32, context: &mut MoveContext<'_>) {
        if let Stage::Disk(at) = self.migrations[number as usize].stage {
            self.copy_next_disk(number, at + 1, context);
        }
    }

    /// Handles the end of a round of a migration.
    pub(super) fn sent(&mut self, number: u32, context: &mut MoveContext<'_>) {
        let own = &mut self.migrations[number as usize];
        let way = (own.from, own.order.to);
        match own.stage {
            Stage::Copying => {
                match own.copy.end_round(context.now, &self.vms[own.order.vm].pauses) {
                    Next::Copy(bytes) => context.send(number, way, bytes),
                    Next::StopAndCopy(bytes) => {
                        own.stage = Stage::Stopped(context.now);
                        let vm = own.order.vm;
                        self.vms[vm].stop(context);
                        context.send(number, way, bytes);
                    }
                }
            }
            Stage::Stopped(_) => {
                self.set_time(context.now + SWITCH, Time::Switched(number), context);
            }
            Stage::Disk(_) | Stage::Over => {}
        }
    }

    fn switched(&mut self, number: u32, context: &mut MoveContext<'_>) {
        let own = &self.migrations[number as usize];
        let Stage::Stopped(stood) = own.stage else { return };
        let (Order { vm, to, pool, event_at }, from, began) = (own.order, own.from, own.began);
        // A pause of either host ends first.
        let of_vm = self.vms[vm].stop.as_ref().and_then(|stop| stop.paused_until);
        let until = of_vm.max(self.hosts[to].paused_until);
        if let Some(until) = until.filter(|until| *until > context.now) {
            return self.set_time(until, Time::Switched(number), context);
        }
        let ((bytes, rounds), disk_bytes) = (own.copy.sent(), own.disk_bytes);
        let took_ns = context.now.saturating_sub(began).0;
        self.vms[vm].change_pool(pool);
        self.end_migration(number, context);
        let goal = self.vms[vm].goal;
        let waiting = self.vms[vm].resume(to, context);
        self.vms[vm].goal = goal;
        self.release(waiting, context);
        let moved = TileMove {
            tile: self.vms[vm].tile,
            vm: Some(self.vms[vm].name.clone()),
            from: host::name(from),
            to: Some(host::name(to)),
            stood_ns: stood.0,
            goes_on_ns: Some(context.now.0),
            outage_ns: Some(context.now.saturating_sub(stood).0),
            begins_anew: false,
            copy: Some(MoveCopy { bytes, disk_bytes, rounds, took_ns }),
        };
        let event = &mut self.events[event_at];
        event.own.event.tiles.push(moved);
        event.open -= 1;
        self.end_if_done(event_at, context.now, "");
        self.start_orders(context);
    }

    /// Ends a migration. Requests to its disks enter their present places from now on.
    pub(super) fn end_migration(&mut self, number: u32, context: &mut MoveContext<'_>) {
        let own = &mut self.migrations[number as usize];
        own.stage = Stage::Over;
        let (hosts, cost) = &own.taken;
        hosts.iter().for_each(|host| self.hosts[*host].migrations -= cost);
        let vm = &mut self.vms[own.order.vm];
        vm.migration = None;
        context.end_mirrors(number, (vm.of.0, vm.host), &mut vm.disks);
    }

    /// Stops the virtual machines of a host for a time. Copies between hosts continue.
    fn pause(&mut self, event: &PlannedEvent, host: usize, context: &mut MoveContext<'_>) {
        let kind = (StepEventKind::StopHost, Some(host));
        let event_at = self.begin_event(kind, Some(event), context.now);
        let until = context.now.saturating_add(event.lasts.unwrap_or_default());
        self.hosts[host].paused_until = Some(until);
        let here = |vm: &usize| self.vms[*vm].host == host && !self.vms[*vm].is_lost();
        let vms: Vec<usize> = (0..self.vms.len()).filter(here).collect();
        for vm in &vms {
            self.vms[*vm].pause(until, context);
            let stood = TileMove {
                tile: self.vms[*vm].tile,
                vm: Some(self.vms[*vm].name.clone()),
                from: host::name(host),
                to: Some(host::name(host)),
                stood_ns: context.now.0,
                goes_on_ns: Some(until.0),
                outage_ns: Some(until.saturating_sub(context.now).0),
                ..TileMove::default()
            };
            self.events[event_at].own.event.tiles.push(stood);
        }
        self.affects(event_at, &vms);
        self.set_time(until, Time::PauseOver(event_at), context);
    }

    fn pause_over(&mut self, event_at: usize, context: &mut MoveContext<'_>) {
        for host in &mut self.hosts {
            host.paused_until.take_if(|at| *at <= context.now);
        }
        for vm in 0..self.vms.len() {
            let own = &mut self.vms[vm];
            let Some(stop) = own.stop.as_mut() else { continue };
            if stop.lost_by.is_some()
                || stop.paused_until.take_if(|at| *at <= context.now).is_none()
            {
                continue;
            }
            // A virtual machine that is being moved continues on the other host.
            let is_moving = own.migration.is_some_and(|number| {
                matches!(self.migrations[number as usize].stage, Stage::Stopped(_))
            });
            if !is_moving {
                let waiting = own.resume_here(context);
                self.release(waiting, context);
            }
        }
        self.end_if_done(event_at, context.now, "no virtual machine ran on it");
        self.start_orders(context);
    }
}
