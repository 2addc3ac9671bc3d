use std::path::PathBuf;

use clap::Args;
use page_server::Listen;

use super::{ServeHostsArgs, TokenArgs};

/// Options of `tilemark serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// A directory of runs and recorded traces, or some of these, or the store of a watched host [default: the directory of stored
    /// runs]
    ///
    /// A run is a directory, a name, a part of an id, `latest`, `latest~1` or `previous`; a trace is a NAME.tmt; a
    /// store is the directory of `tilemark watch --store`.
    /// Example: tilemark serve latest
    #[arg(value_name = "DIR|RUN|TRACE")]
    pub places: Vec<String>,
    /// Address to listen at: PORT, HOST or HOST:PORT [default: 127.0.0.1, port 7655 or the next
    /// free]
    ///
    /// By default only this computer can connect. Other addresses need a token, which is in the
    /// printed address. There is no encryption. Examples: 8000, 0.0.0.0:8000
    #[arg(long, value_name = "ADDRESS", env = "TILEMARK_LISTEN", hide_env = true, alias = "port")]
    pub listen: Option<Listen>,
    #[command(flatten)]
    pub token: TokenArgs,
    #[command(flatten)]
    pub watched: ServeHostsArgs,
    /// Directory of stored runs
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
    /// Continue to serve for a run that has ended: standard input is the open listener, for clients
    /// that use this host name
    #[arg(long, value_name = "HOST", hide = true)]
    pub inherited: Option<String>,
}

/// Options of `tilemark demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// A directory to try; if absent, a temporary directory here, removed afterwards
    ///
    /// Same rules as for `tilemark run`: all files go into one new sub-directory and are removed.
    /// At most 2 GiB.
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Directory for the result
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
}

/// Options of `tilemark report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A run: its directory, its name, a part of its id, `latest`, `latest~1` or `previous`
    pub run: String,
    /// File to write; `report-ID.html` here if absent
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Directory of stored runs
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
}
