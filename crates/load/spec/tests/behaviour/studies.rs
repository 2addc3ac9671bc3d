//! Promises of the language of studies.

use proptest::prelude::*;
use tilemark_spec as spec;

use spec::study::formula::{FUNCTIONS, Scope, parse};
use spec::study::{File, Folder, resolve_study, resolve_study_text};
use spec::{SpecError, shipped};

use crate::messages::{mistakes, render};

const STUDY: &str = include_str!("../../../../../data/studies/example.toml");

fn resolve(text: &str) -> Result<(), SpecError> {
    let file = File { name: "example.toml".to_owned(), text: text.to_owned() };
    resolve_study_text(file, &Folder::Shipped).map(drop)
}

#[test]
fn every_shipped_study_resolves_and_is_named_as_its_file() {
    let names: Vec<&str> = shipped::study_names().collect();
    assert!(names.contains(&"example"), "{names:?}");
    for name in names {
        let study = resolve_study(name).unwrap_or_else(|error| panic!("{}", render(&error)));
        assert_eq!(study.study.name, name);
        let text = toml::to_string(&study.study).expect("writes");
        assert_eq!(spec::load_study("again", &text).expect("reads"), study.study);
    }
}

#[test]
fn a_study_from_a_directory_is_the_shipped_one() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../data/studies");
    let from_file = resolve_study(&format!("{folder}/example.toml")).expect("reads");
    let shipped = resolve_study("example").expect("shipped");
    assert_eq!(from_file.configurations, shipped.configurations);
    assert_eq!(from_file.study, shipped.study);
}

#[test]
fn a_configuration_takes_over_what_it_is_like() {
    let study = resolve_study("example").expect("shipped");
    let (disks, flash) = (&study.configurations[0], &study.configurations[1]);
    assert_eq!(flash.array.pools[0].count, 4);
    assert!(flash.array.tiers.len() == 1 && disks.array.tiers.is_empty());
    assert_eq!((disks.tiles.as_slice(), flash.tiles.as_slice()), (&[1, 2][..], &[1, 2, 3][..]));
    assert_eq!((flash.footprint, flash.time), (0.125, 1.0));
}

#[test]
fn a_configuration_can_change_a_workload() {
    let change = "[configuration.workload.small-shop.users.customers.load.closed]\nusers = 99\n";
    let text = STUDY.replacen("[[table]]", &format!("{change}\n[[table]]"), 1);
    let file = File { name: "example.toml".to_owned(), text };
    let study = resolve_study_text(file, &Folder::Shipped).expect("resolves");
    let users = |index: usize| {
        let workload = &study.configurations[index].tile.workloads[0].0;
        match &workload.groups[0].load {
            spec::workload::Load::Closed { users, .. } => *users,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((users(0), users(1)), (20, 99));
    let error = resolve(&study.file.text.replace("workload.small-shop", "workload.smallshop"));
    let error = error.expect_err("no such workload").to_string();
    assert!(error.contains("\"smallshop\"") && error.contains("\"flash\""), "{error}");
}

/// The example study with operations in its second configuration.
fn with_operations(lines: &str) -> String {
    STUDY.replacen("[[table]]", &format!("{lines}\n[[table]]"), 1)
}

const OPERATIONS: &str = r#"
[[configuration]]
name = "copies"
title = "with operations"
like = "disks"
with.pool.other = { disk = "hdd-10k", count = 4 }
operations = "standard"
second = "pool:other"

[[configuration]]
name = "more"
title = "the same on more disks"
like = "copies"
with.pool.other.count = 8
"#;

#[test]
fn operations_and_their_second_place_are_taken_over() {
    let text = with_operations(OPERATIONS);
    let file = File { name: "example.toml".to_owned(), text };
    let study = resolve_study_text(file, &Folder::Shipped).expect("resolves");
    let of = |name: &str| study.configuration(name).expect("it is there");
    for name in ["copies", "more"] {
        let own = of(name);
        assert_eq!(own.operations.as_deref(), Some("standard"), "{name}");
        assert_eq!(own.second.as_deref(), Some("pool:other"), "{name}");
        let names: Vec<&str> = own.tile.operations.iter().map(|(w, _)| w.name.as_str()).collect();
        assert_eq!(names, ["deploy", "storage-migration"], "{name}");
        assert_eq!(own.tile.vms(), of("disks").tile.vms(), "operations belong to no tile");
    }
    assert!(of("disks").tile.operations.is_empty());
    assert_eq!((&of("flash").operations, &of("flash").second), (&None, &None));
}

#[test]
fn formulas_know_operations_and_their_stages() {
    let claim = |measure: &str| {
        format!(
            "{OPERATIONS}\n[[claim]]\nid = \"O\"\ntext = \"test\"\nkind = \"predicted\"\n\
             published = 1\nsource = \"test\"\ntolerance = {{ exact = true }}\n\
             measure = '{measure}'\n"
        )
    };
    for good in [
        "p95(\"copies\", 1, \"deploy\", \"deploy/boot\")",
        "mean(\"copies\", 1, \"storage-migration\", \"move/switch-over\")",
        "throughput_total(\"copies\", 1, \"deploy\") + total(\"copies\", 1)",
        "infrastructure(\"copies\", 1)",
    ] {
        resolve(&with_operations(&claim(good))).unwrap_or_else(|error| panic!("{error}"));
    }
    for bad in
        ["throughput(\"disks\", 1, \"deploy\")", "mean(\"copies\", 1, \"deploy\", \"deploy/halt\")"]
    {
        let error = resolve(&with_operations(&claim(bad))).expect_err(bad);
        assert!(error.to_string().contains("there is no"), "{bad}: {error}");
    }
}

#[test]
fn mistakes_in_operations_of_a_study() {
    let second = "second = \"pool:other\"\n";
    let said = mistakes(
        "the study",
        &with_operations(OPERATIONS),
        resolve,
        &[
            ("operations = \"standard\"", "operations = \"standrad\""),
            ("operations = \"standard\"", "operations = \"tiles/no-such.toml\""),
            ("operations = \"standard\"\n", ""),
            ("operations = \"standard\"", "operations = \"deploy\""),
            (second, "second = \"other\"\n"),
            (second, "second = \"pool:\"\n"),
            (second, "second = \"pool:othr\"\n"),
        ],
    );
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(said) });
}

#[test]
fn mistakes_in_a_study() {
    let said = mistakes(
        "the study",
        STUDY,
        resolve,
        &[
            ("repeats = 2", "repeat = 2"),
            ("repeats = 2", "repeats = 0"),
            ("tiles = \"1..2\"", "tiles = \"2..1\""),
            ("like = \"disks\"", "like = \"disk\""),
            ("like = \"disks\"\n", ""),
            ("array = \"hdd-raid10\"", "array = \"hdd-raid1\""),
            ("tile = \"tiles/example.toml\"", "tile = \"tiles/exampel.toml\""),
            ("with.pool.shelf.count = 4", "with.pool.shelf.count = 0"),
            ("with.pool.shelf.count = 4", "with.pool.shelf.cuont = 4"),
            ("kind = \"predicted\"", "kind = \"predictd\""),
            ("id = \"E2\"", "id = \"E1\""),
            ("published = 67", "published = [70, 60]"),
            ("published = 67", "published = \"two thirds\""),
            ("tolerance = { absolute = 5 }", "tolerance = { absolut = 5 }"),
            ("tolerance = { absolute = 5 }", "tolerance = { absolute = -5 }"),
            ("tolerance = { order = true }", "tolerance = { order = false }"),
            (
                "measure = 'latency_mean(\"flash\", 1, \"read\") < latency_mean(\"disks\", 1, \"read\")'\n",
                "",
            ),
            ("read_share(\"disks\"", "read_share(\"diks\""),
            ("read_share(\"disks\"", "reed_share(\"disks\""),
            ("\"small-shop\", \"order\"", "\"small-shop\", \"oder\""),
            ("\"small-shop\"), throughput", "\"smallshop\"), throughput"),
            ("percent(read_share", "percent(tiles * read_share"),
        ],
    );
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(said) });
}

fn said(text: &str) -> String {
    match parse(text, Scope::Claim) {
        Ok(formula) => format!("{text}\n  is fine: {:?}", formula.root.at),
        Err(error) => format!(
            "{text}\n{}{} {}{}",
            " ".repeat(error.at.start),
            "^".repeat(error.at.len().max(1)),
            error.message,
            error.help.map_or_else(String::new, |help| format!("\nhint: {help}"))
        ),
    }
}

#[test]
fn mistakes_in_formulas_point_at_their_place() {
    let all: Vec<String> = [
        "",
        "1 +",
        "(1 + 2",
        "1 2",
        "1.2.3",
        "3 apples",
        "5 ms",
        "5ms",
        "1 = 2",
        "1 ? 2",
        "'open",
        "\"name\"",
        "1 + \"name\"",
        "scor('a', 1)",
        "score('a')",
        "score('a', 1, 2)",
        "score(1, 2)",
        "score(\"a\", \"b\")",
        "score(configuration, 1)",
        "holds('a'",
        "tiles",
        "cpu",
        "and 1",
        "latency_mean('a', 1, 'reads')",
        "tier('a', 1, 'fast', 'hits')",
        "argmax('a', score('a', tiles))",
        "min()",
        "min(1, 2, 3)",
    ]
    .map(said)
    .to_vec();
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(all.join("\n\n"));
    });
}

#[test]
fn parts_inside_one_another_end_somewhere() {
    for deep in ["(".repeat(10_000), "-".repeat(10_000), "not ".repeat(10_000)] {
        let error = parse(&deep, Scope::Claim).expect_err("too deep");
        assert_eq!(error.message, "too many nested parts");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_formula_or_a_message_at_a_place_inside(text in "\\PC{0,40}") {
        if let Err(error) = parse(&text, Scope::Table) {
            prop_assert!(error.at.start <= error.at.end && error.at.end <= text.len());
            prop_assert!(text.get(error.at).is_some(), "between letters");
        }
    }

    #[test]
    fn pieces_in_any_order_do_not_panic(
        pieces in prop::collection::vec(
            prop::sample::select(
                FUNCTIONS.iter().map(|f| f.name).chain(
                    ["(", ")", ",", "+", "-", "*", "/", "<", "<=", "==", "and", "or", "not",
                     "'a'", "1", "2.5", "3GiB", "7%", "tiles", "configuration"]
                ).collect::<Vec<_>>()
            ), 0..30)
    ) {
        let _ = parse(&pieces.join(" "), Scope::Table);
        let _ = parse(&pieces.concat(), Scope::Claim);
    }
}

#[test]
fn study_may_use_only_real_storage_over_a_protocol() {
    let head = "name = \"r\"\ntitle = \"R\"\nsource = \"made for this test\"\n\
                tile = \"tiles/one-vm-8k.toml\"\n";
    let resolved = |more: &str| {
        let file = File { name: "r.toml".to_owned(), text: format!("{head}{more}") };
        resolve_study_text(file, &Folder::Shipped)
    };
    let real = "[[real]]\nname = \"far\"\ntitle = \"Far\"\n";
    let table = "[[table]]\ntitle = \"Rate\"\nconfigurations = [\"far\"]\n\
                 measure = 'cpu_per_io(configuration, tiles, \"server\")'\n";
    let study = resolved(&format!("{real}over = \"nfs3\"\ntiles = [1, 4]\n{table}"));
    let study = study.unwrap_or_else(|error| panic!("{}", render(&error)));
    assert!(study.configurations.is_empty());
    assert_eq!(study.reals[0].tiles, [1, 4]);
    assert_eq!(study.reals[0].over, "nfs3".parse().ok());
    let local = resolved(real).expect("one tile, local files");
    assert_eq!((local.reals[0].tiles.as_slice(), local.reals[0].over), (&[1][..], None));
    let refused = |more: &str| render(&resolved(more).expect_err("refused"));
    assert!(refused("").contains("configuration"), "{}", refused(""));
    let unknown = refused(&format!("{real}over = \"nfs9\"\n"));
    assert!(unknown.contains("nfs9") && unknown.contains("nfs3"), "{unknown}");
    let program = table.replace("server", "servant");
    let unknown = refused(&format!("{real}{program}"));
    assert!(unknown.contains("there is no program \"servant\""), "{unknown}");
}
