use units::{Bytes, Nanos};

/// Kind of the times of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Real times, with the smallest step between two of them. In some public traces the step is 1
    /// s, which is too coarse to show queueing.
    Real {
        /// Step of the clock.
        resolution: Nanos,
    },
    /// No times: records are only ordered references, and `issue` is their number.
    Order,
}

/// A device or virtual disk of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Device {
    /// Name of the device in the source.
    pub name: String,
    /// Size of the device, if the source has it.
    pub size: Option<Bytes>,
}

/// Data that a source could not use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    /// Lines or records that could not be understood.
    pub bad: u64,
    /// The first bad lines or records, with position and reason.
    pub examples: Vec<String>,
    /// Events that the source reports as lost before it wrote them.
    pub dropped: u64,
    /// Records further out of order than the sorting window. They were handed out late, with the
    /// time of the record before them.
    pub disordered: u64,
    /// Rows that are by design not separate I/Os (splits, remaps, queue events, comments).
    pub skipped: u64,
}

/// Facts about a whole trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceInfo {
    /// Name of the format, as `--from` takes it.
    pub format: &'static str,
    /// Kind of the times.
    pub clock: Clock,
    /// Wall clock at time zero, in nanoseconds since 1970, if the source has it.
    pub started_unix_ns: Option<i64>,
    /// True if records have latencies.
    pub has_latency: bool,
    /// Names of the initiators; the list may grow while a source is read.
    pub vms: Vec<String>,
    /// Devices; the list may grow while a source is read.
    pub devices: Vec<Device>,
    /// Data that could not be used so far.
    pub losses: Losses,
}
