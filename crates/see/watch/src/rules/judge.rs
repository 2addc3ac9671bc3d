use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use units::Nanos;

use super::verdict::{Gathered, Verdict, slices_per_block};
use super::{Alarm, Change, End, Ending, Rule, Rules, Subject, Sufferer};
use crate::{Key, LEVELS, Slice};

/// Minimum share of a window that must have been watched without loss for the window to be judged.
const WATCHED_MIN: f64 = 0.9;
/// Minimum number of VMs that must suffer on a disk at once before the disk's alarm replaces their
/// own alarms. They must also be at least half of the VMs with enough I/O.
const SUFFERERS_MIN: usize = 3;

/// Judges slices by rules, window by window.
///
/// For each rule and window an alarm changes at most once. It begins only after a window in which
/// the limit was broken. It ends only after a window in which the limit was kept or without I/O, or
/// when the alarm of its disk begins. Windows that are undecided or were not watched change
/// nothing.
#[derive(Debug)]
pub struct Judge {
    watches: Vec<RuleWatch>,
}

/// Rule with its open window and active alarms.
#[derive(Debug)]
struct RuleWatch {
    rule: Rule,
    open: Option<OpenWindow>,
    alarms: BTreeMap<Subject, Alarm>,
}

/// Window that still accepts slices.
#[derive(Debug)]
struct OpenWindow {
    start_s: u64,
    /// Time that was watched without loss.
    watched: Nanos,
    /// True until a slice is left out because of losses.
    is_complete: bool,
    /// I/O by disk and VM that is used for alarms of VMs.
    disks: ByDisk,
    /// All I/O of disks below others, used for alarms of these disks. The VMs on such a disk may
    /// each have an upper disk of their own.
    shared: ByDisk,
}

type ByDisk = BTreeMap<Arc<str>, BTreeMap<Arc<str>, Gathered>>;

/// Verdicts on all VMs of a disk.
#[derive(Debug, Default)]
struct DiskWindow {
    broken: Vec<Sufferer>,
    /// VMs that are probably, but not surely, above the limit. They count for the disk once one VM
    /// is surely above it, because three VMs that are slow at once are hardly a coincidence.
    leaning: Vec<Sufferer>,
    kept: BTreeSet<Arc<str>>,
    undecided: usize,
    too_few: usize,
    /// VMs with any I/O.
    seen: BTreeSet<Arc<str>>,
}

impl Judge {
    /// Creates a judge without active alarms.
    pub fn new(rules: &Rules) -> Self {
        let watch =
            |rule: &Rule| RuleWatch { rule: rule.clone(), open: None, alarms: BTreeMap::new() };
        Self { watches: rules.rules.iter().map(watch).collect() }
    }

    /// Judges a slice of the finest level; slices must come in order of time. Returns the alarms
    /// that begin or end.
    pub fn judge(&mut self, slice: &Slice) -> Vec<Change> {
        let changes = self.watches.iter_mut().flat_map(|watch| watch.take(slice));
        changes.collect()
    }

    /// Processes stored slices that were judged before a restart; their changes were already
    /// reported. Stored latencies are rounded. They are taken at their shortest, so that no alarm
    /// becomes active that was not active before.
    pub fn restore(&mut self, slices: &[Slice]) {
        for slice in slices.iter().filter(|slice| slice.width_s == LEVELS[0].width_s) {
            let mut slice = slice.clone();
            slice.io.values_mut().for_each(|cell| cell.latencies = cell.latencies.lowered());
            self.judge(&slice);
        }
    }

    /// Returns the active alarms.
    pub fn active(&self) -> impl Iterator<Item = &Alarm> {
        self.watches.iter().flat_map(|watch| watch.alarms.values())
    }
}

impl RuleWatch {
    fn take(&mut self, slice: &Slice) -> Vec<Change> {
        let length_s = self.window_s();
        let start_s = slice.start_s - slice.start_s % length_s;
        let mut changes = Vec::new();
        // A clock that steps back ends the window, too. The window is then incomplete, and is not
        // judged.
        if let Some(open) = self.open.take_if(|open| open.start_s != start_s) {
            changes = self.close(&open);
        }
        let open = self.open.get_or_insert_with(|| OpenWindow::new(start_s));
        open.add(&self.rule, slice);
        if slice.start_s + slice.width_s >= start_s + length_s
            && let Some(open) = self.open.take()
        {
            changes.extend(self.close(&open));
        }
        changes
    }

    const fn window_s(&self) -> u64 {
        self.rule.window.0 / Nanos::SECOND.0
    }

    /// Judges a window that has ended.
    fn close(&mut self, open: &OpenWindow) -> Vec<Change> {
        if open.watched.as_secs_f64() < WATCHED_MIN * self.rule.window.as_secs_f64() {
            return Vec::new();
        }
        let alarms = self.alarms.keys().map(|subject| Arc::clone(subject.disk()));
        let seen = open.disks.keys().chain(open.shared.keys()).cloned();
        let disks: BTreeSet<Arc<str>> = alarms.chain(seen).collect();
        let mut changes = Vec::new();
        for disk in disks {
            let window = open.disk_window(&self.rule, &disk);
            let subject = Subject::Disk { disk: Arc::clone(&disk) };
            if self.alarms.contains_key(&subject) {
                if let Some(how) = window.end_of_disk() {
                    changes.extend(self.end(&subject, open, how));
                    self.judge_vms(open, &disk, window, &mut changes);
                } else if !window.broken.is_empty() {
                    self.note(subject, open, window.sufferers());
                }
            } else if window.is_broken() {
                changes.extend(self.join_vms(open, &disk));
                changes.extend(self.note(subject, open, window.sufferers()));
            } else {
                self.judge_vms(open, &disk, window, &mut changes);
            }
        }
        changes
    }

    /// Begins and ends the alarms of single VMs on a disk.
    fn judge_vms(
        &mut self,
        open: &OpenWindow,
        disk: &Arc<str>,
        window: DiskWindow,
        changes: &mut Vec<Change>,
    ) {
        let window = match open.shared.contains_key(disk) {
            true => open.vm_window(&self.rule, disk),
            false => window,
        };
        for subject in self.vms_with_alarm(disk) {
            let Subject::Vm { vm, .. } = &subject else { continue };
            if !window.seen.contains(vm) {
                changes.extend(self.end(&subject, open, Ending::Gone));
            } else if window.kept.contains(vm) {
                changes.extend(self.end(&subject, open, Ending::Kept));
            }
        }
        for sufferer in window.broken {
            let (vm, disk) = (Arc::clone(&sufferer.vm), Arc::clone(disk));
            let found = (vec![sufferer], 1, 0);
            changes.extend(self.note(Subject::Vm { vm, disk }, open, found));
        }
    }

    /// Ends the alarms of single VMs, because the alarm of the disk begins.
    fn join_vms(&mut self, open: &OpenWindow, disk: &Arc<str>) -> Vec<Change> {
        let vms = self.vms_with_alarm(disk);
        vms.iter().filter_map(|subject| self.end(subject, open, Ending::Joined)).collect()
    }

    fn vms_with_alarm(&self, disk: &Arc<str>) -> Vec<Subject> {
        let is_own =
            |subject: &&Subject| matches!(subject, Subject::Vm { .. }) && subject.disk() == disk;
        self.alarms.keys().filter(is_own).cloned().collect()
    }

    /// Begins an alarm, or updates the measured values of an active one.
    fn note(
        &mut self,
        subject: Subject,
        open: &OpenWindow,
        (sufferers, judged, too_few): (Vec<Sufferer>, usize, usize),
    ) -> Option<Change> {
        let began_s = self.alarms.get(&subject).map(|alarm| alarm.began_s);
        let alarm = Alarm {
            rule: Arc::clone(&self.rule.name),
            severity: self.rule.severity,
            limit: self.rule.limit,
            window: self.rule.window,
            evidence: self.rule.evidence,
            subject: subject.clone(),
            began_s: began_s.unwrap_or(open.start_s),
            sufferers,
            judged,
            too_few,
        };
        self.alarms.insert(subject, alarm.clone());
        began_s.is_none().then_some(Change { alarm, end: None })
    }

    fn end(&mut self, subject: &Subject, open: &OpenWindow, how: Ending) -> Option<Change> {
        let alarm = self.alarms.remove(subject)?;
        let at_s = open.start_s + self.window_s();
        Some(Change { alarm, end: Some(End { at_s, how }) })
    }
}

impl OpenWindow {
    const fn new(start_s: u64) -> Self {
        let watched = Nanos::ZERO;
        Self { start_s, watched, is_complete: true, disks: ByDisk::new(), shared: ByDisk::new() }
    }

    fn add(&mut self, rule: &Rule, slice: &Slice) {
        // Which I/Os were lost nobody knows; the slowest may be among them.
        if slice.lost > 0 {
            self.is_complete = false;
            return;
        }
        self.watched = self.watched.saturating_add(slice.watched);
        let slices = rule.window.0 / Nanos::from_secs(LEVELS[0].width_s).0;
        let place = (slice.start_s - self.start_s) / LEVELS[0].width_s;
        let block = place / slices_per_block(slices);
        // Keys are ordered by VM and disk, so neighbours mostly need no new look.
        let mut last: Option<(&Key, bool)> = None;
        // QEMU's counters of a disk that the kernel's events show, too, would be a second alarm.
        for (key, cell) in slice.io.iter().filter(|(key, _)| !key.is_guest_side()) {
            let known = last.filter(|(own, _)| own.vm == key.vm && own.disk == key.disk);
            let fits = known
                .map_or_else(|| rule.vm.fits(&key.vm) && rule.disk.fits(&key.disk), |own| own.1);
            last = Some((key, fits));
            if fits && rule.limit.direction.is_none_or(|own| own == key.direction) {
                // If a VM's I/O passes several disks, the VM sees the latency of the uppermost
                // disk. A rule that names a disk applies to that disk.
                let is_shared = key.is_below && rule.disk.is_any();
                let disks = if is_shared { &mut self.shared } else { &mut self.disks };
                let vms = disks.entry(Arc::clone(&key.disk)).or_default();
                vms.entry(Arc::clone(&key.vm)).or_default().add(block, cell);
            }
        }
    }

    /// Judges all I/O of a disk, for an alarm of the disk.
    fn disk_window(&self, rule: &Rule, disk: &Arc<str>) -> DiskWindow {
        let Some(mut vms) = self.shared.get(disk).cloned() else {
            return self.vm_window(rule, disk);
        };
        // A VM may have I/O of its own there, on another partition.
        for (vm, gathered) in self.disks.get(disk).into_iter().flatten() {
            vms.entry(Arc::clone(vm)).or_default().merge(gathered);
        }
        self.verdicts(rule, &vms)
    }

    /// Judges the VMs of a disk, for alarms of VMs.
    fn vm_window(&self, rule: &Rule, disk: &Arc<str>) -> DiskWindow {
        self.disks.get(disk).map(|vms| self.verdicts(rule, vms)).unwrap_or_default()
    }

    fn verdicts(&self, rule: &Rule, vms: &BTreeMap<Arc<str>, Gathered>) -> DiskWindow {
        let mut window = DiskWindow::default();
        for (vm, gathered) in vms {
            window.seen.insert(Arc::clone(vm));
            match gathered.judge(&rule.limit, self.start_s, self.is_complete) {
                Verdict::Broken(seen) => {
                    window.broken.push(Sufferer { vm: Arc::clone(vm), seen });
                }
                Verdict::Leaning(seen) => {
                    window.leaning.push(Sufferer { vm: Arc::clone(vm), seen });
                }
                Verdict::Kept => drop(window.kept.insert(Arc::clone(vm))),
                Verdict::Undecided => window.undecided += 1,
                Verdict::Unjudged => window.too_few += 1,
            }
        }
        window
    }
}

impl DiskWindow {
    fn judged(&self) -> usize {
        self.broken.len() + self.leaning.len() + self.kept.len() + self.undecided
    }

    fn is_broken(&self) -> bool {
        let slow = self.broken.len() + self.leaning.len();
        !self.broken.is_empty() && slow >= SUFFERERS_MIN && 2 * slow >= self.judged()
    }

    /// Returns the VMs that suffer, the slowest first, the number of judged VMs, and the number of
    /// VMs with too few I/Os.
    fn sufferers(mut self) -> (Vec<Sufferer>, usize, usize) {
        let judged = self.judged();
        self.broken.append(&mut self.leaning);
        self.broken.sort_by_key(|own| std::cmp::Reverse((own.seen.low, own.seen.errors)));
        (self.broken, judged, self.too_few)
    }

    /// Returns the reason why the alarm of the disk ends, if it does. More than half of the VMs
    /// must be within the limit. Otherwise a number of suffering VMs that varies around the half
    /// would begin and end alarms.
    fn end_of_disk(&self) -> Option<Ending> {
        if self.seen.is_empty() {
            return Some(Ending::Gone);
        }
        let is_kept = 2 * self.kept.len() > self.judged() && 4 * self.broken.len() <= self.judged();
        is_kept.then_some(Ending::Kept)
    }
}
