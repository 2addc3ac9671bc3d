//! Bursts and phases.

use crate::support::{Trace, case, ms, number, secs};
use units::Nanos;

fn burst(load: &str) -> Trace {
    let mut case = case(&format!(
        r#"
        [[users]]
        name = "bursty"
        vm = "vm"
        load = {load}
        schedule = {{ active = "3m", every = "5m" }}
        [[action]]
        name = "a"
        steps = [{{ read = {{ disk = "data", size = "4k" }} }}]
        "#
    ));
    // A 5-minute period in 5 s.
    case.time_scale = 1.0 / 60.0;
    case.run(ms(1), secs(20))
}

fn is_inside(at: Nanos) -> bool {
    at.0 % secs(5).0 < secs(3).0
}

#[test]
fn time_scale_shrinks_the_active_part_of_a_schedule() {
    for load in [
        r#"{ closed = { users = 4, think = "9ms" } }"#,
        r#"{ paced = { users = 4, rate = "400/s" } }"#,
        r#"{ open = { rate = "400/s" } }"#,
    ] {
        let trace = burst(load);
        let count = number(trace.actions.len());
        // 400 a second for 3 s in each of four periods, up to the start of bursts.
        assert!((count - 4800.0).abs() < 5.0 * 4800_f64.sqrt(), "{load}: {count}");
        assert!(trace.actions.iter().all(|done| is_inside(done.intended)), "{load}");
        let rows = |second: usize| trace.slices[second].actions.len();
        assert_eq!((rows(2), rows(4), rows(5)), (1, 0, 1), "{load}");
    }
}

#[test]
fn a_paced_rate_is_exact_inside_windows() {
    let trace = burst(r#"{ paced = { users = 4, rate = "400/s" } }"#);
    // Grids run on active time, so no user's start falls outside for good.
    assert!((number(trace.actions.len()) - 4800.0).abs() <= 4.0, "{}", trace.actions.len());
}

#[test]
fn closed_user_finishes_after_its_window_then_sleeps() {
    let mut case = case(
        r#"
        [[users]]
        name = "u"
        vm = "vm"
        load = { closed = { users = 1 } }
        schedule = { start = "1s", active = "1s", every = "10s" }
        [[action]]
        name = "a"
        steps = [{ read = { disk = "data", size = "4k" } }]
        "#,
    );
    case.time_scale = 1.0;
    let trace = case.run(ms(300), secs(20));
    let starts: Vec<u64> = trace.actions.iter().map(|done| done.started.0 / 1_000_000).collect();
    assert_eq!(starts, [1000, 1300, 1600, 1900, 11_000, 11_300, 11_600, 11_900]);
    assert_eq!(trace.actions[3].finished, ms(2200));
}

#[test]
fn a_group_that_starts_late_and_stops_is_quiet_before_and_after() {
    let case = case(
        r#"
        [[users]]
        name = "check"
        vm = "vm"
        load = { closed = { users = 2 } }
        schedule = { start = "2s", active = "1s" }
        [[action]]
        name = "a"
        steps = [{ read = { disk = "data", size = "1MiB", address = { sequential = {} } } }]
        "#,
    );
    let trace = case.run(ms(10), secs(10));
    assert_eq!(trace.actions.len(), 200);
    assert!(trace.actions.iter().all(|done| done.started >= secs(2) && done.started < secs(3)));
}

#[test]
fn the_mix_changes_by_phase() {
    let mut case = case(
        r#"
        [[users]]
        name = "u"
        vm = "vm"
        load = { closed = { users = 1, think = "1ms" } }
        [[users.phase]]
        schedule = { start = "2m", active = "1m" }
        mix = { scan = 1 }
        [[action]]
        name = "read"
        steps = [{ read = { disk = "data", size = "4k" } }]
        [[action]]
        name = "scan"
        weight = 0
        steps = [{ read = { disk = "data", size = "256k", address = { sequential = {} } } }]
        "#,
    );
    case.time_scale = 1.0 / 60.0;
    let trace = case.run(ms(1), secs(5));
    assert!(trace.actions.len() > 2000);
    for done in &trace.actions {
        let is_phase = done.started >= secs(2) && done.started < secs(3);
        assert_eq!(done.action.0, u16::from(is_phase), "{:?}", done.started);
    }
}
