//! Runs by name and tag: listed, kept, removed when they are old, compared.

use crate::rig::{Place, err, out, simulate_words};

fn simulate(place: &Place, tag: &str, seed: &str) -> String {
    let words = ["--array", "hdd-raid10", "--tile", "tile.toml", "--tiles", "1", "--seed", seed];
    let before = place.runs();
    let labels = ["--name", "nightly", "--tag", tag, "--note", "made in a test"];
    let output = place.output(&simulate_words(&[&words[..], &labels].concat()));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    // Ids of one second sort by chance.
    let run = place.runs().into_iter().find(|run| !before.contains(run)).expect("a run");
    run.file_name().and_then(|name| name.to_str()).expect("its id").to_owned()
}

#[test]
fn runs_are_found_by_name_and_tag_and_compared_by_tag() {
    let place = Place::new();
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
    // The same seed on the same array: nothing differs.
    let compared = place.output(&["compare", "tag:branch=main", "vs", "tag:branch=new"]);
    assert_eq!(compared.status.code(), Some(0), "{}{}", out(&compared), err(&compared));
    let nobody = place.output(&["compare", "tag:branch=other", "vs", "latest"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(err(&nobody).contains("no complete run in") && err(&nobody).contains("hint:"));
    let wrong = place.output(&["runs", "--tag", "branch"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", err(&wrong));
}

#[test]
fn what_is_kept_stays_and_what_is_old_goes() {
    let place = Place::new();
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
