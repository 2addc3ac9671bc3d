//! Figures of a simulated step's parts, tiers and hosts.

use run_store::run::{HostFacts, ModelFacts, PartFacts, TierCounts, TierFacts, VmFacts};
use spec::study::formula::Function;

use super::absent::{Absent, Number, precise};

/// Returns a figure of the model.
pub(super) fn figure(function: Function, facts: &ModelFacts, names: &[&str]) -> Number {
    let (first, second) = (names.first().copied(), names.get(1).copied());
    let (first, second) = (first.unwrap_or_default(), second.unwrap_or_default());
    match function {
        Function::Tier => tier(facts, first, second),
        Function::Part => part(facts, first, second),
        Function::Host => host(facts, first),
        Function::Vm => vm(facts, first, second),
        Function::Touched => Ok(facts.touched_bytes.iter().map(|bytes| precise(*bytes)).sum()),
        Function::Events => Ok(precise(facts.events)),
        _ => Err(Absent::because("it is not a figure of a model")),
    }
}

/// Returns the items whose names match; an error if there are none.
fn fitting<'a, T>(
    all: &'a [T],
    what: &str,
    wanted: &str,
    name: impl Fn(&T) -> &str,
) -> Result<Vec<&'a T>, Absent> {
    let found: Vec<&T> = all.iter().filter(|each| fits(wanted, name(each))).collect();
    if found.is_empty() {
        let known: Vec<&str> = all.iter().map(name).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Absent(format!("there is no {what} \"{wanted}\" (there are: {known})")));
    }
    Ok(found)
}

/// Returns true if a name matches a pattern, in which `*` matches any characters.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return left.ends_with(piece);
        }
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    true
}

fn share(part: f64, whole: f64, what: &str) -> Number {
    if whole == 0.0 { Err(Absent(format!("there were no {what}"))) } else { Ok(part / whole) }
}

fn tier(facts: &ModelFacts, wanted: &str, figure: &str) -> Number {
    let tiers = fitting(&facts.tiers, "tier", wanted, |tier| &tier.name)?;
    let sum = |of: fn(&TierCounts) -> u64| {
        tiers.iter().map(|tier| precise(of(&tier.counts))).sum::<f64>()
    };
    let (reads, writes) = (sum(|tier| tier.reads), sum(|tier| tier.writes));
    let (read_hits, write_hits) = (sum(|tier| tier.read_hits), sum(|tier| tier.write_hits));
    match figure {
        "hit" => share(read_hits + write_hits, reads + writes, "requests"),
        "read_hit" => share(read_hits, reads, "reads"),
        "write_hit" => share(write_hits, writes, "writes"),
        "read_byte_hit" => share(sum(|t| t.read_hit_bytes), sum(|t| t.read_bytes), "reads"),
        "acceleration" => {
            let of = |tier: &TierFacts| {
                let requests = precise(tier.counts.reads + tier.counts.writes);
                tier.acceleration_rate.map(|rate| (rate * requests, requests))
            };
            let parts: Vec<(f64, f64)> = tiers.iter().filter_map(|tier| of(tier)).collect();
            let sum = |of: fn(&(f64, f64)) -> f64| parts.iter().map(of).sum::<f64>();
            share(sum(|part| part.0), sum(|part| part.1), "requests")
        }
        "remote" => share(sum(|tier| tier.remote_hits), read_hits, "read hits"),
        "reads" => Ok(reads),
        "writes" => Ok(writes),
        "absorbed" => Ok(sum(|tier| tier.writes_absorbed)),
        "capacity" => Ok(tiers.iter().map(|tier| precise(tier.capacity_bytes)).sum()),
        "resident" => Ok(sum(|tier| tier.resident_bytes)),
        "dirty" => Ok(sum(|tier| tier.dirty_bytes)),
        "dirty_max" => Ok(sum(|tier| tier.dirty_bytes_max)),
        "filled" => Ok(sum(|tier| tier.filled_bytes)),
        "placed" => Ok(sum(|tier| tier.placed_bytes)),
        "evicted" => Ok(sum(|tier| tier.evicted_bytes)),
        "destaged" => Ok(sum(|tier| tier.destaged_bytes)),
        "written" => Ok(sum(|tier| tier.tier_written_bytes)),
        other => Err(Absent(format!("a tier has no figure \"{other}\""))),
    }
}

fn part(facts: &ModelFacts, wanted: &str, figure: &str) -> Number {
    let parts = fitting(&facts.parts, "part", wanted, |part| &part.name)?;
    let sum = |of: fn(&PartFacts) -> f64| parts.iter().map(|part| of(part)).sum::<f64>();
    let count = sum(|part| f64::from(part.count));
    let busiest = || parts.iter().map(|part| part.utilisation_max).max_by(f64::total_cmp);
    match figure {
        "utilisation" => {
            share(sum(|part| part.utilisation * f64::from(part.count)), count, "parts")
        }
        "utilisation_max" => busiest().ok_or_else(|| Absent::because("there are no parts")),
        "iops" => Ok(sum(|part| part.iops)),
        "bytes" => Ok(sum(|part| part.bytes_per_s)),
        "inside" => Ok(sum(|part| part.inside)),
        "iops_each" => share(sum(|part| part.iops), count, "parts"),
        "bytes_each" => share(sum(|part| part.bytes_per_s), count, "parts"),
        "inside_each" => share(sum(|part| part.inside), count, "parts"),
        "count" => Ok(count),
        other => Err(Absent(format!("a part has no figure \"{other}\""))),
    }
}

fn host(facts: &ModelFacts, figure: &str) -> Number {
    let hosts: Vec<&HostFacts> = facts.hosts.iter().collect();
    if hosts.is_empty() {
        return Err(Absent::because("the array has no hosts"));
    }
    let mean = |of: fn(&HostFacts) -> f64| {
        hosts.iter().map(|host| of(host)).sum::<f64>() / precise(hosts.len() as u64)
    };
    let most = |of: fn(&HostFacts) -> f64| hosts.iter().map(|host| of(host)).fold(0.0, f64::max);
    match figure {
        "used" => Ok(mean(|host| host.used)),
        "cycles" => Ok(mean(|host| host.cycles.unwrap_or(host.used))),
        "used_max_1s" => Ok(most(|host| host.used_max_1s)),
        "used_max_20s" => Ok(most(|host| host.used_max_20s)),
        "ready" => Ok(hosts.iter().map(|host| host.ready).sum()),
        "ready_max_1s" => Ok(most(|host| host.ready_max_1s)),
        "ready_max_20s" => Ok(most(|host| host.ready_max_20s)),
        other => Err(Absent(format!("hosts have no figure \"{other}\""))),
    }
}

fn vm(facts: &ModelFacts, wanted: &str, figure: &str) -> Number {
    let vms = fitting(&facts.vms, "virtual machine", wanted, |vm| &vm.name)?;
    let count: f64 = vms.iter().map(|vm| f64::from(vm.count)).sum();
    let mean = |of: fn(&VmFacts) -> f64| {
        let sum = vms.iter().map(|vm| of(vm) * f64::from(vm.count)).sum::<f64>();
        share(sum, count, "virtual machines")
    };
    let most = |of: fn(&VmFacts) -> f64| Ok(vms.iter().map(|vm| of(vm)).fold(0.0, f64::max));
    match figure {
        "used" => mean(|vm| vm.used),
        "used_max_1s" => most(|vm| vm.used_max_1s),
        "used_max_20s" => most(|vm| vm.used_max_20s),
        "ready" => mean(|vm| vm.ready),
        "ready_max_1s" => most(|vm| vm.ready_max_1s),
        "ready_max_20s" => most(|vm| vm.ready_max_20s),
        other => Err(Absent(format!("virtual machines have no figure \"{other}\""))),
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name) in [
            ("fast", "fast"),
            ("*", "x"),
            ("pool*", "pool lun1"),
            ("pool * disks", "pool a disks"),
            ("*disks", "pool a disks"),
            ("a*b*c", "a-b-c"),
            ("**", ""),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("fast", "faster"),
            ("pool*", "a pool"),
            ("a*b*c", "a-c"),
            ("*x", "y"),
            ("ab*ba", "aba"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
