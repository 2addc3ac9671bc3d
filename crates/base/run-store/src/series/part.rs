//! Parts of a series file: complete Parquet files of a few row groups each. A run that is killed
//! loses only the part that it was writing. At the end, the parts are joined byte by byte.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::column::HISTOGRAM;
use super::{SERIES_VERSION, SeriesError};
use crate::files;

/// Size at which a part is closed, in bytes.
const PART_BYTES_MAX: usize = 8 << 20;
/// Memory of a row group, in bytes, at which it is written to the file. A run of many VMs has three
/// row groups in memory, besides the memory of its load.
const GROUP_MEMORY_MAX: usize = 2 << 20;
/// Size of a page, in bytes, at which it is compressed. Each of about thirty columns keeps one
/// uncompressed page in memory.
const PAGE_BYTES: usize = 128 << 10;
const ZSTD_LEVEL: i32 = 3;

/// Writer of one series file. It writes parts, which are joined at the end.
pub(super) struct Parts {
    directory: PathBuf,
    /// Name of the finished file: `series.parquet`.
    file: &'static str,
    schema: SchemaRef,
    open: Option<ArrowWriter<File>>,
    written: u32,
    /// True if a file without rows is not created.
    only_with_rows: bool,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("file", &self.file).field("written", &self.written).finish()
    }
}

impl Parts {
    pub(super) fn new(directory: &Path, file: &'static str, schema: SchemaRef) -> Self {
        Self {
            directory: directory.to_owned(),
            file,
            schema,
            open: None,
            written: 0,
            only_with_rows: false,
        }
    }

    /// Sets the writer not to create a file without rows.
    pub(super) fn only_with_rows(self) -> Self {
        Self { only_with_rows: true, ..self }
    }

    fn part(&self, number: u32) -> PathBuf {
        let stem = self.file.trim_end_matches(".parquet");
        self.directory.join(files::PARTS).join(format!("{stem}-{number:05}.parquet"))
    }

    fn temporary(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(files::TEMPORARY);
        name.into()
    }

    /// Appends rows to the open part, and opens one if needed.
    pub(super) fn append(&mut self, batch: &RecordBatch) -> Result<(), SeriesError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let path = Self::temporary(&self.part(self.written + 1));
        let failed = || SeriesError::parquet("writing", &path);
        if self.open.is_none() {
            let file = File::create(&path).map_err(SeriesError::io("creating", &path))?;
            let properties = Some(properties(&self.schema));
            let writer = ArrowWriter::try_new(file, Arc::clone(&self.schema), properties);
            self.open = Some(writer.map_err(failed())?);
        }
        let Some(writer) = &mut self.open else { return Ok(()) };
        writer.write(batch).map_err(failed())?;
        if writer.memory_size() >= GROUP_MEMORY_MAX {
            writer.flush().map_err(failed())?;
        }
        let bytes = writer.bytes_written() + writer.in_progress_size();
        if bytes >= PART_BYTES_MAX { self.close() } else { Ok(()) }
    }

    /// Completes the open part, if there is one. A completed part survives a kill.
    pub(super) fn close(&mut self) -> Result<(), SeriesError> {
        let Some(mut writer) = self.open.take() else { return Ok(()) };
        let path = self.part(self.written + 1);
        let temporary = Self::temporary(&path);
        writer.finish().map_err(SeriesError::parquet("writing", &temporary))?;
        writer
            .sync()
            .and_then(|()| writer.inner().sync_all())
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(SeriesError::io("writing", &temporary))?;
        self.written += 1;
        Ok(())
    }

    /// Joins all parts into the finished file.
    pub(super) fn join(&mut self) -> Result<(), SeriesError> {
        self.close()?;
        if self.only_with_rows && self.written == 0 {
            return Ok(());
        }
        let path = self.directory.join(self.file);
        let temporary = Self::temporary(&path);
        let file = File::create(&temporary).map_err(SeriesError::io("creating", &temporary))?;
        if self.written == 0 {
            let properties = Some(properties(&self.schema));
            ArrowWriter::try_new(&file, Arc::clone(&self.schema), properties)
                .and_then(ArrowWriter::close)
                .map_err(SeriesError::parquet("writing", &temporary))?;
        } else {
            self.copy_into(&file, &temporary)?;
        }
        file.sync_all()
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(SeriesError::io("writing", &temporary))
    }

    fn copy_into(&self, file: &File, temporary: &Path) -> Result<(), SeriesError> {
        let mut joined = None;
        for number in 1..=self.written {
            let path = self.part(number);
            let part = untrusted::open(&path).map_err(SeriesError::io("reading", &path))?;
            let metadata = ParquetMetaDataReader::new()
                .parse_and_finish(&part)
                .map_err(SeriesError::parquet("reading", &path))?;
            let writer = match &mut joined {
                Some(writer) => writer,
                empty => empty.insert(
                    begin(file, &metadata).map_err(SeriesError::parquet("writing", temporary))?,
                ),
            };
            copy(writer, &part, &metadata).map_err(SeriesError::parquet("writing", temporary))?;
        }
        match joined {
            Some(writer) => {
                writer.close().map(drop).map_err(SeriesError::parquet("writing", temporary))
            }
            None => Ok(()),
        }
    }
}

fn begin<'a>(
    file: &'a File,
    first: &ParquetMetaData,
) -> ParquetResult<SerializedFileWriter<&'a File>> {
    let metadata = first.file_metadata();
    let properties = WriterProperties::builder()
        .set_created_by(created_by())
        .set_key_value_metadata(metadata.key_value_metadata().cloned())
        .build();
    SerializedFileWriter::new(file, metadata.schema_descr().root_schema_ptr(), properties.into())
}

/// Copies the row groups of a part without decoding them.
fn copy(
    writer: &mut SerializedFileWriter<&File>,
    part: &File,
    metadata: &ParquetMetaData,
) -> ParquetResult<()> {
    for group in metadata.row_groups() {
        let mut out = writer.next_row_group()?;
        for column in group.columns() {
            let close = ColumnCloseResult {
                bytes_written: column.compressed_size().cast_unsigned(),
                rows_written: group.num_rows().cast_unsigned(),
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            out.append_column(part, close)?;
        }
        out.close()?;
    }
    Ok(())
}

fn created_by() -> String {
    format!("tilemark {}", env!("CARGO_PKG_VERSION"))
}

fn properties(schema: &SchemaRef) -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("a level zstd has");
    let note = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let mut properties = WriterProperties::builder()
        .set_created_by(created_by())
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_key_value_metadata(Some(vec![
            note("tilemark.series", SERIES_VERSION),
            note("tilemark.histogram", "HdrHistogram V2, 2 significant digits, 1 ns to 1 h"),
        ]));
    for field in schema.fields() {
        if field.name().ends_with(HISTOGRAM) {
            // Values are all different and in no order, so dictionaries and statistics would only
            // take room.
            let column = ColumnPath::from(field.name().as_str());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_statistics_enabled(column, EnabledStatistics::None);
        }
    }
    properties.build()
}
