//! Parameters of a fitted workload, before they are converted to the language.

use trace::{Flags, IoRecord, Operation};
use units::{Bytes, Nanos};

use super::arrival::Arrival;
use super::dialogue::{self, Dialogue};
use super::gather::Observed;
use super::load::{self, Decided};
use super::phases::{self, Stretch};
use super::place::{self, Habit, Placement};
use super::sizes::{self, Sizes};
use super::waits;

/// Minimum size of a large block, in bytes. Large blocks have separate reuse parameters.
const LARGE: u32 = 32 << 10;
/// Minimum share of small or large blocks for separate reuse parameters; the next constant is the
/// minimum number of I/Os.
const PART: f64 = 0.05;
const PART_LEAST: usize = 50;
/// Names of directions in actions and groups.
const WAYS: [&str; 2] = ["read", "write"];

/// I/O with the classification of its place.
type Seen<'a> = &'a (&'a IoRecord, Placement);

/// All fitted parameters.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) span: Nanos,
    pub(crate) disks: Vec<Disk>,
    /// Unit in which touched data is recorded, in bytes.
    pub(crate) page: u64,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) kinds: Vec<Kind>,
}

/// Fitted disk.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) name: String,
    pub(crate) size: Bytes,
    pub(crate) source: String,
}

/// Parameters of all phases of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) name: String,
    /// Number of I/Os in these phases.
    pub(crate) count: usize,
    /// Total length of these phases, in seconds.
    pub(crate) seconds: f64,
    pub(crate) streams: Vec<Stream>,
    pub(crate) accesses: Vec<Access>,
    /// Evidence that I/Os wait for each other, and their dialogues; `None` if each access is an
    /// action.
    pub(crate) waiting: Option<Waiting>,
}

/// I/Os that wait for each other.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) within: Nanos,
    /// Share of the I/Os that begin within this pause after a completion, and the share by chance.
    pub(crate) share: f64,
    pub(crate) chance: f64,
    /// Share of the I/Os in rare sequences.
    pub(crate) rare: f64,
    /// Dialogues with their names.
    pub(crate) dialogues: Vec<(String, Dialogue)>,
}

/// I/Os with a common arrival process.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) name: String,
    pub(crate) decided: Decided,
    /// Actions with their observed counts.
    pub(crate) mix: Vec<(String, usize)>,
}

/// Action with a single read, write or flush.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) name: String,
    pub(crate) disk: usize,
    pub(crate) count: usize,
    /// Weight in the random choice of actions: the count of its direction.
    pub(crate) weight: usize,
    /// Block of a read or write; `None` for a flush.
    pub(crate) block: Option<Block>,
}

/// Parameters of a read or write.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) is_write: bool,
    /// True if a run keeps the size of its first I/O.
    pub(crate) is_same_size: bool,
    pub(crate) sizes: Sizes,
    pub(crate) habit: Habit,
    /// Shares of misaligned places, each with its distance from a multiple of 4 KiB in bytes.
    pub(crate) misaligned: Vec<(f64, u32)>,
    /// Share of writes that must be durable before they complete.
    pub(crate) durable: f64,
}

impl Model {
    /// Fits a model in which every I/O is an action.
    pub(crate) fn of(observed: &Observed) -> Self {
        Self::fitted(observed, false)
    }

    /// Fits a model in which I/Os that wait for each other are dialogues; `None` without evidence
    /// that I/Os wait.
    pub(crate) fn with_dialogues(observed: &Observed) -> Option<Self> {
        let model = observed.info.has_latency.then(|| Self::fitted(observed, true))?;
        model.kinds.iter().any(|kind| kind.waiting.is_some()).then_some(model)
    }

    fn fitted(observed: &Observed, with_dialogues: bool) -> Self {
        let span = observed.span();
        let stretches = phases::find(&observed.records, span);
        let places = place::of(&observed.records, observed.devices.len());
        let count = stretches.iter().map(|it| it.kind + 1).max().unwrap_or(1);
        let mut kinds: Vec<Kind> = (0..count)
            .map(|kind| {
                let own: Vec<Stretch> =
                    stretches.iter().filter(|it| it.kind == kind).copied().collect();
                let records = observed.records.iter().zip(&places.ways);
                let inside: Vec<(&IoRecord, Placement)> = records
                    .filter(|(record, _)| own.iter().any(|it| it.holds(record.issue)))
                    .map(|(record, way)| (record, *way))
                    .collect();
                Kind::of(observed, &own, &inside, with_dialogues)
            })
            .collect();
        name_kinds(&mut kinds);
        Self { span, disks: disks(observed), page: places.page, stretches, kinds }
    }
}

/// Returns disks that hold all accessed bytes, with the device's size if it is known.
fn disks(observed: &Observed) -> Vec<Disk> {
    let mut ends = vec![0_u64; observed.devices.len()];
    for record in observed.records.iter().filter(|record| record.operation.moves_data()) {
        let end = &mut ends[usize::from(record.device.0)];
        *end = (*end).max(record.end_offset());
    }
    let named = observed.devices.iter().zip(&ends).enumerate();
    named
        .map(|(at, (device, end))| {
            let known = device.size.filter(|size| size.get() >= *end);
            let size = known.unwrap_or(Bytes::new(*end)).max(Bytes::new(4 << 20));
            let whose = if device.name.is_empty() { "its device" } else { &device.name };
            let source = match known {
                Some(_) => format!("the size of {whose} in the trace"),
                None => format!("the end of the area that the trace touches on {whose}"),
            };
            Disk { name: format!("disk-{}", at + 1), size: size.round_up(Bytes::MIB), source }
        })
        .collect()
}

impl Kind {
    fn of(
        observed: &Observed,
        stretches: &[Stretch],
        inside: &[(&IoRecord, Placement)],
        with_dialogues: bool,
    ) -> Self {
        // Discards are left out, because Tilemark sends none. Waits for a discard are therefore not
        // seen.
        let records: Vec<&IoRecord> = inside
            .iter()
            .map(|(record, _)| *record)
            .filter(|record| record.operation != Operation::Discard)
            .collect();
        let found = with_dialogues.then(|| dialogues(observed, stretches, &records)).flatten();
        let mut accesses = Vec::new();
        for disk in 0..observed.devices.len() {
            let disk = (disk, observed.devices.len());
            for (way, operation) in [Operation::Read, Operation::Write].into_iter().enumerate() {
                // A step of a dialogue has one address, so its blocks are not divided by size.
                accesses.extend(of_way(inside, disk, (way, operation), found.is_none()));
            }
            accesses.extend(flushes(inside, disk));
        }
        let seconds = stretches.iter().map(|it| (it.to - it.from).as_secs_f64()).sum();
        let (streams, waiting) = match found {
            Some((stream, waiting)) => (vec![stream], Some(waiting)),
            None => (streams(observed, stretches, &records, &accesses), None),
        };
        Self { name: String::new(), count: inside.len(), seconds, streams, accesses, waiting }
    }

    /// Returns the access of an operation on a disk. It is the only one in a kind with dialogues.
    pub(crate) fn access(&self, (disk, operation): dialogue::Atom) -> Option<&Access> {
        self.accesses.iter().find(|own| own.disk == disk && own.operation() == operation)
    }
}

impl Access {
    fn operation(&self) -> Operation {
        match &self.block {
            None => Operation::Flush,
            Some(block) if block.is_write => Operation::Write,
            Some(_) => Operation::Read,
        }
    }
}

/// Fits dialogues with their arrivals; `None` if I/Os do not wait for each other, or come at equal
/// intervals.
fn dialogues(
    observed: &Observed,
    stretches: &[Stretch],
    records: &[&IoRecord],
) -> Option<(Stream, Waiting)> {
    let waits = waits::find(records, stretches, observed.resolution())
        .filter(|_| !load::keeps_pace(records))?;
    let found = dialogue::find(records, &waits)?;
    let runs: Vec<&IoRecord> = found.runs.iter().collect();
    let decided = load::closed(&runs, stretches)
        .unwrap_or_else(|| load::open(&runs, stretches, observed.resolution(), true));
    let number = |(at, own): (usize, Dialogue)| (format!("dialogue-{}", at + 1), own);
    let dialogues: Vec<_> = found.all.into_iter().enumerate().map(number).collect();
    let mix = dialogues.iter().map(|(name, own)| (name.clone(), own.count)).collect();
    let why = format!(
        "{:.0} % of the I/Os begin within {} after a completion ({:.0} % would by chance), so they \
         are {} of several steps; {}",
        waits.share * 100.0,
        super::arrival::rounded(waits.within),
        waits.chance * 100.0,
        if dialogues.len() == 1 { "a dialogue" } else { "dialogues" },
        decided.why
    );
    let waiting = Waiting {
        within: waits.within,
        share: waits.share,
        chance: waits.chance,
        rare: found.rare,
        dialogues,
    };
    let name = "dialogues".to_owned();
    Some((Stream { name, decided: Decided { why, ..decided }, mix }, waiting))
}

/// Returns the suffix of an action's name for its disk; empty if there is only one disk.
fn of_disk((disk, disks): (usize, usize)) -> String {
    if disks > 1 { format!("-{}", disk + 1) } else { String::new() }
}

fn is_on(record: &IoRecord, disk: usize, operation: Operation) -> bool {
    usize::from(record.device.0) == disk && record.operation == operation
}

/// Fits one action, or two actions for small and large blocks.
fn of_way(
    inside: &[(&IoRecord, Placement)],
    disk: (usize, usize),
    (way, operation): (usize, Operation),
    may_divide: bool,
) -> Vec<Access> {
    let own: Vec<Seen<'_>> =
        inside.iter().filter(|(record, _)| is_on(record, disk.0, operation)).collect();
    let (small, large) = by_runs(&own);
    let is_part = |part: &[Seen<'_>]| {
        part.len() >= PART_LEAST && part.len() as f64 >= PART * own.len() as f64
    };
    let parts = if may_divide && is_part(&small) && is_part(&large) {
        vec![("-small", small), ("-large", large)]
    } else {
        vec![("", own.clone())]
    };
    let is_split = parts.len() > 1;
    let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
    let habit = |part: &[Seen<'_>]| {
        let habit = place::habit(part.iter().map(|(_, way)| *way));
        match place::runs(part.iter().map(|(_, way)| *way)) {
            Some((sequential, run)) => Habit { sequential, run: Some(run), ..habit },
            None => habit,
        }
    };
    // A continued run belongs to its first I/O, whichever action is chosen meanwhile.
    let jumps = |part: &[Seen<'_>]| {
        part.iter().filter(|(_, way)| !matches!(way, Placement::Behind(_))).count().max(1)
    };
    let all_jumps = jumps(&own);
    let access = |(suffix, part): (&str, Vec<Seen<'_>>)| Access {
        name: format!("{}{}{suffix}", WAYS[way], of_disk(disk)),
        disk: disk.0,
        count: part.len(),
        weight: (own.len() * jumps(&part) / all_jumps).max(1),
        block: Some(Block {
            is_write: way == 1,
            is_same_size: is_split,
            sizes: sizes::fit(part.iter().map(|(record, _)| record.length)),
            habit: habit(&part),
            misaligned: place::misaligned(part.iter().map(|(record, way)| (record.offset, *way))),
            durable: durable(&part),
        }),
    };
    parts.map(access).collect()
}

/// Splits I/Os into small and large ones. A run stays together and counts as large if at least half
/// of its bytes are in large blocks.
fn by_runs<'a>(own: &[Seen<'a>]) -> (Vec<Seen<'a>>, Vec<Seen<'a>>) {
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for run in own.chunk_by(|_, (_, way)| matches!(way, Placement::Behind(_))) {
        let bytes = |of: &dyn Fn(u32) -> bool| -> u64 {
            let own = run.iter().map(|(record, _)| record.length).filter(|length| of(*length));
            own.map(u64::from).sum()
        };
        let is_large = bytes(&|length| length >= LARGE) >= bytes(&|length| length < LARGE);
        if is_large { large.extend(run) } else { small.extend(run) }
    }
    (small, large)
}

/// Returns the share of these I/Os that must be durable before they complete.
fn durable(part: &[Seen<'_>]) -> f64 {
    let count = part.iter().filter(|(record, _)| record.flags.has(Flags::FUA)).count();
    count as f64 / part.len().max(1) as f64
}

fn flushes(inside: &[(&IoRecord, Placement)], disk: (usize, usize)) -> Option<Access> {
    let count = inside.iter().filter(|(it, _)| is_on(it, disk.0, Operation::Flush)).count();
    let name = format!("flush{}", of_disk(disk));
    (count > 0).then_some(Access { name, disk: disk.0, count, weight: count, block: None })
}

/// Fits one closed loop of all operations, or else an arrival process for each operation.
fn streams(
    observed: &Observed,
    stretches: &[Stretch],
    records: &[&IoRecord],
    accesses: &[Access],
) -> Vec<Stream> {
    let mix = |is_wanted: &dyn Fn(&Access) -> bool| -> Vec<(String, usize)> {
        let wanted = accesses.iter().filter(|access| is_wanted(access));
        wanted.map(|access| (access.name.clone(), access.weight)).collect()
    };
    let closed = || load::closed(records, stretches);
    if let Some(decided) = observed.info.has_latency.then(closed).flatten() {
        return vec![Stream { name: "users".to_owned(), decided, mix: mix(&|_| true) }];
    }
    let each =
        [(Operation::Read, "reads"), (Operation::Write, "writes"), (Operation::Flush, "flushes")];
    each.into_iter()
        .filter_map(|(operation, name)| {
            let own: Vec<&IoRecord> =
                records.iter().copied().filter(|it| it.operation == operation).collect();
            let mix = mix(&|access| access.operation() == operation);
            let decided =
                load::open(&own, stretches, observed.resolution(), observed.info.has_latency);
            (!own.is_empty()).then(|| Stream { name: name.to_owned(), decided, mix })
        })
        .collect()
}

/// Names the busiest and the quietest of several kinds.
fn name_kinds(kinds: &mut [Kind]) {
    if kinds.len() == 1 {
        return;
    }
    let rate = |kind: &Kind| kind.count as f64 / kind.seconds.max(1e-9);
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    order.sort_by(|a, b| rate(&kinds[*b]).total_cmp(&rate(&kinds[*a])));
    for (place, at) in order.iter().enumerate() {
        kinds[*at].name = match place {
            0 => "busy-".to_owned(),
            _ if place + 1 == order.len() => "quiet-".to_owned(),
            _ => format!("level-{}-", place + 1),
        };
    }
    for kind in kinds {
        let prefix = kind.name.clone();
        kind.accesses.iter_mut().for_each(|access| access.name.insert_str(0, &prefix));
        let dialogues = kind.waiting.iter_mut().flat_map(|own| &mut own.dialogues);
        dialogues.for_each(|(name, _)| name.insert_str(0, &prefix));
        for stream in &mut kind.streams {
            stream.name.insert_str(0, &prefix);
            stream.mix.iter_mut().for_each(|(name, _)| name.insert_str(0, &prefix));
        }
    }
}

impl Arrival {
    /// Returns the name of the arrival process in the language.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Paced { .. } => "paced",
            Self::Closed { .. } => "closed",
        }
    }
}
