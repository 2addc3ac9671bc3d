use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use units::{Bytes, Nanos};

use super::{By, Format, WatchHostsArgs};

/// Options of `tilemark watch`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct WatchArgs {
    /// Watches if absent.
    #[command(subcommand)]
    pub action: Option<WatchAction>,
    /// Block devices, or files and directories on them
    ///
    /// Watches the whole disk under each. If absent, every disk of the computer, also those that
    /// come later. Example: tilemark watch --store /srv/watch
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    #[command(flatten)]
    pub store: WatchStoreArgs,
    /// Maximum size of the store
    ///
    /// The oldest slices of 10 s are removed first, then the oldest slices of a minute, and so on.
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    pub keep: Bytes,
    /// File of rules that raise alarms (docs/guides/watch.md)
    ///
    /// tilemark watch check-rules FILE shows how Tilemark understands the file.
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Watch for this long; until Ctrl-C if absent
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Distinguish initiators by: name, process or cgroup
    ///
    /// QEMU virtual machines always have their own names.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = By::Name, hide_possible_values = true)]
    pub by: By,
    /// Address for Prometheus, on this computer
    ///
    /// Counters and histograms by VM, disk and direction at /metrics. Example: 127.0.0.1:7656
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<std::net::SocketAddr>,
    /// Directory on the storage of the VMs in which the watcher issues a few small I/Os
    ///
    /// Twelve times a minute 4 KiB are read and 4 KiB written durably, as the initiator "canary".
    /// The canary pauses while others wait for storage. So a slow canary shows that the storage
    /// itself is slow, and a paused canary that it is busy. Takes 16 MiB. Example: /var/lib/vz
    #[arg(long, value_name = "DIR")]
    pub canary: Option<PathBuf>,
    /// Also ask the VMs of this libvirt for the counters of their disks
    ///
    /// Shows disks that this computer's kernel does not see (RBD, NBD, iSCSI in QEMU), with the
    /// latency that the guest sees. libvirt marks each VM that is asked as tainted
    /// (custom-monitor). Needs virsh and the right to change VMs. Example: qemu:///system
    #[arg(long, value_name = "URI")]
    pub libvirt: Option<String>,
    /// Kernel buffer of each CPU
    ///
    /// Events that find the buffer full are counted and lost; their I/O is never delayed.
    #[arg(long, value_name = "SIZE", default_value = "2MiB")]
    pub buffer: Bytes,
}

/// Environment variable with the directory of a store.
pub const WATCH_STORE_ENV: &str = "TILEMARK_WATCH";

/// Directory of a watch store.
#[derive(Debug, Clone, Args)]
pub struct WatchStoreArgs {
    /// Directory of the store
    #[arg(
        long,
        value_name = "DIR",
        default_value = watch::STORE_DIRECTORY,
        env = WATCH_STORE_ENV,
        hide_env = true
    )]
    pub store: PathBuf,
}

/// Subcommands of `tilemark watch`.
#[derive(Debug, Subcommand)]
pub enum WatchAction {
    /// Show the contents of a store, and the VMs that suffer most
    Status(WatchStatusArgs),
    /// Write the slices of a time window
    Export(WatchExportArgs),
    /// Name the VMs whose I/O rises together with the latency of a VM
    Neighbours(WatchNeighboursArgs),
    /// List the recordings of broken limits, with their findings
    Evidence(WatchEvidenceArgs),
    /// Remove the data of a time or of a VM
    Forget(WatchForgetArgs),
    /// Show the rules of a file as they are understood
    CheckRules(WatchCheckRulesArgs),
}

/// Window of time.
#[derive(Debug, Clone, Args)]
pub struct WindowArgs {
    /// Only the last part of this length [default: everything]
    ///
    /// Example: 24h
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "to"])]
    pub last: Option<Nanos>,
    /// Begin, in UTC
    ///
    /// Example: 2026-11-24, 2026-11-24T14:05
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub from: Option<u64>,
    /// End, in UTC
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub to: Option<u64>,
}

/// Store, time window and format of a query of watched I/O.
#[derive(Debug, Args)]
pub struct WatchLookArgs {
    #[command(flatten)]
    pub store: WatchStoreArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Options of `tilemark watch status`.
#[derive(Debug, Args)]
pub struct WatchStatusArgs {
    #[command(flatten)]
    pub look: WatchLookArgs,
    #[command(flatten)]
    pub watched: WatchHostsArgs,
}

/// Options of `tilemark watch export`.
#[derive(Debug, Args)]
pub struct WatchExportArgs {
    #[command(flatten)]
    pub store: WatchStoreArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Export format
    #[arg(long, value_enum, default_value_t = WatchExportFormat::Csv)]
    pub format: WatchExportFormat,
    /// Write the working sets of the VMs, hour by hour, and no slices
    #[arg(long)]
    pub sets: bool,
    /// Maximum number of slices
    ///
    /// The finest level with at most this many slices in the window is written.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub slices: u64,
    /// File to write; stdout if absent
    #[arg(short, long, value_name = "FILE", required_if_eq("format", "parquet"))]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub watched: WatchHostsArgs,
}

/// Formats of exported slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WatchExportFormat {
    /// A row for each slice, VM, disk, direction and size class, with percentiles.
    Csv,
    /// Rows of CSV with histograms and gauges, as Parquet.
    Parquet,
}

/// Options of `tilemark watch neighbours`.
#[derive(Debug, Args)]
pub struct WatchNeighboursArgs {
    /// The VM that suffers
    #[arg(value_name = "VM")]
    pub vm: String,
    #[command(flatten)]
    pub look: WatchLookArgs,
    #[command(flatten)]
    pub watched: WatchHostsArgs,
}

/// Options of `tilemark watch evidence`.
#[derive(Debug, Args)]
pub struct WatchEvidenceArgs {
    #[command(flatten)]
    pub store: WatchStoreArgs,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub watched: WatchHostsArgs,
}

/// Options of `tilemark watch forget`.
#[derive(Debug, Args)]
pub struct WatchForgetArgs {
    #[command(flatten)]
    pub store: WatchStoreArgs,
    /// Remove the data before this time, in UTC
    ///
    /// A slice that begins before this time is removed as a whole; at coarse levels it is up to an
    /// hour or a day long.
    #[arg(long, value_name = "DATE", value_parser = date, required_unless_present = "vm")]
    pub before: Option<u64>,
    /// Remove everything of this VM or other initiator
    #[arg(long, value_name = "NAME")]
    pub vm: Option<String>,
}

/// Options of `tilemark watch check-rules`.
#[derive(Debug, Args)]
pub struct WatchCheckRulesArgs {
    /// File of rules
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Parses a date, or a date and a time, in UTC, as seconds since 1970.
fn date(text: &str) -> Result<u64, String> {
    let time: jiff::Timestamp = match text.parse() {
        Ok(time) => time,
        Err(_) => {
            let civil: jiff::civil::DateTime = text.parse().map_err(|_| {
                "not a date such as 2026-11-24 or 2026-11-24T14:05 (UTC)".to_owned()
            })?;
            let zoned = civil.to_zoned_datetime(jiff::tz::TimeZone::UTC);
            zoned.map_err(|error| error.to_string())?.timestamp()
        }
    };
    u64::try_from(time.as_second()).map_err(|_| "a time before 1970".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_utc() {
        assert_eq!(date("2026-11-24"), Ok(1_795_478_400));
        assert_eq!(date("2026-11-24T14:05"), Ok(1_795_478_400 + 14 * 3600 + 300));
        assert_eq!(date("2026-11-24T14:05:00+01:00"), Ok(1_795_478_400 + 13 * 3600 + 300));
        assert!(date("yesterday").is_err() && date("1969-01-01").is_err());
    }
}
