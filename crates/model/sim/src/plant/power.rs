//! Watts of hosts and of the storage. Each is one modelled supply that is reported like a meter.

use std::collections::BTreeMap;

use hardware::{Femtojoules, HostCpu, Usage, joules};
use run_store::gauge::{Gauge, GaugeName};
use run_store::run::{
    EnergyBy, Figure, MeterEnergy, MeterFacts, MeterMethod, MeterScope, PartKind,
};
use spec::array::{Array, DiskPower, StoragePower};
use units::Nanos;

use super::facts::Group;
use super::host;

/// Name of the storage's meter.
const STORAGE: &str = "storage";

/// Returns the modelled meters of an array, with their watts at rest.
pub fn meters(array: &Array) -> Vec<MeterFacts> {
    let mut all = Vec::new();
    if let Some(hosts) = &array.hosts
        && let (Some(power), Some(own)) = (host::power(hosts), &hosts.power)
    {
        let watts = power.at_rest(hosts.cores);
        let facts = |number| facts(&host::name(number), MeterScope::Host, watts, &own.source);
        all.extend((0..hosts.count.max(1)).map(|number| facts(number as usize)));
    }
    if let Some(own) = &array.power {
        let disks: f64 = counts(array)
            .into_iter()
            .filter_map(|(disk, count)| Some(own.disk.get(disk)?.idle * f64::from(count)))
            .sum();
        all.push(facts(STORAGE, MeterScope::Storage, own.fixed + disks, &own.source));
    }
    all
}

fn facts(name: &str, scope: MeterScope, idle: f64, source: &str) -> MeterFacts {
    MeterFacts {
        name: name.to_owned(),
        asked: "the array's file".to_owned(),
        scope,
        of: Vec::new(),
        model: "watts of a model, not measured".to_owned(),
        method: MeterMethod::Modelled,
        period_ns: Nanos::SECOND.0,
        resolution_watts: None,
        counter_step_joules: None,
        uncertainty: None,
        idle_watts: Figure::of(idle),
        notes: vec![source.split_whitespace().collect::<Vec<_>>().join(" ")],
    }
}

/// Returns the number of disks by disk name, with one tile.
fn counts(array: &Array) -> Vec<(&str, u32)> {
    let pools = array.pools.iter().map(|pool| (pool.disk.as_str(), pool.count * pool.sets));
    let hosts = array.hosts.as_ref().map_or(1, |hosts| hosts.count.max(1));
    let tiers = array.tiers.iter().map(|tier| {
        let times = if tier.at == spec::array::TierPlace::Host { hosts } else { 1 };
        (tier.disk.as_str(), tier.count * times)
    });
    let local = array.local.iter().flat_map(|local| {
        let groups = local.groups * hosts;
        [(local.cache.as_str(), groups), (local.disk.as_str(), groups * local.count)]
    });
    pools.chain(tiers).chain(local).collect()
}

/// Energy of a supply since the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Energy {
    /// Energy of a host, as an exact number.
    Host(Femtojoules),
    /// Energy of the storage's disks above their energy at rest, in J.
    Storage(f64),
}

/// All modelled supplies: those of the hosts, followed by that of the storage.
#[derive(Debug, Default)]
pub struct Supplies {
    /// Watts of the storage at rest, and its disks, if the array's file states them.
    storage: Option<(f64, Vec<Disks>)>,
    /// Energy when measured time began (`marked`), when its last second ended (`ticked`), and when
    /// watts were last reported (`shown`).
    marked: EnergyMark,
    ticked: EnergyMark,
    shown: EnergyMark,
    /// Maximum mean watts of a second, by supply.
    most: Vec<f64>,
    seconds: u64,
}

/// Energy of all supplies at a moment.
#[derive(Debug, Default)]
struct EnergyMark {
    at: Nanos,
    spent: Vec<Energy>,
}

/// Disks of a group whose watts are known.
#[derive(Debug)]
struct Disks {
    group: usize,
    /// Watts of each disk at work, above its watts at rest.
    active: f64,
}

impl Supplies {
    pub fn new(array: &Array, groups: &[Group]) -> Self {
        let storage = array.power.as_ref().map(|own| storage(array, own, groups));
        Self { storage, ..Self::default() }
    }

    /// Returns the watts of the storage at rest.
    fn rest(&self) -> f64 {
        self.storage.as_ref().map_or(0.0, |(rest, _)| *rest)
    }

    /// Returns the energy of each supply up to `now`; `usages` returns the use of a group's parts.
    pub fn spent(
        &self,
        now: Nanos,
        hosts: &mut [HostCpu],
        usages: impl Fn(usize) -> Vec<Usage>,
    ) -> Vec<Energy> {
        let hosts = hosts.iter_mut().filter_map(|host| host.energy(now)).map(Energy::Host);
        let mut all: Vec<Energy> = hosts.collect();
        if let Some((_, disks)) = &self.storage {
            let busy = disks.iter().map(|own| {
                let seconds = usages(own.group).iter().map(busy_seconds).sum::<f64>();
                own.active * seconds
            });
            all.push(Energy::Storage(busy.sum()));
        }
        all
    }

    /// Begins measured time.
    pub fn mark(&mut self, now: Nanos, spent: Vec<Energy>) {
        self.most = vec![0.0; spent.len()];
        self.seconds = 0;
        self.ticked = EnergyMark { at: now, spent: spent.clone() };
        self.marked = EnergyMark { at: now, spent };
    }

    /// Includes the mean of the second that has ended.
    pub fn tick(&mut self, now: Nanos, spent: Vec<Energy>) {
        let rest = self.rest();
        for (at, most) in self.most.iter_mut().enumerate() {
            let watts = mean(rest, &self.ticked, (now, &spent), at);
            *most = most.max(watts);
        }
        self.seconds += 1;
        self.ticked = EnergyMark { at: now, spent };
    }

    /// Returns the energy of each supply since measured time began.
    pub fn energy(&self, now: Nanos, spent: &[Energy]) -> Vec<MeterEnergy> {
        let seconds = now.saturating_sub(self.marked.at).as_secs_f64();
        let own = |at: usize| {
            let watts = mean(self.rest(), &self.marked, (now, spent), at);
            let (meter, scope) = named(&spent[at], at);
            MeterEnergy {
                meter,
                scope,
                joules: Figure::of(watts * seconds),
                mean_watts: Figure::of(watts),
                most_watts: (self.seconds > 0).then(|| self.most[at]),
                by: Some(EnergyBy::Integral),
                samples: self.seconds,
                gap_max_ns: Nanos::SECOND.0,
                faults: Vec::new(),
            }
        };
        if seconds > 0.0 { (0..spent.len()).map(own).collect() } else { Vec::new() }
    }

    /// Returns the mean watts of each supply since the last call.
    pub fn watts(&mut self, now: Nanos, spent: Vec<Energy>) -> Vec<Gauge> {
        let own = |at: usize| {
            let value = mean(self.rest(), &self.shown, (now, &spent), at);
            Gauge { name: GaugeName::PowerWatts, scope: named(&spent[at], at).0, value }
        };
        let told =
            if now > self.shown.at { (0..spent.len()).map(own).collect() } else { Vec::new() };
        self.shown = EnergyMark { at: now, spent };
        told
    }
}

/// Returns the mean watts of a supply between two moments; `rest` is added for the storage.
fn mean(rest: f64, from: &EnergyMark, (now, spent): (Nanos, &[Energy]), at: usize) -> f64 {
    let seconds = now.saturating_sub(from.at).as_secs_f64();
    match (from.spent.get(at), spent[at]) {
        (Some(Energy::Host(before)), Energy::Host(after)) => joules(after - before) / seconds,
        (None, Energy::Host(after)) => joules(after) / seconds,
        (Some(Energy::Storage(before)), Energy::Storage(after)) => {
            rest + (after - before) / seconds
        }
        (_, Energy::Storage(after)) => rest + after / seconds,
        (Some(Energy::Storage(_)), Energy::Host(_)) => 0.0,
    }
}

fn named(energy: &Energy, at: usize) -> (String, MeterScope) {
    match energy {
        Energy::Host(_) => (host::name(at), MeterScope::Host),
        Energy::Storage(_) => (STORAGE.to_owned(), MeterScope::Storage),
    }
}

/// Returns the seconds of work of a disk, in which each of the disk's servers counts by its share.
#[expect(clippy::cast_precision_loss, reason = "a share of 10^-15 is lost")]
fn busy_seconds(usage: &Usage) -> f64 {
    usage.busy_ns as f64 / 1e9 / f64::from(usage.servers.max(1))
}

/// Returns the watts of the storage at rest, and the groups of disks whose watts are known.
fn storage(array: &Array, own: &StoragePower, groups: &[Group]) -> (f64, Vec<Disks>) {
    let names = disks_of_groups(array);
    let known = groups.iter().enumerate().filter_map(|(group, parts)| {
        let is_disk = matches!(parts.kind, PartKind::Disk | PartKind::TierDisk);
        let disk = names.get(&parts.name).filter(|_| is_disk)?;
        let power: &DiskPower = own.disk.get(*disk)?;
        Some((group, parts.parts.len(), power))
    });
    let known: Vec<(usize, usize, &DiskPower)> = known.collect();
    #[expect(clippy::cast_precision_loss, reason = "disks of an array")]
    let rest: f64 = known.iter().map(|(_, count, power)| power.idle * *count as f64).sum();
    let disks = known
        .into_iter()
        .map(|(group, _, power)| Disks { group, active: power.active - power.idle });
    (own.fixed + rest, disks.collect())
}

/// Returns the disk name of each group, by the group's name.
fn disks_of_groups(array: &Array) -> BTreeMap<String, &str> {
    let pools =
        array.pools.iter().map(|own| (format!("pool {} disks", own.name), own.disk.as_str()));
    let tiers =
        array.tiers.iter().map(|own| (format!("tier {} disks", own.name), own.disk.as_str()));
    let local = array.local.iter().flat_map(|own| {
        let disks = ("local disks".to_owned(), own.disk.as_str());
        [disks, ("local cache disks".to_owned(), own.cache.as_str())]
    });
    pools.chain(tiers).chain(local).collect()
}
