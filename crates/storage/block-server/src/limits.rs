use std::time::Duration;

/// Limits of the resources that clients may take. Together they bound the server's memory:
/// `connections` times `bytes_in_flight` and some 300 KiB each. A request that is being divided
/// takes its size once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connected clients. A client above the limit is accepted and disconnected
    /// at once, so that it need not wait for a timeout.
    pub connections: usize,
    /// Maximum number of unanswered requests of one client; further requests stay in its socket.
    pub requests_in_flight: usize,
    /// Maximum size of these requests in bytes, reads and writes. A single request may exceed the
    /// limit; otherwise a request longer than the limit could never be served.
    pub bytes_in_flight: usize,
    /// Maximum time until a client has chosen its disk; then the client is disconnected.
    pub handshake: Duration,
    /// Maximum time that a stopping server waits for disks, and for clients to read their answers.
    pub drain: Duration,
    /// Maximum time after `drain` for the orderly shutdown of services.
    pub close: Duration,
    /// Maximum time for which the server polls for the next request before it sleeps. It polls only
    /// while requests follow each other and mostly arrive within this time. Polling uses a whole
    /// processor. Zero turns polling off.
    pub poll: Duration,
}

impl Default for Limits {
    /// Returns the defaults, which are our choice. QEMU keeps 16 requests in flight on a
    /// connection, fio as many as configured. QEMU's I/O threads poll for up to 32.768 us
    /// (`poll-max-ns`), and KVM for up to 200 us (`halt_poll_ns`) before a processor halts.
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
