//! Construction of a workload from fitted parameters.

use indexmap::IndexMap;
use spec::workload::{
    Access as SpecAccess, Action, Address, Again, Burst, Counted, CpuMode, DataPattern,
    Disk as SpecDisk, Flush, Load, Metric, Misaligned, RandomTime, Repeat, Reuse, Role, Schedule,
    Size, Step, Time, UserGroup, Vm, Workload,
};
use units::{BlockSize, Bytes, Nanos, Rate, Ratio};

use super::arrival::{Arrival, rounded};
use super::compare::{self, Comparison};
use super::dialogue::Dialogue;
use super::document::FitReport;
use super::error::FitError;
use super::gather::Observed;
use super::generate::{Storage, generate};
use super::model::{Access, Block, Kind, Model, Stream};
use super::phases::Stretch;
use super::{dependence, document, toml};

/// Number of rounds in which shares are corrected by a run of the workload.
const CORRECTIONS: u32 = 10;
/// Maximum increase of the error of places for which dialogues are chosen.
const PLACES_WORSE_MAX: f64 = 0.1;

/// Workload with its file and its distances from the trace.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Definition of the workload.
    pub workload: Workload,
    /// Text of the file, with comments.
    pub toml: String,
    /// Decisions of the fit, and distances from the trace.
    pub report: FitReport,
}

/// Fits a workload and runs it in virtual time to measure its distances. The same records and seed
/// give the same result.
///
/// # Errors
/// If the fitted workload cannot be run, which is a bug of this program.
pub fn fit(observed: &Observed, tool: &str, seed: u64) -> Result<Fitted, FitError> {
    let storage = Storage::like(observed);
    let (mut model, mut comparison) = corrected(observed, Model::of(observed), &storage, seed)?;
    let mut dependence = None;
    if let Some(other) = Model::with_dialogues(observed) {
        let (other, compared) = corrected(observed, other, &storage, seed)?;
        let both = (&workload(observed, &model, tool), &workload(observed, &other, tool));
        // Our choice: the places of I/Os may become worse by as much as a run differs by chance.
        let is_no_worse = compared.score() <= comparison.score() + PLACES_WORSE_MAX;
        let placed = (&storage, seed);
        dependence = dependence::compare(observed, both, &other, placed, is_no_worse)?;
        if dependence.as_ref().is_some_and(|own| own.chosen == "dialogues") {
            (model, comparison) = (other, compared);
        }
    }
    let workload = workload(observed, &model, tool);
    let mut report = document::report(observed, &model, &workload, &comparison, (tool, seed));
    report.dependence = dependence;
    let toml = toml::file(observed, &model, &workload, &report);
    Ok(Fitted { workload, toml, report })
}

/// Corrects a model by runs in virtual time, and keeps the best version.
fn corrected(
    observed: &Observed,
    mut model: Model,
    storage: &Storage,
    seed: u64,
) -> Result<(Model, Comparison), FitError> {
    let mut comparison = run(observed, &model, storage, seed)?;
    let (mut trial, mut last) = (model.clone(), comparison.clone());
    for _ in 0..CORRECTIONS {
        correct(&mut trial, &last);
        last = run(observed, &trial, storage, seed)?;
        if last.score() < comparison.score() {
            (model, comparison) = (trial.clone(), last.clone());
        }
    }
    Ok((model, comparison))
}

fn run(
    observed: &Observed,
    model: &Model,
    storage: &Storage,
    seed: u64,
) -> Result<Comparison, FitError> {
    let workload = workload(observed, model, "");
    let until = Nanos(observed.span().0 + 1);
    let made = generate(&workload, seed, until, storage)?;
    Ok(compare::compare(&observed.records, &made))
}

/// Scales the shares of sequential, new and misaligned places by the observed share divided by the
/// share in a run. This removes small differences between the meaning of a step and the counts of a
/// trace. Examples are blocks that begin within a page, and the probability of a page that is
/// accessed often.
fn correct(model: &mut Model, comparison: &Comparison) {
    let blocks = model.kinds.iter_mut().flat_map(|kind| &mut kind.accesses);
    for block in blocks.filter_map(|access| access.block.as_mut()) {
        let (seen, made) = comparison.sequential[usize::from(block.is_write)];
        if made > 0.0 && made < 1.0 && seen < 1.0 {
            // Half the correction on a logarithmic scale, because longer runs also become more
            // frequent when fewer end early. By odds, because the other I/Os begin the runs.
            let odds = |share: f64| share / (1.0 - share);
            let own = odds(block.habit.sequential.min(0.9999)) * (odds(seen) / odds(made)).sqrt();
            block.habit.sequential = own / (1.0 + own);
        }
        let again: f64 = block.habit.again.iter().map(|(share, _)| share).sum();
        let (seen, made) = comparison.touched;
        let fresh = ((1.0 - again) * (seen / made.max(1.0)).clamp(0.5, 2.0)).min(1.0);
        if again > 0.0 {
            block.habit.again.iter_mut().for_each(|(share, _)| *share *= (1.0 - fresh) / again);
        }
        for (share, by) in &mut block.misaligned {
            let (seen, made) = comparison.at_sector(*by / 512);
            *share *= (seen / made.max(1e-9)).clamp(0.5, 2.0);
        }
        let sum: f64 = block.misaligned.iter().map(|(share, _)| share).sum();
        block.misaligned.iter_mut().for_each(|(share, _)| *share /= sum.max(1.0));
    }
}

/// Builds the workload's definition.
pub(crate) fn workload(observed: &Observed, model: &Model, tool: &str) -> Workload {
    let name = name(observed);
    let mut groups = Vec::new();
    for (at, stretch) in model.stretches.iter().enumerate() {
        let kind = &model.kinds[stretch.kind];
        let number = (model.stretches.len() > 1).then_some(at + 1);
        // Number of the stretch among those of its kind.
        let alike = model.stretches[..at].iter().filter(|it| it.kind == stretch.kind).count();
        groups.extend(kind.streams.iter().map(|stream| {
            group(&name, model, (stretch, number), (stream, stream.decided.of(alike)))
        }));
    }
    Workload {
        endpoints: Vec::new(),
        application: None,
        name: name.clone(),
        title: format!("{} as seen in {}", observed.vm, plain(&observed.trace)),
        source: source(observed, tool),
        metric: metric(observed),
        cpu: CpuMode::Delay,
        data: DataPattern::default(),
        vms: vec![Vm { name, vcpus: 1, disks: model.disks.iter().map(disk).collect() }],
        groups,
        actions: model.kinds.iter().flat_map(|kind| actions(model, kind)).collect(),
        limits: Vec::new(),
        replay: None,
    }
}

fn disk(disk: &super::model::Disk) -> SpecDisk {
    SpecDisk {
        on: spec::workload::On::First,
        name: disk.name.clone(),
        size: disk.size,
        role: Role::Data,
        source: Some(plain(&disk.source)),
    }
}

/// Converts a text to one line without control characters.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

fn source(observed: &Observed, tool: &str) -> String {
    let span = observed.span();
    let by = if tool.is_empty() { "tilemark" } else { tool };
    plain(&format!(
        "fitted by {by} analyze --to-workload to {} I/Os of VM {} in {} ({}), {} starting at {}",
        observed.records.len(),
        observed.vm,
        observed.trace,
        observed.info.format,
        span,
        observed.start,
    ))
}

/// Returns the metric. One tile's worth is the observed rate.
fn metric(observed: &Observed) -> Metric {
    let moves = observed.records.iter().filter(|record| record.operation.moves_data()).count();
    let rate = moves as f64 / observed.span().as_secs_f64();
    Metric {
        unit: "I/Os/s".to_owned(),
        count: Counted::Io,
        of: None,
        per: Nanos::SECOND,
        divide_by: 1.0,
        reference: Some(digits(rate).max(0.001)),
    }
}

/// Returns the name of the VM, or the name of the trace if the VM has none.
fn name(observed: &Observed) -> String {
    let name = plain_name(&observed.vm);
    let path = std::path::Path::new(&observed.trace);
    match path.file_name().map(|file| file.to_string_lossy()) {
        Some(file) if ["unknown", "vm", "vm0"].contains(&name.as_str()) => {
            plain_name(file.split('.').next().unwrap_or_default())
        }
        _ => name,
    }
}

/// Converts a text to a name with only letters, digits and `-`, as the language requires.
pub(crate) fn plain_name(text: &str) -> String {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '_' | '.') => letter,
        _ => '-',
    };
    let name: String = text.chars().map(letter).collect();
    let name = name.trim_matches(['-', '.', '_']);
    if name.is_empty() { "vm".to_owned() } else { name.chars().take(60).collect() }
}

fn group(
    vm: &str,
    model: &Model,
    (stretch, number): (&Stretch, Option<usize>),
    (stream, arrival): (&Stream, &Arrival),
) -> UserGroup {
    let name = match number {
        Some(number) => format!("{}-{number}", stream.name),
        None => stream.name.clone(),
    };
    let schedule = number.map(|_| schedule(model, stretch));
    let mix = stream.mix.iter().map(|(name, count)| (name.clone(), *count as f64)).collect();
    let load = load(arrival);
    UserGroup { name, vm: vm.to_owned(), load, mix: Some(mix), schedule, phases: Vec::new() }
}

/// Returns the schedule of a phase. A load that runs longer than the trace repeats the schedule
/// from its beginning.
fn schedule(model: &Model, stretch: &Stretch) -> Schedule {
    let whole = |time: Nanos| Nanos(time.0.div_ceil(1_000_000) * 1_000_000);
    let start = whole(stretch.from);
    let active = whole(stretch.to).saturating_sub(start).max(Nanos(1_000_000));
    let every = whole(Nanos(model.span.0 + 1)).max(start + active);
    Schedule { start, active: Some(active), every: Some(every) }
}

fn load(arrival: &Arrival) -> Load {
    let rate = |rate: f64| Rate::per_second(digits(rate).max(1e-6));
    match arrival {
        Arrival::Open { rate: mean, gaps, bursts } => Load::Open {
            rate: rate(*mean),
            outstanding_max: 1024,
            gaps: by_weight(gaps).filter(|gaps| gaps.len() > 1),
            bursts: bursts.iter().map(burst).collect(),
        },
        Arrival::Paced { users, rate: mean } => {
            Load::Paced { users: *users, rate: rate(*mean), backlog: 10 }
        }
        Arrival::Closed { users, think } => Load::Closed {
            users: *users,
            think: match *think {
                Nanos::ZERO => Time::Fixed(Nanos::ZERO),
                think => Time::Random(RandomTime::Exponential(rounded(think))),
            },
        },
    }
}

/// Converts interarrival times by weight; `None` if empty. A single entry is also kept: a burst
/// then uses it instead of the interarrival times outside.
fn by_weight(gaps: &[(Nanos, f64)]) -> Option<IndexMap<String, f64>> {
    let by_weight = || gaps.iter().map(|(gap, weight)| (gap.to_text(), *weight)).collect();
    (!gaps.is_empty()).then(by_weight)
}

fn burst(burst: &super::arrival::Burst) -> Burst {
    Burst {
        io: share(burst.io),
        time: ratio((burst.time * 1e9).ceil() / 1e9),
        length: rounded(burst.length),
        gaps: by_weight(&burst.gaps),
    }
}

/// Converts a ratio with the rounding of the file, so that the definition and its file are equal.
fn ratio(value: f64) -> Ratio {
    let ratio = Ratio::new(value);
    ratio.to_text().parse().unwrap_or(ratio)
}

/// Converts a share, rounded down so that the sum of several is never above one.
fn share(value: f64) -> Ratio {
    ratio((value * 1e6).floor() / 1e6)
}

/// Rounds a number to four digits.
pub(crate) fn digits(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let text = format!("{value:.3e}");
    text.parse().unwrap_or(value)
}

/// Returns the dialogues of a kind as actions, or each of its accesses if it has none.
fn actions(model: &Model, kind: &Kind) -> Vec<Action> {
    let action = |name: &str, steps| Action { name: name.to_owned(), weight: 1.0, steps };
    match &kind.waiting {
        None => {
            let single = |own: &Access| action(&own.name, vec![step(model, own)]);
            kind.accesses.iter().map(single).collect()
        }
        Some(waiting) => {
            let several = |(name, own): &(String, Dialogue)| action(name, steps(model, kind, own));
            waiting.dialogues.iter().map(several).collect()
        }
    }
}

/// Returns the steps of a dialogue. Equal stages are a `repeat`, with the pause before each.
fn steps(model: &Model, kind: &Kind, dialogue: &Dialogue) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in &dialogue.parts {
        let atoms = part.atoms.iter().filter_map(|atom| kind.access(*atom));
        let mut stage: Vec<Step> = atoms.map(|own| step(model, own)).collect();
        let stage = if stage.len() == 1 { stage.remove(0) } else { Step::Parallel(stage) };
        let paused = match rounded(part.pause) {
            Nanos::ZERO => Vec::new(),
            pause => vec![Step::Wait(Time::Random(RandomTime::Exponential(pause)))],
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 64")]
        let times = part.times.round().max(1.0) as u32;
        // A dialogue begins without a pause.
        let after = times - u32::from(steps.is_empty());
        if steps.is_empty() {
            steps.push(stage.clone());
        }
        let repeated = paused.into_iter().chain([stage]).collect();
        match after {
            0 => {}
            1 => steps.extend(repeated),
            times => steps.push(Step::Repeat(Repeat { times, steps: repeated })),
        }
    }
    steps
}

fn step(model: &Model, access: &Access) -> Step {
    let disk = &model.disks[access.disk];
    let Some(block) = &access.block else {
        return Step::Flush(Flush { disk: disk.name.clone(), kind: None });
    };
    let step = SpecAccess {
        disk: disk.name.clone(),
        size: size(block),
        address: address(model, disk.size, block),
        count: 1,
        kind: None,
        data: None,
        durable: (block.durable > 0.0).then(|| ratio(digits(block.durable))),
    };
    if block.is_write { Step::Write(step) } else { Step::Read(step) }
}

fn block_size(bytes: u64) -> BlockSize {
    BlockSize::new(Bytes::new(bytes)).unwrap_or(BlockSize::SECTOR)
}

fn size(block: &Block) -> Size {
    match &block.sizes.mix[..] {
        [(size, _)] => Size::Fixed(block_size(u64::from(*size))),
        mix => {
            let weights = mix
                .iter()
                .map(|(size, count)| (block_size(u64::from(*size)).to_text(), *count as f64));
            Size::Mix(weights.collect::<IndexMap<_, _>>())
        }
    }
}

fn address(model: &Model, size: Bytes, block: &Block) -> Address {
    let mut again: Vec<Again> = Vec::new();
    for (io, depth) in &block.habit.again {
        let within = (depth * model.page) as f64 / size.as_f64();
        let within = ratio((within * 1e11).ceil() / 1e11);
        match again.last_mut().filter(|before| before.within >= within) {
            Some(before) => before.io = share(before.io.get() + share(*io).get() + 1e-9),
            None => again.push(Again { io: share(*io), within }),
        }
    }
    let sequential = share(block.habit.sequential);
    let run = block.habit.run.map(|run| digits(run).max(1.0));
    let misaligned = block
        .misaligned
        .iter()
        .map(|(io, by)| Misaligned { io: share(*io), by: block_size(u64::from(*by)) });
    let misaligned = misaligned.collect();
    let (same_size, page) = (block.is_same_size, block_size(model.page));
    Address::Reuse(Reuse { sequential, run, same_size, again, page, misaligned })
}
