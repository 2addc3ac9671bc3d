//! Queue limits: how many pass, and whose turn it is.

use state_machine::{Purpose, Stream};
use tilemark_hardware::{Array, LimitParameters, QueueLimit, ServiceTime, Station};
use units::Nanos;

use crate::support::{Arrivals, Load, Outcome, Seconds, Shape, assert_within, drive};

/// Users of each load, behind a limit in front of a hundred servers that take 1 ms on average.
fn limited(users: &[u32], parameters: LimitParameters) -> Outcome {
    let mut array = Array::new();
    let stream = Stream::derive(7, &[], Purpose::Device);
    let time = ServiceTime::Exponential(Nanos::from_millis(1), stream);
    let store = array.add(Station::new(100, time, None).unwrap());
    let entry = array.add(QueueLimit::new(parameters, store).unwrap());
    let loads = users.iter().enumerate().map(|(seed, users)| {
        let arrivals = Arrivals::Closed { users: *users, think: Nanos::ZERO };
        Load::new(seed as u64, Shape::READ_4K, arrivals)
    });
    drive(array, entry, loads.collect(), Seconds(2.0))
}

#[test]
fn no_more_pass_than_the_limit() {
    let outcome = limited(&[50], LimitParameters { depth: 10, depth_shared: 10 });
    assert_within(0.05, outcome.rate, 10_000.0, "ten at a time of 1 ms");
    assert_within(0.05, outcome.mean, 0.005, "fifty share ten slots");
}

#[test]
fn a_shared_queue_has_the_smaller_limit() {
    let parameters = LimitParameters { depth: 64, depth_shared: 32 };
    assert_within(0.05, limited(&[80], parameters).rate, 64_000.0, "alone");
    assert_within(0.05, limited(&[40, 40], parameters).rate, 32_000.0, "shared");
}

#[test]
fn a_deep_queue_does_not_keep_out_a_neighbour() {
    let outcome = limited(&[200, 24], LimitParameters { depth: 16, depth_shared: 16 });
    let counts: Vec<f64> = outcome.loads.iter().map(|load| load.answered.len() as f64).collect();
    assert_within(0.05, counts[0], counts[1], "both get half of the slots");
}

#[test]
fn a_limit_outside_its_range_is_refused() {
    let mut array = Array::new();
    let time = ServiceTime::Constant(Nanos::from_millis(1));
    let store = array.add(Station::new(1, time, None).unwrap());
    let error = QueueLimit::new(LimitParameters { depth: 4, depth_shared: 8 }, store).unwrap_err();
    assert_eq!(
        error.to_string(),
        "queue limit: depth_shared 8 is not at least 1 and at most depth"
    );
    assert!(QueueLimit::new(LimitParameters { depth: 0, depth_shared: 0 }, store).is_err());
}
