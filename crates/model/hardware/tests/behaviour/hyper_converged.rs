//! A whole cluster whose hosts are its storage: flash that buffers writes in front of disks, two
//! copies of all data, a network between the hosts.

use state_machine::{Purpose, Stream};
use tilemark_hardware::{
    Array, Hdd, HddPreset, HostWays, LinkPreset, Network, PartId, Raid, RaidLevel, RaidParameters,
    Replicated, ReplicatedParameters, Ssd, SsdBuffer, SsdBufferParameters, SsdPreset,
};
use units::{Bytes, Nanos};

use crate::support::{Arrivals, Load, Outcome, Seconds, Shape, assert_within, drive};

const HOSTS: u32 = 4;

struct Host {
    ssd: PartId,
    disks: Vec<PartId>,
    buffer: PartId,
}

struct Cluster {
    outcome: Outcome,
    hosts: Vec<Host>,
    network: PartId,
}

fn host(array: &mut Array, number: u64, buffer: Bytes) -> Host {
    let disk = HddPreset::Rpm10k.parameters();
    let disks: Vec<PartId> = (0..4).map(|_| array.add(Hdd::new(disk).unwrap())).collect();
    // Whole stripes lie on one disk each, as objects do.
    let level = RaidParameters { level: RaidLevel::Raid0, element: Bytes::GIB };
    let group = array.add(Raid::new(level, disks.clone()).unwrap());
    let flash = SsdPreset::SataEnterprise.parameters();
    let stream = Stream::derive(1, &[number], Purpose::Device);
    let ssd = array.add(Ssd::new(flash, stream).unwrap());
    let buffer = SsdBufferParameters::new(buffer);
    let buffer = array.add(SsdBuffer::new(buffer, ssd, group).unwrap());
    Host { ssd, disks, buffer }
}

/// A load on each host for five seconds.
fn cluster(shape: Shape, rate: f64, buffer: Bytes) -> Cluster {
    let mut array = Array::new();
    let hosts: Vec<Host> =
        (0..u64::from(HOSTS)).map(|number| host(&mut array, number, buffer)).collect();
    let link = LinkPreset::Ethernet10.parameters();
    let network = array.add(Network::new(link, HOSTS).unwrap());
    let entries = hosts.iter().map(|host| host.buffer).collect();
    let ways = HostWays { entries, network: Some(network) };
    let homes = (0..HOSTS).collect();
    let entry = array.add(Replicated::new(ReplicatedParameters::new(2), ways, homes).unwrap());
    let load = |seed| Load::new(u64::from(seed), shape, Arrivals::Poisson(rate));
    let outcome = drive(array, entry, (0..HOSTS).map(load).collect(), Seconds(5.0));
    Cluster { outcome, hosts, network }
}

const END: Nanos = Nanos::from_secs(5);
const WRITE: Shape = Shape { length: 4096, span: 400 << 30, reads: 0.0, sequential: false };

fn completed(cluster: &Cluster, part: PartId) -> f64 {
    cluster.outcome.array.usage(part, END).completed as f64
}

#[test]
fn writes_are_as_fast_as_flash_and_network_and_load_is_shared() {
    let found = cluster(WRITE, 2000.0, Bytes::GIB);
    let mean = found.outcome.mean;
    assert!((60e-6..500e-6).contains(&mean), "flash there and the way back: {mean}");
    for host in &found.hosts {
        assert_within(0.03, completed(&found, host.ssd), 2000.0 * 2.0 * 5.0, "two copies of all");
    }
    let network = found.outcome.array.part::<Network>(found.network).unwrap();
    for host in 0..HOSTS {
        // Both copies are elsewhere for half of the data, one for the other half.
        let expected = 2000.0 * 5.0 * 1.5 * 4096.0;
        assert_within(0.03, network.traffic(host).sent_bytes as f64, expected, "sent");
    }
}

#[test]
fn disks_store_what_was_written_once_and_in_address_order() {
    // A set of 64 MiB written again and again, and a buffer that must destage all the time.
    let hot = Shape { span: 64 << 20, ..WRITE };
    let found = cluster(hot, 2000.0, Bytes::new(48 << 20));
    let (mut written, mut stored) = (0, 0);
    for host in &found.hosts {
        let counts = found.outcome.array.part::<SsdBuffer>(host.buffer).unwrap().counts();
        written += counts.writes;
        stored += counts.flushes;
        for disk in &host.disks {
            let busy = found.outcome.array.usage(*disk, END).utilisation(END);
            assert!(busy < 0.9, "the disks keep up: {busy}");
        }
    }
    assert!(stored * 2 < written, "{stored} disk writes of {written} copies");
    assert!(found.outcome.mean < 500e-6, "{}", found.outcome.mean);
}

#[test]
fn reads_of_what_was_never_written_take_the_time_of_disks() {
    let found = cluster(Shape { reads: 1.0, ..WRITE }, 200.0, Bytes::GIB);
    assert!((3e-3..15e-3).contains(&found.outcome.mean), "{}", found.outcome.mean);
}

#[test]
fn the_same_seed_gives_the_same_cluster() {
    let hash = || cluster(Shape { reads: 0.5, ..WRITE }, 500.0, Bytes::GIB).outcome.hash;
    assert_eq!(hash(), hash());
}
