//! A network between hosts: ports, directions, queues.

use sim::{Options, SimInstance, run_model};
use tilemark_hardware::{Array, LinkParameters, Network, PartId, Volume};
use units::{Bytes, Nanos};

use crate::closed_forms::OpenLoad;
use crate::support::{Arrivals, Load, Shape, assert_mean_is, assert_within, shape};

/// 10 MB in a second and 20 us on the way.
const SLOW: LinkParameters = LinkParameters::stream(10e6, Nanos::from_micros(20));
const BYTES: u32 = 10_000;
/// Seconds that a message takes on the wire.
const SPAN: f64 = 1e-3;

struct Sent {
    /// Messages per second and mean time in seconds, by way.
    ways: Vec<(f64, f64)>,
    array: Array,
    network: PartId,
}

/// Messages on these ways among four hosts, each way with arrivals of its own.
fn send(ways: &[(u32, u32)], arrivals: Arrivals, seed: u64, seconds: u64) -> Sent {
    let mut array = Array::new();
    let network = array.add(Network::new(SLOW, 4).unwrap());
    let message = Shape { length: BYTES, span: u64::from(BYTES), reads: 0.0, sequential: false };
    let mut instances = Vec::new();
    for (number, (from, to)) in ways.iter().enumerate() {
        let base = Network::way(*from, *to);
        let size = Bytes::new(u64::from(BYTES));
        array.add_instance(&[Volume { entry: network, base, size }]);
        let machine = Load::new(seed * 100 + number as u64, message, arrivals);
        instances.push(SimInstance { machine, shape: shape(number) });
    }
    let until = Nanos::from_secs(seconds);
    let options = Options { until, slice: until, events_per_instant_max: 1000 };
    run_model(&mut instances, &mut array, &options, &mut |_| {}).expect("time passes");
    let of = |instance: &SimInstance<Load>| {
        let times = &instance.machine.answered;
        let sum: f64 = times.iter().map(|(_, time)| time.as_secs_f64()).sum();
        (times.len() as f64 / seconds as f64, sum / times.len() as f64)
    };
    Sent { ways: instances.iter().map(of).collect(), array, network }
}

const ONE: Arrivals = Arrivals::Closed { users: 1, think: Nanos::ZERO };
const MANY: Arrivals = Arrivals::Closed { users: 8, think: Nanos::ZERO };

#[test]
fn a_message_alone_takes_its_bytes_once_and_the_latency() {
    let sent = send(&[(0, 1)], ONE, 1, 1);
    assert_within(1e-9, sent.ways[0].1, SPAN + 20e-6, "cut-through");
}

#[test]
fn a_port_sends_and_receives_at_the_same_time() {
    let sent = send(&[(0, 1), (1, 0)], MANY, 1, 2);
    for (rate, _) in sent.ways {
        assert_within(0.01, rate, 1000.0, "each direction at full rate");
    }
}

#[test]
fn two_hosts_that_send_to_one_share_its_port() {
    let sent = send(&[(0, 2), (1, 2)], MANY, 1, 2);
    assert_within(0.01, sent.ways[0].0 + sent.ways[1].0, 1000.0, "one port receives");
    let sent = send(&[(0, 1), (0, 2)], MANY, 1, 2);
    assert_within(0.01, sent.ways[0].0 + sent.ways[1].0, 1000.0, "one port sends");
    let sent = send(&[(0, 1), (2, 3)], MANY, 1, 2);
    assert_within(0.01, sent.ways[0].0 + sent.ways[1].0, 2000.0, "nothing is shared");
}

/// Shared frame by frame, the mean depends on the mean length only: `M/G/1-PS` is that of `M/M/1`
/// (Kleinrock 1976, section 4.4).
#[test]
fn messages_at_random_wait_as_shared_processors() {
    let exact = OpenLoad { arrivals: 700.0, service: SPAN }.m_m_1() + 20e-6;
    let arrivals = Arrivals::Poisson(700.0);
    assert_mean_is(exact, "M/D/1-PS", |seed| send(&[(0, 1)], arrivals, seed, 60).ways[0].1);
}

/// Ports that share differently: two messages leave host 0, and one of them meets three others.
#[test]
fn busier_of_two_ports_decides() {
    let sent = send(&[(0, 1), (0, 2), (3, 2), (1, 2)], ONE, 1, 20);
    let into_busy: f64 = sent.ways[1..].iter().map(|(rate, _)| rate).sum();
    assert_within(0.05, into_busy, 1000.0, "three share a port");
    assert!(sent.ways[0].0 > 400.0, "at least a half of its port: {:?}", sent.ways);
    let all: f64 = sent.ways[..2].iter().map(|(rate, _)| rate).sum();
    assert!(all <= 1001.0, "host 0 sends no more than its rate: {:?}", sent.ways);
}

#[test]
fn every_byte_is_counted_where_it_leaves_and_where_it_comes() {
    let sent = send(&[(0, 1), (0, 2), (2, 1)], ONE, 1, 1);
    let network = sent.array.part::<Network>(sent.network).unwrap();
    let traffic: Vec<_> = (0..4).map(|host| network.traffic(host)).collect();
    let total: u64 = traffic.iter().map(|traffic| traffic.sent_bytes).sum();
    assert_eq!(total, traffic.iter().map(|traffic| traffic.received_bytes).sum::<u64>());
    assert_eq!(traffic[0].received_bytes + traffic[1].sent_bytes, 0);
    assert_eq!(traffic[3], network.traffic(99), "an idle port is like none");
    let usage = sent.array.usage(sent.network, Nanos::SECOND);
    assert!(total - usage.bytes <= 3 * u64::from(BYTES), "three may be on their way");
    let busy = traffic[0].sending.as_secs_f64();
    assert_within(1e-9, busy, traffic[0].sent_bytes as f64 / 10e6, "time of its bytes");
}

#[test]
fn a_network_that_cannot_work_is_refused() {
    let stopped = LinkParameters::stream(0.0, Nanos::ZERO);
    let error = Network::new(stopped, 4).unwrap_err();
    assert_eq!(error.to_string(), "network: rate 0 B/s is not above 0 B/s and finite");
    assert!(Network::new(SLOW, 0).is_err());
}
