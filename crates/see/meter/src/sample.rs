use run_store::run::MeterMethod;
use units::Nanos;

use crate::Fault;

/// What a meter showed at a moment. One of the two numbers is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When, by this machine's steady clock.
    pub at: Nanos,
    /// Electrical power, at least 0.
    pub watts: Option<f64>,
    /// Energy since any beginning: a counter that only grows, its wrap-around undone.
    pub joules: Option<f64>,
    /// The same moment as the meter itself tells it, in nanoseconds since any beginning; nothing of one
    /// that tells no time. It is what shows that a sample is told again: `at` is made of two clocks that
    /// are read one after the other, so the same time is never quite the same moment.
    pub told_ns: Option<i128>,
}

impl Sample {
    /// Watts alone.
    pub const fn watts(at: Nanos, watts: f64) -> Self {
        Self { at, watts: Some(watts), joules: None, told_ns: None }
    }

    /// A counter alone.
    pub const fn joules(at: Nanos, joules: f64) -> Self {
        Self { at, watts: None, joules: Some(joules), told_ns: None }
    }

    /// The same with the time that its meter told.
    #[must_use]
    pub const fn told(self, ns: i128) -> Self {
        Self { told_ns: Some(ns), ..self }
    }
}

/// A stretch of time of the steady clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub from: Nanos,
    /// Its end, after the begin.
    pub to: Nanos,
}

impl Span {
    /// How long it is.
    pub const fn length(self) -> Nanos {
        self.to.saturating_sub(self.from)
    }

    /// Whether a moment is in it, its ends included.
    pub fn holds(self, at: Nanos) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

/// What is known of a meter, of all of its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// What it says that it is.
    pub model: String,
    /// How it comes by its numbers.
    pub method: MeterMethod,
    /// Time between two samples.
    pub period: Nanos,
    /// The smallest step of its watts; nothing where nobody knows.
    pub resolution_watts: Option<f64>,
    /// The smallest step of its counter, in joules; nothing if it has none.
    pub counter_step: Option<f64>,
    /// By which share of a reading it may be wrong, as it or its maker says.
    pub uncertainty: Option<f64>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl About {
    /// A meter of which no more is known than that it measures, once a period.
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

/// What is done to the system under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing that counts.
    Idle,
    /// A step warms up.
    WarmUp,
    /// A step is measured.
    Measured,
}

/// A meter that is open. Dropping it closes it.
pub trait Meter: Send {
    /// What is known of it, as of now.
    fn about(&self) -> About;

    /// What it shows. One that is asked answers within a few seconds; one that
    /// [comes by itself](Meter::comes) is waited for a fraction of a second, and has nothing to say
    /// most of the time.
    ///
    /// # Errors
    ///
    /// When it does not answer, or what it says cannot be.
    fn read(&mut self) -> Result<Vec<Sample>, Fault>;

    /// Whether samples come without being asked for.
    fn comes(&self) -> bool {
        false
    }

    /// Another phase has begun.
    ///
    /// # Errors
    ///
    /// When it could not be made ready for it.
    fn phase(&mut self, _: Phase) -> Result<(), Fault> {
        Ok(())
    }

    /// Puts back what was changed.
    ///
    /// # Errors
    ///
    /// When it could not.
    fn close(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}
