use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use units::{Bytes, Nanos};

use super::{Format, Live, SeenHostsArgs};

/// `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Block devices, or files and directories on them
    ///
    /// The whole disk under each is recorded, with offsets from its start. If absent, every
    /// disk of the machine. Example: tilemark record /dev/vda --duration 60s
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Record for this long; until Ctrl-C if absent
    ///
    /// Example: 30s, 5m
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Record while this command runs
    ///
    /// Everything that the disks do in that time: written data reaches a disk by the kernel's
    /// own threads, often after the command that wrote it. Its output goes to stderr.
    /// Example: tilemark record /var/lib -- pgbench -T 60
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// Only I/O of this QEMU virtual machine, by name or UUID
    ///
    /// It has to run, unless a COMMAND is given, which may start it.
    #[arg(long, value_name = "NAME", help_heading = "Whose I/O")]
    pub vm: Option<String>,
    /// Only I/O that this process and its threads send themselves
    ///
    /// What a process writes through the page cache is sent by the kernel's threads later.
    #[arg(long, value_name = "PID", help_heading = "Whose I/O")]
    pub pid: Option<u32>,
    /// Only I/O of processes in this control group and below it
    ///
    /// As in /proc/PID/cgroup, or a path below /sys/fs/cgroup.
    /// Example: /system.slice/postgresql.service
    #[arg(long, value_name = "PATH", help_heading = "Whose I/O")]
    pub cgroup: Option<String>,
    /// Tell senders apart by: name, process or cgroup
    ///
    /// QEMU virtual machines have their own names in any case.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = By::Name, hide_possible_values = true, help_heading = "Whose I/O")]
    pub by: By,

    /// Which hosts record.
    #[command(flatten)]
    pub seen: SeenHostsArgs,

    /// The trace: a new directory, NAME.tmt
    ///
    /// If absent, record-DATE-TIME.tmt here. Its own writes are in the trace, under the name
    /// tilemark, if it is on a disk that is recorded.
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// The kernel's buffer of each CPU
    ///
    /// 64KiB or more; about 12,000 I/Os to the MiB. Events that find no room are counted, and
    /// the I/O that they belong to is never held up.
    #[arg(long, value_name = "SIZE", default_value = "8MiB", help_heading = "Output")]
    pub buffer: Bytes,
    /// What stdout carries: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
    /// What is told each second: auto, web, full, line or off
    ///
    /// auto, web and full: one line that changes in place on a terminal, plain lines elsewhere.
    /// auto on a terminal and web: a page for browsers on this machine, too.
    /// Also: TILEMARK_LIVE
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, hide_possible_values = true, help_heading = "Output")]
    pub live: Live,
}

/// What senders are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Processes of one name together.
    Name,
    /// Each process.
    Process,
    /// Control groups.
    Cgroup,
}
