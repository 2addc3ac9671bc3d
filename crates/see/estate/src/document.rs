//! An estate on paper: what was read, how it was sorted, what a tile is, and what nobody measured.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::demand;
use units::print::{count, number, percent};
use units::{Bytes, Nanos};

use crate::class::{Rates, Rule};
use crate::collect::{Inventory, first_names};
use crate::mix::{Estate, Member, Part};
use crate::place::BadRows;
use crate::row::LeftOut;
use crate::workload::workload;

/// Name and version of the document. Minor versions only add fields.
pub const ESTATE_SCHEMA: &str = "tilemark.estate/1.0";

/// The document, `estate.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EstateSheet {
    /// [`ESTATE_SCHEMA`].
    pub schema: String,
    /// The program's version.
    pub tool: String,
    /// The estate's name.
    pub name: String,
    /// The files it was read from.
    pub files: Vec<String>,
    /// Machines that were listed.
    pub listed: u32,
    /// Machines that are not part of the load, by reason.
    pub left_out: IndexMap<LeftOut, u32>,
    /// Bytes of raw disks, which are another array's and are not part of it.
    pub raw_bytes: u64,
    /// Rows that could not be used.
    pub bad_rows: BadRows,
    /// Machines that are part of it.
    pub vms: u32,
    /// Those of them whose size nobody knows: they have the mean of their class.
    pub unsized_vms: u32,
    /// So many tiles are all of it.
    pub tiles: f64,
    /// Machines in a tile.
    pub tile_vms: u32,
    /// Its classes.
    pub classes: Vec<ClassRow>,
    /// What its machines hold and do, together.
    pub estate: Totals,
    /// What so many tiles as it has hold and do: the difference is what the classing costs.
    pub as_tiles: Totals,
    /// What is not known, and how it can be found out.
    pub missing: Vec<String>,
    /// Sentences about files: what they add, and how they were understood.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Its machines.
    pub machines: Vec<VmRow>,
}

/// A class of machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassRow {
    /// Its name, and that of its workload.
    pub class: String,
    /// Machines of the estate.
    pub vms: u32,
    /// Machines of a tile.
    pub in_tile: u32,
    /// Machines whose load was measured.
    pub measured: u32,
    /// What they hold and do, together.
    pub totals: Totals,
    /// The busiest machine's I/Os over the mean of its class: one of a tile has the mean.
    pub most_over_mean: f64,
}

/// Sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Bytes used.
    pub bytes: u64,
    /// Reads a second.
    pub reads_per_s: f64,
    /// Writes a second.
    pub writes_per_s: f64,
    /// Bytes read a second.
    pub read_bytes_per_s: f64,
    /// Bytes written a second.
    pub written_bytes_per_s: f64,
}

impl Totals {
    /// Reads and writes a second.
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

/// A machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VmRow {
    /// Its name, or a number if names were left out.
    pub vm: String,
    /// Its class.
    pub class: String,
    /// Why it is in it.
    pub why: String,
    /// Bytes on its disks.
    pub bytes: u64,
    /// Reads a second.
    pub reads_per_s: f64,
    /// Writes a second.
    pub writes_per_s: f64,
    /// Whether any of its load was measured; otherwise all of it is assumed.
    pub measured: bool,
}

/// The JSON Schema of the document.
pub fn estate_json_schema() -> serde_json::Value {
    schemars::schema_for!(EstateSheet).to_value()
}

/// Makes the document.
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

/// What the workload of a class, as it was written, holds and does in all tiles.
fn made(estate: &Estate, part: &Part) -> Totals {
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

fn class_row(part: &Part) -> ClassRow {
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

/// So many machines are named as those worth measuring first.
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
            "the load of {} of {} is assumed: {} I/Os a second, {} of all; record what may matter most ({}) with \
             tilemark record --vm NAME, or add measured rates",
            count(assumed.len() as u64, "machine"),
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
            "of {} bytes were measured and no I/Os: their rates follow from sizes that are assumed",
            count(bytes_only as u64, "machine")
        ));
    }
    let names = |of: &dyn Fn(&Member) -> bool| -> Vec<&str> {
        members.iter().filter(|own| of(own)).map(|own| own.vm.name.as_str()).collect()
    };
    let unclassed = names(&|member| member.rule == Rule::Rest);
    if !unclassed.is_empty() {
        found.push(format!(
            "{} of {} fit no rule ({}) and are taken for other servers: --class 'CLASS=*TEXT*' says what names mean",
            unclassed.len(),
            members.len(),
            first_names(&unclassed)
        ));
    }
    let first_disk = names(&|member| member.vm.is_first_disk && member.vm.used.is_none());
    if !first_disk.is_empty() {
        found.push(format!(
            "of {} ({}) only the size of the first disk is known (maxdisk of Proxmox): sizes are a lower bound; pvesh get \
             /nodes/NODE/qemu/ID/config --output-format json has all disks, given as VM=FILE",
            count(first_disk.len() as u64, "machine"),
            first_names(&first_disk)
        ));
    }
    let provisioned = names(&|member| {
        member.vm.used.is_none_or(|used| used == Bytes::ZERO) && member.vm.size().is_some()
    });
    if !provisioned.is_empty() {
        found.push(format!(
            "what is used of {} ({}) is not known: all that {} provisioned was taken",
            count(provisioned.len() as u64, "machine"),
            first_names(&provisioned),
            if provisioned.len() == 1 { "it has" } else { "they have" }
        ));
    }
    if estate.unsized_vms > 0 {
        found.push(format!(
            "the size of {} is not known: the mean of the class was taken",
            count(u64::from(estate.unsized_vms), "machine")
        ));
    }
    found.push(
        "working sets are assumed (90 % of the I/Os to 10 % of the data): tilemark analyze of a recording shows them"
            .to_owned(),
    );
    if inventory.raw > Bytes::ZERO {
        found.push(format!("{} of raw disks are another array's, and are left out", inventory.raw));
    }
    found
}
