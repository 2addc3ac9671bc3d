//! Receives records and errors from decoders.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use units::Nanos;

use super::names::Names;
use crate::{Clock, Device, DeviceIndex, IoRecord, Losses, TraceError, TraceInfo, VmIndex};

/// Number of bad lines that are quoted in [`Losses::examples`].
const EXAMPLES: usize = 10;
/// Number of quoted bytes of a bad line.
const EXCERPT_BYTES: usize = 80;
/// Name of the initiator, if the trace has none.
pub(super) const NOBODY: &str = "(unknown)";

/// Reason why a line or record is bad: the field, and the problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) field: &'static str,
    pub(super) wrong: &'static str,
}

impl Bad {
    pub(super) const fn new(field: &'static str, wrong: &'static str) -> Self {
        Self { field, wrong }
    }
}

/// A time in nanoseconds from an origin that the format chooses. It may lie before the origin, if a
/// format logs completion times since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) i64);

impl Moment {
    const SIGN: u64 = 1 << 63;

    /// Returns the value for [`IoRecord::issue`] until the trace's begin is known. It is shifted so
    /// that unsigned order is the order of times.
    pub(super) const fn raw(self) -> Nanos {
        Nanos(self.0.cast_unsigned() ^ Self::SIGN)
    }

    pub(super) const fn of_raw(raw: Nanos) -> Self {
        Self((raw.0 ^ Self::SIGN).cast_signed())
    }
}

/// State of a trace that is being read: records not yet in order, names, and losses.
pub(super) struct Sink {
    pub(super) records: Vec<IoRecord>,
    pub(super) info: TraceInfo,
    /// Wall clock at the format's origin of time, in nanoseconds since 1970; `None` if unknown.
    pub(super) origin_unix_ns: Option<i64>,
    /// Number of all records so far, to distinguish an empty trace from a bad one.
    pub(super) taken: u64,
    devices: Names,
    vms: Names,
    max_bad: u64,
    path: PathBuf,
}

impl Sink {
    pub(super) fn new(format: &'static str, path: &Path, max_bad: u64) -> Self {
        Self {
            records: Vec::new(),
            info: TraceInfo {
                format,
                clock: Clock::Order,
                started_unix_ns: None,
                has_latency: false,
                vms: Vec::new(),
                devices: Vec::new(),
                losses: Losses::default(),
            },
            origin_unix_ns: None,
            taken: 0,
            devices: Names::default(),
            vms: Names::default(),
            max_bad,
            path: path.to_owned(),
        }
    }

    /// Declares that times are real, in steps of `resolution_ns`.
    pub(super) fn real_times(&mut self, resolution_ns: u64) {
        self.info.clock = Clock::Real { resolution: Nanos(resolution_ns) };
    }

    /// Declares that times are real and count from 1970.
    pub(super) fn unix_times(&mut self, resolution_ns: u64) {
        self.real_times(resolution_ns);
        self.origin_unix_ns = Some(0);
    }

    /// Declares a single device, named after the file, and an unknown initiator.
    pub(super) fn one_disk(&mut self) {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        let name = name.split('.').find(|part| !part.is_empty()).unwrap_or("disk").to_owned();
        self.device(name.as_bytes());
        self.nobody();
    }

    /// Declares an unknown initiator.
    pub(super) fn nobody(&mut self) {
        self.vm(NOBODY.as_bytes());
    }

    /// Adds an I/O at a time.
    #[inline]
    pub(super) fn push(&mut self, moment: Moment, record: IoRecord) {
        self.records.push(IoRecord { issue: moment.raw(), ..record });
    }

    /// Adds a reference from a trace without times.
    pub(super) fn push_next(&mut self, record: IoRecord) {
        let number = self.taken + self.records.len() as u64;
        self.push(Moment(i64::try_from(number).unwrap_or(i64::MAX)), record);
    }

    /// Counts a row that is not a separate I/O.
    pub(super) fn skip(&mut self) {
        self.info.losses.skipped += 1;
    }

    /// Returns the device with this name, which is added if new.
    #[inline]
    pub(super) fn device(&mut self, name: &[u8]) -> DeviceIndex {
        self.device_as(name, |name| name)
    }

    /// Returns the device with this `key`, which is added if new; `show` makes its name for people.
    #[inline]
    pub(super) fn device_as(
        &mut self,
        key: &[u8],
        show: impl FnOnce(String) -> String,
    ) -> DeviceIndex {
        let (number, is_new) = self.devices.number(key);
        if is_new {
            let name = show(Names::shown(key, number));
            self.info.devices.push(Device { name, size: None });
        }
        DeviceIndex(number)
    }

    /// Returns the initiator with this name, which is added if new.
    #[inline]
    pub(super) fn vm(&mut self, name: &[u8]) -> VmIndex {
        let (number, is_new) = self.vms.number(name);
        if is_new {
            self.info.vms.push(Names::shown(name, number));
        }
        VmIndex(number)
    }

    /// Counts a line or record that cannot be used, at `place` and with `content`.
    pub(super) fn bad(
        &mut self,
        place: impl Display,
        bad: Bad,
        content: &[u8],
    ) -> Result<(), TraceError> {
        let losses = &mut self.info.losses;
        losses.bad += 1;
        if losses.examples.len() < EXAMPLES {
            let mut example = format!("{place}: {} {}", bad.field, bad.wrong);
            if !content.is_empty() {
                example.push_str(": ");
                example.push_str(&quoted(content));
            }
            losses.examples.push(example);
        }
        if losses.bad > self.max_bad { Err(self.too_many()) } else { Ok(()) }
    }

    /// Returns an error if nothing of the trace could be used, however many bad lines are allowed.
    pub(super) fn check_any(&self) -> Result<(), TraceError> {
        let is_useless = self.taken == 0 && self.records.is_empty() && self.info.losses.bad > 0;
        if is_useless { Err(self.too_many()) } else { Ok(()) }
    }

    fn too_many(&self) -> TraceError {
        TraceError::TooManyBad {
            path: self.path.clone(),
            bad: self.info.losses.bad,
            allowed: self.max_bad,
            first: self.info.losses.examples.first().cloned().unwrap_or_default(),
        }
    }
}

/// Returns the beginning of a bad line, safe to print.
fn quoted(content: &[u8]) -> String {
    let cut = &content[..content.len().min(EXCERPT_BYTES)];
    let text: String = String::from_utf8_lossy(cut)
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    let more = if content.len() > EXCERPT_BYTES { "..." } else { "" };
    format!("\"{text}{more}\"")
}
