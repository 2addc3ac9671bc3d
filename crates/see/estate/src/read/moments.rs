//! Combines the rows of one VM. Rows of different disks are added; rows of different times are not.
//! Over time each figure becomes its 95th percentile.

// Circle: a table passes its rows here, and this module asks the table for the kind of its rows.
use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use units::Bytes;

use super::table::Rows;
use crate::place::Findings;
use crate::row::Record;
use crate::series;
use crate::vm::Load;

/// Row of a table, with its time and its disk.
#[derive(Debug)]
pub(super) struct Moment {
    pub record: Record,
    /// Time as written; empty if the table has no times.
    pub time: String,
    /// Name of the disk or instance; empty if the table has none.
    pub part: String,
}

/// Properties that distinguish a table's rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub rows: Rows,
    pub has_time: bool,
    pub has_parts: bool,
}

/// Names that exports use for the sum of all disks, which they list in addition to the disks.
const TOTALS: [&str; 5] = ["", "_total", "total", "*", "all"];

/// Makes records from rows. If rows differ by time, each VM has one record.
pub(super) fn fold(rows: Vec<Moment>, kind: Kind, found: &mut Findings) -> Vec<Record> {
    let has_load = |row: &Moment| row.record.facts.load.is_known();
    let is_loads = matches!(kind.rows, Rows::Loads | Rows::Disks);
    if !kind.has_time && (!is_loads || !rows.iter().any(has_load)) {
        return rows.into_iter().map(|row| row.record).collect();
    }
    let mut vms: IndexMap<(String, String), Vec<Moment>> = IndexMap::new();
    for row in rows {
        let key = (row.record.name.clone(), row.record.id.clone());
        vms.entry(key).or_default().push(row);
    }
    let mut records = Vec::new();
    for (_, rows) in vms {
        let rows = if kind.has_parts { without_totals(rows) } else { rows };
        if kind.has_time {
            records.extend(over_time(rows, kind, found));
        } else {
            records.extend(at_once(rows, kind, found));
        }
    }
    records
}

/// Removes the loads of single disks of a VM whose total is also listed.
fn without_totals(mut rows: Vec<Moment>) -> Vec<Moment> {
    let is_total = |row: &Moment| TOTALS.contains(&row.part.trim().to_lowercase().as_str());
    let totals = rows.iter().filter(|row| is_total(row)).count();
    if totals > 0 && totals < rows.len() {
        for row in &mut rows {
            if !is_total(row) {
                row.record.facts.load = Load::default();
            }
        }
    }
    rows
}

/// Handles rows without a time. They are the VM's disks if they have different disk names.
fn at_once(mut rows: Vec<Moment>, kind: Kind, found: &mut Findings) -> Vec<Record> {
    let parts: BTreeSet<&str> = rows.iter().map(|row| row.part.as_str()).collect();
    let with_load = rows.iter().filter(|row| row.record.facts.load.is_known()).count();
    let is_told_apart = kind.has_parts && parts.len() == rows.len();
    if with_load > 1 && !is_told_apart {
        let what = format!(
            "\"{}\" has {with_load} rows, but it is unknown whether they are disks or times. Add a \
             column of times (Timestamp) or of disks (Disk, Instance), or give --column \
             time=HEADING, --column disk=HEADING",
            rows[0].record.name
        );
        found.bad.add(&rows[0].record.at, what);
        // Their loads are unusable, but the same rows may have sizes.
        rows.iter_mut().for_each(|row| row.record.facts.load = Load::default());
        if kind.rows == Rows::Loads {
            rows.clear();
        }
    }
    rows.into_iter().map(|row| row.record).collect()
}

/// Makes one record from all times of a VM.
fn over_time(rows: Vec<Moment>, kind: Kind, found: &mut Findings) -> Option<Record> {
    let mut loads: BTreeMap<String, BTreeMap<String, Load>> = BTreeMap::new();
    let mut told: BTreeSet<(String, String)> = BTreeSet::new();
    let mut kept = Vec::new();
    for row in rows {
        let is_new = told.insert((row.part.clone(), row.time.clone()));
        if !is_new && kind.has_parts {
            let what = format!("\"{}\" has this time twice", row.record.name);
            found.bad.add(&row.record.at, what);
            continue;
        }
        if row.record.facts.load.is_known() {
            let of_part = loads.entry(row.part.clone()).or_default();
            of_part.entry(row.time.clone()).or_default().add(&row.record.facts.load);
        }
        kept.push(row);
    }
    let is_on = kept.iter().any(|row| row.record.facts.out.is_none());
    let (disk, consumed, raw) = (
        largest(&kept, |row| row.record.facts.disk),
        largest(&kept, |row| row.record.facts.consumed),
        largest(&kept, |row| row.record.facts.raw),
    );
    let mut kept = kept.into_iter().map(|row| row.record);
    let mut whole = kept.next()?;
    for row in kept {
        let (own, other) = (&mut whole.facts, row.facts);
        own.provisioned = own.provisioned.max(other.provisioned);
        own.used = own.used.max(other.used);
        own.vcpus = own.vcpus.max(other.vcpus);
        own.class = own.class.take().or(other.class);
        if own.os.is_empty() {
            own.os = other.os;
        }
        own.out = own.out.or(other.out);
        own.is_on |= other.is_on;
    }
    // A VM that was on at any time made load.
    if is_on {
        whole.facts.out = None;
    }
    (whole.facts.disk, whole.facts.consumed, whole.facts.raw) = (disk, consumed, raw);
    whole.facts.load = load(loads);
    Some(whole)
}

/// Returns the sum over disks of each disk's largest size over time. Rows of the same time and disk
/// name are added first.
fn largest(rows: &[Moment], size: impl Fn(&Moment) -> Option<Bytes>) -> Option<Bytes> {
    let mut parts: BTreeMap<&str, BTreeMap<&str, Bytes>> = BTreeMap::new();
    for row in rows {
        if let Some(size) = size(row) {
            let own = parts.entry(&row.part).or_default().entry(&row.time).or_default();
            *own = *own + size;
        }
    }
    let of_part = |times: BTreeMap<&str, Bytes>| times.into_values().max();
    parts.into_values().filter_map(of_part).reduce(|sum, own| sum + own)
}

/// Returns the 95th percentile over time of all disks together. If the disks were measured at
/// different times, each disk has its own percentile, and the percentiles are added. The sum is
/// then rather too large than too small.
fn load(disks: BTreeMap<String, BTreeMap<String, Load>>) -> Load {
    let mut disks: Vec<BTreeMap<String, Load>> = disks.into_values().collect();
    let is_aligned = disks.windows(2).all(|pair| pair[0].keys().eq(pair[1].keys()));
    if is_aligned {
        let mut together: BTreeMap<String, Load> = BTreeMap::new();
        for (time, load) in disks.drain(..).flatten() {
            together.entry(time).or_default().add(&load);
        }
        disks.push(together);
    }
    let mut sum = Load::default();
    for disk in disks {
        sum.add(&percentiles(&disk.into_values().collect::<Vec<_>>()));
    }
    sum
}

/// Calculates the percentiles of loads at several times.
pub(super) fn percentiles(moments: &[Load]) -> Load {
    let figure =
        |of: fn(&Load) -> Option<f64>| series::percentile(moments.iter().filter_map(of).collect());
    Load {
        reads_per_s: figure(|load| load.reads_per_s),
        writes_per_s: figure(|load| load.writes_per_s),
        io_per_s: figure(|load| load.io_per_s),
        read_share: read_share(moments),
        read_bytes_per_s: figure(|load| load.read_bytes_per_s),
        written_bytes_per_s: figure(|load| load.written_bytes_per_s),
    }
}

/// Calculates the share of reads in the I/Os of all times.
fn read_share(moments: &[Load]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = moments
        .iter()
        .filter_map(|load| Some((load.read_share?, load.io_per_s.unwrap_or(1.0))))
        .collect();
    let all: f64 = pairs.iter().map(|(_, io)| io).sum();
    let reads: f64 = pairs.iter().map(|(share, io)| share * io).sum();
    if all > 0.0 { Some(reads / all) } else { pairs.first().map(|(share, _)| *share) }
}
