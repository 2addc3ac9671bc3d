use std::path::PathBuf;

use clap::Args;
use page_server::Listen;

/// Where the page of what goes on is answered.
#[derive(Debug, Args)]
pub struct PageArgs {
    /// Answer the page and /metrics here, whatever --live: PORT, HOST or HOST:PORT
    ///
    /// As `tilemark serve --listen`: beyond this machine's own addresses it needs a token, which
    /// is in the printed address or in --token-file. There is no encryption. Without --host
    /// also: --listen. Examples: 8000, 0.0.0.0:8000
    #[arg(long, value_name = "ADDRESS", hide_short_help = true, help_heading = "Output")]
    pub page: Option<Listen>,
    /// The token that --page asks for
    #[command(flatten)]
    pub token: TokenArgs,
}

/// What somebody on another machine must know.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// A file with the token that is asked for at other addresses than this machine's own
    ///
    /// One line of 16 to 128 letters, digits, `-`, `_`, `.` or `~`; one is drawn and printed if
    /// absent. With it Prometheus can ask: its credentials_file is the same file.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Output")]
    pub token_file: Option<PathBuf>,
}
