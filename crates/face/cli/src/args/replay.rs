use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use spec::replay::Speed;
use spec::workload::Limit;
use units::{Bytes, Nanos};

use super::{Live, StoredArgs, seed};

/// Options of `tilemark replay`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("storage").args(["on", "array"]).required(true))]
pub struct ReplayArgs {
    /// A trace: a file, plain or compressed, or the directory of a stored trace
    ///
    /// Any format that `tilemark import` takes; an unknown --from prints all of them. Example:
    /// tilemark replay web.csv --on dir:/mnt/ssd --speed 2x
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// Play on real storage: dir:PATH, file:PATH, block:PATH, or a directory
    ///
    /// Same rules as for run: writes only to files of its own, or to a target that is named twice.
    #[arg(long, value_name = "DATASTORE", help_heading = "Where it is played")]
    pub on: Option<String>,
    /// Play on a modelled array, in virtual time: a shipped one or a file
    ///
    /// A path to a file ends in .toml. The array's caches begin as an earlier play of the same
    /// trace would have left them.
    #[arg(long, value_name = "NAME|FILE", help_heading = "Where it is played")]
    pub array: Option<String>,
    /// Change one key of the array; repeat for more
    ///
    /// As for `tilemark simulate`. Example: --with tier.fast.size=366GiB
    #[arg(long, value_name = "KEY=VALUE", requires = "array", help_heading = "Where it is played")]
    pub with: Vec<String>,

    /// Speed: 1x, 2x, 0.5x, or max
    ///
    /// From 0.001x to 1000x. max leaves no pauses: an I/O waits only for the completion that it
    /// waited for when recorded. In a trace without latencies an I/O waits for the I/O before it.
    #[arg(long, value_name = "N|max", default_value = "1x", help_heading = "What is played")]
    pub speed: Speed,
    /// Send each I/O after its initiator's last completion, not at its recorded time
    ///
    /// The pause after the completion is the recorded one. Slower storage then slows the load, as
    /// it would have slowed the initiator. Without this option, I/Os are sent at their recorded
    /// times whatever the storage does.
    #[arg(long, help_heading = "What is played")]
    pub closed: bool,
    /// Only I/O of this VM (or process, or host) of the trace
    #[arg(long, value_name = "NAME", help_heading = "What is played")]
    pub vm: Option<String>,
    /// Only I/O of this device of the trace; may be given several times
    #[arg(long = "device", value_name = "NAME", help_heading = "What is played")]
    pub devices: Vec<String>,
    /// The trace's format; detected if absent
    #[arg(long, value_name = "FORMAT", help_heading = "What is played")]
    pub from: Option<trace::Format>,
    /// Bad lines that are counted and left out
    #[arg(long, value_name = "N", default_value_t = trace::OpenOptions::MAX_BAD, help_heading = "What is played")]
    pub max_bad: u64,
    /// Limit disks to SIZE; offsets beyond it are folded back
    ///
    /// If absent, each disk is as large as the last byte that the trace touches. An offset is taken
    /// modulo the disk's size, so that hot spots stay hot. Example: 20GiB
    #[arg(long, value_name = "SIZE", help_heading = "What is played")]
    pub size: Option<Bytes>,

    /// Copies at once: 4, or 1..8 one after the other [default: 1]
    #[arg(long, value_name = "N|A..B", help_heading = "How it is measured")]
    pub tiles: Option<String>,
    /// A limit, such as read p99 10ms; repeat for more
    ///
    /// For read, write or flush I/Os: a percentile such as p95 or p99.9, the mean or the max of the
    /// time from submission to answer. Example: --limit 'read p99 10ms'
    #[arg(long = "limit", value_name = "LIMIT", help_heading = "How it is measured")]
    pub limits: Vec<LimitArg>,
    /// End after TIME at the latest, even within the trace
    ///
    /// If absent: a trace played at its recorded times may take 10 s longer for its last
    /// completions, any other trace a day. Example: 5m
    #[arg(long, value_name = "TIME", help_heading = "How it is measured")]
    pub duration: Option<Nanos>,
    /// Leave out the first TIME of the trace [default: 0s]
    #[arg(long, value_name = "TIME", help_heading = "How it is measured")]
    pub warm_up: Option<Nanos>,
    /// Play it N times [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How it is measured")]
    pub repeats: Option<u32>,
    /// Time between two rows of the series, 100ms to 1s
    ///
    /// If absent, 1s, or 100ms for a replay of less than 30 s.
    #[arg(long, value_name = "TIME", help_heading = "How it is measured")]
    pub slice: Option<Nanos>,
    /// Seed of random contents; drawn and printed if absent
    #[arg(long, value_name = "N", env = "TILEMARK_SEED", hide_env = true, allow_negative_numbers = true, value_parser = seed, help_heading = "How it is measured")]
    pub seed: Option<u64>,
    /// Threads that generate load, 1 to 64; each copy is played by one thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), requires = "on", help_heading = "How it is measured")]
    pub workers: Option<u32>,
    /// Go through the page cache instead of O_DIRECT
    #[arg(long, requires = "on", help_heading = "How it is measured")]
    pub buffered: bool,

    /// Write at most SIZE as files
    #[arg(long, value_name = "SIZE", requires = "on", help_heading = "Safety")]
    pub space_max: Option<Bytes>,
    /// Serial or by-id name of the block device to be overwritten
    #[arg(long, value_name = "IDENTITY", requires = "on", help_heading = "Safety")]
    pub destroy_data: Option<String>,
    /// Overwrite an existing file given as file:PATH
    #[arg(long, requires = "on", help_heading = "Safety")]
    pub overwrite_file: bool,
    /// Use a datastore on the root file system, an overlay or RAM
    #[arg(long, requires = "on", help_heading = "Safety")]
    pub allow_root_fs: bool,
    /// Keep results on the measured device
    #[arg(long, requires = "on", help_heading = "Safety")]
    pub allow_same_device: bool,
    /// Leave the virtual disks in place after the run
    #[arg(long, requires = "on", help_heading = "Safety")]
    pub keep: bool,
    /// Use the disks that a run kept: by its name, id or latest
    #[arg(long, value_name = "RUN", requires = "on", help_heading = "Safety")]
    pub reuse: Option<String>,

    #[command(flatten)]
    pub stored: StoredArgs,
    /// Print every step, limit and response time, not one screen
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub verbose: bool,
    /// View of the run: auto, web, full, line or off
    ///
    /// As for `tilemark run`. Also: TILEMARK_LIVE
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, hide_possible_values = true, help_heading = "Output")]
    pub live: Live,
    /// Print the merged plan with each value's origin, and stop
    #[arg(long, help_heading = "Output")]
    pub print_config: bool,
}

/// Limit from the command line: `read p99 10ms`.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitArg(pub Limit);

impl FromStr for LimitArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is not a limit; write read, write or flush, then p99, mean or max, \
                then a time: read p99 10ms"
            )
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let [kind, statistic, time] = words[..] else { return Err(wrong()) };
        if !spec::replay::KINDS.contains(&kind) {
            return Err(wrong());
        }
        let time: Nanos = time.parse().map_err(|error| format!("{}: {error}", wrong()))?;
        if time == Nanos::ZERO {
            return Err(wrong());
        }
        let mut limit = Limit {
            action: None,
            io: Some(kind.to_owned()),
            call: None,
            percentile: None,
            limit: None,
            mean: None,
            max: None,
            source: "given on the command line".to_owned(),
        };
        match statistic {
            "mean" => limit.mean = Some(time),
            "max" => limit.max = Some(time),
            other => {
                let share = other.strip_prefix('p').and_then(|share| share.parse::<f64>().ok());
                let share = share.filter(|share| *share > 0.0 && *share < 100.0);
                limit.percentile = Some(share.ok_or_else(wrong)?);
                limit.limit = Some(time);
            }
        }
        Ok(Self(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_what_which_statistic_and_how_long() {
        let LimitArg(limit) = "read p99.9 10ms".parse().expect("a limit");
        assert_eq!((limit.io.as_deref(), limit.percentile), (Some("read"), Some(99.9)));
        assert_eq!(limit.limit, Some(Nanos::from_millis(10)));
        let LimitArg(limit) = "flush max 1s".parse().expect("a limit");
        assert_eq!(limit.max, Some(Nanos::SECOND));
        for text in [
            "",
            "read",
            "read p99",
            "reads p99 1ms",
            "read p0 1ms",
            "read p100 1ms",
            "read p99 10",
            "read p99 0s",
            "read p99 1ms 2",
        ] {
            assert!(text.parse::<LimitArg>().is_err(), "{text}");
        }
    }
}
