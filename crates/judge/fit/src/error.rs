use trace::TraceError;
use workload::BuildError;

/// Why no workload can be made from a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Records are only in order.
    #[error("{trace} has no times, so its load has no rate")]
    NoTimes {
        /// The trace.
        trace: String,
    },
    /// More than one VM, and none was chosen.
    #[error("{trace} has I/O of {} VMs, and a workload is fitted to one: {}", vms.len(), list(vms))]
    SeveralVms {
        /// The trace.
        trace: String,
        /// Names and I/Os, most first.
        vms: Vec<(String, u64)>,
    },
    /// A VM that does not occur.
    #[error("VM \"{vm}\" is not in {trace}")]
    UnknownVm {
        /// The trace.
        trace: String,
        /// What was asked for.
        vm: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Too little to fit anything to.
    #[error("{count} reads and writes of {trace} count, and a fit needs {least}")]
    TooFew {
        /// The trace.
        trace: String,
        /// How many there are.
        count: u64,
        /// The least.
        least: u64,
    },
    /// Longer than any recording: times that are wrong.
    #[error("the I/Os of {trace} span {span}, and a fit takes at most {most}")]
    TooLong {
        /// The trace.
        trace: String,
        /// From the first to the last.
        span: units::Nanos,
        /// The longest.
        most: units::Nanos,
    },
    /// All at one moment.
    #[error("all I/Os of {trace} have the same time")]
    NoSpan {
        /// The trace.
        trace: String,
    },
    /// The fitted workload cannot be built: a mistake of ours.
    #[error("the fitted workload cannot be built: {0}")]
    Build(#[from] BuildError),
    /// The fitted workload lets no time pass: a mistake of ours.
    #[error("the fitted workload cannot be run: {0}")]
    Run(#[from] sim::SimError),
}

impl FitError {
    /// What to try next, if anything helps.
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
