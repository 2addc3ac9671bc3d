//! Background I/O of an array, and how it gives way.

use state_machine::KindId;
use tilemark_sim::plant::PlantInstance;

use crate::support::{Load, ONE_SERVER, Run, array, assert_within, instance, plant, run};

const GB: u64 = 1 << 30;

/// Two users that think, beside an instance with 16 that copy without a pause.
fn with_copies(text: &str) -> Run {
    let copies = PlantInstance { copy_kinds: vec![KindId(0)], ..instance(0, &[GB]) };
    let plant = plant(&array(text), &[instance(0, &[GB]), copies]);
    run(plant, vec![Load::users(1, 2), Load::users(2, 16)], 4)
}

#[test]
fn background_of_the_file_lets_foreground_first() {
    let equal = with_copies(ONE_SERVER);
    assert!(equal.loads[0].mean() > 0.017, "equals by default: {:?}", equal.loads);
    let bounds = "[background]\nslow = \"4ms\"\nmost = 16\n";
    let first = with_copies(&format!("{bounds}{ONE_SERVER}"));
    assert!(first.loads[0].mean() < 0.005, "{:?}", first.loads);
    assert!(first.loads[1].answered > 500, "copies never starve: {:?}", first.loads);
    let disk = first.facts.parts.iter().find(|part| part.name == "pool lun disks");
    assert!(disk.is_some_and(|disk| disk.utilisation > 0.99), "the disk rests for nobody");
}

#[test]
fn tier_counts_hits_of_copies_apart() {
    let tier = "[[tier]]\nname = \"fast\"\nsize = \"64MiB\"\ndisk = \"memory\"\n";
    let run = with_copies(&format!("{tier}{ONE_SERVER}"));
    let facts = &run.facts.tiers[0];
    let copies = facts.copies.expect("there were copies");
    assert!(copies.reads > 0 && copies.read_hits > 0 && copies.writes == 0, "{copies:?}");
    assert!(copies.reads < facts.counts.reads && copies.read_hits < facts.counts.read_hits);
    assert!(copies.read_hits < copies.reads, "{copies:?}");
    let plant = plant(&array(&format!("{tier}{ONE_SERVER}")), &[instance(0, &[GB])]);
    let alone = super::support::run(plant, vec![Load::users(1, 2)], 3);
    assert_eq!(alone.facts.tiers[0].copies, None);
}

#[test]
fn copies_inside_the_array_leave_the_link_to_others() {
    let disk = ONE_SERVER.replace("servers = 1", "servers = 64").replace("1ms", "100us");
    let link = "[link]\nkind = \"ethernet-1g\"\n";
    let of = |text: &str| {
        let run = with_copies(&format!("{text}{link}{disk}"));
        let link = run.facts.parts.iter().find(|part| part.name == "link");
        let used = link.expect("a link").utilisation;
        (used, f64::from(u32::try_from(run.loads[0].answered).expect("few")))
    };
    let (hosts, array) = (of(""), of("[controller]\nfull-copy = true\n"));
    assert_within(0.01, hosts.0, 0.5, "one of two directions is full");
    assert!(array.1 > 2.0 * hosts.1, "more for others: {hosts:?}, {array:?}");
    // 4 KiB take three frames of 78 B more, in one of two directions, for 4 s.
    let wire = f64::from(4096 + 3 * 78) * 8e-9;
    assert_within(0.02, array.0, array.1 * wire / 8.0, "only the data of others");
}
