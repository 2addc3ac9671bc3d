//! Reads Proxmox VE. `pvesh get /cluster/resources --type vm --output-format json` lists VMs and
//! containers. `pvesh get /nodes/NODE/qemu/ID/config --output-format json` has all disks of one VM.
//! `pvesh get /nodes/NODE/qemu/ID/rrddata --timeframe week --cf MAX --output-format json` has the
//! VM's bytes written and read per second. Proxmox does not count I/Os, so they are computed from
//! bytes with the sizes of the VM's class.

use serde_json::{Map, Value};
use units::Bytes;

use super::{Format, Input, size};
use crate::error::ReadError;
use crate::place::Findings;
use crate::row::{Facts, LeftOut, Record};
use crate::series;
use crate::vm::Load;

pub(super) struct Resources;
pub(super) struct Config;
pub(super) struct Rates;

const RESOURCES: &str = "pvesh get /cluster/resources (JSON)";
const CONFIG: &str = "pvesh get .../qemu/ID/config (JSON)";
const RATES: &str = "pvesh get .../rrddata (JSON)";

fn list<'a>(input: &'a Input<'_>) -> &'a [Value] {
    input.json.as_ref().and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn has(input: &Input<'_>, key: &str) -> bool {
    list(input).iter().any(|one| one.get(key).is_some())
}

/// Parses a whole number, which older versions write as text.
fn whole(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn processors(value: Option<&Value>) -> Option<u32> {
    let count = value.and_then(Value::as_f64)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of processors"
    )]
    Some(count.clamp(0.0, 65536.0) as u32)
}

impl Format for Resources {
    fn name(&self) -> &'static str {
        RESOURCES
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        has(input, "vmid")
    }

    fn read(&self, input: &Input<'_>, found: &mut Findings) -> Result<Vec<Record>, ReadError> {
        let mut records = Vec::new();
        for (row, one) in (1..).zip(list(input)) {
            // Nodes, storages and pools are in the same list.
            let kind = one.get("type").and_then(Value::as_str).unwrap_or("qemu");
            if !["qemu", "lxc"].contains(&kind) {
                continue;
            }
            let at = input.at("", row);
            let Some(id) = whole(one.get("vmid")) else {
                found.bad.add(&at, "it has no vmid");
                continue;
            };
            let name = one
                .get("name")
                .and_then(Value::as_str)
                .map_or_else(|| id.to_string(), str::to_owned);
            let bytes = |key| whole(one.get(key)).filter(|own| *own > 0).map(Bytes::new);
            let is_template = whole(one.get("template")) == Some(1);
            let status = one.get("status").and_then(Value::as_str);
            let is_off = status.is_some_and(|own| own != "running");
            let out = is_template.then_some(LeftOut::Template).or(is_off.then_some(LeftOut::Off));
            // For a VM `maxdisk` is its first disk and `disk` is 0; for a container they are its
            // root and the used part.
            let is_container = kind == "lxc";
            let size = bytes("maxdisk");
            let facts = Facts {
                vcpus: processors(one.get("maxcpu")),
                provisioned: size.filter(|_| is_container),
                first_disk: size.filter(|_| !is_container),
                used: bytes("disk").filter(|_| is_container),
                out,
                is_on: status == Some("running"),
                ..Facts::default()
            };
            let number = id.to_string();
            records.push(Record { at, name, id: String::new(), number, lists: true, facts });
        }
        Ok(records)
    }
}

impl Format for Config {
    fn name(&self) -> &'static str {
        CONFIG
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        let keys = |all: &Map<String, Value>| {
            all.contains_key("digest") || all.keys().any(|key| is_disk(key))
        };
        input.json.as_ref().and_then(Value::as_object).is_some_and(keys)
    }

    fn read(&self, input: &Input<'_>, found: &mut Findings) -> Result<Vec<Record>, ReadError> {
        let all = input.json.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        let text = |key: &str| all.get(key).and_then(Value::as_str);
        let own_name = text("name").or_else(|| text("hostname"));
        let name = match own_name {
            Some(name) if input.source.vm.is_none() => name.to_owned(),
            _ => input.vm()?.to_owned(),
        };
        let at = input.at("", 1);
        let (mut disk, mut raw) = (0_u64, 0_u64);
        for (key, value) in all.iter().filter(|(key, _)| is_disk(key)) {
            let value = value.as_str().unwrap_or_default();
            let options = || value.split(',').skip(1).filter_map(|own| own.split_once('='));
            let option = |key: &str| options().find(|(own, _)| *own == key).map(|(_, text)| text);
            if value == "none" || option("media") == Some("cdrom") {
                continue;
            }
            match option("size").and_then(bytes_of) {
                // A passed-through device of the node.
                Some(size) if value.starts_with("/dev/") => raw = raw.saturating_add(size),
                Some(size) => disk = disk.saturating_add(size),
                // Directories of the node in a container have no size.
                None if value.starts_with('/') => {}
                None => found.bad.add(&at, format!("{key} of \"{name}\" has no size: {value}")),
            }
        }
        let count = |key: &str| whole(all.get(key));
        let vcpus = count("cores").map(|cores| cores.saturating_mul(count("sockets").unwrap_or(1)));
        let uuid = text("smbios1").and_then(|own| {
            own.split(',').find_map(|part| part.strip_prefix("uuid=")).map(str::to_lowercase)
        });
        let facts = Facts {
            os: text("ostype").map(system).unwrap_or_default(),
            vcpus: vcpus.and_then(|own| u32::try_from(own.min(65536)).ok()),
            disk: (disk > 0).then_some(Bytes::new(disk)),
            raw: (raw > 0).then_some(Bytes::new(raw)),
            out: (count("template") == Some(1)).then_some(LeftOut::Template),
            ..Facts::default()
        };
        let id = uuid.unwrap_or_default();
        Ok(vec![Record { at, name, id, number: String::new(), lists: false, facts }])
    }
}

/// Returns true if a key of a configuration is a disk: `scsi0`, `virtio12`, `rootfs`, `mp3`.
fn is_disk(key: &str) -> bool {
    const BUSES: [&str; 7] = ["scsi", "virtio", "sata", "ide", "efidisk", "tpmstate", "mp"];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    key == "rootfs" || BUSES.iter().any(|bus| key.strip_prefix(bus).is_some_and(is_number))
}

/// Parses `32G`, `528K`, `1.5T`: powers of 1,024, as in Proxmox.
fn bytes_of(text: &str) -> Option<u64> {
    let (number, unit) = size::split(text);
    let number: f64 = number.parse().ok()?;
    let unit = if unit.is_empty() { 1.0 } else { size::unit(unit)? };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate, and sizes are not negative"
    )]
    (number >= 0.0).then_some((number * unit) as u64)
}

/// Returns the text for `ostype`. Proxmox has one type for a desktop and the related servers
/// (`win10` is Windows 10, 2016 and 2019), so the text does not name a desktop.
fn system(text: &str) -> String {
    match text {
        "l26" | "l24" => "Linux".to_owned(),
        other if other.starts_with('w') => format!("Windows ({other})"),
        other => other.to_owned(),
    }
}

impl Format for Rates {
    fn name(&self) -> &'static str {
        RATES
    }

    /// Returns true for a list of samples. The samples of a VM that was always off have times and
    /// limits, but no values.
    fn fits(&self, input: &Input<'_>) -> bool {
        let is_known = ["diskread", "diskwrite", "maxcpu", "maxmem", "cpu", "netin"];
        let is_empty = input.json.as_ref().and_then(Value::as_array).is_some_and(Vec::is_empty);
        is_empty || (has(input, "time") && is_known.iter().any(|key| has(input, key)))
    }

    fn read(&self, input: &Input<'_>, found: &mut Findings) -> Result<Vec<Record>, ReadError> {
        let rate = |key: &str| {
            // Hours in which it was off have no values.
            let values = list(input).iter().filter_map(|one| one.get(key)?.as_f64());
            series::percentile(values.collect())
        };
        let load = Load {
            read_bytes_per_s: rate("diskread"),
            written_bytes_per_s: rate("diskwrite"),
            ..Load::default()
        };
        if !load.is_known() {
            found.note(match list(input).is_empty() {
                true => format!("{} is an empty list and adds nothing", input.path),
                false => format!("no I/O in {} (powered off all week?)", input.path),
            });
            return Ok(Vec::new());
        }
        let name = input.vm()?.to_owned();
        let facts = Facts { load, ..Facts::default() };
        let (id, number) = (String::new(), String::new());
        Ok(vec![Record { at: input.at("", 1), name, id, number, lists: false, facts }])
    }
}
