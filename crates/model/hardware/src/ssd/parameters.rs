use units::{Bytes, Nanos};

/// Part of the flash that is written with one bit per cell. It is fast until it is full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlcCache {
    /// Size of the cache, above zero.
    pub size: Bytes,
    /// Program time of the cache's pages, above zero.
    pub program: Nanos,
    /// Bytes per second at which the cache is emptied while the host writes nothing; zero or more.
    pub fold_rate: f64,
}

/// Parameters of a solid-state disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SsdParameters {
    /// Usable size, above zero.
    pub capacity: Bytes,
    /// Number of units that read or program at the same time: dies, or planes if they work
    /// independently. 1 to 65,536; MQSim's default device has 64 dies of 2 planes.
    pub dies: u32,
    /// Size of a page, which is read or programmed at once; a multiple of 512 up to 1 MiB; MQSim: 8
    /// KiB.
    pub page: Bytes,
    /// Number of pages erased at once, at least 1; MQSim: 256.
    pub pages_per_block: u32,
    /// Time to read a page and transfer it over its channel; MQSim: 75 us plus 24 us for 8 KiB at
    /// 333 MB/s.
    pub read: Nanos,
    /// Time to transfer and program a page; MQSim: 750 us.
    pub program: Nanos,
    /// Time to erase a block; MQSim: 3.8 ms.
    pub erase: Nanos,
    /// Spare flash as a share of the usable size, above 0; MQSim: 7 %. It determines the write
    /// amplification of random writes ([`crate::write_amplification_greedy`]).
    pub spare: f64,
    /// Power-loss-protected memory for writes, at least a page per die. Data stays in it until it
    /// is programmed.
    pub buffer: Bytes,
    /// Time that the controller needs for a command; commands pass one after another.
    pub command: Nanos,
    /// Bytes per second through controller and interface, for reads and writes together.
    pub rate: f64,
    /// Latency of firmware and interface that does not occupy the controller.
    pub latency: Nanos,
    /// The SLC cache, if there is one.
    pub slc: Option<SlcCache>,
}

/// Solid-state disks of known kinds.
///
/// Die times are MQSim's defaults, unless a data sheet's rates need others. Those are marked
/// "fitted": they are chosen so that the model meets the data sheet, so they do not predict it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SsdPreset {
    /// Intel DC S3700, 200 GB (SATA, the cache class of hybrid clusters). Data sheet: random 4 KiB
    /// 75,000 reads and 36,000 writes per second, 8 KiB 47,500 and 20,000; sequential 500 and 460
    /// MB/s; latency 50 us read, 65 us write. Fitted: command time, rate and read time to the read
    /// figures, program time to the sequential write, spare flash to 8 KiB writes. Not met: a write
    /// into the idle buffer is answered in 20 us.
    SataEnterprise,
    /// MQSim's default device: 8 channels of 4 chips with 2 dies, 7 % spare; 3.5 GB/s of interface.
    NvmeMqsim,
    /// A consumer disk with an SLC cache, like a Samsung 970 EVO 500 GB: above 2 GB/s for 22
    /// GB, then 0.6 GB/s (techpowerup.com). Fitted: both program times.
    NvmeConsumer,
}

impl SsdPreset {
    /// All presets, in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::SataEnterprise, Self::NvmeMqsim, Self::NvmeConsumer];

    /// Returns the name of the preset in definitions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SataEnterprise => "ssd-sata-enterprise",
            Self::NvmeMqsim => "ssd-nvme-mqsim",
            Self::NvmeConsumer => "ssd-nvme-consumer",
        }
    }

    /// Returns the parameters of a disk of this kind.
    pub const fn parameters(self) -> SsdParameters {
        let mqsim = SsdParameters {
            capacity: Bytes::new(480_000_000_000),
            dies: 64,
            page: Bytes::new(8192),
            pages_per_block: 256,
            read: Nanos::from_micros(99),
            program: Nanos::from_micros(774),
            erase: Nanos::from_micros(3800),
            spare: 0.07,
            buffer: Bytes::new(256 << 20),
            command: Nanos::from_micros(1),
            rate: 3.5e9,
            latency: Nanos::from_micros(5),
            slc: None,
        };
        match self {
            Self::NvmeMqsim => mqsim,
            Self::SataEnterprise => SsdParameters {
                capacity: Bytes::new(200_000_000_000),
                read: Nanos::from_micros(30),
                program: Nanos::from_micros(1130),
                spare: 0.245,
                buffer: Bytes::new(16 << 20),
                command: Nanos(5_600),
                rate: 541e6,
                latency: Nanos::from_micros(7),
                ..mqsim
            },
            Self::NvmeConsumer => SsdParameters {
                capacity: Bytes::new(500_000_000_000),
                program: Nanos::from_micros(870),
                slc: Some(SlcCache {
                    size: Bytes::new(22_000_000_000),
                    program: Nanos::from_micros(250),
                    fold_rate: 300e6,
                }),
                ..mqsim
            },
        }
    }
}
