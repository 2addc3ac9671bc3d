use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use run_store::gauge::ScopeKind;
use untrusted::Malformed;

use super::check::checked;
use super::wire::{
    Answer, Content, EVIDENCE_MAX, EvidenceFacts, Question, SLICES_MAX, SetFacts, Slices,
    StateFacts, encode,
};
use crate::{Archive, Evidences, Known, LEVELS, Slice, WatchError, Window, journal, known};

/// Reason why a question cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// Bytes that are not a question.
    #[error("it is not a valid request to a watch store")]
    Question,
    /// Store that cannot be read.
    #[error(transparent)]
    Store(#[from] WatchError),
    /// Answer that exceeds the limits, even with the coarsest slices.
    #[error("an answer about {} exceeds the limits: {reason}", path.display())]
    TooLarge {
        /// Path of the store.
        path: PathBuf,
        /// Limit that the answer exceeds.
        reason: Malformed,
    },
}

impl AnswerError {
    /// Returns a hint, as a command or a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Question => Some("install the same version of tilemark on all hosts"),
            Self::Store(error) => error.hint(),
            Self::TooLarge { .. } => Some("request a shorter time"),
        }
    }
}

/// Answers a question about the store in a directory; `now_s` is the time on this host's clock.
/// Slices are as fine as requested, or coarser if the answer would be too large.
///
/// # Errors
/// The bytes are not a question, or there is no readable store.
pub fn answer(directory: &Path, question: &[u8], now_s: u64) -> Result<Vec<u8>, AnswerError> {
    let question: Question = postcard::from_bytes(question).map_err(|_| AnswerError::Question)?;
    let archive = Archive::open(directory)?;
    let known = known::read(directory);
    let whole =
        |content| Answer { question: question.clone(), now_s, known: known.clone(), content };
    let fitting = |content| {
        let answer = whole(content);
        let bytes = encode(&answer);
        // The answer of this host must pass the same checks as the answers of other hosts.
        checked(&bytes, &question).map(|_| bytes)
    };
    let too_large =
        |error: Malformed| AnswerError::TooLarge { path: directory.to_owned(), reason: error };
    match &question {
        Question::State => {
            let content = Content::State(StateFacts::of(&archive.state()?, archive.bounds()?));
            fitting(content).map_err(too_large)
        }
        Question::Window { from_s, to_s, slices_max } => {
            let window = (*from_s, *to_s);
            let mut slices_max = (*slices_max).min(SLICES_MAX);
            loop {
                let found = archive.window(window, slices_max)?;
                let content = Content::Slices(slices(&found, &known));
                let error = match fitting(content) {
                    Ok(bytes) => return Ok(bytes),
                    Err(error) => error,
                };
                let next = LEVELS.iter().find(|level| level.width_s > found.width_s);
                let Some(next) = next else { return Err(too_large(error)) };
                slices_max = to_s.saturating_sub(*from_s).div_ceil(next.width_s).max(1);
            }
        }
        Question::Sets { from_s, to_s, step_s } => {
            let found = archive.sets((*from_s, *to_s), (*step_s).max(1))?;
            fitting(Content::Sets(found.rows.iter().map(SetFacts::of).collect())).map_err(too_large)
        }
        Question::NewestSets => {
            let found = archive.newest_sets()?;
            fitting(Content::Sets(found.rows.iter().map(SetFacts::of).collect())).map_err(too_large)
        }
        Question::Evidence => {
            let all = Evidences::of(directory).list()?;
            let newest = all.iter().skip(all.len().saturating_sub(EVIDENCE_MAX));
            fitting(Content::Evidence(newest.map(EvidenceFacts::of).collect())).map_err(too_large)
        }
    }
}

fn slices(found: &Window, known: &Known) -> Slices {
    let known: BTreeSet<&str> = known.vms.iter().map(|vm| vm.name.as_str()).collect();
    let vms: BTreeSet<&str> = found.slices.iter().flat_map(vms).collect();
    Slices {
        width_s: found.width_s,
        frames: found.slices.iter().map(journal::frame).collect(),
        vms: vms.difference(&known).map(|name| (*name).to_owned()).collect(),
        unreadable: found.unreadable.len() as u64,
    }
}

/// Returns the initiators that are certainly VMs, because their CPU time or QEMU's own counters of
/// their disks were sampled.
fn vms(slice: &Slice) -> impl Iterator<Item = &str> {
    let gauges = slice.gauges.keys().filter(|(name, _)| name.scope() == ScopeKind::Vm);
    let guests = slice.io.keys().filter(|key| key.class.is_none());
    gauges.map(|(_, scope)| &**scope).chain(guests.map(|key| &*key.vm))
}
