use cache::tier::VmId;
use hardware::{LinkParameters, ModelEffects, Network, PartId, SiteAlarm};
use run_store::run::PartKind;
use units::Nanos;

use super::Plant;
use crate::plant::facts::Group;
use crate::plant::layout::Extent;
use crate::plant::links::between_hosts;
use crate::plant::moves::{
    Courier, DiskCopier, DiskExtent, HostEvents, MovableDisk, MovableVm, MoveContext, Moves,
    PlantEvent, check_events,
};
use crate::plant::plan::{PlantError, PlantInstance, PlantPlan};

/// Events of the hosts.
impl Plant {
    /// Builds a plant whose hosts have events, with times since [`Plant::begin_events`].
    ///
    /// # Errors
    ///
    /// As [`Plant::new`], or if an event is not possible with the array, or names an unknown host.
    pub fn eventful(plan: &PlantPlan<'_>, events: &HostEvents<'_>) -> Result<Self, PlantError> {
        let PlantPlan { array, instances, .. } = *plan;
        check_events(array, events)?;
        let mut plant = Self::build(plan, events.events)?;
        let link = between_hosts(array)?;
        let network = match plant.between {
            Some(network) => network,
            None => plant.add_network(link)?,
        };
        let courier = plant.site.array.add(Courier::new(network));
        let copier = plant.site.array.add(DiskCopier::default());
        let vms = plant.movable(instances);
        let moves = Moves::new((array, events), vms, ([courier, copier], link.rate))?;
        plant.moves = Some(Box::new(moves));
        Ok(plant)
    }

    /// Adds a network between the hosts for moves alone.
    fn add_network(&mut self, link: LinkParameters) -> Result<PartId, PlantError> {
        let hosts = u32::try_from(self.site.hosts.len()).unwrap_or(u32::MAX);
        let network = Network::new(link, hosts)
            .map_err(PlantError::parameter("the network between the hosts"))?;
        let network = self.site.array.add(network);
        let name = String::from("network of moves");
        self.groups.push(Group::new(name, PartKind::Link, vec![network]));
        self.mark(Nanos::ZERO);
        self.shown.1 = self.usages(Nanos::ZERO);
        Ok(network)
    }

    /// Returns the virtual machines of all instances, with the paths of their disks on each host.
    fn movable(&self, instances: &[PlantInstance]) -> Vec<MovableVm> {
        let mut vms = Vec::new();
        for (at, (instance, extents)) in instances.iter().zip(&self.layout.disks).enumerate() {
            for vm in 0..instance.vm_count() {
                let own = instance.disks.iter().zip(extents).enumerate();
                let disks =
                    own.filter(|(_, (disk, _))| disk.vm == vm).map(|(disk, (_, extent))| {
                        let elsewhere =
                            self.layout.elsewhere.get(&(at, disk)).into_iter().flatten();
                        MovableDisk {
                            disk,
                            size: extent.size.get(),
                            place: self.place_of(extent),
                            elsewhere: elsewhere.map(|extent| self.place_of(extent)).collect(),
                            is_mirrored: false,
                        }
                    });
                let host = self.site.place_of((at, vm)).map_or(0, |(host, _)| host);
                vms.push(MovableVm {
                    of: (at, vm),
                    id: VmId(u16::try_from(vms.len()).unwrap_or(u16::MAX)),
                    tile: instance.tile,
                    name: instance.vms.get(vm).cloned().unwrap_or_else(|| format!("vm-{vm}")),
                    cpus: instance.vcpus.get(vm).copied().unwrap_or(1).max(1),
                    disks: disks.collect(),
                    host,
                    arrived: Nanos::ZERO,
                    goal: host,
                    stop: None,
                    pauses: Vec::new(),
                    migration: None,
                });
            }
        }
        vms
    }

    fn place_of(&self, extent: &Extent) -> DiskExtent {
        let entries = self.entries.iter().map(|entries| entries[extent.pool]);
        let pool = self.layout.pools[extent.pool].pool;
        DiskExtent { pool, entries: entries.collect(), base: extent.base }
    }

    /// Begins the time from which events of the hosts count.
    pub fn begin_events(&mut self, now: Nanos, fx: &mut ModelEffects<SiteAlarm>) {
        self.with_moves(now, fx, Moves::begin);
    }

    /// Returns the events of the hosts so far, in the order in which they began.
    pub fn told_events(&self) -> Vec<PlantEvent> {
        self.moves.as_ref().map_or_else(Vec::new, |moves| moves.events())
    }

    /// Calls the moves, if there are any, and removes answers that they do not want.
    pub(super) fn with_moves(
        &mut self,
        now: Nanos,
        fx: &mut ModelEffects<SiteAlarm>,
        call: impl FnOnce(&mut Moves, &mut MoveContext<'_>),
    ) {
        let Some(moves) = &mut self.moves else { return };
        let mut context = MoveContext {
            site: &mut self.site,
            named: &mut self.vms,
            host_tiers: &self.host_tiers,
            replicated: self.local.as_ref().map(|local| local.replicated),
            courier: moves.courier,
            copier: moves.copier,
            now,
            fx,
        };
        call(moves, &mut context);
        moves.answered(&mut fx.done);
    }
}
