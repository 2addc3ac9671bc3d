//! Hosts that hold copies together.

use state_machine::{Operation, Purpose, Stream};
use tilemark_hardware::{
    Array, HostWays, LinkParameters, Network, PartId, Replicated, ReplicatedCounts,
    ReplicatedParameters, ServiceTime, Station,
};
use units::{Bytes, Nanos};

use crate::support::{Arrivals, Load, Outcome, Seconds, Shape, assert_within, drive};

const PARAMETERS: ReplicatedParameters =
    ReplicatedParameters { copies: 2, stripe: Bytes::new(1 << 20), read_unit: Bytes::new(65536) };

const LINK: LinkParameters = LinkParameters::stream(100e6, Nanos::from_micros(50));

/// A cluster whose hosts' storage is a station each.
struct Cluster {
    array: Array,
    entry: PartId,
    network: PartId,
    hosts: Vec<PartId>,
}

fn cluster(hosts: u32, service: impl Fn(u64) -> ServiceTime, link: LinkParameters) -> Cluster {
    let mut array = Array::new();
    let hosts: Vec<PartId> = (0..u64::from(hosts))
        .map(|host| array.add(Station::new(1, service(host), None).unwrap()))
        .collect();
    let network = Network::new(link, u32::try_from(hosts.len()).unwrap()).unwrap();
    let network = array.add(network);
    let ways = HostWays { entries: hosts.clone(), network: Some(network) };
    // The loads of the tests are streams 0, 1, ...: one on each host.
    let homes = (0..u32::try_from(hosts.len()).unwrap()).collect();
    let entry = array.add(Replicated::new(PARAMETERS, ways, homes).unwrap());
    Cluster { array, entry, network, hosts }
}

fn constant(_host: u64) -> ServiceTime {
    ServiceTime::Constant(Nanos::from_millis(1))
}

fn exponential(host: u64) -> ServiceTime {
    let stream = Stream::derive(7, &[host], Purpose::Device);
    ServiceTime::Exponential(Nanos::from_millis(1), stream)
}

const WRITE: Shape = Shape { length: 4096, span: 1 << 30, reads: 0.0, sequential: false };
const READ: Shape = Shape { reads: 1.0, ..WRITE };
const ONE: Arrivals = Arrivals::Closed { users: 1, think: Nanos::ZERO };

fn run(cluster: Cluster, loads: Vec<Load>, seconds: f64) -> (Outcome, ReplicatedCounts) {
    let outcome = drive(cluster.array, cluster.entry, loads, Seconds(seconds));
    let counts = outcome.array.part::<Replicated>(cluster.entry).unwrap().counts();
    (outcome, counts)
}

/// Two exponential copies at no load: the larger of two has the mean of 1.5.
#[test]
fn a_write_takes_as_long_as_its_slowest_copy() {
    let near = LinkParameters::stream(1e15, Nanos::ZERO);
    let cluster = cluster(4, exponential, near);
    let entry = cluster.entry;
    let (outcome, counts) = run(cluster, vec![Load::new(1, WRITE, ONE)], 60.0);
    assert_within(0.02, outcome.mean, 1.5e-3, "the larger of two");
    let copies = counts.local_writes + counts.remote_writes;
    let writes = outcome.array.usage(entry, Nanos::from_secs(60)).completed;
    assert!(copies.abs_diff(2 * writes) <= 2, "{counts:?}, {writes} writes");
}

#[test]
fn a_write_crosses_the_network_once_for_each_copy_elsewhere() {
    let only = cluster(2, constant, LINK);
    let network = only.network;
    let (outcome, counts) = run(only, vec![Load::new(1, WRITE, ONE)], 2.0);
    let wire = 4096.0 / 100e6;
    assert_within(1e-6, outcome.mean, 1e-3 + wire + 2.0 * 50e-6, "there, stored, and back");
    assert_eq!(counts.network_bytes, counts.remote_writes * 4096);
    assert!(counts.remote_writes.abs_diff(counts.local_writes) <= 1, "{counts:?}");
    let network = outcome.array.part::<Network>(network).unwrap();
    assert_eq!(network.traffic(0).sent_bytes, counts.network_bytes);
    assert_eq!(network.traffic(0).received_bytes, 0, "answers carry no data");
}

#[test]
fn a_read_comes_from_the_own_host_or_over_the_network() {
    let (outcome, counts) = run(cluster(4, constant, LINK), vec![Load::new(1, READ, ONE)], 20.0);
    let all = (counts.local_reads + counts.remote_reads) as f64;
    assert_within(0.02, counts.remote_reads as f64 / all, 0.75, "three of four hosts are others");
    assert_eq!(counts.network_bytes / 4096, counts.remote_reads);
    let remote = 1e-3 + 4096.0 / 100e6 + 2.0 * 50e-6;
    assert_within(0.005, outcome.mean, 0.25 * 1e-3 + 0.75 * remote, "a quarter is near");
}

/// All loads on all hosts, at random: the utilisation law for every host and port.
#[test]
fn load_is_spread_over_hosts_and_ports_as_counting_says() {
    let mixed = Shape { reads: 0.5, ..WRITE };
    let each = cluster(4, constant, LINK);
    let (hosts, network) = (each.hosts.clone(), each.network);
    let rate = 250.0;
    let loads = (0..4).map(|seed| Load::new(seed, mixed, Arrivals::Poisson(rate))).collect();
    let (outcome, _) = run(each, loads, 100.0);
    let end = Nanos::from_secs(100);
    // Half reads of one copy and half writes of two are 1.5 services of 1 ms.
    for host in hosts {
        let busy = outcome.array.usage(host, end).utilisation(end);
        assert_within(0.03, busy, rate * 1.5e-3, "a host");
    }
    let network = outcome.array.part::<Network>(network).unwrap();
    for host in 0..4 {
        // Three quarters of all copies and of all reads are on other hosts.
        let expected = rate * 1.5 * 0.75 * 4096.0 * 100.0;
        assert_within(0.03, network.traffic(host).sent_bytes as f64, expected, "sent");
        assert_within(0.03, network.traffic(host).received_bytes as f64, expected, "received");
    }
}

#[test]
fn large_requests_are_cut_at_stripes_and_reads_at_units() {
    let ways = HostWays { entries: cluster(3, constant, LINK).hosts, network: None };
    let replicated = Replicated::new(PARAMETERS, ways, Vec::new()).unwrap();
    let map = |operation, span| {
        let mut found = Vec::new();
        replicated.map(operation, span, |host, offset, length| found.push((host, offset, length)));
        found
    };
    let lengths: Vec<u32> = map(Operation::Read, (65536 - 4096, 65536 + 8192))
        .iter()
        .map(|(_, _, length)| *length)
        .collect();
    assert_eq!(lengths, [4096, 65536, 4096]);
    let written = map(Operation::Write, ((1 << 20) - 4096, 8192));
    assert_eq!(written.len(), 4, "two stripes on two hosts each: {written:?}");
    let again = |offset| map(Operation::Read, (offset, 512))[0].0;
    assert!((0..128).all(|at| again(at * 512) == again(0)), "one host reads a unit");
    assert_eq!(replicated.capacity(Bytes::GIB), Bytes::new(1536 << 20));
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let hash = || {
        let mixed = Shape { reads: 0.5, ..WRITE };
        let loads = (0..3).map(|seed| Load::new(seed, mixed, Arrivals::Poisson(200.0))).collect();
        run(cluster(3, exponential, LINK), loads, 5.0).0.hash
    };
    assert_eq!(hash(), hash());
}
