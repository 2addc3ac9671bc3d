//! The view of a run while it goes on, on stderr; stdout stays data.

mod inline;
mod line;
mod terminal;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use bench::progress::{Control, NoObserver, Observer, Progress};

use run_store::run::Warning;

use crate::args::{Choice, Format, Live};
use crate::page::Page;
use crate::signals::Watch;

/// What shows a run while it goes on: on stderr, and perhaps as a page.
pub struct Viewer {
    shown: Box<dyn Observer>,
    page: Option<Page>,
}

impl Observer for Viewer {
    fn event(&mut self, event: &Progress<'_>) {
        // First, so that the address that is printed is answered.
        if let Some(page) = &mut self.page {
            page.event(event);
        }
        self.shown.event(event);
    }
}

impl Viewer {
    /// Ends what is on stderr; the page goes on.
    pub fn into_page(self) -> Option<Page> {
        self.page
    }
}

/// Makes the view that was asked for; `base` is where runs are stored. `NO_COLOR`, `CI` and
/// `TERM=dumb` are respected: without a capable terminal every event is a plain line, and
/// nothing listens unless it was asked for.
pub fn viewer(
    live: Live,
    color: Choice,
    format: Format,
    control: &Arc<Control>,
    signals: &Watch,
    base: &Path,
) -> Viewer {
    with_page(page(live, base), live, color, format, control, signals)
}

/// The same, with a page or without one.
pub fn with_page(
    page: Option<Page>,
    live: Live,
    color: Choice,
    format: Format,
    control: &Arc<Control>,
    signals: &Watch,
) -> Viewer {
    let warnings = FinalWarnings::new(format);
    let address = page.as_ref().map(Page::address);
    Viewer { shown: shown(live, color, warnings, address, control, signals), page }
}

/// The page, where one is wanted. A run is worth more than its page.
pub fn page(live: Live, base: &Path) -> Option<Page> {
    let is_wanted = match live {
        Live::Web => true,
        Live::Auto => is_capable(),
        Live::Full | Live::Line | Live::Off => false,
    };
    if !is_wanted {
        return None;
    }
    Page::open(base).inspect_err(|error| crate::say!("there is no page: {error}")).ok()
}

/// The view on stderr alone.
pub fn observer(
    live: Live,
    color: Choice,
    format: Format,
    control: &Arc<Control>,
    signals: &Watch,
) -> Box<dyn Observer> {
    shown(live, color, FinalWarnings::new(format), None, control, signals)
}

fn shown(
    live: Live,
    color: Choice,
    warnings: FinalWarnings,
    address: Option<String>,
    control: &Arc<Control>,
    signals: &Watch,
) -> Box<dyn Observer> {
    let wants_lines = match live {
        Live::Off => return Box::new(NoObserver),
        Live::Line => true,
        Live::Auto | Live::Web => !is_capable(),
        Live::Full => !std::io::stderr().is_terminal(),
    };
    if wants_lines {
        return Box::new(line::Lines::new(warnings, address));
    }
    let view = inline::Inline::new(use_color(color), warnings.clone(), address.clone(), control);
    match view {
        Ok(view) => {
            // The view itself says when a signal came.
            signals.hush();
            Box::new(view)
        }
        Err(_) => Box::new(line::Lines::new(warnings, address)),
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
