use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use super::formats::blktrace;
use super::input::wrong;
use super::per_cpu;
use super::stream::{OpenOptions, begin, failed, source};
use crate::store::{self, Columns};
use crate::{Source, TraceError};

/// Opens the trace in `path`, plain or compressed (zst, gz, xz; detected by its first bytes).
///
/// A file that blktrace wrote for one CPU stands for its whole device, and so does `DEVICE` if
/// there are files `DEVICE.blktrace.CPU`; a directory stands for all files in it. A directory that
/// [`crate::store::Writer`] wrote is read with all its columns.
///
/// # Errors
/// The path cannot be read, no format matches its beginning, or the given format does not match.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    // A trace of our own; if it is unfinished, the error says so.
    if store::is_store(path) {
        return own(path, options);
    }
    if path.is_dir() {
        return directory(path, options);
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(source) => {
            let files = per_cpu::siblings(path);
            let is_device = source.kind() == ErrorKind::NotFound && !files.is_empty();
            let error = failed(path, source);
            return if is_device { per_cpu::open(&files, path, options) } else { Err(error) };
        }
    };
    let (input, format) = begin(file, path, options)?;
    if format.0.name == blktrace::FORMAT.name {
        let files = per_cpu::siblings(path);
        if files.len() > 1 {
            return per_cpu::open(&files, path, options);
        }
    }
    source(input, format, path, options)
}

/// Opens a trace in Tilemark's own format.
fn own(path: &Path, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    match options.format {
        None => Ok(Box::new(store::open(path)?.source(Columns::ALL))),
        Some(format) => {
            let reason = format!("it is a trace in Tilemark's own format, not a {format} trace");
            Err(wrong(path, &reason))
        }
    }
}

/// Opens the block traces of a directory.
fn directory(path: &Path, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    let files = per_cpu::in_directory(path, None);
    if files.is_empty() {
        return Err(wrong(path, "the directory holds no DEVICE.blktrace.CPU"));
    }
    per_cpu::open(&files, path, options)
}
