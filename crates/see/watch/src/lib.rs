//! Slices of the I/O of every VM of a host, and a store that keeps a year of slices.
//!
//! It folds I/O records into slices of 10 s ([`Fold`]). For each VM, disk, direction and size class
//! a slice has the count, bytes, a histogram of latency, and the part of the latency that the
//! host's queue took. A store keeps the slices ([`Store`]) in coarser and coarser levels
//! ([`LEVELS`]), and returns any time window ([`Archive`]). In addition it estimates the working
//! set of each VM ([`Sets`]), hour by hour. Rules ([`Judge`]) turn slices into alarms, and
//! [`Senders`] deliver the alarms.
//!
//! It refuses a second writer of a store, a store of a later version, and to average percentiles:
//! coarser slices are merged histograms.
//!
//! Invariants: data that a source does not provide is absent, never zero. A killed writer loses at
//! most the open slice. A store never exceeds its size limit; the oldest data of the finest level
//! is removed first, and recordings of breaches ([`Evidences`]) count as part of the store. Time
//! only comes from the caller, so a clock that steps back loses nothing: slices of the same time
//! are added. An alarm begins and ends only by whole windows in which the limit was surely broken
//! or surely kept. No message contains a secret from a channel's address.
#![forbid(unsafe_code)]

mod archive;
mod columns;
mod error;
mod evidence;
mod export;
mod fold;
mod hits;
mod hosts;
mod journal;
mod known;
mod latencies;
mod level;
mod listing;
mod neighbours;
mod program;
mod rules;
mod segment;
mod send;
mod sets;
mod slice;
mod store;
mod sufferers;
mod totals;
mod words;

/// Format of a store and its segments.
pub(crate) const SCHEMA: &str = "tilemark.watch/1.0";

pub use archive::{Archive, SetRows, Window};
pub use error::WatchError;
pub use evidence::{Evidence, Evidences};
pub use fold::Fold;
pub use hits::{CacheHits, NoHits, VmHits, cache_hits};
pub use hosts::{
    AnswerError, HostEvidence, HostNote, HostSets, HostState, HostStore, HostStores, HostTrouble,
    Merged, StoragePart, answer,
};
pub use known::{Known, KnownDisk, KnownVm, Sightings};
pub use latencies::Latencies;
pub use level::{LEVELS, Level};
pub use listing::{LevelState, State};
pub use neighbours::{Neighbour, Neighbours, neighbours};
pub use program::{Program, ProgramError};
pub use rules::{
    Alarm, CONFIDENCE, Change, EmptyPattern, End, Ending, IOS_MIN, Judge, Limit, LimitError,
    Pattern, Percentile, Quantity, Rule, Rules, SendTo, Severity, Subject, Sufferer, WindowValues,
};
pub use send::{Problem, SendError, Senders, Timing, Trouble};
pub use sets::{SetRow, SetSpan, Sets};
pub use slice::{Cell, IN_QEMU, Key, Slice};
pub use store::{Options, STORE_DIRECTORY, Store};
pub use sufferers::Load;
pub use totals::Totals;
