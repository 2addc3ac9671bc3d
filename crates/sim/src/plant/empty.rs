use cache::cluster::{Cluster, ClusterConfig, ClusterVm, ClusterWrites, HostId};
use cache::tier::{Admission, Config, Population, VmId, VmLimits, WriteMode};
use cache::{PolicyKind, Tier};
use spec::array;
use units::{Bytes, Ratio};

use super::disks::unknown;
use super::plan::PlantError;

/// A ratio in whole percent, 0 to 100.
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

/// An empty tier; `last` is the largest number of a virtual machine.
pub fn tier_state(
    array: &array::Array,
    tier: &array::Tier,
    last: Option<u16>,
) -> Result<Tier, PlantError> {
    let name = &tier.policy;
    let policy: PolicyKind = name.parse().map_err(|_| unknown(array, "policy", &tier.policy))?;
    let admission = match tier.admit_on {
        1 => Admission::Always,
        accesses => Admission::NthAccess { accesses, fill_percent: percent(tier.admit_all_below) },
    };
    let config = Config {
        capacity_bytes: tier.size.get(),
        page_bytes: u32::try_from(tier.page.get()).unwrap_or(u32::MAX),
        policy,
        write_mode: match tier.write {
            array::WriteMode::Through => WriteMode::Through,
            array::WriteMode::Back => WriteMode::Back,
            array::WriteMode::Around => WriteMode::Around,
            array::WriteMode::Only => WriteMode::Only,
        },
        admission,
        sequential_bytes: tier.sequential_cutoff.map(Bytes::get),
        dirty_high_percent: percent(tier.dirty_high),
        dirty_low_percent: percent(tier.dirty_low),
    };
    let mut state =
        Tier::new(config).map_err(|source| PlantError::Tier { tier: tier.name.clone(), source })?;
    let share_max_percent = percent(tier.share_max);
    if let Some(last) = last.filter(|_| share_max_percent < 100) {
        let limits = VmLimits { share_max_percent, ..VmLimits::default() };
        (0..=last).for_each(|vm| state.limit(VmId(vm), limits));
    }
    Ok(state)
}

/// An empty cluster with its virtual machines; `hosts` are their number and the homes.
///
/// Room for copies is what watermarks let become dirty, once for each copy: when it is full,
/// writes go through.
pub fn cluster_state(
    array: &array::Array,
    tier: &array::Tier,
    (hosts, homes): (usize, &[HostId]),
) -> Result<Cluster, PlantError> {
    let unsupported = |what| PlantError::Unsupported { tier: tier.name.clone(), what };
    if tier.admit_on > 1 {
        return Err(unsupported("admit-on above 1"));
    }
    if percent(tier.share_max) < 100 {
        return Err(unsupported("share-max below 100 %"));
    }
    let replicas = u8::try_from(tier.replicas).unwrap_or(u8::MAX);
    let policy = tier.policy.parse().map_err(|_| unknown(array, "policy", &tier.policy))?;
    let log_percent = percent(tier.dirty_high).saturating_mul(replicas).saturating_add(1).min(90);
    let config = ClusterConfig {
        shares_bytes: vec![tier.size.get(); hosts],
        log_percent,
        page_bytes: u32::try_from(tier.page.get()).unwrap_or(u32::MAX),
        policy,
        sequential_bytes: tier.sequential_cutoff.map(Bytes::get),
    };
    let refused = |source| PlantError::Cluster { tier: tier.name.clone(), source };
    let mut cluster = Cluster::new(config).map_err(refused)?;
    let (writes, population) = match tier.write {
        array::WriteMode::Through => (ClusterWrites::Through, Population::Both),
        array::WriteMode::Around => (ClusterWrites::Through, Population::ReadsOnly),
        array::WriteMode::Back => (ClusterWrites::Back { replicas }, Population::Both),
        array::WriteMode::Only => (ClusterWrites::Back { replicas }, Population::WritesOnly),
    };
    for (vm, host) in (0..).zip(homes) {
        let settings = ClusterVm { host: *host, writes, population };
        cluster.set(VmId(vm), settings).map_err(refused)?;
    }
    Ok(cluster)
}
