//! Prometheus: the JSON that a range query (`/api/v1/query_range`) returns, of counters of a node or a libvirt exporter.
//! Rates are made here, of what each machine's devices did between two samples.

use std::collections::BTreeMap;

use serde_json::Value;
use units::Bytes;

use super::{Format, Input};
use crate::error::ReadError;
use crate::place::BadRows;
use crate::row::{Facts, Record};
use crate::series;
use crate::vm::Load;

pub(super) struct Range;

const NAME: &str = "the JSON of a Prometheus range query (node or libvirt exporter)";

/// What a series counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Reads,
    Writes,
    ReadBytes,
    WrittenBytes,
    Capacity,
}

/// node_exporter's `diskstats` collector, and the libvirt exporters that are in use.
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
/// Labels that say whose a series is, the better first.
const NAMES: [&str; 5] = ["domain", "domain_name", "nodename", "host", "instance"];
/// Devices that pass on to others what is counted there again.
const STACKED: [&str; 6] = ["dm-", "md", "loop", "ram", "sr", "zram"];

impl Format for Range {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        input.json.as_ref().is_some_and(|json| json.pointer("/data/resultType").is_some())
    }

    fn read(&self, input: &Input<'_>, bad: &mut BadRows) -> Result<Vec<Record>, ReadError> {
        let json = input.json.as_ref().unwrap_or(&Value::Null);
        let all = json.pointer("/data/result").and_then(Value::as_array);
        let all = all.ok_or_else(|| input.broken(NAME, "it has no data.result"))?;
        let mut machines: BTreeMap<String, Machine> = BTreeMap::new();
        for (row, one) in (1..).zip(all) {
            match series_of(one) {
                Ok(None) => {}
                Ok(Some((name, what, values))) => {
                    machines.entry(name).or_default().add(what, &values)
                }
                Err(error) => bad.add(&input.at("data.result", row), error),
            }
        }
        let record = |(row, (name, machine)): (u64, (String, Machine))| Record {
            at: input.at("data.result", row),
            name,
            id: String::new(),
            lists: false,
            facts: machine.facts(),
        };
        Ok((1..).zip(machines).map(record).collect())
    }
}

type Samples = Vec<(f64, f64)>;

/// Whose it is, what it counts, and its samples; nothing of a device that is counted elsewhere.
fn series_of(one: &Value) -> Result<Option<(String, What, Samples)>, String> {
    let labels = one.get("metric").and_then(Value::as_object).ok_or("it has no metric")?;
    let label = |name: &str| labels.get(name).and_then(Value::as_str);
    let metric = label("__name__")
        .ok_or("its metric has no name: ask for the counter itself, not for its rate")?;
    let known = METRICS.iter().find(|(own, _)| *own == metric);
    let (_, what) = known.ok_or_else(|| format!("nothing is known of {metric}"))?;
    let device = label("device").or_else(|| label("target_device")).unwrap_or_default();
    if metric.starts_with("node_") && STACKED.iter().any(|prefix| device.starts_with(prefix)) {
        return Ok(None);
    }
    let name = NAMES.iter().find_map(|name| label(name)).ok_or("no label says whose it is")?;
    // An instance is HOST:PORT.
    let name = name.rsplit_once(':').map_or(name, |(host, _)| host);
    let values = one
        .get("values")
        .and_then(Value::as_array)
        .ok_or("it has no values: is it a range query?")?;
    let sample = |value: &Value| {
        let pair = value.as_array()?;
        let number = pair.get(1)?.as_str()?.parse::<f64>().ok()?;
        Some((pair.first()?.as_f64()?, number))
    };
    let samples: Option<Samples> = values.iter().map(sample).collect();
    let samples = samples.ok_or("a sample is not [seconds, \"number\"]")?;
    Ok(Some((name.to_owned(), *what, samples)))
}

#[derive(Default)]
struct Machine {
    /// Rates of all its devices by the millisecond they end at, for each thing that is counted.
    rates: BTreeMap<What, BTreeMap<i64, f64>>,
    capacity: f64,
}

impl Machine {
    fn add(&mut self, what: What, samples: &Samples) {
        if what == What::Capacity {
            self.capacity += samples.last().map_or(0.0, |(_, bytes)| bytes.max(0.0));
            return;
        }
        let sums = self.rates.entry(what).or_default();
        for (time, rate) in series::rates(samples) {
            #[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970")]
            let time = (time * 1e3) as i64;
            *sums.entry(time).or_default() += rate;
        }
    }

    fn facts(self) -> Facts {
        let rate = |what| {
            let sums: &BTreeMap<i64, f64> = self.rates.get(&what)?;
            series::percentile(sums.values().copied().collect())
        };
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
        let capacity = Bytes::new(self.capacity as u64);
        Facts {
            load,
            provisioned: (capacity > Bytes::ZERO).then_some(capacity),
            ..Facts::default()
        }
    }
}
