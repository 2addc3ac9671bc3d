use std::time::Duration;

/// Limits of what clients may take of a server. Together they bound its memory: connections times
/// `bytes_in_flight` and some 300 KiB each, and as much as one request again while that is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most clients at once. One more is accepted and disconnected, so that it learns of the limit
    /// without waiting.
    pub connections: usize,
    /// Most requests of one client that are not answered; further ones stay in its socket.
    pub requests_in_flight: usize,
    /// Most bytes of these requests, reads and writes. One request may exceed the limit, or a
    /// request longer than the limit could never be served.
    pub bytes_in_flight: usize,
    /// Longest time until a client has chosen its disk; then the client is cut off.
    pub handshake: Duration,
    /// Longest time that a stopping server waits for disks, and for clients to read their answers.
    pub drain: Duration,
    /// Longest time after that for services to end in order.
    pub close: Duration,
    /// Longest time for which the server polls for the next request before it sleeps. It polls only
    /// while requests follow each other and mostly come that soon; meanwhile it uses a whole
    /// processor. Zero turns polling off.
    pub poll: Duration,
}

impl Default for Limits {
    /// Our choice: QEMU keeps 16 requests in flight on a connection, fio as many as it is told.
    /// QEMU's I/O threads poll for up to 32.768 us (`poll-max-ns`), and KVM for up to 200 us
    /// (`halt_poll_ns`) before a processor halts.
    fn default() -> Self {
        Self {
            connections: 256,
            requests_in_flight: 256,
            bytes_in_flight: 32 << 20,
            handshake: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            close: Duration::from_secs(60),
            poll: Duration::from_micros(64),
        }
    }
}
