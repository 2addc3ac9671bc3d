mod events;

use std::fmt;

use cache::tier::{Access, Counters, VmId};
use hardware::{Array, ModelEffects, PartId, Site, SiteAlarm, Ticket, Usage, WriteBack};
use run_store::gauge::{Gauge, GaugeName};
use run_store::run::{MeterEnergy, ModelFacts, PartKind, PlaceFacts, TierFacts};
use spec::array::TierPlace;
use spec::events::PlannedEvent;
use state_machine::{CpuBurst, IoRequest, Machine};
use units::{Bytes, Nanos};

use super::behind::Behind;
use super::facts::{Group, TierFill, tier_facts};
use super::host::{self, HostSeconds, NamedVm};
use super::layout::{ALIGNMENT, Layout};
use super::local::{Groups, LocalParts, local};
use super::moves::Moves;
use super::plan::{PlantError, PlantInstance, PlantPlan};
use super::pools::Sets;
use super::power::{Energy, Supplies};
use super::read_memory::ReadMemory;
use super::state::{OtherTiers, TierState};
use super::tier_part::TierPart;
use super::touched::Touched;
use super::warm::{Levels, Warm, WarmReport, warm};
use super::wiring::{Builder, Wiring};
use crate::SimInstance;
use crate::model::Model;

/// Storage and hosts as described by an array's file, ready to run.
pub struct Plant {
    site: Site,
    layout: Layout,
    groups: Vec<Group>,
    tiers: Vec<(String, Vec<PartId>)>,
    read_memory: Option<PartId>,
    write_memory: Option<PartId>,
    /// Tiers in hosts: one part for each host, or one for all hosts.
    host_tiers: Vec<Vec<PartId>>,
    /// All tiers, followed by the read memory.
    levels: Vec<PartId>,
    /// Positions in `levels` that an I/O passes, by host and by whether its pool is tiered.
    chains: Vec<[Vec<usize>; 2]>,
    /// Paths of the disks, by instance and disk.
    disks: Vec<Vec<DiskPath>>,
    local: Option<LocalParts>,
    /// Tile of each instance.
    instance_tiles: Vec<u32>,
    host_seconds: Vec<HostSeconds>,
    vms: Vec<NamedVm>,
    places: Vec<PlaceFacts>,
    touched: Touched,
    touched_bytes: Vec<u64>,
    events: u64,
    marked: Marked,
    /// Counters of the tiers when [`Plant::tiers`] was last called.
    told: Vec<Counters>,
    /// Time and use of the parts when [`Plant::utilisations`] was last called.
    shown: (Nanos, Vec<Vec<Usage>>),
    /// Latencies behind each tier.
    behind: Vec<Behind>,
    /// Watts, if the array's file states them.
    supplies: Supplies,
    /// Parts that requests enter, by host and pool.
    entries: Vec<Vec<PartId>>,
    /// Network between the hosts, if one was wired.
    between: Option<PartId>,
    /// Moves of virtual machines, if hosts have events.
    moves: Option<Box<Moves>>,
}

/// Path of a virtual disk's accesses while tiers are warmed.
#[derive(Debug, Clone, Copy)]
struct DiskPath {
    base: u64,
    host: usize,
    /// True if the disk's pool is tiered.
    tiered: bool,
    vm: VmId,
}

/// Counts at the beginning of measured time.
#[derive(Debug, Default)]
struct Marked {
    at: Nanos,
    usages: Vec<Vec<Usage>>,
    tiers: Vec<Counters>,
    /// Fill of the write memory at the ends of seconds: sum, maximum and number of seconds.
    fill: (f64, f64, u32),
}

impl Plant {
    /// Builds a plant with empty tiers and all parts idle.
    ///
    /// # Errors
    ///
    /// If the virtual disks do not fit, a name is unknown, or a part refuses a value.
    pub fn new(plan: &PlantPlan) -> Result<Self, PlantError> {
        Self::build(plan, &[])
    }

    /// Builds a plant with room for the disks that events move.
    fn build(plan: &PlantPlan, events: &[PlannedEvent]) -> Result<Self, PlantError> {
        let PlantPlan { array, instances, .. } = *plan;
        let layout = Layout::new(array, instances, events)?;
        let count = array.hosts.as_ref().map_or(1, |hosts| hosts.count.max(1));
        let count = usize::try_from(count).unwrap_or(1);
        let assigned = host::assign(instances, count);
        let wiring = Builder::new(plan, &layout, &assigned, count)?.build()?;
        let (cpus, places, cost) = host::build(array, instances, &assigned)?;
        let Wiring { parts, groups, tiers, chains, local, .. } = wiring;
        let Wiring { read_memory, write_memory, entries, between, .. } = wiring;
        let in_host = |name: &String| {
            array.tiers.iter().any(|own| own.at == TierPlace::Host && own.name == *name)
        };
        let host_tiers = tiers.iter().filter(|(name, _)| in_host(name));
        let host_tiers = host_tiers.map(|(_, parts)| parts.clone()).collect();
        let levels: Vec<PartId> =
            tiers.iter().flat_map(|(_, parts)| parts.iter().copied()).chain(read_memory).collect();
        let positions = |parts: &Vec<PartId>| {
            let position = |part: &PartId| levels.iter().position(|level| level == part);
            parts.iter().filter_map(position).collect()
        };
        let chains = chains.iter().map(|chains| chains.each_ref().map(positions)).collect();
        let local = local.map(|local| local.among(&levels));
        let disks = ways(plan, &layout, &assigned);
        let behind = tiers.iter().map(|(_, parts)| Behind::of(parts.clone())).collect();
        let tiles = instances.iter().map(|instance| instance.tile + 1).max().unwrap_or(0);
        let supplies = Supplies::new(array, &groups);
        let mut plant = Self {
            supplies,
            touched: Touched::new(layout.end()),
            touched_bytes: vec![0; tiles as usize],
            instance_tiles: instances.iter().map(|instance| instance.tile).collect(),
            host_seconds: cpus.iter().map(|_| HostSeconds::default()).collect(),
            vms: host::names(instances, &places),
            places: host::places(instances, &places),
            events: 0,
            marked: Marked::default(),
            told: Vec::new(),
            shown: (Nanos::ZERO, Vec::new()),
            behind,
            layout,
            groups,
            tiers,
            read_memory,
            write_memory,
            host_tiers,
            levels,
            chains,
            disks,
            local,
            entries,
            between,
            moves: None,
            site: Site::new(parts, cpus, places).with_io_cost(cost),
        };
        plant.mark(Nanos::ZERO);
        plant.shown.1 = plant.usages(Nanos::ZERO);
        Ok(plant)
    }

    /// Checks that the disks of these instances fit, each in its pool and in the pools to which events
    /// move it.
    ///
    /// # Errors
    ///
    /// [`PlantError::TooSmall`] with the first pool that is too small; other errors if the array
    /// names something that does not exist.
    pub fn has_room(
        array: &spec::array::Array,
        instances: &[PlantInstance],
        events: &[PlannedEvent],
    ) -> Result<(), PlantError> {
        Layout::new(array, instances, events).map(drop)
    }

    /// Returns the capacity of an array's pools, or of its hosts' own disks, with this number of
    /// tiles. Disks with unknown names count as zero.
    pub fn capacity(array: &spec::array::Array, tiles: u32) -> Bytes {
        if let Some(local) = local(array) {
            let groups = Groups::new(array, local);
            let held = groups.and_then(|groups| groups.capacity(array));
            return held.map_or(Bytes::ZERO, |held| held.round_down(ALIGNMENT));
        }
        let pools = array.pools.iter().map(|pool| {
            let held = Sets::of_pool(array, pool).map_or(Bytes::ZERO, |sets| sets.capacity());
            let times = if pool.per_tile { u64::from(tiles) } else { 1 };
            held.round_down(ALIGNMENT).get() * times
        });
        Bytes::new(pools.sum())
    }

    /// Fills tiers and read memories with the requests of the state machines, without timing. The
    /// state machines are consumed. Afterwards, the counters of the tiers are zero, and the tiers
    /// are as dirty as they became, up to their low mark.
    pub fn warm<M: Machine>(
        &mut self,
        instances: &mut [SimInstance<M>],
        options: &Warm,
    ) -> WarmReport {
        self.warm_while(instances, options, &|| true)
    }

    /// Warms like [`Self::warm`], but stops early when `goes_on` returns false. The tiers keep
    /// their content at that time.
    pub fn warm_while<M: Machine>(
        &mut self,
        instances: &mut [SimInstance<M>],
        options: &Warm,
        goes_on: &dyn Fn() -> bool,
    ) -> WarmReport {
        let mut levels = Levels::take(&mut self.site.array, &self.levels, options.filter);
        let (touched, bytes) = (&mut self.touched, &mut self.touched_bytes);
        let (disks, chains, tiles) = (&self.disks, &self.chains, &self.instance_tiles);
        let (local, parts) = (&self.local, &mut self.site.array);
        let count = bytes.iter().len() as u64;
        let mut batch = Vec::new();
        let report = warm(&mut levels, instances, (options, goes_on), count, |levels, requests| {
            for (of, request) in requests {
                let Some(way) = disks.get(*of).and_then(|own| own.get(usize::from(request.disk.0)))
                else {
                    continue;
                };
                let offset = way.base + request.offset;
                bytes[tiles[*of] as usize] += touched.note(offset, request.length).get();
                let IoRequest { operation, length, .. } = *request;
                let chain = &chains[way.host][usize::from(way.tiered)][..];
                let access = Access { vm: way.vm, operation, offset, length };
                levels.announce(chain, &access);
                batch.push((chain, access));
            }
            levels.look_ahead();
            for (chain, access) in batch.drain(..) {
                levels.feed(chain, &access);
                if let Some(local) = local {
                    local.feed(parts, levels, &access);
                }
            }
        });
        levels.give_back(&mut self.site.array, &self.levels);
        report
    }

    /// Returns all tiers, in the order of their groups.
    fn tier_ids(&self) -> Vec<PartId> {
        self.tiers.iter().flat_map(|(_, parts)| parts.iter().copied()).collect()
    }

    fn tier_part(&self, part: PartId) -> &TierPart {
        self.parts().part(part).expect("the part at this place is a tier")
    }

    fn tier_part_mut(&mut self, part: PartId) -> &mut TierPart {
        self.site.array.part_mut(part).expect("the part at this place is a tier")
    }

    fn parts(&self) -> &Array {
        &self.site.array
    }

    /// Copies the content of tiers and read memories, without timing.
    pub fn snapshot(&self) -> TierState {
        let tiers = self.tiers.iter().flat_map(|(_, parts)| parts);
        let memory = self.read_memory.and_then(|part| self.parts().part::<ReadMemory>(part));
        TierState {
            disks: self.disk_spans(),
            tiers: tiers.map(|part| self.tier_part(*part).copy()).collect(),
            memories: memory.map(|memory| memory.pages.clone()).into_iter().collect(),
            buffers: self.local.as_ref().map_or_else(Vec::new, |own| own.buffered(self.parts())),
            touched: self.touched.clone(),
            touched_bytes: self.touched_bytes.clone(),
        }
    }

    fn disk_spans(&self) -> Vec<(u64, u64)> {
        let extents = self.layout.disks.iter().flatten();
        extents.map(|extent| (extent.base, extent.size.get())).collect()
    }

    /// Restores the state of a plant with the same virtual disks and equal tiers.
    ///
    /// # Errors
    ///
    /// If disks, tiers or memories differ; nothing is changed then.
    pub fn restore(&mut self, state: &TierState) -> Result<(), OtherTiers> {
        let parts = self.tier_ids();
        if self.disk_spans() != state.disks {
            return Err(OtherTiers { what: "virtual disks" });
        }
        let fits = parts.len() == state.tiers.len()
            && parts
                .iter()
                .zip(&state.tiers)
                .all(|(part, tier)| self.tier_part(*part).is_like(tier));
        if !fits {
            return Err(OtherTiers { what: "tiers" });
        }
        let own = self.read_memory.and_then(|part| self.parts().part::<ReadMemory>(part));
        let fits = match (own, &state.memories[..]) {
            (None, []) => true,
            (Some(own), [pages]) => own.pages.is_like(pages),
            _ => false,
        };
        if !fits {
            return Err(OtherTiers { what: "read memory" });
        }
        if let Some(local) = &self.local {
            local.restore(&mut self.site.array, &state.buffers);
        }
        for (part, tier) in parts.iter().zip(&state.tiers) {
            self.tier_part_mut(*part).put(tier.clone());
        }
        if let (Some(part), Some(pages)) = (self.read_memory, state.memories.first())
            && let Some(own) = self.site.array.part_mut::<ReadMemory>(part)
        {
            own.pages = pages.clone();
        }
        self.touched = state.touched.clone();
        self.touched_bytes.clone_from(&state.touched_bytes);
        Ok(())
    }

    /// Returns the work of each part of each group up to `now`.
    fn usages(&self, now: Nanos) -> Vec<Vec<Usage>> {
        self.groups.iter().map(|group| group.usages(self.parts(), now)).collect()
    }

    /// Begins measured time.
    pub fn mark(&mut self, now: Nanos) {
        let usages = self.usages(now);
        let tiers = self.tier_counters().map(|(_, counters)| counters).collect();
        self.marked = Marked { at: now, usages, tiers, fill: (0.0, 0.0, 0) };
        self.each_tier(TierPart::mark);
        let hosts = self.site.hosts.iter_mut();
        hosts.zip(&mut self.host_seconds).for_each(|(host, seconds)| seconds.mark(now, host));
        let spent = self.spent(now);
        self.supplies.mark(now, spent);
    }

    /// Returns the energy of each supply up to `now`.
    fn spent(&mut self, now: Nanos) -> Vec<Energy> {
        let groups = &self.groups;
        let parts = &self.site.array;
        let usages = |group: usize| groups[group].usages(parts, now);
        self.supplies.spent(now, &mut self.site.hosts, usages)
    }

    /// Returns the energy of each supply since measured time began.
    pub fn energy(&mut self, now: Nanos) -> Vec<MeterEnergy> {
        let spent = self.spent(now);
        self.supplies.energy(now, &spent)
    }

    /// Returns the mean watts of each supply since the last call.
    pub fn watts(&mut self, now: Nanos) -> Vec<Gauge> {
        let spent = self.spent(now);
        self.supplies.watts(now, spent)
    }

    /// Samples backlogs at the end of a second.
    pub fn tick(&mut self, now: Nanos) {
        let hosts = self.site.hosts.iter_mut();
        hosts.zip(&mut self.host_seconds).for_each(|(host, seconds)| seconds.tick(now, host));
        let spent = self.spent(now);
        self.supplies.tick(now, spent);
        self.take_behind();
        self.each_tier(TierPart::sample);
        if let Some(fill) = self.fill() {
            let (sum, most, seconds) = self.marked.fill;
            self.marked.fill = (sum + fill, most.max(fill), seconds + 1);
        }
    }

    /// Returns the filled share of the write memory.
    fn fill(&self) -> Option<f64> {
        let memory = self.write_memory.and_then(|part| self.parts().part::<WriteBack>(part));
        memory.map(WriteBack::fill)
    }

    /// Takes the latencies behind tiers out of the parts, so that their lists remain short.
    fn take_behind(&mut self) {
        let parts = &mut self.site.array;
        self.behind.iter_mut().for_each(|behind| behind.take(parts));
    }

    fn each_tier(&mut self, change: impl Fn(&mut TierPart)) {
        self.tier_ids().into_iter().for_each(|part| change(self.tier_part_mut(part)));
    }

    /// Returns the state and counters of each tier, with tiers of the same name combined, and of
    /// the read memory.
    fn tier_counters(&self) -> impl Iterator<Item = (TierFill, Counters)> {
        let tiers = self.tiers.iter().map(|(_, parts)| {
            let (mut held, mut counters) = (TierFill::default(), Counters::default());
            for part in parts.iter().map(|part| self.tier_part(*part)) {
                held.add(&part.held());
                counters.add(&part.content().counters());
            }
            (held, counters)
        });
        let memory = self.read_memory.and_then(|part| self.parts().part::<ReadMemory>(part));
        tiers.chain(memory.map(|memory| {
            let held = TierFill {
                capacity_bytes: memory.pages.capacity_bytes(),
                resident_bytes: memory.pages.resident_bytes(),
                ..TierFill::default()
            };
            (held, memory.pages.counters)
        }))
    }

    /// Returns the use of all parts since measured time began.
    pub fn facts(&mut self, now: Nanos) -> ModelFacts {
        let elapsed = now.saturating_sub(self.marked.at);
        let (sum, most, seconds) = self.marked.fill;
        let groups = self.groups.iter().zip(&self.marked.usages).map(|(group, before)| {
            let mut facts = group.facts(before, &group.usages(self.parts(), now), elapsed);
            if facts.kind == PartKind::WriteMemory {
                // Write memory has no servers; its fill stands for its utilisation.
                facts.utilisation = sum / f64::from(seconds.max(1));
                facts.utilisation_max = most;
            }
            facts
        });
        let parts = groups.collect();
        let tiers = self.tiers_since(&self.marked.tiers);
        let since = self.marked.at;
        let cpus = &mut self.site.hosts;
        let hosts = cpus.iter_mut().zip(&self.host_seconds).enumerate();
        let hosts = hosts.map(|(number, (host, seconds))| seconds.facts(number, now, host));
        let hosts = hosts.collect();
        let vms = host::vm_facts(cpus, &self.vms, (since, now));
        let touched_bytes = self.touched_bytes.clone();
        let places = self.places.clone();
        ModelFacts { parts, tiers, hosts, vms, places, events: self.events, touched_bytes }
    }

    /// Returns the mean utilisation of each group of equal parts since the last call; for the write
    /// memory, its filled share.
    pub fn utilisations(&mut self, now: Nanos) -> Vec<Gauge> {
        let shown = (now, self.usages(now));
        let (since, before) = std::mem::replace(&mut self.shown, shown);
        let elapsed = now.saturating_sub(since);
        let groups = self.groups.iter().zip(before.iter().zip(&self.shown.1));
        let used = groups.map(|(group, (before, after))| {
            let facts = group.facts(before, after, elapsed);
            let fill = (facts.kind == PartKind::WriteMemory).then(|| self.fill()).flatten();
            let value = fill.unwrap_or(facts.utilisation);
            Gauge { name: GaugeName::Utilisation, scope: facts.name, value }
        });
        used.collect()
    }

    /// Returns the counts of the tiers since the last call, and their current state. The first call
    /// includes all accesses of warming.
    pub fn tiers(&mut self) -> Vec<TierFacts> {
        let mut facts = self.tiers_since(&self.told);
        self.take_behind();
        for (facts, behind) in facts.iter_mut().zip(&mut self.behind) {
            facts.behind = behind.told();
        }
        self.told = self.tier_counters().map(|(_, counters)| counters).collect();
        facts
    }

    fn tiers_since(&self, before: &[Counters]) -> Vec<TierFacts> {
        let names = self.tiers.iter().map(|(name, _)| name.as_str()).chain(["read memory"]);
        let before = before.iter().copied().chain(std::iter::repeat(Counters::default()));
        let tiers = names.zip(self.tier_counters()).zip(before);
        let facts = |((name, (held, after)), before): ((&str, _), _)| {
            tier_facts(name, held, &before, &after)
        };
        tiers.map(facts).collect()
    }

    fn touch(&mut self, instance: usize, request: &IoRequest) {
        let disk = usize::from(request.disk.0);
        let extent = self.layout.disks.get(instance).and_then(|own| own.get(disk));
        if let Some(extent) = extent.filter(|_| request.length > 0) {
            let new = self.touched.note(extent.base + request.offset, request.length);
            self.touched_bytes[self.instance_tiles[instance] as usize] += new.get();
        }
    }
}

impl Model for Plant {
    type Alarm = SiteAlarm;

    fn submit(
        &mut self,
        now: Nanos,
        of: (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        self.events += 1;
        self.touch(of.0, request);
        if let Some(moves) = &mut self.moves
            && moves.holds_request(&self.site, of, request)
        {
            return;
        }
        self.site.submit(now, of, request, fx);
        self.with_moves(now, fx, Moves::carry_on);
    }

    fn run_cpu(
        &mut self,
        now: Nanos,
        instance: usize,
        burst: &CpuBurst,
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        self.events += 1;
        if self.moves.as_mut().is_some_and(|moves| moves.holds_burst(instance, burst)) {
            return;
        }
        self.site.run_cpu(now, instance, burst, fx);
    }

    fn wake(&mut self, now: Nanos, alarm: SiteAlarm, fx: &mut ModelEffects<SiteAlarm>) {
        self.events += 1;
        self.site.wake(now, alarm, fx);
        self.with_moves(now, fx, Moves::carry_on);
    }
}

impl fmt::Debug for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut about = f.debug_struct("Plant");
        about.field("layout", &self.layout).field("groups", &self.groups);
        about.field("tiers", &self.tiers).field("events", &self.events).finish_non_exhaustive()
    }
}

fn ways(plan: &PlantPlan, layout: &Layout, hosts: &[Vec<usize>]) -> Vec<Vec<DiskPath>> {
    let mut first = 0;
    let mut ways = Vec::with_capacity(plan.instances.len());
    for ((instance, hosts), extents) in plan.instances.iter().zip(hosts).zip(&layout.disks) {
        let own = instance.disks.iter().zip(extents).map(|(disk, extent)| DiskPath {
            base: extent.base,
            host: hosts.get(disk.vm).copied().unwrap_or(0),
            tiered: layout.pools[extent.pool].tiered,
            vm: VmId(u16::try_from(first + disk.vm).unwrap_or(u16::MAX)),
        });
        ways.push(own.collect());
        first += instance.vm_count();
    }
    ways
}
