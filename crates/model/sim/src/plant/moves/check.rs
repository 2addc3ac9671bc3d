use spec::array::{Array, Hosts, Tier, TierPlace, TierShape, WriteMode};
use spec::events::{EventKind, PlannedEvent};

use super::{HostEvents, host};
use crate::plant::plan::PlantError;

/// Checks that events are possible with an array, and returns its hosts.
///
/// # Errors
///
/// [`PlantError::Event`] with the reason.
pub fn check_events<'a>(
    array: &'a Array,
    events: &HostEvents<'_>,
) -> Result<&'a Hosts, PlantError> {
    let refuse = |why: String| PlantError::Event { array: array.name.clone(), why };
    let Some(hosts) = &array.hosts else {
        return Err(refuse("it has no hosts; add [hosts] with count and cores".to_owned()));
    };
    if let Some(why) = unknown_name(array, events.events) {
        return Err(refuse(why));
    }
    let asked = Asked::new(hosts, events.events);
    if let Some(kind) = asked.of_hosts.first().filter(|_| hosts.count < 2) {
        let why = format!("{kind} needs a second host; set hosts.count to 2 or more");
        return Err(refuse(why));
    }
    if let Some(why) = of_tiers(array, &asked) {
        return Err(refuse(why));
    }
    if array.local.is_some() && asked.of_hosts.contains(&EventKind::LoseHost) {
        let why = "losing a host with disks of its own is not modelled; drain it instead";
        return Err(refuse(why.to_owned()));
    }
    Ok(hosts)
}

/// Parts of the events that an array may not allow.
struct Asked {
    /// Kinds of the events that need a second host. A pause, and a copy of disks alone, need none.
    of_hosts: Vec<EventKind>,
    /// True if disks are copied to another pool.
    copies: bool,
}

impl Asked {
    fn new(hosts: &Hosts, events: &[PlannedEvent]) -> Self {
        let needs_host = |event: &&PlannedEvent| {
            event.kind != EventKind::StopHost && (event.pool.is_none() || event.to.is_some())
        };
        let planned = events.iter().filter(needs_host).map(|event| event.kind);
        let balances = hosts.drs.as_ref().map(|_| EventKind::Rebalance);
        Self {
            of_hosts: planned.chain(balances).collect(),
            copies: events.iter().any(|event| event.pool.is_some()),
        }
    }

    fn moves_vms(&self) -> bool {
        self.of_hosts.iter().any(|kind| matches!(kind, EventKind::Drain | EventKind::Rebalance))
    }
}

/// Returns the first host or pool of the events that does not exist, in words.
fn unknown_name(array: &Array, events: &[PlannedEvent]) -> Option<String> {
    let hosts = host_names(array);
    let pools: Vec<String> = array.pools.iter().map(|pool| pool.name.clone()).collect();
    let named = events.iter().flat_map(|event| {
        let own = [&event.host, &event.to].into_iter().flatten();
        own.map(|name| ("host", name)).chain(event.pool.iter().map(|name| ("pool", name)))
    });
    let known = |what| if what == "host" { &hosts } else { &pools };
    let (what, name) = named.into_iter().find(|(what, name)| !known(*what).contains(*name))?;
    Some(format!("there is no {what} \"{name}\"; the {what}s are {}", known(what).join(", ")))
}

/// Returns the reason why a tier does not allow the events.
fn of_tiers(array: &Array, asked: &Asked) -> Option<String> {
    let is_in_hosts = |tier: &Tier| tier.at == TierPlace::Host;
    let is_logged = |tier: &&Tier| {
        let is_passed = is_in_hosts(tier) && !asked.of_hosts.is_empty();
        tier.shape == TierShape::Logged && (asked.copies || is_passed)
    };
    if let Some(tier) = array.tiers.iter().find(is_logged) {
        return Some(format!(
            "tier \"{}\" has a log for each disk, which cannot move; leave out shape = \"logged\"",
            tier.name
        ));
    }
    let keeps_writes = |tier: &&Tier| {
        let is_back = matches!(tier.write, WriteMode::Back | WriteMode::Only);
        is_in_hosts(tier) && is_back && !tier.is_clustered()
    };
    let tier = array.tiers.iter().find(keeps_writes).filter(|_| asked.moves_vms())?;
    Some(format!(
        "a virtual machine that moves would leave writes behind in tier \"{}\"; set clustered = \
         true, or write = \"through\"",
        tier.name
    ))
}

/// Returns the names of an array's hosts, `host-1` and so on; empty without hosts.
pub fn host_names(array: &Array) -> Vec<String> {
    let count = array.hosts.as_ref().map_or(0, |hosts| hosts.count as usize);
    (0..count).map(host::name).collect()
}
