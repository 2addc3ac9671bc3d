use std::path::Path;
use std::sync::Arc;

use run_store::run::Warning;
use spec::replay::{Pace, Replay, Speed};
use trace::{Clock, IoRecord, OpenOptions, Source, TraceInfo};
use units::{Bytes, Nanos};
use workload::replay::{Observed, Schedule, ScheduleBuilder, ScheduleOptions, Waits};

use crate::replay::ReplayError;
use crate::replay::select::Selection;

/// Maximum number of I/Os of a trace: 2 GiB of memory. Our choice: a day at 800 IOPS, on any host
/// that is suitable for generating load.
pub const RECORDS_MAX: u64 = 1 << 26;

/// Maximum number of disks of a replay. Requests number them with 16 bits.
const DEVICES_MAX: usize = u16::MAX as usize;

/// Coarsest useful resolution of times. A resolution of one second would hide whole bursts.
const COARSE: Nanos = Nanos::from_millis(100);

/// A trace in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Schedule of the trace's I/Os.
    pub schedule: Arc<Schedule>,
    /// Name of the trace's format.
    pub format: String,
    /// True if I/Os are replayed one after another, because their real order of completion is
    /// unknown.
    pub one_at_a_time: bool,
    /// Names of the devices, indexed by disk.
    pub devices: Vec<String>,
    /// Warnings about the trace.
    pub warnings: Vec<Warning>,
}

impl Recording {
    /// Returns the pace of the replay: `open`, `closed` or `one-at-a-time`.
    pub fn pace(&self) -> &'static str {
        match self.schedule.waits() {
            Waits::ForTheClock => "open",
            Waits::ForAnswers if self.one_at_a_time => "one-at-a-time",
            Waits::ForAnswers => "closed",
        }
    }
}

/// Reads the trace of a workload. Its path is used unchanged.
///
/// # Errors
/// The trace cannot be read, or lacks requested information.
pub fn load(replay: &Replay, max_bad: u64) -> Result<Recording, ReplayError> {
    let path = Path::new(&replay.trace);
    let format = replay.format.as_deref().map(str::parse).transpose();
    let options = OpenOptions { format: format.map_err(ReplayError::Format)?, max_bad };
    let mut source = trace::open(path, &options)?;
    read(source.as_mut(), path, replay)
}

/// Reads the selected I/Os from a source.
pub(super) fn read(
    source: &mut dyn Source,
    path: &Path,
    replay: &Replay,
) -> Result<Recording, ReplayError> {
    let mut batch = Vec::new();
    source.read(&mut batch)?;
    let (options, one_at_a_time) = options(source.info(), path, replay)?;
    let mut builder = ScheduleBuilder::new(options, replay.devices.as_ref().map_or(0, Vec::len));
    let mut selection = Selection::new(replay);
    while !batch.is_empty() {
        for record in &batch {
            let Some(disk) = selection.disk(record, source.info()) else { continue };
            builder
                .push(&observed(record, disk))
                .map_err(|error| ReplayError::of_schedule(error, path))?;
        }
        source.read(&mut batch)?;
    }
    let info = source.info();
    selection.check(path, info)?;
    if info.devices.len() > DEVICES_MAX {
        return Err(ReplayError::TooManyDevices { trace: path.to_owned(), max: DEVICES_MAX });
    }
    let schedule = builder.finish();
    if schedule.is_empty() {
        return Err(ReplayError::Nothing { trace: path.to_owned() });
    }
    Ok(Recording {
        warnings: warnings(info, &schedule, replay, one_at_a_time),
        schedule: Arc::new(schedule),
        format: info.format.to_owned(),
        one_at_a_time,
        devices: selection.devices().to_vec(),
    })
}

/// Returns the schedule options for the order of I/Os that the trace allows.
fn options(
    info: &TraceInfo,
    path: &Path,
    replay: &Replay,
) -> Result<(ScheduleOptions, bool), ReplayError> {
    let trace = || path.to_owned();
    let has_times = matches!(info.clock, Clock::Real { .. });
    let knows_ends = has_times && info.has_latency;
    let (waits, speed) = match (replay.speed, replay.pace) {
        (Speed::Max, _) => (Waits::ForAnswers, None),
        _ if !has_times => return Err(ReplayError::NoTimes { trace: trace() }),
        (Speed::Times(times), Pace::Open) => (Waits::ForTheClock, Some(times)),
        (Speed::Times(_), Pace::Closed) if !knows_ends => {
            return Err(ReplayError::NoLatency { trace: trace(), format: info.format.to_owned() });
        }
        (Speed::Times(times), Pace::Closed) => (Waits::ForAnswers, Some(times)),
    };
    let one_at_a_time = waits == Waits::ForAnswers && !knows_ends;
    Ok((ScheduleOptions { waits, speed, one_at_a_time, steps_max: RECORDS_MAX }, one_at_a_time))
}

fn observed(record: &IoRecord, disk: u16) -> Observed {
    Observed {
        issue: record.issue,
        latency: record.latency(),
        sender: record.vm.0,
        disk,
        operation: match record.operation {
            trace::Operation::Read => Some(state_machine::Operation::Read),
            trace::Operation::Write => Some(state_machine::Operation::Write),
            trace::Operation::Flush => Some(state_machine::Operation::Flush),
            trace::Operation::Discard => None,
        },
        offset: record.offset,
        length: record.length,
    }
}

fn warnings(
    info: &TraceInfo,
    schedule: &Schedule,
    replay: &Replay,
    one_at_a_time: bool,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |id: &str, text: String, hint: Option<&str>| {
        warnings.push(Warning {
            id: id.to_owned(),
            text,
            value: None,
            limit: None,
            hint: hint.map(str::to_owned),
        });
    };
    if let Clock::Real { resolution } = info.clock
        && resolution >= COARSE
        && replay.speed != Speed::Max
    {
        let text = format!(
            "the trace's times are multiples of {resolution}: I/Os with the same time are sent at \
             once, so bursts are larger than recorded"
        );
        warn(
            "coarse-times",
            text,
            Some("--closed keeps the order of I/Os, if the trace has latencies"),
        );
    }
    if one_at_a_time {
        let text = "the trace has no completion times, so I/Os are played one after another, even \
                    if they overlapped when recorded";
        warn("one-at-a-time", text.to_owned(), None);
    }
    let losses = &info.losses;
    for (id, count, what) in [
        ("trace-bad", losses.bad, "of the trace's lines could not be understood"),
        ("trace-dropped", losses.dropped, "events were lost before the trace was written"),
        ("trace-disordered", losses.disordered, "I/Os of the trace are far out of order"),
    ] {
        if count > 0 {
            warn(
                id,
                format!("{count} {what}: the replay differs from the recorded load there"),
                None,
            );
        }
    }
    let endless = schedule.counts().endless;
    if schedule.waits() == Waits::ForAnswers && !one_at_a_time && endless > 0 {
        let text =
            format!("{endless} I/Os have no completion in the trace, so nothing waits for them");
        warn("trace-endless", text, None);
    }
    let held = Bytes::new(schedule.bytes());
    if held > Bytes::GIB {
        warn("trace-memory", format!("the trace takes {held} of memory"), None);
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Device, Losses, Memory, Operation, VmIndex};

    fn info() -> TraceInfo {
        TraceInfo {
            format: "test",
            clock: Clock::Real { resolution: Nanos(100) },
            started_unix_ns: None,
            has_latency: true,
            vms: vec!["web".to_owned(), "db".to_owned()],
            devices: vec![
                Device { name: "sda".to_owned(), size: None },
                Device { name: "sdb".to_owned(), size: None },
            ],
            losses: Losses::default(),
        }
    }

    fn record(ms: u64, vm: u16, device: u16, operation: Operation) -> IoRecord {
        let mut record = IoRecord::new(Nanos::from_millis(ms), operation, 4096 * ms, 4096);
        (record.vm, record.device) = (VmIndex(vm), trace::DeviceIndex(device));
        record.device_time = Some(Nanos::from_millis(1));
        record
    }

    fn replay() -> Replay {
        Replay {
            trace: "t".to_owned(),
            format: None,
            vm: None,
            devices: None,
            speed: Speed::default(),
            pace: Pace::Open,
        }
    }

    fn recording(info: TraceInfo, replay: &Replay) -> Result<Recording, ReplayError> {
        let records = vec![
            record(0, 0, 1, Operation::Read),
            record(5, 1, 0, Operation::Write),
            record(9, 0, 1, Operation::Discard),
            record(10, 0, 0, Operation::Flush),
        ];
        read(&mut Memory::new(info, records), Path::new("t"), replay)
    }

    #[test]
    fn devices_become_disks_in_order_of_appearance_or_as_named() {
        let all = recording(info(), &replay()).expect("a recording");
        assert_eq!((all.schedule.len(), all.schedule.counts().discards), (3, 1));
        assert_eq!(all.devices, ["sdb", "sda"]);
        assert_eq!(all.schedule.ends(), [4096, 6 * 4096]);
        assert_eq!(all.schedule.span(), Nanos::from_millis(10));
        let devices = Some(vec!["sda".to_owned()]);
        let one = recording(info(), &Replay { devices, ..replay() }).expect("a recording");
        assert_eq!((one.schedule.len(), one.devices), (2, vec!["sda".to_owned()]));
    }

    #[test]
    fn one_vm_alone_is_played_from_its_first_io() {
        let vm = Some("db".to_owned());
        let one = recording(info(), &Replay { vm, ..replay() }).expect("a recording");
        assert_eq!((one.schedule.len(), one.schedule.span()), (1, Nanos::ZERO));
        let vm = Some("dbs".to_owned());
        let error = recording(info(), &Replay { vm, ..replay() }).expect_err("nobody");
        assert_eq!(error.to_string(), "t: no VM is called \"dbs\"");
        assert!(error.hint().expect("a hint").contains("\"db\""), "{:?}", error.hint());
    }

    #[test]
    fn what_a_trace_does_not_say_is_refused_with_what_can_be_done() {
        let mut silent = info();
        silent.has_latency = false;
        let closed = Replay { pace: Pace::Closed, ..replay() };
        let error = recording(silent.clone(), &closed).expect_err("no latencies");
        assert!(error.to_string().contains("no completion times"), "{error}");
        assert!(error.hint().expect("a hint").contains("--speed max"));
        let fast = Replay { speed: Speed::Max, ..replay() };
        let played = recording(silent, &fast).expect("one after another");
        assert_eq!(
            (played.pace(), played.warnings[0].id.as_str()),
            ("one-at-a-time", "one-at-a-time")
        );
        let mut references = info();
        references.clock = Clock::Order;
        let error = recording(references.clone(), &replay()).expect_err("no times");
        assert!(error.to_string().contains("but not their times"), "{error}");
        assert_eq!(recording(references, &fast).expect("in order").pace(), "one-at-a-time");
        let nothing = Replay { vm: Some("web".to_owned()), devices: Some(Vec::new()), ..replay() };
        let error = recording(info(), &nothing).expect_err("nothing");
        assert!(matches!(error, ReplayError::Nothing { .. }), "{error}");
    }

    #[test]
    fn times_of_whole_seconds_are_warned_of() {
        let mut coarse = info();
        coarse.clock = Clock::Real { resolution: Nanos::SECOND };
        let played = recording(coarse, &replay()).expect("a recording");
        assert_eq!(played.warnings[0].id, "coarse-times");
    }
}
