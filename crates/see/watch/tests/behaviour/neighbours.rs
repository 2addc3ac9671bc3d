//! Neighbours in simulated days: an aggressor, bystanders, and pairs that rise together.

use fixtures::host::{World, host};
use run_store::slice::Direction;
use tilemark_watch::{Neighbours, neighbours};

fn named(found: &Neighbours) -> Vec<&str> {
    found.named.iter().map(|own| &*own.name).collect()
}

#[test]
fn aggressor_is_named_with_its_factor() {
    let slices = host(World { times: 3.0, has_twin: false, days: 3 }, 7);
    let found = neighbours(&slices, "web1", 1);
    assert_eq!(named(&found), ["backup01"]);
    let own = &found.named[0];
    assert!(own.times.low > 2.0 && own.times.high < 4.5, "{:?}", own.times);
    assert_eq!((own.direction, own.felt_by), (Direction::Write, Direction::Read));
    assert_eq!((own.days_slower, own.days), (3, 3));
    assert!(own.bytes_per_s > 1e8);
    assert!(neighbours(&slices, "nobody", 1).named.is_empty());
}

#[test]
fn two_that_rise_together_are_told_as_a_pair() {
    let slices = host(World { times: 3.0, has_twin: true, days: 3 }, 8);
    let found = neighbours(&slices, "web1", 1);
    assert_eq!(named(&found), Vec::<&str>::new());
    assert_eq!(found.together, [("backup01".into(), "twin".into())]);
}

/// Latencies that drift for an hour make three days short, so intervals are a little too narrow.
#[test]
fn interval_has_the_true_factor_nearly_always() {
    let has_it = (0..20).filter(|seed| {
        let found =
            neighbours(&host(World { times: 2.0, has_twin: false, days: 3 }, 50 + seed), "web1", 1);
        found.named.iter().any(|own| (own.times.low..own.times.high).contains(&2.0))
    });
    let has_it = has_it.count();
    assert!(has_it >= 16, "{has_it} of 20 intervals");
}

/// The figure `watch.neighbour_power` is this with more hosts.
#[test]
fn most_aggressors_are_named_and_few_bystanders() {
    let (hosts, mut right, mut wrong) = (20, 0, 0);
    for seed in 0..hosts {
        let found =
            neighbours(&host(World { times: 1.5, has_twin: false, days: 2 }, seed), "web1", 1);
        right += u32::from(named(&found).contains(&"backup01"));
        let quiet = neighbours(
            &host(World { times: 1.0, has_twin: false, days: 2 }, 100 + seed),
            "web1",
            1,
        );
        wrong += u32::from(!quiet.named.is_empty());
    }
    assert!(right >= 16, "{right} of {hosts} aggressors that cost half as much again were named");
    assert!(wrong <= 3, "{wrong} of {hosts} quiet hosts had somebody named");
}
