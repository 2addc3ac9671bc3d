use std::time::Duration;

/// How much of a server clients may take. Together they bound its memory: connections times
/// `bytes_in_flight` and some 300 KiB each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Clients at once; one more is let in and sent away, so that it need not wait to learn of it.
    pub connections: usize,
    /// Requests of one client that are not answered yet; more are left in its socket.
    pub requests_in_flight: usize,
    /// Their bytes, reads and writes; one request may go beyond, or none so long could be made.
    pub bytes_in_flight: usize,
    /// A client that has not chosen its disk after this time goes.
    pub handshake: Duration,
    /// A server that stops waits so long for disks and for clients that take their answers.
    pub drain: Duration,
}

impl Default for Limits {
    /// Our choice: QEMU keeps 16 requests in flight on a connection, fio as many as it is told.
    fn default() -> Self {
        Self {
            connections: 256,
            requests_in_flight: 256,
            bytes_in_flight: 32 << 20,
            handshake: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}
