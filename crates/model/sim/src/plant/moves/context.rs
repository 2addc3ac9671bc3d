use cache::tier::{HostId, VmId, VmSettings};
use hardware::{
    ModelEffects, Outbox, PartId, Replicated, Site, SiteAlarm, StreamId, Suspended, Ticket,
};
use state_machine::{CpuBurst, IoRequest};
use units::Nanos;

use super::courier::Courier;
use super::disks::{DiskCopier, DiskCopy, DiskPlace};
use crate::plant::host::NamedVm;
use crate::plant::tier_part::TierPart;

/// Parts of a plant that moves change.
pub struct MoveContext<'a> {
    pub site: &'a mut Site,
    /// Named virtual machines, with all places at which they ran.
    pub named: &'a mut [NamedVm],
    /// Tiers in hosts: one part for each host, or one for all hosts.
    pub host_tiers: &'a [Vec<PartId>],
    /// The hosts' own disks, if they are the storage.
    pub replicated: Option<PartId>,
    pub courier: PartId,
    pub copier: PartId,
    pub now: Nanos,
    pub fx: &'a mut ModelEffects<SiteAlarm>,
}

/// Virtual disk of a virtual machine that can move.
#[derive(Debug, Clone)]
pub struct MovableDisk {
    pub disk: usize,
    pub size: u64,
    /// Present place of the disk.
    pub place: DiskExtent,
    /// Places in other pools that the disk may move to.
    pub elsewhere: Vec<DiskExtent>,
    /// True while the disk is copied to another place, or mirrored there.
    pub is_mirrored: bool,
}

/// Place of a virtual disk in a pool.
#[derive(Debug, Clone)]
pub struct DiskExtent {
    /// Position of the pool in the array's list.
    pub pool: usize,
    /// Part that the disk's requests enter, by host.
    pub entries: Vec<PartId>,
    /// Address of the first byte.
    pub base: u64,
}

impl DiskExtent {
    fn on(&self, host: usize) -> DiskPlace {
        DiskPlace { entry: self.entries[host], base: self.base }
    }
}

/// Work that a stopped virtual machine asked for.
#[derive(Debug, Clone, Copy)]
pub enum WaitingWork {
    Request((usize, Ticket), IoRequest),
    Burst(usize, CpuBurst),
}

impl MoveContext<'_> {
    /// Sets a time at which the moves are woken with this number.
    pub fn wake_at(&mut self, at: Nanos, number: u32) {
        let (now, courier) = (self.now, self.courier);
        self.site.array.call(now, courier, self.fx, |_: &mut Courier, out: &mut Outbox| {
            out.wake_at(at, number);
        });
    }

    /// Sends memory of a move from one host to another.
    pub fn send(&mut self, owner: u32, way: (usize, usize), bytes: u64) {
        let (now, courier) = (self.now, self.courier);
        let send = |own: &mut Courier, out: &mut Outbox| own.send(owner, way, bytes, out);
        self.site.array.call(now, courier, self.fx, send);
    }

    /// Stops a virtual machine.
    pub fn suspend(&mut self, of: (usize, usize)) -> Suspended {
        self.site.suspend(self.now, of, self.fx)
    }

    /// Continues a virtual machine on a host: its bursts run there, and its new requests enter
    /// there. Everything that it wrote before stays where it is.
    pub fn resume(
        &mut self,
        (of, id): ((usize, usize), VmId),
        (host, suspended): (usize, Suspended),
        disks: &[MovableDisk],
    ) {
        self.site.resume(self.now, of, (host, suspended), self.fx);
        for MovableDisk { disk, place: DiskExtent { entries, base, .. }, is_mirrored, .. } in disks
        {
            let place = (of.0, *disk);
            if !is_mirrored {
                self.site.array.set_place(place, entries[host], *base);
            }
            let stream = self.site.array.stream_of(place);
            if let (Some(part), Some(stream)) = (self.replicated, stream) {
                self.move_home(part, stream, host);
            }
        }
        let id_of_host = HostId(u16::try_from(host).unwrap_or(u16::MAX));
        for part in self.host_tiers.iter().filter(|parts| parts.len() == 1).flatten() {
            let tier = self.site.array.part_mut::<TierPart>(*part).and_then(TierPart::paged_mut);
            if let Some(tier) = tier {
                let settings = VmSettings { host: id_of_host, ..tier.settings_of(id) };
                tier.set(id, settings).expect("the host is one of the tier's hosts");
            }
        }
        let named = self.named.iter_mut().find(|named| named.of == of);
        if let (Some(named), Some(place)) = (named, self.site.place_of(of))
            && named.places.last() != Some(&place)
        {
            named.places.push(place);
        }
    }

    /// Begins to copy a disk of a virtual machine on a host to one of its other places. Its requests
    /// then enter the copier.
    pub fn copy_disk(
        &mut self,
        owner: u32,
        (instance, host): (usize, usize),
        disk: &mut MovableDisk,
        to: &DiskExtent,
    ) {
        let place = (instance, disk.disk);
        let Some(stream) = self.site.array.stream_of(place) else { return };
        disk.is_mirrored = true;
        self.site.array.set_place(place, self.copier, disk.place.base);
        let ways = [disk.place.on(host), to.on(host)];
        let copy = DiskCopy::new(owner, stream, ways, disk.size);
        let (now, copier) = (self.now, self.copier);
        self.site.array.call(now, copier, self.fx, |own: &mut DiskCopier, out: &mut Outbox| {
            own.begin(copy, out);
        });
    }

    /// Ends the mirroring of a migration's disks; later requests enter the present places.
    pub fn end_mirrors(
        &mut self,
        owner: u32,
        (instance, host): (usize, usize),
        disks: &mut [MovableDisk],
    ) {
        if let Some(copier) = self.site.array.part_mut::<DiskCopier>(self.copier) {
            copier.end(owner);
        }
        for own in disks.iter_mut().filter(|own| own.is_mirrored) {
            own.is_mirrored = false;
            let DiskPlace { entry, base } = own.place.on(host);
            self.site.array.set_place((instance, own.disk), entry, base);
        }
    }

    fn move_home(&mut self, part: PartId, stream: StreamId, host: usize) {
        if let Some(own) = self.site.array.part_mut::<Replicated>(part) {
            own.move_home(stream, u32::try_from(host).unwrap_or(u32::MAX));
        }
    }

    /// Returns the load of a virtual machine since a time, as a share of its host's capacity: the CPU
    /// time that it used or was ready for, in whole seconds.
    pub fn load_of(&mut self, of: (usize, usize), since: Nanos) -> f64 {
        let Some((host, vm)) = self.site.place_of(of) else { return 0.0 };
        let host = &mut self.site.hosts[host];
        let parameters = host.parameters();
        let capacity = f64::from(parameters.cores) * parameters.capacity.get();
        let first = usize::try_from(since.0.div_ceil(Nanos::SECOND.0)).unwrap_or(usize::MAX);
        let seconds = host.seconds(vm, self.now).get(first..).unwrap_or_default();
        let wanted = seconds.iter().map(|own| (own.used + own.ready).as_secs_f64()).sum::<f64>();
        let span = Nanos(seconds.len() as u64 * Nanos::SECOND.0).max(Nanos::SECOND);
        wanted / span.as_secs_f64() / capacity
    }

    /// Carries out the work that a virtual machine asked for while it was stopped, in its order.
    pub fn release(&mut self, waiting: Vec<WaitingWork>) {
        for one in waiting {
            match one {
                WaitingWork::Request(of, request) => {
                    self.site.submit(self.now, of, &request, self.fx)
                }
                WaitingWork::Burst(instance, burst) => {
                    self.site.run_cpu(self.now, instance, &burst, self.fx);
                }
            }
        }
    }

    /// Loses the shares of a host in all tiers. Returns the acknowledged bytes that had no copy.
    pub fn lose_shares(&mut self, host: usize) -> u64 {
        let mut lost = 0;
        for parts in self.host_tiers {
            let (part, share) = match parts[..] {
                [all] => (all, host),
                _ => (parts[host], 0),
            };
            let share = HostId(u16::try_from(share).unwrap_or(u16::MAX));
            let lose = |own: &mut TierPart, out: &mut Outbox| lost += own.lose(share, out);
            self.site.array.call(self.now, part, self.fx, lose);
        }
        lost
    }
}
