//! Proxmox VE: `pvesh get /cluster/resources --type vm --output-format json` lists machines and containers, and
//! `pvesh get /nodes/NODE/qemu/ID/rrddata --timeframe week --cf MAX --output-format json` has what one wrote and read, as
//! bytes a second. It counts no I/Os, so those are made of bytes by the class's sizes.

use serde_json::Value;
use units::Bytes;

use super::{Format, Input};
use crate::error::ReadError;
use crate::place::BadRows;
use crate::row::{Facts, LeftOut, Record};
use crate::series;
use crate::vm::Load;

pub(super) struct Resources;
pub(super) struct Rates;

const RESOURCES: &str = "pvesh get /cluster/resources (JSON)";
const RATES: &str = "pvesh get .../rrddata (JSON)";

fn list<'a>(input: &'a Input<'_>) -> &'a [Value] {
    input.json.as_ref().and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn has(input: &Input<'_>, key: &str) -> bool {
    list(input).iter().any(|one| one.get(key).is_some())
}

impl Format for Resources {
    fn name(&self) -> &'static str {
        RESOURCES
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        has(input, "vmid")
    }

    fn read(&self, input: &Input<'_>, bad: &mut BadRows) -> Result<Vec<Record>, ReadError> {
        let mut records = Vec::new();
        for (row, one) in (1..).zip(list(input)) {
            // Nodes, storages and pools stand in the same list.
            let kind = one.get("type").and_then(Value::as_str).unwrap_or("qemu");
            if !["qemu", "lxc"].contains(&kind) {
                continue;
            }
            let at = input.at("", row);
            let id = one.get("vmid").and_then(Value::as_u64);
            let Some(id) = id else {
                bad.add(&at, "it has no vmid");
                continue;
            };
            let name = one
                .get("name")
                .and_then(Value::as_str)
                .map_or_else(|| id.to_string(), str::to_owned);
            // A container knows what it uses; of a machine `disk` is always 0.
            let bytes =
                |key| one.get(key).and_then(Value::as_u64).filter(|own| *own > 0).map(Bytes::new);
            let is_template = one.get("template").and_then(Value::as_u64) == Some(1);
            let is_off =
                one.get("status").and_then(Value::as_str).is_some_and(|own| own != "running");
            let out = is_template.then_some(LeftOut::Template).or(is_off.then_some(LeftOut::Off));
            let vcpus = one.get("maxcpu").and_then(Value::as_f64);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of processors"
            )]
            let vcpus = vcpus.map(|count| count.clamp(0.0, 65536.0) as u32);
            let facts = Facts {
                vcpus,
                provisioned: bytes("maxdisk"),
                used: bytes("disk"),
                out,
                ..Facts::default()
            };
            records.push(Record { at, name, id: id.to_string(), lists: true, facts });
        }
        Ok(records)
    }
}

impl Format for Rates {
    fn name(&self) -> &'static str {
        RATES
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        has(input, "diskread") && has(input, "time")
    }

    fn read(&self, input: &Input<'_>, _: &mut BadRows) -> Result<Vec<Record>, ReadError> {
        let name = input.vm()?.to_owned();
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
        let facts = Facts { load, ..Facts::default() };
        Ok(vec![Record { at: input.at("", 1), name, id: String::new(), lists: false, facts }])
    }
}
