use tilemark_analyze::{Analysis, Filter, Fold, Limit, Options, Settings, Subject, View, analyse};
use trace::{Clock, Device, IoRecord, Losses, Source, TraceInfo};
use units::Nanos;

/// Trace of a few VMs with times and latencies.
pub fn subject(vms: usize) -> Subject {
    Subject {
        name: "web servers.tmt".to_owned(),
        info: TraceInfo {
            format: "memory",
            clock: Clock::Real { resolution: Nanos(1) },
            started_unix_ns: None,
            has_latency: true,
            vms: (0..vms).map(|at| format!("web{at}")).collect(),
            devices: vec![Device { name: "sda".to_owned(), size: None }; 2],
            losses: Losses::default(),
        },
        remarks: Vec::new(),
    }
}

pub fn options(views: &[View]) -> Options {
    Options {
        tool: "tilemark test".to_owned(),
        views: views.to_vec(),
        limit: Limit::usual(),
        filter: Filter::default(),
    }
}

pub fn everything(fold: Fold, subject: &Subject) -> Analysis {
    analyse(fold, subject, &options(&View::ALL))
}

pub fn fold_of(records: &[IoRecord], settings: &Settings) -> Fold {
    let mut fold = Fold::new(settings);
    fold.push(records);
    fold
}

/// Reads a source to its end.
pub fn read(source: &mut dyn Source, settings: &Settings) -> (Fold, Subject) {
    let mut fold = Fold::new(settings);
    fold.read(source).expect("the trace can be read");
    let info = source.info().clone();
    (fold, Subject { name: "trace".to_owned(), info, remarks: Vec::new() })
}
