//! The shipped definitions load, survive a round trip, and have the demand of their sources.

use std::path::{Path, PathBuf};

use tilemark_spec as spec;

use spec::demand::{self, Demand};
use spec::{ResolvedTile, shipped};
use units::Nanos;

use crate::messages::render;

fn tile(name: &str) -> ResolvedTile {
    shipped::tile(name).unwrap_or_else(|error| panic!("{name}: {}", render(&error)))
}

fn part(tile: &str, workload: &str) -> Demand {
    let tile = self::tile(tile);
    let (workload, _) =
        tile.workloads.iter().find(|(each, _)| each.name == workload).expect("a workload");
    demand::of_workload(workload, Nanos::ZERO).expect("a bounded demand")
}

/// Checks a value against that of a source, within a share of it.
fn near(name: &str, value: f64, expected: f64, share: f64) {
    assert!(
        (value - expected).abs() <= expected * share,
        "{name} is {value:.2}, expected {expected} within {:.0} %",
        share * 100.0
    );
}

#[test]
fn every_shipped_tile_and_workload_loads() {
    for name in shipped::tile_names() {
        tile(name);
    }
    for name in shipped::workload_names() {
        shipped::workload(name).unwrap_or_else(|e| panic!("{name}: {}", render(&e)));
    }
}

#[test]
fn every_definition_survives_a_round_trip_through_toml() {
    for name in shipped::workload_names() {
        let before = shipped::workload(name).expect("loads");
        let text = toml::to_string(&before).expect("serialises");
        let after = spec::load_workload(name, &text);
        assert_eq!(before, after.unwrap_or_else(|e| panic!("{}", render(&e))));
    }
    for name in shipped::tile_names() {
        let before = tile(name).tile;
        let text = toml::to_string(&before).expect("serialises");
        assert_eq!(before, spec::load_tile(name, &text).expect("loads again"));
    }
}

#[test]
fn files_in_tiles_and_shipped_files_are_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../data/tiles");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let mut on_disk: Vec<String> = files
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap().with_extension("").display().to_string())
        .collect();
    let mut known: Vec<String> = shipped::tiles().iter().map(|file| file.name.to_owned()).collect();
    known.extend(shipped::group_names().map(|name| format!("operations/{name}")));
    known.extend(shipped::workload_names().map(|name| format!("workloads/{name}")));
    on_disk.sort();
    known.sort();
    assert_eq!(on_disk, known);
}

#[test]
fn every_shipped_array_loads_by_name_and_round_trips() {
    for file in shipped::arrays() {
        let before =
            shipped::array(file.name).unwrap_or_else(|e| panic!("{}: {}", file.name, render(&e)));
        assert_eq!(before.name, file.name);
        let text = toml::to_string(&before).expect("serialises");
        let after = spec::load_array(file.name, &text);
        assert_eq!(before, after.unwrap_or_else(|e| panic!("{}", render(&e))));
    }
}

#[test]
fn files_in_arrays_and_shipped_files_are_the_same() {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../data/arrays"), &mut files);
    let name = |path: &PathBuf| path.file_stem().expect("a file").to_string_lossy().into_owned();
    let mut on_disk: Vec<String> = files.iter().map(name).collect();
    let mut known: Vec<String> = shipped::array_names().map(str::to_owned).collect();
    on_disk.sort();
    known.sort();
    assert_eq!(on_disk, known);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "toml") {
            files.push(path);
        }
    }
}

#[test]
fn every_shipped_workload_is_used_by_a_tile() {
    let used: Vec<String> = shipped::tile_names()
        .map(tile)
        .chain(shipped::group_names().map(|name| shipped::group(name).expect("loads")))
        .flat_map(|each| each.tile.workloads)
        .map(|part| part.workload)
        .collect();
    for name in shipped::workload_names() {
        assert!(used.iter().any(|each| each == name), "no tile uses {name}");
    }
}

#[test]
fn every_shipped_operation_group_runs_beside_every_tile() {
    for (group, name) in shipped::group_names().flat_map(|group| {
        let has_disks = |name: &&str| {
            let tile = tile(name);
            tile.all().any(|(own, _)| own.vms.iter().any(|vm| !vm.disks.is_empty()))
        };
        let tiles = shipped::tile_names().filter(has_disks);
        tiles.map(move |name| (group, name))
    }) {
        let both = spec::with_operations(tile(name), group, Path::new(""));
        let both = both.unwrap_or_else(|error| panic!("{group} beside {name}: {error}"));
        assert_eq!(both.all().count(), both.workloads.len() + both.operations.len());
        assert!(!both.operations.is_empty());
    }
}

#[test]
fn workload_without_think_time_is_scored_by_10_ms_per_io() {
    for name in shipped::workload_names() {
        let workload = shipped::workload(name).expect("loads");
        if demand::of_workload(&workload, Nanos::ZERO).is_some() {
            continue;
        }
        let demand = demand::of_workload(&workload, Nanos::from_millis(10)).expect("bounded");
        let counted = match workload.metric.count {
            spec::workload::Counted::Bytes => demand.read_bytes_per_s + demand.written_bytes_per_s,
            _ => demand.io_per_s(),
        } / workload.metric.divide_by;
        near(name, workload.metric.reference.expect("a reference"), counted, 1e-9);
    }
}

#[test]
fn datacenter_has_24_percent_reads_at_about_1_000_iops() {
    let all = demand::of_tile(&tile("datacenter"), Nanos::ZERO).expect("bounded");
    assert!((all.read_share() - 0.24).abs() <= 0.02, "reads are {:.3}", all.read_share());
    near("reads/s", all.reads_per_s, 400.0, 0.25);
    assert!((500.0..=1000.0).contains(&all.writes_per_s), "{} writes/s", all.writes_per_s);
    // Storage with answers of 1 ms slows the shop down only a little.
    let slower = demand::of_tile(&tile("datacenter"), Nanos::from_millis(1)).expect("bounded");
    assert!((slower.read_share() - 0.24).abs() <= 0.02, "reads are {:.3}", slower.read_share());
}

#[test]
fn datacenter_workloads_keep_the_published_rates_and_mixes() {
    let mail = part("datacenter", "mail");
    assert!((0.94..0.96).contains(&(1.0 - mail.read_share())), "{mail:?}");
    let workload = shipped::workload("mail").expect("loads");
    let spec::workload::Load::Paced { users, rate, .. } = workload.groups[0].load else {
        panic!("mail is paced")
    };
    assert_eq!(users, 1000);
    assert!((320.0..=330.0).contains(&(rate.get() * 60.0)));
    near("web operations/min", part("datacenter", "web").actions_per_s * 60.0, 4550.0, 0.01);
    let shop = part("datacenter", "shop");
    near("orders/min", shop.actions_per_s * 60.0, 5000.0, 0.02);
    assert!((shop.read_share() - 0.55).abs() <= 0.02, "{shop:?}");
}

#[test]
fn datacenter_has_eight_machines_and_the_published_working_set() {
    let tile = tile("datacenter");
    assert_eq!(tile.vms(), 8);
    let total = |of: fn(&spec::workload::Workload) -> units::Bytes| {
        tile.workloads.iter().map(|(workload, _)| of(workload).as_f64()).sum::<f64>() / 1e9
    };
    let (footprint, hot) = (total(demand::footprint), total(demand::working_set));
    assert!((272.0..=279.0).contains(&footprint), "{footprint} GB");
    assert!((23.0..=31.0).contains(&hot), "{hot} GB");
}

#[test]
fn general_is_the_protocol_study_16_48_and_80_tiles() {
    let tile = tile("general");
    for (tiles, vms, outstanding) in [(16, 32, 128), (48, 96, 384), (80, 160, 640)] {
        assert_eq!(tile.vms() * tiles, vms);
        assert_eq!(tile.vms() * tiles * 4, outstanding);
    }
    let all = demand::of_tile(&tile, Nanos::from_millis(10)).expect("bounded");
    near("share of reads", all.read_share(), 0.75, 1e-9);
}

#[test]
fn storage_counts_4_378_mail_users_and_keeps_the_mail_ratios() {
    let workload = shipped::workload("mail-store").expect("loads");
    let only = |group: &str| {
        let mut one = workload.clone();
        one.groups.retain(|each| each.name == group);
        demand::of_workload(&one, Nanos::ZERO).expect("bounded")
    };
    let mail = only("mailboxes");
    let log = mail.actions_per_s / 8.0;
    let database = mail.io_per_s() - log;
    near("users", database / workload.metric.divide_by, 4378.0, 1e-6);
    assert!((8.0..=12.0).contains(&(database / log)), "database to log");
    let reads_to_writes = mail.reads_per_s / (mail.writes_per_s - log);
    assert!((1.5..=2.0).contains(&reads_to_writes), "{reads_to_writes}");
    let log_bytes = (mail.written_bytes_per_s - (mail.writes_per_s - log) * 8192.0) / log;
    assert!((6.0..=8.0).contains(&(log_bytes / 1024.0)), "{log_bytes} B per log write");
}

#[test]
fn storage_databases_are_low_systems_by_the_quoted_guidelines() {
    near("oltp", part("storage", "oltp").reads_per_s, 1000.0, 1e-6);
    // Active for 5 minutes in every 15.
    near("olap", part("storage", "olap").read_bytes_per_s * 3.0, 200e6, 0.01);
}

#[test]
fn web_server_and_file_server_have_the_published_mean_sizes() {
    let web = part("storage", "web-files");
    near("web KiB per read", web.read_bytes_per_s / web.reads_per_s / 1024.0, 16.0, 0.05);
    let workload = shipped::workload("file-server").expect("loads");
    let files = demand::of_workload(&workload, Nanos::from_millis(10)).expect("bounded");
    let bytes = files.read_bytes_per_s + files.written_bytes_per_s;
    near("file KiB per I/O", bytes / files.io_per_s() / 1024.0, 11.3, 0.02);
    near("share of reads", files.read_share(), 0.8, 1e-9);
}

#[test]
fn a_desktop_reads_and_writes_six_times_a_second() {
    let desktop = part("vdi", "desktop");
    near("reads/s", desktop.reads_per_s, 6.0, 1e-9);
    near("writes/s", desktop.writes_per_s, 6.0, 1e-9);
    assert_eq!(tile("vdi").vms(), 20);
}

#[test]
fn hci_oltp_expects_4_200_io_per_second() {
    let all = demand::of_tile(&tile("hci-oltp"), Nanos::ZERO).expect("bounded");
    near("I/O/s", all.io_per_s(), 4200.0, 1e-9);
    near("reads/s", all.reads_per_s, 2000.0, 1e-9);
}

#[test]
fn spc1_like_has_the_published_shares_and_mean_size() {
    let workload = shipped::workload("eight-streams").expect("loads");
    let all = demand::of_workload(&workload, Nanos::ZERO).expect("bounded");
    near("I/O/s", all.io_per_s(), 500.0, 1e-9);
    assert!((all.read_share() - 0.394).abs() < 0.001, "{}", all.read_share());
    let mean = (all.read_bytes_per_s + all.written_bytes_per_s) / all.io_per_s() / 1024.0;
    near("KiB per I/O", mean, 8.0, 0.01);
    let weight = |of: &dyn Fn(&spec::workload::Action) -> bool| {
        workload.actions.iter().filter(|each| of(each)).map(|each| each.weight).sum::<f64>()
    };
    near("sum of weights", weight(&|_| true), 1.0, 1e-9);
    let sequential =
        weight(&|action| ["1-3", "2-3", "3-1"].iter().any(|stream| action.name.contains(stream)));
    assert!((sequential - 0.386).abs() < 0.001, "{sequential}");
}
