use std::time::Duration;

/// How much of a server clients may take. Together they bound its memory: connections times
/// `bytes_in_flight` and some 300 KiB each, and as much as one request again while that is divided.
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
    /// And then so long for disks that put themselves in order.
    pub close: Duration,
    /// So long a server looks for the next request before it sleeps, where one comes after another and mostly comes that
    /// soon; meanwhile its processor does nothing else. None at zero.
    pub poll: Duration,
}

impl Default for Limits {
    /// Our choice: QEMU keeps 16 requests in flight on a connection, fio as many as it is told. QEMU's threads for I/O look for
    /// up to 32.768 us (`poll-max-ns`), and KVM for up to 200 us (`halt_poll_ns`) before a processor halts.
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
