use spec::array::{Array, Disk, Local, Pool};
use toml::Value;
use units::Nanos;

use super::change::{ChangeError, Changes, DiskCount, Draft, text};
use super::fit::{self, FITTED};

/// Changes the disks that hold data, of an array or of a model that was fitted to a run.
pub(super) fn change(
    changes: &Changes,
    (base, is_fitted): (&Array, bool),
    draft: &mut Draft,
) -> Result<(), ChangeError> {
    if let Some(count) = changes.disks {
        let option = format!("--disks {count}");
        match (count, &base.local) {
            (count, _) if is_fitted => of_model(base, count, &option, draft)?,
            (DiskCount::Total(total), Some(local)) => of_hosts(base, local, total, &option, draft)?,
            (DiskCount::Total(total), None) => of_pools(base, total, &option, draft)?,
            (DiskCount::Times(times), local) => {
                let total = whole(base.data_disks(1), times, &option)?;
                match local {
                    Some(local) => of_hosts(base, local, total, &option, draft)?,
                    None => of_pools(base, total, &option, draft)?,
                }
            }
        }
    }
    if let Some(disk) = &changes.disk {
        let mut keys: Vec<String> =
            base.pools.iter().map(|pool| format!("pool.{}.disk", pool.name)).collect();
        for pool in &base.pools {
            draft.set(&["pool", &pool.name, "disk"], Value::String(disk.clone()));
        }
        if base.local.is_some() {
            draft.set(&["local", "disk"], Value::String(disk.clone()));
            keys.push("local.disk".to_owned());
        }
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        draft.note(&format!("--disk {disk}"), format!("disks of the kind {disk}"), &keys);
    }
    Ok(())
}

/// Returns a multiple of a number of disks, if it is a whole number of disks.
fn whole(now: u64, times: f64, option: &str) -> Result<u32, ChangeError> {
    let exact = now as f64 * times;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let total = exact.round() as u32;
    if total == 0 || (exact - exact.round()).abs() > 1e-6 * exact {
        let message = format!("{now} disks times {times} are {exact} disks");
        return Err(ChangeError::option(option, message, "a multiple that gives whole disks"));
    }
    Ok(total)
}

/// Changes the disks of a model that was fitted to a run. The number of disks cannot be derived
/// from a run, so only a multiple is accepted.
fn of_model(
    base: &Array,
    count: DiskCount,
    option: &str,
    draft: &mut Draft,
) -> Result<(), ChangeError> {
    let DiskCount::Times(times) = count else {
        let message = "the model was fitted to a run, which does not show the number of disks";
        let hint = "give a multiple (--disks 1.5x is 12 disks instead of 8), or the storage's \
                    array with --array";
        return Err(ChangeError::option(option, message, hint));
    };
    match base.disks.get(FITTED) {
        Some(servers) => more_servers(servers, times, draft),
        // A multiple of the disks that the search happened to find need not be whole disks.
        None => {
            for pool in &base.pools {
                let asked = f64::from(pool.count) * times;
                let count = fit::whole(pool.raid, asked).ok_or_else(|| {
                    let message = format!("the model would have {asked} disks");
                    ChangeError::option(option, message, "a smaller multiple")
                })?;
                draft.set(&["pool", &pool.name, "count"], Value::Integer(i64::from(count)));
            }
        }
    }
    draft.note(option, format!("{times} times the disks"), &["disk"]);
    draft.assume(
        "the model takes the disks as the limit: a run does not distinguish them from a link or a \
         controller, which more disks do not make faster"
            .to_owned(),
    );
    draft.may_do_nothing();
    Ok(())
}

/// Multiplies the speed of a fitted disk of servers.
fn more_servers(disk: &Disk, times: f64, draft: &mut Draft) {
    let Disk::Servers { capacity, servers, read, write, latency, .. } = disk else { return };
    let exact = f64::from(*servers) * times;
    let whole = exact.round().max(1.0);
    // All servers together are exactly as many times as fast. What rounding adds to the time of
    // each comes off the latency outside, so that a lone I/O takes as long as before.
    let longer = whole / exact;
    let added = (read.as_secs_f64().min(write.as_secs_f64())) * (longer - 1.0);
    let outside = (latency.as_secs_f64() - added).max(0.0);
    let time = |seconds: f64| Value::String(Nanos::from_secs_f64(seconds).to_text());
    #[expect(clippy::cast_possible_truncation, reason = "servers times a thousand at most")]
    draft.set(&["disk", FITTED, "servers", "servers"], Value::Integer(whole as i64));
    draft.set(&["disk", FITTED, "servers", "capacity"], text(capacity.scale(times)));
    draft.set(&["disk", FITTED, "servers", "read"], time(read.as_secs_f64() * longer));
    draft.set(&["disk", FITTED, "servers", "write"], time(write.as_secs_f64() * longer));
    draft.set(&["disk", FITTED, "servers", "latency"], time(outside));
}

/// Changes the disks of hosts, all alike.
fn of_hosts(
    base: &Array,
    local: &Local,
    total: u32,
    option: &str,
    draft: &mut Draft,
) -> Result<(), ChangeError> {
    let hosts = base.hosts.as_ref().map_or(1, |hosts| hosts.count);
    let groups = hosts.saturating_mul(local.groups).max(1);
    if !total.is_multiple_of(groups) {
        let message = format!(
            "{total} disks cannot be spread evenly over {hosts} hosts with {} groups each",
            local.groups
        );
        return Err(ChangeError::option(option, message, &format!("a multiple of {groups}")));
    }
    draft.set(&["local", "count"], Value::Integer(i64::from(total / groups)));
    draft.note(option, words(total), &["local.count"]);
    Ok(())
}

/// Changes the disks of pools. The shares of the pools stay the same as far as whole disks allow.
fn of_pools(base: &Array, total: u32, option: &str, draft: &mut Draft) -> Result<(), ChangeError> {
    let counts = shares(&base.pools, total).ok_or_else(|| {
        let sets: Vec<String> =
            base.pools.iter().map(|pool| format!("{} of {}", pool.sets, pool.name)).collect();
        let message = format!("{total} disks do not make whole sets ({})", sets.join(", "));
        let hint = "give another number, or set each pool with --with pool.NAME.count=N";
        ChangeError::option(option, message, hint)
    })?;
    let mut keys = Vec::new();
    for (pool, count) in base.pools.iter().zip(&counts) {
        draft.set(&["pool", &pool.name, "count"], Value::Integer(i64::from(*count)));
        keys.push(format!("pool.{}.count", pool.name));
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let per_tile = base.pools.iter().any(|pool| pool.per_tile);
    let words = if per_tile { format!("{} for each tile", words(total)) } else { words(total) };
    draft.note(option, words, &keys);
    if base.pools.len() > 1 {
        let each = base.pools.iter().zip(&counts);
        let each: Vec<String> =
            each.map(|(pool, count)| format!("{} {count}", pool.name)).collect();
        draft.assume(format!("the disks go to the pools in proportion: {}", each.join(", ")));
    }
    Ok(())
}

fn words(total: u32) -> String {
    format!("{total} disk{}", if total == 1 { "" } else { "s" })
}

/// Returns the number of disks in a set of each pool, so that all sets together have `total` disks:
/// in proportion, with the rest to the largest remainders (Hamilton's method). `None` if whole sets
/// are impossible.
pub(super) fn shares(pools: &[Pool], total: u32) -> Option<Vec<u32>> {
    let disks = |pool: &Pool| u64::from(pool.count) * u64::from(pool.sets);
    let all: u64 = pools.iter().map(disks).sum();
    let exact = |pool: &Pool| {
        let share = u64::from(total) * u64::from(pool.count);
        Some((share.checked_div(all)?, share % all))
    };
    let parts: Vec<(u64, u64)> = pools.iter().map(exact).collect::<Option<_>>()?;
    let mut counts: Vec<u64> = parts.iter().map(|(whole, _)| *whole).collect();
    let used: u64 =
        counts.iter().zip(pools).map(|(count, pool)| count * u64::from(pool.sets)).sum();
    let mut left = u64::from(total).saturating_sub(used);
    let mut order: Vec<usize> = (0..pools.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(parts[*index].1));
    for index in order {
        let sets = u64::from(pools[index].sets);
        if left >= sets && parts[index].1 > 0 {
            counts[index] += 1;
            left -= sets;
        }
    }
    let whole: Option<Vec<u32>> = counts.iter().map(|count| u32::try_from(*count).ok()).collect();
    whole.filter(|_| left == 0)
}
