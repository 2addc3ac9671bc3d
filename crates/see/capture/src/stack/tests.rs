use trace::{Flags, IoRecord, Operation};
use units::Bytes;

use super::*;
use crate::decode::{Event, Kind};
use crate::devices::Reach;
use crate::holders::HeldPart;
use crate::join::{Joiner, Watched};
use crate::moved::MovedEnds;
use crate::window::Order;

/// Disk below, with partitions.
const SDA: u32 = 8 << 20;
/// Volumes on the second partition of it.
const DM: [u32; 2] = [253 << 20, 253 << 20 | 1];
/// Sectors of that partition.
const PART: std::ops::Range<u64> = 1000..9000;
const WEB: u32 = 1;
const SQL: u32 = 2;
const KERNEL: u32 = 98;

/// bcache on the whole of another disk.
const BCACHE: u32 = 251 << 20;
const SDB: u32 = 8 << 20 | 16;

fn disks() -> Vec<Disk> {
    let disk = |name: &str, reach, dev, held| {
        let (name, size) = (name.to_owned(), Bytes::new(1 << 30));
        Disk { name, reach, size, devs: vec![dev], queues: 1, held, moved_ends: None }
    };
    let above = ["dm-0", "dm-1"].map(str::to_owned).into();
    vec![
        disk("sda", Reach::Requests, SDA, vec![HeldPart { sectors: PART, above }]),
        disk("dm-0", Reach::Bios, DM[0], Vec::new()),
        disk("dm-1", Reach::Bios, DM[1], Vec::new()),
        Disk {
            moved_ends: Some(MovedEnds { own: BCACHE, behind: SDB, shift: 16 }),
            ..disk("bcache0", Reach::Bios, BCACHE, Vec::new())
        },
        disk(
            "sdb",
            Reach::Requests,
            SDB,
            vec![HeldPart { sectors: 0..u64::MAX, above: ["bcache0".to_owned()].into() }],
        ),
    ]
}

/// Events of disks that are made of other disks, and the resulting records.
struct Seen {
    joiner: Joiner,
    time: u64,
}

impl Seen {
    fn new() -> Self {
        let disks = disks();
        let watched = (0..).zip(&disks).map(|(disk, own)| Watched {
            dev: own.devs[0],
            disk,
            reach: own.reach,
            queues: 1,
        });
        let joiner = Joiner::new(watched.collect(), 0, Order::Issue).over(&disks);
        Self { joiner, time: 0 }
    }

    fn push(&mut self, kind: Kind, dev: u32, sector: u64, pid: u32) {
        self.push_sized(kind, dev, sector, pid, 8);
    }

    fn push_sized(&mut self, kind: Kind, dev: u32, sector: u64, pid: u32, sectors: u32) {
        self.time += 1;
        let is_flush = sectors == 0;
        let event = Event {
            time: self.time,
            sector,
            second: 0,
            dev,
            sectors,
            pid,
            comm: [0; 16],
            kind,
            operation: Operation::Write,
            flags: if is_flush { Flags::PREFLUSH } else { Flags::NONE },
        };
        self.joiner.push(&event, &mut |event| Sender {
            vm: VmIndex(u16::try_from(event.pid).expect("small")),
            is_wanted: true,
            is_kernel: event.pid == KERNEL,
        });
    }

    /// An I/O of the disk below from its begin to its end, sent by `pid`.
    fn below(&mut self, sector: u64, pid: u32) {
        for kind in [Kind::Start, Kind::Issue, Kind::Complete] {
            self.push(kind, SDA, sector, pid);
        }
    }

    /// An I/O of a volume, which is sent on by `pid_below`.
    fn through(&mut self, dev: u32, pid: u32, pid_below: u32) {
        self.push(Kind::BioQueue, dev, 0, pid);
        self.below(PART.start + 100, pid_below);
        self.push(Kind::BioComplete, dev, 0, pid);
    }

    /// Senders of all records, by whether they count in sums over disks.
    fn finish(mut self) -> (Vec<u16>, Vec<u16>) {
        let mut records = Vec::new();
        self.joiner.finish(&mut records);
        let of = |is_part| {
            let own = records.iter().filter(|own| own.flags.has(Flags::BELOW) == is_part);
            own.map(|own: &IoRecord| own.vm.0).collect()
        };
        (of(false), of(true))
    }
}

#[test]
fn io_through_two_disks_counts_once() {
    let mut seen = Seen::new();
    (0..100).for_each(|_| seen.through(DM[0], WEB, WEB));
    assert_eq!(seen.finish(), (vec![1; 100], vec![1; 100]));
}

#[test]
fn own_io_on_another_partition_counts() {
    let mut seen = Seen::new();
    seen.push(Kind::BioQueue, DM[0], 0, WEB);
    // A file system on the first partition, while an I/O is under way above the second.
    seen.below(PART.start - 8, WEB);
    seen.below(PART.start, WEB);
    seen.below(PART.end - 8, WEB);
    seen.below(PART.end, WEB);
    seen.push(Kind::BioComplete, DM[0], 0, WEB);
    assert_eq!(seen.finish(), (vec![1; 3], vec![1; 2]));
}

#[test]
fn io_past_an_unused_volume_counts() {
    let mut seen = Seen::new();
    // The host has found a volume group inside a VM's disk.
    (0..5).for_each(|_| seen.below(PART.start, WEB));
    // Somebody else's use of it makes no difference.
    seen.push(Kind::BioQueue, DM[1], 0, SQL);
    seen.below(PART.start, WEB);
    assert_eq!(seen.finish(), (vec![1; 6], vec![]));
}

#[test]
fn io_sent_on_by_the_kernel_is_a_part() {
    let mut seen = Seen::new();
    // dm-crypt, or md with a bitmap.
    (0..3).for_each(|_| seen.through(DM[0], WEB, KERNEL));
    // I/O that the kernel starts by itself, such as a resync, belongs to the kernel.
    seen.below(PART.start, KERNEL);
    assert_eq!(seen.finish(), (vec![1, 1, 1, 98], vec![98; 3]));
}

#[test]
fn flush_through_two_disks_counts_once() {
    let mut seen = Seen::new();
    for _ in 0..3 {
        seen.push_sized(Kind::BioQueue, DM[0], 0, WEB, 0);
        seen.push_sized(Kind::Start, SDA, 0, WEB, 0);
        let flush = |kind| Event {
            time: 0,
            sector: 0,
            second: 0,
            dev: SDA,
            sectors: 0,
            pid: KERNEL,
            comm: [0; 16],
            kind,
            operation: Operation::Flush,
            flags: Flags::NONE,
        };
        for kind in [Kind::Issue, Kind::Complete] {
            seen.time += 1;
            let event = Event { time: seen.time, ..flush(kind) };
            seen.joiner.push(&event, &mut |_| unreachable!("its sender is known"));
        }
        seen.push_sized(Kind::BioComplete, DM[0], 0, WEB, 0);
    }
    assert_eq!(seen.finish(), (vec![1; 3], vec![1; 3]));
}

#[test]
fn disk_above_without_ends_hides_no_io() {
    let mut seen = Seen::new();
    let many = UNENDED_MAX + 100;
    for _ in 0..many {
        seen.push(Kind::BioQueue, DM[0], 0, WEB);
        seen.below(PART.start, WEB);
    }
    let (own, parts) = seen.finish();
    assert_eq!((own.len(), parts.len()), (101, UNENDED_MAX as usize - 1));
}

#[test]
fn end_after_lost_events_leaves_nothing_under_way() {
    let mut seen = Seen::new();
    seen.push(Kind::BioQueue, DM[0], 0, WEB);
    seen.push(Kind::BioQueue, DM[1], 0, WEB);
    seen.joiner.lost(seen.time, seen.time + 2);
    seen.time += 5;
    // Neither of the two makes a record. I/Os after the gap count once again.
    seen.push(Kind::BioComplete, DM[0], 0, WEB);
    seen.below(PART.start, WEB);
    seen.through(DM[0], WEB, WEB);
    seen.below(PART.start, WEB);
    assert_eq!(seen.finish(), (vec![1; 3], vec![1]));
}

#[test]
fn end_told_of_the_disk_behind_bcache_is_its_own() {
    let mut seen = Seen::new();
    for (dev, sectors) in [(SDB, 8), (BCACHE, 8), (SDB, 0)] {
        let sector = if sectors == 0 { 0 } else { 800 };
        seen.push_sized(Kind::BioQueue, BCACHE, sector, WEB, sectors);
        for kind in [Kind::Start, Kind::Issue, Kind::Complete] {
            seen.push(kind, SDB, 816, WEB);
        }
        seen.push_sized(Kind::BioComplete, dev, sector + 16, KERNEL, sectors);
    }
    // Completions of I/O to that disk itself are seen as events of its requests.
    seen.push(Kind::BioComplete, SDB, 816, KERNEL);
    assert_eq!(seen.joiner.counts().unmatched, 0);
    assert_eq!(seen.finish(), (vec![1; 3], vec![1; 3]));
}
