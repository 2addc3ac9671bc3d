//! Output to stdout and stderr. Stdout carries only data; a closed pipe is not a failure.

use std::io::{IsTerminal, Write};

use crate::exit::Exit;
use crate::failure::Failure;

/// Writes a line to stderr, for people. `eprintln!` would panic after the reader closed the pipe
/// (`2>&1 | head`, a closed terminal), and the result matters more than messages.
#[macro_export]
macro_rules! say {
    ($($words:tt)*) => {
        $crate::output::to_stderr(&format!($($words)*))
    };
}

/// Writes a line for [`say!`]. Control characters in untrusted names are kept from the terminal.
pub fn to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", untrusted::shown(line));
}

/// Writes text for people to stdout. Control characters in untrusted names are kept from the
/// terminal.
pub fn print(text: &str) -> Result<(), Failure> {
    write(&untrusted::shown(text))
}

/// Writes text for people to stdout, with lines fitted to the terminal. Without a terminal lines
/// stay as they are.
pub fn show(text: &str) -> Result<(), Failure> {
    let text = untrusted::shown(text);
    let width = units::fit::columns();
    let line = |line: &str| {
        let rows = units::fit::filled(line, width, units::fit::hanging_of(line));
        rows.join("\n") + "\n"
    };
    match text.lines().any(|line| line.chars().count() > width) {
        true => write(&text.lines().map(line).collect::<String>()),
        false => write(&text),
    }
}

/// Fits text and tables for people to the terminal on stdout, if it reports its size.
pub fn fit_to_terminal() {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return;
    }
    if let Ok(size) = rustix::termios::tcgetwinsize(&stdout)
        && size.ws_col > 0
    {
        units::fit::set_columns(usize::from(size.ws_col));
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Failure, format!("writing to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes one JSON document to stdout.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(Exit::Failure, format!("making JSON: {error}")))?;
    write(&(text + "\n"))
}
