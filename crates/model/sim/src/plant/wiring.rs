mod hosts;

use std::sync::Arc;

use hardware::{
    Array, Delay, LimitParameters, Mirrored, PartId, QueueLimit, ServiceTime, Station, StreamId,
    WriteBack, WriteBackParameters,
};
use run_store::run::PartKind;
use spec::array::{self, TierPlace, WriteMemory};
use units::{Bytes, Nanos};

use super::disks::DiskModel;
use super::facts::Group;
use super::layout::Layout;
use super::links::link_parameters;
use super::local::{Groups, LocalParts, LocalSite, local};
use super::paged::{Askers, Owners, PagedPart, TierWays};
use super::plan::{PlantError, PlantPlan};
use super::pools::{Sets, classes_of, level};
use super::read_memory::{Pages, ReadMemory};
use super::route::{ByAddress, Route, ThroughMemory};
use super::served::ServedPart;
use super::tier_part::TierPart;
use super::tiers::{paged, served};

/// Time of an access to a tier of memory. This is our choice, in the order of the time that a
/// hypervisor's path to memory adds (at most tens of microseconds).
const MEMORY: Nanos = Nanos::from_micros(10);

/// Alignment of the addresses of a tier's data in memory, so that memory's pages and elements begin
/// with the tier.
const TIER_ALIGNMENT: u64 = 1 << 30;

/// Parts of a plant after wiring.
#[derive(Debug)]
pub struct Wiring {
    pub parts: Array,
    /// Groups in the order in which an I/O passes them.
    pub groups: Vec<Group>,
    /// Tiers by name: one part for each host, or one for all hosts or for the array.
    pub tiers: Vec<(String, Vec<PartId>)>,
    /// Memory that answers reads, if there is one.
    pub read_memory: Option<PartId>,
    /// Memory that answers writes, if there is one.
    pub write_memory: Option<PartId>,
    /// Tiers and read memories that an I/O passes, by host and by whether its pool is tiered.
    pub chains: Vec<[Vec<PartId>; 2]>,
    /// The hosts' own disks, if they are the storage.
    pub local: Option<LocalParts>,
    /// Parts that requests enter, by host and pool.
    pub entries: Vec<Vec<PartId>>,
    /// Network between the hosts, if a tier or the hosts' own disks use one.
    pub between: Option<PartId>,
}

/// Builder of a plant, from the disks upwards.
pub struct Builder<'a> {
    plan: &'a PlantPlan<'a>,
    layout: &'a Layout,
    owners: Arc<Owners>,
    /// Host of each virtual machine, by instance.
    hosts: &'a [Vec<usize>],
    host_count: usize,
    wiring: Wiring,
    /// Groups of each stage, the last stage first.
    stages: Vec<Vec<Group>>,
    /// Tiers of the array and its memory, in the order in which an I/O passes them.
    chains: [Vec<PartId>; 2],
    /// First addresses in memory of the data of the array's tiers; empty if memory holds none.
    in_memory: Vec<u64>,
    disks: u64,
}

impl<'a> Builder<'a> {
    pub fn new(
        plan: &'a PlantPlan<'a>,
        layout: &'a Layout,
        hosts: &'a [Vec<usize>],
        host_count: usize,
    ) -> Result<Self, PlantError> {
        let owners = Arc::new(owners(plan, layout)?);
        let wiring = Wiring {
            parts: Array::new(),
            groups: Vec::new(),
            tiers: Vec::new(),
            read_memory: None,
            write_memory: None,
            chains: Vec::new(),
            local: None,
            entries: Vec::new(),
            between: None,
        };
        let (in_memory, disks) = (Vec::new(), 0);
        let (stages, chains) = (Vec::new(), [Vec::new(), Vec::new()]);
        Ok(Self {
            plan,
            layout,
            owners,
            hosts,
            host_count,
            wiring,
            stages,
            chains,
            in_memory,
            disks,
        })
    }

    pub fn build(mut self) -> Result<Wiring, PlantError> {
        let links = if let Some(local) = local(self.array()) {
            vec![self.local(local)?; self.host_count]
        } else {
            let pools = self.pools()?;
            let storage = self.storage(&pools)?;
            let storage = self.processors(storage)?;
            let storage = self.array_queues(storage)?;
            self.links(storage)?
        };
        let entries = self.hosts(&links)?;
        self.volumes(&entries);
        let mut wiring = self.wiring;
        wiring.entries = entries;
        wiring.groups = self.stages.into_iter().rev().flatten().collect();
        Ok(wiring)
    }

    fn array(&self) -> &'a array::Array {
        self.plan.array
    }

    fn add_sets(&mut self, sets: &Sets, of: &str) -> Result<(PartId, Vec<PartId>), PlantError> {
        let first = self.disks;
        self.disks += u64::from(sets.count) * u64::from(sets.sets);
        sets.add(&mut self.wiring.parts, of, (self.plan.seed, first))
    }

    /// Wires hosts that are their own storage, connected by the link.
    fn local(&mut self, local: &array::Local) -> Result<PartId, PlantError> {
        let groups = Groups::new(self.array(), local)?;
        let network = self.array().link.as_ref();
        let network = network.map(|link| link_parameters(self.array(), link)).transpose()?;
        let homes = self.plan.instances.iter().zip(self.hosts).flat_map(|(instance, hosts)| {
            instance.disks.iter().map(|disk| hosts.get(disk.vm).copied().unwrap_or(0))
        });
        let homes = homes.map(|home| u32::try_from(home).expect("hosts are counted by u32"));
        let site = LocalSite {
            hosts: self.host_count,
            network,
            homes: homes.collect(),
            owners: Arc::clone(&self.owners),
            seed: self.plan.seed,
        };
        let (entry, parts, stages) = groups.add(&mut self.wiring.parts, site)?;
        self.stages.extend(stages);
        if let Some(tiers) = &parts.caches {
            self.wiring.tiers.push((String::from("local read cache"), tiers.clone()));
        }
        self.wiring.between = parts.network;
        self.wiring.local = Some(parts);
        Ok(entry)
    }

    /// Wires the pools and returns the top of each.
    fn pools(&mut self) -> Result<Vec<PartId>, PlantError> {
        let mut groups: Vec<Group> = Vec::new();
        let mut tops = Vec::new();
        for span in &self.layout.pools {
            let pool = &self.array().pools[span.pool];
            let sets = Sets::of_pool(self.array(), pool)?;
            let (top, disks) = self.add_sets(&sets, &format!("pool \"{}\"", pool.name))?;
            tops.push(top);
            let name = format!("pool {} disks", pool.name);
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.parts.extend(disks),
                None => groups.push(Group::new(name, PartKind::Disk, disks)),
            }
        }
        self.stages.push(groups);
        Ok(tops)
    }

    /// Adds a junction to the pools; with `is_own`, each pool gets addresses from 0.
    fn by_pool(&mut self, tops: &[PartId], is_own: bool) -> PartId {
        let spans = self.layout.pools.iter().zip(tops);
        let ways: Vec<(u64, Route)> = spans
            .map(|(span, to)| {
                (span.base, Route { to: *to, less: if is_own { span.base } else { 0 } })
            })
            .collect();
        self.junction(ways)
    }

    /// Adds a junction, unless all routes are equal.
    fn junction(&mut self, ways: Vec<(u64, Route)>) -> PartId {
        let first = ways[0].1;
        if first.less == 0 && ways.iter().all(|(_, way)| *way == first) {
            return first.to;
        }
        self.wiring.parts.add(ByAddress::new(ways))
    }

    /// Wires tiers and memory in front of the pools.
    fn storage(&mut self, pools: &[PartId]) -> Result<PartId, PlantError> {
        if pools.is_empty() {
            let (array, disk) = (self.array().name.clone(), String::from("of any kind"));
            return Err(PlantError::NoPool { array, disk });
        }
        let bottom = self.by_pool(pools, true);
        let controller = self.array().controller.as_ref();
        if controller.is_some_and(|own| own.memory_first) {
            let fast = self.array_fast()?;
            let tiers = self.array_tiers(bottom, fast)?;
            let split = self.split(tiers, bottom);
            self.memory(split)
        } else if controller.is_some_and(|own| own.memory_for_tiers) {
            let fast = self.array_fast()?;
            let (spans, bottom) = self.behind_memory(bottom, &fast);
            let memory = self.memory(bottom)?;
            let through = fast.into_iter().zip(spans).map(|((disks, group), base)| {
                let way = ThroughMemory { memory, base, disks };
                (self.wiring.parts.add(way), group)
            });
            let through = through.collect();
            let tiers = self.array_tiers(memory, through)?;
            Ok(self.split(tiers, memory))
        } else {
            let memory = self.memory(bottom)?;
            let fast = self.array_fast()?;
            let tiers = self.array_tiers(memory, fast)?;
            Ok(self.split(tiers, memory))
        }
    }

    /// Routes pools with tiers to the tiers, and other pools around them.
    fn split(&mut self, tiers: PartId, around: PartId) -> PartId {
        let ways = self.layout.pools.iter().map(|span| {
            let to = if span.tiered { tiers } else { around };
            (span.base, Route { to, less: 0 })
        });
        let ways = ways.collect();
        self.junction(ways)
    }

    /// Wires the disks of the array's tiers, the last tier first.
    fn array_fast(&mut self) -> Result<Vec<(PartId, Group)>, PlantError> {
        let tiers = array_tiers(self.array());
        tiers.rev().map(|tier| self.fast(tier)).collect()
    }

    /// Gives the data of the array's tiers addresses of their own in memory, above the pools.
    /// Returns the first address of each, and the part behind memory for all addresses.
    fn behind_memory(&mut self, bottom: PartId, fast: &[(PartId, Group)]) -> (Vec<u64>, PartId) {
        let pools = self.layout.pools.iter().map(|span| span.base + span.used);
        let mut base = pools.max().unwrap_or(0).next_multiple_of(TIER_ALIGNMENT);
        let mut ways = vec![(0, Route { to: bottom, less: 0 })];
        for (tier, (disks, _)) in array_tiers(self.array()).rev().zip(fast) {
            ways.push((base, Route { to: *disks, less: base }));
            self.in_memory.push(base);
            base = (base + tier.size.get()).next_multiple_of(TIER_ALIGNMENT);
        }
        (self.in_memory.clone(), self.junction(ways))
    }

    /// Wires the array's tiers in front of `behind`, on the disks in `fast`.
    fn array_tiers(
        &mut self,
        behind: PartId,
        fast: Vec<(PartId, Group)>,
    ) -> Result<PartId, PlantError> {
        let mut next = behind;
        for (tier, (disks, group)) in array_tiers(self.array()).rev().zip(fast) {
            let part = self.tier(tier, (disks, next), None)?;
            self.stages.push(vec![group]);
            self.wiring.tiers.insert(0, (tier.name.clone(), vec![part]));
            self.chains[1].insert(0, part);
            next = part;
        }
        Ok(next)
    }

    /// Wires one tier of a host or of the array on the disks `fast` in front of `backing`.
    fn tier(
        &mut self,
        tier: &array::Tier,
        (fast, backing): (PartId, PartId),
        host: Option<usize>,
    ) -> Result<PartId, PlantError> {
        // Write memory sends for all virtual disks, so its streams tell no owner.
        let is_behind =
            host.is_none() && self.array().controller.as_ref().is_some_and(|own| own.memory_first);
        let askers = if is_behind { Askers::Anyone } else { Askers::Streams };
        let owners = Arc::clone(&self.owners);
        let part = match tier.shape {
            array::TierShape::Logged => {
                let sets = served(self.array(), tier, &self.served_disks(host))?;
                TierPart::from(ServedPart::new(sets, (fast, backing), owners, askers))
            }
            array::TierShape::Paged => {
                let ways = TierWays { fast: vec![fast], backing: vec![backing], network: None };
                let state = paged(self.array(), tier, 1, &[])?;
                TierPart::from(PagedPart::new(state, ways, owners, askers))
            }
        };
        let part = self.wiring.parts.add(part);
        self.wiring.parts.watch(part, vec![backing]);
        Ok(part)
    }

    /// Wires the disks or the memory that a tier consists of.
    fn fast(&mut self, tier: &array::Tier) -> Result<(PartId, Group), PlantError> {
        Ok(if tier.disk == array::names::MEMORY {
            let part = self.wiring.parts.add(Delay::new(MEMORY, None));
            (part, Group::new(format!("tier {} memory", tier.name), PartKind::TierDisk, vec![part]))
        } else {
            let sets = Sets {
                disk: DiskModel::find(self.array(), &tier.disk)?,
                count: tier.count,
                level: level(tier.raid),
                sets: 1,
                element: Bytes::new(64 << 10),
                classes: classes_of(self.array()),
            };
            let capacity = sets.capacity();
            if tier.size > capacity {
                let (tier, size) = (tier.name.clone(), tier.size);
                return Err(PlantError::TierTooLarge { tier, size, capacity });
            }
            let (top, disks) = self.add_sets(&sets, &format!("tier \"{}\"", tier.name))?;
            (top, Group::new(format!("tier {} disks", tier.name), PartKind::TierDisk, disks))
        })
    }

    fn memory(&mut self, next: PartId) -> Result<PartId, PlantError> {
        let Some(controller) = &self.array().controller else { return Ok(next) };
        let mut next = next;
        if let Some(memory) = &controller.write_memory {
            next = self.write_memory(memory, next)?;
        }
        if let Some(memory) = &controller.read_memory {
            let counted = self.in_memory.first().copied().unwrap_or(u64::MAX);
            let pages = Pages::new(memory.size, memory.page).counting_below(counted);
            next = self.wiring.parts.add(ReadMemory::new(pages, memory.hit, next));
            self.wiring.read_memory = Some(next);
            // With the memory first, the tiers are behind it already.
            for chain in &mut self.chains {
                chain.insert(0, next);
            }
        }
        Ok(next)
    }

    fn write_memory(&mut self, memory: &WriteMemory, next: PartId) -> Result<PartId, PlantError> {
        let page = memory.page.get().max(512);
        let elements = self.array().pools.iter().map(|pool| pool.element.get() / page);
        let pages = elements.min().unwrap_or(8).clamp(1, 64);
        let parameters = WriteBackParameters {
            memory: memory.size,
            mirrored: if memory.mirrored { Mirrored::Yes } else { Mirrored::No },
            page: memory.page,
            element: Bytes::new(pages * page),
            low: memory.low,
            high: memory.high,
            hit: memory.hit,
            flush_depth: memory.flush_depth,
        };
        let part = WriteBack::new(parameters, next)
            .map_err(PlantError::parameter("the controller's write memory"))?;
        let pools = self.layout.pools.iter().map(|span| span.base);
        let starts: Vec<u64> = pools.chain(self.in_memory.iter().copied()).collect();
        let part = self.wiring.parts.add(part.sweeping(&starts));
        self.wiring.write_memory = Some(part);
        let name = String::from("controller write memory");
        self.stages.push(vec![Group::new(name, PartKind::WriteMemory, vec![part])]);
        Ok(part)
    }

    fn processors(&mut self, next: PartId) -> Result<PartId, PlantError> {
        let Some(controller) = &self.array().controller else { return Ok(next) };
        if controller.per_io == Nanos::ZERO {
            return Ok(next);
        }
        let part = if let Some(processors) = controller.processors {
            let time = ServiceTime::Constant(controller.per_io);
            let station = Station::new(processors, time, Some(next))
                .map_err(PlantError::parameter("the controller's processors"))?;
            self.wiring.parts.add(station)
        } else {
            self.wiring.parts.add(Delay::new(controller.per_io, Some(next)))
        };
        let name = String::from("controller processors");
        self.stages.push(vec![Group::new(name, PartKind::Processor, vec![part])]);
        Ok(part)
    }

    /// Adds a queue for each pool in front of a part.
    fn queues(&mut self, queue: &array::LunQueue, next: PartId) -> Result<Vec<PartId>, PlantError> {
        let depth_shared = queue.shared.unwrap_or(queue.depth);
        let parameters = LimitParameters { depth: queue.depth, depth_shared };
        let parts = self.layout.pools.iter().map(|_| {
            let part = QueueLimit::new(parameters, next)
                .map_err(PlantError::parameter("the LUN queue"))?;
            Ok(self.wiring.parts.add(part))
        });
        parts.collect()
    }

    /// Adds a stage of queues and groups them by pool.
    fn add_queue_groups(&mut self, queues: &[Vec<PartId>]) {
        let mut groups: Vec<Group> = Vec::new();
        for (place, span) in self.layout.pools.iter().enumerate() {
            let name = format!("pool {} queue", span.name);
            let parts = queues.iter().map(|queues| queues[place]);
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.parts.extend(parts),
                None => groups.push(Group::new(name, PartKind::Queue, parts.collect())),
            }
        }
        self.stages.push(groups);
    }

    fn array_queues(&mut self, next: PartId) -> Result<PartId, PlantError> {
        let Some(queue) = self.array().lun_queue.as_ref().filter(|queue| queue.in_array) else {
            return Ok(next);
        };
        let queues = self.queues(queue, next)?;
        self.add_queue_groups(std::slice::from_ref(&queues));
        Ok(self.by_pool(&queues, false))
    }
}

fn owners(plan: &PlantPlan, layout: &Layout) -> Result<Owners, PlantError> {
    let (mut vms, mut disks) = (Vec::new(), Vec::new());
    let mut first = 0;
    for (at, (instance, extents)) in plan.instances.iter().zip(&layout.disks).enumerate() {
        for (number, (disk, extent)) in instance.disks.iter().zip(extents).enumerate() {
            let stream = u32::try_from(vms.len()).expect("fewer than 2^32 virtual disks");
            let vm = first + disk.vm;
            vms.push(u16::try_from(vm).map_err(|_| PlantError::TooMany { count: vm + 1 })?);
            disks.push((extent.base, StreamId(stream)));
            let elsewhere = layout.elsewhere.get(&(at, number)).into_iter().flatten();
            disks.extend(elsewhere.map(|extent| (extent.base, StreamId(stream))));
        }
        first += instance.vm_count();
    }
    disks.sort_unstable_by_key(|(base, stream)| (*base, stream.0));
    Ok(Owners { vms, disks })
}

/// Returns the tiers of the array itself, in the order in which an I/O passes them.
fn array_tiers(array: &array::Array) -> impl DoubleEndedIterator<Item = &array::Tier> {
    array.tiers.iter().filter(|tier| tier.at == TierPlace::Array)
}
