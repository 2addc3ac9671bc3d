use std::io::Read;
use std::path::Path;

use super::compression::unpack;
use super::detect::{Found, detect};
use super::foreign::{self, Foreign};
use super::formats::blktrace::{self, Blktrace};
use super::formats::{oracle, vscsi};
use super::importer::{Decode, Importer};
use super::input::Input;
use super::records::Records;
use super::sink::Sink;
use super::{Format, text};
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
    let decode = decoder(format, input, &mut sink)?;
    Ok(Box::new(Importer::new(decode, sink)))
}

fn decoder(format: Format, input: Input, sink: &mut Sink) -> Result<Box<dyn Decode>, TraceError> {
    match format {
        Format::Vscsi => match vscsi::version(input.bytes()) {
            Some(1) => Ok(Box::new(Records::new(input, vscsi::Version1, sink))),
            Some(_) => Ok(Box::new(Records::new(input, vscsi::Version2, sink))),
            None => Err(wrong(input.path(), "its first records have neither version 1 nor 2")),
        },
        Format::OracleGeneral => Ok(Box::new(Records::new(input, oracle::Oracle, sink))),
        Format::Blktrace if !blktrace::is_likely(input.bytes()) => {
            Err(wrong(input.path(), "it does not begin with blktrace's magic number"))
        }
        Format::Blktrace => Ok(Box::new(Blktrace::new(vec![input], sink))),
        _ => {
            let path = input.path().to_owned();
            text::decoder(format, input, sink).ok_or_else(|| wrong(&path, "it has no reader"))
        }
    }
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

pub(super) fn wrong(path: &Path, reason: &str) -> TraceError {
    TraceError::Format { path: path.to_owned(), reason: reason.to_owned() }
}

pub(super) fn failed(path: &Path, source: std::io::Error) -> TraceError {
    TraceError::Io { path: path.to_owned(), source }
}
