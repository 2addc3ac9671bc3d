use trace::TraceError;
use workload::BuildError;

/// Reason why a trace cannot be fitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace has an order of records, but no times.
    #[error("{trace} has no times, so its load has no rate")]
    NoTimes {
        /// Name of the trace.
        trace: String,
    },
    /// The trace has more than one VM, and none was chosen.
    #[error("{trace} has I/O of {} VMs, but a workload is fitted to one: {}", vms.len(), list(vms))]
    SeveralVms {
        /// Name of the trace.
        trace: String,
        /// Names with their number of I/Os, in descending order of I/Os.
        vms: Vec<(String, u64)>,
    },
    /// The VM does not occur in the trace.
    #[error("VM \"{vm}\" is not in {trace}")]
    UnknownVm {
        /// Name of the trace.
        trace: String,
        /// VM as given.
        vm: String,
        /// VMs of the trace.
        known: Vec<String>,
    },
    /// There are too few I/Os for a fit.
    #[error("only {count} reads and writes of {trace} are usable, but a fit needs {least}")]
    TooFew {
        /// Name of the trace.
        trace: String,
        /// Number of I/Os.
        count: u64,
        /// Minimum number of I/Os.
        least: u64,
    },
    /// The time span is longer than any recording, so the times are wrong.
    #[error("the I/Os of {trace} span {span}, but a fit takes at most {most}")]
    TooLong {
        /// Name of the trace.
        trace: String,
        /// Time from the first to the last I/O.
        span: units::Nanos,
        /// Maximum time span.
        most: units::Nanos,
    },
    /// All I/Os are at the same time.
    #[error("all I/Os of {trace} have the same time")]
    NoSpan {
        /// Name of the trace.
        trace: String,
    },
    /// The fitted workload cannot be built, which is a bug of this program.
    #[error("the fitted workload cannot be built: {0}")]
    Build(#[from] BuildError),
    /// Virtual time does not advance in the fitted workload, which is a bug of this program.
    #[error("the fitted workload cannot be run: {0}")]
    Run(#[from] sim::SimError),
}

impl FitError {
    /// Returns a hint on what to try next, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Trace(error) => error.hint().map(str::to_owned),
            Self::SeveralVms { .. } => Some("choose one with --vm NAME".to_owned()),
            Self::UnknownVm { vm, known, .. } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Some(spec::did_you_mean(vm, &known, "VMs"))
            }
            Self::TooLong { .. } => Some("choose a part with --from and --to".to_owned()),
            Self::TooFew { .. } => {
                Some("take a longer trace, or a wider --from and --to".to_owned())
            }
            _ => None,
        }
    }
}

fn list(vms: &[(String, u64)]) -> String {
    const SHOWN: usize = 8;
    let mut names: Vec<String> =
        vms.iter().take(SHOWN).map(|(name, count)| format!("{name} ({count})")).collect();
    if vms.len() > SHOWN {
        names.push(format!("and {} more", vms.len() - SHOWN));
    }
    names.join(", ")
}
