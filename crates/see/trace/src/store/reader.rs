use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use units::Nanos;
use untrusted::Malformed;

use super::columns::Columns;
use super::decode::{Decoder, Lookup, operation};
use super::gauges::GAUGES_FILE;
use super::manifest::{Machine, Manifest, PartOf, SUMS_FILE, TRACE_FILE};
use super::schema;
use super::write::partial_of;
use crate::{BATCH, DeviceIndex, IoRecord, Operation, Source, TraceError, TraceInfo, VmIndex};

/// Number of records decoded at a time. Their columns fit into a core's cache.
const ROWS: usize = 8192;

/// A trace, or the complete parts of an unfinished trace; cheap to clone.
#[derive(Debug, Clone)]
pub struct Store(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    manifest: Manifest,
    info: TraceInfo,
    lookup: Arc<Lookup>,
}

/// A row group: the smallest part of a trace that is read separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    /// Position of the file in the manifest.
    file: usize,
    group: usize,
}

/// Returns true if the directory is a trace in this format, finished or not. Also true for the
/// final name of an unfinished trace.
pub fn is_store(directory: &Path) -> bool {
    let is_begun = || !directory.exists() && is_unfinished(&partial_of(directory));
    directory.join(TRACE_FILE).is_file() || is_unfinished(directory) || is_begun()
}

/// Opens a trace; only the trace's description is read.
///
/// # Errors
/// The path is not a trace, the trace was stopped before its first part was complete, or a part is
/// missing or truncated: the error names the file.
pub fn open(directory: &Path) -> Result<Store, TraceError> {
    let partial = partial_of(directory);
    let is_begun = !directory.exists() && partial.join(TRACE_FILE).is_file();
    let directory = if is_begun { &partial } else { directory };
    let path = directory.join(TRACE_FILE);
    let text = untrusted::read_text(&path).map_err(|source| missing(directory, &path, source))?;
    let manifest = Manifest::from_json(&path, &text)?;
    for part in &manifest.parts {
        let path = directory.join(&part.file);
        let bytes = untrusted::open(&path)
            .and_then(|part| part.metadata())
            .map_err(TraceError::io(&path))?
            .len();
        if bytes != part.bytes {
            let reason = format!("it has {bytes} bytes, but was written with {}", part.bytes);
            return Err(TraceError::format(&path, reason));
        }
    }
    let info = manifest.info();
    let lookup = Arc::new(Lookup::new(&info));
    Ok(Store(Arc::new(Shared { directory: directory.to_owned(), manifest, info, lookup })))
}

fn missing(directory: &Path, path: &Path, source: std::io::Error) -> TraceError {
    let partial = partial_of(directory);
    if source.kind() != std::io::ErrorKind::NotFound {
        TraceError::Io { path: path.to_owned(), source }
    } else if is_unfinished(directory) {
        TraceError::Unfinished { path: directory.to_owned() }
    } else if !directory.exists() && partial.is_dir() {
        TraceError::Unfinished { path: partial }
    } else if directory.is_dir() {
        TraceError::format(directory, format!("it has no {TRACE_FILE}, so it is not a trace"))
    } else {
        TraceError::Io { path: directory.to_owned(), source }
    }
}

fn is_unfinished(directory: &Path) -> bool {
    directory.is_dir() && directory.as_os_str().as_encoded_bytes().ends_with(b".tmt.partial")
}

impl Store {
    /// Returns the facts about the whole trace.
    pub fn info(&self) -> &TraceInfo {
        &self.0.info
    }

    /// Returns the format that the records came from.
    pub fn origin(&self) -> &str {
        &self.0.manifest.source
    }

    /// Returns the host on which the I/O was observed; `None` if unknown.
    pub fn host(&self) -> Option<&str> {
        self.0.manifest.host.as_deref()
    }

    /// Returns the recording over several hosts to which the trace belongs, if any.
    pub fn part_of(&self) -> Option<&PartOf> {
        self.0.manifest.part_of.as_ref()
    }

    /// Returns the initiators that are known to be virtual machines.
    pub fn machines(&self) -> &[Machine] {
        &self.0.manifest.machines
    }

    /// Returns the paths of the complete files: the description, the parts, gauges if there are
    /// any, and the checksums once they are written.
    pub fn files(&self) -> Vec<PathBuf> {
        let parts = self.0.manifest.parts.iter().map(|part| part.file.as_str());
        let sums = (!self.is_unfinished()).then_some(SUMS_FILE);
        let gauges = self.0.directory.join(GAUGES_FILE).is_file().then_some(GAUGES_FILE);
        let names = [TRACE_FILE].into_iter().chain(parts).chain(gauges).chain(sums);
        names.map(|name| self.0.directory.join(name)).collect()
    }

    /// Returns true if the trace's writer was stopped, or still runs. The store then has the parts
    /// that were complete when it was opened, and the losses up to then.
    pub fn is_unfinished(&self) -> bool {
        self.0.manifest.unfinished
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.0.manifest.records
    }

    /// Returns the size of the Parquet files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.manifest.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns the issue times of the first and of the last I/O; `None` without I/O.
    pub fn issued(&self) -> Option<(Nanos, Nanos)> {
        let parts = &self.0.manifest.parts;
        let (first, last) = (parts.first()?, parts.last()?);
        Some((Nanos(first.first_issue_ns), Nanos(last.last_issue_ns)))
    }

    /// Returns a reader of all records, in order.
    pub fn source(&self, columns: Columns) -> Reader {
        self.reader(self.groups().collect(), columns)
    }

    /// Splits the trace into independent pieces, in order, for threads to read in parallel. Each
    /// has at most `records_per_group` records (about a million).
    pub fn parts(&self) -> Vec<StorePart> {
        self.groups().map(|group| StorePart { store: self.clone(), group }).collect()
    }

    fn reader(&self, groups: VecDeque<Group>, columns: Columns) -> Reader {
        Reader { shared: Arc::clone(&self.0), groups, columns, footer: None, open: None }
    }

    fn groups(&self) -> impl Iterator<Item = Group> + '_ {
        let manifest = &self.0.manifest;
        manifest.parts.iter().enumerate().flat_map(|(file, part)| {
            let groups = usize::try_from(part.records)
                .unwrap_or(usize::MAX)
                .div_ceil(manifest.records_per_group);
            (0..groups).map(move |group| Group { file, group })
        })
    }
}

/// A piece of a trace.
#[derive(Debug, Clone)]
pub struct StorePart {
    store: Store,
    group: Group,
}

impl StorePart {
    /// Returns a reader of the piece's records, in order.
    pub fn source(&self, columns: Columns) -> Reader {
        self.store.reader(VecDeque::from([self.group]), columns)
    }
}

/// Reader of a trace or of a piece of it, which decodes on demand.
pub struct Reader {
    shared: Arc<Shared>,
    groups: VecDeque<Group>,
    columns: Columns,
    /// File that was read last, with its metadata.
    footer: Option<(usize, ArrowReaderMetadata)>,
    open: Option<OpenGroup>,
}

struct OpenGroup {
    file: usize,
    batches: ParquetRecordBatchReader,
    decoder: Decoder,
    /// Number of records not yet returned.
    left: usize,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("groups", &self.groups).finish()
    }
}

impl Source for Reader {
    fn info(&self) -> &TraceInfo {
        &self.shared.info
    }

    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        batch.clear();
        let done = self.fill(batch);
        if done.is_err() {
            // Records after an error could not be trusted.
            self.groups.clear();
            self.open = None;
            batch.clear();
        }
        done
    }
}

impl Reader {
    fn fill(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        while batch.len() + ROWS <= BATCH {
            let Some(open) = &mut self.open else {
                let Some(group) = self.groups.pop_front() else { return Ok(()) };
                self.open = Some(self.open_group(group)?);
                continue;
            };
            let path = || self.shared.path(open.file);
            let wrong = |reason: Malformed| TraceError::format(&path(), reason);
            match open.batches.next() {
                Some(Ok(columns)) => {
                    open.left = open.left.checked_sub(columns.num_rows()).ok_or_else(|| {
                        wrong("a row group has more records than its header says".into())
                    })?;
                    open.decoder.append(&columns, batch).map_err(wrong)?;
                }
                Some(Err(error)) => return Err(TraceError::parquet(&path())(error.into())),
                None if open.left > 0 => {
                    return Err(wrong(
                        format!("{} records of a row group are missing", open.left).into(),
                    ));
                }
                None => self.open = None,
            }
        }
        Ok(())
    }

    fn open_group(&mut self, group: Group) -> Result<OpenGroup, TraceError> {
        let path = self.shared.path(group.file);
        let file = untrusted::open(&path).map_err(TraceError::io(&path))?;
        let footer = match self.footer.take() {
            Some((number, footer)) if number == group.file => footer,
            _ => ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
                .map_err(TraceError::parquet(&path))?,
        };
        let wrong = |reason: Malformed| TraceError::format(&path, reason);
        let groups = footer.metadata().row_groups();
        let facts = groups.get(group.group).ok_or_else(|| {
            wrong(format!("it has {} row groups, but {TRACE_FILE} lists more", groups.len()).into())
        })?;
        let left =
            usize::try_from(facts.num_rows()).map_err(|error| wrong(error.to_string().into()))?;
        let needed = Needed::of(facts, self.columns, &self.shared).map_err(wrong)?;
        let mask = ProjectionMask::leaves(footer.parquet_schema(), needed.leaves);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer.clone())
            .with_row_groups(vec![group.group])
            .with_projection(mask)
            .with_batch_size(ROWS)
            .build()
            .map_err(TraceError::parquet(&path))?;
        self.footer = Some((group.file, footer));
        let decoder = Decoder::new(Arc::clone(&self.shared.lookup), needed.template);
        Ok(OpenGroup { file: group.file, batches, decoder, left })
    }
}

impl Shared {
    fn path(&self, file: usize) -> PathBuf {
        self.directory.join(&self.manifest.parts[file].file)
    }
}

/// Columns of a row group that must be decoded. A column whose statistics show a single value need
/// not be decoded.
struct Needed {
    leaves: Vec<usize>,
    template: IoRecord,
}

impl Needed {
    fn of(facts: &RowGroupMetaData, columns: Columns, shared: &Shared) -> Result<Self, Malformed> {
        let mut needed =
            Self { leaves: Vec::new(), template: IoRecord::new(Nanos(0), Operation::Read, 0, 0) };
        for (index, column) in facts.columns().iter().enumerate() {
            let name = column.column_path().string();
            if is_wanted(&name, columns) && !needed.is_known(&name, column, shared)? {
                needed.leaves.push(index);
            }
        }
        let has_issue = facts.columns().iter().any(|it| it.column_path().string() == schema::ISSUE);
        if has_issue {
            Ok(needed)
        } else {
            Err(format!("there is no column \"{}\"", schema::ISSUE).into())
        }
    }

    /// Puts the value that all records share into the template, if there is such a value.
    fn is_known(
        &mut self,
        name: &str,
        column: &ColumnChunkMetaData,
        shared: &Shared,
    ) -> Result<bool, Malformed> {
        let Some(statistics) = column.statistics() else { return Ok(false) };
        let nulls = statistics.null_count_opt();
        if nulls.map(u64::cast_signed) == Some(column.num_values()) {
            return Ok(true);
        }
        match statistics {
            // Most row groups have no record with the flag.
            Statistics::Boolean(range) => Ok(range.max_opt() == Some(&false)),
            Statistics::ByteArray(range) if nulls == Some(0) => {
                let (Some(least), Some(greatest)) = (range.min_opt(), range.max_opt()) else {
                    return Ok(false);
                };
                let is_exact = statistics.min_is_exact() && statistics.max_is_exact();
                if least != greatest || !is_exact {
                    return Ok(false);
                }
                let only = least.as_utf8().map_err(|error| error.to_string())?;
                let index = shared.lookup.index(name, only)?;
                match name {
                    schema::VM => self.template.vm = VmIndex(index),
                    schema::DEVICE => self.template.device = DeviceIndex(index),
                    _ => self.template.operation = operation(index),
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

fn is_wanted(name: &str, columns: Columns) -> bool {
    match name {
        schema::ISSUE => true,
        schema::QUEUE => columns.has(Columns::QUEUE),
        schema::DEVICE_TIME => columns.has(Columns::DEVICE_TIME),
        schema::VM => columns.has(Columns::VM),
        schema::DEVICE => columns.has(Columns::DEVICE),
        schema::OPERATION => columns.has(Columns::OPERATION),
        schema::OFFSET => columns.has(Columns::OFFSET),
        schema::LENGTH => columns.has(Columns::LENGTH),
        schema::OUTSTANDING => columns.has(Columns::OUTSTANDING),
        "sequential" => columns.has(Columns::SEQUENTIAL),
        other => {
            columns.has(Columns::FLAGS) && schema::FLAGS.iter().any(|(flag, _)| *flag == other)
        }
    }
}
