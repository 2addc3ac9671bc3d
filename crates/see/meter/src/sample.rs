use run_store::run::MeterMethod;
use units::Nanos;

use crate::Fault;

/// Sample of a meter. At least one of `watts` and `joules` is present.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Time on this host's monotonic clock.
    pub at: Nanos,
    /// Electrical power, at least 0.
    pub watts: Option<f64>,
    /// Energy since an arbitrary start: a counter that never decreases, with wraps removed.
    pub joules: Option<f64>,
    /// Time of the sample on the meter's clock, in nanoseconds since an arbitrary start; `None` if
    /// the meter reports no time. It detects repeated samples: `at` is converted with two clocks
    /// that are read one after the other, so the same time never gives exactly the same value.
    pub told_ns: Option<i128>,
}

impl Sample {
    /// Makes a sample with only watts.
    pub const fn watts(at: Nanos, watts: f64) -> Self {
        Self { at, watts: Some(watts), joules: None, told_ns: None }
    }

    /// Makes a sample with only a counter.
    pub const fn joules(at: Nanos, joules: f64) -> Self {
        Self { at, watts: None, joules: Some(joules), told_ns: None }
    }

    /// Adds the meter's own time.
    #[must_use]
    pub const fn told(self, ns: i128) -> Self {
        Self { told_ns: Some(ns), ..self }
    }
}

/// Time span on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Start of the span.
    pub from: Nanos,
    /// End of the span, after the start.
    pub to: Nanos,
}

impl Span {
    /// Returns the length of the span.
    pub const fn length(self) -> Nanos {
        self.to.saturating_sub(self.from)
    }

    /// Returns true if the time is in the span, including its ends.
    pub fn holds(self, at: Nanos) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

/// Properties of a meter and its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// Model as reported.
    pub model: String,
    /// Method of measurement.
    pub method: MeterMethod,
    /// Time between two samples.
    pub period: Nanos,
    /// Smallest step of the meter's watts; `None` if unknown.
    pub resolution_watts: Option<f64>,
    /// Smallest step of the meter's counter, in joules; `None` without a counter.
    pub counter_step: Option<f64>,
    /// Maximum relative error of a reading, as the meter or its maker reports it.
    pub uncertainty: Option<f64>,
    /// Notes for readers.
    pub notes: Vec<String>,
}

impl About {
    /// Makes the properties of a meter that measures once a period, without further facts.
    pub fn measured(model: impl Into<String>, period: Nanos) -> Self {
        Self {
            model: model.into(),
            method: MeterMethod::Measured,
            period,
            resolution_watts: None,
            counter_step: None,
            uncertainty: None,
            notes: Vec::new(),
        }
    }
}

/// Phase of the system under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Idle time.
    Idle,
    /// Warm-up of a step.
    WarmUp,
    /// Measured time of a step.
    Measured,
}

/// Open meter. Dropping it closes it.
pub trait Meter: Send {
    /// Returns the present properties.
    fn about(&self) -> About;

    /// Reads new samples. A polled meter answers within a few seconds. For a meter that [sends by
    /// itself](Meter::comes), the call waits a fraction of a second, and often returns no sample.
    ///
    /// # Errors
    ///
    /// If the meter does not answer, or its answer is impossible.
    fn read(&mut self) -> Result<Vec<Sample>, Fault>;

    /// Returns true if the meter sends samples without requests.
    fn comes(&self) -> bool {
        false
    }

    /// Announces a phase.
    ///
    /// # Errors
    ///
    /// If the meter could not be prepared for the phase.
    fn phase(&mut self, _: Phase) -> Result<(), Fault> {
        Ok(())
    }

    /// Restores changed settings.
    ///
    /// # Errors
    ///
    /// If they could not be restored.
    fn close(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}
