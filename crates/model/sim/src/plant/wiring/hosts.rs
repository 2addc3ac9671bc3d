use std::sync::Arc;

use cache::tier::HostId;
use hardware::{Link, Network, PartId, StreamId, Volume};
use run_store::run::PartKind;
use spec::array::{self, TierPlace};

use super::Builder;
use crate::plant::facts::Group;
use crate::plant::layout::{ALIGNMENT, Extent};
use crate::plant::links::{between_hosts, copies_of, link_parameters};
use crate::plant::paged::{Askers, PagedPart, TierWays};
use crate::plant::plan::PlantError;
use crate::plant::route::ByStream;
use crate::plant::served::ServedDisk;
use crate::plant::tier_part::TierPart;
use crate::plant::tiers::paged;

/// Hosts, their tiers, and the links from them to the storage.
impl Builder<'_> {
    /// Wires the links and returns the path to the storage of each host.
    pub(super) fn links(&mut self, next: PartId) -> Result<Vec<PartId>, PlantError> {
        let Some(link) = &self.array().link else { return Ok(vec![next; self.host_count]) };
        let parameters = link_parameters(self.array(), link)?;
        let bundles = if link.shared { 1 } else { self.host_count };
        let mut parts = Vec::new();
        for _ in 0..u64::from(link.count.max(1)) * bundles as u64 {
            let part = Link::new(parameters, copies_of(self.array()), next)
                .map_err(PlantError::parameter("the link"))?;
            parts.push(self.wiring.parts.add(part));
        }
        self.stages.push(vec![Group::new(String::from("link"), PartKind::Link, parts.clone())]);
        let count = parts.len() / bundles;
        let ways = (0..self.host_count).map(|host| {
            let host = if link.shared { 0 } else { host };
            &parts[host * count..(host + 1) * count]
        });
        let ways: Vec<&[PartId]> = ways.collect();
        Ok(self.in_turn(&ways, link.shared))
    }

    /// Assigns each host's connections to its virtual disks in turn.
    fn in_turn(&mut self, links: &[&[PartId]], is_shared: bool) -> Vec<PartId> {
        let mut turns = vec![0; links.len()];
        let mut ways = vec![Vec::new(); links.len()];
        for (instance, hosts) in self.plan.instances.iter().zip(self.hosts) {
            for disk in &instance.disks {
                let host = hosts.get(disk.vm).copied().unwrap_or(0);
                let turn = if is_shared { &mut turns[0] } else { &mut turns[host] };
                for (own, links) in ways.iter_mut().zip(links) {
                    own.push(links[*turn % links.len()]);
                }
                *turn += 1;
            }
        }
        let mut tops = Vec::new();
        for (ways, links) in ways.into_iter().zip(links) {
            let top =
                if let [only] = links { *only } else { self.wiring.parts.add(ByStream { ways }) };
            tops.push(top);
        }
        tops
    }

    /// Wires the hosts' queues and tiers. Returns the entries for I/Os by host and pool.
    pub(super) fn hosts(&mut self, links: &[PartId]) -> Result<Vec<Vec<PartId>>, PlantError> {
        let array = self.array();
        let mut entries: Vec<Vec<PartId>> =
            links.iter().map(|link| vec![*link; self.layout.pools.len()]).collect();
        if let Some(queue) = array.lun_queue.as_ref().filter(|queue| !queue.in_array) {
            for (entries, link) in entries.iter_mut().zip(links) {
                *entries = self.queues(queue, *link)?;
            }
            self.add_queue_groups(&entries);
        }
        self.wiring.chains = vec![self.chains.clone(); self.host_count];
        let own = |tier: &&array::Tier| tier.at == TierPlace::Host;
        for tier in array.tiers.iter().filter(own).rev() {
            if tier.is_clustered() {
                self.cluster_tier(tier, &mut entries)?;
            } else {
                self.host_tier(tier, &mut entries)?;
            }
        }
        Ok(entries)
    }

    fn host_tier(
        &mut self,
        tier: &array::Tier,
        entries: &mut [Vec<PartId>],
    ) -> Result<(), PlantError> {
        let (mut tiers, mut all): (Vec<PartId>, Option<Group>) = (Vec::new(), None);
        for (host, entries) in entries.iter_mut().enumerate() {
            let behind = self.by_pool(entries, false);
            let (fast, group) = self.fast(tier)?;
            let part = self.tier(tier, (fast, behind), Some(host))?;
            tiers.push(part);
            entries.fill(part);
            for chain in &mut self.wiring.chains[host] {
                chain.insert(0, part);
            }
            match &mut all {
                Some(all) => all.parts.extend(group.parts),
                None => all = Some(group),
            }
        }
        self.stages.push(all.into_iter().collect());
        self.wiring.tiers.insert(0, (tier.name.clone(), tiers));
        Ok(())
    }

    /// Wires a tier whose hosts keep copies of each other's writes and read each other's pages.
    fn cluster_tier(
        &mut self,
        tier: &array::Tier,
        entries: &mut [Vec<PartId>],
    ) -> Result<(), PlantError> {
        let homes = self.homes();
        let state = paged(self.array(), tier, entries.len(), &homes)?;
        let (mut shares, mut backing, mut disks) = (Vec::new(), Vec::new(), Vec::new());
        for entries in &*entries {
            backing.push(self.by_pool(entries, false));
            let (top, group) = self.fast(tier)?;
            shares.push(top);
            disks.push(group);
        }
        let hosts = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let network = Network::new(between_hosts(self.array())?, hosts)
            .map_err(PlantError::parameter("the network between the hosts"))?;
        let network = self.wiring.parts.add(network);
        self.wiring.between = Some(network);
        let behind = backing.clone();
        let ways = TierWays { fast: shares, backing, network: Some(network) };
        let part = PagedPart::new(state, ways, Arc::clone(&self.owners), Askers::Streams);
        let part = self.wiring.parts.add(TierPart::from(part));
        self.wiring.parts.watch(part, behind);
        entries.iter_mut().for_each(|entries| entries.fill(part));
        self.wiring.chains.iter_mut().flatten().for_each(|chain| chain.insert(0, part));
        let mut disks = disks.into_iter();
        let mut all = disks.next().into_iter().collect::<Vec<Group>>();
        if let Some(all) = all.first_mut() {
            disks.for_each(|group| all.parts.extend(group.parts));
        }
        all.push(Group::new(format!("tier {} network", tier.name), PartKind::Link, vec![network]));
        self.stages.push(all);
        self.wiring.tiers.insert(0, (tier.name.clone(), vec![part]));
        Ok(())
    }

    /// Returns the virtual disks that a tier serves: those of a host's virtual machines, or all
    /// disks in pools with tiers.
    pub(super) fn served_disks(&self, host: Option<usize>) -> Vec<ServedDisk> {
        let instances = self.plan.instances.iter().zip(self.hosts).zip(&self.layout.disks);
        let all = instances.flat_map(|((instance, hosts), extents)| {
            let homes = instance.disks.iter().map(|disk| hosts.get(disk.vm).copied().unwrap_or(0));
            homes.zip(extents)
        });
        let is_asked = |home: usize, extent: &Extent| match host {
            Some(host) => host == home,
            None => self.layout.pools[extent.pool].tiered,
        };
        let numbered = (0..).map(StreamId).zip(all);
        let asked = numbered.filter(|(_, (home, extent))| is_asked(*home, extent));
        asked
            .map(|(stream, (_, extent))| ServedDisk {
                stream,
                vm: self.owners.vm(stream),
                base: extent.base,
                bytes: extent.size.round_up(ALIGNMENT).get(),
            })
            .collect()
    }

    /// Returns the host of each virtual machine of all instances.
    fn homes(&self) -> Vec<HostId> {
        let instances = self.plan.instances.iter().zip(self.hosts);
        let homes = instances.flat_map(|(instance, hosts)| {
            (0..instance.vm_count()).map(|vm| hosts.get(vm).copied().unwrap_or(0))
        });
        homes.map(|host| HostId(u16::try_from(host).unwrap_or(u16::MAX))).collect()
    }

    pub(super) fn volumes(&mut self, entries: &[Vec<PartId>]) {
        let instances = self.plan.instances.iter().zip(self.hosts).zip(&self.layout.disks);
        for ((instance, hosts), extents) in instances {
            let disks = instance.disks.iter().zip(extents).map(|(disk, extent)| Volume {
                entry: entries[hosts.get(disk.vm).copied().unwrap_or(0)][extent.pool],
                base: extent.base,
                size: extent.size,
            });
            self.wiring.parts.add_instance(&disks.collect::<Vec<_>>());
        }
        let kinds = self.plan.instances.iter().map(|instance| instance.copy_kinds.clone());
        self.wiring.parts.set_copy_kinds(kinds.collect());
    }
}
