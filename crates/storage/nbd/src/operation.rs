use crate::Abilities;
use crate::wire::{command, command_flag};

/// Operation on a range of an export, as a client requests it and a server and its disks execute
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Send the range. The flag `NO_FRAGMENT` on a server's reads is not kept, because reads are
    /// always sent in one piece.
    Read,
    /// Replace the range by the payload, which follows the header.
    Write {
        /// FUA: the data must be durable before the reply.
        fua: bool,
    },
    /// Make all answered writes durable.
    Flush,
    /// Discard the range. Its content is undefined afterwards.
    Trim {
        /// FUA: the trim must be durable before the reply.
        fua: bool,
    },
    /// Zero the range.
    WriteZeroes {
        /// FUA: the zeroes must be durable before the reply.
        fua: bool,
        /// True if the range must stay allocated.
        no_hole: bool,
        /// Zero only if zeroing is faster than writing; otherwise answer
        /// [`Code::NotSupported`](crate::Code::NotSupported).
        fast: bool,
    },
    /// Prefetch the range.
    Cache,
}

impl Operation {
    /// Returns true if the operation can change data.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::Write { .. } | Self::Trim { .. } | Self::WriteZeroes { .. })
    }

    /// Returns the number, the flags, the feature that the server must have, and the name for
    /// messages.
    pub(crate) fn describe(self) -> (u16, u16, Abilities, &'static str) {
        let flag = |fua| if fua { command_flag::FUA } else { 0 };
        let needs = |fua| if fua { Abilities::FUA } else { Abilities::NONE };
        match self {
            Self::Read => (command::READ, 0, Abilities::NONE, "read"),
            Self::Write { fua } => (command::WRITE, flag(fua), needs(fua), "write so"),
            Self::Flush => (command::FLUSH, 0, Abilities::FLUSH, "flush"),
            Self::Trim { fua } => {
                (command::TRIM, flag(fua), Abilities::TRIM | needs(fua), "trim so")
            }
            Self::WriteZeroes { fua, no_hole, fast } => {
                let no_hole = if no_hole { command_flag::NO_HOLE } else { 0 };
                let (fast, can) = match fast {
                    true => (command_flag::FAST_ZERO, Abilities::FAST_ZERO),
                    false => (0, Abilities::NONE),
                };
                let needs = Abilities::WRITE_ZEROES | needs(fua) | can;
                (command::WRITE_ZEROES, flag(fua) | no_hole | fast, needs, "write zeroes so")
            }
            Self::Cache => (command::CACHE, 0, Abilities::CACHE, "fetch ahead"),
        }
    }
}
