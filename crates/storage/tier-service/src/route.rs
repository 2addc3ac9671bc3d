//! Where requests for the disks of a set go: to the machine here, or to another server that owns the disk.

use std::sync::mpsc::{Sender, SyncSender};
use std::time::Instant;

use block_server::Request;
use nbd::{Export, Uri};
use tier::ownership::Standing;

use crate::error::Refusal;
use crate::opening::Opening;

/// The other server that has a disk, or is about to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other {
    /// Where it listens; the export's name is not used.
    pub(crate) uri: Uri,
    /// The same as it was written.
    pub(crate) address: String,
    /// Where that server reaches this one, as written.
    pub(crate) back: String,
}

/// What the thread that speaks with the other server is told.
#[derive(Debug)]
pub(crate) enum Want {
    /// A read or a flush, and since when it waits.
    Ask(Request, Instant),
    /// The disk is wanted here.
    Pull,
}

/// A thread that speaks with another server for a disk; it ends when this is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) wants: Sender<Want>,
    pub(crate) other: Other,
}

/// What clients were told of a disk when they chose it, which has to hold wherever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes.
    pub(crate) size: u64,
    /// Requests are of whole blocks of so many bytes.
    pub(crate) block: u32,
}

impl Shape {
    pub(crate) fn of(export: &Export) -> Self {
        Self { size: export.size(), block: export.blocks().minimum() }
    }
}

/// A disk that is to be let go of.
#[derive(Debug, Clone)]
pub(crate) struct Giving {
    pub(crate) index: u16,
    pub(crate) opening: Opening,
    pub(crate) shape: Shape,
}

/// Whoever has it let go of is told when nothing that was asked of it is under way; nothing if it was let go of already.
pub(crate) type TellGiving = SyncSender<Result<Option<Giving>, Refusal>>;

/// A disk that clients are served.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) name: String,
    pub(crate) standing: Standing,
    /// Its place in the set, while it has one.
    pub(crate) index: u16,
    /// How it is opened when it comes back.
    pub(crate) opening: Opening,
    pub(crate) shape: Shape,
    /// Requests that wait until somebody owns it, and since when.
    pub(crate) waiting: Vec<(Instant, Request)>,
    /// Who owns it otherwise.
    pub(crate) line: Option<Line>,
}

impl Route {
    /// One of this set.
    pub(crate) fn near(opening: Opening, index: u16, shape: Shape) -> Self {
        let (name, waiting) = (opening.name.clone(), Vec::new());
        Self { name, standing: Standing::Near, index, opening, shape, waiting, line: None }
    }

    /// One of another server.
    pub(crate) fn far(opening: Opening, shape: Shape, line: Line) -> Self {
        Self { standing: Standing::Far, line: Some(line), ..Self::near(opening, u16::MAX, shape) }
    }
}
