use std::sync::Arc;

use fuser::{ReplyData, ReplyEmpty, ReplyWrite};
use rustix::io::Errno;
use state_machine::IoError;
use units::Nanos;

// Circle: the lab has a service of these replies, and each reply has its lab, because a hang is
// recorded at its end.
use crate::schedule::Op;
use crate::service::Reply;
use crate::shared::Lab;

/// Reply to the kernel, which is sent after the model's answer.
#[derive(Debug)]
pub struct Sent {
    /// Lab, in whose truth file a hang is recorded.
    pub lab: Arc<Lab>,
    /// Prepared answer.
    pub answer: Reserved,
    /// Error number of a fault, which is sent instead of the answer.
    pub failure: Option<i32>,
    /// Facts about the request for the truth file; `None` if there are no faults at all.
    pub about: Option<About>,
}

/// Facts about a request for the truth file.
#[derive(Debug, Clone)]
pub struct About {
    /// Operation.
    pub op: Op,
    /// Path below the mount point.
    pub path: String,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// Answer that waits for its time.
#[derive(Debug)]
pub enum Reserved {
    /// Bytes read.
    Data(ReplyData, Vec<u8>),
    /// Number of bytes written.
    Written(ReplyWrite, u32),
    /// Confirmation without content.
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
