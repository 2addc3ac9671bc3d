//! A tile is the estate divided: times the number of tiles it gives the input again.

use tilemark_estate::read::{Reading, Source};
use tilemark_estate::{
    EstateOptions, EstateSheet, collect, estate, estate_json_schema, example, sheet,
};

use crate::formats::read;

fn made(text: &str, wanted: &EstateOptions) -> (EstateSheet, Vec<(String, String)>) {
    let inventory = read(&[("vms.csv", text.as_bytes())]).expect("a table");
    let name = if wanted.name.is_empty() { "lab".to_owned() } else { wanted.name.clone() };
    let estate = estate(&inventory, &EstateOptions { name, ..wanted.clone() })
        .unwrap_or_else(|error| panic!("{error}"));
    (
        sheet(&estate, &inventory, Vec::new(), "test"),
        estate.files().unwrap_or_else(|error| panic!("{error}")),
    )
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn tiles_together_are_the_estate() {
    let (sheet, files) = made(&example(1000), &EstateOptions::default());
    assert_eq!((sheet.listed, sheet.bad_rows.count), (1000, 0));
    assert_eq!(sheet.vms, 960, "every 25th is off or a template");
    assert!((8..=20).contains(&sheet.tile_vms));
    let (all, tiles) = (&sheet.estate, &sheet.as_tiles);
    assert!(near(all.reads_per_s, tiles.reads_per_s), "{all:?} {tiles:?}");
    assert!(near(all.writes_per_s, tiles.writes_per_s));
    assert!((tiles.read_bytes_per_s / all.read_bytes_per_s - 1.0).abs() < 1e-3);
    assert!((tiles.written_bytes_per_s / all.written_bytes_per_s - 1.0).abs() < 1e-3);
    // Disks are whole mebibytes.
    #[expect(clippy::cast_precision_loss, reason = "bytes of disks")]
    let off = tiles.bytes as f64 / all.bytes as f64 - 1.0;
    assert!((0.0..1e-3).contains(&off), "{off}");
    assert_eq!(files.len(), sheet.classes.len() + 1);
}

#[test]
fn the_files_are_a_tile_that_runs() {
    let (sheet, files) = made(&example(150), &EstateOptions::default());
    let place = tempfile::tempdir().expect("a directory");
    for (name, text) in &files {
        std::fs::write(place.path().join(name), text).expect("written");
    }
    let path = place.path().join("tile.toml").display().to_string();
    let tile = spec::resolve_tile(&path, place.path()).unwrap_or_else(|error| panic!("{error}"));
    let own = tile.tile.estate.expect("it says of what it is a part");
    assert_eq!(own.vms, sheet.vms);
    assert!(
        near(own.tiles, sheet.tiles)
            && near(own.tiles * f64::from(sheet.tile_vms), f64::from(sheet.vms))
    );
    assert_eq!(tile.vms(), u64::from(sheet.tile_vms));
}

#[test]
fn what_was_measured_is_told_apart_from_what_was_assumed() {
    let text = "VM,Used GiB,Read IOPS,Write IOPS,Read MB/s,Write MB/s\nsql1,100,200,100,4,1\nsql2,100,,,,\npc,50,,,,\n";
    let (sheet, files) = made(text, &EstateOptions::default());
    let database = &sheet.classes[0];
    assert_eq!((database.class.as_str(), database.vms, database.measured), ("database", 2, 1));
    // 300 measured, and 5 for each of 100 GiB.
    assert!(near(database.totals.io_per_s(), 800.0), "{database:?}");
    assert!(
        sheet.missing[0].contains("2 VMs of 3 is assumed")
            && sheet.missing[0].contains("(sql2, pc)"),
        "{:?}",
        sheet.missing
    );
    assert!(sheet.machines[0].measured && !sheet.machines[1].measured);
    let (_, tile) = &files[0];
    assert!(tile.contains("measured = \"33.33"), "{tile}");
}

#[test]
fn class_comes_from_rule_then_column_then_name() {
    let text = "VM,Used GiB,Workload\nsql1,10,\nsql2,10,file\nsql3,10,file\n";
    let wanted = EstateOptions {
        classes: vec!["sql3=web".parse().expect("a rule")],
        ..EstateOptions::default()
    };
    let (sheet, _) = made(text, &wanted);
    let classes: Vec<&str> = sheet.machines.iter().map(|row| row.class.as_str()).collect();
    assert_eq!(classes, ["database", "file", "web"]);
}

#[test]
fn names_are_nowhere_where_they_were_left_out() {
    let wanted = EstateOptions { is_anonymous: true, ..EstateOptions::default() };
    let (sheet, files) = made("VM,Used GiB,UUID\nsql-secret,10,SECRET-1\nsecret,20,s2\n", &wanted);
    let all = serde_json::to_string(&sheet).expect("JSON")
        + &files.iter().map(|(_, text)| text.as_str()).collect::<String>();
    assert!(!all.to_lowercase().contains("secret"), "{all}");
    assert_eq!(sheet.machines[0].vm, "vm-1");
}

#[test]
fn a_machine_without_a_size_has_the_mean_of_its_class() {
    let (sheet, _) =
        made("VM,Used GiB\nsql1,10\nsql2,30\nsql3,\nweb1,\n", &EstateOptions::default());
    assert_eq!(sheet.unsized_vms, 2);
    let gib = |at: usize| sheet.machines[at].bytes >> 30;
    assert_eq!((gib(2), gib(3)), (20, 20));
}

#[test]
fn the_stored_schema_is_that_of_the_types() {
    let path = format!("{}/../../../docs/schemas/estate-1.0.json", env!("CARGO_MANIFEST_DIR"));
    let fresh = serde_json::to_string_pretty(&estate_json_schema()).expect("JSON") + "\n";
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        std::fs::write(&path, &fresh).expect("writable docs/schemas");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == fresh, "docs/schemas/estate-1.0.json: run this with TILEMARK_UPDATE=1");
}

#[test]
fn the_example_is_the_same_every_time() {
    assert_eq!(example(3), example(3));
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("e.csv");
    std::fs::write(&path, example(50)).expect("written");
    let source: Source = path.display().to_string().parse().expect("a path");
    let inventory = collect(&[source], &Reading::default(), true).expect("a table");
    assert_eq!(inventory.vms.len(), 49, "one template of 50");
}
