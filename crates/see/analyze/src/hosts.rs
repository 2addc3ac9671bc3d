//! Analyzes recordings of several hosts over the same time, all together and host by host.

use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use trace::store::Machine;
use trace::{Clock, Device, Losses, Senders, TraceInfo};
use units::Nanos;

use crate::document::{Analysis, Remark};
use crate::fold::{Filter, Fold, Settings, Sums, Unknown};
use crate::material::{Subject, View};
use crate::views::{Options, analyse};

/// Schema id of [`HostsAnalysis`]: a minor version only adds fields.
pub const HOSTS_SCHEMA: &str = "tilemark.hosts-analysis/1.0";

/// Analysis of one host's part of a recording, made on that host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostPart {
    /// Name of the host in the recording.
    pub host: String,
    /// Path of the trace on the host.
    pub trace: String,
    /// Size of the trace in bytes; the trace stays on the host.
    pub trace_bytes: u64,
    /// Uncertainty of the host's clock when the recording began, nanoseconds.
    pub clock_known_to_ns: u64,
    /// Initiators of I/O, by index.
    pub vms: Vec<String>,
    /// Initiators that are virtual machines.
    pub machines: Vec<Machine>,
    /// Devices, by index.
    pub devices: Vec<String>,
    /// Events lost because the kernel's buffer was full.
    pub lost_events: u64,
    /// True if the end of the trace is missing.
    pub is_unfinished: bool,
    /// Sums that can be added to those of other hosts.
    pub sums: Sums,
    /// Answer of the host, without time slices, which are in the sums.
    pub analysis: Analysis,
}

impl HostPart {
    /// Adds the time slices to the host's answer.
    fn tell_time(&mut self, settings: &Settings, options: &Options) -> Result<(), Unknown> {
        let mut fold = Fold::new(settings);
        let all = |names: &[String]| (0..names.len()).map(index).collect::<Vec<_>>();
        fold.beside(self.sums.clone(), &all(&self.vms), &all(&self.devices))?;
        let mut facts = Facts::default();
        facts.add(self);
        let info = facts.info(self.vms.clone(), Vec::new());
        let subject = Subject { name: String::new(), info, remarks: Vec::new() };
        let options = Options { views: vec![View::Time], ..options.clone() };
        let Analysis { slice_ns, time, .. } = analyse(fold, &subject, &options);
        (self.analysis.slice_ns, self.analysis.time) = (slice_ns, time);
        Ok(())
    }

    fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name == name)
    }
}

/// Analysis of a recording over several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostsAnalysis {
    /// Schema name and version: `tilemark.hosts-analysis/1.0`.
    pub schema: String,
    /// Program with its version.
    pub tool: String,
    /// Name of the recording.
    pub recording: String,
    /// Virtual machines, with the hosts that saw them.
    pub machines: Vec<MachineRow>,
    /// All hosts together. A VM keeps its name across hosts; other initiators and devices are named
    /// `HOST/NAME`.
    pub all: Analysis,
    /// Separate answers of the hosts.
    pub hosts: Vec<HostAnalysis>,
}

/// Answer of one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostAnalysis {
    /// Name of the host in the recording.
    pub host: String,
    /// Path of the trace on the host.
    pub trace: String,
    /// Size of the trace in bytes.
    pub trace_bytes: u64,
    /// Uncertainty of the host's clock, and so of its times compared with other hosts, nanoseconds.
    pub clock_known_to_ns: u64,
    /// Events lost because the kernel's buffer was full.
    pub lost_events: u64,
    /// Analysis of the trace.
    pub analysis: Analysis,
}

/// A virtual machine on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRow {
    /// Name of the VM in `all`.
    pub vm: String,
    /// UUID, if a recording contains it.
    pub uuid: Option<String>,
    /// Name of the host.
    pub host: String,
    /// I/Os on this host that transferred data.
    pub count: u64,
    /// Bytes of these I/Os.
    pub bytes: u64,
    /// Begin of the first time slice with I/O on this host, nanoseconds from the recording's start.
    pub from_ns: u64,
    /// End of the last time slice with I/O on this host, nanoseconds from the recording's start.
    pub to_ns: u64,
    /// True if other hosts also saw the VM.
    pub moved: bool,
}

/// Names of all hosts' initiators and devices.
#[derive(Debug, Default)]
struct Names {
    senders: Senders,
    devices: Vec<String>,
}

impl Names {
    fn vm(&mut self, host: &str, name: &str, machine: Option<&Machine>) -> u16 {
        index(self.senders.position(host, name, machine))
    }

    fn vms(&self) -> &[String] {
        self.senders.names()
    }
}

/// Converts a position to an index. A trace has no more than 65,536 names, so further initiators
/// share the last.
fn index(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

/// Analyzes the parts of all hosts; `settings` and `options` must be the ones that the hosts used.
///
/// # Errors
///
/// If a host's sums contain an initiator or device without a name; the error names the host.
pub fn analyse_hosts(
    recording: &str,
    parts: Vec<HostPart>,
    settings: &Settings,
    options: &Options,
) -> Result<HostsAnalysis, (String, Unknown)> {
    let (mut fold, mut names) = (Fold::new(settings), Names::default());
    let (mut machines, mut hosts) = (Vec::new(), Vec::new());
    let mut filter = Filter { vms: None, devices: None, ..options.filter.clone() };
    let mut facts = Facts::default();
    for mut part in parts {
        if options.views.contains(&View::Time) {
            let told = part.tell_time(settings, options);
            told.map_err(|error| (part.host.clone(), error))?;
        }
        let host = &part.host;
        let vms: Vec<u16> =
            part.vms.iter().map(|name| names.vm(host, name, part.machine(name))).collect();
        let first = names.devices.len();
        names.devices.extend(part.devices.iter().map(|name| format!("{host}/{name}")));
        let devices: Vec<u16> = (first..names.devices.len()).map(index).collect();
        let wanted = &part.analysis.filter;
        keep(&mut filter.vms, &wanted.vms, &part.vms, &vms);
        keep(&mut filter.devices, &wanted.devices, &part.devices, &devices);
        machines.extend(seen(&part, &vms, &names));
        facts.add(&part);
        fold.beside(part.sums, &vms, &devices).map_err(|error| (part.host.clone(), error))?;
        hosts.push(HostAnalysis {
            host: part.host,
            trace: part.trace,
            trace_bytes: part.trace_bytes,
            clock_known_to_ns: part.clock_known_to_ns,
            lost_events: part.lost_events,
            analysis: part.analysis,
        });
    }
    mark_moved(&mut machines);
    let remarks = remarks(&facts, &hosts, machines.iter().any(|row| row.moved));
    let info = facts.info(names.vms().to_vec(), names.devices);
    let subject = Subject { name: recording.to_owned(), info, remarks };
    let all = analyse(fold, &subject, &Options { filter, ..options.clone() });
    Ok(HostsAnalysis {
        schema: HOSTS_SCHEMA.to_owned(),
        tool: options.tool.clone(),
        recording: recording.to_owned(),
        machines,
        all,
        hosts,
    })
}

/// Returns the virtual machines that a host saw; `vms` are their indices among all hosts'
/// initiators.
fn seen(part: &HostPart, vms: &[u16], names: &Names) -> Vec<MachineRow> {
    let row = |(at, (name, here)): (usize, (&String, &u16))| {
        let seen = part.sums.seen(index(at))?;
        Some(MachineRow {
            vm: names.vms()[usize::from(*here)].clone(),
            uuid: part.machine(name)?.uuid.clone(),
            host: part.host.clone(),
            count: seen.count,
            bytes: seen.bytes,
            from_ns: seen.from.0,
            to_ns: seen.to.0,
            moved: false,
        })
    };
    part.vms.iter().zip(vms).enumerate().filter_map(row).collect()
}

/// Marks VMs that several hosts saw, and sorts by time.
fn mark_moved(machines: &mut [MachineRow]) {
    machines.sort_by(|a, b| (&a.vm, a.from_ns, &a.host).cmp(&(&b.vm, b.from_ns, &b.host)));
    for of_one in machines.chunk_by_mut(|a, b| a.vm == b.vm) {
        let moved = of_one.iter().any(|row| row.host != of_one[0].host);
        of_one.iter_mut().for_each(|row| row.moved = moved);
    }
}

/// Adds a host's indices of the wanted names to the filter.
fn keep(filter: &mut Option<Vec<u16>>, wanted: &[String], names: &[String], here: &[u16]) {
    if wanted.is_empty() {
        return;
    }
    let kept = names.iter().zip(here).filter(|(name, _)| wanted.contains(name));
    let list = filter.get_or_insert_default();
    list.extend(kept.map(|(_, here)| *here));
    list.sort_unstable();
    list.dedup();
}

/// Facts of all traces together.
#[derive(Debug, Default)]
struct Facts {
    resolution: Nanos,
    started_unix_ns: Option<i64>,
    losses: Losses,
    /// Hosts whose trace is unfinished.
    unfinished: Vec<String>,
}

impl Facts {
    fn add(&mut self, part: &HostPart) {
        let source = &part.analysis.source;
        self.resolution = self.resolution.max(Nanos(source.resolution_ns.unwrap_or(0)));
        let earlier = self.started_unix_ns.into_iter().chain(source.started_unix_ns).min();
        self.started_unix_ns = earlier;
        self.unfinished.extend(part.is_unfinished.then(|| part.host.clone()));
        self.losses.bad += source.bad;
        self.losses.dropped += source.dropped;
        self.losses.disordered += source.disordered;
        self.losses.skipped += source.skipped;
        let told = source.examples.iter().map(|text| format!("{}: {text}", part.host));
        self.losses.examples.extend(told);
    }

    fn info(self, vms: Vec<String>, devices: Vec<String>) -> TraceInfo {
        let device = |name| Device { name, size: None };
        TraceInfo {
            format: "hosts",
            clock: Clock::Real { resolution: self.resolution },
            started_unix_ns: self.started_unix_ns,
            has_latency: true,
            vms,
            devices: devices.into_iter().map(device).collect(),
            losses: self.losses,
        }
    }
}

/// Lists questions that several hosts together cannot answer.
fn remarks(facts: &Facts, hosts: &[HostAnalysis], has_moved: bool) -> Vec<Remark> {
    let remark = |what: &str, why: String| Remark { what: what.to_owned(), why };
    let mut all = Vec::new();
    for host in &facts.unfinished {
        let Remark { what, why } = Remark::unfinished();
        all.push(Remark { what: format!("{what} of host {host}"), why });
    }
    for host in hosts.iter().filter(|host| host.lost_events > 0) {
        all.push(remark(
            &format!("all I/O of host {}", host.host),
            format!("its kernel lost {} events", host.lost_events),
        ));
    }
    if hosts.len() < 2 {
        return all;
    }
    if let Some(worst) = hosts.iter().max_by_key(|host| host.clock_known_to_ns) {
        all.push(remark(
            "when, more exactly",
            format!(
                "when the recording began, the hosts' clocks were known within {} at worst (host \
                {})",
                Nanos(worst.clock_known_to_ns),
                worst.host
            ),
        ));
    }
    all.push(remark(
        "working sets, miss ratios and tiers of all hosts as one",
        "the traces do not show which devices of two hosts are the same storage; each host has its \
        own figures"
            .to_owned(),
    ));
    all.push(remark(
        "the busiest moments of all hosts as one",
        "sums of hosts do not include them; each host has its own".to_owned(),
    ));
    all.push(remark(
        "sequential I/O and outstanding I/Os over hosts",
        "both are counted on each host and added: I/O of another host in between is not considered"
            .to_owned(),
    ));
    if has_moved {
        all.push(remark(
            "the busiest moments of a VM that moved",
            "each host that the VM was on has its own".to_owned(),
        ));
    }
    all
}

/// Returns the JSON Schema of [`HostsAnalysis`].
pub fn hosts_json_schema() -> serde_json::Value {
    schema_for!(HostsAnalysis).to_value()
}

#[cfg(test)]
mod tests;
