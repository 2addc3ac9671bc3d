//! Closed, paced and open users.

use crate::support::{assert_share, case, ms, number, one_action, secs, stalling};
use sim::Completion;
use state_machine::{Effects, Event, Machine, Observation};
use units::Nanos;

const READ: &str = r#"{ read = { disk = "data", size = "4k" } }"#;

#[test]
fn closed_users_wait_for_their_answer_and_then_think() {
    let case = one_action(r#"{ closed = { users = 5, think = "90ms" } }"#, READ);
    let trace = case.run(ms(10), secs(100));
    // Each user takes 100 ms a round; they start at random parts of a think time.
    let rounds = number(trace.actions.len());
    assert!((rounds - 5000.0).abs() <= 5.0, "{rounds}");
    assert!(trace.actions.iter().all(|done| done.finished - done.started == ms(10) && done.ok));
    assert!(trace.actions.iter().all(|done| done.intended == done.started));
    let at_start = trace.requests.iter().filter(|(at, _)| *at == Nanos::ZERO).count();
    assert!(at_start < 5, "users do not start as one");
}

#[test]
fn a_closed_user_never_has_two_actions_under_way() {
    let case = one_action(r#"{ closed = { users = 3 } }"#, READ);
    let (mut in_flight, mut most) = (Vec::new(), 0);
    case.run_on(
        |now, _| {
            in_flight.retain(|end| *end > now);
            in_flight.push(now + ms(1));
            most = most.max(in_flight.len());
            Completion { at: now + ms(1), result: Ok(()) }
        },
        secs(1),
    );
    assert_eq!(most, 3);
}

#[test]
fn random_think_times_have_the_mean_asked_for() {
    for (think, mean_ms) in
        [(r#"{ exponential = "50ms" }"#, 50.0), (r#"{ uniform = ["20ms", "60ms"] }"#, 40.0)]
    {
        let load = format!("{{ closed = {{ users = 10, think = {think} }} }}");
        let trace = one_action(&load, READ).run(Nanos::ZERO, secs(200));
        let expected: f64 = 10.0 * 200_000.0 / mean_ms;
        let error = 5.0 * expected.sqrt();
        assert!((number(trace.actions.len()) - expected).abs() < error, "{think}");
    }
}

#[test]
fn paced_users_keep_their_rate_on_a_grid_of_their_own() {
    let case = one_action(r#"{ paced = { users = 4, rate = "20/s" } }"#, READ);
    let trace = case.run(ms(30), secs(50));
    assert!((number(trace.actions.len()) - 1000.0).abs() <= 4.0, "{}", trace.actions.len());
    let mut phases: Vec<u64> =
        trace.actions.iter().map(|done| done.intended.0 % ms(200).0).collect();
    phases.sort_unstable();
    phases.dedup();
    assert_eq!(phases.len(), 4, "four users, each every 200 ms at a phase of its own");
    assert!(trace.dropped.is_empty());
}

#[test]
fn a_stall_of_500_ms_shows_in_response_and_is_made_up_for() {
    let case = one_action(r#"{ paced = { users = 10, rate = "1000/s", backlog = 100 } }"#, READ);
    let device = || stalling(secs(5), ms(5500), ms(1));
    let trace = case.run_on(device(), secs(10));
    assert!((number(trace.actions.len()) - 10_000.0).abs() <= 20.0, "{}", trace.actions.len());
    assert!(trace.dropped.is_empty());
    // The 500 starts that were meant to happen in the stall waited 250 ms on average and
    // at most 501 ms; only ten of them were submitted to the storage while it stood still.
    let responses: Vec<u64> =
        trace.actions.iter().map(|done| (done.finished - done.intended).0).collect();
    let late = responses.iter().filter(|response| **response > ms(100).0).count();
    assert!((400..=600).contains(&late), "{late} responses above 100 ms");
    let slow = trace.actions.iter().filter(|done| done.finished - done.started > ms(100)).count();
    assert_eq!(slow, 10, "service time alone hides the stall");
    let most = responses.iter().max().copied().map(Nanos);
    assert!(most.is_some_and(|most| most >= ms(480) && most <= ms(700)), "{most:?}");
    // The I/O rows say the same: response counts from the intended start.
    let row = &trace.slices[5].io[0];
    let longest = row.response.buckets().filter(|(value, _)| *value > ms(100));
    assert!(longest.map(|(_, count)| count).sum::<u32>() >= 400);
    // After catching up, starts are on time again.
    let after = trace.actions.iter().filter(|done| done.intended > secs(8));
    assert!(
        after.clone().count() > 1900 && after.clone().all(|done| done.started == done.intended)
    );
}

#[test]
fn paced_user_drops_and_reports_starts_beyond_its_backlog() {
    let load = r#"{ paced = { users = 1, rate = "100/s", backlog = 5 } }"#;
    let trace = one_action(load, READ).run_on(stalling(secs(1), secs(2), ms(1)), secs(3));
    // 100 starts fall in the stall: one is under way, five wait, the rest is given up.
    assert!((93..=95).contains(&trace.dropped.len()), "{}", trace.dropped.len());
    assert!(trace.dropped.iter().all(|(at, intended)| at == intended), "reported when it happens");
    assert_eq!(trace.actions.len() + trace.dropped.len(), 300);
    let drops: u64 = trace.slices.iter().flat_map(|s| &s.actions).map(|row| row.dropped).sum();
    assert_eq!(drops, trace.dropped.len() as u64);
}

#[test]
fn open_arrivals_are_poisson_and_wait_for_nobody() {
    let case = one_action(r#"{ open = { rate = "1000/s" } }"#, READ);
    let trace = case.run(ms(50), secs(20));
    let count = number(trace.requests.len());
    assert!((count - 20_000.0).abs() < 5.0 * 20_000_f64.sqrt(), "{count}");
    // Counts per 10 ms of a Poisson process have a variance equal to their mean of 10.
    let mut counts = vec![0.0_f64; 2000];
    for (at, _) in &trace.requests {
        counts[usize::try_from(at.0 / ms(10).0).expect("small")] += 1.0;
    }
    let mean = counts.iter().sum::<f64>() / 2000.0;
    let variance = counts.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / 1999.0;
    assert!((variance / mean - 1.0).abs() < 0.16, "five standard errors: {}", variance / mean);
    assert!(trace.actions.iter().all(|done| done.started == done.intended));
}

#[test]
fn open_arrivals_beyond_the_limit_wait_and_then_drop() {
    let case = one_action(r#"{ open = { rate = "100/s", outstanding-max = 10 } }"#, READ);
    // Ten at a time, 1 s each: 10 a second come through, a line of ten waits.
    let mut in_flight: Vec<Nanos> = Vec::new();
    let mut most = 0;
    let trace = case.run_on(
        |now, _| {
            in_flight.retain(|end| *end > now);
            in_flight.push(now + secs(1));
            most = most.max(in_flight.len());
            Completion { at: now + secs(1), result: Ok(()) }
        },
        secs(20),
    );
    assert_eq!(most, 10);
    let done = trace.actions.len();
    assert!((185..=200).contains(&done), "{done}");
    assert!(trace.dropped.len() > 1600, "{}", trace.dropped.len());
    let settled = trace.actions.iter().filter(|done| done.finished > secs(5));
    let waits: Vec<Nanos> = settled.map(|done| done.started - done.intended).collect();
    assert!(waits.iter().all(|wait| *wait > ms(500) && *wait < ms(1300)), "{waits:?}");
}

#[test]
fn a_rate_of_zero_starts_nothing() {
    for load in [r#"{ paced = { users = 4, rate = "0/s" } }"#, r#"{ open = { rate = "0/s" } }"#] {
        assert!(one_action(load, READ).run(ms(1), secs(5)).requests.is_empty(), "{load}");
    }
}

#[test]
fn actions_follow_weights_and_a_group_may_have_its_own() {
    let case = case(
        r#"
        [[users]]
        name = "plain"
        vm = "vm"
        load = { closed = { users = 4, think = "1ms" } }
        [[users]]
        name = "own"
        vm = "vm"
        load = { closed = { users = 4, think = "1ms" } }
        mix = { b = 30, c = 70 }
        [[action]]
        name = "a"
        weight = 3
        steps = [{ read = { disk = "data", size = "4k" } }]
        [[action]]
        name = "b"
        steps = [{ write = { disk = "data", size = "4k" } }]
        [[action]]
        name = "c"
        weight = 0
        steps = [{ flush = { disk = "log" } }]
        "#,
    );
    let trace = case.run(ms(1), secs(5));
    let count = |group: u16, action: u16| {
        let is_it =
            |done: &&state_machine::ActionDone| done.group.0 == group && done.action.0 == action;
        trace.actions.iter().filter(is_it).count()
    };
    let all = |group| count(group, 0) + count(group, 1) + count(group, 2);
    assert_share(count(0, 0), all(0), 0.75);
    assert_share(count(0, 1), all(0), 0.25);
    assert_eq!((count(0, 2), count(1, 0)), (0, 0));
    assert_share(count(1, 2), all(1), 0.7);
}

/// A driver that the kernel has paused does not fire timers. Actions that were due meanwhile are
/// reported as waiting.
#[test]
fn starts_of_a_held_driver_are_named_before_they_begin() {
    for (load, count) in [
        (r#"{ paced = { users = 4, rate = "20/s", backlog = 1000 } }"#, 40..=40),
        (r#"{ open = { rate = "100/s", outstanding-max = 10 } }"#, 150..=250),
        (r#"{ open = { rate = "0/s" } }"#, 0..=0),
        (r#"{ closed = { users = 5, think = "90ms" } }"#, 5..=5),
    ] {
        let mut machine = one_action(load, READ).build().machine;
        let mut fx = Effects::default();
        machine.handle(Nanos::ZERO, Event::Start, &mut fx);
        let named = |machine: &tilemark_workload::InstanceMachine, now| {
            let mut named = Vec::new();
            machine.waiting_for(now, &mut |open| named.push(open.intended));
            named.sort_unstable();
            named
        };
        let before = named(&machine, secs(2));
        assert!(count.contains(&before.len()), "{load}: {}", before.len());
        assert!(before.iter().all(|intended| *intended < secs(2)), "{load}");
        // The same starts begin, wait or are given up once the timers come.
        for (_, token) in std::mem::take(&mut fx.timers) {
            machine.handle(secs(2), Event::Timer(token), &mut fx);
        }
        let mut after = named(&machine, secs(2));
        after.extend(fx.observations.iter().filter_map(|seen| match seen {
            Observation::Dropped { intended, .. } => Some(*intended),
            Observation::Action(_) => None,
        }));
        after.sort_unstable();
        assert_eq!(after, before, "{load}");
    }
}
