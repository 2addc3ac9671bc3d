use units::{Bytes, Nanos};

use super::seek::SeekTimes;

/// Order in which a disk serves waiting requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Fifo,
    /// Nearest cylinder first (SSTF).
    ShortestSeek,
    /// The request that the head reaches soonest, seek and rotation together (SPTF).
    ShortestPositioning,
}

/// Parameters of a hard disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HddParameters {
    /// Usable size, at least 1 MiB.
    pub capacity: Bytes,
    /// Revolutions per minute, 1,000 to 30,000.
    pub rpm: u32,
    /// Number of surfaces with a head, at least 1.
    pub heads: u32,
    /// Sustained transfer at the outer edge in bytes per second, including head switches.
    pub rate_outer: f64,
    /// Sustained transfer at the inner edge in bytes per second, including head switches; above
    /// zero and at most `rate_outer`.
    pub rate_inner: f64,
    /// Number of zones, each with the same number of cylinders, with rates in even steps; 1 to
    /// 1,000.
    pub zones: u32,
    /// Seek times of reads.
    pub seek: SeekTimes,
    /// Additional settling time of a write, compared with a read.
    pub write_settle: Nanos,
    /// Time to continue on the next track, by head or by one cylinder; tracks are skewed by this
    /// time.
    pub track_switch: Nanos,
    /// Time for command processing before the arm moves.
    pub overhead: Nanos,
    /// Order in which waiting requests are served.
    pub order: Order,
    /// Number of requests from which the disk chooses, at least 1: 32 for SATA's native queue, 64
    /// to 128 for SCSI's tagged queue. Further requests wait in order of arrival.
    pub queue: u32,
    /// Age at which the oldest request is served first, whatever its distance.
    pub age_max: Nanos,
    /// Bytes read ahead after a read while the disk has nothing else to do; zero means none.
    pub read_ahead: Bytes,
}

/// Disks of known kinds.
///
/// Common to all: 200 us of controller overhead (the difference of the two access times in the
/// Savvio and Constellation manuals below), single-track write seek as track switch, SPTF over 32
/// requests with an age limit of 0.5 s (our choice; manuals of two drives have 2.4 s, see
/// docs/developers/adr/0035-queue-of-a-disk.md), 1 MiB of read-ahead out of 16 MiB of buffer and 16
/// zones (estimates).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HddPreset {
    /// 7,200 rpm, 500 GB: Seagate Constellation ST9500430SS, product manual rev. E, section
    /// 5: seeks 8.0 (write 8.4), 0.5 (0.7), 17.35 ms; 6 heads; 75 to 142 MB/s.
    Rpm7200,
    /// 10,000 rpm, 300 GB: seeks of the Seagate Savvio SAS product manual, rev. D, section 4
    /// (4.0 (write 4.4), 0.2 (0.6), 8.1 ms; 4 heads); 67 to 124 MB/s from the Savvio 10K.3
    /// manual.
    Rpm10k,
    /// 15,000 rpm, 600 GB: Seagate Cheetah 15K.7 product manual as cited in the ClusterStor
    /// simulator: seeks 3.4 (write 3.9), 0.2 (0.44), 6.6 ms; 680 to 2,040 sectors per track,
    /// which with the track switch are 78 to 235 MB/s; 8 heads (estimate).
    Rpm15k,
}

impl HddPreset {
    /// Every preset, slowest first.
    pub const ALL: [Self; 3] = [Self::Rpm7200, Self::Rpm10k, Self::Rpm15k];

    /// Returns the name of the preset in definitions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rpm7200 => "hdd-7200",
            Self::Rpm10k => "hdd-10k",
            Self::Rpm15k => "hdd-15k",
        }
    }

    /// Returns the parameters of a disk of this kind.
    pub const fn parameters(self) -> HddParameters {
        // Times in microseconds: single track, average, full stroke, write settle, switch.
        let (gb, rpm, heads, rates, us) = match self {
            Self::Rpm7200 => (500, 7200, 6, (142e6, 75e6), [500, 8000, 17_350, 400, 700]),
            Self::Rpm10k => (300, 10_000, 4, (124e6, 67e6), [200, 4000, 8100, 400, 600]),
            Self::Rpm15k => (600, 15_000, 8, (235e6, 78e6), [200, 3400, 6600, 500, 440]),
        };
        let seek = SeekTimes {
            track_to_track: Nanos::from_micros(us[0]),
            average: Nanos::from_micros(us[1]),
            full_stroke: Nanos::from_micros(us[2]),
        };
        HddParameters {
            capacity: Bytes::new(gb * 1_000_000_000),
            rpm,
            heads,
            rate_outer: rates.0,
            rate_inner: rates.1,
            zones: 16,
            seek,
            write_settle: Nanos::from_micros(us[3]),
            track_switch: Nanos::from_micros(us[4]),
            overhead: Nanos::from_micros(200),
            order: Order::ShortestPositioning,
            queue: 32,
            age_max: Nanos::from_millis(500),
            read_ahead: Bytes::MIB,
        }
    }
}
