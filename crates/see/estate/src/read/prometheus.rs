//! Reads the JSON of a Prometheus range query (`/api/v1/query_range`) of counters from a node or
//! libvirt exporter. Each VM, device and metric has one counter, however many replicas of
//! Prometheus and jobs scrape it. Rates are computed here, for each VM's devices between two
//! samples.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use units::Bytes;
use untrusted::Malformed;

use super::devices::{self, Layer};
use super::{Format, Input};
use crate::error::ReadError;
use crate::place::Findings;
use crate::row::{Facts, Record};
use crate::series;
use crate::vm::Load;

pub(super) struct Range;
pub(super) struct Failed;

const NAME: &str = "the JSON of a Prometheus range query (node or libvirt exporter)";

/// Quantity that a series counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Reads,
    Writes,
    ReadBytes,
    WrittenBytes,
    Capacity,
}

/// Metrics of node_exporter's `diskstats` collector, and of common libvirt exporters.
const METRICS: [(&str, What); 9] = [
    ("node_disk_reads_completed_total", What::Reads),
    ("node_disk_writes_completed_total", What::Writes),
    ("node_disk_read_bytes_total", What::ReadBytes),
    ("node_disk_written_bytes_total", What::WrittenBytes),
    ("libvirt_domain_block_stats_read_requests_total", What::Reads),
    ("libvirt_domain_block_stats_write_requests_total", What::Writes),
    ("libvirt_domain_block_stats_read_bytes_total", What::ReadBytes),
    ("libvirt_domain_block_stats_write_bytes_total", What::WrittenBytes),
    ("libvirt_domain_block_stats_capacity_bytes", What::Capacity),
];
/// Labels that may contain the name of the VM, the preferred first.
const NAMES: [&str; 5] = ["domain", "domain_name", "nodename", "host", "instance"];

impl Format for Failed {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        let status = input.json.as_ref().and_then(|json| json.get("status")?.as_str());
        status == Some("error")
    }

    fn read(&self, input: &Input<'_>, _: &mut Findings) -> Result<Vec<Record>, ReadError> {
        let text = |key: &str| {
            let value = input.json.as_ref().and_then(|json| json.get(key)?.as_str());
            value.unwrap_or("no reason is given").to_owned()
        };
        let (kind, what) = (text("errorType"), text("error"));
        Err(ReadError::Answer { path: input.path.clone(), kind, what })
    }
}

impl Format for Range {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        input.json.as_ref().is_some_and(|json| json.pointer("/data/resultType").is_some())
    }

    fn read(&self, input: &Input<'_>, found: &mut Findings) -> Result<Vec<Record>, ReadError> {
        let json = input.json.as_ref().unwrap_or(&Value::Null);
        let all = json.pointer("/data/result").and_then(Value::as_array);
        let all = all.ok_or_else(|| input.broken(NAME, "it has no data.result"))?;
        for key in ["warnings", "infos"] {
            for text in json.get(key).and_then(Value::as_array).into_iter().flatten() {
                let text = text.as_str().unwrap_or_default();
                found.note(format!("{}: Prometheus says: {text}", input.path));
            }
        }
        if all.is_empty() {
            found.note(format!(
                "{} adds nothing: the result of Prometheus is empty (\"result\": []), no series \
                matches the query and the time",
                input.path
            ));
        }
        let mut machines: BTreeMap<String, Machine> = BTreeMap::new();
        for (row, one) in (1..).zip(all) {
            match series_of(one) {
                Ok(series) => machines.entry(series.vm.clone()).or_default().add(series),
                Err(error) => found.bad.add(&input.at("data.result", row), error),
            }
        }
        let mut records = Vec::new();
        for (row, (name, machine)) in (1..).zip(machines) {
            let at = input.at("data.result", row);
            match machine.facts(&name, found) {
                Ok(facts) => records.push(Record {
                    at,
                    name,
                    id: String::new(),
                    number: String::new(),
                    lists: false,
                    facts,
                }),
                Err(what) => found.bad.add(&at, what),
            }
        }
        Ok(records)
    }
}

/// Samples as `(seconds, count)`.
type Samples = Vec<(f64, f64)>;

struct Series {
    vm: String,
    what: What,
    /// Hypervisor that reported the VM; empty if the VM itself was scraped.
    seen_by: String,
    device: String,
    samples: Samples,
}

fn series_of(one: &Value) -> Result<Series, Malformed> {
    let labels = one.get("metric").and_then(Value::as_object).ok_or("it has no metric")?;
    let label = |name: &str| labels.get(name).and_then(Value::as_str);
    let metric = label("__name__")
        .ok_or("its metric has no name: query the counter itself, not its rate")?;
    let known = METRICS.iter().find(|(own, _)| *own == metric);
    let (_, what) = known.ok_or_else(|| format!("the metric {metric} is unknown"))?;
    let device = label("device").or_else(|| label("target_device")).unwrap_or_default();
    let name = NAMES.iter().find_map(|name| label(name)).ok_or("no label names its VM")?;
    let is_node = metric.starts_with("node_");
    let seen_by = if is_node { "" } else { label("instance").unwrap_or_default() };
    let values = one
        .get("values")
        .and_then(Value::as_array)
        .ok_or("it has no values; check that it is a range query")?;
    let sample = |value: &Value| {
        let pair = value.as_array()?;
        let number = pair.get(1)?.as_str()?.parse::<f64>().ok()?;
        Some((pair.first()?.as_f64()?, number))
    };
    let samples: Option<Samples> = values.iter().map(sample).collect();
    let mut samples = samples.ok_or("a sample is not [seconds, \"number\"]")?;
    // A failed scrape is NaN.
    samples.retain(|(_, count)| count.is_finite());
    Ok(Series {
        // An instance is HOST:PORT.
        vm: name.rsplit_once(':').map_or(name, |(host, _)| host).to_owned(),
        what: *what,
        seen_by: seen_by.rsplit_once(':').map_or(seen_by, |(host, _)| host).to_owned(),
        device: device.strip_prefix("/dev/").unwrap_or(device).to_owned(),
        samples,
    })
}

/// Series of one VM, by quantity, device and hypervisor; each entry has the series of all replicas
/// and jobs.
#[derive(Default)]
struct Machine(BTreeMap<(What, String), BTreeMap<String, Vec<Samples>>>);

impl Machine {
    fn add(&mut self, series: Series) {
        let of_device = self.0.entry((series.what, series.device)).or_default();
        of_device.entry(series.seen_by).or_default().push(series.samples);
    }

    /// Computes the VM's facts. Each device has one counter, and the rates of devices are added by
    /// time.
    fn facts(self, name: &str, found: &mut Findings) -> Result<Facts, Malformed> {
        let mut rates: BTreeMap<What, BTreeMap<i64, f64>> = BTreeMap::new();
        let mut capacity = 0.0;
        let mut devices: BTreeMap<What, BTreeSet<String>> = BTreeMap::new();
        for (what, device) in self.0.keys() {
            devices.entry(*what).or_default().insert(device.clone());
        }
        for ((what, device), seen) in self.0 {
            match devices::layer(&device, &devices[&what]) {
                Layer::Counted => {}
                Layer::Below => continue,
                Layer::Stacked => found.note(format!(
                    "of {name} only devices that lie on others were counted ({device}): I/O \
                     through several of them counts more than once"
                )),
            }
            let counters = seen.into_values().map(one_counter).collect();
            let samples = in_turn(counters).ok_or_else(|| {
                format!("two VMs are called \"{name}\", on two hypervisors at the same time")
            })?;
            if what == What::Capacity {
                capacity += samples.last().map_or(0.0, |(_, bytes)| bytes.max(0.0));
                continue;
            }
            let sums = rates.entry(what).or_default();
            for (time, rate) in series::rates(&samples) {
                #[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970")]
                let time = (time * 1e3) as i64;
                *sums.entry(time).or_default() += rate;
            }
        }
        let rate = |what| series::percentile(rates.get(&what)?.values().copied().collect());
        let load = Load {
            reads_per_s: rate(What::Reads),
            writes_per_s: rate(What::Writes),
            read_bytes_per_s: rate(What::ReadBytes),
            written_bytes_per_s: rate(What::WrittenBytes),
            ..Load::default()
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes of disks"
        )]
        let capacity = Bytes::new(capacity as u64);
        let provisioned = (capacity > Bytes::ZERO).then_some(capacity);
        Ok(Facts { load, provisioned, ..Facts::default() })
    }
}

/// Makes one counter from the series of several replicas and jobs. It is the series with the most
/// samples, extended before and after by other series. Samples of two series are never interleaved,
/// because scrapes at different times would make the counter fall.
fn one_counter(mut replicas: Vec<Samples>) -> Samples {
    replicas.sort_by_key(|samples| std::cmp::Reverse(samples.len()));
    let mut counter = Samples::new();
    for samples in replicas {
        let begin = counter.first().map_or(f64::INFINITY, |(time, _)| *time);
        let end = counter.last().map_or(f64::INFINITY, |(time, _)| *time);
        let (mut before, rest): (Samples, Samples) =
            samples.into_iter().partition(|(time, _)| *time < begin);
        before.append(&mut counter);
        counter = before;
        counter.extend(rest.into_iter().filter(|(time, _)| *time > end));
    }
    counter
}

/// Maximum number of samples by which two hypervisors may overlap while a VM moves between them.
const MOVING_MAX: usize = 2;

/// Joins the counters of one VM that ran on one hypervisor after the other; `None` if two ran at
/// the same time.
fn in_turn(mut counters: Vec<Samples>) -> Option<Samples> {
    counters.retain(|samples| !samples.is_empty());
    counters.sort_by(|a, b| a[0].0.total_cmp(&b[0].0));
    let mut all = Samples::new();
    for samples in counters {
        let end = all.last().map_or(f64::NEG_INFINITY, |(time, _)| *time);
        let overlap = samples.iter().filter(|(time, _)| *time <= end).count();
        if overlap > MOVING_MAX {
            return None;
        }
        all.extend(samples.into_iter().filter(|(time, _)| *time > end));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_one_counter_and_gaps_at_its_ends_are_filled() {
        let long = vec![(10.0, 1.0), (20.0, 2.0), (25.0, 2.5), (30.0, 3.0)];
        let other = vec![(5.0, 0.5), (12.0, 1.1), (40.0, 4.1)];
        let whole =
            vec![(5.0, 0.5), (10.0, 1.0), (20.0, 2.0), (25.0, 2.5), (30.0, 3.0), (40.0, 4.1)];
        assert_eq!(one_counter(vec![other, long]), whole);
    }

    #[test]
    fn moved_machines_are_one_and_two_of_one_name_are_refused() {
        let run =
            |from: u32| -> Samples { (from..from + 5).map(|at| (f64::from(at), 1.0)).collect() };
        assert_eq!(in_turn(vec![run(4), run(0)]).map(|all| all.len()), Some(9));
        assert_eq!(in_turn(vec![run(0), run(1)]), None);
    }
}
