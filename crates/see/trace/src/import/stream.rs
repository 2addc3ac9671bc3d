use std::io::Read;
use std::path::Path;

use super::Format;
use super::compression::unpack;
use super::detect::{Detection, detect};
use super::foreign::{self, Foreign};
use super::importer::Importer;
use super::input::{Input, wrong};
use super::sink::Sink;
use crate::{Source, TraceError};

/// Options for reading a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    /// Format of the trace; `None` to detect it.
    pub format: Option<Format>,
    /// Maximum number of bad lines or records that are counted and left out; one more is an error.
    /// The default is 100: a real trace has few torn lines, while a file in a wrong format is bad
    /// throughout. A trace without any usable line is an error whatever the limit.
    pub max_bad: u64,
}

impl OpenOptions {
    /// Default number of allowed bad lines.
    pub const MAX_BAD: u64 = 100;
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { format: None, max_bad: Self::MAX_BAD }
    }
}

/// Opens the trace from `reader`, plain or compressed, with `name` in messages.
///
/// # Errors
/// Errors of [`super::open`].
pub fn open_stream<R: Read + Send + 'static>(
    reader: R,
    name: &Path,
    options: &OpenOptions,
) -> Result<Box<dyn Source>, TraceError> {
    let (input, format) = begin(reader, name, options)?;
    source(input, format, name, options)
}

/// Reads and unpacks the first bytes of a trace, and determines its format.
pub(super) fn begin<R: Read + Send + 'static>(
    reader: R,
    name: &Path,
    options: &OpenOptions,
) -> Result<(Input, Format), TraceError> {
    let reader = unpack(reader).map_err(|source| failed(name, source))?;
    let mut input = Input::new(reader, name, Input::BUFFER);
    input.fill()?;
    // A packed file cannot be read, whatever format was named.
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

/// Determines the format that matches the beginning of a trace.
fn found(input: &Input, name: &Path) -> Result<Format, TraceError> {
    if input.bytes().is_empty() {
        return Err(wrong(name, "it is empty"));
    }
    match detect(input.bytes(), !input.is_full(), name) {
        Detection::One(format) => Ok(format),
        Detection::Several(formats) => Err(unrecognised(name, &formats)),
        Detection::Foreign(foreign) => Err(no_trace(name, foreign)),
        Detection::Nothing => Err(unrecognised(name, &[])),
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
