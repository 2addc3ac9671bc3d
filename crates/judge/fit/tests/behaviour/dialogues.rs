//! I/Os that wait for each other are fitted as dialogues.

use spec::workload::{Load, Step, Workload};
use tilemark_fit::{DependenceRow, Fitted, Storage, fit, fit_text, generate};
use trace::{IoRecord, Operation};
use units::Nanos;

use crate::{ARRIVALS, fitted, info, made, made_by, observed};

/// Users who think for a while between their transactions.
const CLIENTS: &str = r#"[[users]]
name = "users"
vm = "known"
load = { closed = { users = 3, think = { exponential = "20ms" } } }"#;
/// A transaction with a little work between its I/Os.
const TRANSACTION: &str = r#"
    { read = { disk = "data", size = "8k" } },
    { cpu = { exponential = "30us" } },
    { repeat = { times = 2, steps = [{ write = { disk = "data", size = "8k" } }, { cpu = { exponential = "30us" } }] } },
    { flush = { disk = "data" } },
"#;

fn row<'a>(fitted: &'a Fitted, name: &str) -> &'a DependenceRow {
    let dependence = fitted.report.dependence.as_ref().expect("evidence");
    dependence.rows.iter().find(|row| row.name == name).expect("a row")
}

/// Operations of a workload's most frequent action, without its waits.
fn operations(workload: &Workload) -> Vec<&'static str> {
    let mix = workload.groups[0].mix.as_ref().expect("a mix");
    let (name, _) = mix.iter().max_by(|a, b| a.1.total_cmp(b.1)).expect("an action");
    let action = workload.actions.iter().find(|own| own.name == *name).expect("it is there");
    action.steps.iter().flat_map(words).collect()
}

fn words(step: &Step) -> Vec<&'static str> {
    match step {
        Step::Read(_) => vec!["read"],
        Step::Write(_) => vec!["write"],
        Step::Flush(_) => vec!["flush"],
        Step::Parallel(steps) => {
            let all = steps.iter().flat_map(words);
            ["("].into_iter().chain(all).chain([")"]).collect()
        }
        Step::Repeat(repeat) => {
            let once: Vec<_> = repeat.steps.iter().flat_map(words).collect();
            once.repeat(repeat.times as usize)
        }
        _ => Vec::new(),
    }
}

/// Reads and writes per second on storage whose latencies are twice those of `made`.
fn slow_rate(load: &str, steps: &str, seconds: u64) -> f64 {
    let latencies: Vec<Nanos> = (1..400).map(|at| Nanos::from_micros(at * 20)).collect();
    let storage = Storage::Latencies([latencies.clone(), latencies.clone(), latencies]);
    let until = Nanos::from_secs(seconds);
    let records = generate(&made_by(load, steps), 7, until, &storage).expect("it runs");
    records.iter().filter(|own| own.operation.moves_data()).count() as f64 / seconds as f64
}

#[test]
fn transaction_of_clients_comes_back_as_a_dialogue() {
    let fitted = fitted(made(CLIENTS, TRANSACTION, 60));
    assert_eq!(fitted.report.dependence.as_ref().map(|own| &*own.chosen), Some("dialogues"));
    assert_eq!(operations(&fitted.workload), ["read", "write", "write", "flush"]);
    let Load::Closed { users, .. } = fitted.workload.groups[0].load else {
        panic!("{:?}", fitted.workload.groups[0].load)
    };
    assert_eq!(users, 3);
    let (dialogues, independent) = (row(&fitted, "dialogues"), row(&fitted, "independent"));
    assert!(dialogues.outstanding.is_some_and(|own| own < 0.05), "{}", fit_text(&fitted.report));
    assert!(dialogues.order.is_some_and(|own| own < 0.1), "{}", fit_text(&fitted.report));
    assert!(independent.order > Some(0.2), "{}", fit_text(&fitted.report));
    // The known load tells how much less work its clients do on slower storage.
    let known = slow_rate(CLIENTS, TRANSACTION, 60);
    assert!((dialogues.rate_slow / known - 1.0).abs() < 0.05, "{known} {dialogues:?}");
    assert!(fitted.toml.contains("after a completion"), "{}", fitted.toml);
}

#[test]
fn ios_that_begin_together_are_parallel_steps() {
    let steps = r#"
        { parallel = [{ read = { disk = "data", size = "8k" } }, { read = { disk = "data", size = "8k" } }] },
        { cpu = { exponential = "20us" } },
        { write = { disk = "data", size = "8k" } },
    "#;
    let arrivals = ARRIVALS.replace("200/s", "40/s");
    let fitted = fitted(made(&arrivals, steps, 60));
    assert_eq!(operations(&fitted.workload), ["(", "read", "read", ")", "write"]);
    let dialogues = row(&fitted, "dialogues");
    assert!(dialogues.outstanding.is_some_and(|own| own < 0.05), "{}", fit_text(&fitted.report));
    // Arrivals that wait for nobody come at the same rate on slower storage.
    assert!((dialogues.rate_slow / dialogues.rate - 1.0).abs() < 0.05, "{dialogues:?}");
}

#[test]
fn endless_copy_is_divided_into_its_turns() {
    let loop_of_one = r#"[[users]]
name = "users"
vm = "known"
load = { closed = { users = 1 } }"#;
    let steps = r#"
        { read = { disk = "data", size = "64k" } },
        { cpu = { exponential = "20us" } },
        { write = { disk = "data", size = "64k" } },
        { cpu = { exponential = "20us" } },
    "#;
    let fitted = fitted(made(loop_of_one, steps, 20));
    assert_eq!(operations(&fitted.workload), ["read", "write"]);
    assert!(
        row(&fitted, "dialogues").order.is_some_and(|own| own < 0.05),
        "{}",
        fit_text(&fitted.report)
    );
}

#[test]
fn arrivals_that_wait_for_nobody_are_no_dialogues() {
    let steps = r#"{ read = { disk = "data", size = "8k" } }"#;
    assert_eq!(fitted(made(ARRIVALS, steps, 60)).report.dependence, None);
}

/// A copier beside independent reads: what the language expresses is fitted, and the file loads.
#[test]
fn unrelated_reads_beside_transactions_keep_the_fit_valid() {
    let mut records = made(CLIENTS, TRANSACTION, 30);
    let reads = made(ARRIVALS, r#"{ read = { disk = "data", size = "4k" } }"#, 30);
    records.extend(reads);
    records.sort_by_key(|own| own.issue);
    let fitted = fitted(records);
    let flushes = |records: &[IoRecord]| {
        records.iter().filter(|own| own.operation == Operation::Flush).count() as f64
    };
    let seen = flushes(&made(CLIENTS, TRANSACTION, 30));
    let storage = Storage::Latencies([(); 3].map(|()| vec![Nanos::from_millis(2)]));
    let again = generate(&fitted.workload, 3, Nanos::from_secs(30), &storage).expect("it runs");
    assert!((flushes(&again) / seen - 1.0).abs() < 0.25, "{} {seen}", flushes(&again));
}

#[test]
fn same_trace_and_seed_give_the_same_dialogues() {
    let fit_again = || {
        let observed = observed(info(true), made(CLIENTS, TRANSACTION, 20)).expect("enough");
        fit(&observed, "tilemark test", 1).expect("it runs").toml
    };
    assert_eq!(fit_again(), fit_again());
}
