//! Simulated servers against queueing theory.

use state_machine::{Purpose, Stream};
use tilemark_hardware::{Array, PartId, ServiceTime, Station};
use units::Nanos;

use crate::closed_forms::{ClosedSystem, OpenLoad};
use crate::support::{Arrivals, Load, Seconds, Shape, assert_mean_is, assert_within, drive};

const SERVICE: Nanos = Nanos::from_millis(1);

fn exponential(seed: u64, mean: Nanos) -> ServiceTime {
    ServiceTime::Exponential(mean, Stream::derive(seed, &[9], Purpose::Device))
}

fn open(seed: u64, servers: u32, time: ServiceTime, rate: f64) -> f64 {
    let mut array = Array::new();
    let entry = array.add(Station::new(servers, time, None).unwrap());
    let load = Load::new(seed, Shape::READ_4K, Arrivals::Poisson(rate));
    drive(array, entry, vec![load], Seconds(40.0)).mean
}

#[test]
fn one_exponential_server_waits_as_m_m_1() {
    let exact = OpenLoad { arrivals: 500.0, service: 1e-3 }.m_m_1();
    assert_mean_is(exact, "M/M/1", |seed| open(seed, 1, exponential(seed, SERVICE), 500.0));
}

#[test]
fn one_constant_server_waits_as_m_d_1() {
    let exact = OpenLoad { arrivals: 600.0, service: 1e-3 }.m_d_1();
    assert_mean_is(exact, "M/D/1", |seed| open(seed, 1, ServiceTime::Constant(SERVICE), 600.0));
}

#[test]
fn several_servers_wait_as_m_m_c() {
    for (servers, rate) in [(2, 1400.0), (8, 6400.0)] {
        let exact = OpenLoad { arrivals: rate, service: 1e-3 }.m_m_c(servers);
        assert_mean_is(exact, "M/M/c", |seed| {
            open(seed, servers, exponential(seed, SERVICE), rate)
        });
    }
}

/// Two stations in a row and thinking users.
fn closed(seed: u64, users: u32) -> (f64, f64, f64) {
    let mut array = Array::new();
    let second = array.add(Station::new(1, exponential(seed, SERVICE), None).unwrap());
    let mean = Nanos::from_millis(2);
    let first = array.add(Station::new(1, exponential(seed + 99, mean), Some(second)).unwrap());
    let arrivals = Arrivals::Closed { users, think: Nanos::from_millis(10) };
    let load = Load::new(seed, Shape::READ_4K, arrivals);
    let outcome = drive(array, first, vec![load], Seconds(40.0));
    let busy = outcome.array.usage(first, Nanos::from_secs(40)).utilisation(Nanos::from_secs(40));
    (outcome.rate, outcome.mean, busy)
}

#[test]
fn a_closed_chain_is_as_fast_as_mean_value_analysis_says() {
    let system = ClosedSystem { demands: vec![0.002, 0.001], think: 0.010 };
    for users in [1, 4, 12] {
        let (throughput, response) = system.solve(users);
        assert_mean_is(throughput, "X", |seed| closed(seed, users).0);
        assert_mean_is(response, "R", |seed| closed(seed, users).1);
        let (rate, _, busy) = closed(1, users);
        assert_within(0.02, busy, rate * 0.002, "utilisation law");
    }
}

#[test]
fn littles_law_holds_inside_a_station() {
    let mut array = Array::new();
    let entry = array.add(Station::new(2, exponential(1, SERVICE), None).unwrap());
    let load = Load::new(1, Shape::READ_4K, Arrivals::Poisson(1500.0));
    let outcome = drive(array, entry, vec![load], Seconds(20.0));
    let usage = outcome.array.usage(entry, Nanos::from_secs(20));
    let inside = usage.inside(Nanos::from_secs(20));
    assert_within(0.05, usage.response(), outcome.mean, "R = N / X");
    assert_within(0.05, inside, outcome.rate * outcome.mean, "N = X R");
}

#[test]
fn a_station_that_cannot_work_is_refused_with_the_value() {
    let error = Station::new(0, ServiceTime::Constant(SERVICE), None).unwrap_err();
    assert_eq!(error.to_string(), "station: servers 0 is not at least 1");
    assert!(Station::new(1, ServiceTime::Constant(Nanos::ZERO), None).is_err());
    assert!(Station::new(1, ServiceTime::PerByte(SERVICE, 0.0), None).is_err());
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_does_not() {
    let hash = |seed| {
        let mut array = Array::new();
        let entry: PartId = array.add(Station::new(3, exponential(seed, SERVICE), None).unwrap());
        let load = Load::new(seed, Shape::READ_4K, Arrivals::Poisson(2000.0));
        drive(array, entry, vec![load], Seconds(2.0)).hash
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}
