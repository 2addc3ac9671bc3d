use std::path::PathBuf;

use clap::{Args, Subcommand};
use units::Bytes;

use super::{Format, seed};

/// Options of `tilemark lab`.
#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(subcommand)]
    pub action: LabAction,
}

/// Subcommands of `tilemark lab`.
#[derive(Debug, Subcommand)]
pub enum LabAction {
    /// Mount a slow array to try things on, until Ctrl-C
    ///
    /// Its files respond at the modelled array's speed, in real time, and are deleted at the end.
    /// Needs /dev/fuse, and root or fusermount3. docs/guides/lab.md has an example.
    Mount(LabMountArgs),
}

/// Options of `tilemark lab mount`.
#[derive(Debug, Args)]
pub struct LabMountArgs {
    /// An empty directory
    #[arg(value_name = "MOUNTPOINT")]
    pub point: PathBuf,
    /// A shipped array, one that calibrate saved, or an array file
    ///
    /// A path to a file ends in .toml. Example: tilemark lab mount --array slow-sata /mnt/lab
    #[arg(long, value_name = "NAME|FILE", help_heading = "What is played")]
    pub array: String,
    /// Change one key of the array; repeat for more
    ///
    /// Example: --with pool.disks.count=4
    #[arg(long, value_name = "KEY=VALUE", help_heading = "What is played")]
    pub with: Vec<String>,
    /// Faults with their times: a TOML file
    #[arg(long, value_name = "FILE", requires = "truth", help_heading = "What is played")]
    pub faults: Option<PathBuf>,
    /// Seed of random numbers; drawn and printed if absent
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed, help_heading = "What is played")]
    pub seed: Option<u64>,
    /// Size that the file system reports, at least 64 MiB
    ///
    /// If absent, the smallest of 64 GiB, the array's size and half of the backing's free space.
    #[arg(long, value_name = "SIZE", help_heading = "Where it is")]
    pub size: Option<Bytes>,
    /// Where the data is stored: memory, or unnamed files in a directory
    #[arg(long, value_name = "DIR|memory", default_value = "memory", help_heading = "Where it is")]
    pub backing: PathBuf,
    /// New file that records every fault as it happens, one JSON object a line
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub truth: Option<PathBuf>,
    /// Format of stdout at the end: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}
