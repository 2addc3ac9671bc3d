//! Finds other work that disturbed a measurement.
//!
//! It sums the seconds of a window, and compares the sums with bounds of our choice, each with its
//! reason.
//!
//! It must not blame work that the storage itself needs. A server of the measured storage on this
//! host (a Ceph daemon, a FUSE file system) works while the load runs and rests when the load
//! rests, so every suspect is sampled again in a moment without load. Bytes of the device beyond
//! our own are checked in the same way (a resync, a scrub, a process that only root may see).
//! Activity below the device, in a member of a RAID or another partition, is not visible there.
//!
//! Waiting for storage (PSI) is stored but decides nothing, because it names neither the process
//! nor the disk.

use std::collections::BTreeMap;

use run_store::gauge::{Gauge, GaugeName, GaugeSource, Readings};
use run_store::run::Disturbance;
use units::Nanos;

use crate::{HostSecond, HostWatch};

/// Maximum share of all processors for other work. On two cores, a tenth of all is a fifth of one
/// core, which delays a generator's thread in at most one of ten wake-ups.
pub const CPU_OF_OTHERS_MAX: f64 = 0.10;
/// Maximum share of all processors taken by the hypervisor: the same bound as in `doctor`.
pub const STEAL_MAX: f64 = 0.01;
/// Maximum share of other work in the transferred bytes.
pub const BYTES_OF_OTHERS_MAX: f64 = 0.05;
/// Maximum share of the time during which some task waits for memory: the bound of `doctor` for
/// storage.
pub const MEMORY_PRESSURE_MAX: f64 = 0.05;
/// Maximum pause of the generator, as a share of the window. Every user waits for the end of a
/// pause, so this is the share of response times that a pause affects. Our choice: a fifth of the 5
/// % of response times above a p95.
pub const PAUSE_SHARE_MAX: f64 = 0.01;
/// Rate below which other work is ignored, such as a log file, in bytes per second.
const BYTES_A_SECOND_MIN: f64 = 1e6;

/// Sums over the seconds of a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WindowSums {
    seconds: f64,
    /// Available CPU seconds.
    cpu_seconds: f64,
    steal: f64,
    throttled: u64,
    cpu_of_others: BTreeMap<String, f64>,
    bytes_of_others: BTreeMap<String, f64>,
    /// Bytes transferred by servers that this process started for the load.
    bytes_of_children: f64,
    waited_for_memory: f64,
    /// Longest pause, in seconds.
    paused: f64,
    /// Device under test, with the bytes that all processes transferred.
    device: Option<(String, f64)>,
}

impl WindowSums {
    /// Sums these seconds; `device` is the name of the device under test.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a window are far below 2^53")]
    pub fn of(seconds: &[HostSecond], device: &str) -> Self {
        let mut sum = Self::default();
        for second in seconds {
            let width = second.width.as_secs_f64();
            sum.seconds += width;
            sum.cpu_seconds += width * f64::from(second.cores.max(1));
            sum.steal += second.steal.as_secs_f64();
            sum.throttled += second.throttled.unwrap_or(0);
            for (name, cpu) in &second.cpu_of_others {
                *sum.cpu_of_others.entry(name.clone()).or_default() += cpu.as_secs_f64();
            }
            sum.bytes_of_children += second.bytes_of_children as f64;
            for (name, bytes) in &second.bytes_of_others {
                *sum.bytes_of_others.entry(name.clone()).or_default() += *bytes as f64;
            }
            sum.paused = sum.paused.max(second.paused.as_secs_f64());
            if let Some([memory, _]) = second.pressure {
                sum.waited_for_memory += memory.as_secs_f64();
            }
            if let Some((_, _, bytes)) = second.disk {
                sum.device.get_or_insert_with(|| (device.to_owned(), 0.0)).1 += bytes as f64;
            }
        }
        sum
    }

    fn cpu_share(&self) -> f64 {
        self.cpu_of_others.values().sum::<f64>() / self.cpu_seconds.max(f64::MIN_POSITIVE)
    }

    /// Returns the disturbances, if our own load transferred `own_bytes` in this time.
    pub fn disturbances(&self, own_bytes: f64) -> Vec<Disturbance> {
        if self.seconds <= 0.0 {
            return Vec::new();
        }
        let own_bytes = own_bytes + self.bytes_of_children;
        let of = |gauge, by: &str, value, limit| {
            (value > limit).then(|| Disturbance { gauge, by: by.to_owned(), value, limit })
        };
        let steal = self.steal / self.cpu_seconds.max(f64::MIN_POSITIVE);
        #[expect(clippy::cast_precision_loss, reason = "a few events")]
        let throttled = self.throttled as f64;
        let paused = self.paused / self.seconds;
        let mut found = vec![
            of(GaugeName::Paused, "stopped, or not scheduled", paused, PAUSE_SHARE_MAX),
            of(
                GaugeName::CpuOthers,
                &largest(&self.cpu_of_others),
                self.cpu_share(),
                CPU_OF_OTHERS_MAX,
            ),
            of(GaugeName::CpuSteal, "the hypervisor's other guests", steal, STEAL_MAX),
            of(GaugeName::Throttled, "heat", throttled, 0.0),
            of(
                GaugeName::PressureMemory,
                "this host is short of memory",
                self.waiting_for_memory(),
                MEMORY_PRESSURE_MAX,
            ),
        ];
        let others: f64 = self.bytes_of_others.values().sum();
        let share = |others: f64| others / (others + own_bytes).max(f64::MIN_POSITIVE);
        if others > self.negligible() && share(others) > BYTES_OF_OTHERS_MAX {
            let by = largest(&self.bytes_of_others);
            found.push(of(GaugeName::IoOthers, &by, share(others), BYTES_OF_OTHERS_MAX));
        } else if let Some((name, bytes)) = &self.device {
            let beyond = bytes - others - own_bytes;
            if beyond > self.negligible() {
                let limit = BYTES_OF_OTHERS_MAX;
                found.push(of(GaugeName::DeviceBytes, name, share(beyond), limit));
            }
        }
        found.into_iter().flatten().collect()
    }

    fn waiting_for_memory(&self) -> f64 {
        self.waited_for_memory / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// Returns the number of bytes that is too small to matter in this window.
    fn negligible(&self) -> f64 {
        BYTES_A_SECOND_MIN * self.seconds
    }

    /// Keeps the disturbances of `found` that continue in this time without load. A process that
    /// rests together with the load worked for the load. So did the file system or RAID whose extra
    /// writes stop. `load` is the time in which the disturbances were found.
    pub fn confirms(&self, found: Vec<Disturbance>, load: &Self) -> Vec<Disturbance> {
        let a_second = |bytes: f64, of: &Self| bytes / of.seconds.max(f64::MIN_POSITIVE);
        let goes_on = |disturbance: &Disturbance| match disturbance.gauge {
            GaugeName::CpuOthers => self.cpu_share() > CPU_OF_OTHERS_MAX / 2.0,
            GaugeName::PressureMemory => self.waiting_for_memory() > MEMORY_PRESSURE_MAX / 2.0,
            GaugeName::IoOthers => self.bytes_of_others.values().sum::<f64>() > self.negligible(),
            GaugeName::DeviceBytes => {
                let all = |of: &Self| of.device.as_ref().map_or(0.0, |(_, all)| a_second(*all, of));
                all(self) > BYTES_A_SECOND_MIN.max(BYTES_OF_OTHERS_MAX * all(load))
            }
            _ => true,
        };
        found.into_iter().filter(goes_on).collect()
    }
}

/// Removes inferred disturbances. Extra bytes of a device may belong to our own I/O (a journal, an
/// inode with each flush), and only a time without load can decide that.
pub fn seen(mut found: Vec<Disturbance>) -> Vec<Disturbance> {
    found.retain(|disturbance| disturbance.gauge != GaugeName::DeviceBytes);
    found
}

fn largest(by_name: &BTreeMap<String, f64>) -> String {
    let largest = by_name.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    largest.map_or_else(|| "another process".to_owned(), |(name, _)| name.clone())
}

/// Returns the gauges of one second.
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
        host(GaugeName::Paused, second.paused.as_secs_f64()),
    ];
    if !second.hides_bytes {
        all.push(host(GaugeName::IoOthers, rate(second.bytes_of_others.values().sum())));
    }
    if let Some(times) = second.throttled {
        #[expect(clippy::cast_precision_loss, reason = "a few events")]
        all.push(host(GaugeName::Throttled, times as f64));
    }
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

impl GaugeSource for HostWatch {
    /// Samples the host, if a sample is due.
    fn read(&mut self) -> Readings {
        let device = self.device().to_owned();
        let seen = self.look_if_due().map(|second| gauges(second, &device));
        Readings { gauges: seen.unwrap_or_default(), ..Readings::default() }
    }
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
        let found = WindowSums::of(&busy, "").disturbances(1e9);
        let [one] = found.as_slice() else { panic!("one disturbance: {found:?}") };
        assert_eq!((one.gauge, one.by.as_str()), (GaugeName::CpuOthers, "cc1plus"));
        assert!((one.value - 0.41).abs() < 1e-9);
        assert_eq!(
            WindowSums::of(&vec![second(&[("cron", 50)], &[]); 4], "").disturbances(1e9),
            []
        );
    }

    #[test]
    fn a_writer_is_a_disturbance_by_its_share_of_the_bytes() {
        let seen = WindowSums::of(&vec![second(&[], &[("dd", 100_000_000)]); 2], "");
        assert_eq!(seen.disturbances(1e8)[0].by, "dd");
        assert_eq!(seen.disturbances(1e11), [], "one part in five hundred is none");
        let log = WindowSums::of(&vec![second(&[], &[("journald", 9000)]); 2], "");
        assert_eq!(log.disturbances(0.0), [], "a log file is none");
    }

    #[test]
    fn storage_server_idle_without_load_is_not_blamed() {
        let load =
            WindowSums::of(&vec![second(&[("ceph-osd", 900)], &[("ceph-osd", 90_000_000)]); 4], "");
        let found = load.disturbances(9e7);
        assert_eq!(found.len(), 2);
        let rest = |cpu| WindowSums::of(&[second(&[cpu], &[])], "");
        assert_eq!(rest(("ceph-osd", 10)).confirms(found.clone(), &load), []);
        assert_eq!(rest(("cc1", 900)).confirms(found, &load).len(), 1);
    }

    fn moved(bytes: u64) -> HostSecond {
        HostSecond { disk: Some((Nanos::ZERO, Nanos::ZERO, bytes)), ..second(&[], &[]) }
    }

    /// Regression: bytes that a device transferred for others were read but never compared (seen on
    /// 57cdf73).
    #[test]
    fn unexplained_device_bytes_are_a_disturbance_if_they_persist() {
        let load = WindowSums::of(&vec![moved(100_000_000); 4], "md0");
        let found = load.disturbances(200e6);
        let [one] = found.as_slice() else { panic!("one disturbance: {found:?}") };
        assert_eq!((one.gauge, one.by.as_str(), one.value), (GaugeName::DeviceBytes, "md0", 0.5));
        let rest = |bytes| WindowSums::of(&[moved(bytes)], "md0");
        assert_eq!(rest(50_000_000).confirms(found.clone(), &load), found);
        assert_eq!(rest(2_000_000).confirms(found, &load), [], "a journal that rests with us");
        assert_eq!(load.disturbances(399e6), [], "all of it is ours");
    }

    /// Regression: a passing tile on a quiet disk was marked because "46 % of the bytes of vda were
    /// not this run's". The bytes were inodes written by its own flushes.
    #[test]
    fn bytes_of_a_device_that_no_rest_confirmed_are_not_told() {
        let load = WindowSums::of(&vec![moved(20_000_000); 4], "vda").disturbances(40e6);
        assert_eq!(load.len(), 1);
        assert_eq!(seen(load), []);
    }

    /// The engine subtracts the time in which the storage blocked a worker. A pause within that
    /// time is noticed by the thread that waits for slices.
    #[test]
    fn paused_program_is_a_disturbance_despite_its_workers() {
        let stood = |ms| HostSecond { paused: Nanos::from_millis(ms), ..second(&[], &[]) };
        let of =
            |ms| WindowSums::of(&[stood(3), stood(ms), stood(1), stood(0)], "").disturbances(1e9);
        let found = of(2000);
        assert_eq!(found.first().map(|one| (one.gauge, one.value)), Some((GaugeName::Paused, 0.5)));
        assert_eq!(of(30), []);
        let mut watch = HostWatch::default();
        watch.look().expect("proc");
        watch.waited(Nanos::from_millis(100), Nanos::from_millis(99));
        watch.waited(Nanos::from_millis(100), Nanos::from_secs(3));
        watch.look().expect("proc");
        assert_eq!(watch.seconds()[0].paused, Nanos::from_millis(2900));
    }

    #[test]
    fn what_could_not_be_read_is_no_zero() {
        let has = |second: &HostSecond, name| {
            gauges(second, "sda").iter().any(|gauge| gauge.name == name)
        };
        let hidden = |hides_bytes| HostSecond { hides_bytes, ..second(&[], &[]) };
        let bytes = |hides| has(&hidden(hides), GaugeName::IoOthers);
        assert_eq!((bytes(false), bytes(true)), (true, false));
        let hot = |throttled| HostSecond { throttled, ..second(&[], &[]) };
        let heat = |throttled| has(&hot(throttled), GaugeName::Throttled);
        assert_eq!((heat(Some(0)), heat(None)), (true, false));
        assert!(!has(&second(&[], &[]), GaugeName::PressureIo));
    }

    #[test]
    fn a_machine_short_of_memory_is_a_disturbance_while_it_lasts() {
        let short = |ms| {
            let pressure = Some([Nanos::from_millis(ms), Nanos::ZERO]);
            WindowSums::of(&[HostSecond { pressure, ..second(&[], &[]) }], "")
        };
        let found = short(300).disturbances(1e9);
        assert_eq!(found.first().map(|one| one.gauge), Some(GaugeName::PressureMemory));
        assert_eq!(short(200).confirms(found.clone(), &short(300)), found);
        assert_eq!(short(0).confirms(found, &short(300)), []);
    }
}
