//! Every shipped workload runs, and its demand equals the demand computed from its definition.

use crate::support::{Case, Trace, ms, number, secs};
use spec::{demand, shipped};
use state_machine::Operation;
use units::Nanos;

const SERVICE: Nanos = ms(1);

/// Whole periods of all schedules: 5 and 15 minutes, at a sixtieth. Single streams have
/// none, and very many requests.
fn until(name: &str) -> Nanos {
    if name.starts_with(shipped::MICRO) { ms(500) } else { secs(30) }
}

/// The mean demand is computed from the definition by other code, without running it.
#[test]
fn shipped_workloads_stay_on_their_disks_and_meet_their_demand() {
    // Copies of operations are not a demand of a tile; `operations` tests them.
    let of_tiles = shipped::workload_names().filter(|name| !name.starts_with(shipped::OPERATIONS));
    for name in of_tiles {
        let workload = shipped::workload(name).expect("shipped");
        let case = Case {
            workload,
            seed: 1,
            round: 0,
            tile: 0,
            copy: 0,
            footprint: 0.001,
            time_scale: 1.0 / 60.0,
        };
        let trace = case.run(SERVICE, until(name));
        check_places(name, &case, &trace);
        check_demand(name, &case, &trace);
    }
}

fn check_places(name: &str, case: &Case, trace: &Trace) {
    let disks = case.build().disks;
    assert!(!trace.requests.is_empty() || !trace.calls.is_empty(), "{name}");
    assert!(trace.requests.is_empty() != trace.calls.is_empty(), "{name} does one of both");
    for (_, request) in &trace.requests {
        let disk = &disks[usize::from(request.disk.0)];
        let end = request.offset + u64::from(request.length);
        assert!(end <= disk.size.get(), "{name}: {request:?} on {disk:?}");
    }
}

/// Returns true if users share commits. Then there are fewer writes and flushes than the definition
/// asks for, and how many depends on the storage.
fn shares_commits(workload: &spec::workload::Workload) -> bool {
    let mut shares = false;
    workload.each_step(&mut |step| shares |= matches!(step, spec::workload::Step::Commit(_)));
    shares
}

fn check_demand(name: &str, case: &Case, trace: &Trace) {
    let paper = demand::of_workload(&case.workload, SERVICE).expect("time passes");
    let seconds = until(name).as_secs_f64();
    let count =
        |operation| number(trace.requests.iter().filter(|(_, r)| r.operation == operation).count());
    for (what, seen, expected) in [
        ("actions", number(trace.actions.len() + trace.dropped.len()), paper.actions_per_s),
        ("reads", count(Operation::Read), paper.reads_per_s),
        ("writes", count(Operation::Write), paper.writes_per_s),
        ("flushes", count(Operation::Flush), paper.flushes_per_s),
    ] {
        let expected = expected * seconds;
        // Actions bring several I/Os at once, so counts vary more than single events do;
        // 3 % more for users that are still on their way in at the start.
        let error = 5.0 * (8.0 * expected).sqrt() + 0.03 * expected;
        let is_shared = ["writes", "flushes"].contains(&what) && shares_commits(&case.workload);
        let fewer = if is_shared { expected * 0.7 } else { 0.0 };
        let allowed = expected - error - fewer..=expected + error;
        assert!(allowed.contains(&seen), "{name}: {seen} {what} for {expected}");
    }
}

#[test]
fn workloads_with_small_or_shifted_requests_need_small_sectors() {
    let fits = |name: &str, sector| {
        let workload = shipped::workload(name).expect("shipped");
        tilemark_workload::fits_sectors(&workload, sector)
    };
    assert!(shipped::workload_names().all(|name| fits(name, 512)));
    // Reads of 512 B beside large ones.
    assert!(!fits("web-files", 4096) && fits("mail-store", 4096));
}
