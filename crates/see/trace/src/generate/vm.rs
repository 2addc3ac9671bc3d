use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::Nanos;

use crate::{Flags, IoRecord, Operation};

/// Size of a disk, in bytes.
pub(super) const DISK: u64 = 64 << 30;
/// Maximum size of an I/O, in bytes; disks are longer than the last address by this size.
const LENGTH_MAX: u64 = 1 << 20;
/// Number of I/Os that a disk serves at a time.
const CHANNELS: usize = 4;
/// Mean service time without the transfer of bytes.
const SERVICE: Nanos = Nanos::from_micros(80);
/// Bytes that a channel transfers per microsecond: about 1 GB/s.
const BYTES_PER_US: u64 = 1000;
/// Period of the bursts, in nanoseconds: one second of ten is a burst.
const PERIOD: u64 = 10_000_000_000;
const BURST: u64 = 1_000_000_000;
/// Rate in a burst, relative to the mean: six times the quiet rate.
const BURST_RATE: f64 = 60.0 / 15.0;
const QUIET_RATE: f64 = 10.0 / 15.0;
/// First byte of a misaligned partition, at an odd sector as in old guests.
const MISALIGNED: u64 = 63 * 512;

/// Load of a VM.
struct Kind {
    name: &'static str,
    /// Share of reads, 0 to 1.
    reads: f64,
    /// Share of I/Os that continue a stream.
    sequential: f64,
    /// Sizes with equal probability; a size that is listed several times is more probable.
    sizes: &'static [u32],
    /// First byte of the partition.
    start: u64,
    /// Share of writes that must be durable at once.
    durable: f64,
    /// Share of flushes, 0 to 1.
    flushes: f64,
    /// Share of discards, 0 to 1.
    discards: f64,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "database",
        reads: 0.67,
        sequential: 0.05,
        sizes: &[8192, 8192, 8192, 8192, 8192, 8192, 16_384, 65_536],
        start: 0,
        durable: 0.1,
        flushes: 0.001,
        discards: 0.0,
    },
    Kind {
        name: "log",
        reads: 0.02,
        sequential: 0.95,
        sizes: &[4096, 4096, 4096, 8192, 32_768],
        start: 0,
        durable: 0.5,
        flushes: 0.05,
        discards: 0.0,
    },
    Kind {
        name: "backup",
        reads: 0.98,
        sequential: 0.98,
        sizes: &[262_144, 262_144, 262_144, 131_072],
        start: 0,
        durable: 0.0,
        flushes: 0.0,
        discards: 0.0,
    },
    Kind {
        name: "desktop",
        reads: 0.45,
        sequential: 0.3,
        sizes: &[4096, 4096, 4096, 4096, 512, 16_384, 32_768, 65_536],
        start: MISALIGNED,
        durable: 0.02,
        flushes: 0.01,
        discards: 0.002,
    },
];

/// A VM and its disk.
#[derive(Debug)]
pub(super) struct Vm {
    random: Xoshiro256PlusPlus,
    kind: usize,
    /// Mean interarrival time, over bursts and quiet times.
    gap: Nanos,
    /// Time of the last I/O.
    now: u64,
    /// Shift of the period, so that bursts of VMs do not coincide.
    shift: u64,
    /// Next offset of the read stream and of the write stream.
    next: [u64; 2],
    /// Time at which each channel of the disk becomes free.
    free: [u64; CHANNELS],
}

impl Vm {
    pub(super) fn new(seed: u64, index: u16, iops: u32) -> Self {
        // Seeds that differ in one bit give unrelated streams, because `seed_from_u64` mixes them.
        let seed = seed.rotate_left(16) ^ u64::from(index);
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            kind: usize::from(index) % KINDS.len(),
            gap: Nanos(1_000_000_000 / u64::from(iops)),
            now: 0,
            shift: u64::from(index).wrapping_mul(3_700_000_000) % PERIOD,
            next: [0; 2],
            free: [0; CHANNELS],
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        KINDS[self.kind].name
    }

    /// Returns the time of the next I/O. Interarrival times are exponential at the current rate.
    pub(super) fn arrival(&mut self) -> u64 {
        let is_burst = (self.now + self.shift) % PERIOD < BURST;
        let rate = if is_burst { BURST_RATE } else { QUIET_RATE };
        let gap = self.exponential(self.gap.scale(1.0 / rate));
        self.now += gap.0;
        self.now
    }

    /// Makes the next I/O, with this time.
    pub(super) fn io(&mut self, at: Nanos) -> IoRecord {
        let kind = &KINDS[self.kind];
        let choice = self.unit();
        let mut record = if choice < kind.flushes {
            IoRecord::new(at, Operation::Flush, 0, 0)
        } else if choice < kind.flushes + kind.discards {
            IoRecord::new(at, Operation::Discard, self.below(DISK >> 20) << 20, 1 << 20)
        } else {
            self.transfer(at)
        };
        let (queue, device_time) = self.serve(at, &record);
        record.queue = Some(queue);
        record.device_time = Some(device_time);
        record
    }

    fn transfer(&mut self, at: Nanos) -> IoRecord {
        let kind = &KINDS[self.kind];
        let is_read = self.unit() < kind.reads;
        let size = kind.sizes[self.index(kind.sizes.len())];
        let offset = if self.unit() < kind.sequential {
            self.next[usize::from(is_read)]
        } else {
            self.scattered()
        };
        let offset = if offset + LENGTH_MAX > DISK { kind.start } else { offset };
        self.next[usize::from(is_read)] = offset + u64::from(size);
        let operation = if is_read { Operation::Read } else { Operation::Write };
        let mut record = IoRecord::new(at, operation, offset, size);
        if !is_read && self.unit() < kind.durable {
            record.flags = record.flags.with(Flags::FUA).with(Flags::SYNC);
        } else if is_read {
            record.flags = record.flags.with(Flags::SYNC);
        }
        record
    }

    /// Draws the offset of a 4 KiB page: a few pages are hot, and pages of similar heat are not
    /// neighbours.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^24")]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn scattered(&mut self) -> u64 {
        const PAGES: u64 = DISK >> 12;
        // The sixth power by multiplications only, which give the same result on every host.
        let third = self.unit();
        let third = third * third * third;
        let rank = (third * third * PAGES as f64) as u64;
        // Multiplying by an odd factor permutes the pages.
        let page = rank.wrapping_mul(0x9e37_79b1) % PAGES;
        (page << 12) + KINDS[self.kind].start
    }

    /// Waits for the first free channel, then occupies it.
    fn serve(&mut self, at: Nanos, record: &IoRecord) -> (Nanos, Nanos) {
        let bytes = if record.operation.moves_data() { u64::from(record.length) } else { 0 };
        let spread = self.exponential(SERVICE.scale(0.5));
        let device_time = Nanos(SERVICE.0 / 2 + spread.0 + bytes * 1000 / BYTES_PER_US);
        let free = self.free.iter_mut().min().expect("there are channels");
        let begin = (*free).max(at.0);
        *free = begin + device_time.0;
        (Nanos(begin - at.0), device_time)
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a float exactly")]
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).expect("below a usize")
    }

    /// Returns an exponential random time by inversion, with a logarithm that gives the same result
    /// on every host.
    fn exponential(&mut self, mean: Nanos) -> Nanos {
        mean.scale(-libm::log(1.0 - self.unit()))
    }
}
