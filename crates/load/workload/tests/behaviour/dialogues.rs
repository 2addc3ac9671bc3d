//! Steps of an action: order, parallel parts, repeats, errors, kinds and content.

use std::collections::HashSet;

use crate::support::{assert_share, case, failed, ms, one_action, secs};
use sim::Completion;
use spec::workload::{Endpoint, Protocol};
use state_machine::Operation;
use tilemark_workload::{BuildError, InstancePlan, KindOf, build};
use units::Nanos;

const CLOSED: &str = "{ closed = { users = 1 } }";

#[test]
fn each_step_and_access_waits_for_the_one_before() {
    let steps = r#"
        { read = { disk = "data", size = "4k", count = 2 } }, { cpu = "3ms" },
        { write = { disk = "data", size = "8k" } }, { wait = "5ms" },
        { append = { disk = "log", size = "4k" } }, { flush = { disk = "log" } }
    "#;
    let trace = one_action(CLOSED, steps).run(ms(1), ms(14));
    let seen: Vec<_> = trace
        .requests
        .iter()
        .map(|(at, request)| (at.0 / 1_000_000, request.operation, request.length, request.disk.0))
        .collect();
    let expected = [
        (0, Operation::Read, 4096, 0),
        (1, Operation::Read, 4096, 0),
        (5, Operation::Write, 8192, 0),
        (11, Operation::Write, 4096, 1),
        (12, Operation::Flush, 0, 1),
        (13, Operation::Read, 4096, 0),
    ];
    assert_eq!(seen, expected);
    assert_eq!(trace.actions.len(), 1);
    assert_eq!((trace.actions[0].started, trace.actions[0].finished), (Nanos::ZERO, ms(13)));
    assert!(trace.requests.iter().all(|(at, request)| request.due == *at));
}

#[test]
fn parallel_steps_run_at_once_and_the_next_waits_for_all() {
    // Branch lengths 3, 1 and (2 + 1) ms; nested loops and branches do not share counters.
    let steps = r#"
        { parallel = [
            { repeat = { times = 3, steps = [{ read = { disk = "data", size = "4k" } }] } },
            { read = { disk = "data", size = "8k" } },
            { repeat = { times = 1, steps = [
                { parallel = [
                    { repeat = { times = 2, steps = [{ read = { disk = "data", size = "16k" } }] } },
                    { read = { disk = "data", size = "32k" } },
                ] },
                { read = { disk = "data", size = "64k" } },
            ] } },
            { read = { disk = "data", size = "128k", count = 2 } },
        ] },
        { write = { disk = "data", size = "4k" } }
    "#;
    let trace = one_action(CLOSED, steps).run(ms(1), ms(4));
    let mut seen: Vec<_> = trace
        .requests
        .iter()
        .map(|(at, request)| (at.0 / 1_000_000, request.length >> 10, request.operation))
        .collect();
    seen.sort_unstable();
    let read = |at, size| (at, size, Operation::Read);
    let mut expected =
        vec![read(0, 4), read(1, 4), read(2, 4), read(0, 8), read(0, 16), read(1, 16)];
    expected.extend([read(0, 32), read(2, 64), read(0, 128), read(1, 128)]);
    expected.push((3, 4, Operation::Write));
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

#[test]
fn branches_may_fork_beside_each_other() {
    let branch = r#"{ repeat = { times = 2, steps = [{ parallel = [
        { read = { disk = "data", size = "4k", count = 3 } },
        { read = { disk = "data", size = "8k" } },
    ] }] } }"#;
    let steps = format!("{{ parallel = [{branch}, {branch}, {branch}] }}");
    let case = one_action("{ closed = { users = 2 } }", &steps);
    // Answers of different lengths shuffle the order in which branches arrive.
    let trace = case.run_on(
        |now, request| Completion {
            at: now + Nanos(1000 + state_machine::mix(request.offset) % 1_000_000),
            result: Ok(()),
        },
        secs(1),
    );
    let requests = trace.requests.len();
    let finished = trace.actions.len();
    assert!(finished > 100);
    // 3 branches x 2 rounds x 4 reads; at most two actions are under way at the end.
    assert!(requests >= finished * 24 && requests <= (finished + 2) * 24, "{requests} {finished}");
}

#[test]
fn an_error_ends_the_action_when_what_is_under_way_is_answered() {
    let steps = r#"
        { parallel = [
            { read = { disk = "data", size = "4k", count = 5 } },
            { read = { disk = "data", size = "8k", count = 5 } },
        ] },
        { write = { disk = "data", size = "4k" } }
    "#;
    let case = one_action("{ closed = { users = 1, think = \"10ms\" } }", steps);
    let mut number = 0;
    let trace = case.run_on(
        |now, request| {
            number += 1;
            if number == 4 {
                assert_eq!(request.length, 8192);
                return failed(now, ms(1));
            }
            Completion { at: now + ms(1), result: Ok(()) }
        },
        ms(200),
    );
    let first = &trace.actions[0];
    assert!(!first.ok);
    let in_first = trace.requests.iter().filter(|(at, _)| *at <= first.finished).count();
    // Two pairs; the third 4 KiB read was emitted before the error came back.
    assert!((4..=5).contains(&in_first), "{in_first}");
    assert!(trace.actions[1..].iter().all(|done| done.ok));
    assert!(trace.actions.len() > 5, "the user goes on");
}

#[test]
fn burning_is_asked_for_by_workload_or_plan() {
    let steps = r#"{ cpu = "1ms" }, { read = { disk = "data", size = "4k" } }"#;
    let case = one_action(CLOSED, steps);
    let plan = InstancePlan {
        workload: &case.workload,
        seed: 1,
        round: 0,
        tile: 0,
        position: 0,
        copy: 0,
        footprint: 1.0,
        time_scale: 1.0,
        cpu: None,
        schedule: None,
    };
    for (cpu, is_burnt) in [(None, false), (Some(spec::workload::CpuMode::Burn), true)] {
        let mut instance = build(&InstancePlan { cpu, ..plan }).expect("a valid workload");
        let mut fx = state_machine::Effects::default();
        state_machine::Machine::handle(
            &mut instance.machine,
            Nanos::ZERO,
            state_machine::Event::Start,
            &mut fx,
        );
        assert_eq!((fx.cpu.len(), fx.cpu[0].cost, fx.cpu[0].burn), (1, ms(1), is_burnt));
    }
}

#[test]
fn a_cpu_step_runs_on_the_vm_of_its_user_group() {
    let steps = r#"name = "a"
        steps = [{ cpu = "1ms" }]"#;
    let group = |vm: &str| format!("[[users]]\nname = \"{vm}\"\nvm = \"{vm}\"\nload = {CLOSED}\n");
    let case = case(&format!(
        "[[vm]]\nname = \"second\"\n{}{}[[action]]\n{steps}",
        group("second"),
        group("vm")
    ));
    let mut fx = state_machine::Effects::default();
    let start = state_machine::Event::Start;
    state_machine::Machine::handle(&mut case.build().machine, Nanos::ZERO, start, &mut fx);
    let vms: Vec<u16> = fx.cpu.iter().map(|burst| burst.vm).collect();
    assert_eq!(vms, [1, 0], "\"vm\" is listed first");
}

#[test]
fn kinds_are_named_after_disk_and_step_by_default() {
    let steps = r#"
        { read = { disk = "data", size = "4k" } }, { write = { disk = "data", size = "4k" } },
        { append = { disk = "log", size = "4k" } }, { flush = { disk = "log" } },
        { read = { disk = "data", size = "8k" } },
        { read = { disk = "data", size = "8k", kind = "lookup" } },
        { write = { disk = "log", size = "4k", kind = "lookup" } }
    "#;
    let kinds = one_action(CLOSED, steps).build().kinds;
    let seen: Vec<_> = kinds.iter().map(|kind| (kind.name.as_str(), kind.of)).collect();
    let io = |direction, disk| KindOf::Io { direction, disk };
    let expected = [
        ("data-read", io(Operation::Read, 0)),
        ("data-write", io(Operation::Write, 0)),
        ("log-append", io(Operation::Write, 1)),
        ("log-flush", io(Operation::Flush, 1)),
        ("lookup", io(Operation::Read, 0)),
        ("lookup", io(Operation::Write, 1)),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn calls_run_in_order_and_share_numbers_with_kinds_of_io() {
    let steps = r#"
        { call = { endpoint = "page", size = "4KiB", count = 3 } },
        { read = { disk = "data", size = "4k" } },
        { parallel = [{ call = { endpoint = "feed", kind = "poll", size = "1KiB" } },
                      { call = { endpoint = "page", size = "1KiB" } }] },
        { wait = "1s" }
    "#;
    let endpoint = |name: &str| Endpoint { name: name.to_owned(), protocol: Protocol::Http };
    let mut case = one_action(CLOSED, steps);
    case.workload.endpoints = vec![endpoint("feed"), endpoint("page")];
    let built = case.build();
    let call = |endpoint| KindOf::Call { endpoint };
    let kinds: Vec<_> = built.kinds.iter().map(|kind| (kind.name.as_str(), kind.of)).collect();
    let read = KindOf::Io { direction: Operation::Read, disk: 0 };
    assert_eq!(kinds, [("page-call", call(1)), ("data-read", read), ("poll", call(0))]);
    assert_eq!(built.endpoints, ["feed", "page"]);

    let trace = case.run(ms(1), ms(500));
    let asked: Vec<_> = trace.calls.iter().map(|(_, call)| (call.endpoint.0, call.size)).collect();
    let page = (1, 4096);
    assert_eq!(asked, [page, page, page, (0, 1024), (1, 1024)]);
    assert_eq!((trace.requests.len(), trace.slices[0].calls.len()), (1, 2));
    let counts = trace.slices[0].calls.iter().map(|row| (row.kind, row.service.count()));
    assert_eq!(counts.collect::<Vec<_>>(), [(0, 4), (2, 1)]);
    case.workload.endpoints.pop();
    let plan = InstancePlan {
        workload: &case.workload,
        seed: 1,
        round: 0,
        tile: 0,
        position: 0,
        copy: 0,
        footprint: 1.0,
        time_scale: 1.0,
        cpu: None,
        schedule: None,
    };
    let error = build(&plan).expect_err("nobody knows the page");
    assert!(error.to_string().contains("endpoint \"page\""), "{error}");
}

#[test]
fn calls_that_ask_different_things_are_kinds_of_one_name() {
    let steps = r#"
        { call = { endpoint = "page", ask = "items?page=1", size = "4KiB" } },
        { call = { endpoint = "page", ask = "items?page=2", size = "4KiB", count = 2 } },
        { call = { endpoint = "page", size = "4KiB" } },
        { call = { endpoint = "page", ask = "items?page=1", size = "4KiB" } },
        { wait = "1s" }
    "#;
    let mut case = one_action(CLOSED, steps);
    case.workload.endpoints = vec![Endpoint { name: "page".to_owned(), protocol: Protocol::Http }];
    let built = case.build();
    let kinds: Vec<_> = built
        .kinds
        .iter()
        .map(|kind| {
            (kind.name.as_str(), kind.ask.as_ref().map(state_machine::RequestText::numbered))
        })
        .collect();
    let named = |ask| ("page-call", ask);
    assert_eq!(kinds, [Some("items?page=1"), Some("items?page=2"), None].map(named));
    let trace = case.run(ms(1), ms(500));
    let made: Vec<u16> = trace.calls.iter().map(|(_, call)| call.kind.0).collect();
    assert_eq!(made, [0, 1, 1, 2, 0]);
}

#[test]
fn dedupable_writes_repeat_64_contents_and_others_never_do() {
    let steps = r#"{ write = { disk = "data", size = "4k",
        data = { compressible = "50%", dedupable = "30%" } } }"#;
    let trace = one_action("{ closed = { users = 4 } }", steps).run(ms(1), secs(5));
    let mut counts = std::collections::HashMap::new();
    for (_, request) in &trace.requests {
        assert_eq!(request.pattern.compressible_percent, 50);
        *counts.entry(request.pattern.seed).or_insert(0) += 1;
    }
    let repeated: Vec<usize> = counts.values().copied().filter(|count| *count > 1).collect();
    assert_eq!(repeated.len(), 64);
    assert_share(repeated.iter().sum(), trace.requests.len(), 0.3);
}

#[test]
fn reads_carry_no_pattern_and_plain_writes_all_differ() {
    let steps = r#"{ read = { disk = "data", size = "4k" } },
        { write = { disk = "data", size = "4k" } }"#;
    let trace = one_action("{ closed = { users = 4 } }", steps).run(ms(1), secs(1));
    let is_write = |operation| operation == Operation::Write;
    let seeds: HashSet<u64> = trace
        .requests
        .iter()
        .filter(|(_, request)| is_write(request.operation))
        .map(|(_, request)| request.pattern.seed)
        .collect();
    assert_eq!(seeds.len(), trace.requests.len() / 2);
}

#[test]
fn what_cannot_be_built_says_what_it_is() {
    let build_error = |rest: &str| {
        let case = case(rest);
        let plan = InstancePlan {
            workload: &case.workload,
            seed: 1,
            round: 0,
            tile: 0,
            position: 0,
            copy: 0,
            footprint: 1.0,
            time_scale: 1.0,
            cpu: None,
            schedule: None,
        };
        build(&plan).expect_err("cannot be built")
    };
    let action = |steps: &str| format!("[[action]]\nname = \"a\"\nsteps = [{steps}]");
    let error = build_error(&action("{ repeat = { times = 3, steps = [] } }"));
    assert!(matches!(error, BuildError::EmptyAction { .. }), "{error}");
    let error = build_error(&action(r#"{ read = { disk = "tape", size = "4k" } }"#));
    assert_eq!(
        error.to_string(),
        "action \"a\" of workload \"test\" names disk \"tape\", which does not exist"
    );
    let error = build_error(&action(r#"{ read = { disk = "data", size = { "4kB" = 1 } } }"#));
    assert!(matches!(error, BuildError::BlockSize { .. }), "{error}");
    let error = build_error(&action(r#"{ read = { disk = "data", size = { "4k" = 0 } } }"#));
    assert!(matches!(error, BuildError::Weights { .. }), "{error}");
}
