//! Decodes binary formats with records of one length.

use super::importer::Decode;
use super::input::Input;
use super::sink::{Bad, Sink};
use crate::TraceError;

/// Parser of one format's records.
pub(super) trait Fixed<const SIZE: usize>: Send {
    /// Sets everything that is known before the first record.
    fn begin(&mut self, sink: &mut Sink);

    /// Converts the bytes of one record to an I/O record or a skipped row.
    fn record(&mut self, bytes: &[u8; SIZE], sink: &mut Sink) -> Result<(), Bad>;
}

/// Decoder that applies a [`Fixed`] parser to an input.
pub(super) struct Records<F, const SIZE: usize> {
    input: Input,
    format: F,
}

impl<F: Fixed<SIZE>, const SIZE: usize> Records<F, SIZE> {
    pub(super) fn new(input: Input, mut format: F, sink: &mut Sink) -> Self {
        format.begin(sink);
        Self { input, format }
    }

    fn whole_records(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        let mut byte = self.input.offset();
        let (records, _) = self.input.bytes().as_chunks::<SIZE>();
        sink.records.reserve(records.len());
        for record in records {
            if let Err(bad) = self.format.record(record, sink) {
                sink.bad(format_args!("record at byte {byte}"), bad, &[])?;
            }
            byte += SIZE as u64;
        }
        self.input.consume(records.len() * SIZE);
        Ok(())
    }
}

impl<F: Fixed<SIZE>, const SIZE: usize> Decode for Records<F, SIZE> {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        self.input.fill()?;
        if self.input.bytes().len() >= SIZE {
            self.whole_records(sink)?;
            return Ok(true);
        }
        let rest = self.input.bytes().len();
        let byte = self.input.offset();
        if rest > 0 {
            let place = format!("record at byte {byte}, {rest} of {SIZE} bytes");
            sink.bad(place, Bad::new("last record", "is cut short"), &[])?;
        }
        if self.input.is_cut() {
            let place = format!("byte {}", byte + rest as u64);
            sink.bad(place, Bad::new("compressed trace", "is cut short here"), &[])?;
        }
        Ok(false)
    }
}
