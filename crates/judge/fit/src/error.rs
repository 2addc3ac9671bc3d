use trace::TraceError;
use workload::BuildError;

/// Reason why no workload can be made from a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// Trace that cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Trace with records only in order.
    #[error("{trace} has no times, so its load has no rate")]
    NoTimes {
        /// Name of the trace.
        trace: String,
    },
    /// More than one VM without a choice.
    #[error("{trace} has I/O of {} VMs, and a workload is fitted to one: {}", vms.len(), list(vms))]
    SeveralVms {
        /// Name of the trace.
        trace: String,
        /// Names with their number of I/Os, most first.
        vms: Vec<(String, u64)>,
    },
    /// VM that does not occur.
    #[error("VM \"{vm}\" is not in {trace}")]
    UnknownVm {
        /// Name of the trace.
        trace: String,
        /// VM as given.
        vm: String,
        /// VMs of the trace.
        known: Vec<String>,
    },
    /// Too few I/Os for a fit.
    #[error("{count} reads and writes of {trace} count, and a fit needs {least}")]
    TooFew {
        /// Name of the trace.
        trace: String,
        /// Number of I/Os.
        count: u64,
        /// Fewest I/Os.
        least: u64,
    },
    /// Time longer than any recording: the times are wrong.
    #[error("the I/Os of {trace} span {span}, and a fit takes at most {most}")]
    TooLong {
        /// Name of the trace.
        trace: String,
        /// Time from the first to the last I/O.
        span: units::Nanos,
        /// Longest time.
        most: units::Nanos,
    },
    /// All I/Os at the same time.
    #[error("all I/Os of {trace} have the same time")]
    NoSpan {
        /// Name of the trace.
        trace: String,
    },
    /// Fitted workload that cannot be built: a bug of this program.
    #[error("the fitted workload cannot be built: {0}")]
    Build(#[from] BuildError),
    /// Fitted workload that lets no time pass: a bug of this program.
    #[error("the fitted workload cannot be run: {0}")]
    Run(#[from] sim::SimError),
}

impl FitError {
    /// Hint on what to try next, if anything helps.
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
