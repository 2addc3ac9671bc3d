//! View of a running run, on stderr; stdout carries data only.

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

/// View of a run: on stderr, and possibly as a page.
pub struct Viewer {
    shown: Box<dyn Observer>,
    page: Option<Page>,
}

impl Observer for Viewer {
    fn event(&mut self, event: &Progress<'_>) {
        // The page comes first, so that it is ready before its address is printed.
        if let Some(page) = &mut self.page {
            page.event(event);
        }
        self.shown.event(event);
    }
}

impl Viewer {
    /// Ends the view on stderr and returns the page, which continues.
    pub fn into_page(self) -> Option<Page> {
        self.page
    }
}

/// Makes the view for `live`; `base` is the directory of stored runs. `NO_COLOR`, `CI` and
/// `TERM=dumb` are respected: without a capable terminal every event is a plain line, and nothing
/// listens unless requested.
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

/// Makes the view with the given page, or without one.
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

/// Opens the page of the run, if a page is wanted. A page that cannot be opened does not end the
/// run.
pub fn page(live: Live, base: &Path) -> Option<Page> {
    let is_wanted = match live {
        Live::Web => true,
        Live::Auto => is_capable(),
        Live::Full | Live::Line | Live::Off => false,
    };
    if !is_wanted {
        return None;
    }
    Page::open(base).inspect_err(|error| crate::say!("the web page cannot be served: {error}")).ok()
}

/// Creates the view on stderr alone.
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
            // The view prints signals itself.
            signals.hush();
            Box::new(view)
        }
        Err(_) => Box::new(line::Lines::new(warnings, address)),
    }
}

/// Warnings that are held back until the end. Warnings of a step are printed with the step's
/// verdict. Warnings of the run are part of the text result, and are printed only if there is no
/// text result.
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

/// Returns true if colour is used. Colour never carries a meaning alone.
fn use_color(color: Choice) -> bool {
    match color {
        Choice::Always => true,
        Choice::Never => false,
        Choice::Auto => !is_set("NO_COLOR"),
    }
}
