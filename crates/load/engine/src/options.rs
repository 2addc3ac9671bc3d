use units::{Bytes, Nanos};

use crate::{EngineError, Served, verify};

/// Choice of the I/O interface to the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackendChoice {
    /// io_uring, or threads with a warning if io_uring is refused.
    #[default]
    Auto,
    /// io_uring, or an error.
    Uring,
    /// Blocking calls in a pool of threads.
    Threads,
}

/// Settings of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Number of worker threads, 1 to 1024. Each runs its own share of the instances.
    pub workers: usize,
    /// Maximum number of outstanding requests per worker, 1 to 16384. Further requests wait in the
    /// generator and are counted as queued.
    pub depth: u32,
    /// Width of a reported slice, at least 1 ms.
    pub slice: Nanos,
    /// Setup for verifying every written block on each read; no verification if absent.
    pub verify: Option<verify::Setup>,
    /// I/O interface to the storage.
    pub backend: BackendChoice,
    /// True to keep each worker on one CPU.
    pub pin: bool,
    /// Maximum buffer memory per worker. Requests beyond it wait, as if the depth were used up.
    pub buffers_max: Bytes,
    /// Maximum time for a complete answer to a call. A timeout is detected up to 40 ms late.
    pub call_timeout: Nanos,
    /// Maximum number of connections of one worker to one service, at least 1. Further calls wait
    /// in the generator and are counted as queued.
    pub connections: usize,
    /// Time of this host's monotonic clock at which the load begins; its times count from there. If
    /// absent, or if setting up took longer, the load begins once every worker is set up.
    pub begin_at: Option<Nanos>,
    /// Disks that are reached through a server instead of their files.
    pub served: Option<Served>,
    /// True if an instance may start anew in this load. The initial state of each instance is then
    /// kept.
    pub begins_anew: bool,
}

impl Default for Options {
    /// Returns options with one worker, 256 outstanding requests, slices of a second and at most
    /// 128 MiB of buffers. Calls have 30 s, as in ab (`ab -s`), and 1024 connections. With eight
    /// workers, these use less than half of the local ports for a service (`ip_local_port_range`).
    fn default() -> Self {
        Self {
            workers: 1,
            depth: 256,
            slice: Nanos::SECOND,
            verify: None,
            backend: BackendChoice::Auto,
            pin: false,
            buffers_max: Bytes::new(128 << 20),
            call_timeout: Nanos::from_secs(30),
            connections: 1024,
            begin_at: None,
            served: None,
            begins_anew: false,
        }
    }
}

impl Options {
    /// Returns an error if an option is outside its range.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let refuse = |option, value: u64, allowed: &str| {
            Err(EngineError::Option { option, value, allowed: allowed.to_owned() })
        };
        if !(1..=1024).contains(&self.workers) {
            return refuse("workers", self.workers as u64, "1 to 1024");
        }
        if !(1..=16_384).contains(&self.depth) {
            return refuse("depth", u64::from(self.depth), "1 to 16384");
        }
        if self.connections == 0 {
            return refuse("connections", 0, "1 or more");
        }
        if self.slice < Nanos::from_millis(1) {
            return refuse("slice in ns", self.slice.0, "1000000 (1 ms) or more");
        }
        Ok(())
    }
}
