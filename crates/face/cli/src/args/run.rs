use clap::Args;
use spec::Answering;
use spec::plan::EngineOptions;

use super::kinds;
use super::load::answering;
use super::{HostArgs, Live, LoadArgs, PageArgs, StoredArgs};

/// What people do first.
const EXAMPLES: &str = "\
Examples:
  tilemark run --quick /mnt/datastore            an estimate in five minutes
  tilemark run /mnt/datastore --tile vdi         three repeats of every step
  tilemark run --tiles 1..8 /mnt/datastore       a curve from 1 to 8 tiles
  tilemark run --quick --destroy-data=SERIAL block:/dev/disk/by-id/NAME
  tilemark run plan.toml                         everything in a file";

/// `run`, `plan`, `check` and `prepare` take the same options.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("profile"), after_long_help = EXAMPLES)]
pub struct RunArgs {
    /// A plan file (*.toml) or a datastore: dir:PATH, file:PATH, block:PATH
    ///
    /// A bare path is a directory, unless it is a block device. A directory must exist, and
    /// all that is written goes into one new sub-directory of it. A file is created; one that
    /// exists needs --overwrite-file. A block device needs --destroy-data.
    /// Example: tilemark run --quick dir:/mnt/ssd
    #[arg(value_name = "PLAN|DATASTORE")]
    pub target: String,

    /// Five minutes: short steps, one repeat
    ///
    /// Schedules run 100 times as fast and disks are smaller; the result says so.
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub quick: bool,
    /// Tens of minutes: three repeats, steady-state rule (default)
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub standard: bool,
    /// Hours: real time, full size, as published results ask for
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub full: bool,
    /// How thorough and what runs.
    #[command(flatten)]
    pub load: LoadArgs,

    /// Reach the disks through a tier on this machine:
    /// DIRECTORY,size=SIZE[,mode=back][,policy=lru][,admission=1][,page=64KiB][,log=10]
    ///
    /// As `tilemark tier` would serve them to a virtual machine, from a directory on fast storage to which
    /// all rules of a datastore apply. It begins empty and stays from step to step; what it did is beside
    /// each step. Example: --through-tier /mnt/nvme,size=20GiB,mode=back
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets are what may be left out")]
    #[arg(long, value_name = "SPEC", value_parser = tier, hide_short_help = true, conflicts_with = "members", help_heading = "How load is made")]
    pub through_tier: Option<bench::rig::TierSpec>,

    /// The hosts that drive the tiles, if they are others than this one.
    #[command(flatten)]
    pub hosts: HostArgs,

    /// The service that an endpoint of the tile's workloads is; for each of them once
    ///
    /// NAME=http://HOST:PORT/PATH. Calls go to this address only: its name is resolved once,
    /// before the run, and redirects are not followed. Example: --endpoint page=http://web:8080/
    #[arg(long = "endpoint", value_name = "NAME=ADDRESS", value_parser = answering, hide_short_help = true, help_heading = "What is called")]
    pub endpoints: Vec<(String, Answering)>,

    /// A virtual machine of yours that operations may be carried out on, by its exact name:
    /// KIND:NAME[,KEY=VALUE...]
    #[arg(long = "machine", value_name = "SPEC", value_parser = machine, long_help = kinds::machines(), hide_short_help = true, help_heading = "What runs")]
    pub machines: Vec<spec::named::NamedMachine>,

    /// A meter of watts, read beside the run: KIND:WHERE[,KEY=VALUE...]; for each of them once
    #[arg(long = "meter", value_name = "SPEC", value_parser = super::meter::spec_of, long_help = kinds::meters(), hide_short_help = true, help_heading = "Power")]
    pub meters: Vec<spec::meter::Meter>,

    /// Record the governor, limits, turbo and idle states before and after; change nothing
    ///
    /// What changed in between is a warning. Of this machine, not of hosts.
    #[arg(long, hide_short_help = true, help_heading = "Power")]
    pub governor: bool,

    /// How load is made.
    #[command(flatten)]
    pub engine: EngineOptions,
    /// Serial or by-id name of the block device to be overwritten
    ///
    /// The serial number, WWN, EUI, or a name from /dev/disk/by-id, exactly. Kernel names
    /// such as sdb change places and are not accepted. A device in use is refused in any case.
    #[arg(long, value_name = "IDENTITY", help_heading = "Safety")]
    pub destroy_data: Option<String>,
    /// The same of the block device that is the second datastore
    #[arg(long, value_name = "IDENTITY", hide_short_help = true, help_heading = "Safety")]
    pub second_destroy_data: Option<String>,
    /// Overwrite an existing file given as file:PATH
    #[arg(long, help_heading = "Safety")]
    pub overwrite_file: bool,
    /// Use a datastore on the root file system, an overlay or RAM
    #[arg(long, help_heading = "Safety")]
    pub allow_root_fs: bool,
    /// Keep results on the device that is measured
    ///
    /// Their writes are then a small part of what is measured.
    #[arg(long, help_heading = "Safety")]
    pub allow_same_device: bool,
    /// Leave the virtual disks in place after the run
    ///
    /// `tilemark cleanup` removes them.
    #[arg(long, conflicts_with = "remove", help_heading = "Safety")]
    pub keep: bool,
    /// Use the disks that a run left: by its name, id or latest
    ///
    /// What is there and was filled completely is not filled again; what is missing is made.
    /// The disks stay, unless --remove is given. Only directories keep disks for reuse; the run
    /// that made them must have ended. latest is the newest that left disks that fit, previous or
    /// latest~1 the one before it. Example: --reuse latest
    #[arg(long, value_name = "RUN", help_heading = "Safety")]
    pub reuse: Option<String>,
    /// Remove the disks after the run, though they were reused
    #[arg(long, requires = "reuse", help_heading = "Safety")]
    pub remove: bool,

    /// Where results go.
    #[command(flatten)]
    pub stored: StoredArgs,
    /// The view of the run: auto, web, full, line or off
    ///
    /// auto: on a terminal a few lines that change in place, and a page for browsers on this
    /// machine. Its address is printed. Elsewhere, with CI set or with TERM=dumb: plain lines.
    /// web: the page in any case. full: those few lines alone. line: plain lines. off: nothing
    /// until the result. Also: TILEMARK_LIVE
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, hide_possible_values = true, help_heading = "Output")]
    pub live: Live,
    /// Where the page listens, if it is to.
    #[command(flatten)]
    pub page: PageArgs,
    /// Print every step, limit and response time, not one screen
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub verbose: bool,
    /// Print the merged plan with each value's origin, and stop
    #[arg(long, help_heading = "Output")]
    pub print_config: bool,

    /// The same options as the command line alone gives them, then with the environment; none
    /// where nothing is set elsewhere.
    #[arg(skip)]
    pub given: Vec<Self>,
}

/// A tier from its text.
fn tier(text: &str) -> Result<bench::rig::TierSpec, bench::rig::TierSpecError> {
    text.parse()
}

/// A machine from its text.
fn machine(text: &str) -> Result<spec::named::NamedMachine, spec::named::NamedMachineError> {
    text.parse()
}
