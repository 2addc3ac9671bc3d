//! Record of the requests in flight, in memory that outlives the server: the specification of
//! vhost-user, "Inflight I/O tracking", for split queues. `docs/formats/vhost-user.md` shows its
//! layout.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use vhost::vhost_user::message::VhostUserInflight;
use vm_memory::{AtomicAccess, Bytes, FileOffset, MmapRegion, VolatileMemory};

use super::memory::check_backed;

const HEAD_BYTES: usize = 16;
const STATE_BYTES: usize = 16;
/// Alignment of a queue's record in bytes: a cache line.
const ALIGNMENT: usize = 64;
const VERSION: u16 = 1;

const VERSION_AT: usize = 8;
const SIZE_AT: usize = 10;
const LAST_AT: usize = 12;
const USED_AT: usize = 14;
/// Offsets within the state of a descriptor.
const NEXT_AT: usize = 6;
const COUNTER_AT: usize = 8;

/// Shared memory with the records of all queues of a VM's disk.
#[derive(Debug)]
pub(crate) struct Area {
    region: MmapRegion,
    queues: u16,
    size: u16,
}

fn part_bytes(size: u16) -> usize {
    (HEAD_BYTES + STATE_BYTES * usize::from(size)).next_multiple_of(ALIGNMENT)
}

impl Area {
    /// Creates memory that records no request in flight. The front end keeps the memory.
    pub fn make(wanted: &VhostUserInflight) -> io::Result<(VhostUserInflight, File)> {
        let VhostUserInflight { num_queues, queue_size, .. } = *wanted;
        let bytes = (part_bytes(queue_size) * usize::from(num_queues)) as u64;
        let file = memfd_create("in flight", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let file = File::from(file);
        file.set_len(bytes)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok((VhostUserInflight::new(bytes, 0, num_queues, queue_size), file))
    }

    /// Maps memory that a front end kept.
    pub fn map(kept: &VhostUserInflight, file: File) -> io::Result<Self> {
        let VhostUserInflight { mmap_size, mmap_offset, num_queues, queue_size } = *kept;
        check_backed(&file, mmap_offset, mmap_size)?;
        let bytes = usize::try_from(mmap_size).map_err(io::Error::other)?;
        if part_bytes(queue_size) * usize::from(num_queues) > bytes {
            return Err(io::Error::other("the memory for requests in flight is too small"));
        }
        let region = MmapRegion::from_file(FileOffset::new(file, mmap_offset), bytes);
        Ok(Self { region: region.map_err(io::Error::other)?, queues: num_queues, size: queue_size })
    }
}

/// Record of one queue.
#[derive(Debug)]
pub(crate) struct Tracker {
    area: Arc<Area>,
    at: usize,
    counter: u64,
}

impl Tracker {
    /// Finds the requests that were left in flight, in the order in which they were taken. `used`
    /// is the used index that the guest has seen. `None` if the memory has no record of this size
    /// for the queue.
    pub fn begin(area: &Arc<Area>, queue: u16, size: u16, used: u16) -> Option<(Self, Vec<u16>)> {
        if queue >= area.queues || size > area.size {
            return None;
        }
        let at = part_bytes(area.size) * usize::from(queue);
        let mut tracker = Self { area: Arc::clone(area), at, counter: 0 };
        tracker.finish_batch(size, used);
        let mut left: Vec<(u64, u16)> = (0..size)
            .filter(|head| tracker.is_in_flight(*head))
            .map(|head| (tracker.load(tracker.state(head) + COUNTER_AT), head))
            .collect();
        left.sort_unstable();
        tracker.counter = left.last().map_or(0, |(counter, _)| counter.wrapping_add(1));
        Some((tracker, left.into_iter().map(|(_, head)| head).collect()))
    }

    /// Marks requests as used if the guest has seen their answers but a killed server had not
    /// marked them yet.
    fn finish_batch(&mut self, size: u16, used: u16) {
        let is_of_this = self.load::<u16>(self.at + VERSION_AT) == VERSION
            && self.load::<u16>(self.at + SIZE_AT) == size;
        let before: u16 = self.load(self.at + USED_AT);
        let batch = used.wrapping_sub(before);
        if !is_of_this || batch > size {
            // New memory, or the memory of a queue that was reset: nothing is in flight.
            (0..size).for_each(|head| self.store(self.state(head), 0_u8));
            self.store(self.at + SIZE_AT, size);
            self.store(self.at + VERSION_AT, VERSION);
        } else {
            let mut head: u16 = self.load(self.at + LAST_AT);
            for _ in 0..batch {
                if head >= size {
                    break;
                }
                self.store(self.state(head), 0_u8);
                head = self.load(self.state(head) + NEXT_AT);
            }
        }
        self.store(self.at + USED_AT, used);
    }

    /// Records that a request was taken.
    pub fn take(&mut self, head: u16) {
        self.store(self.state(head) + COUNTER_AT, self.counter);
        self.store(self.state(head), 1_u8);
        self.counter = self.counter.wrapping_add(1);
    }

    /// Records that a request is about to be put into the used ring.
    pub fn link(&mut self, head: u16) {
        let last: u16 = self.load(self.at + LAST_AT);
        self.store(self.state(head) + NEXT_AT, last);
        self.store(self.at + LAST_AT, head);
    }

    /// Records that a request is in the used ring, and the new used index.
    pub fn done(&mut self, head: u16, used: u16) {
        self.store(self.state(head), 0_u8);
        self.store(self.at + USED_AT, used);
    }

    fn is_in_flight(&self, head: u16) -> bool {
        self.load::<u8>(self.state(head)) == 1
    }

    fn state(&self, head: u16) -> usize {
        self.at + HEAD_BYTES + STATE_BYTES * usize::from(head)
    }

    fn load<T: AtomicAccess>(&self, at: usize) -> T {
        let loaded = self.area.region.as_volatile_slice().load(at, Acquire);
        loaded.expect("the offset is within the checked area")
    }

    /// Stores a value with release ordering, so that a killed process leaves the stores in their
    /// order.
    fn store<T: AtomicAccess>(&self, at: usize, value: T) {
        let stored = self.area.region.as_volatile_slice().store(value, at, Release);
        stored.expect("the offset is within the checked area");
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const NONE: [u16; 0] = [];

    fn area(queues: u16, size: u16) -> Arc<Area> {
        let (made, file) = Area::make(&VhostUserInflight::new(0, 0, queues, size)).unwrap();
        Arc::new(Area::map(&made, file).unwrap())
    }

    #[test]
    fn unused_requests_are_found_in_order_after_a_kill_at_any_step() {
        // Three requests are taken, the second and the first are used; a kill after each step.
        for steps in 0..9 {
            let area = area(2, 8);
            let (mut tracker, left) = Tracker::begin(&area, 1, 8, 100).unwrap();
            assert_eq!(left, NONE);
            let (mut used, mut expected) = (100, Vec::new());
            for step in 0..steps {
                match step {
                    0..3 => {
                        let head = [5, 0, 7][step];
                        tracker.take(head);
                        expected.push(head);
                    }
                    3 => tracker.link(0),
                    4 => {
                        used += 1;
                        expected.retain(|head| *head != 0);
                    }
                    5 => tracker.done(0, used),
                    6 => tracker.link(5),
                    7 => {
                        used += 1;
                        expected.retain(|head| *head != 5);
                    }
                    _ => tracker.done(5, used),
                }
            }
            let (mut tracker, left) = Tracker::begin(&area, 1, 8, used).unwrap();
            assert_eq!(left, expected, "killed after step {steps}");
            // A request that is taken later also comes later after the next restart.
            tracker.take(1);
            expected.push(1);
            assert_eq!(Tracker::begin(&area, 1, 8, used).unwrap().1, expected);
            assert_eq!(Tracker::begin(&area, 0, 8, 0).unwrap().1, NONE, "another queue");
        }
    }

    #[test]
    fn too_small_memory_is_refused_and_false_lists_are_bounded() {
        let shared = area(1, 8);
        assert!(
            Tracker::begin(&shared, 1, 8, 0).is_none()
                && Tracker::begin(&shared, 0, 16, 0).is_none()
        );
        let (made, file) = Area::make(&VhostUserInflight::new(0, 0, 1, 8)).unwrap();
        let lie = VhostUserInflight::new(made.mmap_size, 0, 2, 8);
        assert!(Area::map(&lie, file.try_clone().unwrap()).is_err(), "it has room for one");
        let lie = VhostUserInflight::new(1 << 20, 0, 1, 8);
        assert!(Area::map(&lie, file).is_err(), "it is shorter");
        let unsealed = tempfile::tempfile().unwrap();
        unsealed.set_len(made.mmap_size).unwrap();
        assert!(Area::map(&made, unsealed).is_err(), "its owner could shrink it");
        // A list that leads out of the table, or in circles.
        for next in [8, 3, u16::MAX] {
            let (mut tracker, _) = Tracker::begin(&shared, 0, 8, 0).unwrap();
            tracker.take(3);
            tracker.store(LAST_AT, 3_u16);
            tracker.store(tracker.state(3) + NEXT_AT, next);
            assert_eq!(Tracker::begin(&shared, 0, 8, 5).unwrap().1, NONE);
        }
    }

    #[test]
    fn a_queue_that_was_reset_has_nothing_in_flight() {
        let area = area(1, 8);
        let (mut tracker, _) = Tracker::begin(&area, 0, 8, 1000).unwrap();
        tracker.take(2);
        assert_eq!(Tracker::begin(&area, 0, 8, 0).unwrap().1, NONE);
    }
}
