//! Formats the neighbours of a VM as sentences.

use run_store::slice::Direction;
use serde::Serialize;
use units::print::bytes_per_second;
#[cfg(feature = "hosts")]
use watch::HostNote;
use watch::{Neighbour, Neighbours};

#[cfg(feature = "hosts")]
use super::watch_hosts::HostNoteRow;

/// The document of `watch neighbours --format json`.
#[derive(Debug, Serialize)]
pub struct NeighbourDocument {
    schema: &'static str,
    /// Hosts that were asked; absent for the store of this host.
    #[cfg(feature = "hosts")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<HostNoteRow>,
    vm: String,
    /// Number of examined neighbours, each an initiator, a disk and a direction.
    examined: usize,
    neighbours: Vec<Row>,
    /// Pairs of neighbours whose loads rise together, so that neither can be named.
    together: Vec<[String; 2]>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    disk: String,
    /// Direction of the neighbour's I/O.
    direction: &'static str,
    /// Minimum rate at which the neighbour's load counts as high.
    bytes_per_s: f64,
    /// Direction of the VM's I/O that gets slower.
    felt_by: &'static str,
    /// Factor by which the VM's latency rises; `times_low` and `times_high` are its interval at 95
    /// %.
    times: f64,
    times_low: f64,
    times_high: f64,
    slices: usize,
    days_slower: usize,
    days: usize,
}

impl NeighbourDocument {
    /// Builds the document from the result for a VM.
    pub fn new(vm: &str, found: &Neighbours) -> Self {
        let pair = |(first, second): &(_, _)| {
            [first, second].map(|name: &std::sync::Arc<str>| name.to_string())
        };
        Self {
            schema: "tilemark.watch-neighbours/1.0",
            #[cfg(feature = "hosts")]
            hosts: Vec::new(),
            vm: vm.to_owned(),
            examined: found.examined,
            neighbours: found.named.iter().map(Row::new).collect(),
            together: found.together.iter().map(pair).collect(),
        }
    }

    /// Builds the document from the result for a VM over several hosts.
    #[cfg(feature = "hosts")]
    pub fn of_hosts(vm: &str, found: &Neighbours, notes: &[HostNote]) -> Self {
        let hosts = notes.iter().map(HostNoteRow::new).collect();
        let schema = "tilemark.watch-hosts-neighbours/1.0";
        Self { schema, hosts, ..Self::new(vm, found) }
    }

    /// Returns a text for people.
    pub fn text(&self) -> String {
        let vm = untrusted::shown(&self.vm);
        let mut lines: Vec<String> = self.neighbours.iter().map(|own| own.sentence(&vm)).collect();
        for [first, second] in &self.together {
            lines.push(format!(
                "{} and {} have much I/O at the same times, when {vm} is slower: it is unknown \
                 which of the two causes it.",
                untrusted::shown(first),
                untrusted::shown(second)
            ));
        }
        if lines.is_empty() {
            let examined = super::count(self.examined as u64, "neighbour");
            lines.push(format!(
                "{vm} is not slower while others have much I/O ({examined} examined)."
            ));
        }
        lines.join("\n") + "\n"
    }
}

impl Row {
    fn new(own: &Neighbour) -> Self {
        Self {
            name: own.name.to_string(),
            disk: own.disk.to_string(),
            direction: own.direction.name(),
            bytes_per_s: own.bytes_per_s,
            felt_by: own.felt_by.name(),
            times: own.times.value,
            times_low: own.times.low,
            times_high: own.times.high,
            slices: own.slices,
            days_slower: own.days_slower,
            days: own.days,
        }
    }

    fn sentence(&self, vm: &str) -> String {
        let verb = if self.direction == Direction::Write.name() { "writes" } else { "reads" };
        let felt_by = match self.felt_by {
            "read" => "reads",
            "write" => "writes",
            _ => "flushes",
        };
        format!(
            "While {} {verb} {} or more on {}, {vm}'s {felt_by} take {:.1} times as long ({:.1} to \
             {:.1}), on {} of {}.",
            untrusted::shown(&self.name),
            bytes_per_second(self.bytes_per_s),
            untrusted::shown(&self.disk),
            self.times,
            self.times_low,
            self.times_high,
            self.days_slower,
            super::count(self.days as u64, "day"),
        )
    }
}
