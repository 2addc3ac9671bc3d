use run_store::recorder::Recorder;
use run_store::slice::{GeneratorRow, Slice};
use stats::Histogram;
use units::Nanos;

/// Telemetry of one worker for one slice.
#[derive(Debug)]
pub(crate) struct Telemetry {
    pub(crate) recorder: Recorder,
    pub(crate) lateness: Histogram,
}

impl Telemetry {
    /// Converts the telemetry to a slice and clears it. Visits every histogram that was used, so
    /// workers leave it to another thread.
    pub(crate) fn take(&mut self, span: Span, mut generator: GeneratorRow) -> Slice {
        generator.lateness = self.lateness.compact();
        self.lateness.clear();
        self.recorder.take(span.start, span.end.saturating_sub(span.start), generator)
    }
}

/// Interval of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
}

/// Receiver of a worker's telemetry at the end of a slice.
pub(crate) trait Outlet {
    /// Takes the telemetry and leaves an empty one. Returns false if it cannot: the worker then
    /// continues with the same telemetry, and its slice becomes longer. Never blocks, except for
    /// the `last` slice.
    fn pass(
        &mut self,
        telemetry: &mut Box<Telemetry>,
        span: Span,
        row: GeneratorRow,
        last: bool,
    ) -> bool;
}

/// Outlet that produces slices immediately, for runs on the calling thread.
#[derive(Debug, Default)]
pub(crate) struct Here {
    pub(crate) slices: Vec<Slice>,
}

impl Outlet for Here {
    fn pass(
        &mut self,
        telemetry: &mut Box<Telemetry>,
        span: Span,
        row: GeneratorRow,
        _last: bool,
    ) -> bool {
        self.slices.push(telemetry.take(span, row));
        true
    }
}
