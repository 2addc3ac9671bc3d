//! The view of a run while it goes on, on stderr; stdout stays data.

mod inline;
mod line;

use std::io::IsTerminal;

use bench::progress::{NoObserver, Observer};

use crate::args::{Choice, Live};

/// Makes the observer that was asked for. `NO_COLOR`, `CI` and `TERM=dumb` are respected:
/// without a capable terminal every event is a plain line.
pub fn observer(live: Live, color: Choice) -> Box<dyn Observer> {
    match live {
        Live::Off => Box::new(NoObserver),
        Live::Line => Box::new(line::Lines::default()),
        Live::Auto if !is_capable() => Box::new(line::Lines::default()),
        Live::Auto | Live::Full => match inline::Inline::new(use_color(color)) {
            Ok(view) => Box::new(view),
            Err(_) => Box::new(line::Lines::default()),
        },
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_capable() -> bool {
    std::io::stderr().is_terminal()
        && !is_set("CI")
        && std::env::var("TERM").is_ok_and(|term| term != "dumb")
}

/// Colour only helps: no meaning is carried by it alone.
fn use_color(color: Choice) -> bool {
    match color {
        Choice::Always => true,
        Choice::Never => false,
        Choice::Auto => !is_set("NO_COLOR"),
    }
}
