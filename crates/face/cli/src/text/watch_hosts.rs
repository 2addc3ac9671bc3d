//! Formats the state of the watch stores of several hosts, and the VMs of all hosts that suffer
//! most.

use analyze::USUAL_LIMIT;
use serde::Serialize;
use units::{Bytes, Nanos};
use watch::{HostNote, HostSets, HostState, Load, Merged, SetRow};

use super::Table;
use super::watch::{ROWS_MAX, VmRow, load_table, stamp};

/// The document of `watch status --host --format json`.
#[derive(Debug, Serialize)]
pub struct HostsStatus {
    schema: &'static str,
    hosts: Vec<HostRow>,
    /// Begin of the window in seconds since 1970; absent if there is no data.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_s: Option<u64>,
    /// Time in which at least one host was watched, nanoseconds.
    watched_ns: u64,
    /// Events that were lost.
    lost_events: u64,
    /// Files that could not be read.
    unreadable_files: u64,
    /// Latency above which an I/O is slow.
    limit_ns: u64,
    /// Initiators of all hosts, sorted by their number of slow I/Os, highest first.
    vms: Vec<SenderRow>,
    /// Disks, in the same order. Storage that several disks share has one row.
    disks: Vec<DiskRow>,
}

/// Note about a host.
#[derive(Debug, Serialize)]
pub struct HostNoteRow {
    host: String,
    /// Reason why the numbers leave this host out.
    trouble: Option<String>,
    hint: Option<String>,
    /// Seconds by which the host's clock is ahead of this computer's clock; absent if less than a
    /// slice.
    clock_ahead_s: Option<i64>,
}

#[derive(Debug, Serialize)]
struct HostRow {
    #[serde(flatten)]
    note: HostNoteRow,
    /// Size of all files of the store in bytes; absent if the host did not report it.
    bytes: Option<u64>,
    from_s: Option<u64>,
    to_s: Option<u64>,
}

#[derive(Debug, Serialize)]
struct SenderRow {
    /// Hosts, sorted by the time of the first I/O on each.
    hosts: Vec<String>,
    /// Host of the shown working sets, for a VM that several hosts saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    sets_of: Option<String>,
    #[serde(flatten)]
    row: VmRow,
}

#[derive(Debug, Serialize)]
struct DiskRow {
    disk: String,
    #[serde(flatten)]
    load: LoadRow,
    /// Disks of the hosts that are this storage.
    parts: Vec<PartRow>,
}

#[derive(Debug, Serialize)]
struct PartRow {
    disk: String,
    #[serde(flatten)]
    load: LoadRow,
}

/// Numbers of a disk: a row of an initiator without name and working sets.
#[derive(Debug)]
struct LoadRow(VmRow);

impl Serialize for LoadRow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(&self.0).map_err(serde::ser::Error::custom)?;
        if let Some(fields) = value.as_object_mut() {
            fields.remove("vm");
            fields.remove("working_sets");
        }
        value.serialize(serializer)
    }
}

impl HostsStatus {
    /// Builds the state of the stores, with sums over a window and the newest working sets.
    pub fn new(
        notes: &[HostNote],
        states: &[HostState],
        merged: &Merged,
        sets: &[HostSets],
    ) -> Self {
        let slices = &merged.slices;
        let watched = slices.iter().fold(Nanos::ZERO, |sum, own| sum.saturating_add(own.watched));
        let vm = |load: &Load| {
            let (sets_of, rows) = newest(sets, &load.name);
            let hosts = merged.hosts.get(&load.name).cloned().unwrap_or_default();
            SenderRow { hosts, sets_of, row: VmRow::new(load, watched, &rows) }
        };
        let of_parts = Load::by_disk(&merged.parts, USUAL_LIMIT);
        let part = |load: &Load| PartRow {
            disk: load.name.to_string(),
            load: LoadRow(VmRow::new(load, watched, &[])),
        };
        let disk = |load: &Load| {
            let is_part = |own: &&Load| {
                let mut parts = merged.disks.iter();
                parts.any(|part| part.storage == load.name && part.disk == own.name)
            };
            let PartRow { disk, load: own } = part(load);
            DiskRow { disk, load: own, parts: of_parts.iter().filter(is_part).map(part).collect() }
        };
        Self {
            schema: "tilemark.watch-hosts-status/1.0",
            hosts: notes.iter().map(|note| HostRow::new(note, states)).collect(),
            from_s: slices.first().map(|own| own.start_s),
            to_s: slices.last().map(|own| own.start_s + own.width_s),
            watched_ns: watched.0,
            lost_events: slices.iter().map(|own| own.lost).fold(0, u64::saturating_add),
            unreadable_files: merged.unreadable,
            limit_ns: USUAL_LIMIT.0,
            vms: Load::by_vm(slices, USUAL_LIMIT).iter().map(vm).collect(),
            disks: Load::by_disk(slices, USUAL_LIMIT).iter().map(disk).collect(),
        }
    }

    /// Returns a text for people.
    pub fn text(&self) -> String {
        let mut lines = self.host_lines();
        lines.push(String::new());
        let Some((from, to)) = self.from_s.zip(self.to_s) else {
            return lines.join("\n") + "nothing was seen\n";
        };
        let (from, to, watched) = (stamp(from), stamp(to), Nanos(self.watched_ns));
        lines.push(format!("{from} to {to} (UTC), {watched} of it watched"));
        if self.lost_events > 0 {
            let lost = super::count(self.lost_events, "event");
            lines.push(format!("{lost} lost: the numbers below are too small"));
        }
        if self.unreadable_files > 0 {
            let files = super::count(self.unreadable_files, "file");
            lines.push(format!("{files} could not be read: their time is left out"));
        }
        lines.push(String::new());
        let mut table = load_table(&["VM", "host"], self.limit_ns);
        for own in self.vms.iter().take(ROWS_MAX) {
            let names = vec![shown(&own.row.vm), shown(&own.hosts.join(", then "))];
            table.row([names, own.row.cells()].concat());
        }
        lines.extend(table.lines());
        lines.extend(more(self.vms.len()));
        lines.push(String::new());
        let mut table = load_table(&["disk"], self.limit_ns);
        for own in self.disks.iter().take(ROWS_MAX) {
            table.row([vec![shown(&own.disk)], own.load.0.cells()].concat());
            for part in &own.parts {
                let name = format!("  {}", shown(&part.disk));
                table.row([vec![name], part.load.0.cells()].concat());
            }
        }
        lines.extend(table.lines());
        lines.extend(more(self.disks.len()));
        lines.extend(self.set_lines());
        lines.join("\n") + "\n"
    }

    fn host_lines(&self) -> Vec<String> {
        let mut table = Table::new(&["host", ">store", "from", "to", ""]);
        for own in &self.hosts {
            let time = |time: Option<u64>| time.map_or_else(String::new, stamp);
            let bytes = own.bytes.map_or_else(String::new, |bytes| Bytes::new(bytes).to_string());
            let (host, note) = (shown(&own.note.host), own.note.text().unwrap_or_default());
            table.row(vec![host, bytes, time(own.from_s), time(own.to_s), note]);
        }
        let mut lines = table.lines();
        lines.extend(self.hosts.iter().filter_map(|own| own.note.hint_line()));
        lines
    }

    fn set_lines(&self) -> Vec<String> {
        let sentence = |own: &SenderRow| {
            let host = own.sets_of.as_ref().map(|host| format!(" (on {})", shown(host)));
            Some(own.row.set_sentence()? + &host.unwrap_or_default())
        };
        let sets: Vec<String> = self.vms.iter().take(ROWS_MAX).filter_map(sentence).collect();
        let head = [String::new(), "Working sets".to_owned()];
        if sets.is_empty() { sets } else { head.into_iter().chain(sets).collect() }
    }
}

impl HostNoteRow {
    /// Builds the row of a note.
    pub fn new(note: &HostNote) -> Self {
        let trouble = note.trouble.as_ref();
        Self {
            host: note.host.clone(),
            trouble: trouble.map(|own| own.text.clone()),
            hint: trouble.and_then(|own| own.hint.clone()),
            clock_ahead_s: note.clock_ahead_s,
        }
    }

    /// Returns lines for people; none if the host is in the numbers and its clock is right.
    pub fn lines(&self) -> Vec<String> {
        let text = self.text().map(|text| format!("host {}: {text}", shown(&self.host)));
        text.into_iter().chain(self.hint_line()).collect()
    }

    fn text(&self) -> Option<String> {
        let trouble = self.trouble.as_deref().map(|text| format!("left out: {}", shown(text)));
        trouble.or_else(|| self.clock_ahead_s.map(clock))
    }

    fn hint_line(&self) -> Option<String> {
        let hint = self.hint.as_deref()?;
        Some(format!("hint: {}: {}", shown(&self.host), shown(hint)))
    }
}

impl HostRow {
    fn new(note: &HostNote, states: &[HostState]) -> Self {
        let state = states.iter().find(|own| own.host == note.host);
        let (from_s, to_s) = state.and_then(|own| own.bounds).unzip();
        let bytes = state.map(|own| own.state.bytes);
        Self { note: HostNoteRow::new(note), bytes, from_s, to_s }
    }
}

/// Returns the newest working sets of a VM, and their host if several hosts have sets. Sets of two
/// hosts cannot be added, because the same data may be in both.
fn newest(all: &[HostSets], vm: &str) -> (Option<String>, Vec<SetRow>) {
    let of = |own: &HostSets| -> Vec<SetRow> {
        own.rows.iter().filter(|row| *row.vm == *vm).cloned().collect()
    };
    let rows: Vec<(&str, Vec<SetRow>)> =
        all.iter().map(|own| (own.host.as_str(), of(own))).collect();
    let rows: Vec<_> = rows.into_iter().filter(|(_, rows)| !rows.is_empty()).collect();
    let several = rows.len() > 1;
    let last = |rows: &[SetRow]| rows.iter().map(|row| (row.start_s, row.used_bytes)).max();
    let newest = rows.into_iter().max_by_key(|(_, rows)| last(rows));
    let (host, rows) = newest.unzip();
    (host.filter(|_| several).map(str::to_owned), rows.unwrap_or_default())
}

fn shown(text: &str) -> String {
    untrusted::shown(text).into_owned()
}

/// Describes the difference of a clock.
pub fn clock(ahead_s: i64) -> String {
    let by = Nanos::from_secs(ahead_s.unsigned_abs());
    let how = if ahead_s > 0 { "ahead" } else { "behind" };
    format!("its clock is {by} {how}: its times are wrong by as much")
}

fn more(rows: usize) -> Option<String> {
    (rows > ROWS_MAX).then(|| format!("and {} more", rows - ROWS_MAX))
}
