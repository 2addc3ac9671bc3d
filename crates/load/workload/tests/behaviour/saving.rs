//! Saved state machines: one that continues elsewhere asks for the same requests.

use proptest::prelude::*;
use spec::shipped;
use state_machine::{Effects, Event, Machine, Purpose, Stream};

use crate::repeatability::{everything, uneven};
use crate::support::{Case, case, ms, run_moved, secs};

/// Runs it moved and unmoved, at as many random moments.
fn goes_on(name: &str, case: &Case, until: units::Nanos, moments: &mut Stream) {
    let (alone, events) = run_moved(case, &[], uneven, until);
    assert!(events > 1, "{name}: {events} events");
    let mut moves: Vec<u64> = (0..3).map(|_| moments.below(events)).collect();
    moves.sort_unstable();
    moves.dedup();
    let (moved, _) = run_moved(case, &moves, uneven, until);
    assert!(alone.requests == moved.requests, "{name}: other requests after {moves:?}");
    assert!(alone.calls == moved.calls, "{name}: other calls after {moves:?}");
    assert!(alone.actions == moved.actions, "{name}: other actions after {moves:?}");
    assert!(alone.dropped == moved.dropped, "{name}: others gave up after {moves:?}");
}

#[test]
fn every_shipped_workload_goes_on_elsewhere_as_if_it_had_stayed() {
    let mut moments = Stream::derive(20, &[], Purpose::User);
    for name in shipped::workload_names() {
        let workload = shipped::workload(name).expect("shipped");
        if workload.replay.is_some() {
            continue;
        }
        let (seed, round, tile, copy) = (1, 0, 0, 0);
        let case =
            Case { workload, seed, round, tile, copy, footprint: 0.001, time_scale: 1.0 / 60.0 };
        let until = match () {
            () if name.starts_with(shipped::MICRO) => ms(200),
            // They begin with a pause.
            () if name.starts_with(shipped::OPERATIONS) => secs(120),
            () => secs(8),
        };
        goes_on(name, &case, until, &mut moments);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn all_load_models_and_addresses_go_on_at_any_moment(seed: u64, moment: u64) {
        let mut moments = Stream::derive(moment, &[], Purpose::User);
        goes_on("everything", &Case { seed, ..everything() }, secs(1), &mut moments);
    }

    #[test]
    fn bursts_and_what_was_touched_lately_go_on_at_any_moment(seed: u64, moment: u64) {
        let rest = r#"
        [[users]]
        name = "open"
        vm = "vm"
        [users.load.open]
        rate = "800/s"
        bursts = [{ io = "40%", time = "10%", length = "50ms" }]
        [[action]]
        name = "again"
        [[action.steps]]
        read = { disk = "data", size = "8k", address = { reuse = { sequential = "30%", run = 4, again = [
            { io = "30%", within = "1%" }, { io = "30%", within = "20%" } ] } } }
        [[action.steps]]
        write = { disk = "data", size = "4k", address = { reuse = { sequential = "10%", again = [
            { io = "50%", within = "10%" } ] } } }
        "#;
        let mut moments = Stream::derive(moment, &[], Purpose::User);
        goes_on("again", &Case { seed, ..case(rest) }, secs(2), &mut moments);
    }
}

#[test]
fn what_another_machine_saved_or_nobody_did_is_not_taken_over() {
    let saved = everything().build().machine.saved().expect("users can be saved");
    let other = crate::support::one_action("{ closed = { users = 2 } }", "{ wait = \"1ms\" }");
    let mut machine = other.build().machine;
    let before = machine.saved();
    for wrong in [&saved[..], &saved[..10], b"", &[0xff; 40]] {
        assert!(!machine.go_on_from(wrong));
        assert_eq!(machine.saved(), before, "it is as it was");
    }
}

#[test]
fn users_who_come_later_begin_nothing_that_was_due_before() {
    let mut machine = everything().build().machine;
    machine.begin_at(secs(5));
    let mut fx = Effects::default();
    machine.handle(secs(5), Event::Start, &mut fx);
    assert!(fx.observations.is_empty(), "nobody gave up: {:?}", fx.observations);
    assert!(fx.io.is_empty(), "{:?}", fx.io);
    assert!(fx.timers.len() > 5, "all of them come");
    assert!(fx.timers.iter().all(|(at, _)| (secs(5)..secs(7)).contains(at)), "{:?}", fx.timers);
}
