use tilemark_sim::plant::{Plant, PlantError, PlantInstance, PlantPlan};
use units::Nanos;

use crate::support::{Load, instance, run};

const GIB: u64 = 1 << 30;

/// Tiles like the datacenter tile in shape: a few instances with two to four disks each, some of
/// two virtual machines.
fn tiles(count: u32) -> Vec<PlantInstance> {
    let instances = (0..count).flat_map(|tile| {
        let mut two = instance(tile, &[16 * GIB, 40 * GIB]);
        two.vcpus = vec![2, 2];
        two.vms = vec![String::from("load/one"), String::from("load/two")];
        two.disks[1].vm = 1;
        let four = instance(tile, &[8 * GIB, 8 * GIB, 8 * GIB, 24 * GIB]);
        [two, four, instance(tile, &[10 * GIB, 20 * GIB])]
    });
    instances.collect()
}

fn loads(instances: &[PlantInstance]) -> Vec<Load> {
    let load = |(number, own): (u64, &PlantInstance)| Load {
        reads: 0.67,
        length: 8192,
        addresses: GIB / 8192,
        disk: u16::try_from(own.disks.len() - 1).expect("few"),
        think: Nanos::from_millis(5),
        ..Load::users(number, 8)
    };
    (0..).zip(instances).map(load).collect()
}

#[test]
fn shipped_arrays_answer_all_requests_of_one_and_two_tiles() {
    for name in spec::shipped::array_names() {
        let array = spec::shipped::array(name).expect("it is shipped");
        for count in [1, 2] {
            let instances = tiles(count);
            let plant =
                match Plant::new(&PlantPlan { array: &array, instances: &instances, seed: 1 }) {
                    Ok(plant) => plant,
                    Err(PlantError::TooSmall { needed, capacity, .. }) => {
                        assert!(needed > capacity, "{name}: {needed} fit {capacity}");
                        continue;
                    }
                    Err(error) => panic!("{name} with {count} tiles: {error:?}"),
                };
            let run = run(plant, loads(&instances), 3);
            assert!(run.outcome.submitted > 500, "{name}: {:?}", run.outcome);
            assert_eq!(run.outcome.submitted, run.outcome.completed, "{name}, {count} tiles");
            for load in &run.loads {
                assert!(load.answered > 0 && load.failed == 0, "{name}: {load:?}");
            }
            assert!(run.facts.parts.iter().any(|part| part.iops > 0.0), "{name}: {:?}", run.facts);
        }
    }
}

/// FVP, which this array follows, delivers a write to the storage in less than a second.
#[test]
fn host_flash_destages_within_a_second() {
    let array = spec::shipped::array("host-flash").expect("it is shipped");
    let instances = tiles(2);
    let plant = Plant::new(&PlantPlan { array: &array, instances: &instances, seed: 1 });
    let run = run(plant.expect("it fits"), loads(&instances), 10);
    let tier = &run.facts.tiers[0].counts;
    assert!(tier.write_hit_bytes > 16 << 20, "{tier:?}");
    assert!(tier.destaged_bytes > 0, "{tier:?}");
    // A tenth of the bytes that arrived within ten seconds.
    assert!(tier.dirty_bytes_max < tier.write_hit_bytes / 10, "{tier:?}");
}
