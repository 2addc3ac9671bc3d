use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::sync::Arc;

use run_store::gauge::GaugeName;
use run_store::openmetrics::{END, Times, family, histogram, labels, sample};
use run_store::slice::Direction;
use units::Nanos;

use crate::{Latencies, Slice};

/// Most senders, disks and directions with series of their own: some 34,000 samples. Our choice.
/// Further ones are counted.
const SERIES_MAX: usize = 2000;
/// Slices after which a series without I/O ends: half an hour. VMs come and go for years.
const IDLE_SLICES: u32 = 180;

/// Counters since the start, for Prometheus.
#[derive(Debug, Default)]
pub struct Totals {
    host: String,
    io: BTreeMap<(Arc<str>, Arc<str>, Direction), Sum>,
    /// Processors of each VM in the last slice.
    vms: BTreeMap<Arc<str>, Processors>,
    watched: Nanos,
    lost: u64,
    /// Senders, disks and directions of the last slice that have no series.
    left_out: u64,
}

#[derive(Debug, Default)]
struct Sum {
    count: u64,
    errors: u64,
    bytes: u64,
    latency_ns: u128,
    latencies: Latencies,
    idle: u32,
}

#[derive(Debug, Default)]
struct Processors {
    cpu: f64,
    ready: Option<f64>,
    idle: u32,
}

impl Totals {
    /// Counters of a host that start at zero.
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
        self.left_out = 0;
        for (key, cell) in &slice.io {
            let of = (Arc::clone(&key.vm), Arc::clone(&key.disk), key.direction);
            if self.io.len() >= SERIES_MAX && !self.io.contains_key(&of) {
                self.left_out += 1;
                continue;
            }
            let sum = self.io.entry(of).or_default();
            sum.idle = 0;
            sum.count = sum.count.saturating_add(cell.count);
            sum.errors = sum.errors.saturating_add(cell.errors);
            sum.bytes = sum.bytes.saturating_add(cell.bytes);
            sum.latency_ns = sum.latency_ns.saturating_add(cell.latency_ns.into());
            sum.latencies.merge(&cell.latencies);
        }
        for ((name, vm), folded) in &slice.gauges {
            match name {
                GaugeName::VmCpu => {
                    let own = self.vms.entry(Arc::clone(vm)).or_default();
                    (own.idle, own.cpu) = (0, folded.value);
                }
                GaugeName::VmReady => {
                    self.vms.entry(Arc::clone(vm)).or_default().ready = Some(folded.value);
                }
                _ => {}
            }
        }
    }

    /// Counters as OpenMetrics text.
    ///
    /// # Errors
    /// None: it is written to memory.
    pub fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let to = &mut text;
        let name = "tilemark_watch_operation_seconds";
        family(to, name, "histogram", "seconds", "Latency of I/O as its sender feels it.")?;
        for (of, sum) in &self.io {
            // A bucket that holds the limit counts as above it: never too good.
            let above = |limit| {
                let above = sum.latencies.buckets().filter(|(latency, _)| *latency > limit);
                above.map(|(_, count)| u64::from(count)).sum()
            };
            let count = sum.latencies.count();
            let times = Times { count, sum_ns: sum.latency_ns, above: &above };
            self.with_labels(of, |pairs| histogram(to, name, pairs, &times))?;
        }
        let name = "tilemark_watch_operation_bytes";
        self.counter(to, (name, "bytes", "Bytes moved."), |sum| sum.bytes)?;
        let name = "tilemark_watch_operation_errors";
        self.counter(to, (name, "", "I/Os that failed."), |sum| sum.errors)?;
        let name = "tilemark_watch_vm_cpu_ratio";
        let help = "Processors that a VM used in the last slice, of the host's.";
        self.processors(to, (name, help), |vm| Some(vm.cpu))?;
        let name = "tilemark_watch_vm_ready_ratio";
        let help = "Processors that a VM's threads were ready for and did not get, of the host's.";
        self.processors(to, (name, help), |vm| vm.ready)?;
        let host = labels(&[("host", &self.host)]);
        let name = "tilemark_watch_watched_seconds";
        family(to, name, "counter", "seconds", "Time in which somebody watched.")?;
        let seconds = self.watched.as_secs_f64();
        sample(to, &format!("{name}_total"), &host, format_args!("{seconds:.3}"))?;
        let name = "tilemark_watch_lost_events";
        family(to, name, "counter", "", "Events that found the kernel's buffer full.")?;
        sample(to, &format!("{name}_total"), &host, self.lost)?;
        let name = "tilemark_watch_left_out";
        family(to, name, "gauge", "", "Senders, disks and directions without a series.")?;
        sample(to, name, &host, self.left_out)?;
        to.extend_from_slice(END.as_bytes());
        Ok(text)
    }

    fn counter(
        &self,
        to: &mut Vec<u8>,
        (name, unit, help): (&str, &str, &str),
        value: impl Fn(&Sum) -> u64,
    ) -> io::Result<()> {
        family(to, name, "counter", unit, help)?;
        for (of, sum) in &self.io {
            let total = format!("{name}_total");
            self.with_labels(of, |pairs| sample(to, &total, &labels(pairs), value(sum)))?;
        }
        Ok(())
    }

    fn processors(
        &self,
        to: &mut Vec<u8>,
        (name, help): (&str, &str),
        value: impl Fn(&Processors) -> Option<f64>,
    ) -> io::Result<()> {
        family(to, name, "gauge", "ratio", help)?;
        for (vm, own) in &self.vms {
            let labels = labels(&[("host", &self.host), ("vm", vm)]);
            if let Some(value) = value(own) {
                sample(to, name, &labels, format_args!("{value:.6}"))?;
            }
        }
        Ok(())
    }

    fn with_labels(
        &self,
        (vm, disk, direction): &(Arc<str>, Arc<str>, Direction),
        write: impl FnOnce(&[(&str, &dyn Display)]) -> io::Result<()>,
    ) -> io::Result<()> {
        let direction = direction.name();
        write(&[("host", &self.host), ("vm", vm), ("disk", disk), ("direction", &direction)])
    }
}

#[cfg(test)]
mod tests {
    use run_store::slice::SizeClass;

    use super::*;
    use crate::{Cell, Key};

    fn slice(vms: impl IntoIterator<Item = String>) -> Slice {
        let mut slice = Slice { watched: Nanos::from_secs(10), ..Slice::new(0, 10) };
        for vm in vms {
            let (class, direction) = (Some(SizeClass::of(4096)), Direction::Read);
            let latencies = [(Nanos::from_micros(700), 3)].into_iter().collect();
            let key = Key { vm: vm.into(), disk: "sda".into(), direction, class };
            let cell = Cell { count: 3, latency_ns: 2_100_000, latencies, ..Cell::default() };
            slice.io.insert(key, cell);
        }
        slice
    }

    fn text(totals: &Totals) -> String {
        String::from_utf8(totals.text().expect("memory")).expect("text")
    }

    #[test]
    fn counters_grow_and_names_are_escaped() {
        let mut totals = Totals::new("pve1");
        let name = "a \"b\"\\\nc";
        totals.add(&slice([name.to_owned()]));
        totals.add(&slice([name.to_owned()]));
        let text = text(&totals);
        let labels = r#"host="pve1",vm="a \"b\"\\\nc",disk="sda",direction="read""#;
        for line in [
            format!("tilemark_watch_operation_seconds_bucket{{{labels},le=\"0.0005\"}} 0"),
            format!("tilemark_watch_operation_seconds_bucket{{{labels},le=\"0.001\"}} 6"),
            format!("tilemark_watch_operation_seconds_count{{{labels}}} 6"),
            "tilemark_watch_watched_seconds_total{host=\"pve1\"} 20.000".to_owned(),
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
        // VMs come and go a thousand times.
        for turn in 0..1000 {
            totals.add(&slice([format!("short{turn}")]));
        }
        assert!(totals.io.len() <= IDLE_SLICES as usize + 1);
    }
}
