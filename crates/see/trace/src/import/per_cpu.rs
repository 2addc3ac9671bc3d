//! Files of one block trace: blktrace writes one per CPU, `DEVICE.blktrace.CPU`.

use std::fs;
use std::path::{Path, PathBuf};

use super::Format;
use super::compression::unpack;
use super::formats::blktrace::{self, Blktrace};
use super::importer::Importer;
use super::input::{Input, wrong};
use super::sink::Sink;
use super::stream::{OpenOptions, failed, open_stream};
use crate::{Source, TraceError};

/// Text between the device and the CPU in a file's name.
const MIDDLE: &str = ".blktrace.";

/// Returns the files of the trace to which `path` belongs, as one of its files or as its device;
/// empty if `path` is neither.
pub(super) fn siblings(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let device = split(name).unwrap_or(name);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    in_directory(parent.unwrap_or(Path::new(".")), Some(device))
}

/// Returns the files of block traces in a directory, of one device or of all.
pub(super) fn in_directory(directory: &Path, device: Option<&str>) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let is_wanted = |path: &PathBuf| {
        let found = path.file_name().and_then(|name| name.to_str()).and_then(split);
        found.is_some_and(|found| device.is_none_or(|device| device == found))
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_wanted).collect();
    files.sort();
    files
}

/// Opens all `files` as one trace, with the name `path` in messages.
pub(super) fn open(
    files: &[PathBuf],
    path: &Path,
    options: &OpenOptions,
) -> Result<Box<dyn Source>, TraceError> {
    if let [file] = files {
        let format = Some(Format(&blktrace::FORMAT));
        let reader = untrusted::open(file).map_err(|source| failed(file, source))?;
        return open_stream(reader, file, &OpenOptions { format, ..options.clone() });
    }
    let mut inputs = Vec::new();
    for file in files {
        let reader =
            untrusted::open(file).and_then(unpack).map_err(|source| failed(file, source))?;
        let mut input = Input::new(reader, file, blktrace::BUFFER);
        input.fill()?;
        // A CPU that did no I/O leaves an empty file.
        if !(input.bytes().is_empty() || blktrace::is_likely(input.bytes())) {
            return Err(wrong(file, "it does not begin with blktrace's magic number"));
        }
        inputs.push(input);
    }
    let mut sink = Sink::new(blktrace::FORMAT.name, path, options.max_bad);
    let decode = Blktrace::new(inputs, &mut sink);
    Ok(Box::new(Importer::new(Box::new(decode), sink)))
}

/// Returns the device in a file name of the form `DEVICE.blktrace.CPU`, compressed or not.
fn split(name: &str) -> Option<&str> {
    let (device, cpu) = name.rsplit_once(MIDDLE)?;
    let cpu = cpu.split('.').next()?;
    (!cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit())).then_some(device)
}
