//! Shape of I/O without times and latencies, for comparing generated I/O with a trace.

use trace::IoRecord;

use crate::fold::{Buckets, Class, Fold, Of, Settings, Vm};
use crate::working_set::{Curve, Subject};

/// Shape of one initiator's I/O on all its devices.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Histograms of vscsiStats over all devices: quantities, names and units.
    pub histograms: Vec<(Of, &'static str, &'static str, Buckets)>,
    /// I/Os that transfer data.
    pub count: u64,
    /// Share of sequential I/Os, of reads and of writes.
    pub sequential: [f64; 2],
    /// Distinct bytes.
    pub touched: f64,
    /// Miss ratios of LRU with pages of 4 KiB.
    pub small: Curve,
    /// Miss ratios of LRU with pages of 64 KiB.
    pub large: Curve,
}

impl Shape {
    /// Calculates the shape of records in order of issue, all of one initiator.
    pub fn of(records: &[IoRecord]) -> Self {
        let mut fold = Fold::new(&Settings::default());
        fold.push(records);
        fold.settle();
        let subject = Subject::new(&fold.pages, None);
        let vm = fold.vms.into_iter().flatten().next().map_or_else(Vm::default, |vm| *vm);
        Self {
            histograms: histograms(&vm),
            count: vm.classes.iter().flatten().map(|class| class.count).sum(),
            sequential: [0, 1].map(|way| sequential(&vm.classes[way])),
            touched: subject.touched(None).max_bytes,
            small: subject.small_curve(),
            large: subject.large_curve(),
        }
    }
}

fn histograms(vm: &Vm) -> Vec<(Of, &'static str, &'static str, Buckets)> {
    let mut all: Vec<(Of, &'static str, &'static str, Buckets)> = Vec::new();
    for (_, stream) in &vm.streams {
        for (at, histogram) in stream.histograms().into_iter().enumerate() {
            match all.get_mut(at) {
                Some(known) => known.3.merge(&histogram.3),
                None => all.push(histogram),
            }
        }
    }
    all
}

fn sequential(classes: &[Class]) -> f64 {
    let of = |what: fn(&Class) -> u64| classes.iter().map(what).sum::<u64>() as f64;
    of(|class| class.sequential) / of(|class| class.count).max(1.0)
}
