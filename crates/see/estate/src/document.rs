//! Document of an estate: files, classes, the tile, and what was not measured.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::demand;
use units::print::{count, number, percent};
use units::{Bytes, Nanos};

use crate::class::{Rates, Rule};
use crate::collect::{Inventory, first_names};
use crate::mix::{ClassVms, Estate, Member};
use crate::place::BadRows;
use crate::row::LeftOut;
use crate::workload::workload;

/// Name and version of the document. Minor versions only add fields.
pub const ESTATE_SCHEMA: &str = "tilemark.estate/1.0";

/// The document, `estate.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EstateSheet {
    /// Schema name and version, [`ESTATE_SCHEMA`].
    pub schema: String,
    /// Version of the program.
    pub tool: String,
    /// Name of the estate.
    pub name: String,
    /// Files of the estate.
    pub files: Vec<String>,
    /// Number of listed VMs.
    pub listed: u32,
    /// VMs that are not part of the load, by reason.
    pub left_out: IndexMap<LeftOut, u32>,
    /// Bytes of raw disks, which belong to another array and are not counted.
    pub raw_bytes: u64,
    /// Unusable rows.
    pub bad_rows: BadRows,
    /// VMs that are part of the load.
    pub vms: u32,
    /// VMs without a known size, which have the mean size of their class.
    pub unsized_vms: u32,
    /// Number of tiles that together equal the estate.
    pub tiles: f64,
    /// VMs in a tile.
    pub tile_vms: u32,
    /// Classes of the estate.
    pub classes: Vec<ClassRow>,
    /// Totals of the estate's VMs.
    pub estate: Totals,
    /// Totals of this number of tiles. The difference from the totals of the estate is the error of
    /// the classes.
    pub as_tiles: Totals,
    /// Missing facts, and ways to find them.
    pub missing: Vec<String>,
    /// Sentences about each file: its contribution, and how it was read.
    #[serde(default)]
    pub notes: Vec<String>,
    /// VMs of the estate.
    pub machines: Vec<VmRow>,
}

/// Class of VMs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassRow {
    /// Name of the class and of its workload.
    pub class: String,
    /// VMs of the estate in this class.
    pub vms: u32,
    /// VMs of a tile in this class.
    pub in_tile: u32,
    /// VMs with a measured load.
    pub measured: u32,
    /// Totals of the class.
    pub totals: Totals,
    /// I/O rate of the busiest VM, divided by the mean of its class; the VMs of a tile have the
    /// mean.
    pub most_over_mean: f64,
}

/// Sums of sizes and rates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Bytes used.
    pub bytes: u64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub written_bytes_per_s: f64,
}

impl Totals {
    /// Returns the number of reads and writes per second.
    pub fn io_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }

    fn of(bytes: f64, rates: &Rates) -> Self {
        Self {
            bytes: crate::mix::bytes(bytes).get(),
            reads_per_s: rates.reads_per_s,
            writes_per_s: rates.writes_per_s,
            read_bytes_per_s: rates.read_bytes_per_s,
            written_bytes_per_s: rates.written_bytes_per_s,
        }
    }

    fn add(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.reads_per_s += other.reads_per_s;
        self.writes_per_s += other.writes_per_s;
        self.read_bytes_per_s += other.read_bytes_per_s;
        self.written_bytes_per_s += other.written_bytes_per_s;
    }
}

/// Virtual machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VmRow {
    /// Name, or a number if the VMs are anonymous.
    pub vm: String,
    /// Name of the class.
    pub class: String,
    /// Rule that chose the class.
    pub why: String,
    /// Bytes on the VM's disks.
    pub bytes: u64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// True if any of the VM's load was measured; otherwise all of it is assumed.
    pub measured: bool,
}

/// Returns the JSON Schema of the document.
pub fn estate_json_schema() -> serde_json::Value {
    schemars::schema_for!(EstateSheet).to_value()
}

/// Makes the document of an estate.
pub fn sheet(
    estate: &Estate,
    inventory: &Inventory,
    files: Vec<String>,
    tool: &str,
) -> EstateSheet {
    let mut all = Totals::default();
    let mut as_tiles = Totals::default();
    for part in &estate.parts {
        all.add(&Totals::of(part.bytes, &part.rates));
        as_tiles.add(&made(estate, part));
    }
    let whole = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    EstateSheet {
        schema: ESTATE_SCHEMA.to_owned(),
        tool: tool.to_owned(),
        name: estate.name.clone(),
        files,
        listed: whole(inventory.listed()),
        left_out: inventory.left_out.iter().copied().collect(),
        raw_bytes: inventory.raw.get(),
        bad_rows: inventory.bad.clone(),
        vms: whole(estate.members.len()),
        unsized_vms: estate.unsized_vms,
        tiles: estate.tiles,
        tile_vms: estate.parts.iter().map(|part| part.in_tile).sum(),
        classes: estate.parts.iter().map(class_row).collect(),
        estate: all,
        as_tiles,
        missing: missing(estate, inventory),
        notes: inventory.notes.clone(),
        machines: estate.members.iter().map(vm_row).collect(),
    }
}

/// Calculates the totals of a class's workload over all tiles.
fn made(estate: &Estate, part: &ClassVms) -> Totals {
    let workload = workload(estate, part);
    let times = estate.tiles * f64::from(part.in_tile);
    let bytes = demand::footprint(&workload).as_f64() * times;
    let asks = demand::of_workload(&workload, Nanos::from_millis(1)).unwrap_or_default();
    let rates = Rates {
        reads_per_s: asks.reads_per_s,
        writes_per_s: asks.writes_per_s,
        read_bytes_per_s: asks.read_bytes_per_s,
        written_bytes_per_s: asks.written_bytes_per_s,
    };
    Totals::of(bytes, &rates.times(times))
}

fn class_row(part: &ClassVms) -> ClassRow {
    let mean = part.rates.io_per_s() / f64::from(part.vms);
    ClassRow {
        class: part.class().name.clone(),
        vms: part.vms,
        in_tile: part.in_tile,
        measured: part.measured,
        totals: Totals::of(part.bytes, &part.rates),
        most_over_mean: if mean > 0.0 { part.most_io / mean } else { 1.0 },
    }
}

fn vm_row(member: &Member) -> VmRow {
    VmRow {
        vm: member.vm.name.clone(),
        class: crate::CLASSES[member.class].name.clone(),
        why: member.rule.words(),
        bytes: member.size.get(),
        reads_per_s: member.rates.reads_per_s,
        writes_per_s: member.rates.writes_per_s,
        measured: member.is_measured(),
    }
}

/// Maximum number of VMs that are named as worth measuring first.
const NAMED: usize = 3;

fn missing(estate: &Estate, inventory: &Inventory) -> Vec<String> {
    let mut found = Vec::new();
    let members = &estate.members;
    let mut assumed: Vec<&Member> = members.iter().filter(|member| !member.is_measured()).collect();
    if !assumed.is_empty() {
        let io =
            |members: &[&Member]| members.iter().map(|member| member.rates.io_per_s()).sum::<f64>();
        let all: f64 = members.iter().map(|member| member.rates.io_per_s()).sum();
        let share = if all > 0.0 { io(&assumed) / all } else { 0.0 };
        assumed.sort_by(|a, b| b.rates.io_per_s().total_cmp(&a.rates.io_per_s()));
        let names: Vec<&str> =
            assumed.iter().take(NAMED).map(|member| member.vm.name.as_str()).collect();
        found.push(format!(
            "the load of {} of {} is assumed: {} I/Os a second, {} of all. Record the VMs that may matter most ({}) with \
             tilemark record --vm NAME, or add measured rates",
            count(assumed.len() as u64, "VM"),
            members.len(),
            number(io(&assumed)),
            percent(share),
            names.join(", ")
        ));
    }
    let bytes_only =
        members.iter().filter(|member| member.is_measured() && !member.vm.load.has_io()).count();
    if bytes_only > 0 {
        found.push(format!(
            "bytes of {} were measured, but no I/Os: their rates follow from assumed sizes",
            count(bytes_only as u64, "VM")
        ));
    }
    let names = |of: &dyn Fn(&Member) -> bool| -> Vec<&str> {
        members.iter().filter(|own| of(own)).map(|own| own.vm.name.as_str()).collect()
    };
    let unclassed = names(&|member| member.rule == Rule::Rest);
    if !unclassed.is_empty() {
        found.push(format!(
            "{} of {} match no rule ({}) and count as other servers: --class 'CLASS=*TEXT*' \
            assigns classes by name",
            unclassed.len(),
            members.len(),
            first_names(&unclassed)
        ));
    }
    let first_disk = names(&|member| member.vm.is_first_disk && member.vm.used.is_none());
    if !first_disk.is_empty() {
        found.push(format!(
            "for {} ({}) only the size of the first disk is known (maxdisk of Proxmox): sizes are \
             a lower bound. pvesh get /nodes/NODE/qemu/ID/config --output-format json has all \
             disks, given as VM=FILE",
            count(first_disk.len() as u64, "VM"),
            first_names(&first_disk)
        ));
    }
    let provisioned = names(&|member| {
        member.vm.used.is_none_or(|used| used == Bytes::ZERO) && member.vm.size().is_some()
    });
    if !provisioned.is_empty() {
        found.push(format!(
            "the used space of {} ({}) is unknown: all space that {} provisioned was taken",
            count(provisioned.len() as u64, "VM"),
            first_names(&provisioned),
            if provisioned.len() == 1 { "it has" } else { "they have" }
        ));
    }
    if estate.unsized_vms > 0 {
        found.push(format!(
            "the size of {} is unknown: the mean of the class was taken",
            count(u64::from(estate.unsized_vms), "VM")
        ));
    }
    found.push(
        "working sets are assumed (90 % of the I/Os go to 10 % of the data): tilemark analyze of a \
        recording shows the real ones"
            .to_owned(),
    );
    if inventory.raw > Bytes::ZERO {
        found
            .push(format!("{} of raw disks are on another array, and are left out", inventory.raw));
    }
    found
}
