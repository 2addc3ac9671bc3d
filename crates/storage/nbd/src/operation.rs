use crate::Abilities;
use crate::wire::{command, command_flag};

/// Operation on a range of an export: what a client asks, and a server and its disks carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Send the range. A server's reads with `NO_FRAGMENT` need no mark: they are sent in one piece
    /// anyway.
    Read,
    /// Replace the range by the payload, which follows the header.
    Write {
        /// FUA: durable before the reply.
        fua: bool,
    },
    /// Make all answered writes durable.
    Flush,
    /// Discard the range. Its content is undefined afterwards.
    Trim {
        /// FUA: durable before the reply.
        fua: bool,
    },
    /// Zero the range.
    WriteZeroes {
        /// FUA: durable before the reply.
        fua: bool,
        /// The range must stay allocated.
        no_hole: bool,
        /// Zero only if that is faster than writing; else answer [`Code::NotSupported`](crate::Code::NotSupported).
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

    /// Number, flags, required ability of the server, and name for people.
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
