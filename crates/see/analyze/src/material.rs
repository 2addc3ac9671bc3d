//! What the answer is made of: the sums, whose they are, and what is known beside them.

use run_store::slice::SizeClass;
use trace::{Clock, TraceInfo};
use units::Nanos;

use crate::document::{Limit, Remark};
use crate::fold::{Fold, Vm};

/// A part of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// Sums, bursts and alignment.
    Overview,
    /// Classes of sizes.
    Sizes,
    /// What latency comes from.
    Latency,
    /// Sizes by latency, and by I/Os outstanding.
    Matrix,
    /// Different bytes, miss ratios, tiers.
    WorkingSet,
    /// vscsiStats' histograms.
    Histograms,
    /// Every slice of time.
    Time,
    /// Sentences.
    Findings,
}

impl View {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 8] = [
        Self::Findings,
        Self::Overview,
        Self::Sizes,
        Self::Latency,
        Self::Matrix,
        Self::WorkingSet,
        Self::Histograms,
        Self::Time,
    ];

    /// The name it is asked for by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Sizes => "sizes",
            Self::Latency => "latency",
            Self::Matrix => "matrix",
            Self::WorkingSet => "working-set",
            Self::Histograms => "histograms",
            Self::Time => "time",
            Self::Findings => "findings",
        }
    }
}

/// What is known of the trace beside its records.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// As the caller named it; findings' commands have it.
    pub name: String,
    /// The reader's knowledge, complete after the last record.
    pub info: TraceInfo,
    /// Added to the list of what cannot be said.
    pub remarks: Vec<Remark>,
}

impl Remark {
    /// What weakens everything that is said of a store whose writer was stopped or is still at work.
    pub fn unfinished() -> Self {
        Self {
            what: "The end of the trace".to_owned(),
            why: "its writer was stopped or is still at work; this is of its complete parts"
                .to_owned(),
        }
    }
}

/// A VM, or all, with a name.
pub(crate) struct Scope<'a> {
    pub(crate) name: String,
    /// None for all.
    pub(crate) index: Option<u16>,
    pub(crate) vm: &'a Vm,
}

/// Everything that the views are made of.
pub(crate) struct Material<'a> {
    pub(crate) fold: &'a Fold,
    pub(crate) subject: &'a Subject,
    pub(crate) limit: &'a Limit,
    pub(crate) scopes: Vec<Scope<'a>>,
    /// From the first to the last issue; none where there are no times, or they are equal.
    pub(crate) span: Option<Nanos>,
}

impl Material<'_> {
    pub(crate) fn vm_name(&self, index: usize) -> String {
        name(&self.subject.info.vms, index, "vm")
    }

    pub(crate) fn device_name(&self, index: usize) -> String {
        self.subject
            .info
            .devices
            .get(index)
            .filter(|device| !device.name.is_empty())
            .map_or_else(|| format!("device{index}"), |device| device.name.clone())
    }

    pub(crate) fn has_times(&self) -> bool {
        matches!(self.subject.info.clock, Clock::Real { .. })
    }

    /// The clock's step, if there is a clock.
    pub(crate) fn resolution(&self) -> Option<Nanos> {
        match self.subject.info.clock {
            Clock::Real { resolution } => Some(resolution),
            Clock::Order => None,
        }
    }
}

/// The name of all VMs together.
pub(crate) const ALL: &str = "all";

/// A name of a list, or one made of its place.
pub(crate) fn name(names: &[String], index: usize, fallback: &str) -> String {
    let name = names.get(index).filter(|name| !name.is_empty());
    name.cloned().unwrap_or_else(|| format!("{fallback}{index}"))
}

/// Clocks with larger steps say nothing about times between I/Os or about bursts.
pub const COARSE: Nanos = Nanos::from_millis(100);

/// The printed name of a class.
pub(crate) fn class_name(index: usize) -> String {
    SizeClass::all()[index].name().to_owned()
}
