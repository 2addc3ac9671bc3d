use units::{Bytes, Ratio};

use super::amounts::some_bytes;
use super::disks::{members, names};
use super::parts::{READ_PAGES, holds_a_page, page, some_parts};
use crate::array::names::{MEMORY, POLICIES};
use crate::array::{Array, Tier, TierPlace, WriteMode, times};
use crate::check::finding::Findings;
use crate::locate::DefinitionPath;

/// Maximum number of copies on other hosts.
const REPLICAS_MAX: u32 = 2;

/// Limits of the served tier: its maximum page size (`tier::Geometry`). The next constants are the
/// minimum useful log (two requests of 1 MiB, the maximum request size), and the default share of
/// the log (`tilemark tier init`).
const LOGGED_PAGE_MAX: Bytes = Bytes::new(64 << 10);
const LOG_MIN: f64 = (2 << 20) as f64;
const LOG_PERCENT: f64 = 10.0;

pub(super) fn tiers(array: &Array, found: &mut Findings) {
    let place = DefinitionPath::default().key("tier");
    let each = array.tiers.iter().enumerate();
    found.names("tier", each.map(|(i, tier)| (place.index(i).key("name"), tier.name.as_str())));
    let behind = backing(array);
    for (i, tier) in array.tiers.iter().enumerate() {
        let place = place.index(i);
        own(tier, &place, found);
        media(array, tier, &place, found);
        position(array, tier, &place, found);
        logged(tier, &place, found);
        order(&array.tiers[..i], tier, &place, found);
        if let Some(behind) = behind
            && tier.size > behind
        {
            let message =
                format!("the tier of {} is larger than the {behind} behind it", tier.size);
            found.add_help(place.key("size"), message, "a tier this large would hold everything");
        }
    }
}

/// Returns the capacity behind the tiers; `None` if it is unknown or grows with the tiles.
fn backing(array: &Array) -> Option<Bytes> {
    let grows = array.pools.iter().any(|pool| pool.per_tile);
    let unknown = array.pools.iter().any(|pool| array.pool_capacity(pool).is_none());
    let all = array.capacity(1);
    (!grows && !unknown && all > Bytes::ZERO).then_some(all)
}

fn own(tier: &Tier, place: &DefinitionPath, found: &mut Findings) {
    page(place.key("page"), tier.page, READ_PAGES, found);
    holds_a_page(place.key("size"), "a tier", (tier.size, tier.page), found);
    found.known(place.key("policy"), "policy", &tier.policy, &POLICIES);
    found.at_least_one(place.key("admit-on"), "the access that admits", u32::from(tier.admit_on));
    some_bytes(place.key("sequential-cutoff"), "the cut-off", tier.sequential_cutoff, found);
    if tier.dirty_low > tier.dirty_high {
        let message =
            format!("clean-up ends at {} and starts at {}", tier.dirty_low, tier.dirty_high);
        found.add_help(place.key("dirty-low"), message, "dirty-low must not be above dirty-high");
    }
    if tier.share_max == Ratio::ZERO {
        let message = "the share of a virtual machine is 0 % and must be above 0 %";
        found.add(place.key("share-max"), message);
    }
}

/// Checks that the tier's medium exists and is large enough.
fn media(array: &Array, tier: &Tier, place: &DefinitionPath, found: &mut Findings) {
    some_parts(place.key("count"), "the number of disks", tier.count, found);
    if tier.disk == MEMORY {
        return;
    }
    let mut known = names(array);
    known.push(MEMORY);
    found.known(place.key("disk"), "disk", &tier.disk, &known);
    if tier.count > 0 {
        members(place.key("count"), tier.raid, tier.count, found);
    }
    let Some(disk) = array.disk_capacity(&tier.disk) else { return };
    let room = times(disk, u64::from(tier.raid.data_disks(tier.count)));
    if tier.size > room && room > Bytes::ZERO {
        let message = format!(
            "the tier of {} is larger than the {room} that {} x {} hold",
            tier.size, tier.count, tier.disk
        );
        found.add(place.key("size"), message);
    }
}

/// Checks that the tier's location exists, and that there are other hosts for its replicas.
fn position(array: &Array, tier: &Tier, place: &DefinitionPath, found: &mut Findings) {
    let in_hosts = tier.at == TierPlace::Host;
    if in_hosts && array.hosts.is_none() {
        let help = "add [hosts] with count and cores, or leave out at";
        found.add_help(place.key("at"), "the tier is in hosts, but the array has no hosts", help);
    }
    if !in_hosts && array.local.is_some() {
        let help = "at = \"host\" puts it in front of the hosts' disks";
        found.add_help(place.key("at"), "there is no array behind local disks", help);
    }
    cluster(array, tier, place, found);
    if tier.replicas == 0 {
        return;
    }
    let replicas = place.key("replicas");
    if !in_hosts || !matches!(tier.write, WriteMode::Back | WriteMode::Only) {
        let message = "replicas are for tiers in hosts that answer writes themselves";
        found.add_help(replicas, message, "at = \"host\" and write = \"back\"");
    } else if tier.replicas > REPLICAS_MAX {
        let message =
            format!("{} replicas, but at most {REPLICAS_MAX} are supported", tier.replicas);
        found.add(replicas, message);
    } else if let Some(hosts) = &array.hosts
        && tier.replicas >= hosts.count
        && hosts.count > 0
    {
        let message =
            format!("copies on {} other hosts, but there are {}", tier.replicas, hosts.count);
        found.add(replicas, message);
    } else {
        clustered(tier, place, found);
    }
}

/// Checks that a tier over several hosts is in hosts, and that its copies have enough fault domains.
fn cluster(array: &Array, tier: &Tier, place: &DefinitionPath, found: &mut Findings) {
    if tier.clustered && (tier.at != TierPlace::Host || !tier.shape.is_paged()) {
        let message = "only paged tiers in hosts are clustered";
        found.add_help(place.key("clustered"), message, "at = \"host\", or leave it out");
    }
    let domains = place.key("domains");
    if tier.domains.is_empty() {
        return;
    }
    if tier.replicas == 0 {
        let message = "fault domains are for the copies of a tier, but it makes none";
        return found.add_help(domains, message, "add replicas, or leave it out");
    }
    let hosts = array.hosts.as_ref().map_or(0, |hosts| hosts.count);
    if tier.domains.len() as u64 != u64::from(hosts) {
        let message = format!("{} fault domains for {hosts} hosts", tier.domains.len());
        return found.add_help(domains, message, "name the domain of each host");
    }
    let mut names: Vec<&str> = tier.domains.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() as u64 <= u64::from(tier.replicas) {
        let message = format!(
            "{} fault domains hold a write and {} copies in different ones",
            names.len(),
            tier.replicas
        );
        found.add_help(domains, message, "more domains than replicas");
    }
}

/// Checks a tier with replicas: it must store every write that it acknowledges, for all VMs. A
/// write that is not admitted, or that exceeds its VM's share, could not be replicated.
fn clustered(tier: &Tier, place: &DefinitionPath, found: &mut Findings) {
    let help = "leave it out, or replicas";
    if tier.admit_on > 1 {
        let message = format!(
            "a tier with replicas admits a page at its first access, not at access {}",
            tier.admit_on
        );
        found.add_help(place.key("admit-on"), message, help);
    }
    if tier.share_max < Ratio::ONE {
        let message = format!(
            "a tier with replicas supports no share per virtual machine, but has {}",
            tier.share_max
        );
        found.add_help(place.key("share-max"), message, help);
    }
}

/// Checks that a model of a served tier only uses features that `tilemark tier` has.
fn logged(tier: &Tier, place: &DefinitionPath, found: &mut Findings) {
    if tier.shape.is_paged() {
        if tier.log.is_some() {
            let help = "shape = \"logged\", or leave it out";
            found.add_help(place.key("log"), "log space needs a tier with a log", help);
        }
        return;
    }
    let percent = tier.log.map_or(LOG_PERCENT, |log| log.get() * 100.0);
    let room = tier.size.as_f64() * percent / 100.0;
    if !(1.0..=90.0).contains(&percent) || room < LOG_MIN {
        let message = format!(
            "the log has {percent} % of {}; it must have 1 to 90 % and at least 2 MiB",
            tier.size
        );
        found.add(place.key("log"), message);
    }
    if tier.page > LOGGED_PAGE_MAX {
        let message = format!("a tier with a log has pages of {LOGGED_PAGE_MAX} at most");
        found.add(place.key("page"), message);
    }
    if !matches!(tier.write, WriteMode::Through | WriteMode::Back) {
        found.add(place.key("write"), "a tier with a log writes through or back");
    }
    if tier.sequential_cutoff.is_some() {
        let message =
            "a tier with a log has no cut-off for sequential access, like the served tier";
        found.add_help(place.key("sequential-cutoff"), message, "leave it out, or shape");
    }
    if tier.replicas > 0 {
        let message = "copies of a tier with a log are not modelled";
        found.add_help(place.key("replicas"), message, "leave it out, or shape");
    }
}

/// Checks that the tiers are listed in the order in which an I/O reaches them.
fn order(before: &[Tier], tier: &Tier, place: &DefinitionPath, found: &mut Findings) {
    let in_array = before.iter().find(|each| each.at == TierPlace::Array);
    if let (TierPlace::Host, Some(other)) = (tier.at, in_array) {
        let message = format!("a tier in the hosts stands behind \"{}\" in the array", other.name);
        found.add_help(place.key("at"), message, "put tiers in hosts first");
    }
}
