use cache::PolicyKind;
use cache::Tier;
use cache::tier::{Admission, Config, HostId, VmId, VmSettings, WriteMode};
use spec::array;
use tier::Mode;
use units::{Bytes, Ratio};

use super::disks::unknown;
use super::plan::PlantError;
use super::served::{Recipe, ServedDisk, Sets};

/// Returns a ratio in whole percent, 0 to 100.
pub fn percent(ratio: Ratio) -> u8 {
    let percent = (ratio.get() * 100.0).round().clamp(0.0, 100.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 100 as checked above"
    )]
    let percent = percent as u8;
    percent
}

/// Builds an empty tier of the published kind: for one host, or, if it keeps copies, for all hosts
/// with their virtual machines at `homes`.
pub fn paged(
    array: &array::Array,
    tier: &array::Tier,
    hosts: usize,
    homes: &[HostId],
) -> Result<Tier, PlantError> {
    let refused = |source| PlantError::Tier { tier: tier.name.clone(), source };
    let copies = u8::try_from(tier.replicas).unwrap_or(u8::MAX);
    let high = percent(tier.dirty_high);
    // Each copy needs as much room as the watermarks allow to be dirty. When the room is full,
    // writes go through.
    let log_percent =
        if copies > 0 { high.saturating_mul(copies).saturating_add(1).min(90) } else { 0 };
    let vms = VmSettings {
        write_mode: match tier.write {
            array::WriteMode::Through => WriteMode::Through,
            array::WriteMode::Back => WriteMode::Back,
            array::WriteMode::Around => WriteMode::Around,
            array::WriteMode::Only => WriteMode::Only,
        },
        copies,
        share_max_percent: percent(tier.share_max),
        ..VmSettings::default()
    };
    let mut names: Vec<&String> = tier.domains.iter().collect();
    names.sort_unstable();
    names.dedup();
    let number = |name: &String| names.iter().position(|own| *own == name).unwrap_or_default();
    let domains = tier.domains.iter().map(number);
    let config = Config {
        domains: domains.map(|number| u16::try_from(number).unwrap_or(u16::MAX)).collect(),
        shares_bytes: vec![tier.size.get(); hosts],
        log_percent,
        page_bytes: u32::try_from(tier.page.get()).unwrap_or(u32::MAX),
        policy: policy(array, tier)?,
        admission: admission(tier),
        sequential_bytes: tier.sequential_cutoff.map(Bytes::get),
        dirty_high_percent: high,
        dirty_low_percent: percent(tier.dirty_low),
        vms,
    };
    let mut state = Tier::new(config).map_err(refused)?;
    for (vm, host) in (0..).zip(homes) {
        state.set(VmId(vm), VmSettings { host: *host, ..vms }).map_err(refused)?;
    }
    Ok(state)
}

/// Builds empty sets of the served kind for these disks.
pub fn served(
    array: &array::Array,
    tier: &array::Tier,
    disks: &[ServedDisk],
) -> Result<Sets, PlantError> {
    let recipe = Recipe {
        bytes: tier.size.get(),
        page_bytes: u32::try_from(tier.page.get()).unwrap_or(u32::MAX),
        // A tenth is for logs, as in `tilemark tier init`, unless the array's file says otherwise.
        log_percent: tier.log.map_or(10, percent),
        policy: policy(array, tier)?,
        admission: admission(tier),
        mode: match tier.write {
            array::WriteMode::Back | array::WriteMode::Only => Mode::Back,
            array::WriteMode::Through | array::WriteMode::Around => Mode::Through,
        },
        share_percent: percent(tier.share_max),
    };
    Sets::new(recipe, disks)
        .map_err(|source| PlantError::TierSet { tier: tier.name.clone(), source })
}

fn policy(array: &array::Array, tier: &array::Tier) -> Result<PolicyKind, PlantError> {
    tier.policy.parse().map_err(|_| unknown(array, "policy", &tier.policy))
}

fn admission(tier: &array::Tier) -> Admission {
    match tier.admit_on {
        1 => Admission::Always,
        accesses => Admission::NthAccess { accesses, fill_percent: percent(tier.admit_all_below) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_domains_are_numbered_by_name() {
        let text = r#"
            name = "test"
            title = "test"
            source = "our choice"
            [hosts]
            count = 3
            cores = 1
            [[tier]]
            name = "near"
            at = "host"
            size = "1GiB"
            disk = "memory"
            replicas = 1
            domains = ["rack-2", "rack-1", "rack-2"]
            [[pool]]
            name = "lun"
            disk = "hdd-10k"
            count = 4
        "#;
        let array = spec::load_array("test.toml", text).expect("a valid array");
        let tier = paged(&array, &array.tiers[0], 3, &[]).expect("a valid tier");
        assert_eq!(tier.config().domains, [1, 0, 1]);
    }
}
