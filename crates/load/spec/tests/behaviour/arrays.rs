//! Arrays with changes applied.

use std::path::Path;

use tilemark_spec as spec;

use spec::array::{Array, Raid, overlay, with_all};
use spec::{SpecError, shipped};
use units::Bytes;

use crate::messages::render;

const BASE: &str = "vnx5500";

fn changed(settings: &[&str]) -> Result<Array, SpecError> {
    let overlay = overlay(settings)?;
    spec::resolve_array_with(BASE, Path::new(""), &[overlay])
}

fn fine(settings: &[&str]) -> Array {
    changed(settings).unwrap_or_else(|e| panic!("{}", render(&e)))
}

/// Paths and messages of the problems.
fn wrong(settings: &[&str]) -> Vec<(String, String)> {
    match changed(settings).expect_err("a mistake") {
        SpecError::Invalid(invalid) => invalid
            .problems()
            .map(|each| {
                let help = each.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
                (each.path.clone(), format!("{}{help}", each.message))
            })
            .collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn settings_change_single_keys_and_nothing_else() {
    let before = shipped::array(BASE).expect("shipped");
    let after = fine(&["tier.fast.size=92GiB", "tier.fast.count=2", "tier.fast.raid=raid1"]);
    let mut expected = before.clone();
    expected.tiers[0].size = Bytes::GIB * 92;
    expected.tiers[0].count = 2;
    expected.tiers[0].raid = Raid::Raid1;
    assert_eq!(after, expected);
    assert_eq!(fine(&[]), before, "no change is no change");
}

#[test]
fn a_list_s_entries_are_addressed_by_name_in_either_form() {
    let by_name = fine(&["pool.lun1.count=4", "pool.lun2.count=4", "pool.lun3.count=3"]);
    let text = "[[pool]]\nname = \"lun3\"\ncount = 3\n[[pool]]\nname = \"lun1\"\ncount = 4\n\
        [[pool]]\nname = \"lun2\"\ncount = 4\n";
    let (name, base) = spec::array_text(BASE, Path::new("")).expect("shipped");
    let overlay: toml::Table = toml::from_str(text).expect("TOML");
    assert_eq!(with_all(&name, &base, &[overlay]).expect("loads"), by_name);
    assert_eq!(by_name.pools.iter().map(|pool| pool.count).sum::<u32>(), 11);
}

#[test]
fn what_is_removed_is_gone_and_what_is_new_is_added() {
    assert!(fine(&["tier.fast.remove=true"]).tiers.is_empty());
    let bare = fine(&["hosts.remove=true", "controller.write-memory.remove=true"]);
    assert!(bare.hosts.is_none() && bare.controller.expect("is left").write_memory.is_none());
    assert_eq!(fine(&["hosts.threads={ remove = true }"]).hosts.expect("hosts").threads, 1.0);
    let more = fine(&[
        "tier.near={ at = \"host\", size = \"8GiB\", disk = \"memory\", write = \"through\" }",
        "pool.lun4={ disk = \"hdd-7200\", count = 5, raid = \"raid5\" }",
        "place.lun4.role=log",
    ]);
    let names: Vec<_> = more.tiers.iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(names, ["near", "fast"], "a tier in hosts comes first");
    assert_eq!(more.pools.last().expect("pools").name, "lun4");
    assert_eq!(more.places[0].pool, "lun4", "a new rule is asked before those of the file");
}

#[test]
fn mistakes_name_the_key_of_the_overlay() {
    let said = [
        wrong(&["tier.fast.size=92"]),
        wrong(&["tier.fast.size=92GiBB"]),
        wrong(&["tier.fast.size=400GiB"]),
        wrong(&["tier.fast.count=2"]),
        wrong(&["tier.fsat.size=92GiB"]),
        wrong(&["tier.fast.sizee=92GiB"]),
        wrong(&["tier.fast.policy=lur"]),
        wrong(&["tier.fsat.remove=true"]),
        wrong(&["tier.fast.remove=1"]),
        wrong(&["tier.fast.remove=true", "tier.fast.size=92GiB"]),
        wrong(&["pool.lun1.remove=true"]),
        wrong(&["pool=3"]),
        wrong(&["tier.fast=3"]),
        wrong(&["kontroller.read-memory.size=4GiB"]),
        wrong(&["controller.read-memory.size=1KiB", "hosts.cores=0"]),
    ];
    insta::with_settings!({ omit_expression => true }, { insta::assert_debug_snapshot!(said) });
}

#[test]
fn frame_fits_the_kind_of_link() {
    let kinds = ["link.kind=ethernet-10g", "link.frame=9000B", "link.header=48B"];
    assert_eq!(fine(&kinds).link.and_then(|link| link.frame), Some(Bytes::new(9000)));
    let of = |settings: &[&str]| wrong(settings).into_iter().map(|(path, _)| path);
    let paths = of(&["link.frame=9000B", "link.header=65KiB"]).collect::<Vec<_>>();
    assert_eq!(paths, ["link.frame", "link.header"], "Fibre Channel carries 2,112 B");
    let streams = ["link.kind={ remove = true }", "link.rate=100MB", "link.frame=1500B"];
    assert_eq!(of(&streams).collect::<Vec<_>>(), ["link.frame"], "no headers are known");
}

#[test]
fn bounds_of_background_are_checked() {
    let background = fine(&["background.slow=20ms"]).background.expect("given");
    assert_eq!((background.least, background.most), (1, 10));
    let of =
        |settings: &[&str]| wrong(settings).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(
        of(&["background.slow=0s", "background.least=0"]),
        ["background.least", "background.slow"]
    );
    let settings = ["background.slow=20ms", "background.least=11"];
    assert_eq!(of(&settings), ["background.least"]);
}

#[test]
fn a_setting_that_is_none_is_refused() {
    for bad in ["", "tier", "=3", "tier..size=3", "a b=3", "tier.fast\n=3", "[x]=3", "a#=1"] {
        let error = overlay(&[bad]).expect_err(bad);
        assert!(matches!(&error, SpecError::Setting { setting, .. } if setting == bad), "{error}");
    }
    let twice = overlay(&["a.b=1", "a.b=2"]).expect_err("twice");
    assert!(twice.to_string().contains("a.b=2"), "{twice}");
    assert!(overlay(&["a=1", "a.b=2"]).is_err() && overlay(&["a.b=2", "a=1"]).is_err());
}

#[test]
fn a_value_without_quotes_is_a_text_unless_toml_reads_it() {
    let table = overlay(&["a.x=92GiB", "a.y=11", "a.z=70%", "a.t=[1, 2]", "b.\"c.d\"=a=b"]);
    let table = table.expect("settings");
    let expected = "[a]\nx = \"92GiB\"\ny = 11\nz = \"70%\"\nt = [1, 2]\n[b]\n\"c.d\" = \"a=b\"\n";
    assert_eq!(table, toml::from_str(expected).expect("TOML"));
}

#[test]
fn room_and_disks_of_shipped_arrays_match_their_sources() {
    let of = |name: &str, tiles| {
        let array = shipped::array(name).expect("shipped");
        (array.data_disks(tiles), array.capacity(tiles).get() / 1_000_000_000)
    };
    assert_eq!(of("vnx5500", 4), (20, 20 * 300));
    assert_eq!(of("vsan-6-hybrid", 40), (8 * 12, 8 * 12 * 900 / 2));
    assert_eq!(of("ds5300", 4), (4 * 60, 4 * 600 * (4 + 4 + 2 + 8 + 7 + 7 + 7)));
    assert_eq!(of("hdd-raid10", 3), (24, 12 * 300));
    assert_eq!(of("nvme-local", 1), (2, 3840));
}

#[test]
fn changes_in_the_sources_of_shipped_arrays_apply() {
    let changed = |name: &str, settings: &[&str]| {
        let overlay = overlay(settings).expect("settings");
        spec::resolve_array_with(name, Path::new(""), &[overlay])
            .unwrap_or_else(|e| panic!("{name}: {}", render(&e)))
    };
    changed("vnx5500", &["tier.fast.size=92GiB", "tier.fast.count=2", "tier.fast.raid=raid1"]);
    changed("vnx5500", &["pool.lun1.count=4", "pool.lun2.count=4", "pool.lun3.count=3"]);
    changed("fas3170", &["link.kind=ethernet-1g", "hosts.io-cpu.per-io=24us"]);
    changed("fas3170", &["link.kind=ethernet-1g", "hosts.io-cpu.per-io=21.75us"]);
    changed("ds5300", &["hosts.count=10", "link.shared=true", "link.count=16"]);
}

/// Array with two hosts and a tier in each, and these further keys.
fn clustered(tier: &str, hosts: &str) -> Result<Array, SpecError> {
    let text = format!(
        r#"
        name = "near"
        title = "near"
        source = "our choice"
        [hosts]
        count = 2
        cores = 4
        {hosts}
        [[tier]]
        name = "near"
        at = "host"
        size = "1GiB"
        disk = "memory"
        {tier}
        [[pool]]
        name = "shelf"
        disk = "hdd-10k"
        count = 4
        "#
    );
    spec::load_array("near.toml", &text)
}

#[test]
fn cluster_and_balancing_keys_are_checked() {
    let domains = r#"replicas = 1
        domains = ["a", "b"]"#;
    let own = clustered(domains, "drs = {}").expect("valid");
    let drs = own.hosts.and_then(|hosts| hosts.drs).expect("it is balanced");
    assert_eq!((drs.threshold, drs.every), (3, units::Nanos::from_secs(300)));
    assert!(own.tiers[0].is_clustered() && !own.tiers[0].clustered);
    for (tier, hosts, says) in [
        ("domains = [\"a\", \"b\"]", "", "fault domains are for the copies of a tier"),
        ("replicas = 1\ndomains = [\"a\"]", "", "1 fault domains for 2 hosts"),
        ("replicas = 1\ndomains = [\"a\", \"a\"]", "", "1 fault domains hold a write and 1 copies"),
        ("shape = \"logged\"\nclustered = true", "", "only paged tiers in hosts are clustered"),
        ("", "drs = { threshold = 6 }", "the migration threshold is 6"),
        ("", "drs = { every = \"0\" }", "the time between two decisions"),
        ("", "migration = { memory = \"0\" }", "the memory of a CPU is 0"),
        ("", "thread-queues = { rebalance = \"0\" }", "the interval of balancing"),
        ("", "thread-queues = { check = \"0\" }", "the interval of checks"),
        ("", "thread-queues = { co-start = \"5ms\" }", "stop at 3 ms and run again at 5 ms"),
    ] {
        let error = clustered(tier, hosts).expect_err(says);
        assert!(render(&error).contains(says), "{}", render(&error));
    }
}
