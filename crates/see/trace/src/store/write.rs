use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use units::Nanos;

use super::encode::encode;
use super::gauges::{GAUGES_FILE, TraceGauges};
use super::manifest::{Machine, Manifest, PartEntry, PartOf, SUMS_FILE, TRACE_FILE};
use super::names::Names;
use super::part::{OpenPart, sum_of};
use super::schema;
use crate::{BATCH, IoRecord, Source, TraceError, TraceInfo};

/// Name of a new description before it replaces the old one.
const NEXT_FILE: &str = "trace.json.next";

/// Options for splitting a trace into parts.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of records in a part, which determines the number of files; at least 1.
    pub records_per_part: u64,
    /// Maximum time span of a part. A killed writer loses the part that it was writing, so a live
    /// capture needs a limit. But a limit makes many files, so a trace of a year has none.
    pub part_span_max: Option<Nanos>,
    /// Number of records in a row group, which a reader decodes separately; 1 to
    /// `records_per_part`.
    pub records_per_group: usize,
    /// Host on which the I/O was observed, if known.
    pub host: Option<String>,
    /// Recording over several hosts of which this trace is one host's part, if any.
    pub part_of: Option<PartOf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            records_per_part: 1 << 22,
            part_span_max: None,
            records_per_group: 1 << 20,
            host: None,
            part_of: None,
        }
    }
}

/// Result of writing a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Directory of the trace.
    pub directory: PathBuf,
    /// Number of records.
    pub records: u64,
    /// Size of all parts, in bytes.
    pub bytes: u64,
    /// Number of Parquet files.
    pub parts: usize,
    /// Issue times of the first and of the last I/O; `None` without I/O.
    pub issued: Option<(Nanos, Nanos)>,
}

/// Writes a trace. It accepts records in order of issue, and writes to `NAME.tmt.partial` until the
/// trace is finished.
///
/// Memory is bounded by one row group. A writer that is dropped without [`Writer::finish`] or
/// [`Writer::abandon`] leaves the partial directory, in which all complete parts can be read.
pub struct Writer {
    target: PathBuf,
    /// Open handle of the partial directory, so that files go there even if the directory is
    /// renamed or replaced.
    held: untrusted::HeldDirectory,
    info: TraceInfo,
    vms: Names,
    devices: Names,
    machines: Vec<Machine>,
    gauges: TraceGauges,
    options: Options,
    schema: SchemaRef,
    open: Option<OpenPart>,
    entries: Vec<PartEntry>,
    sums: String,
    last: Nanos,
    is_broken: bool,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = self.entries.len();
        f.debug_struct("Writer").field("target", &self.target).field("parts", &parts).finish()
    }
}

impl Writer {
    /// Starts a trace that will be the directory `target`, usually `NAME.tmt`.
    ///
    /// # Errors
    /// The directory or an unfinished trace of this name exists, or the directory cannot be
    /// created.
    pub fn create(target: &Path, info: &TraceInfo, options: Options) -> Result<Self, TraceError> {
        let partial = partial_of(target);
        if target.symlink_metadata().is_ok() {
            return Err(TraceError::Exists { path: target.to_owned() });
        }
        let held =
            untrusted::HeldDirectory::make(&partial).map_err(|source| match source.kind() {
                std::io::ErrorKind::AlreadyExists => TraceError::Exists { path: partial },
                _ => TraceError::Io { path: partial, source },
            })?;
        let mut writer = Self {
            target: target.to_owned(),
            held,
            info: info.clone(),
            vms: Names::new("VM"),
            devices: Names::new("device"),
            machines: Vec::new(),
            gauges: TraceGauges::default(),
            options: Options {
                records_per_part: options.records_per_part.max(1),
                records_per_group: options.records_per_group.max(1),
                ..options
            },
            schema: schema::schema(),
            open: None,
            entries: Vec::new(),
            sums: String::new(),
            last: Nanos(0),
            is_broken: false,
        };
        writer.update(info);
        Ok(writer)
    }

    /// Adds facts about the trace: names of new VMs and devices, which must be known before a
    /// record refers to them, and, before the end, the losses.
    pub fn update(&mut self, info: &TraceInfo) {
        self.vms.update(info.vms.iter().map(String::as_str));
        self.devices.update(info.devices.iter().map(|device| device.name.as_str()));
        if self.info != *info {
            self.info.clone_from(info);
        }
    }

    /// Sets which initiators are virtual machines, as far as known.
    pub fn set_machines(&mut self, machines: Vec<Machine>) {
        self.machines = machines;
    }

    /// Sets the gauges that were sampled beside the I/O; they are written when the trace is
    /// finished.
    pub fn set_gauges(&mut self, gauges: TraceGauges) {
        self.gauges = gauges;
    }

    /// Returns the directory of the trace while it is unfinished.
    pub fn partial(&self) -> &Path {
        self.held.path()
    }

    /// Returns the number of records so far.
    pub fn records(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, OpenPart::records);
        open + self.entries.iter().map(|part| part.records).sum::<u64>()
    }

    /// Adds records, which must follow the earlier ones in time.
    ///
    /// # Errors
    /// The records do not follow in time, name an unknown VM or device, or the disk is full. After
    /// an error, all further calls fail.
    pub fn write(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.guarded(|writer| {
            let mut rest = records;
            while !rest.is_empty() {
                let count = writer.room(rest)?;
                let (now, later) = rest.split_at(count);
                writer.append(now)?;
                rest = later;
            }
            Ok(())
        })
    }

    /// Completes the trace and gives it its name.
    ///
    /// # Errors
    /// A file cannot be written, or the name was taken meanwhile.
    pub fn finish(mut self) -> Result<Written, TraceError> {
        self.guarded(|writer| {
            writer.close()?;
            writer.write_files()?;
            if writer.target.symlink_metadata().is_ok() {
                return Err(TraceError::Exists { path: writer.target.clone() });
            }
            fs::rename(writer.partial(), &writer.target)
                .and_then(|()| sync_directory(parent_of(&writer.target)))
                .map_err(TraceError::io(&writer.target))
        })?;
        let first = self.entries.first().map(|part| Nanos(part.first_issue_ns));
        Ok(Written {
            records: self.records(),
            bytes: self.entries.iter().map(|part| part.bytes).sum(),
            parts: self.entries.len(),
            issued: first.map(|first| (first, self.last)),
            directory: self.target,
        })
    }

    /// Removes everything that was written so far.
    ///
    /// # Errors
    /// The partial directory cannot be removed.
    pub fn abandon(mut self) -> Result<(), TraceError> {
        self.open = None;
        self.remove().map_err(TraceError::io(self.partial()))
    }

    /// Removes the written files, and the directory's name if it still leads to the directory that
    /// this writer made.
    fn remove(&self) -> std::io::Result<()> {
        for file in fs::read_dir(self.held.at())? {
            fs::remove_file(file?.path())?;
        }
        fs::remove_dir(self.partial())
    }

    /// Returns how many of these records the open part accepts now; opens a part if needed.
    fn room(&mut self, records: &[IoRecord]) -> Result<usize, TraceError> {
        let Some(first) = records.first() else { return Ok(0) };
        let end = |part: &OpenPart, span: Nanos| part.first_issue_ns().saturating_add(span.0);
        if let Some(part) = &self.open {
            let is_full = part.records() >= self.options.records_per_part;
            let span = self.options.part_span_max;
            let is_long = span.is_some_and(|span| first.issue.0 >= end(part, span));
            if is_full || is_long {
                self.close()?;
            }
        }
        let (number, group) = (self.entries.len(), self.options.records_per_group);
        let part = match &mut self.open {
            Some(part) => part,
            none => none.insert(OpenPart::create(self.held.at(), number, &self.schema, group)?),
        };
        let left = self.options.records_per_part - part.records();
        let count = records.len().min(BATCH).min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(span) = self.options.part_span_max else { return Ok(count) };
        let begin = if part.records() == 0 { first.issue.0 } else { part.first_issue_ns() };
        let end = begin.saturating_add(span.0);
        let within = records[..count].partition_point(|record| record.issue.0 < end);
        // A span of zero still takes a record.
        Ok(within.max(1))
    }

    fn append(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        let Some(part) = &mut self.open else { return Ok(()) };
        for record in records {
            if record.issue < self.last {
                let reason = format!(
                    "a record is issued at {} ns, after one at {} ns",
                    record.issue.0, self.last.0
                );
                return Err(TraceError::format(part.path(), reason));
            }
            self.last = record.issue;
        }
        let batch = encode(&self.schema, records, &self.vms, &self.devices)
            .map_err(|reason| TraceError::format(part.path(), reason))?;
        part.write(records, &batch)
    }

    fn close(&mut self) -> Result<(), TraceError> {
        let Some(part) = self.open.take() else { return Ok(()) };
        let closed = part.close()?;
        self.add_sum(&closed.sum, &closed.entry.file);
        self.entries.push(closed.entry);
        self.note_progress()
    }

    /// Writes a description of the complete parts, so that they can be read even if no more follow.
    fn note_progress(&self) -> Result<(), TraceError> {
        let mut manifest = self.manifest();
        manifest.unfinished = true;
        let json = manifest.to_json();
        let at = self.held.at();
        replace_file(&at.join(NEXT_FILE), &at.join(TRACE_FILE), &json)
    }

    fn manifest(&self) -> Manifest {
        let mut manifest = Manifest::new(
            &self.info,
            self.vms.as_slice(),
            self.devices.as_slice(),
            self.options.records_per_group,
            self.entries.clone(),
        );
        manifest.host.clone_from(&self.options.host);
        manifest.part_of.clone_from(&self.options.part_of);
        manifest.machines.clone_from(&self.machines);
        manifest
    }

    fn add_sum(&mut self, sum: &str, file: &str) {
        self.sums.push_str(&format!("{sum}  {file}\n"));
    }

    fn write_files(&mut self) -> Result<(), TraceError> {
        let json = self.manifest().to_json();
        self.add_sum(&sum_of(&json), TRACE_FILE);
        if !self.gauges.is_empty() {
            let gauges = self.gauges.to_json();
            self.add_sum(&sum_of(&gauges), GAUGES_FILE);
            write_file(&self.held.at().join(GAUGES_FILE), &gauges)?;
        }
        let at = self.held.at();
        write_file(&at.join(SUMS_FILE), &self.sums)?;
        replace_file(&at.join(NEXT_FILE), &at.join(TRACE_FILE), &json)?;
        sync_directory(at).map_err(TraceError::io(self.partial()))
    }

    fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if self.is_broken {
            return Err(TraceError::Broken { path: self.partial().to_owned() });
        }
        let done = work(self);
        self.is_broken = done.is_err();
        done
    }
}

/// Writes all records of a source as a trace.
///
/// # Errors
/// An error of the source or the disk; everything written is then removed.
pub fn save(
    source: &mut dyn Source,
    target: &Path,
    options: Options,
) -> Result<Written, TraceError> {
    let written = save_while(source, target, options, |_| true)?;
    Ok(written.expect("the writer was not asked to stop"))
}

/// Writes all records of a source as a trace, as long as `go_on` returns true. `go_on` is called
/// after every batch with the number of records. When it returns false, everything written is
/// removed, and `None` returned.
///
/// # Errors
/// An error of the source or the disk; everything written is then removed.
pub fn save_while(
    source: &mut dyn Source,
    target: &Path,
    options: Options,
    go_on: impl FnMut(u64) -> bool,
) -> Result<Option<Written>, TraceError> {
    let mut writer = Writer::create(target, source.info(), options)?;
    match copy(source, &mut writer, go_on) {
        Ok(true) => writer.finish().map(Some),
        Ok(false) => writer.abandon().map(|()| None),
        Err(error) => {
            // The first error is the one that matters.
            let _ = writer.abandon();
            Err(error)
        }
    }
}

/// Copies all records; returns false if `go_on` stopped the copying.
fn copy(
    source: &mut dyn Source,
    writer: &mut Writer,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<bool, TraceError> {
    let mut batch = Vec::with_capacity(BATCH);
    while go_on(writer.records()) {
        source.read(&mut batch)?;
        writer.update(source.info());
        if batch.is_empty() {
            return Ok(true);
        }
        writer.write(&batch)?;
    }
    Ok(false)
}

/// Returns the directory of a trace while it is unfinished.
pub(super) fn partial_of(target: &Path) -> PathBuf {
    let mut name = OsString::from(target.as_os_str());
    // A path that ends in a slash names the same directory.
    while name.len() > 1 && name.as_encoded_bytes().ends_with(b"/") {
        name = Path::new(&name).components().as_path().as_os_str().to_owned();
    }
    name.push(".partial");
    name.into()
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), TraceError> {
    File::create_new(path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(TraceError::io(path))
}

/// Replaces a file atomically: writes another file beside it, and renames the other file.
fn replace_file(beside: &Path, path: &Path, text: &str) -> Result<(), TraceError> {
    // Removes a leftover of a write that found no room.
    let _ = fs::remove_file(beside);
    write_file(beside, text)?;
    fs::rename(beside, path).map_err(TraceError::io(path))
}

/// Syncs a directory, which makes new names in the directory durable.
fn sync_directory(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}
