use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use units::{Bytes, Nanos};

use super::{Format, Live, SeenHostsArgs};

/// Options of `tilemark record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Block devices, or files and directories on them
    ///
    /// Records the whole disk under each, with offsets from the disk's start. If absent, every disk
    /// of the computer. Example: tilemark record /dev/vda --duration 60s
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Record for this long; until Ctrl-C if absent
    ///
    /// Example: 30s, 5m
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Record while this command runs
    ///
    /// Records all I/O of the disks in that time, not only the command's: the kernel's own threads
    /// often write a command's data after it has ended. The command's output goes to stderr.
    /// Example: tilemark record /var/lib -- pgbench -T 60
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// Only I/O of this QEMU virtual machine, by name or UUID
    ///
    /// The VM has to run, unless a COMMAND is given that may start it.
    #[arg(long, value_name = "NAME", help_heading = "Whose I/O")]
    pub vm: Option<String>,
    /// Only I/O that this process and its threads issue themselves
    ///
    /// Data that a process writes through the page cache is issued later by kernel threads.
    #[arg(long, value_name = "PID", help_heading = "Whose I/O")]
    pub pid: Option<u32>,
    /// Only I/O of processes in this control group and below it
    ///
    /// As in /proc/PID/cgroup, or a path below /sys/fs/cgroup. Example:
    /// /system.slice/postgresql.service
    #[arg(long, value_name = "PATH", help_heading = "Whose I/O")]
    pub cgroup: Option<String>,
    /// Distinguish initiators by: name, process or cgroup
    ///
    /// QEMU virtual machines always have their own names.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = By::Name, hide_possible_values = true, help_heading = "Whose I/O")]
    pub by: By,

    #[command(flatten)]
    pub seen: SeenHostsArgs,

    /// The trace: a new directory, NAME.tmt
    ///
    /// If absent, record-DATE-TIME.tmt here. If the directory lies on a recorded disk, the
    /// recorder's own writes are in the trace, under the name tilemark.
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Kernel buffer of each CPU
    ///
    /// 64KiB or more; holds about 12,000 I/Os per MiB. Events that find the buffer full are counted
    /// and lost; their I/O is never delayed.
    #[arg(long, value_name = "SIZE", default_value = "8MiB", help_heading = "Output")]
    pub buffer: Bytes,
    /// Format of stdout: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
    /// Messages while recording: auto, web, full, line or off
    ///
    /// auto, web and full: one line that changes in place on a terminal, plain lines elsewhere.
    /// web, and auto on a terminal: also a page for browsers on this computer. Also: TILEMARK_LIVE
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, hide_possible_values = true, help_heading = "Output")]
    pub live: Live,
}

/// Property that distinguishes initiators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Process name; all processes of one name are one initiator.
    Name,
    /// Process; each is an initiator.
    Process,
    /// Control group; all its processes are one initiator.
    Cgroup,
}

impl By {
    /// Returns the option's value as typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Process => "process",
            Self::Cgroup => "cgroup",
        }
    }
}
