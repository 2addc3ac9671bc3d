use std::sync::Arc;

use fuser::{ReplyData, ReplyEmpty, ReplyWrite};
use rustix::io::Errno;
use state_machine::IoError;
use units::Nanos;

// Circle: the lab holds a service of what was sent, and what was sent its lab, because a hang is
// written down when it is over.
use crate::schedule::Op;
use crate::service::Reply;
use crate::shared::Lab;

/// What is left to send when the model has answered.
#[derive(Debug)]
pub struct Sent {
    /// Where a hang is written down.
    pub lab: Arc<Lab>,
    /// How it is answered.
    pub answer: Reserved,
    /// The error number of a fault.
    pub failure: Option<i32>,
    /// What the truth says of it, if there are faults at all.
    pub about: Option<About>,
}

/// What the truth says of a request.
#[derive(Debug, Clone)]
pub struct About {
    /// What.
    pub op: Op,
    /// The file, below the mount point.
    pub path: String,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// An answer that waits for its time.
#[derive(Debug)]
pub enum Reserved {
    /// Bytes read.
    Data(ReplyData, Vec<u8>),
    /// How many were written.
    Written(ReplyWrite, u32),
    /// Nothing but that it is done.
    Done(ReplyEmpty),
}

impl Reply for Sent {
    fn send(self, now: Nanos, result: Result<(), IoError>, held: Option<usize>) {
        if let (Some(rule), Some(about)) = (held, &self.about) {
            let detail = format!("held until {now}");
            self.lab.injected(rule, about, now, Some(detail));
        }
        let failure = self.failure.or(result.err().map(|_| Errno::IO.raw_os_error()));
        match (self.answer, failure.map(fuser::Errno::from_i32)) {
            (Reserved::Data(reply, bytes), None) => reply.data(&bytes),
            (Reserved::Written(reply, length), None) => reply.written(length),
            (Reserved::Done(reply), None) => reply.ok(),
            (Reserved::Data(reply, _), Some(error)) => reply.error(error),
            (Reserved::Written(reply, _), Some(error)) => reply.error(error),
            (Reserved::Done(reply), Some(error)) => reply.error(error),
        }
    }
}
