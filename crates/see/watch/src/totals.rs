use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run_store::gauge::GaugeName;
use run_store::metrics::{Family, Kind, Sample, TimeBuckets, Value};
use run_store::slice::Direction;
use units::Nanos;

use crate::{Alarm, Key, Latencies, Severity, Slice, Subject};

/// Maximum number of combinations of initiator, disk and direction with series of their own: some
/// 34,000 samples of classic histograms. Our choice. Further combinations are counted.
const SERIES_MAX: usize = 2000;
/// Number of slices without I/O after which a series ends: half an hour. VMs come and go for years.
const IDLE_SLICES: u32 = 180;
/// Number of slices without I/O after which a series makes room for an initiator without one: a
/// minute.
const IDLE_SLICES_FULL: u32 = 6;
/// Maximum number of alarms with series of their own; all alarms are counted. Our choice.
const ALARMS_MAX: usize = 200;

type Labels = Vec<(&'static str, String)>;
/// Initiator, disk, direction, and whether the disk lies below another that also shows the I/O.
type SeriesKey = (Arc<str>, Arc<str>, Direction, bool);

/// Counters since the start, for Prometheus.
#[derive(Debug, Default)]
pub struct Totals {
    host: String,
    io: BTreeMap<SeriesKey, Sum>,
    /// CPU time of each VM in the last slice.
    vms: BTreeMap<Arc<str>, Processors>,
    /// Share of the host's processors that a hypervisor below took in the last slice; `None` if it
    /// was never read.
    steal: Option<f64>,
    watched: Nanos,
    lost: u64,
    /// Number of combinations of initiator, disk and direction in the last slice that have no
    /// series.
    left_out: u64,
    /// Active alarms; `None` without rules.
    alarms: Option<ActiveAlarms>,
}

#[derive(Debug, Default)]
struct Sum {
    errors: u64,
    bytes: u64,
    /// Counts of 64 bits, unlike [`Latencies`], because 10,000 I/Os per second fill 32 bits in five
    /// days.
    times: TimeBuckets,
    idle: u32,
}

#[derive(Debug, Default)]
struct Processors {
    cpu: f64,
    ready: Option<f64>,
    idle: u32,
}

#[derive(Debug, Default)]
struct ActiveAlarms {
    by_severity: [u64; 3],
    first: Vec<Labels>,
}

impl Totals {
    /// Creates the counters of a host, starting at zero.
    pub fn new(host: &str) -> Self {
        Self { host: host.to_owned(), ..Self::default() }
    }

    /// Adds a slice.
    pub fn add(&mut self, slice: &Slice) {
        self.watched = self.watched.saturating_add(slice.watched);
        self.lost = self.lost.saturating_add(slice.lost);
        self.io.values_mut().for_each(|sum| sum.idle += 1);
        self.vms.values_mut().for_each(|vm| vm.idle += 1);
        self.io.retain(|_, sum| sum.idle <= IDLE_SLICES);
        self.vms.retain(|_, vm| vm.idle <= 1);
        self.make_room(slice);
        let mut left_out = BTreeSet::new();
        for (key, cell) in &slice.io {
            let of = series_of(key);
            if self.io.len() >= SERIES_MAX && !self.io.contains_key(&of) {
                left_out.insert(of);
                continue;
            }
            let sum = self.io.entry(of).or_default();
            sum.idle = 0;
            sum.errors = sum.errors.saturating_add(cell.errors);
            sum.bytes = sum.bytes.saturating_add(cell.bytes);
            sum.times.sum_ns = sum.times.sum_ns.saturating_add(cell.latency_ns.into());
            sum.add(&cell.latencies);
        }
        self.left_out = left_out.len() as u64;
        self.add_processors(slice);
    }

    /// If initiators have no series, ends series that are idle, beginning with the longest idle.
    /// Otherwise VMs that are gone would take the place of new ones.
    fn make_room(&mut self, slice: &Slice) {
        let keys = slice.io.keys();
        let wanted: BTreeSet<SeriesKey> =
            keys.map(series_of).filter(|of| !self.io.contains_key(of)).collect();
        let missing = (self.io.len() + wanted.len()).saturating_sub(SERIES_MAX);
        if missing == 0 {
            return;
        }
        let is_idle = |(_, sum): &(&SeriesKey, &Sum)| sum.idle > IDLE_SLICES_FULL;
        let mut idle: Vec<(u32, SeriesKey)> =
            self.io.iter().filter(is_idle).map(|(of, sum)| (sum.idle, of.clone())).collect();
        idle.sort_unstable_by(|left, right| right.cmp(left));
        idle.iter().take(missing).for_each(|(_, of)| {
            self.io.remove(of);
        });
    }

    fn add_processors(&mut self, slice: &Slice) {
        for ((name, vm), folded) in &slice.gauges {
            match name {
                GaugeName::VmCpu => {
                    let own = self.vms.entry(Arc::clone(vm)).or_default();
                    (own.idle, own.cpu) = (0, folded.value);
                }
                GaugeName::VmReady => {
                    self.vms.entry(Arc::clone(vm)).or_default().ready = Some(folded.value);
                }
                GaugeName::CpuSteal => self.steal = Some(folded.value),
                _ => {}
            }
        }
    }

    /// Sets the active alarms.
    pub fn set_alarms<'a>(&mut self, active: impl Iterator<Item = &'a Alarm>) {
        let mut alarms = ActiveAlarms::default();
        for alarm in active {
            alarms.by_severity[alarm.severity as usize] += 1;
            if alarms.first.len() < ALARMS_MAX {
                let mut labels = vec![
                    ("rule", alarm.rule.to_string()),
                    ("severity", alarm.severity.name().to_owned()),
                    ("disk", alarm.subject.disk().to_string()),
                ];
                if let Subject::Vm { vm, .. } = &alarm.subject {
                    labels.push(("vm", vm.to_string()));
                }
                alarms.first.push(labels);
            }
        }
        self.alarms = Some(alarms);
    }

    /// Returns the counters as metric families.
    pub fn families(&self) -> Vec<Family> {
        let mut families = self.io_families();
        families.extend(self.processor_families());
        families.extend(self.steal_family());
        families.extend(self.alarm_families());
        families.extend(self.watcher_families());
        families
    }

    fn io_families(&self) -> Vec<Family> {
        let family = |name, kind, unit, help, value: fn(&Sum) -> Value| {
            let sample = |((vm, disk, direction, is_below), sum): (&SeriesKey, &Sum)| {
                let layer = if *is_below { "below" } else { "top" };
                let own = [
                    ("vm", vm.to_string()),
                    ("disk", disk.to_string()),
                    ("direction", direction.name().to_owned()),
                    ("layer", layer.to_owned()),
                ];
                self.sample(own, value(sum))
            };
            Family { name, kind, unit, help, samples: self.io.iter().map(sample).collect() }
        };
        vec![
            family(
                "tilemark_watch_operation_seconds",
                Kind::Histogram,
                "seconds",
                "Latency of I/O as seen by its sender.",
                |sum| Value::Times(sum.times.clone()),
            ),
            family(
                "tilemark_watch_operation_bytes",
                Kind::Counter,
                "bytes",
                "Bytes moved.",
                |sum| Value::Count(sum.bytes),
            ),
            family(
                "tilemark_watch_operation_errors",
                Kind::Counter,
                "",
                "I/Os that failed.",
                |sum| Value::Count(sum.errors),
            ),
        ]
    }

    fn processor_families(&self) -> [Family; 2] {
        let family = |name, help, value: fn(&Processors) -> Option<f64>| {
            let samples = self.vms.iter().filter_map(|(vm, own)| {
                Some(self.sample([("vm", vm.to_string())], Value::Number(value(own)?)))
            });
            Family { name, kind: Kind::Gauge, unit: "ratio", help, samples: samples.collect() }
        };
        [
            family(
                "tilemark_watch_vm_cpu_ratio",
                "Processors that a VM used in the last slice, as a share of the host's.",
                |vm| Some(vm.cpu),
            ),
            family(
                "tilemark_watch_vm_ready_ratio",
                "Processors that a VM's threads were ready for but did not get, as a share of the \
                host's.",
                |vm| vm.ready,
            ),
        ]
    }

    /// Returns the time that the hypervisor below this host took; `None` if it is not known. A VM of
    /// a host that is itself a guest waits for both.
    fn steal_family(&self) -> Option<Family> {
        Some(Family {
            name: "tilemark_watch_steal_ratio",
            kind: Kind::Gauge,
            unit: "ratio",
            help: "Processors that the hypervisor below this host took in the last slice, as a \
                   share of the host's.",
            samples: vec![self.sample([], Value::Number(self.steal?))],
        })
    }

    fn alarm_families(&self) -> Vec<Family> {
        let Some(alarms) = &self.alarms else { return Vec::new() };
        let severities = [Severity::Info, Severity::Warning, Severity::Critical];
        let counts = severities.into_iter().zip(alarms.by_severity).map(|(severity, count)| {
            self.sample([("severity", severity.name().to_owned())], Value::Count(count))
        });
        let first = alarms.first.iter().cloned().map(|own| self.sample(own, Value::Count(1)));
        let gauge =
            |name, help, samples| Family { name, kind: Kind::Gauge, unit: "", help, samples };
        vec![
            gauge("tilemark_watch_alarms", "Alarms that are active.", counts.collect()),
            gauge(
                "tilemark_watch_alarm",
                "1 for each active alarm, at most 200 alarms.",
                first.collect(),
            ),
        ]
    }

    fn watcher_families(&self) -> [Family; 3] {
        let family = |name, kind, unit, help, value| Family {
            name,
            kind,
            unit,
            help,
            samples: vec![self.sample([], value)],
        };
        [
            family(
                "tilemark_watch_watched_seconds",
                Kind::Counter,
                "seconds",
                "Time in which this host was watched.",
                Value::Number(self.watched.as_secs_f64()),
            ),
            family(
                "tilemark_watch_lost_events",
                Kind::Counter,
                "",
                "Events lost because the kernel's buffer was full.",
                Value::Count(self.lost),
            ),
            family(
                "tilemark_watch_left_out",
                Kind::Gauge,
                "",
                "Combinations of sender, disk and direction without a series.",
                Value::Count(self.left_out),
            ),
        ]
    }

    fn sample(
        &self,
        labels: impl IntoIterator<Item = (&'static str, String)>,
        value: Value,
    ) -> Sample {
        let host = [("host", self.host.clone())];
        Sample { labels: host.into_iter().chain(labels).collect(), value }
    }
}

fn series_of(key: &Key) -> SeriesKey {
    (Arc::clone(&key.vm), Arc::clone(&key.disk), key.direction, key.is_below)
}

impl Sum {
    fn add(&mut self, latencies: &Latencies) {
        let buckets = &mut self.times.buckets;
        for (longest, count) in latencies.buckets() {
            let count = u64::from(count);
            match buckets.binary_search_by_key(&longest, |own| own.0) {
                Ok(at) => buckets[at].1 = buckets[at].1.saturating_add(count),
                Err(at) => buckets.insert(at, (longest, count)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use run_store::gauge::{Folded, HOST};
    use run_store::metrics;
    use run_store::slice::SizeClass;

    use super::*;
    use crate::{Cell, Judge, Rules};

    fn slice(vms: impl IntoIterator<Item = String>) -> Slice {
        let mut slice = Slice { watched: Nanos::from_secs(10), ..Slice::new(0, 10) };
        for vm in vms {
            let (class, direction) = (Some(SizeClass::of(4096)), Direction::Read);
            let latencies = [(Nanos::from_micros(700), 3)].into_iter().collect();
            let key = Key { vm: vm.into(), disk: "sda".into(), direction, class, is_below: false };
            let cell = Cell { count: 3, latency_ns: 2_100_000, latencies, ..Cell::default() };
            slice.io.insert(key, cell);
        }
        slice
    }

    fn text(totals: &Totals) -> String {
        String::from_utf8(metrics::text(&totals.families()).expect("memory")).expect("text")
    }

    #[test]
    fn counters_grow_and_names_are_escaped() {
        let mut totals = Totals::new("pve1");
        let name = "a \"b\"\\\nc";
        totals.add(&slice([name.to_owned()]));
        totals.add(&slice([name.to_owned()]));
        let text = text(&totals);
        let labels = r#"host="pve1",vm="a \"b\"\\\nc",disk="sda",direction="read",layer="top""#;
        for line in [
            format!("tilemark_watch_operation_seconds_bucket{{{labels},le=\"0.0005\"}} 0"),
            format!("tilemark_watch_operation_seconds_bucket{{{labels},le=\"0.001\"}} 6"),
            format!("tilemark_watch_operation_seconds_count{{{labels}}} 6"),
            "tilemark_watch_watched_seconds_total{host=\"pve1\"} 20.0".to_owned(),
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn series_are_bounded_and_end_with_their_vms() {
        let mut totals = Totals::new("pve1");
        totals.add(&slice((0..SERIES_MAX + 50).map(|vm| format!("vm{vm}"))));
        assert!(text(&totals).contains(r#"tilemark_watch_left_out{host="pve1"} 50"#));
        for _ in 0..=IDLE_SLICES {
            totals.add(&slice(["stays".to_owned()]));
        }
        let text = text(&totals);
        assert!(text.contains(r#"vm="stays""#) && !text.contains(r#"vm="vm1""#));
    }

    #[test]
    fn thousand_vms_that_come_and_go_leave_room_for_others() {
        let mut totals = Totals::new("pve1");
        let disks = 40;
        for turn in 0..1000 {
            // Each VM is there for four slices; one stays.
            let alive: Vec<String> = (turn..turn + 4).map(|vm| format!("short{vm}")).collect();
            let mut slice = slice(alive.iter().cloned().chain(["stays".to_owned()]));
            for vm in &alive {
                let mut more = self::slice([vm.clone()]).io.into_iter();
                let (key, cell) = more.next().expect("a cell");
                for disk in 1..disks {
                    let key = Key { disk: format!("vd{disk}").into(), ..key.clone() };
                    slice.io.insert(key, cell.clone());
                }
            }
            totals.add(&slice);
            assert!(totals.io.len() <= SERIES_MAX, "turn {turn}: {}", totals.io.len());
            assert_eq!(totals.left_out, 0, "turn {turn}");
        }
        let count = |vm: &str| {
            let mut own = totals.io.iter().filter(|((own, ..), _)| **own == *vm);
            own.next().map(|(_, sum)| sum.times.count())
        };
        assert_eq!(count("stays"), Some(3000));
        assert_eq!(count("short1002"), Some(3));
        assert_eq!(count("short1"), None);
        // Nobody sends any more: every series ends.
        for _ in 0..=IDLE_SLICES {
            totals.add(&slice([]));
        }
        assert!(totals.io.is_empty());
    }

    #[test]
    fn steal_of_a_host_that_is_a_guest_is_exported() {
        let mut totals = Totals::new("pve1");
        totals.add(&slice([]));
        assert!(!text(&totals).contains("steal"), "unknown is not zero");
        let mut stolen = slice([]);
        let share = Folded::of(Nanos::from_secs(10), 0.25);
        stolen.gauges.insert((GaugeName::CpuSteal, HOST.into()), share);
        totals.add(&stolen);
        let found = text(&totals);
        assert!(found.contains("tilemark_watch_steal_ratio{host=\"pve1\"} 0.25"), "{found}");
    }

    #[test]
    fn counts_of_years_do_not_stop_at_32_bits() {
        let mut totals = Totals::new("pve1");
        let mut busy = slice(["busy".to_owned()]);
        for cell in busy.io.values_mut() {
            cell.latencies = [(Nanos::from_micros(700), u32::MAX)].into_iter().collect();
        }
        totals.add(&busy);
        totals.add(&busy);
        let sums: Vec<u64> = totals.io.values().map(|sum| sum.times.count()).collect();
        assert_eq!(sums, [2 * u64::from(u32::MAX)]);
    }

    #[test]
    fn alarms_are_counted_and_the_first_ones_are_named() {
        let mut totals = Totals::new("pve1");
        totals.add(&slice([]));
        assert!(!text(&totals).contains("alarm"), "without rules nothing is known of alarms");
        let rules = "[[rule]]\nname = \"r\"\nlimit = \"errors <= 0\"\nfor = \"10s\"\nseverity = \"critical\"\n";
        let mut judge = Judge::new(&Rules::load("rules.toml", rules).expect("rules"));
        let mut failing = slice(["web1".to_owned()]);
        failing.io.values_mut().for_each(|cell| cell.errors = 1);
        judge.judge(&failing);
        judge.judge(&Slice { start_s: 10, ..failing });
        totals.set_alarms(judge.active());
        let own = text(&totals);
        for line in [
            r#"tilemark_watch_alarms{host="pve1",severity="critical"} 1"#,
            r#"tilemark_watch_alarms{host="pve1",severity="info"} 0"#,
            r#"tilemark_watch_alarm{host="pve1",rule="r",severity="critical",disk="sda",vm="web1"} 1"#,
        ] {
            assert!(own.lines().any(|known| known == line), "{line} in {own}");
        }
        let one = judge.active().next().expect("an alarm");
        totals.set_alarms(std::iter::repeat_n(one, ALARMS_MAX + 5));
        let own = text(&totals);
        assert!(own.contains(r#"severity="critical"} 205"#), "{own}");
        assert_eq!(own.matches("tilemark_watch_alarm{").count(), ALARMS_MAX);
    }
}
