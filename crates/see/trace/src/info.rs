use units::{Bytes, Nanos};

/// What the times of a trace are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Real times; the smallest step between two of them (1 s in some public traces, which
    /// says nothing about queueing).
    Real {
        /// The clock's step.
        resolution: Nanos,
    },
    /// No times: records are references in their order, and `issue` is their number.
    Order,
}

/// A device or virtual disk of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Device {
    /// As the source calls it.
    pub name: String,
    /// Its size, where the source tells.
    pub size: Option<Bytes>,
}

/// What a source could not use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    /// Lines or records that could not be understood.
    pub bad: u64,
    /// The first few of them: where, and why.
    pub examples: Vec<String>,
    /// Events that the source itself says it lost before it wrote them.
    pub dropped: u64,
    /// Records further out of order than the sorting window, handed out late with the time of
    /// the record before them.
    pub disordered: u64,
    /// Rows that are no I/O of their own (splits, remaps, queue events, comments), by design.
    pub skipped: u64,
}

/// What is known of a whole trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceInfo {
    /// The format's name, as `--from` takes it.
    pub format: &'static str,
    /// What its times are.
    pub clock: Clock,
    /// The wall clock at time zero, in nanoseconds since 1970, where the source tells.
    pub started_unix_ns: Option<i64>,
    /// Whether records have latencies.
    pub has_latency: bool,
    /// Who sent the I/O; may grow while a source is read.
    pub vms: Vec<String>,
    /// Where it went; may grow while a source is read.
    pub devices: Vec<Device>,
    /// What could not be used so far.
    pub losses: Losses,
}
