//! Sequences of I/Os that wait for each other, as dialogues of the language.

use std::collections::BTreeMap;

use trace::{IoRecord, Operation};
use units::Nanos;

use super::waits::Waits;

/// Maximum number of I/Os in one stage. Our choice: a file of a workload with more could not be read.
const STAGE_MAX: usize = 32;
/// Maximum number of dialogues, so that a workload stays readable.
const DIALOGUES_MAX: usize = 12;
/// Inverse of the share of the I/Os below which a dialogue is rare.
const RARE: usize = 100;
/// Maximum number of parts of a dialogue. Longer sequences are divided.
const PARTS_MAX: usize = 12;
/// Maximum number of repetitions of one part. A longer sequence of equal I/Os is a loop whose I/Os
/// are dialogues of their own.
const TIMES_MAX: usize = 64;

/// Disk and operation of an I/O.
pub(crate) type Atom = (usize, Operation);

/// I/Os that run at the same time. Each is listed once for each copy.
pub(crate) type Atoms = Vec<Atom>;

/// Stages of a sequence, each with its number of repetitions as a power of two.
type Key = Vec<(Atoms, u32)>;

/// Equal stages one after another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) atoms: Atoms,
    /// Mean number of repetitions.
    pub(crate) times: f64,
    /// Mean pause before a stage, without the first stage of the dialogue; zero if there is none.
    pub(crate) pause: Nanos,
}

/// I/Os that wait for each other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dialogue {
    /// Number of times it was seen, including rarer sequences that count as this one.
    pub(crate) count: usize,
    pub(crate) parts: Vec<Part>,
}

/// Dialogues of a load, with the times at which they ran.
#[derive(Debug, Clone)]
pub(crate) struct Dialogues {
    pub(crate) all: Vec<Dialogue>,
    /// A record for each run of a dialogue: its start, and its length as latency.
    pub(crate) runs: Vec<IoRecord>,
    /// Share of the I/Os in rare sequences, which count as another dialogue.
    pub(crate) rare: f64,
}

/// One stage that was seen.
#[derive(Debug, Clone)]
struct Stage {
    atoms: Atoms,
    start: u64,
    end: u64,
    /// Pause after the end of the stage before.
    pause: Nanos,
}

/// Stages that were seen one after another.
#[derive(Debug, Clone, Default)]
struct Chain {
    stages: Vec<Stage>,
}

impl Chain {
    fn end(&self) -> u64 {
        self.stages.last().map_or(0, |stage| stage.end)
    }
}

/// Finds the dialogues of these I/Os. `None` if no dialogue has more than one stage: a plain closed
/// loop then says the same.
pub(crate) fn find(records: &[&IoRecord], waits: &Waits) -> Option<Dialogues> {
    let mut chains: Vec<Chain> = chains(records, waits).into_iter().flat_map(divided).collect();
    chains.sort_by_key(|chain| chain.stages[0].start);
    let mut groups: BTreeMap<Key, Vec<&Chain>> = BTreeMap::new();
    for chain in &chains {
        groups.entry(key(chain)).or_default().push(chain);
    }
    let ios = |chains: &[&Chain]| -> usize { chains.iter().map(|own| size(own)).sum() };
    let mut groups: Vec<(Key, Vec<&Chain>)> = groups.into_iter().collect();
    groups.sort_by_cached_key(|(_, chains)| std::cmp::Reverse(ios(chains)));
    let is_rare = |chains: &[&Chain]| ios(chains) * RARE < records.len();
    let frequent = groups.iter().take_while(|(_, chains)| !is_rare(chains)).count();
    let rare = groups.split_off(frequent.clamp(1, DIALOGUES_MAX).min(groups.len()));
    let mut all: Vec<Dialogue> = groups.iter().map(|(_, chains)| dialogue(chains)).collect();
    // Computed once: a trace may have tens of thousands of rare keys.
    let mean = |chains: &[&Chain]| ios(chains) as f64 / chains.len() as f64;
    let known: Vec<(Vec<&Atoms>, f64)> =
        groups.iter().map(|(key, chains)| (atoms(key), mean(chains))).collect();
    for (key, chains) in &rare {
        let (own, count) = (atoms(key), mean(chains));
        let apart = |at: usize| (known[at].0 != own, (known[at].1 / count).ln().abs());
        let nearest = (0..all.len()).min_by(|a, b| {
            let (a, b) = (apart(*a), apart(*b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        all[nearest?].count += chains.len();
    }
    let of_rare: usize = rare.iter().map(|(_, chains)| ios(chains)).sum();
    let has_several = all.iter().any(|own| own.parts.len() > 1 || own.parts[0].times >= 1.5);
    has_several.then(|| Dialogues {
        all,
        runs: chains.iter().map(run).collect(),
        rare: of_rare as f64 / records.len().max(1) as f64,
    })
}

/// Returns the stages' I/Os of a key, without their numbers of repetitions.
fn atoms(key: &[(Atoms, u32)]) -> Vec<&Atoms> {
    key.iter().map(|(atoms, _)| atoms).collect()
}

fn size(chain: &Chain) -> usize {
    chain.stages.iter().map(|stage| stage.atoms.len()).sum()
}

fn run(chain: &Chain) -> IoRecord {
    let start = chain.stages[0].start;
    let record = IoRecord::new(Nanos(start), Operation::Read, 0, 4096);
    IoRecord { device_time: Some(Nanos(chain.end() - start)), ..record }
}

/// Follows the I/Os that wait. An I/O continues the chain of the last completed one, if this was
/// the last of its chain. An I/O that begins together with the one before it joins its stage.
fn chains(records: &[&IoRecord], waits: &Waits) -> Vec<Chain> {
    let together = together(records, waits.within);
    let mut chains: Vec<Chain> = Vec::new();
    let mut chain_of: Vec<usize> = Vec::with_capacity(records.len());
    for (position, record) in records.iter().enumerate() {
        let at = record.issue.0;
        let end = super::waits::end(record);
        let atom = (usize::from(record.device.0), record.operation);
        let followed = waits.before[position].filter(|before| {
            before.pause <= waits.within && chains[chain_of[before.of]].end() <= at
        });
        let joined = position.checked_sub(1).map(|before| chain_of[before]).filter(|chain| {
            let stage = chains[*chain].stages.last();
            stage.is_some_and(|own| {
                own.end > at && at - own.start <= together.0 && own.atoms.len() < STAGE_MAX
            })
        });
        let chain = match (followed, joined) {
            (Some(before), _) => {
                let stage = Stage { atoms: vec![atom], start: at, end, pause: before.pause };
                chains[chain_of[before.of]].stages.push(stage);
                chain_of[before.of]
            }
            (None, Some(chain)) => {
                if let Some(stage) = chains[chain].stages.last_mut() {
                    stage.atoms.push(atom);
                    stage.end = stage.end.max(end);
                }
                chain
            }
            (None, None) => {
                let stage = Stage { atoms: vec![atom], start: at, end, pause: Nanos::ZERO };
                chains.push(Chain { stages: vec![stage] });
                chains.len() - 1
            }
        };
        chain_of.push(chain);
    }
    for stage in chains.iter_mut().flat_map(|chain| &mut chain.stages) {
        stage.atoms.sort_unstable();
    }
    chains
}

/// Returns the longest time between the starts of I/Os of one stage: a tenth of the median latency,
/// because I/Os that are sent together have no completion between them. Our choice.
fn together(records: &[&IoRecord], within: Nanos) -> Nanos {
    let mut latencies: Vec<Nanos> = records.iter().filter_map(|own| own.latency()).collect();
    latencies.sort_unstable();
    let median = latencies.get(latencies.len() / 2).copied().unwrap_or_default();
    Nanos(median.0 / 10).min(within)
}

/// Divides a chain that is too long for a dialogue: after flushes if it has any, because a flush
/// ends a unit of work; else where reads follow writes. A long sequence of equal stages is divided
/// into its stages.
fn divided(chain: Chain) -> Vec<Chain> {
    let parts = chain.stages.chunk_by(|a, b| a.atoms == b.atoms);
    let (mut count, mut longest) = (0, 0);
    for part in parts {
        (count, longest) = (count + 1, longest.max(part.len()));
    }
    if count <= PARTS_MAX && longest <= TIMES_MAX {
        return vec![chain];
    }
    let has = |stage: &Stage, operation| stage.atoms.iter().any(|(_, own)| *own == operation);
    let has_flush = chain.stages.iter().any(|own| has(own, Operation::Flush));
    let is_border = |before: &Stage, after: &Stage| match has_flush {
        true => has(before, Operation::Flush) && !has(after, Operation::Flush),
        false => has(before, Operation::Write) && has(after, Operation::Read),
    };
    let mut units: Vec<Chain> = vec![Chain::default()];
    for stage in chain.stages {
        let unit = units.last().and_then(|unit| unit.stages.last());
        let is_full = units.last().is_some_and(|unit| unit.stages.len() >= TIMES_MAX);
        if unit.is_some_and(|before| is_border(before, &stage)) || is_full {
            units.push(Chain::default());
        }
        if let Some(unit) = units.last_mut() {
            unit.stages.push(stage);
        }
    }
    let single = |unit: Chain| -> Vec<Chain> {
        let parts = unit.stages.chunk_by(|a, b| a.atoms == b.atoms).count();
        if parts <= PARTS_MAX && unit.stages.len() < TIMES_MAX {
            return vec![unit];
        }
        unit.stages.into_iter().map(|stage| Chain { stages: vec![stage] }).collect()
    };
    units.into_iter().flat_map(single).collect()
}

/// Returns the parts of a chain, with the number of repetitions rounded down to a power of two, so
/// that similar sequences are one dialogue.
fn key(chain: &Chain) -> Key {
    let parts = chain.stages.chunk_by(|a, b| a.atoms == b.atoms);
    parts.map(|part| (part[0].atoms.clone(), part.len().ilog2())).collect()
}

/// Returns the dialogue of chains with the same key.
fn dialogue(chains: &[&Chain]) -> Dialogue {
    let parts_of = |chain: &Chain| -> Vec<(Atoms, usize, u64, usize)> {
        let mut first = true;
        let parts = chain.stages.chunk_by(|a, b| a.atoms == b.atoms);
        let part = |part: &[Stage]| {
            let paused = &part[usize::from(std::mem::take(&mut first))..];
            let pauses: u64 = paused.iter().map(|stage| stage.pause.0).sum();
            (part[0].atoms.clone(), part.len(), pauses, paused.len())
        };
        parts.map(part).collect()
    };
    let seen: Vec<_> = chains.iter().map(|chain| parts_of(chain)).collect();
    let part = |at: usize| {
        let own = || seen.iter().map(|parts| &parts[at]);
        let times: usize = own().map(|(_, times, ..)| times).sum();
        let pauses: u64 = own().map(|(.., pauses, _)| pauses).sum();
        let paused: usize = own().map(|(.., paused)| paused).sum();
        Part {
            atoms: seen[0][at].0.clone(),
            times: times as f64 / seen.len() as f64,
            pause: Nanos(pauses / paused.max(1) as u64),
        }
    };
    Dialogue { count: chains.len(), parts: (0..seen[0].len()).map(part).collect() }
}
