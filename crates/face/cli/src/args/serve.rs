use std::path::PathBuf;

use clap::Args;
use page_server::Listen;

use super::TokenArgs;

/// `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// A directory of runs and recorded traces, or some of these; if absent, where run directories
    /// are kept
    ///
    /// A run is a directory, a name, a part of an id, `latest`, `latest~1` or `previous`; a trace is a NAME.tmt.
    /// Example: tilemark serve latest
    #[arg(value_name = "DIR|RUN|TRACE")]
    pub places: Vec<String>,
    /// Where to listen: PORT, HOST or HOST:PORT [default: 127.0.0.1, port 7655 or the next free]
    ///
    /// Only this machine can ask by default. At another address a token is needed, which is in
    /// the printed address; there is no encryption. Examples: 8000, 0.0.0.0:8000
    #[arg(long, value_name = "ADDRESS", env = "TILEMARK_LISTEN", hide_env = true, alias = "port")]
    pub listen: Option<Listen>,
    /// The token that is asked for.
    #[command(flatten)]
    pub token: TokenArgs,
    /// Where run directories are kept
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
    /// Goes on for a run that has ended: standard input is the open address, known by this name
    #[arg(long, value_name = "HOST", hide = true)]
    pub inherited: Option<String>,
}

/// `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// A directory to try; if absent, one of our own here, removed afterwards
    ///
    /// The same rules as for `tilemark run`: all files go into one new sub-directory and are
    /// removed. At most 2 GiB.
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Where the result goes
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A run: its directory, its name, a part of its id, `latest`, `latest~1` or `previous`
    pub run: String,
    /// The file; `report-ID.html` here if absent
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Where run directories are kept
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
}
