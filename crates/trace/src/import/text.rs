//! The text formats by name.

use super::Format;
use super::formats::msr::Msr;
use super::importer::Decode;
use super::input::Input;
use super::lines::{Line, Lines};
use super::sink::Sink;

/// The text formats in the order in which detection tries them: those with the strictest lines
/// come first.
pub(super) const TEXT: [Format; 1] = [Format::Msr];

/// A parser of the lines of `format`; none for a binary one.
pub(super) fn parser(format: Format) -> Option<Box<dyn Line>> {
    Some(match format {
        Format::Msr => Box::new(Msr::default()),
        _ => return None,
    })
}

/// A decoder of the text `format`; none for a binary one. The formats of the largest public
/// traces are compiled into the loop over lines, the others called through it.
pub(super) fn decoder(format: Format, input: Input, sink: &mut Sink) -> Option<Box<dyn Decode>> {
    Some(match format {
        Format::Msr => Box::new(Lines::new(input, Msr::default(), sink)),
        _ => Box::new(Lines::new(input, parser(format)?, sink)),
    })
}
