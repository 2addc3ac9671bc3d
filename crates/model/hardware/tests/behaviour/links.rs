//! Links are arithmetic.

use state_machine::Operation;
use tilemark_hardware::{Array, Copies, Link, LinkParameters, LinkPreset, ServiceTime, Station};
use units::Nanos;

use crate::support::{Arrivals, Load, Seconds, Shape, assert_within, drive};

fn behind(link: LinkParameters, shape: Shape, users: u32) -> crate::support::Outcome {
    let mut array = Array::new();
    let store =
        array.add(Station::new(64, ServiceTime::Constant(Nanos::from_micros(1)), None).unwrap());
    let entry = array.add(Link::new(link, Copies::OverLinks, store).unwrap());
    let arrivals = Arrivals::Closed { users, think: Nanos::ZERO };
    drive(array, entry, vec![Load::new(1, shape, arrivals)], Seconds(0.5))
}

#[test]
fn idle_link_adds_its_frames_and_latency_both_ways() {
    for preset in LinkPreset::ALL {
        let link = preset.parameters();
        for reads in [0.0, 1.0] {
            let shape = Shape { length: 65536, reads, ..Shape::READ_4K };
            let (data, overhead) = (f64::from(link.frame_data), f64::from(link.frame_overhead));
            let wire_rate = link.rate * (data + overhead) / data;
            let wire = (65536.0 + (65536.0 / data).ceil() * overhead) / wire_rate;
            let exact = wire + 2.0 * link.latency.as_secs_f64() + 1e-6;
            let outcome = behind(link, shape, 1);
            let gap = (outcome.mean - exact).abs();
            assert!(gap < 2e-9, "{}: {} is not {exact}", preset.name(), outcome.mean);
        }
    }
}

#[test]
fn a_full_link_carries_its_rate_and_each_direction_its_own() {
    let link = LinkPreset::Ethernet1.parameters();
    let one_way = Shape { length: 65536, ..Shape::READ_4K };
    assert_within(0.01, behind(link, one_way, 16).rate * 65536.0, 118.7e6, "1 GbE, bytes/s");
    let both = Shape { reads: 0.5, ..one_way };
    let found = behind(link, both, 64).rate * 65536.0;
    assert!(found > 1.8 * 118.7e6, "duplex carries {found} B/s");
    let jumbo = LinkPreset::Ethernet1.with_frame(9000);
    assert_within(0.01, behind(jumbo, one_way, 16).rate * 65536.0, 123.9e6, "jumbo, bytes/s");
}

/// Story: links sent whole I/Os, so that 8 KiB waited for all of 1 MiB.
#[test]
fn small_read_takes_turns_with_large_ones() {
    let small = Shape { length: 8192, ..Shape::READ_4K };
    let large = Shape { length: 1 << 20, ..Shape::READ_4K };
    let users = |users| Arrivals::Closed { users, think: Nanos::ZERO };
    for flows in [1, 4] {
        let mut array = Array::new();
        let time = ServiceTime::Constant(Nanos::from_micros(1));
        let store = array.add(Station::new(64, time, None).unwrap());
        let entry =
            array.add(Link::new(LinkPreset::Fc8.parameters(), Copies::OverLinks, store).unwrap());
        let loads = vec![Load::new(1, large, users(flows)), Load::new(2, small, users(1))];
        let outcome = drive(array, entry, loads, Seconds(0.5));
        let times = &outcome.loads[1].answered;
        let mean = times.iter().map(|(_, time)| time.as_secs_f64()).sum::<f64>();
        let mean = mean / times.len() as f64;
        let exact = 8192.0 / 800e6 * f64::from(flows + 1) + 11e-6;
        assert_within(0.03, mean, exact, "own frames, and as many of each other flow");
    }
}

#[test]
fn ten_gigabit_is_ten_times_one_gigabit() {
    let rate = |preset: LinkPreset| preset.parameters().rate;
    assert!((rate(LinkPreset::Ethernet10) / rate(LinkPreset::Ethernet1) - 10.0).abs() < 1e-9);
    assert!((rate(LinkPreset::Fc16) / rate(LinkPreset::Fc4) - 4.0).abs() < 1e-9);
}

#[test]
fn a_link_counts_the_bytes_it_carried() {
    let link = LinkPreset::Fc8.parameters();
    let mut array = Array::new();
    let time = ServiceTime::Constant(Nanos::from_micros(1));
    let store = array.add(Station::new(1, time, None).unwrap());
    let entry = array.add(Link::new(link, Copies::OverLinks, store).unwrap());
    let arrivals = Arrivals::Closed { users: 1, think: Nanos::ZERO };
    let outcome = drive(array, entry, vec![Load::new(1, Shape::READ_4K, arrivals)], Seconds(0.1));
    let usage = outcome.array.usage(entry, Nanos::from_millis(100));
    assert_eq!(usage.bytes, usage.completed * 4096);
    let share = usage.utilisation(Nanos::from_millis(100));
    assert!(share > 0.1 && share < 0.5, "one of two directions, part of the time: {share}");
    assert_ne!(Operation::Read, Operation::Write);
}
