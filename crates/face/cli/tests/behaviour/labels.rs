//! Runs by name and tag: listed, protected, removed when old, compared.

use crate::rig::{Workspace, err, out, simulate_words};

fn simulate(place: &Workspace, tag: &str, seed: &str) -> String {
    let words = ["--array", "hdd-raid10", "--tile", "tile.toml", "--tiles", "1", "--seed", seed];
    let before = place.runs();
    let labels = ["--name", "nightly", "--tag", tag, "--note", "made in a test"];
    let output = place.output(&simulate_words(&[&words[..], &labels].concat()));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    // Ids within one second sort randomly.
    let run = place.runs().into_iter().find(|run| !before.contains(run)).expect("a run");
    run.file_name().and_then(|name| name.to_str()).expect("its id").to_owned()
}

#[test]
fn runs_are_found_by_name_and_tag_and_compared_by_tag() {
    let place = Workspace::new();
    let old = simulate(&place, "branch=main", "1");
    let new = simulate(&place, "branch=new", "1");
    let listed = |words: &[&str]| out(&place.output(&[&["runs"][..], words].concat()));
    let main = listed(&["--tag", "branch=main"]);
    assert!(main.contains(&old) && !main.contains(&new), "{main}");
    assert!(!listed(&["--name", "weekly"]).contains(&old));
    let json = listed(&["--name", "nightly", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let all = json.as_array().expect("a list");
    assert_eq!(all.len(), 2, "{json:#}");
    let first = all.iter().find(|run| run["id"] == old.as_str()).expect("it is listed");
    assert_eq!(first["labels"]["tags"]["branch"], "main");
    assert_eq!(first["labels"]["note"], "made in a test");
    // The same seed on the same array gives no difference.
    let compared = place.output(&["compare", "tag:branch=main", "vs", "tag:branch=new"]);
    assert_eq!(compared.status.code(), Some(0), "{}{}", out(&compared), err(&compared));
    let nobody = place.output(&["compare", "tag:branch=other", "vs", "latest"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(err(&nobody).contains("no complete run in") && err(&nobody).contains("hint:"));
    let wrong = place.output(&["runs", "--tag", "branch"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", err(&wrong));
}

#[test]
fn trend_compares_each_run_with_the_first_and_tells_prices() {
    let place = Workspace::new();
    let trend = |words: &[&str]| out(&place.output(&[&["runs"][..], words].concat()));
    assert!(trend(&["trend"]).contains("no complete run matches"));
    let first = simulate(&place, "price=12000 EUR", "1");
    simulate(&place, "price=9000", "1");
    let json = trend(&["trend", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["schema"], "tilemark.runs-trend/1.1");
    let rows = json["runs"].as_array().expect("rows");
    let at_first = rows.iter().position(|row| row["id"] == first.as_str()).expect("it is there");
    let [own, other] = [&rows[at_first], &rows[1 - at_first]];
    assert_eq!(rows[0]["against_first"], serde_json::Value::Null);
    // Both only say that at least one tile holds.
    assert_eq!(rows[1]["against_first"], "inconclusive", "{json:#}");
    assert_eq!(rows[1]["reason"], "tiles held", "{json:#}");
    let price = |row: &serde_json::Value| row["price_per_vm"].clone();
    assert_eq!((&price(own)["unit"], &price(other)["unit"]), (&"EUR".into(), &"".into()));
    let high = |row| price(row)["high"].as_f64().expect("a price");
    assert!((high(own) / high(other) - 12.0 / 9.0).abs() < 1e-9, "{json:#}");
    let per = |row: &serde_json::Value, what: &str| row[what]["high"].as_f64().expect("a price");
    // The tile has one VM.
    assert!((per(own, "price_per_tile") / per(own, "price_per_vm") - 1.0).abs() < 1e-9, "{json:#}");
    let iops = &json["figures"][0];
    assert_eq!((&iops["title"], iops["lines"][1][0]["tiles"].as_u64()), (&"IOPS".into(), Some(1)));
    assert!(iops["lines"][1][0]["against_first"].is_string(), "{iops:#}");
    let table = trend(&["trend", "--markdown"]);
    assert!(table.contains("| price per tile | price per VM |"), "{table}");
    assert!(table.starts_with("| started (UTC) | run |") && table.contains(" EUR | "), "{table}");
}

#[test]
fn runs_are_found_by_name_place_and_part_of_an_id() {
    let place = Workspace::new();
    let before = simulate(&place, "a=b", "1");
    let table = out(&place.output(&["runs"]));
    assert!(table.contains(" name ") && table.contains(" nightly "), "{table}");
    let letters = before.rsplit('-').next().expect("letters");
    for name in ["nightly", letters, "latest", "latest~0"] {
        let shown = out(&place.output(&["runs", "show", name, "--format", "json"]));
        assert!(shown.contains(&before), "{name}: {shown}");
    }
    let none = place.output(&["runs", "show", "previous"]);
    assert_eq!(none.status.code(), Some(2), "{}", out(&none));
    assert!(err(&none).contains("1 of the runs"), "{}", err(&none));
    simulate(&place, "a=b", "1");
    let compared = place.output(&["compare", "previous", "latest"]);
    assert_eq!(compared.status.code(), Some(0), "{}", err(&compared));
    let both = place.output(&["runs", "show", "nightly"]);
    assert!(err(&both).contains("\"nightly\" matches 2 runs: "), "{}", err(&both));
}

#[test]
fn run_that_is_slower_than_a_stored_one_misses_the_gate() {
    let place = Workspace::new();
    let base = simulate(&place, "a=b", "1");
    let gated = |array: &str, expectation: &str| {
        let words = ["--array", array, "--tile", "tile.toml", "--tiles", "1", "--seed", "1"];
        place.output(&simulate_words(&[&words[..], &["--expect", expectation]].concat()))
    };
    let same = gated("hdd-raid10", "not slower than latest");
    assert_eq!(same.status.code(), Some(0), "{}{}", out(&same), err(&same));
    let text = out(&same).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("not slower than {base}: met: none of ")), "{text}");
    let changed = [
        "--array",
        "hdd-raid10",
        "--with",
        "pool.shelf.disk=hdd-7200",
        "--tile",
        "tile.toml",
        "--tiles",
        "1",
        "--seed",
        "1",
        "--expect",
    ];
    let slower =
        place.output(&simulate_words(&[&changed[..], &["not slower than nightly"]].concat()));
    assert_eq!(slower.status.code(), Some(7), "{}{}", out(&slower), err(&slower));
    let unknown = gated("hdd-raid10", "not slower than weekly");
    assert_eq!(unknown.status.code(), Some(2), "{}", out(&unknown));
    assert!(err(&unknown).contains("\"weekly\""), "{}", err(&unknown));
}

#[test]
fn result_ends_with_a_command_that_shows_all_of_it() {
    let place = Workspace::new();
    let words = ["--array", "hdd-raid10", "--tile", "tile.toml", "--tiles", "1", "--seed", "1"];
    let words = [&words[..], &["--out", "else where"]].concat();
    let text = out(&place.output(&simulate_words(&words)));
    let line = text.lines().map(str::trim).find(|line| line.starts_with("tilemark runs show"));
    let line = line.expect("a command").strip_prefix("tilemark ").expect("the program");
    let (verbs, rest) = line.split_once('\'').expect("quoted, for it has a blank");
    let (path, options) = rest.split_once('\'').expect("quoted");
    let words: Vec<&str> =
        verbs.split_whitespace().chain([path]).chain(options.split_whitespace()).collect();
    let shown = place.output(&words);
    assert_eq!(shown.status.code(), Some(0), "{words:?}: {}", err(&shown));
}

#[test]
fn record_refuses_a_vm_that_does_not_run() {
    let place = Workspace::new();
    let output = place.output(&["record", "--vm", "nosuch", "--duration", "1s"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("no virtual machine \"nosuch\" runs here"), "{}", err(&output));
}

#[test]
fn what_is_kept_stays_and_what_is_old_goes() {
    let place = Workspace::new();
    let mut ids = ["1", "2", "3"].map(|seed| simulate(&place, "a=b", seed));
    ids.sort();
    let runs = |words: &[&str]| place.output(&[&["runs"][..], words].concat());
    assert_eq!(runs(&["keep", &ids[0]]).status.code(), Some(0));
    let refused = runs(&["rm", &ids[0]]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        err(&refused).contains("is kept") && err(&refused).contains("hint:"),
        "{}",
        err(&refused)
    );
    let dry = runs(&["prune", "--keep-last", "1", "--dry-run"]);
    assert!(err(&dry).contains(&ids[1]) && !err(&dry).contains(&ids[2]), "{}", err(&dry));
    assert!(runs(&["prune", "--older-than", "1h"]).status.success(), "none is so old");
    assert_eq!(place.names("runs").iter().filter(|name| !name.ends_with(".kept")).count(), 3);
    assert!(runs(&["prune", "--keep-last", "1"]).status.success());
    let left = out(&runs(&["--format", "json"]));
    assert!(left.contains(&ids[0]) && !left.contains(&ids[1]) && left.contains(&ids[2]), "{left}");
    assert!(runs(&["keep", "--off", &ids[0]]).status.success());
    assert!(runs(&["rm", "tag:a=b"]).status.success());
    assert_eq!(place.names("runs"), Vec::<String>::new());
    assert_eq!(runs(&["prune"]).status.code(), Some(2), "nobody said which");
}
