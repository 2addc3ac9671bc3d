use std::fmt;
use std::str::FromStr;

use super::{Arc, Clock, Fifo, Lirs, Lru, Policy, S3Fifo, Sieve, TwoQueue, WTinyLfu};

/// The policies that need no foresight, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PolicyKind {
    /// [`Lru`], `lru`.
    #[default]
    Lru,
    /// [`Fifo`], `fifo`.
    Fifo,
    /// [`Clock`], `clock`.
    Clock,
    /// [`TwoQueue`], `2q`.
    TwoQueue,
    /// [`Arc`], `arc`.
    Arc,
    /// [`S3Fifo`], `s3fifo`.
    S3Fifo,
    /// [`Sieve`], `sieve`.
    Sieve,
    /// [`Lirs`], `lirs`.
    Lirs,
    /// [`WTinyLfu`], `w-tinylfu`.
    WTinyLfu,
}

impl PolicyKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Lru,
        Self::Fifo,
        Self::Clock,
        Self::TwoQueue,
        Self::Arc,
        Self::S3Fifo,
        Self::Sieve,
        Self::Lirs,
        Self::WTinyLfu,
    ];

    /// An empty cache of `capacity` pages, 1 to 2^28; outside that range it panics.
    pub fn build(self, capacity: usize) -> Box<dyn Policy> {
        match self {
            Self::Lru => Box::new(Lru::new(capacity)),
            Self::Fifo => Box::new(Fifo::new(capacity)),
            Self::Clock => Box::new(Clock::new(capacity)),
            Self::TwoQueue => Box::new(TwoQueue::new(capacity)),
            Self::Arc => Box::new(Arc::new(capacity)),
            Self::S3Fifo => Box::new(S3Fifo::new(capacity)),
            Self::Sieve => Box::new(Sieve::new(capacity)),
            Self::Lirs => Box::new(Lirs::new(capacity)),
            Self::WTinyLfu => Box::new(WTinyLfu::new(capacity)),
        }
    }

    /// The name it is written with.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Fifo => "fifo",
            Self::Clock => "clock",
            Self::TwoQueue => "2q",
            Self::Arc => "arc",
            Self::S3Fifo => "s3fifo",
            Self::Sieve => "sieve",
            Self::Lirs => "lirs",
            Self::WTinyLfu => "w-tinylfu",
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no policy has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown policy \"{name}\"; known are lru, fifo, clock, 2q, arc, s3fifo, sieve, lirs, w-tinylfu"
)]
pub struct UnknownPolicy {
    /// What was asked for.
    pub name: String,
}

impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownPolicy { name: name.to_owned() })
    }
}
