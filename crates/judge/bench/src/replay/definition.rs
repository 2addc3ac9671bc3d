use spec::ResolvedTile;
use spec::replay::{Replay, Speed};
use spec::tile::{Tile, TileWorkload};
use spec::workload::{Counted, CpuMode, DataPattern, Disk, Limit, Metric, On, Role, Vm, Workload};
use units::{Bytes, Nanos};
use workload::replay::Waits;

use crate::replay::Recording;

/// Settings of a replay, in addition to [`Replay`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    /// Maximum size of a disk. Larger offsets are folded into it.
    pub size_max: Option<Bytes>,
    /// Limits for the kinds `read`, `write` and `flush`.
    pub limits: Vec<Limit>,
    /// Compressibility of written data.
    pub data: DataPattern,
    /// Length of a slice, if given.
    pub slice: Option<Nanos>,
}

/// A tile built from a trace, and its measurement time.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Tile of one virtual machine with a disk for each device of the trace.
    pub tile: ResolvedTile,
    /// Maximum duration of the replay, which normally ends with its trace.
    pub duration: Nanos,
    /// Length of a slice.
    pub slice: Nanos,
}

/// Maximum duration of a closed replay, whose end depends on the speed of the storage.
const LONGEST: Nanos = Nanos::from_secs(24 * 3600);

/// Time for the last completions of an open replay.
const LAST_ANSWERS: Nanos = Nanos::from_secs(10);

/// Duration below which a replay is shown in slices of a tenth of a second.
const SHORT: Nanos = Nanos::from_secs(30);

/// Builds the tile that replays a trace. Every disk is as small as the range that the trace
/// touches.
pub fn definition(replay: Replay, recording: &Recording, asked: Asked) -> Definition {
    let schedule = &recording.schedule;
    let span = match (schedule.waits(), replay.speed) {
        (Waits::ForAnswers, Speed::Max) => Nanos::ZERO,
        (_, Speed::Max) => schedule.span(),
        (_, Speed::Times(times)) => schedule.trace_span().scale(1.0 / times),
    };
    let is_short = span < SHORT;
    let slice =
        asked.slice.unwrap_or(if is_short { Nanos::from_millis(100) } else { Nanos::SECOND });
    let longest = match schedule.waits() {
        Waits::ForTheClock => span.saturating_add(LAST_ANSWERS),
        Waits::ForAnswers => LONGEST.max(Nanos(span.0.saturating_mul(4))),
    };
    let slices = longest.0.div_ceil(slice.0.max(1));
    Definition {
        duration: Nanos(slices.saturating_mul(slice.0)),
        slice,
        tile: tile(workload_of(replay, recording, asked)),
    }
}

fn workload_of(replay: Replay, recording: &Recording, asked: Asked) -> Workload {
    let file = std::path::Path::new(&replay.trace).file_name();
    let file = file.map_or_else(|| replay.trace.clone(), |name| name.to_string_lossy().into());
    let most = asked.size_max.unwrap_or(Bytes::new(u64::MAX >> 1));
    let disks = recording.devices.iter().zip(recording.schedule.ends()).enumerate();
    let disk = |(place, (device, end)): (usize, (&String, &u64))| Disk {
        name: format!("disk-{}", place + 1),
        // Offsets beyond the largest possible device are folded, and so are those beyond the end of
        // a smaller disk.
        size: Bytes::new((*end).min(most.get())).max(Bytes::MIB).round_up(Bytes::MIB),
        role: Role::Data,
        on: On::First,
        source: Some(format!("size of the area that the trace touches on its device {device}")),
    };
    let whose = replay.vm.as_ref().map_or_else(String::new, |vm| format!(", VM {vm}"));
    Workload {
        application: None,
        endpoints: Vec::new(),
        name: "replay".to_owned(),
        title: format!("{file}{whose}, played back"),
        source: format!("recorded ({}); played by tilemark replay", recording.format),
        metric: metric(&replay, recording),
        cpu: CpuMode::Delay,
        data: asked.data,
        vms: vec![Vm { name: "vm".to_owned(), vcpus: 1, disks: disks.map(disk).collect() }],
        groups: Vec::new(),
        actions: Vec::new(),
        limits: asked.limits,
        replay: Some(replay),
    }
}

/// Returns the metric of a replay. One tile's worth is the rate at which the trace was recorded,
/// times the speed. For a trace without times, it is one I/O per millisecond, our choice.
fn metric(replay: &Replay, recording: &Recording) -> Metric {
    let span = recording.schedule.trace_span();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let ios = recording.schedule.len() as f64;
    let has_rate = span >= Nanos::from_millis(1) && !recording.one_at_a_time;
    let speed = match replay.speed {
        Speed::Times(times) => times,
        Speed::Max => 1.0,
    };
    let rate = if has_rate { ios / span.as_secs_f64() * speed } else { 1000.0 };
    Metric {
        unit: "I/Os/s".to_owned(),
        count: Counted::Io,
        of: None,
        per: Nanos::SECOND,
        divide_by: 1.0,
        // Three decimals are enough for a value that people read.
        reference: Some((rate * 1000.0).round().max(1.0) / 1000.0),
    }
}

fn tile(workload: Workload) -> ResolvedTile {
    let tile = Tile {
        name: "replay".to_owned(),
        title: workload.title.clone(),
        source: workload.source.clone(),
        estate: None,
        workloads: vec![TileWorkload {
            workload: run_store::rundir::files::WORKLOAD.to_owned(),
            count: 1,
        }],
    };
    ResolvedTile::new(tile, vec![(workload, 1)])
}
