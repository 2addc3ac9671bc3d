//! The same seed means the same requests; other places in the run mean others.

use crate::support::{Case, case, ms, run_instances, secs};
use sim::Completion;
use spec::workload::DataPattern;
use state_machine::{IoRequest, mix};
use units::{Nanos, Ratio};

/// Everything at once: all load models, most distributions, parallel steps, data.
pub fn everything() -> Case {
    let mut everything = case(
        r#"
        [[users]]
        name = "closed"
        vm = "vm"
        load = { closed = { users = 5, think = { exponential = "2ms" } } }
        [[users]]
        name = "paced"
        vm = "vm"
        load = { paced = { users = 3, rate = "300/s" } }
        schedule = { active = "600ms", every = "1s" }
        [[users]]
        name = "open"
        vm = "vm"
        load = { open = { rate = "500/s" } }
        mix = { walk = 2, update = 1 }
        [[action]]
        name = "look"
        steps = [
            { read = { disk = "data", size = { "4k" = 3, "16k" = 1 }, address = { zipf = { exponent = 1.1 } } } },
            { cpu = { uniform = ["10us", "50us"] } },
            { read = { disk = "data", size = "8k", address = { drift = { working-set = "5%", turnover = "2s" } } } },
        ]
        [[action]]
        name = "walk"
        steps = [{ read = { disk = "data", size = "4k", address = { reuse-walk = {} } } }]
        [[action]]
        name = "update"
        steps = [
            { parallel = [
                { write = { disk = "data", size = "4k", address = { reuse-walk = {} } } },
                { append = { disk = "log", size = "4k" } },
                { read = { disk = "data", size = "8k", address = { sequential = { streams = 3 } } } },
            ] },
            { flush = { disk = "log" } },
        ]
        "#,
    );
    everything.workload.data =
        DataPattern { compressible: Ratio::new(0.3), dedupable: Ratio::new(0.1) };
    everything
}

/// Latency that depends on the request, so that any difference spreads.
pub fn uneven(now: Nanos, request: &IoRequest) -> Completion {
    Completion { at: now + Nanos(1000 + mix(request.offset) % 2_000_000), result: Ok(()) }
}

#[test]
fn equal_seeds_give_equal_requests_and_other_seeds_others() {
    let hash = |seed| {
        let trace = Case { seed, ..everything() }.run_on(uneven, secs(3));
        assert!(trace.requests.len() > 5000, "{}", trace.requests.len());
        trace.hash()
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn another_tile_leaves_the_first_as_it_is() {
    let tile = |tile| Case { tile, ..everything() }.build();
    let alone = run_instances(vec![tile(0)], uneven, secs(2));
    let five = run_instances((0..5).map(tile).collect(), uneven, secs(2));
    assert_eq!(alone[0].hash(), five[0].hash());
    assert_ne!(five[0].hash(), five[4].hash());
}

#[test]
fn copies_and_tiles_of_a_workload_differ() {
    let hash = |tile, copy| Case { tile, copy, ..everything() }.run(ms(1), secs(1)).hash();
    let mut hashes = [hash(0, 0), hash(0, 1), hash(1, 0), hash(1, 1)];
    hashes.sort_unstable();
    assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn another_round_is_another_sequence_for_a_cache() {
    let hash = |round| Case { round, ..everything() }.run(ms(1), secs(1)).hash();
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_machine_taken_to_a_round_is_the_one_built_for_it() {
    let of_round = |round| Case { round, ..everything() }.build();
    let mut taken = of_round(1);
    taken.machine = taken.machine.in_round(2);
    let traces = run_instances(vec![taken], uneven, secs(1));
    let built = run_instances(vec![of_round(2)], uneven, secs(1));
    assert_eq!(traces[0].hash(), built[0].hash());
}

#[test]
fn what_is_written_does_not_change_where() {
    let offsets = |case: &Case| -> Vec<u64> {
        let trace = case.run_on(uneven, secs(1));
        trace.requests.iter().map(|(_, request)| request.offset).collect()
    };
    let plain = everything();
    let mut other = everything();
    other.workload.data = DataPattern::default();
    assert_eq!(offsets(&plain), offsets(&other));
}
