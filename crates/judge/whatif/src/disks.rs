use spec::array::{Array, Local, Pool};
use toml::Value;

use super::change::{ChangeError, Changes, Draft};

/// Changes the disks that hold data.
pub(super) fn change(
    changes: &Changes,
    base: &Array,
    draft: &mut Draft,
) -> Result<(), ChangeError> {
    if let Some(total) = changes.disks {
        let option = format!("--disks {total}");
        match &base.local {
            Some(local) => of_hosts(base, local, total, &option, draft)?,
            None => of_pools(base, total, &option, draft)?,
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

/// Changes the disks of pools, which keep their shares as far as whole disks allow.
fn of_pools(base: &Array, total: u32, option: &str, draft: &mut Draft) -> Result<(), ChangeError> {
    let counts = shares(&base.pools, total).ok_or_else(|| {
        let sets: Vec<String> =
            base.pools.iter().map(|pool| format!("{} of {}", pool.sets, pool.name)).collect();
        let message = format!("{total} disks do not make whole sets ({})", sets.join(", "));
        let hint = "another number, or each pool with --with pool.NAME.count=N";
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

/// Disks in a set of each pool, so that all sets have `total` together: in proportion, with the
/// rest to the largest remainders (Hamilton's method). `None` if whole sets are impossible.
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
