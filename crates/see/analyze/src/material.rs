//! Input of the answer: the sums, their names, and facts about the trace.

use run_store::slice::SizeClass;
use trace::{Clock, TraceInfo};
use units::Nanos;

use crate::document::{Limit, Remark};
use crate::fold::{Fold, Vm};

/// Part of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// Sums, bursts and alignment.
    Overview,
    /// Figures by size class.
    Sizes,
    /// Causes of latency.
    Latency,
    /// Sizes by latency, and by outstanding I/Os.
    Matrix,
    /// Distinct bytes, miss ratios, tiers.
    WorkingSet,
    /// Histograms of vscsiStats.
    Histograms,
    /// Time slices.
    Time,
    /// Findings as sentences.
    Findings,
}

impl View {
    /// All views in the order of output.
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

    /// Returns the view's name in options.
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

/// Facts about the trace that are not in its records.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Name as the caller gave it; it is used in findings' commands.
    pub name: String,
    /// Facts from the reader, complete after the last record.
    pub info: TraceInfo,
    /// Further entries for the list of unanswered questions.
    pub remarks: Vec<Remark>,
}

impl Remark {
    /// Makes the remark that weakens every answer from a store whose writer was stopped or still
    /// runs.
    pub fn unfinished() -> Self {
        Self {
            what: "The end of the trace".to_owned(),
            why: "the program that writes it was stopped or is still running; only its complete \
                parts are used"
                .to_owned(),
        }
    }
}

/// A VM, or all VMs together, with a name.
pub(crate) struct Scope<'a> {
    pub(crate) name: String,
    /// Index of the VM; `None` for all.
    pub(crate) index: Option<u16>,
    pub(crate) vm: &'a Vm,
}

/// Input of the views.
pub(crate) struct Material<'a> {
    pub(crate) fold: &'a Fold,
    pub(crate) subject: &'a Subject,
    pub(crate) limit: &'a Limit,
    pub(crate) scopes: Vec<Scope<'a>>,
    /// Time from the first to the last issued I/O; `None` if there are no times, or the two are
    /// equal.
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

    /// Returns the resolution of the clock, if there is a clock.
    pub(crate) fn resolution(&self) -> Option<Nanos> {
        match self.subject.info.clock {
            Clock::Real { resolution } => Some(resolution),
            Clock::Order => None,
        }
    }
}

/// Name for all VMs together.
pub(crate) const ALL: &str = "all";

/// Returns a name from a list, or a name made from the index.
pub(crate) fn name(names: &[String], index: usize, fallback: &str) -> String {
    let name = names.get(index).filter(|name| !name.is_empty());
    name.cloned().unwrap_or_else(|| format!("{fallback}{index}"))
}

/// Coarsest clock resolution that allows statements about times between I/Os and about bursts.
pub const COARSE: Nanos = Nanos::from_millis(100);

/// Returns the printed name of a class.
pub(crate) fn class_name(index: usize) -> String {
    SizeClass::all()[index].name().to_owned()
}
