use std::fs;
use std::path::{Path, PathBuf};

use units::Nanos;

use super::calls::{self, CallRecord};
use super::part::Parts;
use super::record::{ActionRecord, GaugeRecord, GeneratorRecord, IoRecord, OpenRecord, Record};
use super::{SeriesError, StepKey, source};
use crate::files;
use crate::gauge::Gauge;
use crate::run::Phase;
use crate::slice::{Slice, Topology};

/// Maximum time that a part covers. A run that is killed loses at most this much.
const PART_SPAN_MAX: Nanos = Nanos::from_secs(60);

/// Writer of the series files of a run: I/O, calls (if there are any), actions, unfinished work,
/// the generator, gauges.
///
/// Memory is bounded, because rows are encoded slice by slice. They become a complete file under
/// `parts/` after every 60 s of load, after every 8 MiB, and at the end of every step and phase.
/// [`Writer::finish`] joins the parts. If the writer is dropped, it completes its open part; if it
/// is killed, the open part is lost. [`super::read_run`] reads both states.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    io: Parts,
    calls: Parts,
    actions: Parts,
    unfinished: Parts,
    generator: Parts,
    gauges: Parts,
    /// Step of the open parts, and the time at which they were opened.
    open: Option<(StepKey, Nanos)>,
    is_broken: bool,
}

impl Writer {
    /// Creates the series of the run in this directory.
    pub fn create(directory: &Path) -> Result<Self, SeriesError> {
        let parts = directory.join(files::PARTS);
        fs::create_dir(&parts).map_err(SeriesError::io("creating", &parts))?;
        let (topology, slice) = (Topology::default(), Slice::default());
        let key = StepKey { step: 0, tiles: 0, repeat: 0, phase: Phase::WarmUp };
        let io = source::io(&key, &topology, &slice)?.into_batch().schema();
        let calls = calls::columns(&key, &topology, &slice)?.into_batch().schema();
        let actions = source::actions(&key, &topology, &slice)?.into_batch().schema();
        let unfinished = source::open(&key, &topology, &slice)?.into_batch().schema();
        let generator = source::generator(&key, &slice).into_batch().schema();
        let gauges = source::gauges(&key, &slice, &[]).into_batch().schema();
        Ok(Self {
            directory: directory.to_owned(),
            io: Parts::new(directory, IoRecord::FILE, io),
            calls: Parts::new(directory, CallRecord::FILE, calls).only_with_rows(),
            actions: Parts::new(directory, ActionRecord::FILE, actions),
            unfinished: Parts::new(directory, OpenRecord::FILE, unfinished),
            generator: Parts::new(directory, GeneratorRecord::FILE, generator),
            gauges: Parts::new(directory, GaugeRecord::FILE, gauges),
            open: None,
            is_broken: false,
        })
    }

    /// Appends a slice. After an error, all further calls fail.
    pub fn append(
        &mut self,
        key: StepKey,
        topology: &Topology,
        slice: &Slice,
    ) -> Result<(), SeriesError> {
        self.guarded(|writer| {
            if writer.is_due(key, slice.start) {
                writer.close_parts()?;
            }
            writer.open.get_or_insert((key, slice.start));
            writer.io.append(&source::io(&key, topology, slice)?.into_batch())?;
            writer.calls.append(&calls::columns(&key, topology, slice)?.into_batch())?;
            writer.actions.append(&source::actions(&key, topology, slice)?.into_batch())?;
            writer.unfinished.append(&source::open(&key, topology, slice)?.into_batch())?;
            writer.generator.append(&source::generator(&key, slice).into_batch())
        })
    }

    /// Appends the gauges of the slice that was appended last.
    pub fn gauges(
        &mut self,
        key: StepKey,
        slice: &Slice,
        gauges: &[Gauge],
    ) -> Result<(), SeriesError> {
        self.guarded(|writer| {
            writer.gauges.append(&source::gauges(&key, slice, gauges).into_batch())
        })
    }

    /// Joins all parts into the finished files, and removes the parts.
    pub fn finish(mut self) -> Result<(), SeriesError> {
        self.guarded(|writer| {
            writer.all().into_iter().try_for_each(Parts::join)?;
            let parts = writer.directory.join(files::PARTS);
            fs::remove_dir_all(&parts).map_err(SeriesError::io("removing", &parts))
        })
    }

    fn is_due(&self, key: StepKey, start: Nanos) -> bool {
        self.open.is_some_and(|(open, since)| {
            open != key || start.saturating_sub(since) >= PART_SPAN_MAX
        })
    }

    fn close_parts(&mut self) -> Result<(), SeriesError> {
        self.open = None;
        self.all().into_iter().try_for_each(Parts::close)
    }

    fn all(&mut self) -> [&mut Parts; 6] {
        let Self { io, calls, actions, unfinished, generator, gauges, .. } = self;
        [io, calls, actions, unfinished, generator, gauges]
    }

    fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), SeriesError>,
    ) -> Result<(), SeriesError> {
        if self.is_broken {
            return Err(SeriesError::Broken { path: self.directory.clone() });
        }
        let done = work(self);
        self.is_broken = done.is_err();
        done
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.is_broken {
            // An error cannot be reported from `drop`, and complete parts are safe already.
            let _ = self.close_parts();
        }
    }
}
