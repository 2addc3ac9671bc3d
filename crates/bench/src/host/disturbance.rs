//! Whether somebody else's work was in the way of a measurement, and whose.
//!
//! What it does: sums what was seen in the seconds of a window, and compares it with bounds of
//! our choice, each with its reason.
//!
//! What it refuses: blaming what the storage itself needs. A server that answers our I/O on
//! this machine (a Ceph daemon, a FUSE file system) works while the load runs and rests when it
//! rests: whoever is to be blamed is looked at again in a moment without load.

use std::collections::BTreeMap;

use record::gauge::{Gauge, GaugeName};
use record::run::Disturbance;
use units::Nanos;

use super::HostSecond;

/// Share of all processors that others may use. A tenth: of two cores a fifth of one, which
/// delays a generator's thread in one of ten wake-ups at most.
pub const CPU_OF_OTHERS_MAX: f64 = 0.10;
/// Share of all processors that the hypervisor may take: the bound that `doctor` has.
pub const STEAL_MAX: f64 = 0.01;
/// Share of the bytes moved that may be others', and what is too little to matter.
pub const BYTES_OF_OTHERS_MAX: f64 = 0.05;
/// A megabyte a second is a log file, not a neighbour.
const BYTES_A_SECOND_MIN: f64 = 1e6;

/// What a window's seconds came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    seconds: f64,
    /// CPU seconds there were.
    cpu_seconds: f64,
    steal: f64,
    throttled: u64,
    cpu_of_others: BTreeMap<String, f64>,
    bytes_of_others: BTreeMap<String, f64>,
    device_bytes: Option<f64>,
}

impl Seen {
    /// The sum of these seconds.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a window are far below 2^53")]
    pub fn of(seconds: &[HostSecond]) -> Self {
        let mut sum = Self::default();
        for second in seconds {
            let width = second.width.as_secs_f64();
            sum.seconds += width;
            sum.cpu_seconds += width * f64::from(second.cores.max(1));
            sum.steal += second.steal.as_secs_f64();
            sum.throttled += second.throttled;
            for (name, cpu) in &second.cpu_of_others {
                *sum.cpu_of_others.entry(name.clone()).or_default() += cpu.as_secs_f64();
            }
            for (name, bytes) in &second.bytes_of_others {
                *sum.bytes_of_others.entry(name.clone()).or_default() += *bytes as f64;
            }
            if let Some((_, _, bytes)) = second.disk {
                *sum.device_bytes.get_or_insert(0.0) += bytes as f64;
            }
        }
        sum
    }

    fn cpu_share(&self) -> f64 {
        self.cpu_of_others.values().sum::<f64>() / self.cpu_seconds.max(f64::MIN_POSITIVE)
    }

    fn bytes_a_second(&self) -> f64 {
        self.bytes_of_others.values().sum::<f64>() / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// What was in the way, if `own_bytes` of ours were moved in this time.
    pub fn disturbances(&self, own_bytes: f64) -> Vec<Disturbance> {
        if self.seconds <= 0.0 {
            return Vec::new();
        }
        let mut found = Vec::new();
        let cpu = self.cpu_share();
        if cpu > CPU_OF_OTHERS_MAX {
            found.push(Disturbance {
                gauge: GaugeName::CpuOthers,
                by: largest(&self.cpu_of_others),
                value: cpu,
                limit: CPU_OF_OTHERS_MAX,
            });
        }
        let steal = self.steal / self.cpu_seconds.max(f64::MIN_POSITIVE);
        if steal > STEAL_MAX {
            let by = "the hypervisor's other guests".to_owned();
            found.push(Disturbance {
                gauge: GaugeName::CpuSteal,
                by,
                value: steal,
                limit: STEAL_MAX,
            });
        }
        if self.throttled > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a few events")]
            let value = self.throttled as f64;
            let by = "heat".to_owned();
            found.push(Disturbance { gauge: GaugeName::Throttled, by, value, limit: 0.0 });
        }
        let others: f64 = self.bytes_of_others.values().sum();
        let share = others / (others + own_bytes).max(f64::MIN_POSITIVE);
        if self.bytes_a_second() > BYTES_A_SECOND_MIN && share > BYTES_OF_OTHERS_MAX {
            found.push(Disturbance {
                gauge: GaugeName::IoOthers,
                by: largest(&self.bytes_of_others),
                value: share,
                limit: BYTES_OF_OTHERS_MAX,
            });
        }
        found
    }

    /// Those of `found` that go on in this time, in which nothing was asked of the storage: a
    /// process that rests with the load worked for it.
    pub fn confirms(&self, found: Vec<Disturbance>) -> Vec<Disturbance> {
        let goes_on = |disturbance: &Disturbance| match disturbance.gauge {
            GaugeName::CpuOthers => self.cpu_share() > CPU_OF_OTHERS_MAX / 2.0,
            GaugeName::IoOthers => self.bytes_a_second() > BYTES_A_SECOND_MIN,
            _ => true,
        };
        found.into_iter().filter(goes_on).collect()
    }
}

fn largest(by_name: &BTreeMap<String, f64>) -> String {
    let largest = by_name.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    largest.map_or_else(|| "another process".to_owned(), |(name, _)| name.clone())
}

/// The gauges of one second.
pub fn gauges(second: &HostSecond, device: &str) -> Vec<Gauge> {
    let width = second.width.as_secs_f64().max(f64::MIN_POSITIVE);
    let cores = f64::from(second.cores.max(1));
    let share = |time: Nanos| time.as_secs_f64() / width;
    let host = Gauge::of_host;
    #[expect(clippy::cast_precision_loss, reason = "bytes of a second are far below 2^53")]
    let rate = |bytes: u64| bytes as f64 / width;
    let others =
        second.cpu_of_others.values().fold(Nanos::ZERO, |sum, cpu| sum.saturating_add(*cpu));
    let mut all = vec![
        host(GaugeName::CpuOwn, share(second.own) / cores),
        host(GaugeName::CpuOthers, share(others) / cores),
        host(GaugeName::CpuSteal, share(second.steal) / cores),
        host(GaugeName::CpuWaiting, share(second.ready)),
        host(GaugeName::IoOthers, rate(second.bytes_of_others.values().sum())),
    ];
    if let Some([memory, io]) = second.pressure {
        all.push(host(GaugeName::PressureMemory, share(memory)));
        all.push(host(GaugeName::PressureIo, share(io)));
    }
    if let Some((busy, queued, bytes)) = second.disk {
        let of = |name, value| Gauge { name, scope: device.to_owned(), value };
        all.push(of(GaugeName::DeviceBusy, share(busy).min(1.0)));
        all.push(of(GaugeName::DeviceQueue, share(queued)));
        all.push(of(GaugeName::DeviceBytes, rate(bytes)));
    }
    all
}

/// Means of the gauges of these seconds, each over the time in which it was read.
pub fn means(seconds: &[HostSecond], device: &str) -> Vec<Gauge> {
    let mut sums: Vec<(Gauge, f64)> = Vec::new();
    for second in seconds {
        let width = second.width.as_secs_f64();
        for gauge in gauges(second, device) {
            let known = sums
                .iter_mut()
                .find(|(sum, _)| (sum.name, &sum.scope) == (gauge.name, &gauge.scope));
            match known {
                Some((sum, time)) => {
                    sum.value += gauge.value * width;
                    *time += width;
                }
                None => sums.push((Gauge { value: gauge.value * width, ..gauge }, width)),
            }
        }
    }
    let mean =
        |(sum, time): (Gauge, f64)| Gauge { value: sum.value / time.max(f64::MIN_POSITIVE), ..sum };
    sums.into_iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(cpu: &[(&str, u64)], bytes: &[(&str, u64)]) -> HostSecond {
        HostSecond {
            width: Nanos::SECOND,
            cores: 2,
            cpu_of_others: cpu
                .iter()
                .map(|(name, ms)| ((*name).to_owned(), Nanos::from_millis(*ms)))
                .collect(),
            bytes_of_others: bytes
                .iter()
                .map(|(name, bytes)| ((*name).to_owned(), *bytes))
                .collect(),
            ..HostSecond::default()
        }
    }

    #[test]
    fn a_compiler_beside_the_run_is_named_with_its_share() {
        let busy = vec![second(&[("cc1plus", 800), ("make", 20)], &[]); 4];
        let found = Seen::of(&busy).disturbances(1e9);
        let [one] = found.as_slice() else { panic!("one disturbance: {found:?}") };
        assert_eq!((one.gauge, one.by.as_str()), (GaugeName::CpuOthers, "cc1plus"));
        assert!((one.value - 0.41).abs() < 1e-9);
        assert_eq!(Seen::of(&vec![second(&[("cron", 50)], &[]); 4]).disturbances(1e9), []);
    }

    #[test]
    fn means_weigh_each_look_with_the_time_it_covers() {
        let disk = |ms, width| HostSecond {
            width,
            disk: Some((Nanos::from_millis(ms), Nanos::from_millis(10 * ms), 0)),
            ..second(&[], &[])
        };
        let seconds = [disk(1000, Nanos::SECOND), disk(0, Nanos::from_secs(3)), second(&[], &[])];
        let of = |name| means(&seconds, "sda").into_iter().find(|gauge| gauge.name == name);
        let busy = of(GaugeName::DeviceBusy).expect("it was read");
        assert_eq!((busy.scope.as_str(), busy.value), ("sda", 0.25));
        assert_eq!(of(GaugeName::DeviceQueue).map(|gauge| gauge.value), Some(2.5));
        assert_eq!(of(GaugeName::PressureIo), None, "what was not read has no mean");
    }

    #[test]
    fn a_writer_is_a_disturbance_by_its_share_of_the_bytes() {
        let seen = Seen::of(&vec![second(&[], &[("dd", 100_000_000)]); 2]);
        assert_eq!(seen.disturbances(1e8)[0].by, "dd");
        assert_eq!(seen.disturbances(1e11), [], "one part in five hundred is none");
        let log = Seen::of(&vec![second(&[], &[("journald", 9000)]); 2]);
        assert_eq!(log.disturbances(0.0), [], "a log file is none");
    }

    #[test]
    fn a_server_of_the_storage_that_rests_with_the_load_is_not_blamed() {
        let load = Seen::of(&vec![second(&[("ceph-osd", 900)], &[("ceph-osd", 90_000_000)]); 4]);
        let found = load.disturbances(9e7);
        assert_eq!(found.len(), 2);
        assert_eq!(Seen::of(&[second(&[("ceph-osd", 10)], &[])]).confirms(found.clone()), []);
        assert_eq!(Seen::of(&[second(&[("cc1", 900)], &[])]).confirms(found).len(), 1);
    }
}
