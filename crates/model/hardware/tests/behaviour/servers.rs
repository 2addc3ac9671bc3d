//! Disks of which only the outside is known.

use state_machine::{Purpose, Stream};
use tilemark_hardware::{Array, Servers, ServersParameters, Variation};
use units::{Bytes, Nanos};

use crate::support::{Arrivals, Load, Outcome, Seconds, Shape, assert_within, drive};

/// 100 us a read, 50 us a write, 1 GB/s.
fn plain(servers: u32) -> ServersParameters {
    let times = (Nanos::from_micros(100), Nanos::from_micros(50));
    ServersParameters::plain(Bytes::GIB * 64, servers, times, 1e9)
}

fn run(parameters: ServersParameters, length: u32, reads: f64, users: u32) -> Outcome {
    let mut array = Array::new();
    let stream = Stream::derive(3, &[], Purpose::Device);
    let entry = array.add(Servers::new(parameters, stream).unwrap());
    let shape = Shape { length, span: 1 << 35, reads, sequential: false };
    let load = Load::new(1, shape, Arrivals::Closed { users, think: Nanos::ZERO });
    drive(array, entry, vec![load], Seconds(1.0))
}

/// Mean and standard deviation of the latencies, in seconds.
fn spread(outcome: &Outcome) -> (f64, f64) {
    let latencies = outcome.loads[0].answered.iter().map(|(_, latency)| latency.as_secs_f64());
    let latencies: Vec<f64> = latencies.collect();
    (stats::mean(&latencies).unwrap(), stats::stdev(&latencies).unwrap())
}

#[test]
fn one_user_waits_for_the_server_the_bytes_and_the_latency() {
    let parameters = ServersParameters { latency: Nanos::from_micros(10), ..plain(1) };
    assert_within(0.001, run(parameters.clone(), 4096, 1.0, 1).mean, 114.096e-6, "read");
    assert_within(0.001, run(parameters, 4096, 0.0, 1).mean, 64.096e-6, "write");
}

#[test]
fn many_users_get_what_the_slower_of_servers_and_rate_gives() {
    assert_within(0.01, run(plain(4), 4096, 1.0, 32).rate, 40_000.0, "four servers");
    assert_within(0.01, run(plain(4), 1 << 20, 1.0, 32).rate, 1e9 / 1_048_576.0, "rate");
    let writes = ServersParameters { write_rate: 5e8, ..plain(4) };
    assert_within(0.01, run(writes, 1 << 20, 0.0, 32).rate, 5e8 / 1_048_576.0, "write rate");
}

/// An elevator that only goes up makes a request wait for a random part of a round: latency
/// is uniform from nothing to twice the mean, whose deviation is 0.577 of the mean. Behind a
/// queue in order of arrival it would not vary at all.
#[test]
fn beyond_the_window_requests_come_in_by_address() {
    let (_, deviation) = spread(&run(plain(1), 65_536, 1.0, 64));
    assert!(deviation < 0.1e-3, "{deviation} s in order of arrival");
    let window = ServersParameters { window: Some(Bytes::new(65_536)), ..plain(1) };
    let outcome = run(window, 65_536, 1.0, 64);
    let (mean, deviation) = spread(&outcome);
    assert_within(0.1, deviation / mean, 0.577, "deviation by address");
    assert_within(0.02, mean * outcome.rate, 64.0, "Little's law");
}

/// A tenth of the time is stalls of 10 ms on average: ten in a second that is not stalled
/// take 0.1 s. A request finds one coming with the rate times its time in service.
#[test]
fn stalls_take_their_share_of_the_time_and_strike_who_is_inside() {
    let variation = Variation {
        stalls_per_s: 10.0,
        stalls: vec![Nanos::from_millis(5), Nanos::from_millis(15)],
        ..Variation::default()
    };
    let outcome = run(ServersParameters { variation, ..plain(1) }, 4096, 1.0, 1);
    let whole = run(plain(1), 4096, 1.0, 1);
    assert_within(0.06, outcome.rate, whole.rate / 1.1, "what is left of the rate");
    let struck = outcome.loads[0].answered.iter().filter(|(_, l)| *l > Nanos::from_millis(4));
    let struck = struck.count() as f64;
    assert!((4.0..=16.0).contains(&struck), "{struck} requests in 0.9 s were struck");
}

#[test]
fn every_pace_serves_as_many_requests() {
    let every = Nanos::from_millis(1);
    let variation = Variation { every, pace: vec![1.0, 3.0], ..Variation::default() };
    let outcome = run(ServersParameters { variation, ..plain(1) }, 512, 1.0, 1);
    let (mean, deviation) = spread(&outcome);
    assert_within(0.05, mean, 2.0 * 100.512e-6, "mean of uniform paces");
    assert_within(0.1, deviation / mean, 0.577 / 2.0, "and their deviation");
}

#[test]
fn the_same_stream_gives_the_same_latencies() {
    let variation = Variation {
        pace: vec![0.5, 1.0, 4.0],
        stalls_per_s: 100.0,
        stalls: vec![Nanos::from_micros(100), Nanos::from_millis(2)],
        ..Variation::default()
    };
    let parameters = ServersParameters { variation, window: Some(Bytes::new(1 << 17)), ..plain(3) };
    let hash = || run(parameters.clone(), 16_384, 0.7, 32).hash;
    assert_eq!(hash(), hash());
}

#[test]
fn what_cannot_be_is_refused() {
    let stream = || Stream::derive(3, &[], Purpose::Device);
    let bad = |parameters| Servers::new(parameters, stream()).unwrap_err().parameter;
    assert_eq!(bad(ServersParameters { servers: 0, ..plain(1) }), "servers");
    assert_eq!(bad(ServersParameters { write: Nanos::ZERO, ..plain(1) }), "write");
    assert_eq!(bad(ServersParameters { write_rate: 0.0, ..plain(1) }), "write_rate");
    let variation = Variation { pace: vec![1.0, 0.0], ..Variation::default() };
    assert_eq!(bad(ServersParameters { variation, ..plain(1) }), "pace");
}
