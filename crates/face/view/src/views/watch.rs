//! View `watch`: the VMs that suffer most on a watched host, their use of disks, and the parts of
//! their latency.

use std::collections::{BTreeMap, BTreeSet};

use analyze::USUAL_LIMIT;
use run_store::gauge::{Folded, GaugeName};
use run_store::slice::Direction;
use units::print::{count, percent};
use units::{Nanos, Ratio};
use watch::{Cell, HostNote, HostSets, Load, Merged, SetRow, SetSpan, Slice};

use crate::document::{
    LatencySplit, SetSpanLines, WatchPage, WatchedHost, WatchedLoad, WatchedSets,
};
use crate::request::Lens;
use crate::source::{Source, Watched};

/// Maximum number of VMs with lines of working sets.
const SETS_MAX: usize = 6;
/// Maximum number of VMs, and of disks, in the lists.
const ROWS_MAX: usize = 100;
const HOUR_NS: u64 = 3_600_000_000_000;

/// Makes view `watch`: VMs, disks, working sets and parts of the latency in the lens's time.
pub(crate) fn watch(source: &Source, lens: &Lens) -> WatchPage {
    let Some(watched) = source.watched() else {
        let sentence = "This is not a watched host.".to_owned();
        return WatchPage { sentence, ..WatchPage::default() };
    };
    let (from, to) = lens.time.unwrap_or_default();
    let window = (from, to.unwrap_or(source.rollup().end()));
    let made = watched.page(&(window, lens.points, lens.workloads.clone()), || {
        let merged = watched.window(window, lens.points.into()).unwrap_or_default();
        page(watched, lens, window, &merged)
    });
    WatchPage::clone(&made)
}

fn page(watched: &Watched, lens: &Lens, window: (Nanos, Nanos), merged: &Merged) -> WatchPage {
    let slices = &merged.slices;
    let newest = watched.newest_sets();
    let names = Names::of(watched, slices);
    let time = slices.iter().fold(Nanos::ZERO, |sum, own| sum.saturating_add(own.watched));
    let loads = Load::by_vm(slices, USUAL_LIMIT);
    let vms = loads.iter().take(ROWS_MAX).map(|load| WatchedLoad {
        set: newest_set(&newest, &load.name),
        hosts: merged.hosts.get(&load.name).cloned().unwrap_or_default(),
        ..row(load, time, names.of_vm(&load.name))
    });
    let vms = vms.collect();
    let disks = Load::by_disk(slices, USUAL_LIMIT);
    let of_parts = Load::by_disk(&merged.parts, USUAL_LIMIT);
    let disk = |load: &Load, workloads| WatchedLoad {
        busy_share: busy(slices, &load.name),
        ..row(load, time, workloads)
    };
    let disks = disks.iter().take(ROWS_MAX).map(|load| {
        let is_part = |own: &&Load| {
            let mut parts = merged.disks.iter();
            parts.any(|part| part.storage == load.name && part.disk == own.name)
        };
        let parts = of_parts.iter().filter(is_part).map(|own| disk(own, Vec::new())).collect();
        WatchedLoad { parts, ..disk(load, names.of_disk(&load.name)) }
    });
    let disks = disks.collect();
    let chosen = names.chosen(&lens.workloads);
    let (sets, sets_left_out) = sets(watched, lens, window, chosen.as_ref());
    let hosts = hosts(watched);
    WatchPage {
        sentence: sentence(&loads, merged, &hosts),
        hosts,
        limit_ns: USUAL_LIMIT.0,
        vms,
        disks,
        sets,
        sets_left_out,
        split: split(watched, slices, lens, chosen.as_ref()),
    }
}

/// Returns the hosts with their state after all requests for a page.
fn hosts(watched: &Watched) -> Vec<WatchedHost> {
    let host = |note: HostNote| {
        let (trouble, hint) = note
            .trouble
            .map(|own| (own.text, own.hint))
            .map_or((None, None), |own| (Some(own.0), own.1));
        WatchedHost { name: note.host, trouble, hint, clock_ahead_s: note.clock_ahead_s }
    };
    watched.hosts().into_iter().map(host).collect()
}

/// Describes the newest working set of a day. Sets of two hosts cannot be added, because the same
/// data may be in both. If several sets are equally new, the largest is described.
fn newest_set(all: &[HostSets], vm: &str) -> Option<String> {
    let of_vm = |own: &&SetRow| *own.vm == *vm && own.span == SetSpan::Day && own.used_bytes > 0;
    let rows = all.iter().flat_map(|own| own.rows.iter().filter(of_vm).map(|row| (&own.host, row)));
    let rows: Vec<_> = rows.collect();
    let (host, row) = rows.iter().max_by_key(|(_, row)| (row.start_s, row.used_bytes))?;
    let is_one = rows.iter().all(|(other, _)| other == host);
    Some(if is_one { row.words() } else { format!("{} (on {host})", row.words()) })
}

fn sentence(loads: &[Load], merged: &Merged, hosts: &[WatchedHost]) -> String {
    let limit = USUAL_LIMIT;
    let place = |load: &Load| {
        let hosts = merged.hosts.get(&load.name).filter(|_| !is_process(load, merged));
        hosts.map_or_else(String::new, |hosts| format!(" (on {})", hosts.join(", then ")))
    };
    let first = match loads.first() {
        None => "No I/O completed in this time.".to_owned(),
        Some(first) if first.slow == 0 => format!("No I/O took longer than {limit}."),
        Some(first) => format!(
            "{}{} suffers most: {} of its I/Os took longer than {limit}.",
            first.name,
            place(first),
            percent(first.slow_share())
        ),
    };
    let lost = hosts.iter().filter(|host| host.trouble.is_some());
    let lost: Vec<&str> = lost.map(|host| host.name.as_str()).collect();
    match lost.is_empty() {
        true => first,
        false => format!("{first} Not included: {}.", lost.join(", ")),
    }
}

/// Returns true for an initiator that is named `HOST/NAME`.
fn is_process(load: &Load, merged: &Merged) -> bool {
    let hosts = merged.hosts.get(&load.name).into_iter().flatten();
    hosts
        .into_iter()
        .any(|host| load.name.strip_prefix(host.as_str()).is_some_and(|rest| rest.starts_with('/')))
}

#[expect(clippy::cast_precision_loss, reason = "rates are read to a few digits")]
fn row(load: &Load, time: Nanos, workloads: Vec<String>) -> WatchedLoad {
    let seconds = time.as_secs_f64().max(f64::MIN_POSITIVE);
    let p95 = |direction| load.percentile(direction, Ratio::new(0.95)).map(|own| own.0);
    WatchedLoad {
        name: load.name.to_string(),
        hosts: Vec::new(),
        parts: Vec::new(),
        workloads,
        others: u32::try_from(load.others).unwrap_or(u32::MAX),
        operations_per_s: load.ios as f64 / seconds,
        bytes_per_s: load.bytes as f64 / seconds,
        read_p95_ns: p95(Direction::Read),
        write_p95_ns: p95(Direction::Write),
        flush_p95_ns: p95(Direction::Flush),
        slow_share: load.slow_share(),
        queue_share: load.queue_share(),
        failed: load.failed,
        set: None,
        busy_share: None,
    }
}

/// Returns the share of the time in which a disk was busy.
fn busy(slices: &[Slice], disk: &str) -> Option<f64> {
    let name = GaugeName::DeviceBusy;
    let read = slices.iter().flat_map(|slice| &slice.gauges);
    let own = read.filter(|((own, scope), _)| *own == name && **scope == *disk).map(|own| *own.1);
    own.reduce(|all: Folded, later| all.and_then(name.merging(), later)).map(|all| all.value)
}

/// Tuples of VM, disk, workload name in the lens, and whether the workload counts for the VM.
struct Names(BTreeSet<(String, String, String, bool)>);

impl Names {
    fn of(watched: &Watched, slices: &[Slice]) -> Self {
        let keys: BTreeSet<_> = slices
            .iter()
            .flat_map(|slice| slice.io.keys())
            .filter(|key| !key.is_guest_side())
            .map(|key| (&key.vm, &key.disk, watched.name(key), key.is_counted()))
            .collect();
        let own = keys.into_iter().map(|(vm, disk, name, is_counted)| {
            (vm.to_string(), disk.to_string(), name.into(), is_counted)
        });
        Self(own.collect())
    }

    fn of_vm(&self, vm: &str) -> Vec<String> {
        let own = self.0.iter().filter(|own| own.0 == vm && own.3);
        own.map(|own| own.2.clone()).collect()
    }

    fn of_disk(&self, disk: &str) -> Vec<String> {
        let own = self.0.iter().filter(|own| own.1 == disk).map(|own| own.2.clone());
        own.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the VMs of the chosen workloads; `None` if none is chosen.
    fn chosen(&self, workloads: &[String]) -> Option<BTreeSet<String>> {
        let own = || self.0.iter().filter(|own| workloads.contains(&own.2));
        (!workloads.is_empty()).then(|| own().map(|own| own.0.clone()).collect())
    }
}

/// Makes the lines of working sets, and counts the VMs that were left out.
fn sets(
    watched: &Watched,
    lens: &Lens,
    window: (Nanos, Nanos),
    chosen: Option<&BTreeSet<String>>,
) -> (Vec<WatchedSets>, u32) {
    let hours = (window.1.saturating_sub(window.0)).0.div_ceil(HOUR_NS);
    let step = hours.div_ceil(u64::from(lens.points).max(1)).max(1);
    let mut by_vm: BTreeMap<(String, String), Vec<SetRow>> = BTreeMap::new();
    for own in watched.sets(window, step * 3600) {
        for row in own.rows {
            if chosen.is_none_or(|chosen| chosen.contains(&*row.vm)) {
                let rows = by_vm.entry((row.vm.to_string(), own.host.clone())).or_default();
                rows.push(row);
            }
        }
    }
    // Whoever uses the most last is shown first.
    let last = |rows: &[SetRow]| {
        let day = rows.iter().filter(|row| row.span == SetSpan::Day);
        day.max_by_key(|row| row.start_s).map_or(0, |row| row.used_bytes)
    };
    let mut all: Vec<((String, String), Vec<SetRow>)> = by_vm.into_iter().collect();
    let moved: BTreeSet<String> = all
        .windows(2)
        .filter(|two| two[0].0.0 == two[1].0.0)
        .map(|two| two[0].0.0.clone())
        .collect();
    all.sort_by_key(|(_, rows)| std::cmp::Reverse(last(rows)));
    let left_out = u32::try_from(all.len().saturating_sub(SETS_MAX)).unwrap_or(u32::MAX);
    all.truncate(SETS_MAX);
    let lines = all.into_iter().map(|((vm, host), rows)| {
        let host = moved.contains(&vm).then_some(host);
        WatchedSets { host, ..set_lines(watched, vm, &rows, step) }
    });
    (lines.collect(), left_out)
}

fn set_lines(watched: &Watched, vm: String, rows: &[SetRow], step: u64) -> WatchedSets {
    let starts: BTreeSet<u64> = rows.iter().map(|row| row.start_s).collect();
    let day = rows.iter().filter(|row| row.span == SetSpan::Day).max_by_key(|row| row.start_s);
    let spans = SetSpan::ALL.map(|span| {
        let by_start: BTreeMap<u64, &SetRow> =
            rows.iter().filter(|row| row.span == span).map(|row| (row.start_s, row)).collect();
        let own = || starts.iter().map(|start_s| by_start.get(start_s));
        SetSpanLines {
            span: span.name().to_owned(),
            read_bytes: own().map(|row| row.map(|row| row.read_bytes)).collect(),
            written_bytes: own().map(|row| row.map(|row| row.written_bytes)).collect(),
            used_bytes: own().map(|row| row.map(|row| row.used_bytes)).collect(),
            error: own().map(|row| row.map(|row| row.error())).collect(),
            is_whole: own().map(|row| row.map(|row| row.is_whole())).collect(),
        }
    });
    WatchedSets {
        vm,
        host: None,
        sentence: day.map_or_else(String::new, |row| format!("{}.", row.words())),
        at_ns: starts.iter().map(|start_s| watched.position(*start_s).0).collect(),
        width_ns: vec![step * HOUR_NS; starts.len()],
        spans: spans.into(),
    }
}

/// Sums of one point.
#[derive(Debug, Clone, Copy, Default)]
struct Means {
    count: u64,
    latency_ns: u64,
    queue_ns: u64,
}

impl Means {
    fn add(&mut self, cell: &Cell) {
        self.count = self.count.saturating_add(cell.count);
        self.latency_ns = self.latency_ns.saturating_add(cell.latency_ns);
        self.queue_ns = self.queue_ns.saturating_add(cell.queue_ns.unwrap_or(0));
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is read to a few digits")]
    fn mean(self, sum: u64) -> Option<f64> {
        (self.count > 0).then(|| sum as f64 / self.count as f64)
    }
}

/// Splits the latency of the chosen VMs, or of all VMs, into its parts.
fn split(
    watched: &Watched,
    slices: &[Slice],
    lens: &Lens,
    chosen: Option<&BTreeSet<String>>,
) -> Option<LatencySplit> {
    let mut points: Vec<(Means, Means)> = Vec::with_capacity(slices.len());
    for slice in slices {
        let (mut guest, mut host) = (Means::default(), Means::default());
        for (key, cell) in &slice.io {
            // Only QEMU's own counters are without sizes. They are of all disks of a VM.
            if key.class.is_none() {
                if chosen.is_none_or(|chosen| chosen.contains(&*key.vm)) {
                    guest.add(cell);
                }
            } else if cell.queue_ns.is_some() && watched.is_chosen(key, &lens.workloads) {
                host.add(cell);
            }
        }
        points.push((guest, host));
    }
    let all = |pick: fn(&(Means, Means)) -> Means| {
        points.iter().map(pick).fold(Means::default(), |sum, own| Means {
            count: sum.count.saturating_add(own.count),
            latency_ns: sum.latency_ns.saturating_add(own.latency_ns),
            queue_ns: sum.queue_ns.saturating_add(own.queue_ns),
        })
    };
    let (guests, hosts) = (all(|own| own.0), all(|own| own.1));
    if guests.count == 0 && hosts.count == 0 {
        return None;
    }
    let absent_or = |is_there: bool, of: &dyn Fn(&(Means, Means)) -> Option<f64>| {
        if is_there { points.iter().map(of).collect() } else { Vec::new() }
    };
    let device = |own: Means| own.latency_ns.saturating_sub(own.queue_ns);
    Some(LatencySplit {
        sentence: split_sentence(guests, hosts),
        at_ns: slices.iter().map(|slice| watched.position(slice.start_s).0).collect(),
        width_ns: slices.iter().map(|slice| slice.width_s * Nanos::SECOND.0).collect(),
        guest_ns: absent_or(guests.count > 0, &|own| own.0.mean(own.0.latency_ns)),
        guest_count: points.iter().map(|own| own.0.count).collect(),
        queue_ns: absent_or(hosts.count > 0, &|own| own.1.mean(own.1.queue_ns)),
        device_ns: absent_or(hosts.count > 0, &|own| own.1.mean(device(own.1))),
        host_count: points.iter().map(|own| own.1.count).collect(),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean in ns")]
fn split_sentence(guests: Means, hosts: Means) -> String {
    let mean = |sums: Means, sum: u64| Nanos(sums.mean(sum).unwrap_or(0.0).round() as u64);
    let mut parts = Vec::new();
    if guests.count > 0 {
        let ios = count(guests.count, "I/O");
        parts.push(format!("guests wait {} ({ios})", mean(guests, guests.latency_ns)));
    }
    if hosts.count > 0 {
        let device_ns = hosts.latency_ns.saturating_sub(hosts.queue_ns);
        parts.push(format!("the host queues for {}", mean(hosts, hosts.queue_ns)));
        let ios = count(hosts.count, "I/O");
        parts.push(format!("the device takes {} ({ios})", mean(hosts, device_ns)));
    }
    let absent = match (guests.count, hosts.count) {
        (0, _) => " No guest reports its wait.",
        (_, 0) => " The host's kernel does not see these disks.",
        _ => "",
    };
    format!("On average {}.{absent}", parts.join(", "))
}
