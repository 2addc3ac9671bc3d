use crate::wire::{command, command_flag};
use crate::{Abilities, Code};

/// What to ask a server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Data.
    Read,
    /// New data, which the driver sends right behind the header.
    Write {
        /// Durable when answered.
        fua: bool,
    },
    /// What was answered becomes durable.
    Flush,
    /// A range is given up.
    Trim {
        /// Durable when answered.
        fua: bool,
    },
    /// A range reads as zeroes.
    WriteZeroes {
        /// Durable when answered.
        fua: bool,
        /// It must stay allocated.
        no_hole: bool,
    },
    /// A range will be wanted soon.
    Cache,
}

impl Operation {
    /// Number, flags, what the server must offer, and how people call it.
    pub(super) fn describe(self) -> (u16, u16, Abilities, &'static str) {
        let flag = |fua| if fua { command_flag::FUA } else { 0 };
        let needs = |fua| if fua { Abilities::FUA } else { Abilities::NONE };
        match self {
            Self::Read => (command::READ, 0, Abilities::NONE, "read"),
            Self::Write { fua } => (command::WRITE, flag(fua), needs(fua), "write so"),
            Self::Flush => (command::FLUSH, 0, Abilities::FLUSH, "flush"),
            Self::Trim { fua } => {
                (command::TRIM, flag(fua), Abilities::TRIM | needs(fua), "trim so")
            }
            Self::WriteZeroes { fua, no_hole } => {
                let no_hole = if no_hole { command_flag::NO_HOLE } else { 0 };
                let needs = Abilities::WRITE_ZEROES | needs(fua);
                (command::WRITE_ZEROES, flag(fua) | no_hole, needs, "write zeroes so")
            }
            Self::Cache => (command::CACHE, 0, Abilities::CACHE, "fetch ahead"),
        }
    }

    pub(super) fn changes(self) -> bool {
        matches!(self, Self::Write { .. } | Self::Trim { .. } | Self::WriteZeroes { .. })
    }
}

/// What a server says of a request that it did not carry out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}{message}")]
pub struct Failure {
    /// Its kind.
    pub code: Code,
    /// What the server says itself, after a colon; often nothing.
    pub message: String,
}
