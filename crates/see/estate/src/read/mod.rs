//! Reads lists of platforms and tools. Each format has a file here and a line in `FORMATS`.

mod cell;
mod devices;
mod domstats;
mod domxml;
mod encoding;
mod fitted;
mod heading;
mod moments;
mod number;
mod prometheus;
mod proxmox;
mod size;
mod table;
mod text;
mod watched;
mod workbook;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;

use crate::error::ReadError;
use crate::place::{Findings, RowLocation};
use crate::row::Record;

pub use heading::{Column, NamedColumn, NamedColumnError, NamedUnit};
pub use number::{DecimalMark, DecimalMarkError};

/// Options that answer questions a file leaves open.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Meanings of headings.
    pub columns: Vec<NamedColumn>,
    /// Units of columns whose heading has none.
    pub units: Vec<NamedUnit>,
    /// Decimal mark for columns with ambiguous numbers.
    pub decimal: Option<DecimalMark>,
}

/// Maximum size of a file. Larger than any real inventory: 100,000 VMs in RVTools' widest sheets
/// are some 90 MiB.
const BYTES_MAX: u64 = 512 << 20;

/// File to read, with the VM's name if the file does not contain it.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Path of the file.
    pub path: PathBuf,
    /// Name of the VM.
    pub vm: Option<String>,
    /// Time between two samples of counters, in seconds, if the samples have no times.
    pub every: Option<f64>,
}

impl FromStr for Source {
    type Err = std::convert::Infallible;

    /// Parses `FILE` or `VM=FILE`; if a file with `=` in its name exists, the whole text is the
    /// path.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let whole = || Self { path: PathBuf::from(text), vm: None, every: None };
        if Path::new(text).exists() {
            return Ok(whole());
        }
        Ok(match text.split_once('=') {
            Some((vm, path)) if !vm.is_empty() && !vm.contains('/') => {
                Self { path: PathBuf::from(path), vm: Some(vm.to_owned()), every: None }
            }
            _ => whole(),
        })
    }
}

/// File that is being read.
struct Input<'a> {
    number: usize,
    path: String,
    bytes: Vec<u8>,
    /// Content as JSON, if the file is JSON.
    json: Option<Value>,
    source: &'a Source,
    reading: &'a Reading,
}

impl Input<'_> {
    fn at(&self, part: &str, row: u64) -> RowLocation {
        RowLocation { file: self.number, path: self.path.clone(), part: part.to_owned(), row }
    }

    fn broken(&self, format: &'static str, what: impl ToString) -> ReadError {
        ReadError::Broken { path: self.path.clone(), format, what: what.to_string() }
    }

    /// Returns the VM's name given with the file.
    fn vm(&self) -> Result<&str, ReadError> {
        self.source.vm.as_deref().ok_or_else(|| ReadError::Nameless { path: self.path.clone() })
    }

    fn begins_with(&self, text: &str) -> bool {
        let text_begin = self.bytes.iter().position(|byte| !byte.is_ascii_whitespace());
        text_begin.is_some_and(|at| self.bytes[at..].starts_with(text.as_bytes()))
    }
}

/// Format of inventories or measured loads.
trait Format: Sync {
    /// Returns the name and origin of the format.
    fn name(&self) -> &'static str;

    /// Returns true if a file has this format.
    fn fits(&self, input: &Input<'_>) -> bool;

    /// Reads the file, row by row; unusable rows are counted.
    fn read(&self, input: &Input<'_>, found: &mut Findings) -> Result<Vec<Record>, ReadError>;
}

/// All formats. The first matching format is used; the last, a text table, accepts most other
/// files.
const FORMATS: [&dyn Format; 10] = [
    &workbook::Workbook,
    &fitted::Fitted,
    &domstats::DomStats,
    &domxml::DomXml,
    &prometheus::Failed,
    &prometheus::Range,
    &proxmox::Resources,
    &proxmox::Config,
    &proxmox::Rates,
    &text::Text,
];

/// Reads one file.
pub(crate) fn read(
    number: usize,
    source: &Source,
    reading: &Reading,
    found: &mut Findings,
) -> Result<Vec<Record>, ReadError> {
    // The only one that is a directory.
    if let Some(store) = watched::store_of(source) {
        return watched::read(number, store, found);
    }
    let path = source.path.display().to_string();
    let bytes = encoding::without_mark(bytes(&source.path, &path)?);
    let mut input = Input { number, path, bytes, json: None, source, reading };
    if input.begins_with("{") || input.begins_with("[") {
        let json = serde_json::from_slice(&input.bytes);
        input.json = Some(unwrapped(json.map_err(|error| input.broken("JSON", error))?));
    }
    match FORMATS.iter().find(|format| format.fits(&input)) {
        Some(format) => format.read(&input, found),
        None => {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
            Err(ReadError::Unknown { path: input.path, known: names.join("; ") })
        }
    }
}

/// Unwraps `{"data": ...}`, which the HTTP API of Proxmox puts around the output of `pvesh`.
fn unwrapped(json: Value) -> Value {
    match json {
        Value::Object(mut all) if all.len() == 1 && all.contains_key("data") => {
            all.remove("data").unwrap_or_default()
        }
        other => other,
    }
}

fn bytes(file: &Path, path: &str) -> Result<Vec<u8>, ReadError> {
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let file = untrusted::open_named(file).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let too_large = |bytes| ReadError::TooLarge { path: path.to_owned(), bytes, most: BYTES_MAX };
    if size > BYTES_MAX {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // The file may grow meanwhile.
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > BYTES_MAX { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
}
