use stats::Histogram;
use units::Ratio;

use crate::classes::{Whole, ratio};
use crate::document::{AlignmentRow, BesideRow, BurstRow, HistogramRow, OverviewRow, SizeRow};
use crate::fold::{Buckets, Of};
use crate::material::{COARSE, Material, Scope, class_name};

/// Names of the directions by index.
pub(crate) const WAYS: [&str; 2] = ["read", "write"];

/// Returns a share; `None` if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| ratio(part, whole))
}

/// Returns a percentile in nanoseconds.
pub(crate) fn percentile(latency: &Histogram, percent: f64) -> Option<u64> {
    latency.percentile(Ratio::new(percent / 100.0)).map(|value| value.0)
}

/// Merges the latencies of all classes of a direction.
fn of_way(scope: &Scope, way: usize) -> Histogram {
    let mut all = Histogram::new();
    let classes = scope.vm.classes[way].iter();
    classes.filter_map(|class| class.latency.as_deref()).for_each(|more| all.merge(more));
    all
}

pub(crate) fn overview(material: &Material) -> Vec<OverviewRow> {
    material.scopes.iter().map(|scope| overview_row(material, scope)).collect()
}

fn overview_row(material: &Material, scope: &Scope) -> OverviewRow {
    let vm = scope.vm;
    let counts = [0, 1].map(|way| vm.classes[way].iter().map(|class| class.count).sum::<u64>());
    let bytes = [0, 1].map(|way| vm.classes[way].iter().map(|class| class.bytes).sum::<u64>());
    let all = vm.classes.iter().flatten();
    let (count, moved) = (counts[0] + counts[1], bytes[0] + bytes[1]);
    let sequential = all.clone().map(|class| class.sequential).sum();
    let [reads, writes] = [0, 1].map(|way| of_way(scope, way));
    let per_second = |value: u64| material.span.map(|span| value as f64 / span.as_secs_f64());
    let flush = vm.flushes.latency.as_deref();
    let is_summed = material.fold.is_summed;
    OverviewRow {
        vm: scope.name.clone(),
        reads: counts[0],
        writes: counts[1],
        flushes: vm.flushes.count,
        discards: vm.discards.count,
        failed: all.map(|class| class.failed).sum(),
        read_bytes: bytes[0],
        write_bytes: bytes[1],
        read_share_of_count: share(counts[0], count),
        read_share_of_bytes: share(bytes[0], moved),
        iops: per_second(count),
        bytes_per_s: per_second(moved),
        sequential_share: share(sequential, count).filter(|_| !is_summed),
        misaligned_share: share(vm.misaligned, count).filter(|_| !is_summed),
        read_p50_ns: percentile(&reads, 50.0),
        read_p99_ns: percentile(&reads, 99.0),
        read_max_ns: reads.max().map(|value| value.0),
        write_p50_ns: percentile(&writes, 50.0),
        write_p99_ns: percentile(&writes, 99.0),
        write_max_ns: writes.max().map(|value| value.0),
        flush_p50_ns: flush.and_then(|latency| percentile(latency, 50.0)),
        flush_p99_ns: flush.and_then(|latency| percentile(latency, 99.0)),
    }
}

pub(crate) fn bursts(material: &Material) -> Vec<BurstRow> {
    if material.resolution().is_none_or(|step| step > COARSE) || material.fold.is_summed {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for scope in &material.scopes {
        let count: u64 = scope.vm.classes.iter().flatten().map(|class| class.count).sum();
        let mean = material.span.map(|span| count as f64 / span.as_secs_f64());
        for peak in scope.vm.bursts.peaks() {
            // A window longer than the trace cannot be compared with an average.
            if material.span.is_none_or(|span| span < peak.width) {
                continue;
            }
            // For several hosts together the bursts are unknown.
            if material.fold.is_beside && peak.count == 0 {
                continue;
            }
            let iops = peak.count as f64 / peak.width.as_secs_f64();
            rows.push(BurstRow {
                vm: scope.name.clone(),
                width_ns: peak.width.0,
                start_ns: peak.start.0,
                count: peak.count,
                bytes: peak.bytes,
                iops,
                times_mean: mean.filter(|mean| *mean > 0.0).map(|mean| iops / mean),
            });
        }
    }
    rows
}

pub(crate) fn alignment(material: &Material) -> Vec<AlignmentRow> {
    let mut rows = Vec::new();
    for scope in &material.scopes {
        for (sectors, direction) in scope.vm.sectors.iter().zip(WAYS) {
            let all = sectors.iter().sum();
            let used = (0..).zip(sectors).filter(|(_, count)| **count > 0);
            rows.extend(used.map(|(sector_mod_8, count)| AlignmentRow {
                vm: scope.name.clone(),
                direction: direction.to_owned(),
                sector_mod_8,
                count: *count,
                share: ratio(*count, all),
            }));
        }
    }
    rows
}

pub(crate) fn sizes(material: &Material) -> Vec<SizeRow> {
    material.scopes.iter().flat_map(sizes_of).collect()
}

fn sizes_of(scope: &Scope) -> Vec<SizeRow> {
    let whole = Whole::of(scope.vm.parts());
    let mut rows = Vec::new();
    for (classes, direction) in scope.vm.classes.iter().zip(WAYS) {
        for (at, class) in classes.iter().enumerate().filter(|(_, class)| class.count > 0) {
            let figures = whole.figures(class.part());
            let times = class.latency.as_deref();
            rows.push(SizeRow {
                vm: scope.name.clone(),
                direction: direction.to_owned(),
                class: class_name(at),
                count: class.count,
                bytes: class.bytes,
                share_of_count: figures.share_of_count,
                share_of_bytes: figures.share_of_bytes,
                sequential_share: ratio(class.sequential, class.count),
                mean_ns: times
                    .and_then(Histogram::mean_ns)
                    .map(|mean| units::Nanos::from_secs_f64(mean / 1e9).0),
                p50_ns: figures.p50_ns,
                p95_ns: figures.p95_ns,
                p99_ns: figures.p99_ns,
                max_ns: figures.max_ns,
                wait_ns: times.map(|_| figures.wait_ns),
                share_of_wait: times.filter(|_| whole.waits()).map(|_| figures.share_of_wait),
            });
        }
    }
    rows
}

pub(crate) fn beside_large(material: &Material) -> Vec<BesideRow> {
    let mut rows = Vec::new();
    for scope in &material.scopes {
        for ([alone, beside], direction) in scope.vm.beside.iter().zip(WAYS) {
            let ns = |slim: &crate::fold::Slim, share| slim.percentile(share).map(|value| value.0);
            let row = BesideRow {
                vm: scope.name.clone(),
                direction: direction.to_owned(),
                alone_count: alone.count(),
                alone_p50_ns: ns(alone, 0.5),
                alone_p99_ns: ns(alone, 0.99),
                beside_count: beside.count(),
                beside_p50_ns: ns(beside, 0.5),
                beside_p99_ns: ns(beside, 0.99),
            };
            if row.alone_count + row.beside_count > 0 {
                rows.push(row);
            }
        }
    }
    rows
}

pub(crate) fn histograms(material: &Material) -> Vec<HistogramRow> {
    let mut rows = Vec::new();
    for scope in &material.scopes {
        let mut streams: Vec<_> = scope.vm.streams.iter().collect();
        streams.sort_by_key(|(device, _)| *device);
        for (device, stream) in streams {
            let device = material.device_name(usize::from(device.0));
            let with_times = material.resolution().is_some_and(|step| step <= COARSE);
            for (of, name, unit, buckets) in stream.histograms() {
                // Histograms without data are left out.
                if buckets.count() > 0 && (with_times || of != Of::Arrival) {
                    rows.push(histogram(&scope.name, &device, (name, unit), &buckets));
                }
            }
        }
    }
    rows
}

fn histogram(
    vm: &str,
    device: &str,
    (name, unit): (&str, &str),
    buckets: &Buckets,
) -> HistogramRow {
    HistogramRow {
        vm: vm.to_owned(),
        device: device.to_owned(),
        histogram: name.to_owned(),
        unit: unit.to_owned(),
        count: buckets.count(),
        min: buckets.range().map(|range| range.0),
        max: buckets.range().map(|range| range.1),
        mean: buckets.mean(),
        limits: buckets.limits().iter().map(|limit| i64::from(*limit)).collect(),
        counts: buckets.counts().to_vec(),
    }
}
