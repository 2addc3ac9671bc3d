//! Opens addresses of pages and metrics before anything else. So a program that was told to listen
//! either listens or reports why not.

use std::path::Path;

use page_server::{Door, Listen};

use crate::exit::Exit;
use crate::failure::Failure;

/// Opens an address. The token is read from a file, or drawn.
pub fn open(listen: &Listen, token_file: Option<&Path>) -> Result<Door, Failure> {
    let token = token_file.map(token).transpose()?;
    listen.bind_with(token).map_err(|error| {
        Failure::new(Exit::Refused, format!("listening on {listen}: {error}"))
            .hint(Some("name another port with --listen"))
    })
}

fn token(path: &Path) -> Result<String, Failure> {
    let wrong = |what: String| {
        let message = format!("reading the token of {}: {what}", path.display());
        Failure::new(Exit::Usage, message).hint(Some("openssl rand -hex 24 > FILE creates a token"))
    };
    let text = untrusted::read_named_text(path).map_err(|e| wrong(e.to_string()))?;
    let token = text.trim_end();
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    if !(16..=128).contains(&token.len()) || !token.chars().all(is_fit) {
        return Err(wrong(format!(
            "the token has {} characters; allowed is one line of 16 to 128 letters, digits, -, _, \
            . or ~",
            token.chars().count()
        )));
    }
    Ok(token.to_owned())
}
