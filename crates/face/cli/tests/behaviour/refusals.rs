//! Every mistake gives lower-case text with object, value and limit, a hint, the right exit code,
//! and no stdout.

use std::os::unix::fs::PermissionsExt;

use crate::redact;
use crate::rig::{ALLOW, MICRO, Workspace, err, out};

/// Error text for a mistake, with its exit code.
fn answer(place: &Workspace, args: &[&str]) -> String {
    let output = place.output(args);
    let stderr = err(&output);
    assert_eq!(out(&output), "", "{args:?} printed data");
    for never in ["panicked", "Error", "RUST_BACKTRACE", "Some(", "Os {", "\u{1b}"] {
        assert!(!stderr.contains(never), "{args:?} printed \"{never}\":\n{stderr}");
    }
    let first = stderr.strip_prefix("tilemark: ").and_then(|text| text.chars().next());
    assert!(first.is_some_and(|letter| !letter.is_uppercase()), "{args:?}:\n{stderr}");
    let code = output.status.code().map_or_else(|| "none".to_owned(), |code| code.to_string());
    format!("$ tilemark {}\n{}exit {code}\n\n", args.join(" "), redact::text(place, &stderr))
}

fn answers(place: &Workspace, commands: &[&[&str]]) -> String {
    commands.iter().map(|args| answer(place, args)).collect()
}

#[test]
fn wrong_options() {
    let place = Workspace::new();
    let commands: &[&[&str]] = &[
        &["rnu"],
        &["run"],
        &["run", "ds", "--fotprint", "1"],
        &["run", "ds", "--quick", "--full"],
        &["run", "ds", "--tiles", "0"],
        &["run", "ds", "--tiles", "3..1"],
        &["run", "ds", "--tiles", "some"],
        &["run", "ds", "--tiles-max", "0"],
        &["run", "ds", "--duration", "5"],
        &["run", "ds", "--duration", "0s"],
        &["run", "ds", "--duration", "5 parsecs"],
        &["run", "ds", "--slice", "1ms"],
        &["run", "ds", "--warm-up-min", "9s", "--warm-up-max", "1s"],
        &["run", "ds", "--footprint", "2"],
        &["run", "ds", "--footprint", "-1"],
        &["run", "ds", "--footprint", "nan"],
        &["run", "ds", "--time-scale", "0"],
        &["run", "ds", "--repeats", "0"],
        &["run", "ds", "--workers", "65"],
        &["run", "ds", "--space-max", "1"],
        &["run", "ds", "--seed", "-1"],
        &["run", "ds", "--seed", "18446744073709551615"],
        &["run", "ds", "--tile", "datacentre"],
        &["run", "ds", "--tile", "./absent.toml"],
        &["export", "any", "--format", "xml"],
        &["completions", "tcsh"],
    ];
    insta::assert_snapshot!("wrong_options", answers(&place, commands));
}

#[test]
fn wrong_arrays() {
    let place = Workspace::new();
    place.write("real.toml", "datastore = \"ds\"\ntile = \"datacenter\"\n");
    place.write("typo.toml", "datastore = \"array:vnx550\"\ntile = \"datacenter\"\n");
    place.write("own.toml", "name = \"own\"\ntitle = \"Own\"\nsource = \"ours\"\npols = 3\n");
    place.write("model.toml", "datastore = \"array:vnx5500\"\ntile = \"datacenter\"\n");
    place.write("endless.toml", ENDLESS);
    place.write(
        "tile.toml",
        "name = \"t\"\ntitle = \"T\"\nsource = \"ours\"\n[[workload]]\nuse = \"./endless.toml\"\n",
    );
    let commands: &[&[&str]] = &[
        &["simulate"],
        &["simulate", "absent.toml"],
        &["simulate", "real.toml"],
        &["simulate", "typo.toml"],
        &["simulate", "--array", "vnx550"],
        &["simulate", "--array", "./absent.toml"],
        &["simulate", "--array", "./own.toml"],
        &["simulate", "--array", "vnx5500", "--with", "tier.fast.size"],
        &["simulate", "--array", "vnx5500", "--with", "tier.fast.sizee=1GiB"],
        &["simulate", "--array", "vnx5500", "--with", "pool.lun1.count=0"],
        &["simulate", "--array", "vnx5500", "--slice", "2s"],
        &["simulate", "--array", "vnx5500", "--tile", "micro/read-4k", "--tiles", "20000"],
        &["simulate", "--array", "vnx5500", "--tile", "./tile.toml", "--tiles", "1"],
        &["simulate", "--array", "vnx5500", "--quick", "--full"],
        &["run", "array:vnx5500"],
        &["run", "model.toml"],
    ];
    insta::assert_snapshot!("wrong_arrays", answers(&place, commands));
}

/// User whose next lookup follows at once, without waiting for storage or anything else.
const ENDLESS: &str = "name = \"endless\"\ntitle = \"Endless\"\nsource = \"ours\"\n\
     metric = { unit = \"x/s\", count = \"actions\", reference = 1.0 }\n[[vm]]\nname = \"vm\"\n\
     [[users]]\nname = \"users\"\nvm = \"vm\"\nload = { closed = { users = 1 } }\n\
     [[action]]\nname = \"look\"\nsteps = [{ cpu = \"0s\" }]\n";

#[test]
fn wrong_targets() {
    let place = Workspace::new();
    place.write("exists", "not ours");
    let commands: &[&[&str]] = &[
        &["run", ""],
        &["run", "absent"],
        &["run", "dri:ds"],
        &["run", "dir:"],
        &["run", "exists"],
        &["run", "/dev/null"],
        &["run", "block:/dev/null"],
        &["run", "file:/dev/zero"],
        &["run", "block:ds"],
        &["run", "file:exists", "--allow-root-fs", "--allow-same-device"],
        &["cleanup", "absent"],
        &["cleanup", "/dev/null"],
        &["verify", "absent"],
        &["verify", "ds"],
    ];
    insta::assert_snapshot!("wrong_targets", answers(&place, commands));
    assert_eq!(std::fs::read_to_string(place.path("exists")).expect("it stays"), "not ours");
    assert!(place.names("ds").is_empty() && place.names("runs").is_empty());
}

#[test]
fn wrong_definitions() {
    let place = Workspace::new();
    place.write("unknown.toml", "datastore = \"ds\"\ntile = \"datacenter\"\ntilles = 3\n");
    place.write("unit.toml", "datastore = \"ds\"\n\n[measure]\nduration = \"5 parsecs\"\n");
    place.write("bare.toml", "datastore = \"ds\"\n\n[measure]\nduration = 5\n");
    place.write("syntax.toml", "datastore = \"ds\"\ntile = \"datacenter\n");
    place.write("empty.toml", "");
    place.write(
        "range.toml",
        "datastore = \"ds\"\ntile = \"datacenter\"\n\n[scale]\nfootprint = 2.0\n\n[ladder]\ntiles = \"0\"\n",
    );
    place.write("binary.toml", "datastore = \"\u{1b}[2J\"\n");
    let commands: &[&[&str]] = &[
        &["run", "absent.toml"],
        &["run", "unknown.toml"],
        &["run", "unit.toml"],
        &["run", "bare.toml"],
        &["run", "syntax.toml"],
        &["run", "empty.toml"],
        &["run", "range.toml"],
        &["run", "binary.toml"],
    ];
    insta::assert_snapshot!("wrong_definitions", answers(&place, commands));
}

#[test]
fn a_decimal_block_size_is_answered_with_both_readings() {
    let place = Workspace::new();
    let shipped = include_str!("../../../../../data/tiles/workloads/micro/read-4k-qd1.toml");
    assert!(shipped.contains("size = \"4k\""), "the block size to be spoilt");
    place.write("w.toml", &shipped.replace("size = \"4k\"", "size = \"4kB\""));
    place.write(
        "t.toml",
        "name = \"t\"\ntitle = \"t\"\nsource = \"our choice\"\n\n[[workload]]\nuse = \"w.toml\"\n",
    );
    insta::assert_snapshot!(
        "decimal_block_size",
        answer(&place, &["run", "ds", "--tile", "t.toml"])
    );
}

#[test]
fn wrong_runs() {
    let place = Workspace::new();
    place.write("taken", "");
    let commands: &[&[&str]] = &[
        &["runs", "show", "nonsense"],
        &["runs", "rm", "nonsense"],
        &["export", "nonsense"],
        &["compare", "one"],
        &["compare", "one", "vs"],
        &["compare", "one", "two"],
    ];
    insta::assert_snapshot!("wrong_runs", answers(&place, commands));
}

#[test]
fn a_datastore_on_the_device_of_the_results_is_refused() {
    let Some(place) = Workspace::usable() else { return };
    // Small enough for any disk, so that the check for space does not refuse first.
    let text = answer(&place, &["run", "ds", "--footprint", "0.001", "--allow-root-fs"]);
    let is_told =
        text.contains("on the device under test (") && text.contains("--allow-same-device");
    assert!(is_told, "{text}");
    assert!(text.ends_with("exit 3\n\n"), "{text}");
    assert!(place.names("ds").is_empty() && place.names("runs").is_empty());
}

/// Root may write everywhere; a file system mounted read-only would need root.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn unwritable_directory_is_refused_before_any_write() {
    let Some(place) = Workspace::usable() else { return };
    if is_root() {
        eprintln!("skipped: root may write to any directory");
        return;
    }
    let lock = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path(name), mode).expect("our own directory");
    };
    lock("ds", 0o555);
    let text = answer(&place, &[&["run", "ds"][..], &ALLOW, &MICRO].concat());
    lock("ds", 0o755);
    assert!(text.ends_with("exit 3\n\n"), "{text}");
    assert!(place.names("runs").is_empty());
}

#[test]
fn results_that_cannot_be_stored_end_the_run_before_it_begins() {
    let Some(place) = Workspace::usable() else { return };
    place.write("exists", "a file, not a directory");
    let args = [&["run", "ds", "--out", "exists/runs"][..], &ALLOW, &MICRO].concat();
    let text = answer(&place, &args);
    assert!(text.contains("exists/runs") && text.ends_with("exit 1\n\n"), "{text}");
    assert!(place.names("ds").is_empty(), "nothing stays in the datastore");
}

#[test]
fn open_file_limit_too_low_is_refused_with_the_numbers() {
    let place = Workspace::new();
    let mut shell = std::process::Command::new("sh");
    let run = format!("ulimit -n 100; exec {} run ds --tiles 40", env!("CARGO_BIN_EXE_tilemark"));
    shell.args(["-c", &run]).current_dir(place.path(""));
    place.surroundings(&mut shell);
    let output = shell.output().expect("a shell");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let wanted = "40 tiles need 384 open files, one for each virtual disk and 64 more, but this process may open only 100";
    assert!(err(&output).contains(wanted), "{}", err(&output));
}
