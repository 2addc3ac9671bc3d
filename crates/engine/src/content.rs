//! Where payload and verification meet the worker: called with the bytes of a write before
//! it is submitted and with the answer of every request.

use machine::{IoError, IoRequest};

/// Fills writes and judges answers for the disks of one worker.
#[derive(Debug, Default)]
pub(crate) struct Content {}

impl Content {
    /// Makes the bytes of a write, just before it is submitted.
    #[inline]
    pub(crate) fn prepare(&mut self, _disk: u32, _request: &IoRequest, _bytes: &mut [u8]) {}

    /// Judges an answer; may turn a success into [`IoError::Mismatch`]. `bytes` are those
    /// of the request's buffer, and empty for a flush.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        _disk: u32,
        _request: &IoRequest,
        _bytes: &mut [u8],
        result: Result<(), IoError>,
    ) -> Result<(), IoError> {
        result
    }
}
