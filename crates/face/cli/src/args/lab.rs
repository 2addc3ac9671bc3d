use std::path::PathBuf;

use clap::{Args, Subcommand};
use units::Bytes;

use super::{Format, seed};

/// `lab`.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: LabAction,
}

/// What to do with a lab.
#[derive(Debug, Subcommand)]
pub enum LabAction {
    /// Mount a slow array to try things on, until Ctrl-C
    ///
    /// Files in it answer when the modelled array would, in real time; what is in them is gone at
    /// the end. Needs /dev/fuse, and root or fusermount3. docs/guides/lab.md has an example.
    Mount(LabMountArgs),
}

/// `lab mount`.
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
    /// Change one key of the array; as often as needed
    ///
    /// Example: --with pool.disks.count=4
    #[arg(long, value_name = "KEY=VALUE", help_heading = "What is played")]
    pub with: Vec<String>,
    /// What goes wrong, and when: a TOML file
    #[arg(long, value_name = "FILE", requires = "truth", help_heading = "What is played")]
    pub faults: Option<PathBuf>,
    /// Where random numbers start; drawn and printed if absent
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed, help_heading = "What is played")]
    pub seed: Option<u64>,
    /// What the file system says it holds, at least 64 MiB
    ///
    /// If absent, 64 GiB, what the array holds, or half of what the backing has room for: the
    /// least of them.
    #[arg(long, value_name = "SIZE", help_heading = "Where it is")]
    pub size: Option<Bytes>,
    /// Where the bytes are: memory, or a directory, in files without a name
    #[arg(long, value_name = "DIR|memory", default_value = "memory", help_heading = "Where it is")]
    pub backing: PathBuf,
    /// A file to be made: every fault as it happens, one JSON object a line
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub truth: Option<PathBuf>,
    /// What stdout carries at the end: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}
