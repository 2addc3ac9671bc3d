use std::num::NonZeroUsize;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use spec::array::names::POLICIES;
use units::{Bytes, Nanos};

use super::StoredArgs;

/// Options of `tilemark what-if`.
#[derive(Debug, Args)]
pub struct WhatIfArgs {
    /// A measured or simulated run: its directory, name, a part of its id, `latest` or `previous`
    ///
    /// Uses the run's tile, scale and seed. A simulated run brings its array; a measured run needs
    /// a model, from --array or fitted to its steps. Example: tilemark what-if 20261122 --cache
    /// 92GiB --policy nhit --disks 11
    ///
    /// With --watch: the directory of a store [default: /var/lib/tilemark/watch].
    #[arg(value_name = "RUN", required_unless_present = "watch")]
    pub run: Option<String>,
    /// Predict only the hits of a cache of size --cache, for VMs of a watched host
    ///
    /// The prediction uses the VMs' working sets. In the name `*` stands for any letters, `?` for
    /// one letter.
    ///
    /// Example: tilemark what-if --watch 'web*' --cache 200GiB
    #[arg(
        long,
        value_name = "VM",
        requires = "cache",
        conflicts_with_all = [
            "array", "cache_at", "policy", "page", "write", "disks", "disk", "link", "memory",
            "with", "quick", "standard", "within", "repeats", "tiles_max", "threads"
        ],
        help_heading = "From watching"
    )]
    pub watch: Option<String>,
    /// Length of the last part of the store that is used [default: 7d]
    #[arg(long, value_name = "TIME", requires = "watch", help_heading = "From watching")]
    pub last: Option<Nanos>,
    /// Array that represents the run's storage
    ///
    /// A shipped array, one that `tilemark calibrate` saved, or a file. If absent, the simulated
    /// run's own array, or a model fitted to a measured run.
    #[arg(long, value_name = "NAME|FILE")]
    pub array: Option<String>,

    /// Size of the acceleration tier: the array's own, or a new one
    ///
    /// Usable capacity after mirroring; for a tier in the hosts, the capacity per host. The number
    /// of the tier's disks follows. Example: 92GiB
    #[arg(long, value_name = "SIZE", help_heading = "What is changed")]
    pub cache: Option<Bytes>,
    /// Place of the tier to change or add: host or array [default: array]
    #[arg(
        long,
        value_name = "WHERE",
        value_enum,
        hide_possible_values = true,
        help_heading = "What is changed"
    )]
    pub cache_at: Option<CacheAt>,
    /// Replacement policy of the tier: nhit, lru, arc, s3fifo and others
    ///
    /// nhit is lru that admits a page on its third access, as FAST Cache does. The other policies
    /// admit on the first access: lru, fifo, clock, 2q, arc, s3fifo, sieve, lirs, w-tinylfu.
    #[arg(long, value_name = "NAME", value_parser = policies(), hide_possible_values = true, help_heading = "What is changed")]
    pub policy: Option<String>,
    /// Page size of the tier: a power of two from 4KiB to 1MiB
    #[arg(long, value_name = "SIZE", help_heading = "What is changed")]
    pub page: Option<Bytes>,
    /// Write mode of the tier: through, back, around or only
    ///
    /// The default of a new tier is back in the array, and through in the hosts.
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        hide_possible_values = true,
        help_heading = "What is changed"
    )]
    pub write: Option<Write>,
    /// Disks of all pools together, in their present proportion: a number, or a multiple (1.5x)
    ///
    /// A model that is fitted to a measured run takes only a multiple, because a run does not show
    /// how many disks there are. Example: --disks 1.5x for 12 disks instead of 8
    #[arg(long, value_name = "N", help_heading = "What is changed")]
    pub disks: Option<whatif::DiskCount>,
    /// Kind of the disks that hold data
    ///
    /// A shipped one, such as hdd-15k or ssd-sata-enterprise, or one of the array's own.
    #[arg(long, value_name = "NAME", help_heading = "What is changed")]
    pub disk: Option<String>,
    /// Kind of the link between hosts and storage, such as fc-8g
    #[arg(long, value_name = "NAME", help_heading = "What is changed")]
    pub link: Option<String>,
    /// Size of the controllers' memory for reads
    #[arg(long, value_name = "SIZE", help_heading = "What is changed")]
    pub memory: Option<Bytes>,
    /// Change one key of the array; repeat for more
    ///
    /// As for simulate; applied after all other changes. Example: --with pool.lun1.count=4
    #[arg(long, value_name = "KEY=VALUE", help_heading = "What is changed")]
    pub with: Vec<String>,

    /// Three seeds, an undecided step measured 4 times as long at most (default on a terminal)
    #[arg(long, conflicts_with = "standard", help_heading = "How thorough")]
    pub quick: bool,
    /// Five seeds, an undecided step measured 16 times as long at most (default elsewhere)
    #[arg(long, help_heading = "How thorough")]
    pub standard: bool,
    /// Stop after this real time; seeds that were not searched by then are named
    ///
    /// Example: --within 2m
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub within: Option<Nanos>,
    /// Number of seeds, 5 to 100; both arrays run with each [default: as for --quick or --standard]
    ///
    /// The interval is the smallest and the largest number of tiles over all seeds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=100), help_heading = "How thorough")]
    pub repeats: Option<u32>,
    /// Search no further than N tiles
    ///
    /// At least 1; if absent, as many as fit into the array.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How thorough")]
    pub tiles_max: Option<u32>,
    /// Threads [default: one per core]; the answer stays the same
    #[arg(long, value_name = "N", help_heading = "How thorough")]
    pub threads: Option<NonZeroUsize>,

    #[command(flatten)]
    pub stored: StoredArgs,
}

/// Place of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheAt {
    /// In each host.
    Host,
    /// In the array.
    Array,
}

/// Write mode of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Write {
    /// Acknowledged after both tier and storage have the write.
    Through,
    /// Acknowledged after the tier has the write.
    Back,
    /// Written to the storage only.
    Around,
    /// Like back, but reads never bring a page in.
    Only,
}

fn policies() -> PossibleValuesParser {
    PossibleValuesParser::new(std::iter::once("nhit").chain(POLICIES))
}
