//! State of a disk at one moment, and changes of its backing store since that moment.

/// Counters of a served disk at one moment. They are stored beside the sidecar, with marks that
/// reveal a later change of the backing store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Number of the set's opening ([`crate::Session::opening`]).
    pub opening: u64,
    /// Last durable group of the pool's log.
    pub pool: u64,
    /// Last durable group of the disk's log.
    pub log: u64,
}

/// Knowledge about changes of a backing store since a [`Moment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Nothing is known.
    Unknown,
    /// No program, this one included, can have written to the backing store.
    Unchanged(Moment),
    /// The set was closed in order at that moment, and another program has written to the backing
    /// store since.
    Changed(Moment),
    /// This program or another may have written to the backing store.
    Perhaps(Moment),
    /// The backing store is in an older state than at that moment.
    Older(Moment),
}

impl Since {
    /// Returns the moment, if it is known.
    pub fn moment(&self) -> Option<Moment> {
        match *self {
            Self::Unknown => None,
            Self::Unchanged(at) | Self::Changed(at) | Self::Perhaps(at) | Self::Older(at) => {
                Some(at)
            }
        }
    }
}
