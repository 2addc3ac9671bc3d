//! Runs on storage with known faults: a modelled array in real time.

use std::collections::BTreeSet;
use std::path::PathBuf;

use lab::truth::{self, Event};
use lab::{Kind, LabError, Mounted, Options, Schedule};
use nbd::Operation;
use run_store::run::{Cause, Run, Status, Verdict};
use run_store::rundir::StoredRun;
use rustix::process::Signal;
use units::Bytes;

use crate::nbd_client::Client;
use crate::rig::{Running, Workspace, err, out, simulate_words, write_arrivals};

/// Space for small disks beside the 5 GiB and the fifth that always stay free.
const SIZE: Bytes = Bytes::new(7 << 30);
const BLOCK: u64 = 4096;

/// Ten users who pause, and whose blocks are read only at the end.
const WRITES: &str = r#"
name = "writes"
title = "Writes of 4 KiB all over a disk"
source = "Made up for tests."

[metric]
unit = "IOPS"
count = "io"
reference = 2000

[[vm]]
name = "writes"

[[vm.disk]]
name = "data"
size = "16GiB"

[[users]]
name = "users"
vm = "writes"
load = { closed = { users = 10, think = { exponential = "5ms" } } }

[[action]]
name = "write"
steps = [{ write = { disk = "data", size = "8k" } }]
"#;

/// Lab mounted at the run's datastore; `None`, with the reason printed, if FUSE or memory for it is
/// missing.
fn lab(array: spec::array::Array, faults: &str) -> Option<(Mounted, Workspace)> {
    let place = Workspace::new();
    let tile = "name = \"writes\"\ntitle = \"Writes\"\nsource = \"Made up.\"\n\
                [[workload]]\nuse = \"writes.toml\"\n";
    place.write("writes.toml", WRITES);
    place.write("writes-tile.toml", tile);
    let options = Options {
        schedule: Schedule::parse("faults.toml", faults).expect("a valid schedule"),
        size: Some(SIZE),
        seed: 3,
        truth: Some(place.path("truth")),
        ..Options::new(array)
    };
    match Mounted::new(&place.path("ds"), &options) {
        Ok(mounted) => Some((mounted, place)),
        Err(error @ (LabError::Mount { .. } | LabError::Size { .. })) => {
            eprintln!("skipped: a lab cannot be mounted here: {error}: {error:?}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn fast() -> spec::array::Array {
    spec::shipped::array("nvme-local").expect("shipped")
}

#[test]
fn faultless_lab_passes_verification_and_is_left_empty() {
    let Some((lab, place)) = lab(fast(), "") else { return };
    let output = place.run(0, &["--verify"]);
    assert!(out(&output).contains("every block has its last written content"), "{}", out(&output));
    assert!(!err(&output).contains("page cache"), "direct I/O: {}", err(&output));
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    let report = lab.report();
    assert_eq!((report.faults, report.wrong_reads), (0, 0));
}

/// Blocks that verification named: the text between `disk "` and the kind.
fn named(text: &str) -> BTreeSet<(u64, String)> {
    let parts = text.split(" offset ").skip(1);
    let numbers = parts.filter_map(|part| {
        let (offset, rest) = part.split_once(": ")?;
        let kind = rest.split_once(',')?.0;
        Some((offset.parse::<u64>().ok()? / BLOCK, kind.to_owned()))
    });
    numbers.collect()
}

/// Blocks of disks that were read with wrong content.
fn returned(place: &Workspace) -> BTreeSet<u64> {
    let lines = truth::read(&place.path("truth")).expect("the truth");
    let wrong = lines.iter().filter(|line| line.event == Event::Returned);
    let blocks = wrong.flat_map(|line| {
        let first = line.bad_offset.expect("an offset");
        first / BLOCK..(first + line.bad_length.expect("a length")).div_ceil(BLOCK)
    });
    blocks.collect()
}

fn injected(place: &Workspace) -> usize {
    let lines = truth::read(&place.path("truth")).expect("the truth");
    lines.iter().filter(|line| line.event == Event::Injected).count()
}

#[test]
fn verification_names_each_damage_kind_and_no_good_block() {
    // Possible names of a block, by the fault injected.
    for (fault, names) in [
        ("lost", &["stale", "lost"][..]),
        ("torn", &["torn", "stale", "lost"]),
        ("misdirected", &["stale", "misplaced", "lost"]),
        ("stale", &["stale", "lost"]),
        ("bit-flip", &["corrupt", "lost"]),
    ] {
        // Filling takes some hundred writes of a MiB at most.
        let faults = format!(
            "[[fault]]\nkind = \"{fault}\"\non = [\"write\"]\npath = \"*.disk\"\n\
             after = 300\ntimes = 6"
        );
        let Some((_lab, place)) = lab(fast(), &faults) else { return };
        let output = place.run_command(&["--verify", "--tile", "writes-tile.toml"]).output();
        let output = output.expect("it starts");
        let (returned, text) = (returned(&place), err(&output));
        assert_eq!(injected(&place), 6, "{fault}: too few writes: {}{text}", out(&output));
        // All faulty blocks may have been written again, which repairs them.
        let code = if returned.is_empty() { 0 } else { 4 };
        assert_eq!(output.status.code(), Some(code), "{fault}: {}{text}", out(&output));
        let named = named(&text);
        assert_eq!(named.is_empty(), returned.is_empty(), "{fault} is missed: {text}");
        for (block, name) in &named {
            assert!(returned.contains(block), "{fault}: block {block} is right: {text}");
            assert!(names.contains(&name.as_str()), "{fault} is called {name}: {text}");
        }
        let count = text.split("(the first of ").nth(1).and_then(|rest| rest.split(')').next());
        let count = count.map_or(named.len(), |count| count.parse().expect("a number"));
        assert_eq!(count, returned.len(), "{fault}: blocks {returned:?} were wrong: {text}");
    }
}

#[test]
fn damage_is_not_seen_and_not_invented_without_verification() {
    let faults = "[[fault]]\nkind = \"lost\"\npath = \"*.disk\"\nprobability = \"20%\"";
    let Some((lab, place)) = lab(fast(), faults) else { return };
    place.run(0, &[]);
    assert!(lab.report().faults > 10, "{}", lab.report().faults);
}

#[test]
fn io_errors_and_short_io_end_a_run_naming_the_operation() {
    for (fault, op, part) in [
        ("eio", "read", "Input/output error"),
        ("eio", "write", "Input/output error"),
        ("enospc", "write", "No space left on device"),
        ("short", "read", "bytes were moved"),
        // The kernel turns a short write into an error, if it is direct and asynchronous
        // (`fuse_get_res_by_io` in fs/fuse/file.c).
        ("short", "write", "Input/output error"),
    ] {
        for verify in [&["--verify"][..], &[]] {
            let faults = format!(
                "[[fault]]\nkind = \"{fault}\"\non = [\"{op}\"]\npath = \"*.disk\"\n\
                 after = 200\ntimes = 3"
            );
            let Some((_lab, place)) = lab(fast(), &faults) else { return };
            let output = place.run_command(verify).output().expect("it starts");
            let text = err(&output) + &out(&output);
            assert_eq!(output.status.code(), Some(1), "{fault} of {op}, {verify:?}: {text}");
            assert!(text.contains(part) && text.contains(op), "{fault} of {op}: {text}");
            assert!(named(&err(&output)).is_empty(), "no damage is invented: {text}");
        }
    }
}

/// A device dead from 2.2 s to the end of 5 s once passed, with 516 us at p95 (seen at 1fa88dc).
#[test]
fn storage_hanging_across_the_step_end_does_not_pass() {
    let faults = "[[fault]]\nkind = \"hang\"\npath = \"*.disk\"\nfrom = \"5s\"\nfor = \"10s\"";
    let Some((lab, place)) = lab(fast(), faults) else { return };
    write_arrivals(&place, 60, 90, "500ms");
    let step = ["--tile", "arrivals-tile.toml", "--tiles", "1", "--duration", "8s"];
    let time = ["--warm-up-min", "2s", "--warm-up-max", "2s"];
    let output = place.run_command(&[&step[..], &time].concat()).output().expect("it starts");
    assert!(lab.report().faults > 0, "the run was over before: {}", out(&output));
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    let run = stored.run().expect("run.json");
    let step = run.steps.first().expect("a step");
    assert_ne!(step.verdict, Verdict::Passed, "{}{}", out(&output), err(&output));
    // If other tests took the processor, the step reports that instead.
    let is_told = step.reason.contains("were not finished") || !step.disturbances.is_empty();
    assert!(is_told, "{}", step.reason);
}

/// A server of a tier that was told to end once waited for a store that did not answer.
#[test]
fn served_tier_ends_in_time_while_its_store_hangs() {
    let faults = "[[fault]]\nkind = \"hang\"\npath = \"*.raw\"\non = [\"write\"]\nfrom = \"0s\"\nfor = \"1h\"";
    let Some((_lab, place)) = lab(fast(), faults) else { return };
    let disk = std::fs::File::create(place.path("ds/vm1.raw")).expect("made");
    disk.set_len(16 << 20).expect("room");
    drop(disk);
    let made = place
        .output(&["tier", "init", "fast", "--size", "48MiB", "--chunk", "1MiB", "--log", "40"]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let words = ["tier", "serve", "fast", "--disk", "vm1=ds/vm1.raw", "--socket", "s"];
    let mode = ["--mode", "through", "--end-within", "2s"];
    let mut server = Running::new(place.command(&[&words[..], &mode].concat()));
    server.wait_for("serving nbd+unix:///vm1");
    let mut client =
        Client::open(&block_server::ListenAddress::Unix(place.path("s")), "vm1").expect("served");
    client.ask(Operation::Write { fua: false }, 0, 4096, &[7; 4096]).expect("it is asked");
    // A later read is answered, so the write has started.
    client.read(8 << 20, 4096).expect("reads do not hang");
    server.signal(Signal::TERM);
    let ended = server.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("not closed cleanly"), "{}", ended.stderr);
}

#[test]
fn silly_renamed_open_files_do_not_hide_the_answer() {
    let Some((lab, place)) = lab(fast(), "[[fault]]\nkind = \"silly-rename\"") else { return };
    let output = place.run_command(&["--verify"]).output().expect("it starts");
    assert!(out(&output).contains("tiles"), "{}{}", out(&output), err(&output));
    // Disks are closed before they are removed, so that no renamed file stays.
    assert_eq!(lab.report().faults, 0, "something open was unlinked");
    assert_eq!(std::fs::read_dir(lab.point()).expect("a lab").count(), 0);
}

/// A disk of 7,200 rpm without cache: some 570 random I/Os a second in 100 MiB with a queue.
const ONE_DISK: &str = r#"
name = "one-disk"
title = "One disk of 7,200 rpm"
source = "Made up for tests."

[[pool]]
name = "disks"
disk = "hdd-7200"
count = 1
"#;

#[test]
fn edge_of_a_real_run_equals_its_simulation() {
    let array = spec::load_array("one-disk.toml", ONE_DISK).expect("a valid array");
    let Some((lab, place)) = lab(array, "") else { return };
    place.write("one-disk.toml", ONE_DISK);
    // The disk carries 220 arrivals a second of two tiles, but not of three.
    write_arrivals(&place, 220, 90, "300ms");
    let same = ["--tile", "arrivals-tile.toml", "--tiles", "1..3", "--duration", "8s"];
    let json = ["--warm-up-min", "2s", "--warm-up-max", "3s", "--seed", "5", "--format", "json"];
    let more = [&same[..], &json, &["--footprint", "0.002", "--quick"]].concat();
    let simulated = [&["--array", "./one-disk.toml"][..], &more].concat();
    let read = |output: &std::process::Output| -> Run {
        run_store::run::parse(&out(output))
            .unwrap_or_else(|error| panic!("{error}: {}", err(output)))
    };
    let simulated = read(&place.output(&simulate_words(&simulated)));
    let real = read(&place.run_command(&more).output().expect("it starts"));
    let held = |run: &Run| run.answer.tiles_held.unwrap_or(0);
    assert_eq!(held(&simulated), 2);
    if real.answer.status == Status::Inconclusive {
        // Other tests run beside this one; only their disturbance may leave a step undecided.
        let silent = real.steps.iter().filter(|step| step.verdict == Verdict::Inconclusive);
        for step in silent {
            let told = matches!(step.cause, Some(Cause::Disturbed | Cause::Generator));
            assert!(told, "{:?}: {}", step.cause, step.reason);
        }
        eprintln!("skipped: this machine is busy: {}", real.answer.sentence);
        return;
    }
    assert_eq!(real.answer.status, Status::Complete);
    let lateness = lab.report().lateness;
    assert_eq!(
        held(&real),
        2,
        "{} and {}; {lateness:?}",
        real.answer.sentence,
        simulated.answer.sentence
    );
    let rate = |run: &Run| run.steps[0].throughput.operations_per_s;
    let ratio = rate(&real) / rate(&simulated);
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

fn lab_words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["lab", "mount", "--array", "slow-sata", "--size", "128MiB", "ds"][..], more].concat()
}

/// Mounted lab, as a user has it; `None` where it cannot be mounted.
fn mounted(place: &Workspace, more: &[&str]) -> Option<Running> {
    lab(fast(), "")?;
    let mut running = Running::new(place.command(&lab_words(more)));
    running.wait_for("Ctrl-C unmounts");
    Some(running)
}

#[test]
fn lab_command_introduces_itself_and_unmounts_on_signals() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = Workspace::new();
        let Some(running) = mounted(&place, &[]) else { return };
        std::fs::write(place.path("ds").join("a"), [7; 9000]).expect("writes");
        assert_eq!(std::fs::read(place.path("ds").join("a")).expect("reads"), [7; 9000]);
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains("simulated slow array"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
        assert!(ended.stdout.contains("requests completed, late by"), "{}", ended.stdout);
        assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    }
}

#[test]
fn the_command_unmounts_what_is_in_use_and_says_so() {
    let place = Workspace::new();
    let Some(running) = mounted(&place, &[]) else { return };
    let file = std::fs::File::create(place.path("ds").join("a")).expect("makes");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("was in use"), "{}", ended.stderr);
    assert!(place.names("ds").is_empty());
    assert_eq!(file.metadata().expect_err("it is gone").raw_os_error(), Some(107));
}

#[test]
fn the_command_ends_when_somebody_else_unmounts_it() {
    let place = Workspace::new();
    let Some(running) = mounted(&place, &[]) else { return };
    let point: PathBuf = place.path("ds");
    let output = std::process::Command::new("umount").arg(&point).output().expect("it starts");
    if !output.status.success() {
        return eprintln!("skipped: umount needs root");
    }
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn lab_command_refuses_full_directory_and_bad_files() {
    let place = Workspace::new();
    place.write("ds/precious", "text");
    let output = place.output(&lab_words(&[]));
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(
        err(&output).contains("precious") && err(&output).contains("hint: "),
        "{}",
        err(&output)
    );
    place.write("faults.toml", "[[fault]]\nkind = \"lots\"\n");
    let output = place.output(&lab_words(&["--faults", "faults.toml", "--truth", "truth"]));
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("line 2") && !place.path("truth").exists(), "{}", err(&output));
    let output = place.output(&lab_words(&["--faults", "faults.toml"]));
    assert!(err(&output).contains("--truth"), "what is wrong is written down: {}", err(&output));
}

#[test]
fn all_kinds_of_faults_are_in_the_guide() {
    let guide = include_str!("../../../../../docs/guides/lab.md");
    let text = guide.split("```toml faults\n").nth(1).and_then(|rest| rest.split("```").next());
    let schedule = Schedule::parse("guide", text.expect("an example")).expect("a valid one");
    assert_eq!(schedule.rules.len(), 2);
    for kind in Kind::ALL {
        assert!(guide.contains(&format!("| `{}` |", kind.name())), "{}", kind.name());
    }
}
