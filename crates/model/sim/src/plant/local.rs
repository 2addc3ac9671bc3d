use std::sync::Arc;

use cache::Tier;
use cache::tier::{Access, Config, VmSettings, WriteMode};
use hardware::{
    Array, HostWays, LinkParameters, Network, PartId, RaidLevel, Replicated, ReplicatedParameters,
    SsdBuffer, SsdBufferContent, SsdBufferParameters,
};
use run_store::run::PartKind;
use spec::array::{self, Local};
use state_machine::Operation;
use units::{Bytes, Ratio};

use super::disks::DiskModel;
use super::facts::Group;
use super::paged::{Askers, Owners, PagedPart, TierWays};
use super::plan::PlantError;
use super::pools::{Sets, classes_of, combine, in_classes};
use super::tier_part::TierPart;
use super::warm::Levels;

/// Number of contiguous bytes on one host, in one of its groups and on one of its disks: the stripe
/// of [`ReplicatedParameters::new`]. An object is stored completely on one disk.
const STRIPE: Bytes = Bytes::GIB;

/// Returns the hosts' own disks, if the array has no pools and these disks are the storage.
pub fn local(array: &array::Array) -> Option<&Local> {
    array.local.as_ref().filter(|_| array.pools.is_empty())
}

/// Disk groups of each host. A group is a cache disk in front of capacity disks.
///
/// ```text
/// copies on hosts -> groups in turn -> write buffer -> read cache -> disks in turn
///                                        \______________/
///                                         the cache disk
/// ```
#[derive(Debug)]
pub struct Groups {
    groups: u32,
    cache: DiskModel,
    read_share: Ratio,
    page: Bytes,
    disks: Sets,
    parameters: ReplicatedParameters,
}

/// Network and hosts that groups are wired to.
#[derive(Debug)]
pub struct LocalSite {
    pub hosts: usize,
    /// Network between the hosts. Without one, remote disks are as fast as local ones.
    pub network: Option<LinkParameters>,
    /// Host of each stream.
    pub homes: Vec<u32>,
    pub owners: Arc<Owners>,
    pub seed: u64,
}

/// Parts of the hosts' disks that warming needs. Lists are ordered by host and then by group.
#[derive(Debug)]
pub struct LocalParts {
    pub replicated: PartId,
    pub network: Option<PartId>,
    groups: u64,
    /// Read caches; `None` where no share of the cache disk is for reads.
    pub caches: Option<Vec<PartId>>,
    buffers: Vec<PartId>,
    /// Position of the first read cache among the levels that are warmed.
    first_level: usize,
}

struct Built {
    top: PartId,
    flash: PartId,
    cache: Option<PartId>,
    disks: Vec<PartId>,
}

impl Groups {
    pub fn new(array: &array::Array, local: &Local) -> Result<Self, PlantError> {
        Ok(Self {
            groups: local.groups,
            cache: DiskModel::find(array, &local.cache)?,
            read_share: local.read_share,
            page: local.page,
            disks: Sets {
                disk: DiskModel::find(array, &local.disk)?,
                count: local.count,
                level: RaidLevel::Raid0,
                sets: 1,
                element: STRIPE,
                classes: classes_of(array),
            },
            parameters: ReplicatedParameters::new(local.copies),
        })
    }

    /// Returns the total capacity of all hosts.
    pub fn capacity(&self, array: &array::Array) -> Result<Bytes, PlantError> {
        let hosts = array.hosts.as_ref().map_or(1, |hosts| hosts.count.max(1));
        let of_host = Bytes::new(self.disks.capacity().get() * u64::from(self.groups));
        self.parameters
            .capacity(hosts, of_host)
            .map_err(PlantError::parameter("the hosts' own disks"))
    }

    /// Adds all groups. Returns the entry, the parts for warming, and the groups of facts by stage,
    /// the last stage first.
    pub fn add(
        &self,
        parts: &mut Array,
        site: LocalSite,
    ) -> Result<(PartId, LocalParts, Vec<Vec<Group>>), PlantError> {
        let (mut entries, mut built) = (Vec::new(), Vec::new());
        for host in 0..site.hosts as u64 {
            let mut tops = Vec::new();
            for group in 0..u64::from(self.groups) {
                let number = host * u64::from(self.groups) + group;
                let group = self.add_group(parts, &site, number)?;
                tops.push(group.top);
                built.push(group);
            }
            entries.push(combine(parts, "local", (RaidLevel::Raid0, STRIPE), tops)?);
        }
        let hosts = u32::try_from(site.hosts).expect("hosts are counted by u32");
        let network = site.network.map(|link| {
            let network = Network::new(link, hosts).map_err(PlantError::parameter("the link"))?;
            Ok(parts.add(network))
        });
        let network = network.transpose()?;
        let ways = HostWays { entries, network };
        let replicated = Replicated::new(self.parameters, ways, site.homes)
            .map_err(PlantError::parameter("the hosts' own disks"))?;
        let replicated = parts.add(replicated);
        let disks = built.iter().flat_map(|group| group.disks.iter().copied()).collect();
        let flash = built.iter().map(|group| group.flash).collect();
        let mut stages = vec![
            vec![Group::new(String::from("local disks"), PartKind::Disk, disks)],
            vec![Group::new(String::from("local cache disks"), PartKind::TierDisk, flash)],
        ];
        if let Some(network) = network {
            stages.push(vec![Group::new(String::from("link"), PartKind::Link, vec![network])]);
        }
        let own = LocalParts {
            replicated,
            network,
            groups: u64::from(self.groups),
            caches: built.iter().map(|group| group.cache).collect(),
            buffers: built.iter().map(|group| group.top).collect(),
            first_level: 0,
        };
        Ok((replicated, own, stages))
    }

    fn add_group(
        &self,
        parts: &mut Array,
        site: &LocalSite,
        number: u64,
    ) -> Result<Built, PlantError> {
        let disks_of_group = u64::from(self.disks.count) + 1;
        let first = number * disks_of_group;
        let (bottom, disks) = self.disks.add(parts, "the disks of a group", (site.seed, first))?;
        let numbered = (site.seed, first + disks_of_group - 1);
        let flash = self.cache.add(parts, "the cache disk of a group", numbered)?;
        let front = in_classes(parts, "the cache disk of a group", self.disks.classes, flash)?;
        let reads = self.cache.capacity().scale(self.read_share.get()).round_down(self.page);
        let mut next = bottom;
        let mut cache = None;
        if reads >= self.page && self.page > Bytes::ZERO {
            let tier = Tier::new(Config {
                // Writes from the write buffer go around to the disks; cached pages stay valid.
                vms: VmSettings { write_mode: WriteMode::Around, ..VmSettings::default() },
                ..Config::new(reads.get(), u32::try_from(self.page.get()).unwrap_or(u32::MAX))
            })
            .map_err(|source| PlantError::Tier { tier: String::from("local"), source })?;
            let ways = TierWays { fast: vec![front], backing: vec![bottom], network: None };
            let part = PagedPart::new(tier, ways, Arc::clone(&site.owners), Askers::Streams);
            next = parts.add(TierPart::from(part));
            parts.watch(next, vec![bottom]);
            cache = Some(next);
        }
        let writes = self.cache.capacity().saturating_sub(reads);
        let buffer = SsdBufferParameters {
            base: reads.get(),
            ..SsdBufferParameters::new(writes.round_down(Bytes::MIB))
        };
        let buffer = SsdBuffer::new(buffer, front, next)
            .map_err(PlantError::parameter("the write buffer of a group"))?;
        Ok(Built { top: parts.add(buffer), flash, cache, disks })
    }
}

impl LocalParts {
    /// Finds the read caches among the parts that are warmed as levels, where they follow each
    /// other.
    pub fn among(self, levels: &[PartId]) -> Self {
        let first = self.caches.iter().flatten().next();
        let first_level = levels.iter().position(|level| Some(level) == first);
        Self { first_level: first_level.unwrap_or(0), ..self }
    }

    /// Feeds an access without timing: reads through the read caches, in the order of the groups,
    /// and writes into the write buffers. In the end, the buffers are as full as the load makes
    /// them.
    pub fn feed(&self, parts: &mut Array, levels: &mut Levels, access: &Access) {
        match access.operation {
            Operation::Read if self.caches.is_some() => {
                self.each_group(parts, access, |group, offset, length| {
                    levels.feed(&[self.first_level + group], &Access { offset, length, ..*access });
                });
            }
            Operation::Write => {
                let mut pieces = Vec::with_capacity(4);
                self.each_group(parts, access, |group, offset, length| {
                    pieces.push((group, offset, length));
                });
                for (group, offset, length) in pieces {
                    if let Some(buffer) = parts.part_mut::<SsdBuffer>(self.buffers[group]) {
                        buffer.place(offset, length);
                    }
                }
            }
            _ => {}
        }
    }

    /// Splits an access by group and calls `f(group, offset, length)` for each piece.
    fn each_group(&self, parts: &Array, access: &Access, mut f: impl FnMut(usize, u64, u32)) {
        let Some(replicated) = parts.part::<Replicated>(self.replicated) else { return };
        let span = (access.offset, access.length);
        replicated.map(access.operation, span, |host, offset, length| {
            let (number, within) = (offset / STRIPE.get(), offset % STRIPE.get());
            let group = u64::from(host) * self.groups + number % self.groups;
            let offset = number / self.groups * STRIPE.get() + within;
            f(usize::try_from(group).expect("groups fit memory"), offset, length);
        });
    }

    /// Returns the content of the write buffers, in the order of the groups.
    pub fn buffered(&self, parts: &Array) -> Vec<SsdBufferContent> {
        let buffers = self.buffers.iter().filter_map(|part| parts.part::<SsdBuffer>(*part));
        buffers.map(SsdBuffer::content).collect()
    }

    /// Restores the content of the write buffers.
    pub fn restore(&self, parts: &mut Array, contents: &[SsdBufferContent]) {
        for (part, content) in self.buffers.iter().zip(contents) {
            if let Some(buffer) = parts.part_mut::<SsdBuffer>(*part) {
                buffer.restore(content);
            }
        }
    }
}
