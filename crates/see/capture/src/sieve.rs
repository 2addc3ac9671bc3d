//! Filters events in the kernel, while that saves time.
//!
//! A filter costs time for every event that passes: the event is written to a temporary buffer,
//! compared, and copied (kernel `kernel/trace/trace.c`, `trace_event_buffer_lock_reserve`;
//! measured: 65 ns, while an event without a filter takes about 250). Without a filter, events of
//! other disks are written and read for nothing. So a filter is set while other disks have a large
//! share of all I/O, and removed while their share is small.

use std::fs;

use crate::decode::Kind;
use crate::devices::{Disk, Reach, all_disks};
use crate::error::CaptureError;
use crate::tracefs::Instance;

/// Maximum number of devices in a filter; with more devices, all events are read and then sorted in
/// this program.
const DEVICES_MAX: usize = 64;
/// Interval of measuring the disks' shares.
const LOOK_NS: u64 = 1_000_000_000;
/// Minimum number of I/Os in the interval for a change.
const SAMPLE_MIN: u64 = 1_000;
/// Ratio of own I/Os to I/Os of other disks up to which a filter is set: 250 ns against 65.
const WORTH: u64 = 4;
/// Ratio above which the filter is removed.
const NOT_WORTH: u64 = 8;

/// Kernel filters of a capture's events.
#[derive(Debug)]
pub(crate) struct Sieve {
    filters: Vec<Filter>,
    watched: Vec<String>,
    /// Other disks that have such events, at the start; disks added later are not counted.
    others: Vec<String>,
    looked: u64,
    /// I/Os completed at the last look, on captured and on other disks.
    ended: Option<[u64; 2]>,
    is_on: bool,
}

/// Filter of an event that other disks also have, with the expression that passes only captured
/// disks.
#[derive(Debug)]
struct Filter {
    file: String,
    expression: String,
}

impl Sieve {
    /// Creates the state for a new capture of these disks; no filter is set yet.
    pub fn new(disks: &[Disk], now: u64) -> Self {
        let watched = disks.iter().map(|disk| disk.name.clone()).collect();
        let (filters, others) = (Vec::new(), Vec::new());
        Self { filters, watched, others, looked: now, ended: None, is_on: true }
    }

    /// Sets an event's filter, if it needs one.
    pub fn add(
        &mut self,
        instance: &Instance,
        kind: Kind,
        disks: &[Disk],
    ) -> Result<(), CaptureError> {
        let all = all_disks();
        let Some(expression) = expression(kind, disks, &all) else { return Ok(()) };
        for disk in all.iter().filter(|disk| is_other(kind, disks, disk)) {
            if !self.others.contains(&disk.name) && !self.watched.contains(&disk.name) {
                self.others.push(disk.name.clone());
            }
        }
        let file = format!("events/block/{}/filter", kind.name());
        instance.write(&file, &expression)?;
        self.filters.push(Filter { file, expression });
        Ok(())
    }

    /// Sets or removes the filters once a second, by the disks' shares of all I/O.
    pub fn look(&mut self, instance: &Instance, now: u64) -> Result<(), CaptureError> {
        if self.filters.is_empty() || now.saturating_sub(self.looked) < LOOK_NS {
            return Ok(());
        }
        self.looked = now;
        let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
        self.decide(instance, [&self.watched, &self.others].map(|names| ended(&text, names)))
    }

    fn decide(&mut self, instance: &Instance, ended: [u64; 2]) -> Result<(), CaptureError> {
        let before = self.ended.replace(ended).unwrap_or(ended);
        let [ours, others] = [0, 1].map(|place| ended[place].saturating_sub(before[place]));
        let is_on = is_worth(self.is_on, ours, others);
        if is_on != self.is_on {
            for filter in &self.filters {
                instance.write(&filter.file, if is_on { &filter.expression } else { "0" })?;
            }
            self.is_on = is_on;
        }
        Ok(())
    }
}

/// Returns true if a filter saves more time than it costs.
fn is_worth(is_on: bool, ours: u64, others: u64) -> bool {
    if ours + others < SAMPLE_MIN {
        return is_on;
    }
    let limit = if is_on { NOT_WORTH } else { WORTH };
    ours <= others.saturating_mul(limit)
}

/// Counts the completed I/Os of these disks, from `/proc/diskstats` (kernel
/// `Documentation/admin-guide/iostats.rst`, fields 1, 5, 12 and 16).
fn ended(text: &str, names: &[String]) -> u64 {
    let of = |line: &str| -> u64 {
        let mut words = line.split_whitespace().skip(2);
        let is_one = words.next().is_some_and(|name| names.iter().any(|have| have == name));
        let fields = (1..).zip(words).filter(|(number, _)| [1, 5, 12, 16].contains(number));
        if is_one { fields.filter_map(|(_, word)| word.parse::<u64>().ok()).sum() } else { 0 }
    };
    text.lines().map(of).sum()
}

/// Returns the kernel filter for a kind of events; `None` if there are too many devices, or if no
/// other disk has such events.
///
/// Requests name their disk. Bios name the partition that they are sent to, although their sectors
/// count from the start of the disk.
fn expression(kind: Kind, disks: &[Disk], all: &[Disk]) -> Option<String> {
    let reach = kind.reach();
    let with_partitions = reach == Reach::Bios || kind == Kind::FrontMerge;
    if !all.iter().any(|disk| is_other(kind, disks, disk)) {
        return None;
    }
    let devs = disks.iter().filter(|disk| disk.reach == reach).flat_map(|disk| {
        let count = if with_partitions { disk.devs.len() } else { 1 };
        let moved = disk.moved_ends.as_ref().filter(|_| kind == Kind::BioComplete);
        disk.devs.iter().take(count).chain(moved.map(|own| &own.behind))
    });
    let terms: Vec<String> = devs.map(|dev| format!("dev == {dev}")).collect();
    (terms.len() <= DEVICES_MAX).then(|| terms.join(" || "))
}

/// Returns true if a disk has events of this kind that are not recorded. Bios are sent to every
/// disk, including disks with requests.
fn is_other(kind: Kind, watched: &[Disk], disk: &Disk) -> bool {
    let reach = kind.reach();
    let happens = reach == Reach::Bios || disk.reach == reach;
    happens && !(disk.reach == reach && watched.iter().any(|have| have.name == disk.name))
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::moved::MovedEnds;

    fn disk(name: &str, reach: Reach, devs: &[u32]) -> Disk {
        let (name, devs, size) = (name.to_owned(), devs.to_vec(), Bytes::new(1 << 30));
        Disk { name, reach, size, devs, queues: 1, held: Vec::new(), moved_ends: None }
    }

    #[test]
    fn a_filter_names_partitions_only_where_events_do() {
        let ours = disk("sda", Reach::Requests, &[8, 9]);
        let all = [ours.clone(), disk("sdb", Reach::Requests, &[16])];
        let ours = [ours];
        assert_eq!(expression(Kind::Issue, &ours, &all).as_deref(), Some("dev == 8"));
        let merge = expression(Kind::FrontMerge, &ours, &all);
        assert_eq!(merge.as_deref(), Some("dev == 8 || dev == 9"));
        assert_eq!(expression(Kind::Issue, &ours, &ours), None, "there are no others");
    }

    #[test]
    fn filter_of_ends_passes_those_told_of_another_disk() {
        let moved_ends = Some(MovedEnds { own: 251, behind: 254, shift: 16 });
        let ours = [Disk { moved_ends, ..disk("bcache0", Reach::Bios, &[251]) }];
        let all = [ours[0].clone(), disk("sda", Reach::Requests, &[254])];
        let of = |kind| expression(kind, &ours, &all);
        assert_eq!(of(Kind::BioQueue).as_deref(), Some("dev == 251"));
        assert_eq!(of(Kind::BioComplete).as_deref(), Some("dev == 251 || dev == 254"));
    }

    #[test]
    fn a_filter_is_given_up_and_taken_back_with_a_margin_between() {
        assert!(is_worth(true, 8_000, 1_000));
        assert!(!is_worth(true, 8_001, 1_000));
        assert!(!is_worth(false, 4_001, 1_000));
        assert!(is_worth(false, 4_000, 1_000));
        assert!(is_worth(true, 900, 0) && !is_worth(false, 0, 900), "too few to tell");
        assert!(!is_worth(true, 1_000, 0) && is_worth(false, 0, 1_000));
    }

    #[test]
    fn diskstats_count_all_operations_and_no_partitions() {
        let text = "   8  0 sda 10 1 1 1 20 1 1 1 0 1 1 3 1 1 1 4 1\n\
                    8 1 sda1 10 1 1 1 20 1 1 1 0 1 1 3 1 1 1 4 1\n cut\n 7 0 old 5 1 1 1 6\n";
        assert_eq!(ended(text, &["sda".to_owned()]), 37);
        assert_eq!(ended(text, &["old".to_owned()]), 11, "before Linux 4.18");
    }

    #[test]
    fn the_kernel_is_told_only_when_it_changes() {
        let place = tempfile::tempdir().expect("a directory");
        let event = place.path().join("events/block/block_rq_issue");
        fs::create_dir_all(&event).expect("a directory in it");
        let file = event.join("filter");
        let instance = Instance::at(place.path().to_owned());
        let mut sieve = Sieve::new(&[], 0);
        sieve.filters.push(Filter {
            file: "events/block/block_rq_issue/filter".to_owned(),
            expression: "dev == 8".to_owned(),
        });
        let mut written = |ended| {
            let _ = fs::remove_file(&file);
            sieve.decide(&instance, ended).expect("it is written");
            fs::read_to_string(&file).ok()
        };
        assert_eq!(written([50_000, 50_000]), None, "nothing to compare with");
        assert_eq!(written([60_000, 50_100]).as_deref(), Some("0"), "hardly any others");
        assert_eq!(written([70_000, 50_200]), None, "still so");
        assert_eq!(written([80_000, 60_200]).as_deref(), Some("dev == 8"), "as many others");
        assert_eq!(written([80_000, 90_200]), None, "only others");
    }
}
