use run_store::run::{MoveCopy, StepEvent, StepEventKind, TileMove};
use spec::events::{EventKind, PlannedEvent};
use units::Nanos;

use super::drs::Balance;
use super::ground::Ground;
use super::live::Next;
use super::{HostState, Migration, Moves, Order, PlantEvent, Stage, Time, Told, host};

/// Time from the end of the last copy until the virtual machine runs on the new host: state of its
/// devices, and the network's knowledge of its new place. Our choice, within the 60 ms that a whole
/// switch-over took at best in "Live Migration of Virtual Machines" (Clark and others, NSDI 2005).
const SWITCH: Nanos = Nanos::from_millis(50);

/// Share of a host's migrations that one with disks takes ("vCenter Server and Host Management",
/// VMware vSphere 5.0 to 6.7: 4 of 8, where a migration of memory takes 1).
const DISKS_COST: u32 = 4;

/// Course of events.
impl Moves {
    pub(super) fn time_came(&mut self, time: Time, ground: &mut Ground<'_>) {
        match time {
            Time::Planned(at) => self.happen(&self.planned[at].clone(), ground),
            Time::Switched(number) => self.switched(number, ground),
            Time::PauseOver(told) => self.pause_over(told, ground),
            Time::Noticed(told) => self.noticed(told, ground),
            Time::Restart(told) => self.restarted(told, ground),
            Time::Balance => self.balance(ground),
        }
    }

    fn happen(&mut self, event: &PlannedEvent, ground: &mut Ground<'_>) {
        let place = |name: &Option<String>| {
            let name = name.as_ref()?;
            (0..self.hosts.len()).find(|at| host::name(*at) == *name)
        };
        let (host, to) = (place(&event.host), place(&event.to));
        match (event.kind, host) {
            (EventKind::Drain, Some(host)) => self.drain(event, (host, to), ground),
            (EventKind::Rebalance, _) => self.rebalance(event, to, ground),
            (EventKind::StopHost, Some(host)) => self.pause(event, host, ground),
            (EventKind::LoseHost, Some(host)) => self.lose(event, host, ground),
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
        self.told.push(Told { own, open: 0 });
        self.told.len() - 1
    }

    pub(super) fn affects(&mut self, told: usize, vms: &[usize]) {
        let tiles = vms.iter().map(|vm| self.vms[*vm].tile);
        let affected = &mut self.told[told].own.affected;
        affected.extend(tiles);
        affected.sort_unstable();
        affected.dedup();
    }

    /// Ends an event without open orders.
    pub(super) fn end_if_done(&mut self, told: usize, now: Nanos, none: &str) {
        let own = &mut self.told[told];
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

    pub(super) fn order(&mut self, told: usize, vm: usize, (to, pool): (usize, Option<usize>)) {
        self.vms[vm].goal = to;
        self.told[told].open += 1;
        self.affects(told, &[vm]);
        self.orders.push_back(Order { vm, to, pool, told });
    }

    fn drain(
        &mut self,
        event: &PlannedEvent,
        (host, to): (usize, Option<usize>),
        ground: &mut Ground<'_>,
    ) {
        let told = self.begin_event((StepEventKind::Drain, Some(host)), Some(event), ground.now);
        self.hosts[host].is_drained = true;
        let vms = self.vms_of(host);
        for vm in &vms {
            if let Some(to) = to.or_else(|| self.fewest()) {
                self.order(told, *vm, (to, None));
            }
        }
        self.start_orders(ground);
        let none = match vms.is_empty() {
            true => "no virtual machine ran on it",
            false => "no other host could take its virtual machines",
        };
        self.end_if_done(told, ground.now, none);
    }

    fn rebalance(&mut self, event: &PlannedEvent, to: Option<usize>, ground: &mut Ground<'_>) {
        let told = self.begin_event((StepEventKind::Rebalance, None), Some(event), ground.now);
        let pool = event.pool.as_ref();
        let pool = pool.and_then(|name| self.pools.iter().position(|own| own == name));
        if to.is_some() || pool.is_some() {
            let is_asked = |tile: u32| event.tiles.iter().any(|number| *number == tile + 1);
            for vm in 0..self.vms.len() {
                let own = &self.vms[vm];
                let to = to.unwrap_or(own.goal);
                let has_to_move = own.goal != to || own.disk_for(pool, 0).is_some();
                if is_asked(own.tile) && has_to_move && !own.is_lost() {
                    self.order(told, vm, (to, pool));
                }
            }
        } else {
            while let Some((vm, to)) = self.uneven() {
                self.order(told, vm, (to, None));
            }
        }
        self.start_orders(ground);
        self.end_if_done(told, ground.now, "no virtual machine had to move");
    }

    /// Balances the load since the last time, and sets the next time. It is an event only if virtual
    /// machines move.
    fn balance(&mut self, ground: &mut Ground<'_>) {
        let Some(drs) = self.drs.clone() else { return };
        let mut balance = self.loads(ground);
        let mut told = None;
        while let Some((vm, to)) = balance.next_move(drs.threshold) {
            let event = (StepEventKind::Rebalance, None);
            let told = *told.get_or_insert_with(|| self.begin_event(event, None, ground.now));
            self.order(told, vm, (to, None));
        }
        self.balanced = ground.now;
        self.set_time(ground.now.saturating_add(drs.every), Time::Balance, ground);
        self.start_orders(ground);
    }

    /// Returns the loads of hosts and virtual machines since the last balancing. The load of a
    /// virtual machine is the CPU time that it used or waited for. A virtual machine with an order
    /// counts where it will run, but does not move again.
    fn loads(&self, ground: &mut Ground<'_>) -> Balance {
        let mut balance = Balance { hosts: Vec::new(), vms: Vec::new() };
        balance.hosts.extend(self.takers().map(|host| (host, 0.0)));
        for (at, vm) in self.vms.iter().enumerate().filter(|(_, vm)| !vm.is_lost()) {
            let load = ground.load_of(vm.of, self.balanced.max(vm.arrived));
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
    pub(super) fn start_orders(&mut self, ground: &mut Ground<'_>) {
        let mut at = 0;
        while let Some(order) = self.orders.get(at).copied() {
            let Order { vm, to, pool, told } = order;
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
                self.told[told].open -= 1;
                self.end_if_done(told, ground.now, "");
            } else if is_full(from) || is_full(to) {
                at += 1;
            } else {
                self.orders.remove(at);
                self.migrate(order, from, ground);
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

    fn migrate(&mut self, order: Order, from: usize, ground: &mut Ground<'_>) {
        let number = u32::try_from(self.migrations.len()).expect("fewer than 2^32 moves");
        let (copy, _) = self.memory.copy_of(ground.now, 0);
        let (began, stage, cost) = (ground.now, Stage::Disk(0), self.cost(order));
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
        self.copy_next_disk(number, 0, ground);
    }

    /// Copies the next disk of a migration, from this position on. After the last, memory follows.
    fn copy_next_disk(&mut self, number: u32, from: usize, ground: &mut Ground<'_>) {
        let own = &mut self.migrations[number as usize];
        let Order { vm, to, pool, .. } = own.order;
        let way = (own.from, to);
        let machine = &mut self.vms[vm];
        if let Some((at, extent)) = machine.disk_for(pool, from) {
            own.stage = Stage::Disk(at);
            own.disk_bytes += machine.disks[at].size;
            let of = (machine.of.0, way.0);
            return ground.copy_disk(number, of, &mut machine.disks[at], &extent);
        }
        if way.0 == way.1 {
            own.stage = Stage::Stopped(ground.now);
            machine.stop(ground);
            return self.set_time(ground.now + SWITCH, Time::Switched(number), ground);
        }
        let (copy, memory) = self.memory.copy_of(ground.now, machine.cpus);
        (own.copy, own.stage) = (copy, Stage::Copying);
        ground.send(number, way, memory);
    }

    /// Handles the end of the copy of a disk.
    pub(super) fn disk_copied(&mut self, number: u32, ground: &mut Ground<'_>) {
        if let Stage::Disk(at) = self.migrations[number as usize].stage {
            self.copy_next_disk(number, at + 1, ground);
        }
    }

    /// Handles the end of a round of a migration.
    pub(super) fn sent(&mut self, number: u32, ground: &mut Ground<'_>) {
        let own = &mut self.migrations[number as usize];
        let way = (own.from, own.order.to);
        match own.stage {
            Stage::Copying => {
                match own.copy.end_round(ground.now, &self.vms[own.order.vm].pauses) {
                    Next::Copy(bytes) => ground.send(number, way, bytes),
                    Next::StopAndCopy(bytes) => {
                        own.stage = Stage::Stopped(ground.now);
                        let vm = own.order.vm;
                        self.vms[vm].stop(ground);
                        ground.send(number, way, bytes);
                    }
                }
            }
            Stage::Stopped(_) => {
                self.set_time(ground.now + SWITCH, Time::Switched(number), ground);
            }
            Stage::Disk(_) | Stage::Over => {}
        }
    }

    fn switched(&mut self, number: u32, ground: &mut Ground<'_>) {
        let own = &self.migrations[number as usize];
        let Stage::Stopped(stood) = own.stage else { return };
        let (Order { vm, to, pool, told }, from, began) = (own.order, own.from, own.began);
        // A pause of either host ends first.
        let of_vm = self.vms[vm].stop.as_ref().and_then(|stop| stop.paused_until);
        let until = of_vm.max(self.hosts[to].paused_until);
        if let Some(until) = until.filter(|until| *until > ground.now) {
            return self.set_time(until, Time::Switched(number), ground);
        }
        let ((bytes, rounds), disk_bytes) = (own.copy.sent(), own.disk_bytes);
        let took_ns = ground.now.saturating_sub(began).0;
        self.vms[vm].change_pool(pool);
        self.end_migration(number, ground);
        let goal = self.vms[vm].goal;
        let held = self.vms[vm].resume(to, ground);
        self.vms[vm].goal = goal;
        self.release(held, ground);
        let moved = TileMove {
            tile: self.vms[vm].tile,
            vm: Some(self.vms[vm].name.clone()),
            from: host::name(from),
            to: Some(host::name(to)),
            stood_ns: stood.0,
            goes_on_ns: Some(ground.now.0),
            outage_ns: Some(ground.now.saturating_sub(stood).0),
            begins_anew: false,
            copy: Some(MoveCopy { bytes, disk_bytes, rounds, took_ns }),
        };
        let event = &mut self.told[told];
        event.own.event.tiles.push(moved);
        event.open -= 1;
        self.end_if_done(told, ground.now, "");
        self.start_orders(ground);
    }

    /// Ends a migration. Requests to its disks enter their present places from now on.
    pub(super) fn end_migration(&mut self, number: u32, ground: &mut Ground<'_>) {
        let own = &mut self.migrations[number as usize];
        own.stage = Stage::Over;
        let (hosts, cost) = &own.taken;
        hosts.iter().for_each(|host| self.hosts[*host].migrations -= cost);
        let vm = &mut self.vms[own.order.vm];
        vm.migration = None;
        ground.end_mirrors(number, (vm.of.0, vm.host), &mut vm.disks);
    }

    /// Stops the virtual machines of a host for a time. Copies between hosts continue.
    fn pause(&mut self, event: &PlannedEvent, host: usize, ground: &mut Ground<'_>) {
        let kind = (StepEventKind::StopHost, Some(host));
        let told = self.begin_event(kind, Some(event), ground.now);
        let until = ground.now.saturating_add(event.lasts.unwrap_or_default());
        self.hosts[host].paused_until = Some(until);
        let here = |vm: &usize| self.vms[*vm].host == host && !self.vms[*vm].is_lost();
        let vms: Vec<usize> = (0..self.vms.len()).filter(here).collect();
        for vm in &vms {
            self.vms[*vm].pause(until, ground);
            let stood = TileMove {
                tile: self.vms[*vm].tile,
                vm: Some(self.vms[*vm].name.clone()),
                from: host::name(host),
                to: Some(host::name(host)),
                stood_ns: ground.now.0,
                goes_on_ns: Some(until.0),
                outage_ns: Some(until.saturating_sub(ground.now).0),
                ..TileMove::default()
            };
            self.told[told].own.event.tiles.push(stood);
        }
        self.affects(told, &vms);
        self.set_time(until, Time::PauseOver(told), ground);
    }

    fn pause_over(&mut self, told: usize, ground: &mut Ground<'_>) {
        for host in &mut self.hosts {
            host.paused_until.take_if(|at| *at <= ground.now);
        }
        for vm in 0..self.vms.len() {
            let own = &mut self.vms[vm];
            let Some(stop) = own.stop.as_mut() else { continue };
            if stop.lost_by.is_some() || stop.paused_until.take_if(|at| *at <= ground.now).is_none()
            {
                continue;
            }
            // A virtual machine that is being moved continues on the other host.
            let is_moving = own.migration.is_some_and(|number| {
                matches!(self.migrations[number as usize].stage, Stage::Stopped(_))
            });
            if !is_moving {
                let held = own.resume_here(ground);
                self.release(held, ground);
            }
        }
        self.end_if_done(told, ground.now, "no virtual machine ran on it");
        self.start_orders(ground);
    }
}
