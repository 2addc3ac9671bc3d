//! Reads the output of `virsh domstats --raw` (libvirt). The counters of block devices have no
//! times. So a load needs two samples in one file, one after the other, and the time between them
//! (`--every`); sizes need one sample.

use std::collections::HashMap;

use units::Bytes;

use super::encoding::decode;
use super::{Format, Input};
use crate::error::ReadError;
use crate::place::Findings;
use crate::row::{Facts, LeftOut, Record};
use crate::series;
use crate::vm::Load;

pub(super) struct DomStats;

const NAME: &str = "virsh domstats --raw";
/// States of VMs that run: `VIR_DOMAIN_RUNNING` and `VIR_DOMAIN_BLOCKED` of libvirt's
/// `virDomainState`.
const RUNS: [&str; 2] = ["1", "2"];
/// Maximum number of devices of one VM.
const DEVICES_MAX: u64 = 4096;

impl Format for DomStats {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        let begin = decode(&input.bytes[..input.bytes.len().min(4096)]);
        let mut lines = begin.lines().filter(|line| !line.trim().is_empty());
        lines.next().is_some_and(|line| domain(line).is_some())
            && (input.begins_with("Domain: ")
                || lines.next().is_some_and(|line| figure(line).is_some()))
    }

    fn read(&self, input: &Input<'_>, found: &mut Findings) -> Result<Vec<Record>, ReadError> {
        let text = str::from_utf8(&input.bytes).map_err(|error| input.broken(NAME, error))?;
        // VMs with their samples, in the order of the file; a later sample is found by its name.
        let mut machines: Vec<(String, u64, Vec<Sample>)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut current = 0;
        for (line, text) in (1..).zip(text.lines()) {
            if let Some(name) = domain(text) {
                current = *known.entry(name.to_owned()).or_insert(machines.len());
                match machines.get_mut(current) {
                    Some((_, _, samples)) => samples.push(Sample::default()),
                    None => machines.push((name.to_owned(), line, vec![Sample::default()])),
                }
            } else if let Some((key, value)) = text.trim().split_once('=')
                && let Some(sample) =
                    machines.get_mut(current).and_then(|(_, _, all)| all.last_mut())
            {
                let is_number =
                    value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty();
                if key.starts_with("block.")
                    && FIGURES.iter().any(|own| key.ends_with(own))
                    && !is_number
                {
                    found.bad.add(
                        &input.at("", line),
                        format!("{key} is \"{value}\", not a whole number"),
                    );
                }
                sample.0.insert(key.to_owned(), value.to_owned());
            } else if !text.trim().is_empty() {
                found.bad.add(&input.at("", line), "it is no KEY=VALUE");
            }
        }
        Ok(machines.into_iter().filter_map(|machine| record(input, machine, found)).collect())
    }
}

/// Ends of the keys that are read for a block device.
const FIGURES: [&str; 7] =
    [".rd.reqs", ".rd.bytes", ".wr.reqs", ".wr.bytes", ".allocation", ".capacity", ".physical"];

/// Parses the name of a VM in the line before its values: `Domain: 'web1'`, in French `Domaine : «
/// web1 »`. Values are indented, but this line is not.
fn domain(line: &str) -> Option<&str> {
    let is_set_in = line.starts_with(|letter: char| letter.is_whitespace());
    let (word, name) = line.split_once(':').filter(|_| !is_set_in)?;
    let is_word = !word.trim().is_empty() && word.trim().chars().all(char::is_alphabetic);
    let mark = |letter: char| {
        letter.is_whitespace()
            || "'\"`\u{ab}\u{bb}\u{2018}\u{2019}\u{201a}\u{201c}\u{201d}\u{201e}".contains(letter)
    };
    let bare = name.trim_matches(mark);
    (is_word && !bare.is_empty()).then_some(bare)
}

/// Splits a line such as `  block.0.rd.reqs=7` into key and value.
fn figure(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once('=')?;
    let is_key = key.contains('.')
        && key.chars().all(|own| own.is_ascii_alphanumeric() || ".-_".contains(own));
    is_key.then_some((key, value))
}

#[derive(Default)]
struct Sample(HashMap<String, String>);

impl Sample {
    fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key)?.trim().parse().ok()
    }

    fn text(&self, device: u64, of: &str) -> Option<&str> {
        self.0.get(&format!("block.{device}.{of}")).map(String::as_str)
    }

    /// Returns the block devices. If a device has a chain of images, only the first image counts.
    fn devices(&self) -> impl Iterator<Item = u64> + '_ {
        let count = self.number("block.count").unwrap_or(0).min(DEVICES_MAX);
        (0..count).filter(|number| {
            self.text(*number, "backingIndex").is_none()
                || *number == 0
                || self.text(*number, "name") != self.text(*number - 1, "name")
        })
    }

    /// Sums a counter over the VM's block devices.
    fn sum(&self, of: &str) -> Option<f64> {
        let value = |device| self.number(&format!("block.{device}.{of}"));
        let values: Vec<u64> = self.devices().filter_map(value).collect();
        #[expect(clippy::cast_precision_loss, reason = "counters of I/Os and bytes")]
        let sum = values.iter().map(|value| *value as f64).sum();
        (!values.is_empty()).then_some(sum)
    }

    /// Returns provisioned and used size of the VM's disks.
    fn sizes(
        &self,
        name: &str,
        path: &str,
        found: &mut Findings,
    ) -> (Option<Bytes>, Option<Bytes>) {
        let mut sums = (None, None);
        for device in self.devices() {
            let number =
                |of: &str| self.number(&format!("block.{device}.{of}")).filter(|own| *own > 0);
            // A medium in a drive is no disk of the VM.
            if self.text(device, "path").is_some_and(|own| own.to_lowercase().ends_with(".iso")) {
                continue;
            }
            // `allocation` is the highest offset written since the VM began, where 0 means unknown;
            // `physical` is the size of the image's file, or that of the device.
            let capacity = number("capacity");
            let told = number("allocation").max(number("physical"));
            let used = match (told, capacity) {
                (Some(told), Some(capacity)) if told > capacity => {
                    if number("allocation") > Some(capacity) {
                        found.note(format!(
                            "{path}: allocation of {name} ({}) is above its capacity: {} was taken",
                            Bytes::new(told),
                            Bytes::new(capacity)
                        ));
                    }
                    Some(capacity)
                }
                (told, capacity) => told.or(capacity),
            };
            let add = |sum: &mut Option<Bytes>, size: Option<u64>| {
                if let Some(size) = size {
                    *sum = Some(sum.unwrap_or(Bytes::ZERO) + Bytes::new(size));
                }
            };
            add(&mut sums.0, capacity.or(used));
            add(&mut sums.1, used);
        }
        sums
    }
}

fn record(
    input: &Input<'_>,
    machine: (String, u64, Vec<Sample>),
    found: &mut Findings,
) -> Option<Record> {
    let (name, line, samples) = machine;
    let at = input.at("", line);
    let last = samples.last()?;
    let vcpus = last.number("vcpu.current").and_then(|count| u32::try_from(count.min(65536)).ok());
    let state = last.0.get("state.state").map(|state| state.trim());
    let is_on = state.is_some_and(|state| RUNS.contains(&state));
    let load = match (samples.len(), input.source.every) {
        (1, _) => Load::default(),
        (_, Some(every)) => load(&samples, every),
        (_, None) => {
            found.bad.add(&at, "it has several samples, but not the time between them");
            Load::default()
        }
    };
    let (provisioned, used) = last.sizes(&name, &input.path, found);
    let facts = Facts {
        vcpus,
        provisioned,
        used,
        out: (state.is_some() && !is_on).then_some(LeftOut::Off),
        is_on,
        load,
        ..Facts::default()
    };
    Some(Record { at, name, id: String::new(), number: String::new(), lists: true, facts })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_vm_is_read_in_every_language() {
        for line in [
            "Domain: 'web1'",
            "Domaine : \u{ab} web1 \u{bb}",
            "Domaine\u{a0}: 'web1'",
            "Dom\u{e4}ne: \u{201e}web1\u{201c}",
        ] {
            assert_eq!(domain(line), Some("web1"), "{line}");
        }
        assert_eq!(domain("  block.0.path=rbd:pool/web1"), None);
        assert_eq!(domain("Domain: 'win 11 (prod)'"), Some("win 11 (prod)"));
        assert!(figure("  state.state=1").is_some() && figure("VM=1").is_none());
    }
}
