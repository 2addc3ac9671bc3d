//! Target of requests for a disk: the state machine here, or the server that owns the disk.

use std::sync::mpsc::{Sender, SyncSender};
use std::time::Instant;

use block_server::Request;
use nbd::{Export, Uri};
use tier::ownership::Standing;

use crate::error::Refusal;
use crate::opening::Opening;

/// Another server that has a disk, or is about to get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other {
    /// Address of the server; the name of an export in it is ignored.
    pub(crate) uri: Uri,
    /// Address as it was written.
    pub(crate) address: String,
    /// Address at which that server reaches this one, as written.
    pub(crate) back: String,
}

/// Message to the thread that talks to another server.
#[derive(Debug)]
pub(crate) enum Want {
    /// A read or flush, and the time since when it waits.
    Ask(Request, Instant),
    /// A client here wants to change the disk, so the disk must move here.
    Pull,
}

/// Handle of a thread that talks to another server about a disk; dropping the handle ends the
/// thread.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) wants: Sender<Want>,
    pub(crate) other: Other,
}

/// Properties of a disk that clients were told when they connected. They must not change with the
/// owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Size of the disk, in bytes.
    pub(crate) size: u64,
    /// Block size, in bytes: offsets and lengths of requests are multiples of it.
    pub(crate) block: u32,
}

impl Shape {
    pub(crate) fn of(export: &Export) -> Self {
        Self { size: export.size(), block: export.blocks().minimum() }
    }
}

/// A disk that is to be given up.
#[derive(Debug, Clone)]
pub(crate) struct Giving {
    pub(crate) index: u16,
    pub(crate) opening: Opening,
    pub(crate) shape: Shape,
}

/// Sender of the disk once none of its requests is under way; `None` if the disk was already given
/// up.
pub(crate) type TellGiving = SyncSender<Result<Option<Giving>, Refusal>>;

/// A disk that clients find here.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) name: String,
    pub(crate) standing: Standing,
    /// Index of the disk in the set, while it is attached.
    pub(crate) index: u16,
    /// Settings for opening the disk when it comes back.
    pub(crate) opening: Opening,
    pub(crate) shape: Shape,
    /// Requests that wait for the disk to have an owner, and since when.
    pub(crate) waiting: Vec<(Instant, Request)>,
    /// Thread to the owner, if that is another server.
    pub(crate) line: Option<Line>,
}

impl Route {
    /// Route of a disk of this set.
    pub(crate) fn near(opening: Opening, index: u16, shape: Shape) -> Self {
        let (name, waiting) = (opening.name.clone(), Vec::new());
        Self { name, standing: Standing::Near, index, opening, shape, waiting, line: None }
    }

    /// Route of a disk of another server.
    pub(crate) fn far(opening: Opening, shape: Shape, line: Line) -> Self {
        Self { standing: Standing::Far, line: Some(line), ..Self::near(opening, u16::MAX, shape) }
    }
}
