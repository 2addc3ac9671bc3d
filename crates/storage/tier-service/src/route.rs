//! Destination of requests for a disk: the state machine of this server, or the server that owns
//! the disk.

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
    /// Address as the user wrote it.
    pub(crate) address: String,
    /// Address at which that server reaches this one, as the user wrote it.
    pub(crate) back: String,
}

/// Message to the thread that talks to another server.
#[derive(Debug)]
pub(crate) enum Want {
    /// Read or flush to forward, and the time since when it has waited.
    Ask(Request, Instant),
    /// Take-over of the disk, because a client of this server wants to change it.
    Pull,
}

/// Handle of a thread that talks to another server about a disk; dropping the handle ends the
/// thread.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) wants: Sender<Want>,
    pub(crate) other: Other,
}

/// Properties of a disk that clients learnt when they connected. They must not change with the
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

/// Disk that this server is about to give up.
#[derive(Debug, Clone)]
pub(crate) struct Giving {
    pub(crate) index: u16,
    pub(crate) opening: Opening,
    pub(crate) shape: Shape,
}

/// Channel for the disk, which is sent once none of its requests is in progress. `None` is sent if
/// the disk was already given up.
pub(crate) type TellGiving = SyncSender<Result<Option<Giving>, Refusal>>;

/// Disk that this server offers to clients.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) name: String,
    pub(crate) standing: Standing,
    /// Index of the disk in the set, while it is attached.
    pub(crate) index: u16,
    /// Settings for opening the disk again when it moves back.
    pub(crate) opening: Opening,
    pub(crate) shape: Shape,
    /// Requests that wait until the disk has an owner, and the time since when each waits.
    pub(crate) waiting: Vec<(Instant, Request)>,
    /// Thread that talks to the owner, if another server owns the disk.
    pub(crate) line: Option<Line>,
}

impl Route {
    /// Creates the route of a disk of this set.
    pub(crate) fn near(opening: Opening, index: u16, shape: Shape) -> Self {
        let (name, waiting) = (opening.name.clone(), Vec::new());
        Self { name, standing: Standing::Near, index, opening, shape, waiting, line: None }
    }

    /// Creates the route of a disk of another server.
    pub(crate) fn far(opening: Opening, shape: Shape, line: Line) -> Self {
        Self { standing: Standing::Far, line: Some(line), ..Self::near(opening, u16::MAX, shape) }
    }
}
