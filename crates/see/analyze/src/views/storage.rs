use units::Nanos;

use crate::document::{KneeRow, MissRatioRow, TierRow, WorkingSetRow};
use crate::material::{Material, Scope};
use crate::working_set::{Curve, Subject, WINDOWS_MS};

/// Maximum number of VMs with a working set of their own: the VMs with the most I/O.
const VMS_MAX: usize = 32;
/// Maximum number of points of a written curve.
const POINTS: u32 = 60;

/// Results on storage use: working sets, curves and tiers.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    pub(crate) working_set: Vec<WorkingSetRow>,
    pub(crate) miss_ratio: Vec<MissRatioRow>,
    pub(crate) knees: Vec<KneeRow>,
    pub(crate) tiers: Vec<TierRow>,
}

pub(crate) fn views(material: &Material, is_wanted: bool) -> Storage {
    let mut storage = Storage::default();
    if !is_wanted {
        return storage;
    }
    let mut scopes: Vec<&Scope> = material.scopes.iter().collect();
    let count =
        |scope: &Scope| scope.vm.classes.iter().flatten().map(|class| class.count).sum::<u64>();
    scopes.sort_by_key(|scope| std::cmp::Reverse(count(scope)));
    for scope in scopes.into_iter().take(VMS_MAX + 1) {
        // A single VM is the same as all, whose number of references is known exactly.
        let index = scope.index.filter(|_| material.scopes.len() > 1);
        let subject = Subject::new(&material.fold.pages, index);
        if !subject.is_empty() {
            storage.add(material, &scope.name, &subject);
        }
    }
    storage
}

impl Storage {
    fn add(&mut self, material: &Material, vm: &str, subject: &Subject) {
        let span = material.span.unwrap_or_default();
        // A window longer than the trace equals the whole trace.
        let is_within = |ms: u32| span >= Nanos::from_millis(u64::from(ms));
        for window in WINDOWS_MS.iter().filter(|window| window.is_none_or(is_within)) {
            let touched = subject.touched(*window);
            self.working_set.push(WorkingSetRow {
                vm: vm.to_owned(),
                window_ns: touched.window_ms.map(|ms| Nanos::from_millis(u64::from(ms)).0),
                windows: touched.windows,
                mean_bytes: touched.mean_bytes,
                max_bytes: touched.max_bytes,
                sampled_share: subject.share(),
            });
        }
        let large = subject.large_curve();
        self.add_curve(vm, subject, &large);
        self.add_curve(vm, subject, &subject.small_curve());
        for bytes in subject.tier_sizes(large.knee().map(|knee| knee.0)) {
            let Some(tier) = subject.tier(bytes) else { continue };
            let [reads, ios] = tier.intervals;
            self.tiers.push(TierRow {
                vm: vm.to_owned(),
                tier_bytes: tier.bytes,
                reads_served: tier.reads_served,
                io_served: tier.io_served,
                reads_served_low: reads.map(|own| own.low),
                reads_served_high: reads.map(|own| own.high),
                io_served_low: ios.map(|own| own.low),
                io_served_high: ios.map(|own| own.high),
                tier_written_bytes: tier.written_bytes,
                references: subject.references(),
                sampled_share: subject.share(),
            });
        }
    }

    fn add_curve(&mut self, vm: &str, subject: &Subject, curve: &Curve) {
        let page_bytes = curve.page_bytes;
        self.miss_ratio.extend(curve.points(POINTS).into_iter().map(|(bytes, miss_ratio)| {
            MissRatioRow {
                vm: vm.to_owned(),
                page_bytes,
                cache_bytes: whole(bytes),
                miss_ratio,
                sampled_share: subject.share(),
            }
        }));
        if let Some((bytes, miss_ratio)) = curve.knee() {
            self.knees.push(KneeRow {
                vm: vm.to_owned(),
                page_bytes,
                references: curve.references,
                cache_bytes: whole(bytes),
                miss_ratio,
                miss_ratio_least: curve.least(),
            });
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes, rounded")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}
