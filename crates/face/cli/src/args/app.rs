use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `tilemark app`.
#[derive(Debug, Args)]
pub struct AppArgs {
    #[command(subcommand)]
    pub action: AppAction,
}

/// Subcommands of `tilemark app`.
#[derive(Debug, Subcommand)]
pub enum AppAction {
    /// Serve a real application whose data a run made
    ///
    /// A run of `web-real` starts it as the servers' user; docs/guides/real-applications.md tells
    /// more.
    #[command(subcommand)]
    Serve(AppServeKind),
}

/// Applications that this program serves by itself.
#[derive(Debug, Subcommand)]
pub enum AppServeKind {
    /// Serve the web site: pages from PostgreSQL, pictures and documents from files
    ///
    /// Ends when its database ends. Refuses root: pictures of visitors are written as its user.
    Web(AppServeWebArgs),
}

/// Options of `tilemark app serve web`.
#[derive(Debug, Args)]
pub struct AppServeWebArgs {
    /// Directory of the data: generated files in `files`, pictures of added events in `uploads`
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Directory of the socket of PostgreSQL (.s.PGSQL.5432)
    #[arg(long, value_name = "DIR")]
    pub database: PathBuf,
    /// Directory in which the site's socket web.sock is created; any process that may open the
    /// directory can send requests
    #[arg(long, value_name = "DIR")]
    pub socket: PathBuf,
    /// Maximum number of connections at the same time; further ones are answered with 503
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub connections: u16,
}

/// Options of `tilemark nfs-client`.
#[derive(Debug, Args)]
pub struct NfsClientArgs {
    /// File that is created as soon as the export is mounted
    #[arg(long, value_name = "FILE")]
    pub ready: PathBuf,
    /// Export of an NFS 3 server
    #[arg(value_name = "nfs:SERVER:/EXPORT")]
    pub export: nfs::Export,
    /// Empty directory on which the export is mounted
    #[arg(value_name = "DIR")]
    pub point: PathBuf,
}
