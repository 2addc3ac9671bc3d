//! Neighbours in simulated days: an aggressor, bystanders, and pairs that rise together.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use run_store::slice::{Direction, SizeClass};
use tilemark_watch::{Cell, Key, Neighbours, Slice, neighbours};
use units::Nanos;

use crate::model::START;

/// What a simulated host does.
#[derive(Clone, Copy)]
struct World {
    /// Factor of the victim's latency while the aggressor is busy.
    times: f64,
    /// True if a second VM is busy whenever the aggressor is.
    has_twin: bool,
    days: u64,
}

fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    f64::from(rng.next_u32()) / f64::from(u32::MAX)
}

fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0
}

fn add(slice: &mut Slice, vm: &str, direction: Direction, count: f64, bytes: f64, latency_ms: f64) {
    let key =
        Key { vm: vm.into(), disk: "sda".into(), direction, class: Some(SizeClass::of(4096)) };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let (count, bytes, latency) = (count as u64, bytes as u64, (latency_ms * 1e6) as u64);
    let latencies = [(Nanos(latency), u32::try_from(count).unwrap())].into_iter().collect();
    slice.io.insert(
        key,
        Cell { count, bytes, latency_ns: latency * count, latencies, ..Cell::default() },
    );
}

/// Days in slices of a minute: a victim whose own load goes up and down and slows it, a backup of an
/// hour a night at random times, and eight bystanders with bursts and a day of their own.
fn host(world: World, seed: u64) -> Vec<Slice> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut slices, mut drift, mut bursts) = (Vec::new(), 0.0, [0.0_f64; 8]);
    for day in 0..world.days {
        let begins: Vec<u64> = (0..3).map(|_| u64::from(rng.next_u32()) % 1400).collect();
        for minute in 0..1440 {
            let start_s = START + 86_400 * day + 60 * minute;
            let mut slice = Slice { watched: Nanos::from_secs(60), ..Slice::new(start_s, 60) };
            let is_busy = begins.iter().any(|begin| (*begin..begin + 60).contains(&minute));
            // Slow drift of the array, whoever uses it.
            drift = 0.95 * drift + 0.1 * normal(&mut rng);
            #[expect(clippy::cast_precision_loss)]
            let daily = 1.0 + 0.6 * (minute as f64 / 1440.0 * std::f64::consts::TAU).sin();
            let own = 100.0 * daily * (0.3 * normal(&mut rng)).exp();
            let felt = if is_busy { world.times } else { 1.0 };
            let latency =
                2.0 * felt * (own / 100.0).powf(0.3) * (drift + 0.2 * normal(&mut rng)).exp();
            add(&mut slice, "web1", Direction::Read, 60.0 * own, 60.0 * own * 8192.0, latency);
            let backup = if is_busy { 200e6 } else { 1e5 } * (0.2 * normal(&mut rng)).exp();
            add(&mut slice, "backup01", Direction::Write, 100.0, 60.0 * backup, 5.0);
            if world.has_twin {
                let twin = backup * (0.1 * normal(&mut rng)).exp();
                add(&mut slice, "twin", Direction::Read, 100.0, 60.0 * twin, 5.0);
            }
            for (at, burst) in bursts.iter_mut().enumerate() {
                *burst = 0.9 * *burst + 0.4 * normal(&mut rng);
                let rate = 2e6 * daily * burst.exp();
                add(&mut slice, &format!("vm{at}"), Direction::Write, 50.0, 60.0 * rate, 3.0);
            }
            slices.push(slice);
        }
    }
    slices
}

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
