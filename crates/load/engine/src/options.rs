use units::{Bytes, Nanos};

use crate::{EngineError, Served, verify};

/// How requests reach the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackendChoice {
    /// io_uring, or threads with a warning where it is refused.
    #[default]
    Auto,
    /// io_uring, or an error.
    Uring,
    /// Blocking calls in a pool of threads.
    Threads,
}

/// How to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Worker threads; each runs its own share of the instances, 1 to 1024.
    pub workers: usize,
    /// Requests outstanding per worker, 1 to 16384. More wait in the generator and are
    /// counted as queued.
    pub depth: u32,
    /// Width of a reported slice, at least 1 ms.
    pub slice: Nanos,
    /// Follow every block that is written and judge every block that is read.
    pub verify: Option<verify::Setup>,
    /// How to reach the storage.
    pub backend: BackendChoice,
    /// Whether each worker stays on one CPU.
    pub pin: bool,
    /// Most buffer memory per worker; requests beyond it wait as if the depth were used up.
    pub buffers_max: Bytes,
    /// A call without a whole answer after this time has failed; seen up to 40 ms late.
    pub call_timeout: Nanos,
    /// Most connections of one worker to one service, at least 1; more calls wait in the generator
    /// and are counted as queued.
    pub connections: usize,
    /// When the load begins, by this host's monotonic clock, and its times count from then; once every
    /// worker is set up if absent, or if that was later.
    pub begin_at: Option<Nanos>,
    /// Disks that are not reached by their files but through a server.
    pub served: Option<Served>,
    /// Whether an instance may begin anew in this load: what each was at its beginning is kept.
    pub begins_anew: bool,
}

impl Default for Options {
    /// One worker, 256 outstanding, slices of a second, at most 128 MiB of buffers; calls have
    /// 30 s, as ab gives them (`ab -s`), and 1024 connections: less than half of the ports that a
    /// service can be called from (`ip_local_port_range`) with eight workers.
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
    /// Refuses options outside their ranges.
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
