use std::path::PathBuf;

use clap::Args;
use spec::Answering;
use spec::over::Over;
use spec::plan::EngineOptions;

use super::kinds;
use super::load::answering;
use super::{HostArgs, Live, LoadArgs, PageArgs, StoredArgs};
use crate::message::Notify;

/// First examples of `run --help`.
const EXAMPLES: &str = "\
Examples:
  tilemark run --quick /mnt/datastore            an estimate in five minutes
  tilemark run /mnt/datastore --tile vdi         three repeats of every step
  tilemark run --tiles 1..8 /mnt/datastore       a curve from 1 to 8 tiles
  tilemark run --quick --destroy-data=SERIAL block:/dev/disk/by-id/NAME
  tilemark run plan.toml                         everything in a file";

/// Options of `run`, `plan`, `check` and `prepare`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("profile"), after_long_help = EXAMPLES)]
pub struct RunArgs {
    /// A plan file (*.toml) or a datastore: dir:PATH, file:PATH, block:PATH
    ///
    /// A bare path is a directory, unless it is a block device. A directory must exist, and all
    /// writes go into one new sub-directory of it. A file is created; an existing one needs
    /// --overwrite-file. A block device needs --destroy-data. nfs:SERVER:/EXPORT is a directory of
    /// an NFS server, reached for this command only. Example: tilemark run --quick dir:/mnt/ssd
    #[arg(value_name = "PLAN|DATASTORE", required_unless_present = "over")]
    pub target: Option<String>,

    /// Five minutes: short steps, one repeat
    ///
    /// Schedules run 100 times as fast and disks are smaller; the result says so.
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub quick: bool,
    /// Tens of minutes: three repeats, steady-state rule (default)
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub standard: bool,
    /// Hours: real time, full size, as published results require
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub full: bool,
    #[command(flatten)]
    pub load: LoadArgs,

    /// Reach the disks through a tier on this host:
    /// DIRECTORY,size=SIZE[,mode=back][,policy=lru][,admission=1][,page=64KiB][,log=10]
    ///
    /// Serves the disks as `tilemark tier` would serve them to a virtual machine, from a directory
    /// on fast storage under all rules of a datastore. The tier begins empty and stays from step to
    /// step; its counters are beside each step. Example: --through-tier
    /// /mnt/nvme,size=20GiB,mode=back
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets mark optional parts")]
    #[arg(long, value_name = "SPEC", value_parser = tier, hide_short_help = true, conflicts_with = "members", help_heading = "How load is made")]
    pub through_tier: Option<bench::rig::TierSpec>,

    #[command(flatten)]
    pub hosts: HostArgs,

    /// Address of an endpoint that the tile's workloads call; repeat for more
    ///
    /// NAME=http://HOST:PORT/PATH, NAME=postgres://USER@HOST:PORT/DATABASE, NAME=smtp://HOST:PORT,
    /// or NAME=imap://HOST:PORT. Encrypted, and never in clear text: https://, smtps://,
    /// smtp+starttls://, imaps://, imap+starttls://, or postgres:// with ?sslmode=verify-full. Calls
    /// go to this address only: its name is resolved once, before the run, and redirects are not
    /// followed. Example: --endpoint page=http://web:8080/
    #[arg(long = "endpoint", value_name = "NAME=ADDRESS", value_parser = answering, hide_short_help = true, help_heading = "What is called")]
    pub endpoints: Vec<(String, Answering)>,

    /// Password for an endpoint's service; repeat for more
    ///
    /// NAME=FILE or NAME=env:VARIABLE. The first line of the file counts. The address names the
    /// user; with IMAP all mailboxes have this password. SMTP and IMAP take one only with TLS.
    /// Example: --endpoint db=postgres://shop@db/tile --credentials db=/root/shop.password
    #[arg(long = "credentials", value_name = "NAME=FILE", value_parser = super::load::named_secret, conflicts_with = "members", hide_short_help = true, help_heading = "What is called")]
    pub credentials: Vec<(String, String)>,

    /// Certificates of the authorities that vouch for an endpoint's service; repeat for others
    ///
    /// NAME=FILE, one file in PEM for each endpoint with TLS. Without it the authorities of this
    /// system count. Example: --endpoint site=https://web/ --ca site=/root/web-ca.pem
    #[arg(long = "ca", value_name = "NAME=FILE", value_parser = super::load::named_file, conflicts_with = "members", hide_short_help = true, help_heading = "What is called")]
    pub authorities: Vec<(String, PathBuf)>,

    /// A virtual machine of yours on which operations may be carried out, by its exact name:
    /// KIND:NAME[,KEY=VALUE...]
    #[arg(long = "machine", value_name = "SPEC", value_parser = machine, long_help = kinds::machines(), hide_short_help = true, help_heading = "What runs")]
    pub machines: Vec<spec::named::NamedMachine>,

    /// A power meter, read during the run: KIND:WHERE[,KEY=VALUE...]; repeat for more
    #[arg(long = "meter", value_name = "SPEC", value_parser = super::meter::spec_of, long_help = kinds::meters(), hide_short_help = true, help_heading = "Power")]
    pub meters: Vec<spec::meter::Meter>,

    /// Record the governor, limits, turbo and idle states before and after; change nothing
    ///
    /// A change in between gives a warning. Covers this computer, not other hosts.
    #[arg(long, hide_short_help = true, help_heading = "Power")]
    pub governor: bool,

    #[command(flatten)]
    pub engine: EngineOptions,
    /// Serial or by-id name of the block device to be overwritten
    ///
    /// The serial number, WWN, EUI, or a name from /dev/disk/by-id, exactly. Kernel names such as
    /// sdb change and are not accepted. A device in use is always refused.
    #[arg(long, value_name = "IDENTITY", help_heading = "Safety")]
    pub destroy_data: Option<String>,
    /// Serial or by-id name of the second datastore's block device
    #[arg(long, value_name = "IDENTITY", hide_short_help = true, help_heading = "Safety")]
    pub second_destroy_data: Option<String>,
    /// Overwrite an existing file given as file:PATH
    #[arg(long, help_heading = "Safety")]
    pub overwrite_file: bool,
    /// Use a datastore on the root file system, an overlay or RAM
    #[arg(long, help_heading = "Safety")]
    pub allow_root_fs: bool,
    /// Keep results on the measured device
    ///
    /// The measurement then includes the writes of the results, a small part.
    #[arg(long, help_heading = "Safety")]
    pub allow_same_device: bool,
    /// Leave the virtual disks in place after the run
    ///
    /// `tilemark cleanup` removes them.
    #[arg(long, conflicts_with = "remove", help_heading = "Safety")]
    pub keep: bool,
    /// Use the disks that a run left: by its name, id or latest
    ///
    /// Disks that were filled completely are not filled again; missing ones are created. The disks
    /// stay, unless --remove is given. Only directories keep disks for reuse; the run that created
    /// them must have ended. latest is the newest run whose disks fit, previous or latest~1 the one
    /// before it. Example: --reuse latest
    #[arg(long, value_name = "RUN", help_heading = "Safety")]
    pub reuse: Option<String>,
    /// Remove the reused disks after the run
    #[arg(long, requires = "reuse", help_heading = "Safety")]
    pub remove: bool,

    #[command(flatten)]
    pub stored: StoredArgs,
    /// View of the run: auto, web, full, line or off
    ///
    /// auto: on a terminal a few lines that change in place, and a page for browsers on this
    /// computer, whose address is printed. Elsewhere, with CI set or with TERM=dumb, plain lines.
    /// web: the page in any case. full: the changing lines alone. line: plain lines. off: nothing
    /// until the result. Also: TILEMARK_LIVE
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, hide_possible_values = true, help_heading = "Output")]
    pub live: Live,
    #[command(flatten)]
    pub page: PageArgs,
    /// Send a message when the run ends: command:PROGRAM, webhook:URL or ntfy:URL; repeat for more
    ///
    /// A program gets the text as its argument and JSON on standard input. A web hook gets the JSON
    /// by POST, a topic of ntfy the text. For a token of the server add ,token=FILE. A message that
    /// cannot be sent changes no result. Example: --notify command:/usr/local/bin/tell
    #[arg(long, value_name = "HOW", hide_short_help = true, help_heading = "Output")]
    pub notify: Vec<Notify>,
    /// Print every step, limit and response time, not one screen
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub verbose: bool,
    /// Print the merged plan with each value's origin, and stop
    #[arg(long, help_heading = "Output")]
    pub print_config: bool,

    /// These options from the command line alone, and then together with the environment. Empty if
    /// nothing is set elsewhere.
    #[arg(skip)]
    pub given: Vec<Self>,
}

/// Parses the settings of a cache tier.
fn tier(text: &str) -> Result<bench::rig::TierSpec, bench::rig::TierSpecError> {
    text.parse()
}

/// Parses a virtual machine in the syntax `KIND:NAME[,KEY=VALUE...]`.
fn machine(text: &str) -> Result<spec::named::NamedMachine, spec::named::NamedMachineError> {
    text.parse()
}

impl RunArgs {
    /// Returns the plan file or datastore, or the export of `--over`, as the user gave it.
    pub fn named(&self) -> &str {
        let over = self.engine.over.as_ref().and_then(Over::export);
        self.target.as_deref().or(over).unwrap_or_default()
    }
}
