use hardware::Variation;
use units::Ratio;

use super::disk::time;
use super::measure::Measured;

/// Minimum latency of a stall, in medians of its loop; shorter latencies are paces. Our choice, at
/// the knee of the distributions of depth 1 on several computers.
const PACE_MAX: f64 = 2.0;

/// Number of entries of the tables. With 33, the last one holds the slowest 3 %.
const PACES: u32 = 33;
const STALLS: u32 = 65;

/// Computes the variation of a disk, from loops of one user, which have no queueing.
///
/// Paces are latencies up to twice their loop's median, as multiples of the median. Longer
/// latencies are stalls, whose duration is the excess over the median. Their rate is taken from the
/// smallest blocks, because their short median hides the fewest stalls.
pub fn variation(points: &[Measured]) -> Variation {
    let alone = || points.iter().filter(|m| m.point.is_training && m.point.depth == 1);
    let smallest = alone().map(|m| m.point.block).min();
    let (mut paces, mut stalls, mut seconds) = (Vec::new(), Vec::new(), 0.0);
    for measured in alone() {
        for direction in measured.fitted().directions() {
            let Some(median) = direction.percentile(Ratio::new(0.5)) else { continue };
            let limit = median.scale(PACE_MAX);
            let whole = f64::from(u32::try_from(direction.count()).unwrap_or(u32::MAX));
            for (value, count) in direction.buckets() {
                let count = f64::from(count);
                if value <= limit {
                    paces.push((value.as_secs_f64() / median.as_secs_f64(), count / whole));
                } else if Some(measured.point.block) == smallest {
                    stalls.push((value.saturating_sub(median).as_secs_f64(), count));
                }
            }
        }
        if Some(measured.point.block) == smallest {
            seconds += measured.fitted().seconds;
        }
    }
    let stalled: f64 = stalls.iter().map(|(length, count)| length * count).sum();
    let count: f64 = stalls.iter().map(|(_, count)| count).sum();
    let left = seconds - stalled;
    Variation {
        every: Variation::default().every,
        pace: table(&mut paces, PACES).into_iter().map(rounded).collect(),
        stalls_per_s: if left > 0.0 { rounded(count / left) } else { 0.0 },
        stalls: table(&mut stalls, STALLS).into_iter().map(time).collect(),
    }
}

/// Returns quantiles of weighted values at equal distances; empty without values.
fn table(values: &mut [(f64, f64)], entries: u32) -> Vec<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let whole: f64 = values.iter().map(|(_, weight)| weight).sum();
    let at = |entry: u32| {
        let wanted = whole * f64::from(entry) / f64::from(entries - 1);
        let mut seen = 0.0;
        let reached = values.iter().find(|(_, weight)| {
            seen += weight;
            seen >= wanted * (1.0 - 1e-9)
        });
        reached.or(values.last()).map(|(value, _)| *value)
    };
    (0..entries).filter_map(at).collect()
}

/// Rounds to four digits, which exceed the precision of a measurement and are short in a file.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
