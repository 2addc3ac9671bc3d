//! Buffers that a read keeps for a later request. A copy writes the buffer that was read, and a
//! comparison compares it with another read.

use std::collections::BTreeMap;

use state_machine::{Content, IoError, IoRequest, Machine, Operation};

use super::Worker;
use crate::arena::Buffer;
use crate::backend::Backend;
use crate::telemetry::Outlet;

/// Kept buffers and the length of their content, by instance and token. An instance has one for
/// each copy in progress. A buffer that is never used is replaced by the next one with its token.
pub(super) type Kept = BTreeMap<(u32, u32), (Buffer, u32)>;

impl<M: Machine, B: Backend, O: Outlet> Worker<M, B, O> {
    /// Returns the buffer for a request: the buffer that an earlier read kept, or a new loan.
    #[inline]
    pub(super) fn buffer_of(&mut self, instance: u32, request: &IoRequest) -> Option<Buffer> {
        let is_copy =
            request.operation == Operation::Write && request.pattern.content == Content::Kept;
        if !is_copy {
            return self.lend(request);
        }
        let kept = self.kept.remove(&(instance, request.token.0));
        let (buffer, length) =
            kept.expect("an earlier read with the same token kept the data to write");
        assert_eq!(length, request.length, "a state machine writes all of the kept data");
        Some(buffer)
    }

    /// Keeps, compares or returns the buffer of a completion. A comparison may turn a success into
    /// a failure.
    #[inline]
    pub(super) fn settle_buffer(
        &mut self,
        instance: u32,
        request: &IoRequest,
        mut buffer: Buffer,
        result: Result<(), IoError>,
    ) -> Result<(), IoError> {
        let place = (instance, request.token.0);
        let mut result = result;
        match (request.operation, request.pattern.content) {
            (Operation::Read, Content::Keep) if result.is_ok() => {
                if let Some((before, _)) = self.kept.insert(place, (buffer, request.length)) {
                    self.arena.give_back(before);
                }
                return result;
            }
            (Operation::Read, Content::Kept) => {
                if let Some((mut before, length)) = self.kept.remove(&place) {
                    let alike = self
                        .content
                        .are_alike(before.bytes_mut(length), buffer.bytes_mut(request.length));
                    self.arena.give_back(before);
                    if result.is_ok() && !alike {
                        result = Err(IoError::Mismatch);
                    }
                }
            }
            _ => {}
        }
        self.arena.give_back(buffer);
        result
    }
}
