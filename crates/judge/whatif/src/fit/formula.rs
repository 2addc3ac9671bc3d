use run_store::run::{IoTotal, Step};
use run_store::slice::Direction;
use units::Nanos;

use crate::measured::is_finished;

/// Storage figures at one tile count: reads and writes together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Number of tiles.
    pub tiles: u32,
    /// I/Os per second.
    pub rate: f64,
    /// Bytes per second.
    pub bytes: f64,
    /// Share of reads in the I/Os.
    pub reads: f64,
    /// Mean latency, in seconds.
    pub latency: f64,
    /// Mean latency of reads, in seconds.
    pub read: Option<f64>,
    /// Mean latency of writes, in seconds.
    pub write: Option<f64>,
}

/// Hypothesis that the storage consists of equal servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Servers {
    /// Number of servers.
    pub count: u32,
    /// Service time of an I/O, in seconds.
    pub service: f64,
    /// Latency outside the servers, in seconds.
    pub outside: f64,
}

/// Maximum number of servers that is tried: more than the queue depth or the dies of a disk.
pub const SERVERS_MAX: u32 = 256;
/// Number of service times that are tried, as shares of the least latency.
const SHARES: u32 = 200;
/// Penalty for each difference from the simplest model, which has all service time on one server.
/// It is far below the cost of a tenth of misfit, so that it decides only between equals.
const PLAINNESS: f64 = 1e-5;

/// Returns the means over the repeats of each tile count, in ascending order of tiles.
pub fn loads(steps: &[Step]) -> Vec<Load> {
    let mut tiles: Vec<u32> = steps.iter().map(|step| step.tiles).collect();
    tiles.sort_unstable();
    tiles.dedup();
    tiles.into_iter().filter_map(|tiles| load(steps, tiles)).collect()
}

fn load(steps: &[Step], tiles: u32) -> Option<Load> {
    let steps: Vec<&Step> =
        steps.iter().filter(|step| step.tiles == tiles && is_finished(step)).collect();
    let direction = |direction| -> (f64, f64) {
        let of = steps.iter().flat_map(|step| &step.io).filter(|io| io.direction == direction);
        of.fold((0.0, 0.0), |(rate, busy), io| {
            (rate + io.operations_per_s, busy + io.operations_per_s * mean(io).unwrap_or(0.0))
        })
    };
    let (reads, writes) = (direction(Direction::Read), direction(Direction::Write));
    let count = f64::from(u32::try_from(steps.len()).unwrap_or(u32::MAX));
    let (rate, busy) = (reads.0 + writes.0, reads.1 + writes.1);
    let average = |(rate, busy): (f64, f64)| (rate > 0.0).then(|| busy / rate);
    (rate > 0.0 && busy > 0.0).then(|| Load {
        tiles,
        rate: rate / count,
        bytes: steps.iter().flat_map(|step| &step.io).map(|io| io.bytes_per_s).sum::<f64>() / count,
        reads: reads.0 / rate,
        latency: busy / rate,
        read: average(reads),
        write: average(writes),
    })
}

fn mean(io: &IoTotal) -> Option<f64> {
    io.service.mean_ns.map(|mean| Nanos(mean).as_secs_f64())
}

/// Finds the servers that fit the loads best.
pub fn servers(loads: &[Load]) -> Servers {
    let least = loads[0];
    // Each direction must keep some time on a server.
    let bound = [least.read, least.write].into_iter().flatten().fold(least.latency, f64::min);
    let mut best = None;
    let mut count = 1;
    while count <= SERVERS_MAX {
        for step in 1..=SHARES {
            let service = least.latency * f64::from(step) / f64::from(SHARES);
            let bare = Servers { count, service, outside: 0.0 };
            let outside = least.latency - service * (1.0 + waiting(bare, least.rate));
            let held = least.latency - service;
            if !outside.is_finite() || outside < -1e-9 * least.latency || held > bound {
                continue;
            }
            let found = Servers { outside: outside.max(0.0), ..bare };
            let cost = cost(found, loads) + plainness(found, least.latency);
            if best.is_none_or(|(known, _)| cost < known) {
                best = Some((cost, found));
            }
        }
        count = if count < 16 { count + 1 } else { count + count / 8 };
    }
    let known = best.map(|(_, found)| found);
    // No queue fits these loads: as many servers as I/Os were ever in flight.
    known.unwrap_or_else(|| {
        let inside = loads.iter().map(|load| load.rate * load.latency).fold(1.0, f64::max);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let count = inside.ceil() as u32;
        Servers { count, service: least.latency, outside: 0.0 }
    })
}

fn cost(servers: Servers, loads: &[Load]) -> f64 {
    let misfit = |load: &Load| {
        let model = servers.outside + servers.service * (1.0 + waiting(servers, load.rate));
        (model / load.latency).ln().powi(2)
    };
    loads.iter().map(misfit).sum::<f64>()
}

fn plainness(servers: Servers, latency: f64) -> f64 {
    let share = (servers.service / latency).ln().powi(2);
    PLAINNESS * (share + f64::from(servers.count).ln().powi(2))
}

/// Returns the mean waiting time of an M/M/c queue, in service times; infinite at and above
/// saturation.
pub fn waiting(servers: Servers, rate: f64) -> f64 {
    let count = f64::from(servers.count);
    let busy = rate * servers.service / count;
    if busy >= 1.0 {
        return f64::INFINITY;
    }
    busy.powf((2.0 * (count + 1.0)).sqrt() - 1.0) / (count * (1.0 - busy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(model: Servers, rate: f64) -> Load {
        let latency = model.outside + model.service * (1.0 + waiting(model, rate));
        Load { tiles: 1, rate, bytes: 0.0, reads: 1.0, latency, read: Some(latency), write: None }
    }

    #[test]
    fn fitted_servers_predict_unseen_loads() {
        let models = [
            Servers { count: 1, service: 0.004, outside: 0.0 },
            Servers { count: 8, service: 0.006, outside: 0.001 },
            Servers { count: 4, service: 0.0005, outside: 0.002 },
        ];
        for model in models {
            let full = f64::from(model.count) / model.service;
            let seen: Vec<Load> =
                [0.2, 0.5, 0.8, 0.95].map(|share| load(model, full * share)).to_vec();
            let found = servers(&seen);
            for share in [0.35, 0.7, 0.9] {
                let (rate, expected) = (full * share, load(model, full * share).latency);
                let ours = found.outside + found.service * (1.0 + waiting(found, rate));
                assert!((ours / expected - 1.0).abs() < 0.1, "{model:?} {found:?} at {share}");
            }
        }
    }

    #[test]
    fn one_load_alone_is_taken_for_service_time_and_not_for_waiting() {
        let seen = Load {
            tiles: 1,
            rate: 100.0,
            bytes: 0.0,
            reads: 1.0,
            latency: 0.004,
            read: Some(0.004),
            write: None,
        };
        let found = servers(&[seen]);
        assert!(found.service > 0.002, "{found:?}");
        assert!(waiting(found, 100.0) < 1.0, "{found:?}");
    }

    /// M/M/1 exactly: W / S = rho / (1 - rho).
    #[test]
    fn waiting_is_that_of_one_server() {
        let one = Servers { count: 1, service: 0.01, outside: 0.0 };
        assert!((waiting(one, 50.0) - 1.0).abs() < 1e-12);
        assert!(waiting(one, 100.0).is_infinite());
    }
}
