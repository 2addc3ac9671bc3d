//! libvirt: what `virsh domstats --raw` prints. Its counters of block devices have no times, so a load takes two samples
//! in one file, one behind the other, and the time between them (`--every`); sizes take one.

use std::collections::HashMap;

use units::Bytes;

use super::{Format, Input};
use crate::error::ReadError;
use crate::place::BadRows;
use crate::row::{Facts, LeftOut, Record};
use crate::series;
use crate::vm::Load;

pub(super) struct DomStats;

const NAME: &str = "virsh domstats --raw";
/// `VIR_DOMAIN_RUNNING` and `VIR_DOMAIN_BLOCKED` of libvirt's `virDomainState`.
const RUNS: [&str; 2] = ["1", "2"];

impl Format for DomStats {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        input.begins_with("Domain: ")
    }

    fn read(&self, input: &Input<'_>, bad: &mut BadRows) -> Result<Vec<Record>, ReadError> {
        let text = str::from_utf8(&input.bytes).map_err(|error| input.broken(NAME, error))?;
        // Each machine with its samples, in the order of the file; a later sample is found by its name.
        let mut machines: Vec<(String, u64, Vec<Sample>)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut current = 0;
        for (line, text) in (1..).zip(text.lines()) {
            if let Some(name) = text.strip_prefix("Domain: ") {
                let name = name.trim().trim_matches('\'').to_owned();
                current = *known.entry(name.clone()).or_insert(machines.len());
                match machines.get_mut(current) {
                    Some((_, _, samples)) => samples.push(Sample::default()),
                    None => machines.push((name, line, vec![Sample::default()])),
                }
            } else if let Some((key, value)) = text.trim().split_once('=')
                && let Some(sample) =
                    machines.get_mut(current).and_then(|(_, _, all)| all.last_mut())
            {
                sample.0.insert(key.to_owned(), value.to_owned());
            } else if !text.trim().is_empty() {
                bad.add(&input.at("", line), "it is no KEY=VALUE");
            }
        }
        Ok(machines.into_iter().filter_map(|machine| record(input, machine, bad)).collect())
    }
}

#[derive(Default)]
struct Sample(HashMap<String, String>);

impl Sample {
    fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.parse().ok()
    }

    /// A figure of all its block devices together; of a device with a chain of images the first counts.
    fn sum(&self, of: &str) -> Option<f64> {
        let count = self.number("block.count")?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of devices"
        )]
        let numbers = 0..(count.clamp(0.0, 4096.0) as usize);
        let first = |number: &usize| {
            let index = self.0.get(&format!("block.{number}.backingIndex"));
            let name = |number: usize| self.0.get(&format!("block.{number}.name"));
            index.is_none() || *number == 0 || name(*number) != name(*number - 1)
        };
        let values: Vec<f64> = numbers
            .filter(first)
            .filter_map(|number| self.number(&format!("block.{number}.{of}")))
            .collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }
}

fn record(
    input: &Input<'_>,
    machine: (String, u64, Vec<Sample>),
    bad: &mut BadRows,
) -> Option<Record> {
    let (name, line, samples) = machine;
    let at = input.at("", line);
    let last = samples.last()?;
    let bytes = |value: Option<f64>| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes of disks in bytes"
        )]
        value.filter(|value| *value >= 0.0).map(|value| Bytes::new(value as u64))
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of processors"
    )]
    let vcpus = last.number("vcpu.current").map(|count| count.clamp(0.0, 65536.0) as u32);
    let is_off = last.0.get("state.state").is_some_and(|state| !RUNS.contains(&state.as_str()));
    let load = match (samples.len(), input.source.every) {
        (1, _) => Load::default(),
        (_, Some(every)) => load(&samples, every),
        (_, None) => {
            bad.add(&at, "it has several samples, and nobody says how far they are apart");
            Load::default()
        }
    };
    let facts = Facts {
        vcpus,
        provisioned: bytes(last.sum("capacity")),
        used: bytes(last.sum("allocation")),
        out: is_off.then_some(LeftOut::Off),
        load,
        ..Facts::default()
    };
    Some(Record { at, name, id: String::new(), lists: true, facts })
}

fn load(samples: &[Sample], every: f64) -> Load {
    let rate = |of: &str| {
        #[expect(clippy::cast_precision_loss, reason = "a number of samples")]
        let timed =
            |(number, sample): (usize, &Sample)| Some((number as f64 * every, sample.sum(of)?));
        let counted: Vec<(f64, f64)> = samples.iter().enumerate().filter_map(timed).collect();
        series::percentile(series::rates(&counted).into_iter().map(|(_, rate)| rate).collect())
    };
    Load {
        reads_per_s: rate("rd.reqs"),
        writes_per_s: rate("wr.reqs"),
        read_bytes_per_s: rate("rd.bytes"),
        written_bytes_per_s: rate("wr.bytes"),
        ..Load::default()
    }
}
