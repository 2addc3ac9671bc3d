//! Declaration of a format by a file of `formats`: its names, its detection and its decoder.

use std::path::Path;

use super::importer::Decode;
use super::input::Input;
use super::lines::{Line, Lines};
use super::sink::Sink;
use crate::TraceError;

/// Function that makes a decoder of the rest of a trace.
type Open = fn(Input, &mut Sink) -> Result<Box<dyn Decode>, TraceError>;

/// Declaration of one format.
pub(super) struct Kind {
    /// Name that `--from` takes.
    pub(super) name: &'static str,
    /// Other names that `--from` takes.
    pub(super) aliases: &'static [&'static str],
    /// Description in one line, for a list of formats.
    pub(super) help: &'static str,
    pub(super) detect: Detect,
    pub(super) open: Open,
}

/// Detection of a format from the first bytes of a trace.
pub(super) enum Detect {
    Text {
        /// Function that returns true if the first line alone identifies the format.
        is_header: fn(&[u8]) -> bool,
        understood: fn(&[u8], &[&[u8]]) -> Option<Understood>,
    },
    Binary(fn(&[u8]) -> bool),
}

/// Number of lines that a format converts to I/O, and of lines that it cannot use.
pub(super) struct Understood {
    pub(super) good: usize,
    pub(super) bad: usize,
}

impl Kind {
    /// Declares a format of lines. The parser is compiled into the loop over lines, because a call
    /// through a pointer per line would cost more than parsing most lines.
    pub(super) const fn text<L: Line + 'static>(
        name: &'static str,
        aliases: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        let detect = Detect::Text { is_header: L::is_header, understood: understood::<L> };
        let open: Open = |input, sink| Ok(Box::new(Lines::<L>::new(input, sink)));
        Self { name, aliases, help, detect, open }
    }

    /// Declares a format of bytes; `is_likely` judges the first bytes.
    pub(super) const fn binary(
        name: &'static str,
        aliases: &'static [&'static str],
        help: &'static str,
        is_likely: fn(&[u8]) -> bool,
        open: Open,
    ) -> Self {
        Self { name, aliases, help, detect: Detect::Binary(is_likely), open }
    }
}

/// Counts the first lines that the format understands; `None` if there are none, or they are not
/// plausible.
fn understood<L: Line>(head: &[u8], lines: &[&[u8]]) -> Option<Understood> {
    let mut parser = L::default();
    let mut sink = Sink::new("", Path::new(""), u64::MAX);
    parser.begin(head, &mut sink);
    let mut bad = 0;
    for line in lines {
        bad += usize::from(parser.line(line, &mut sink).is_err());
    }
    parser.end(&mut sink);
    let good = sink.records.len();
    (good > 0 && L::is_plausible(lines)).then_some(Understood { good, bad })
}
