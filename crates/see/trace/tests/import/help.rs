//! Reading traces in tests.

use std::io::Cursor;
use std::path::Path;

use tilemark_trace::{Format, IoRecord, OpenOptions, Source, TraceError, TraceInfo};

/// The format of this name.
pub fn format(name: &str) -> Format {
    name.parse().expect("a format")
}

/// Everything of a trace.
#[derive(Debug)]
pub struct Read {
    pub records: Vec<IoRecord>,
    pub info: TraceInfo,
}

/// All records of `source`.
pub fn drain(mut source: Box<dyn Source>) -> Result<Read, TraceError> {
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        records.extend_from_slice(&batch);
    }
    Ok(Read { records, info: source.info().clone() })
}

/// The trace in `bytes`, of `format` or a detected one.
pub fn read_as(bytes: &[u8], format: Option<Format>, max_bad: u64) -> Result<Read, TraceError> {
    let options = OpenOptions { format, max_bad };
    let stream = Cursor::new(bytes.to_vec());
    tilemark_trace::open_stream(stream, Path::new("disk.trace"), &options).and_then(drain)
}

/// The trace in `bytes`, detected, without anything bad.
pub fn read(bytes: impl AsRef<[u8]>) -> Read {
    read_as(bytes.as_ref(), None, 0).expect("a good trace")
}
