use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::between::{self, BATCH_ROWS, Stretch};
use super::{Record, SeriesError};
use crate::files;

/// Iterator over the rows of a series, in the order in which they were written. Files are read on
/// demand.
#[derive(Debug)]
pub struct Rows<R> {
    files: VecDeque<PathBuf>,
    /// Intervals to read; `None` for all rows.
    stretches: Option<Vec<Stretch>>,
    open: Option<(PathBuf, ParquetRecordBatchReader)>,
    batch: std::vec::IntoIter<R>,
}

/// Reads the rows of one series file.
pub fn read<R: Record>(path: &Path) -> Result<Rows<R>, SeriesError> {
    untrusted::open(path).map_err(SeriesError::io("opening", path))?;
    Ok(Rows::of([path.to_owned()]))
}

/// Reads the rows of a series in a run directory: from its finished file, or from the complete
/// parts of a killed run. A missing file has no rows.
pub fn read_run<R: Record>(directory: &Path) -> Result<Rows<R>, SeriesError> {
    Ok(Rows::of(files_of::<R>(directory)?))
}

/// Reads the rows of a series in a run directory that belong to the given intervals, in the order
/// in which they were written. [`crate::rollup::Rollup::stretches`] converts a time on the run's
/// axis to intervals. Row groups without such rows are not read.
pub fn read_between<R: Record>(
    directory: &Path,
    stretches: &[Stretch],
) -> Result<Rows<R>, SeriesError> {
    let rows = Rows::of(files_of::<R>(directory)?);
    Ok(Rows { stretches: Some(stretches.to_vec()), ..rows })
}

/// Counts the rows that [`read_between`] returns. It reads three columns only.
pub fn count_between<R: Record>(
    directory: &Path,
    stretches: &[Stretch],
) -> Result<u64, SeriesError> {
    let files = files_of::<R>(directory)?;
    files.iter().map(|path| between::count(path, stretches)).sum()
}

/// Returns the path of the finished file, or the sorted paths of the parts.
fn files_of<R: Record>(directory: &Path) -> Result<Vec<PathBuf>, SeriesError> {
    let finished = directory.join(R::FILE);
    if finished.exists() {
        return Ok(vec![finished]);
    }
    let parts = directory.join(files::PARTS);
    if !parts.exists() {
        return Ok(Vec::new());
    }
    let prefix = format!("{}-", R::FILE.trim_end_matches(".parquet"));
    let mut found = Vec::new();
    for entry in fs::read_dir(&parts).map_err(SeriesError::io("listing", &parts))? {
        let path = entry.map_err(SeriesError::io("listing", &parts))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(&prefix) && name.ends_with(".parquet") {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

impl<R: Record> Rows<R> {
    fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let (files, batch) = (files.into_iter().collect(), Vec::new().into_iter());
        Self { files, stretches: None, open: None, batch }
    }

    /// Loads the next batch; returns false at the end.
    fn advance(&mut self) -> Result<bool, SeriesError> {
        loop {
            if let Some((path, reader)) = &mut self.open {
                if let Some(batch) = reader.next() {
                    let content = |reason| SeriesError::Content { path: path.clone(), reason };
                    let batch = batch.map_err(|error| content(error.to_string().into()))?;
                    self.batch = R::from_batch(&batch).map_err(content)?.into_iter();
                    return Ok(true);
                }
                self.open = None;
            }
            let Some(path) = self.files.pop_front() else { return Ok(false) };
            let reader = match &self.stretches {
                Some(stretches) => between::open(&path, stretches)?,
                None => open(&path)?,
            };
            self.open = Some((path, reader));
        }
    }
}

fn open(path: &Path) -> Result<ParquetRecordBatchReader, SeriesError> {
    let file = untrusted::open(path).map_err(SeriesError::io("opening", path))?;
    ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(BATCH_ROWS).build())
        .map_err(SeriesError::parquet("reading", path))
}

impl<R: Record> Iterator for Rows<R> {
    type Item = Result<R, SeriesError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.batch.next() {
                return Some(Ok(row));
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    // Rows after an error could not be trusted.
                    self.files.clear();
                    self.open = None;
                    return Some(Err(error));
                }
            }
        }
    }
}
