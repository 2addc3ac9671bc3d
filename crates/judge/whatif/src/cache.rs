use spec::array::names::{MEMORY, POLICIES};
use spec::array::{Array, Raid, Tier, TierPlace, WriteMode};
use toml::Value;
use units::Bytes;

use super::change::{ChangeError, Changes, Draft, plain, text};

/// Access on which the policy `nhit` admits a page: FAST Cache, as its makers describe it, admits a
/// 64 KiB page after three accesses.
const NHIT: u8 = 3;

/// Name of the policy that is an admission rule.
pub(super) const NHIT_NAME: &str = "nhit";

/// Default disk of a new tier; our choice.
const CACHE_DISK: &str = "ssd-sata-enterprise";

/// Cores of the host that is added to an array without hosts. There are more of them than virtual
/// CPUs that compute at the same time, so that no virtual CPU waits.
const CORES: i64 = 4096;

/// Maximum number of disks of a tier; the checks of the array refuse more.
const COUNT_MAX: u64 = 65_536;

/// Changes the tier.
pub(super) fn change(
    changes: &Changes,
    base: &Array,
    draft: &mut Draft,
) -> Result<(), ChangeError> {
    let about = asked(changes);
    let Some(first) = about.first() else { return Ok(()) };
    let name = match (tier_meant(changes, base, first)?, changes.cache) {
        (Some(tier), Some(size)) => {
            resize(base, tier, size, draft);
            tier.name.clone()
        }
        (Some(tier), None) => tier.name.clone(),
        (None, Some(size)) => add(changes, base, size, draft),
        (None, None) => {
            let place = changes.cache_at.map_or("", |at| match at {
                TierPlace::Array => " of its own",
                TierPlace::Host => " in its hosts",
            });
            let message = format!("the array \"{}\" has no acceleration tier{place}", base.name);
            return Err(ChangeError::option(first, message, "add one with --cache SIZE"));
        }
    };
    options(changes, &name, draft);
    Ok(())
}

/// Returns the options about a tier, as given.
fn asked(changes: &Changes) -> Vec<String> {
    let options = [
        changes.cache.map(|size| format!("--cache {}", plain(size))),
        changes.policy.as_ref().map(|name| format!("--policy {name}")),
        changes.page.map(|size| format!("--page {}", plain(size))),
        changes.write.map(|mode| format!("--write {}", word(mode))),
        changes.cache_at.map(|at| format!("--cache-at {}", place(at))),
    ];
    options.into_iter().flatten().collect()
}

fn tier_meant<'a>(
    changes: &Changes,
    base: &'a Array,
    option: &str,
) -> Result<Option<&'a Tier>, ChangeError> {
    let is_meant = |tier: &&Tier| changes.cache_at.is_none_or(|at| tier.at == at);
    let meant: Vec<&Tier> = base.tiers.iter().filter(is_meant).collect();
    match meant.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => {
            let names: Vec<&str> = several.iter().map(|tier| tier.name.as_str()).collect();
            let message = format!(
                "the array \"{}\" has several tiers that this could mean: {}",
                base.name,
                names.join(", ")
            );
            let hint = format!("--cache-at, or the key itself: --with tier.{}.size=SIZE", names[0]);
            Err(ChangeError::option(option, message, &hint))
        }
    }
}

/// Resizes the existing tier, with as many of its disks as needed.
fn resize(base: &Array, tier: &Tier, size: Bytes, draft: &mut Draft) {
    let key = format!("tier.{}", tier.name);
    draft.set(&["tier", &tier.name, "size"], text(size));
    draft.note(&format!("--cache {}", plain(size)), format!("{size} of cache"), &[&key]);
    draft.assume(format!("the cache is the array's tier \"{}\"", tier.name));
    let Some((count, raid)) = set_for(base, &tier.disk, tier.raid, size) else { return };
    if (count, raid) == (tier.count, tier.raid) {
        return;
    }
    draft.set(&["tier", &tier.name, "count"], Value::Integer(i64::from(count)));
    draft.set(&["tier", &tier.name, "raid"], Value::String(raid_name(raid).to_owned()));
    draft.assume(format!(
        "it is on {count} x {} in {} instead of {} in {}, the smallest number that holds it",
        tier.disk,
        raid_name(raid),
        tier.count,
        raid_name(tier.raid)
    ));
}

/// Adds a new tier.
fn add(changes: &Changes, base: &Array, size: Bytes, draft: &mut Draft) -> String {
    let is_taken = |name: &str| base.tiers.iter().any(|tier| tier.name == name);
    let name = if is_taken("cache") { "cache-2" } else { "cache" };
    let at = changes.cache_at.unwrap_or_default();
    // A failing host must not lose acknowledged writes.
    let write = changes.write.unwrap_or(match at {
        TierPlace::Host => WriteMode::Through,
        TierPlace::Array => WriteMode::Back,
    });
    let (count, _) = set_for(base, CACHE_DISK, Raid::Raid0, size).unwrap_or((1, Raid::Raid0));
    let key = |key| ["tier", name, key];
    draft.set(&key("size"), text(size));
    draft.set(&key("at"), Value::String(place(at).to_owned()));
    draft.set(&key("disk"), Value::String(CACHE_DISK.to_owned()));
    draft.set(&key("count"), Value::Integer(i64::from(count)));
    draft.set(&key("write"), Value::String(word(write).to_owned()));
    if at == TierPlace::Host && base.hosts.is_none() {
        // A model of a measured run has no hosts, so that no processor is short.
        draft.set(&["hosts", "count"], Value::Integer(1));
        draft.set(&["hosts", "cores"], Value::Integer(CORES));
        draft.assume("all virtual machines run on one host".to_owned());
    }
    let words = match at {
        TierPlace::Array => format!("{size} of cache"),
        TierPlace::Host => format!("{size} of cache in each host"),
    };
    draft.note(&format!("--cache {}", plain(size)), words, &["tier"]);
    draft.assume(format!(
        "the cache is a new tier \"{name}\" at the {} on {count} x {CACHE_DISK}, striped, write \
         {}; --with tier.{name}.KEY=VALUE changes it",
        place(at),
        word(write)
    ));
    name.to_owned()
}

/// Sets the options of a tier, new or not.
fn options(changes: &Changes, name: &str, draft: &mut Draft) {
    let key = format!("tier.{name}");
    let within = |what: &str| format!("{key}.{what}");
    if let Some(policy) = &changes.policy {
        let (kind, admit_on) =
            if policy == NHIT_NAME { (POLICIES[0], NHIT) } else { (policy.as_str(), 1) };
        draft.set(&["tier", name, "policy"], Value::String(kind.to_owned()));
        draft.set(&["tier", name, "admit-on"], Value::Integer(i64::from(admit_on)));
        let keys = [within("policy"), within("admit-on")];
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        draft.note(&format!("--policy {policy}"), format!("the policy {policy}"), &keys);
        draft.assume(match admit_on {
            1 => format!("with the policy {policy} a page is admitted at its first access"),
            _ => format!("nhit is {kind} that admits a page at its third access"),
        });
    }
    if let Some(page) = changes.page {
        draft.set(&["tier", name, "page"], text(page));
        let option = format!("--page {}", plain(page));
        draft.note(&option, format!("cache pages of {page}"), &[&within("page")]);
    }
    if let Some(write) = changes.write {
        draft.set(&["tier", name, "write"], Value::String(word(write).to_owned()));
        let option = format!("--write {}", word(write));
        draft.note(&option, format!("write-{} caching", word(write)), &[&within("write")]);
    }
}

/// Returns the smallest number of disks with at least this capacity, and their RAID level. `None`
/// for memory and for impossible sizes.
fn set_for(base: &Array, disk: &str, raid: Raid, size: Bytes) -> Option<(u32, Raid)> {
    let each = base.disk_capacity(disk).filter(|each| disk != MEMORY && *each > Bytes::ZERO)?;
    let data = size.get().div_ceil(each.get()).clamp(1, COUNT_MAX);
    let data = u32::try_from(data).ok()?;
    Some(match raid {
        Raid::Raid0 => (data, raid),
        // The smallest striped set of pairs has four disks.
        Raid::Raid1 | Raid::Raid10 if data == 1 => (2, Raid::Raid1),
        Raid::Raid1 | Raid::Raid10 => (2 * data, Raid::Raid10),
        Raid::Raid5 => ((data + 1).max(3), raid),
        Raid::Raid6 => ((data + 2).max(4), raid),
    })
}

const fn raid_name(raid: Raid) -> &'static str {
    match raid {
        Raid::Raid0 => "raid0",
        Raid::Raid1 => "raid1",
        Raid::Raid10 => "raid10",
        Raid::Raid5 => "raid5",
        Raid::Raid6 => "raid6",
    }
}

const fn place(at: TierPlace) -> &'static str {
    match at {
        TierPlace::Array => "array",
        TierPlace::Host => "host",
    }
}

const fn word(write: WriteMode) -> &'static str {
    match write {
        WriteMode::Through => "through",
        WriteMode::Back => "back",
        WriteMode::Around => "around",
        WriteMode::Only => "only",
    }
}
