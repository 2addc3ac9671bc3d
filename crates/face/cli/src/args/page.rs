use std::path::PathBuf;

use clap::Args;
use page_server::Listen;

/// Address of the page that shows a run live.
#[derive(Debug, Args)]
pub struct PageArgs {
    /// Serve the page and /metrics at this address, whatever --live is: PORT, HOST or HOST:PORT
    ///
    /// As with `tilemark serve --listen`, addresses beyond this computer need a token, which is in
    /// the printed address or in --token-file. There is no encryption. Without --host, --listen
    /// does the same. Examples: 8000, 0.0.0.0:8000
    #[arg(long, value_name = "ADDRESS", hide_short_help = true, help_heading = "Output")]
    pub page: Option<Listen>,
    #[command(flatten)]
    pub token: TokenArgs,
}

/// Token for clients on other computers.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// A file with the token that clients at other addresses than this computer's own must send
    ///
    /// One line of 16 to 128 letters, digits, `-`, `_`, `.` or `~`; drawn and printed if absent.
    /// Prometheus can use the same file as its credentials_file.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Output")]
    pub token_file: Option<PathBuf>,
}
