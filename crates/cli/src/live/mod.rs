//! The view of a run while it goes on, on stderr; stdout stays data.

mod inline;
mod line;
mod terminal;

use std::io::IsTerminal;
use std::sync::Arc;

use bench::progress::{Control, NoObserver, Observer};

use record::run::Warning;

use crate::args::{Choice, Format, Live};
use crate::signals::Watch;

/// Makes the observer that was asked for. `NO_COLOR`, `CI` and `TERM=dumb` are respected:
/// without a capable terminal every event is a plain line.
pub fn observer(
    live: Live,
    color: Choice,
    format: Format,
    control: &Arc<Control>,
    signals: &Watch,
) -> Box<dyn Observer> {
    let warnings = FinalWarnings::new(format);
    let wants_lines = match live {
        Live::Off => return Box::new(NoObserver),
        Live::Line => true,
        Live::Auto => !is_capable(),
        Live::Full => !std::io::stderr().is_terminal(),
    };
    if wants_lines {
        return Box::new(line::Lines::new(warnings));
    }
    match inline::Inline::new(use_color(color), warnings.clone(), Arc::clone(control)) {
        Ok(view) => {
            // The view itself says when a signal came.
            signals.hush();
            Box::new(view)
        }
        Err(_) => Box::new(line::Lines::new(warnings)),
    }
}

/// Warnings that wait for what they belong to: those of a step are told with its verdict;
/// those of the run are in the text result, and told only where there is none.
#[derive(Debug, Clone)]
pub struct FinalWarnings {
    waiting: Vec<String>,
    has_text: bool,
}

impl FinalWarnings {
    fn new(format: Format) -> Self {
        Self { waiting: Vec::new(), has_text: format == Format::Text }
    }

    fn add(&mut self, warning: &Warning) {
        self.waiting.push(format!("warning: {} [{}]", warning.text, warning.id));
    }

    fn of_step(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting)
    }

    fn of_run(&mut self) -> Vec<String> {
        let waiting = std::mem::take(&mut self.waiting);
        if self.has_text { Vec::new() } else { waiting }
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
