//! Group commit: one user writes the log for all who wait for it.

use proptest::prelude::*;
use sim::Completion;
use state_machine::{Operation, mix};
use units::Nanos;

use crate::support::{Trace, case, failed, ms, one_action};

const COMMIT: &str = r#"{ commit = { log = "wal", steps = [
    { append = { disk = "log", size = "4k" } }, { flush = { disk = "log" } },
] } }"#;

/// Times at which the commits began and ended, if a flush ends each.
fn commits(trace: &Trace, latency: impl Fn(Nanos) -> Nanos) -> Vec<(Nanos, Nanos)> {
    let of = |operation| {
        let all = trace.requests.iter().filter(move |(_, request)| request.operation == operation);
        all.map(|(at, _)| *at)
    };
    of(Operation::Write).zip(of(Operation::Flush).map(|at| at + latency(at))).collect()
}

#[test]
fn one_commit_at_a_time_serves_all_who_came_before_it() {
    let trace = one_action("{ closed = { users = 4 } }", COMMIT).run(ms(1), ms(9));
    let begun: Vec<u64> = trace.requests.iter().map(|(at, _)| at.0 / 1_000_000).collect();
    assert_eq!(begun, [0, 1, 2, 3, 4, 5, 6, 7, 8], "one request at a time");
    let ended: Vec<u64> = trace.actions.iter().map(|done| done.finished.0 / 1_000_000).collect();
    // The first user alone, the three others together, and so on.
    assert_eq!(ended, [2, 4, 4, 4, 6, 8, 8, 8]);
}

#[test]
fn commits_of_two_logs_do_not_wait_for_each_other() {
    let other = COMMIT.replace("\"wal\"", "\"other\"").replace("\"log\", size", "\"data\", size");
    let text = format!(
        r#"
        [[users]]
        name = "users"
        vm = "vm"
        load = {{ closed = {{ users = 1 }} }}
        mix = {{ a = 1 }}
        [[users]]
        name = "others"
        vm = "vm"
        load = {{ closed = {{ users = 1 }} }}
        mix = {{ b = 1 }}
        [[action]]
        name = "a"
        steps = [{COMMIT}]
        [[action]]
        name = "b"
        steps = [{other}]
        "#
    );
    let trace = case(&text).run(ms(1), ms(5));
    let ended: Vec<u64> = trace.actions.iter().map(|done| done.finished.0 / 1_000_000).collect();
    assert_eq!(ended, [2, 2, 4, 4]);
}

#[test]
fn a_failed_commit_fails_all_whom_it_serves_and_frees_the_log() {
    let steps = format!("{COMMIT}, {{ read = {{ disk = \"data\", size = \"4k\" }} }}");
    let case = one_action("{ closed = { users = 3, think = \"20ms\" } }", &steps);
    let mut flushes = 0;
    let trace = case.run_on(
        |now, request| {
            flushes += u32::from(request.operation == Operation::Flush);
            match (flushes, request.operation) {
                (2, Operation::Flush) => failed(now, ms(1)),
                _ => Completion { at: now + ms(1), result: Ok(()) },
            }
        },
        ms(100),
    );
    let bad = trace.actions.iter().filter(|done| !done.ok);
    let ended: Vec<u64> = bad.map(|done| done.finished.0 / 1_000_000).collect();
    let starts = trace.actions.iter().filter(|done| done.started < ms(25)).count();
    assert!((1..=2).contains(&ended.len()) && starts >= 3, "{ended:?}");
    assert!(ended.iter().all(|at| *at == ended[0]), "all at once: {ended:?}");
    let after = trace.actions.iter().filter(|done| done.started.0 / 1_000_000 > ended[0]);
    assert!(after.clone().count() > 5 && after.clone().all(|done| done.ok), "users go on");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn each_action_is_served_by_a_commit_after_its_start(seed: u64, users in 1_u32..9) {
        let load = format!("{{ closed = {{ users = {users}, think = {{ exponential = \"3ms\" }} }} }}");
        let mut case = one_action(&load, COMMIT);
        case.seed = seed;
        let latency = |now: Nanos| Nanos(100_000 + mix(now.0 ^ seed) % 4_000_000);
        let device = |now: Nanos, _: &_| Completion { at: now + latency(now), result: Ok(()) };
        let trace = case.run_on(device, ms(400));
        let commits = commits(&trace, latency);
        prop_assert!(commits.windows(2).all(|two| two[0].1 <= two[1].0), "one at a time");
        prop_assert!(trace.actions.len() > 10);
        for done in &trace.actions {
            let own = commits.iter().find(|commit| commit.0 >= done.started);
            prop_assert_eq!(own.map(|commit| commit.1), Some(done.finished));
        }
    }
}
