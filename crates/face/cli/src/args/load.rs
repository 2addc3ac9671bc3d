//! What `run` and `simulate` ask alike.

use std::path::PathBuf;

use clap::Args;
use run_store::run::tag;
use spec::expect::Expectation;
use spec::{Answering, ServiceModelError};
use units::Nanos;

/// How thorough a run is, and what runs in it.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Run every step N times; it passes if all of them do
    ///
    /// 1 to 100; the profile decides if absent: 1 with --quick, 3 with --standard. The same
    /// repeat has the same arrivals and addresses everywhere, if the seed is the same.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How thorough")]
    pub repeats: Option<u32>,
    /// Measured time of a step, such as 30s
    ///
    /// At least one slice; rounded up to whole burst periods of the workloads. The profile
    /// decides if absent. Examples: 30s, 5m, 1h30m
    #[arg(long, value_name = "TIME", alias = "runtime", help_heading = "How thorough")]
    pub duration: Option<Nanos>,
    /// Shortest warm-up before steady state is looked for
    ///
    /// The profile decides if absent. Example: 10s
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub warm_up_min: Option<Nanos>,
    /// Longest warm-up; what is not steady by then is marked
    ///
    /// At least --warm-up-min; the profile decides if absent. Example: 2m
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub warm_up_max: Option<Nanos>,
    /// Time between two rows of the series, 100ms or more
    ///
    /// At most 1s in a simulation; the profile decides if absent. Example: 1s
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub slice: Option<Nanos>,

    /// A shipped tile or a tile file [default: datacenter]
    ///
    /// `tilemark tiles` lists what is shipped; a path to a file ends in .toml.
    #[arg(long, value_name = "NAME|FILE", help_heading = "What runs")]
    pub tile: Option<String>,
    /// An estate's tile: what tilemark estate import made
    ///
    /// The directory, or a file in it. The answer is told in its virtual machines, too.
    /// Example: --estate estate
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "tile",
        hide_short_help = true,
        help_heading = "What runs"
    )]
    pub estate: Option<PathBuf>,
    /// Run infrastructure operations beside the tiles [default if named: standard]
    ///
    /// Virtual machines are deployed and moved while the tiles run; both are judged, and the score
    /// is 0.8 x applications + 0.2 x infrastructure. A shipped group (standard, deploy, move,
    /// redeploy, linked, snapshot, boot-storm, full; real machines: qemu, qemu-clones; machines of
    /// yours, with --machine: named-snapshot, named-move, named-storage, named-unified, named-deploy) or a file of
    /// the form of a tile's. Example: --operations=move
    #[arg(long, value_name = "GROUP|FILE", num_args = 0..=1, require_equals = true, default_missing_value = "standard", hide_short_help = true, help_heading = "What runs")]
    pub operations: Option<String>,
    /// A second datastore, between which and the first operations move disks
    ///
    /// Held to the same rules as the first; of the same forms, and pool:NAME in a simulation, a
    /// pool of the array. A disk that is on = "second" lies there. Example:
    /// --operations=standard --second /mnt/other
    #[arg(long, value_name = "TARGET", hide_short_help = true, help_heading = "What runs")]
    pub second: Option<String>,
    /// How many tiles: 4, or 1..8; searched if absent
    ///
    /// A run grows until a limit breaks, then runs the counts that tell most about the edge until
    /// its interval is narrow or the time is up; simulate doubles, and halves the gap. Of a range,
    /// simulate runs every step, a run those that are not surely beyond the edge. Numbers are
    /// from 1.
    #[arg(long, value_name = "N|A..B", help_heading = "What runs")]
    pub tiles: Option<String>,
    /// Search no further than N tiles
    ///
    /// At least 1; if absent, as many as the storage has room for.
    #[arg(long, value_name = "N", help_heading = "What runs")]
    pub tiles_max: Option<u32>,
    /// Multiply disk sizes by F, above 0 and at most 1
    ///
    /// The profile decides if absent (1 for simulate, where disks cost nothing to fill);
    /// stated in the result, as smaller disks fit caches better. Example: 0.1
    #[arg(long, value_name = "F", allow_negative_numbers = true, help_heading = "What runs")]
    pub footprint: Option<f64>,
    /// Keep disks as large as the tile has them: --footprint 1
    #[arg(long, conflicts_with = "footprint", hide_short_help = true, help_heading = "What runs")]
    pub full_size: bool,
    /// Multiply times of bursts and phases by F, above 0
    ///
    /// Think times and rates stay as they are. The profile decides if absent; stated in the
    /// result. Example: 0.1 makes a burst every 5 minutes one every 30 seconds
    #[arg(long, value_name = "F", allow_negative_numbers = true, help_heading = "What runs")]
    pub time_scale: Option<f64>,
    /// A name for the run, beside its id
    ///
    /// Several may have the same. tilemark runs --name lists them.
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = "What it is called")]
    pub name: Option<String>,
    /// A tag of the run, KEY=VALUE; for each of them once
    ///
    /// tilemark runs --tag KEY=VALUE lists those that have it, and tilemark compare takes
    /// tag:KEY=VALUE for all of them. Example: --tag branch=main
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag, hide_short_help = true, help_heading = "What it is called")]
    pub tags: Vec<(String, String)>,
    /// A sentence about the run
    #[arg(long, value_name = "TEXT", hide_short_help = true, help_heading = "What it is called")]
    pub note: Option<String>,
    /// What the run is expected to show; for each expectation once
    ///
    /// tiles >= N, score >= X, not slower than RUN (a stored run with the same tile, figure by figure
    /// as tilemark compare holds them), or WORKLOAD.ACTION.STATISTIC <= TIME (p95, p99.9, mean, max; of
    /// a kind of I/O or call, too), in the step that the answer stands on or, with `at N tiles` behind it, in
    /// that step. Exit code 7 if one is missed, 5 if none is and one is not decided. It changes
    /// nothing of what is run. Examples: --expect 'tiles >= 8',
    /// --expect 'shop.order.p95 <= 300ms', --expect 'not slower than latest'
    #[arg(
        long,
        value_name = "EXPECTATION",
        hide_short_help = true,
        help_heading = "What is expected"
    )]
    pub expect: Vec<Expectation>,
    /// Where random numbers start; drawn and printed if absent
    ///
    /// 0 to 9223372036854775807. The same seed and plan give the same load; in simulate the same
    /// figures, to the bit. Also: TILEMARK_SEED
    #[arg(
        long,
        value_name = "N",
        env = "TILEMARK_SEED",
        hide_env = true,
        allow_negative_numbers = true,
        value_parser = seed,
        help_heading = "What runs"
    )]
    pub seed: Option<u64>,
}

/// The name of an endpoint, and what answers it.
pub fn answering(text: &str) -> Result<(String, Answering), String> {
    let (name, answering) = text.split_once('=').ok_or("write NAME=WHAT")?;
    let answering = answering.parse().map_err(|error: ServiceModelError| error.to_string())?;
    Ok((name.to_owned(), answering))
}

/// A seed, with the range in the message.
pub fn seed(text: &str) -> Result<u64, String> {
    let allowed = "a seed is a whole number from 0 to 9223372036854775807";
    text.parse().map_err(|_| allowed.to_owned())
}
