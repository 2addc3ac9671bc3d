use spec::ResolvedTile;
use spec::workload::Workload;
use units::Nanos;

/// Returns the distinct workloads of a tile, in the tile's order.
pub fn workloads_of(tile: &ResolvedTile) -> impl Iterator<Item = &Workload> {
    tile.workloads.iter().map(|(workload, _)| workload)
}

/// Returns the measurement time, rounded up to a whole number of every burst period. With half a
/// burst more, the load would be higher, and not the storage slower.
///
/// Periods longer than twice the requested time are ignored, because they would turn minutes into
/// hours. For several periods, the least common multiple is used if it is at most twice the
/// requested time, and otherwise only the longest period.
pub fn whole_periods<'a>(
    asked: Nanos,
    time_scale: f64,
    workloads: impl Iterator<Item = &'a Workload>,
) -> Nanos {
    let mut periods: Vec<u64> = workloads
        .flat_map(periods_of)
        .map(|period| period.scale(time_scale).0)
        .filter(|period| *period > 0)
        .collect();
    periods.sort_unstable();
    periods.dedup();
    // A longer time may bring a longer period into range, so this repeats until nothing changes.
    // The result must round to itself, or a resolved plan would not run the same again.
    let mut time = asked;
    loop {
        let rounded = round_up(time, &periods);
        if rounded == time {
            return time;
        }
        time = rounded;
    }
}

fn round_up(asked: Nanos, periods: &[u64]) -> Nanos {
    let most = asked.0.saturating_mul(2);
    let periods = &periods[..periods.partition_point(|period| *period <= most)];
    let Some(longest) = periods.last().copied() else { return asked };
    let common = periods.iter().copied().try_fold(1, least_common_multiple);
    let unit = common.filter(|common| *common <= most).unwrap_or(longest);
    Nanos(asked.0.div_ceil(unit).saturating_mul(unit))
}

/// Returns the longest burst period up to `most`, scaled; zero if there is none.
pub(crate) fn longest_period<'a>(
    most: Nanos,
    time_scale: f64,
    workloads: impl Iterator<Item = &'a Workload>,
) -> Nanos {
    workloads
        .flat_map(periods_of)
        .map(|period| period.scale(time_scale))
        .filter(|period| *period <= most)
        .max()
        .unwrap_or(Nanos::ZERO)
}

fn periods_of(workload: &Workload) -> impl Iterator<Item = Nanos> {
    workload.groups.iter().flat_map(|group| {
        let phases = group.phases.iter().map(|phase| &phase.schedule);
        group.schedule.iter().chain(phases).filter_map(|schedule| schedule.every)
    })
}

fn least_common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}
