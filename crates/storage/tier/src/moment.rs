//! What is known of a disk at one moment, and of its backing store since then.

/// Numbers that a served disk had at one moment. They were stored beside the sidecar, with marks by which
/// a later change of the backing store can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Opening of the set ([`crate::Session::opening`]).
    pub opening: u64,
    /// Last durable group of the pages' log.
    pub pool: u64,
    /// Last durable group of the disk's log.
    pub log: u64,
}

/// What is known of changes of a backing store since a [`Moment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Nothing.
    Unknown,
    /// Nobody can have written to it: neither this program nor another.
    Unchanged(Moment),
    /// The set was left in order then, and somebody has written to it since.
    Changed(Moment),
    /// This program or another may have written to it.
    Perhaps(Moment),
    /// It is an older state than at that moment.
    Older(Moment),
}

impl Since {
    /// The moment, if one is known.
    pub fn moment(&self) -> Option<Moment> {
        match *self {
            Self::Unknown => None,
            Self::Unchanged(at) | Self::Changed(at) | Self::Perhaps(at) | Self::Older(at) => {
                Some(at)
            }
        }
    }
}
