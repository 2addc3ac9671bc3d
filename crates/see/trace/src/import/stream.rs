use std::io::Read;
use std::path::Path;

use super::Format;
use super::compression::unpack;
use super::detect::{Found, detect};
use super::foreign::{self, Foreign};
use super::importer::Importer;
use super::input::{Input, wrong};
use super::sink::Sink;
use crate::{Source, TraceError};

/// How a trace is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    /// Its format; detected where none is given.
    pub format: Option<Format>,
    /// Bad lines or records that are counted and left out; one more is an error. 100 by default:
    /// torn lines of a real trace are few, a wrong format is bad from end to end. A trace of which
    /// no line can be used is an error whatever the limit.
    pub max_bad: u64,
}

impl OpenOptions {
    /// Bad lines allowed unless something else is asked for.
    pub const MAX_BAD: u64 = 100;
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { format: None, max_bad: Self::MAX_BAD }
    }
}

/// Opens the trace that `reader` yields, plain or compressed, which messages call `name`.
///
/// # Errors
/// As [`super::open`].
pub fn open_stream<R: Read + Send + 'static>(
    reader: R,
    name: &Path,
    options: &OpenOptions,
) -> Result<Box<dyn Source>, TraceError> {
    let (input, format) = begin(reader, name, options)?;
    source(input, format, name, options)
}

/// The first bytes of a trace, unpacked, and its format.
pub(super) fn begin<R: Read + Send + 'static>(
    reader: R,
    name: &Path,
    options: &OpenOptions,
) -> Result<(Input, Format), TraceError> {
    let reader = unpack(reader).map_err(|source| failed(name, source))?;
    let mut input = Input::new(reader, name, Input::BUFFER);
    input.fill()?;
    // Whatever was named, nothing of a packed file can be read.
    if let Some(foreign) = foreign::packed(input.bytes()) {
        return Err(no_trace(name, foreign));
    }
    let format = options.format.map_or_else(|| found(&input, name), Ok)?;
    Ok((input, format))
}

pub(super) fn source(
    input: Input,
    format: Format,
    name: &Path,
    options: &OpenOptions,
) -> Result<Box<dyn Source>, TraceError> {
    let mut sink = Sink::new(format.name(), name, options.max_bad);
    let decode = (format.0.open)(input, &mut sink)?;
    Ok(Box::new(Importer::new(decode, sink)))
}

/// The one format that fits the beginning of a trace.
fn found(input: &Input, name: &Path) -> Result<Format, TraceError> {
    if input.bytes().is_empty() {
        return Err(wrong(name, "it is empty"));
    }
    match detect(input.bytes(), !input.is_full(), name) {
        Found::One(format) => Ok(format),
        Found::Several(formats) => Err(unrecognised(name, &formats)),
        Found::Foreign(foreign) => Err(no_trace(name, foreign)),
        Found::Nothing => Err(unrecognised(name, &[])),
    }
}

fn unrecognised(path: &Path, fit: &[Format]) -> TraceError {
    let fit = fit.iter().map(|format| format.name()).collect();
    let known = Format::all().map(Format::name).collect();
    TraceError::Unrecognised { path: path.to_owned(), fit, known }
}

fn no_trace(path: &Path, foreign: Foreign) -> TraceError {
    TraceError::Foreign { path: path.to_owned(), what: foreign.what, hint: foreign.hint }
}

pub(super) fn failed(path: &Path, source: std::io::Error) -> TraceError {
    TraceError::Io { path: path.to_owned(), source }
}
