//! `prepare` and `run --reuse` as processes: a run uses the disks that an earlier one left.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const TILE: [&str; 5] = ["--quick", "--tile", "micro/mixed-8k", "--footprint", "0.002"];
const ALLOW: [&str; 2] = ["--allow-root-fs", "--allow-same-device"];
const SHORT: [&str; 8] =
    ["--warm-up-min", "200ms", "--warm-up-max", "400ms", "--slice", "100ms", "--duration", "1s"];
/// As [`SHORT`], but with a measured time too long to wait for.
const LONG: [&str; 8] = {
    let mut long = SHORT;
    long[7] = "2m";
    long
};
const REUSE: [&str; 4] = ["--tiles", "1", "--reuse", "latest"];

fn tilemark(place: &Path, verb: &str, options: &[&[&str]]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilemark"));
    command.args([verb, "ds"]).args(options.concat()).current_dir(place);
    command.env("TILEMARK_RUNS", place.join("runs")).env("TILEMARK_LIVE", "line");
    command
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn left(place: &Path) -> usize {
    std::fs::read_dir(place.join("ds")).expect("the datastore").count()
}

/// Kills a run while it measures; returns the output of another one started meanwhile.
fn killed_in_its_step(place: &Path) -> Output {
    let mut child = tilemark(place, "run", &[&TILE, &ALLOW, &LONG, &REUSE])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let is_measuring = |line: Result<String, _>| line.expect("text").contains("measuring");
    assert!(lines.any(is_measuring), "it came to its step");
    let meanwhile = tilemark(place, "run", &[&TILE, &ALLOW, &SHORT, &REUSE]).output();
    child.kill().expect("killed");
    child.wait().expect("reaped");
    meanwhile.expect("it starts")
}

#[test]
fn prepared_disks_survive_kill_9_and_are_removed_on_request() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let place = place.path();
    std::fs::create_dir(place.join("ds")).expect("a directory");
    let run =
        |verb, options: &[&[&str]]| tilemark(place, verb, options).output().expect("it starts");

    let without = run("prepare", &[&TILE, &ALLOW]);
    assert_eq!(without.status.code(), Some(2), "how many tiles: {}", text(&without));
    let prepared = run("prepare", &[&TILE, &ALLOW, &["--tiles", "1"]]);
    if prepared.status.code() == Some(3) {
        eprintln!("skipped: {}", text(&prepared));
        return;
    }
    let said = text(&prepared);
    assert!(prepared.status.success() && said.contains("first write "), "{said}");
    let used =
        said.lines().find_map(|line| line.strip_prefix("use        tilemark run --quick ds "));
    let used: Vec<&str> = used.expect("how to use it").split(' ').collect();
    assert_eq!(left(place), 1);

    let meanwhile = killed_in_its_step(place);
    assert_eq!(meanwhile.status.code(), Some(3), "in use: {}", text(&meanwhile));

    // The command that prepare printed works, and fills nothing again.
    let short = ["--quick", "--tiles", "1", "--allow-same-device"];
    let again = run("run", &[&short, &SHORT, &used]);
    let said = text(&again);
    assert!(said.contains("prefill    0 B, first write not measured: prepared before"), "{said}");
    assert!(matches!(again.status.code(), Some(0 | 5)), "{said}");
    assert_eq!(left(place), 1);
    let id = *used.last().expect("the id");
    let part = |named| ["--tiles", "1", "--reuse", named];
    let by_part = run("run", &[&TILE, &ALLOW, &SHORT, &part(&id[id.len() - 6..])]);
    assert!(matches!(by_part.status.code(), Some(0 | 5)), "{}", text(&by_part));
    let before = run("run", &[&TILE, &ALLOW, &SHORT, &part("previous")]);
    assert_eq!(before.status.code(), Some(3), "only one run left disks: {}", text(&before));
    assert!(text(&before).contains("no run matches latest~1"), "{}", text(&before));
    let last = run("run", &[&TILE, &ALLOW, &SHORT, &REUSE, &["--remove"]]);
    assert!(matches!(last.status.code(), Some(0 | 5)), "{}", text(&last));
    assert_eq!(left(place), 0);
}
