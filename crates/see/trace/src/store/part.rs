//! Writes one Parquet file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use sha2::{Digest, Sha256};

use super::manifest::PartEntry;
use super::schema;
use crate::{IoRecord, TraceError};

/// A file whose checksum is computed while it is written.
struct Summed {
    file: File,
    sum: Sha256,
    bytes: u64,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.sum.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A part that accepts records.
pub(super) struct OpenPart {
    path: PathBuf,
    writer: ArrowWriter<Summed>,
    entry: PartEntry,
}

/// A part that is complete.
pub(super) struct ClosedPart {
    pub(super) entry: PartEntry,
    pub(super) sum: String,
}

impl OpenPart {
    pub(super) fn create(
        directory: &Path,
        number: usize,
        schema: &SchemaRef,
        rows_per_group: usize,
    ) -> Result<Self, TraceError> {
        let name = format!("part-{number:06}.parquet");
        let path = directory.join(&name);
        let file = File::create_new(&path).map_err(TraceError::io(&path))?;
        let summed = Summed { file, sum: Sha256::new(), bytes: 0 };
        let properties = Some(schema::properties(rows_per_group));
        let writer = ArrowWriter::try_new(summed, SchemaRef::clone(schema), properties)
            .map_err(TraceError::parquet(&path))?;
        let entry =
            PartEntry { file: name, records: 0, bytes: 0, first_issue_ns: 0, last_issue_ns: 0 };
        Ok(Self { path, writer, entry })
    }

    pub(super) fn records(&self) -> u64 {
        self.entry.records
    }

    pub(super) fn first_issue_ns(&self) -> u64 {
        self.entry.first_issue_ns
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds records; `batch` has the same records as columns.
    pub(super) fn write(
        &mut self,
        records: &[IoRecord],
        batch: &RecordBatch,
    ) -> Result<(), TraceError> {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
        self.writer.write(batch).map_err(TraceError::parquet(&self.path))?;
        if self.entry.records == 0 {
            self.entry.first_issue_ns = first.issue.0;
        }
        self.entry.records += records.len() as u64;
        self.entry.last_issue_ns = last.issue.0;
        Ok(())
    }

    /// Completes the file; from then on it survives a kill.
    pub(super) fn close(self) -> Result<ClosedPart, TraceError> {
        let summed = self.writer.into_inner().map_err(TraceError::parquet(&self.path))?;
        summed.file.sync_all().map_err(TraceError::io(&self.path))?;
        let entry = PartEntry { bytes: summed.bytes, ..self.entry };
        Ok(ClosedPart { entry, sum: hex(&summed.sum.finalize()) })
    }
}

/// Calculates the SHA-256 of a text, in hexadecimal.
pub(super) fn sum_of(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
