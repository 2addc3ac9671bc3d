//! A trace is played on real storage and on a model, and gives a run.

use std::fmt::Write as _;

use run_store::run::{ReplayFacts, Run, Status, Step};
use run_store::rundir::StoredRun;
use rustix::process::Signal;

use crate::rig::{ALLOW, Running, Workspace, err, out};

/// MSR Cambridge CSV of two disks of one host: an I/O every `gap` steps of 100 ns, each of
/// 300 us, 4 KiB apart on the first 2 MiB, and every tenth beyond 16 MiB, off its page.
fn msr(ios: u64, gap: u64) -> String {
    let mut text = String::new();
    for n in 0..ios {
        let time = 128_166_372_000_000_000_u64 + n * gap;
        let disk = n % 2;
        let verb = if n % 3 == 0 { "Write" } else { "Read" };
        let offset = if n % 10 == 0 { (16 << 20) + 512 } else { n * 4096 % (2 << 20) };
        writeln!(text, "{time},web,{disk},{verb},{offset},4096,3000").expect("a text");
    }
    text
}

fn place() -> Workspace {
    let place = Workspace::new();
    place.write("web.csv", &msr(400, 25_000));
    place
}

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["replay", "web.csv", "--seed", "7", "--live", "off"], more].concat()
}

fn run(place: &Workspace, words: &[&str]) -> Run {
    let output = place.output(&[words, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    run_store::run::parse(&out(&output)).expect("one run document and nothing else")
}

fn facts(run: &Run) -> &ReplayFacts {
    run.steps[0].replay.as_ref().expect("a replay says what it played")
}

/// Steps without the time of day.
fn steps(run: &Run) -> Vec<Step> {
    let mut steps = run.steps.clone();
    for step in &mut steps {
        step.started = jiff::Timestamp::UNIX_EPOCH;
    }
    steps
}

#[test]
fn replay_submits_each_io_once_and_its_plan_repeats_it() {
    let Some(_) = Workspace::usable() else { return };
    let place = place();
    let first = run(&place, &words(&[&["--on", "ds"][..], &ALLOW].concat()));
    let played = facts(&first);
    assert_eq!((played.submitted, played.copies, played.ended), (400, 1, 1), "{played:?}");
    assert_eq!(played.traces[0].devices.len(), 2, "{played:?}");
    assert_eq!((played.traces[0].pace.as_str(), played.traces[0].ios), ("open", 400));
    assert_eq!(played.submission_error.samples, 400);
    assert!(played.elapsed_ns.expect("it ended") >= 997_500_000, "{played:?}");
    let ios: u64 = first.steps[0].io.iter().map(|io| io.count).sum();
    assert_eq!(ios, 400, "the measured time ends with the trace's last answer");
    assert!(first.steps[0].warm_up.reached && first.steps[0].warm_up.duration_ns == 0);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    let directory = &place.runs()[0];
    assert_eq!(StoredRun::at(directory).expect("a run").check().expect("checksums"), []);
    let plan = directory.join("plan.toml").display().to_string();
    let again = run(&place, &[&["run", &plan, "--live", "off"][..], &ALLOW].concat());
    assert_eq!(facts(&again).submitted, 400);
    assert_eq!(again.tile.sha256, first.tile.sha256, "the same load");
    let compared = out(&place.output(&["compare", &first.id, "vs", &again.id]));
    assert!(!compared.contains("different tiles"), "{compared}");
    let shown = out(&place.output(&["runs", "show", &first.id, "--verbose"]));
    assert!(shown.contains("1 copy played to the end"), "{shown}");
    assert!(shown.contains("sent after due: "), "{shown}");
}

#[test]
fn trace_folds_into_smaller_disks_and_copies_run_on_a_model() {
    let place = place();
    let model = ["--array", "hdd-raid10", "--size", "1MiB", "--closed", "--tiles", "1..2"];
    let first = run(&place, &words(&model));
    assert_eq!(first.answer.status, Status::Complete);
    assert_eq!(first.steps.iter().map(|step| step.tiles).collect::<Vec<_>>(), [1, 2]);
    let played = facts(&first);
    assert_eq!((played.submitted, played.ended), (400, 1), "{played:?}");
    let trace = &played.traces[0];
    assert_eq!(trace.pace, "closed");
    // Of 400 I/Os, those in the second MiB of the first two, and every tenth beyond 16 MiB.
    assert!(trace.folded > 100, "{trace:?}");
    assert_eq!((trace.rounded, trace.cut, trace.unit_bytes), (0, 0, 512), "{trace:?}");
    assert_eq!(first.tile.disk_bytes, 2 << 20);
    let both = first.steps[1].replay.as_ref().expect("two copies");
    assert_eq!((both.copies, both.ended, both.submitted), (2, 2, 800));
    let plan = place.runs()[0].join("plan.toml").display().to_string();
    let again = run(&place, &["simulate", &plan, "--live", "off"]);
    assert_eq!(steps(&again), steps(&first));
    let other = run(&place, &words(&["--array", "hdd-raid10"]));
    assert_ne!(other.tile.sha256, first.tile.sha256, "another load");
}

#[test]
fn replay_at_max_speed_follows_answers_and_can_break_a_limit() {
    let place = place();
    let fast = run(&place, &words(&["--array", "hdd-raid10", "--speed", "max"]));
    assert_eq!((facts(&fast).ended, facts(&fast).traces[0].speed.as_str()), (1, "max"));
    let words = words(&["--array", "hdd-raid10", "--limit", "read mean 1us"]);
    let broken = place.output(&words);
    assert_eq!(broken.status.code(), Some(4), "{}{}", out(&broken), err(&broken));
    assert!(out(&broken).contains("does not hold 1 tile"), "{}", out(&broken));
}

#[test]
fn unplayable_trace_is_refused_before_any_write() {
    let place = place();
    place.write("noise", "what is this\nno trace at all\n");
    let cases: [(&[&str], &str); 6] = [
        (&["gone.csv", "--on", "ds"], "gone.csv"),
        (&["noise", "--on", "ds"], "noise"),
        (&["web.csv"], "--on"),
        (&["web.csv", "--on", "ds", "--array", "hdd-raid10"], "cannot be used with"),
        (&["web.csv", "--on", "ds", "--vm", "wep"], "no VM is called \"wep\""),
        (&["web.csv", "--on", "ds", "--limit", "reads p99 1ms"], "is not a limit"),
    ];
    for (words, wanted) in cases {
        let output = place.output(&[&["replay"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", err(&output));
        assert!(err(&output).contains(wanted), "{words:?}: {}", err(&output));
    }
    assert!(place.runs().is_empty() && place.names("ds").is_empty());
}

#[test]
fn a_file_that_is_not_ours_is_not_written_to() {
    let place = place();
    place.write("mine", "precious");
    let output = place.output(&words(&[&["--on", "file:mine"][..], &ALLOW].concat()));
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert_eq!(std::fs::read_to_string(place.path("mine")).expect("a file"), "precious");
    assert!(place.runs().is_empty());
}

#[test]
fn ctrl_c_keeps_what_was_played() {
    let place = Workspace::new();
    place.write("web.csv", &msr(1000, 10_000_000_000));
    let more = ["--array", "hdd-raid10", "--duration", "400h", "--live", "line"];
    let mut running = Running::new(place.command(&[&["replay", "web.csv"], &more[..]].concat()));
    running.wait_for("x real time");
    running.signal(Signal::INT);
    let ended = running.end();
    let runs = place.runs();
    assert_eq!(runs.len(), 1);
    let stored = StoredRun::at(&runs[0]).expect("a run directory");
    let run = stored.run().expect("run.json");
    assert_eq!((ended.code, run.answer.status), (Some(130), Status::Interrupted));
}

/// Tile of a replayed trace and two ordinary workloads beside it, with or without the trace.
fn mixed_tile(place: &Workspace, has_replay: bool) {
    place.write("web.csv", &msr(400, 25_000));
    place.write(
        "played.toml",
        "name = \"played\"\ntitle = \"a trace\"\nsource = \"recorded\"\n\
         [metric]\nunit = \"I/Os/s\"\ncount = \"io\"\nreference = 400\n\
         [[vm]]\nname = \"played\"\n\
         [[vm.disk]]\nname = \"a\"\nsize = \"32MiB\"\n[[vm.disk]]\nname = \"b\"\nsize = \"32MiB\"\n\
         [replay]\ntrace = \"web.csv\"\n\
         [[limit]]\nio = \"read\"\npercentile = 99\nlimit = \"10s\"\nsource = \"ours\"\n",
    );
    place.write(
        "paced.toml",
        "name = \"paced\"\ntitle = \"a rate\"\nsource = \"ours\"\n\
         [metric]\nunit = \"I/Os/s\"\ncount = \"io\"\n\
         [[vm]]\nname = \"paced\"\n[[vm.disk]]\nname = \"data\"\nsize = \"32MiB\"\n\
         [[users]]\nname = \"users\"\nvm = \"paced\"\n\
         load = { paced = { users = 4, rate = \"100/s\", backlog = 1000 } }\n\
         [[action]]\nname = \"read\"\nsteps = [{ read = { disk = \"data\", size = \"8k\" } }]\n",
    );
    place.write(
        "log.toml",
        "name = \"log\"\ntitle = \"a log\"\nsource = \"ours\"\n\
         [metric]\nunit = \"I/Os/s\"\ncount = \"actions\"\nreference = 50\n\
         [[vm]]\nname = \"log\"\n[[vm.disk]]\nname = \"log\"\nsize = \"32MiB\"\nrole = \"log\"\n\
         [[users]]\nname = \"users\"\nvm = \"log\"\n\
         load = { closed = { users = 1, think = \"20ms\" } }\n\
         [[action]]\nname = \"commit\"\n\
         steps = [{ append = { disk = \"log\", size = \"4k\", durable = \"50%\" } }, { flush = { disk = \"log\" } }]\n",
    );
    let played = if has_replay { "[[workload]]\nuse = \"played.toml\"\n" } else { "" };
    let tile = format!(
        "name = \"mixed\"\ntitle = \"mixed\"\nsource = \"ours\"\n\
         {played}[[workload]]\nuse = \"paced.toml\"\n[[workload]]\nuse = \"log.toml\"\n"
    );
    place.write("mixed.toml", &tile);
}

/// Three seconds of the mixed tile; the trace lasts one of them.
const THREE: [&str; 14] = [
    "--footprint",
    "1",
    "--tile",
    "mixed.toml",
    "--quick",
    "--duration",
    "3s",
    "--warm-up-min",
    "0s",
    "--warm-up-max",
    "0s",
    "--slice",
    "100ms",
    "--seed=7",
];

/// I/Os by kind of a workload of the mixed tile: over the whole trace, or over the measured time
/// for others.
fn kinds(place: &Workspace, run: &Run, workload: &str) -> Vec<(String, u64)> {
    let directory = place.runs().into_iter().find(|it| it.ends_with(&run.id)).expect("its run");
    let stored = StoredRun::at(&directory).expect("a run directory");
    let mut kinds = std::collections::BTreeMap::<String, u64>::new();
    // A disturbed step runs again, and each run plays the whole trace.
    let last = run.steps.last().expect("a step").repeat;
    for row in stored.series().expect("a series") {
        let row = row.expect("a row");
        if row.key.repeat != last {
            continue;
        }
        let counts = workload == "played" || row.key.phase == run_store::run::Phase::Measured;
        if row.workload == workload && counts {
            *kinds.entry(row.kind).or_default() += row.response.count();
        }
    }
    kinds.into_iter().collect()
}

/// Runs the mixed tile, with the trace and without, on the same storage. The kept rate may be off
/// by one part in `exact`.
fn replay_beside_others(place: &Workspace, storage: &[&str], (tiles, exact): (u64, u32)) {
    let words = |more: &[&str]| [storage, &THREE, &["--live", "off"], more].concat().join(" ");
    let go = || {
        let words = words(&["--format", "json"]);
        let output = place.output(&words.split(' ').collect::<Vec<_>>());
        // On a busy computer the load generator may be the limit.
        assert!(matches!(output.status.code(), Some(0 | 5)), "{}{}", out(&output), err(&output));
        run_store::run::parse(&out(&output)).expect("one run document and nothing else")
    };
    mixed_tile(place, true);
    let mixed = go();
    mixed_tile(place, false);
    let plain = go();
    let played = facts(&mixed);
    let copies = u32::try_from(tiles).expect("a few");
    assert_eq!((played.submitted, played.copies, played.ended), (400 * tiles, copies, copies));
    assert_eq!(played.traces.len(), 1);
    assert_eq!((played.traces[0].workload.as_str(), played.traces[0].ios), ("played", 400));
    assert!(plain.steps[0].replay.is_none());
    // Each I/O of the trace is in the series once: 134 of 400 are writes.
    let of_trace = [("read".to_owned(), 266 * tiles), ("write".to_owned(), 134 * tiles)];
    assert_eq!(kinds(place, &mixed, "played"), of_trace);
    assert_eq!(kinds(place, &plain, "played"), []);
    // The step continues to its own end after the trace. Other workloads show no difference in
    // kind: the paced one keeps its rate, and the loop commits and flushes in turn.
    assert!(mixed.steps[0].measured_ns >= 3_000_000_000, "{}", mixed.steps[0].measured_ns);
    for run in [&mixed, &plain] {
        let paced = kinds(place, run, "paced");
        assert_eq!(paced.len(), 1, "{paced:?}");
        let due = 300 * tiles;
        assert!(
            paced[0].0 == "data-read" && paced[0].1.abs_diff(due) <= due / u64::from(exact),
            "{paced:?}"
        );
        let log = kinds(place, run, "log");
        let names: Vec<&str> = log.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["log-append", "log-flush"]);
        assert!(log[0].1.abs_diff(log[1].1) <= 2 * tiles && log[0].1 > 30 * tiles, "{log:?}");
        let results = &run.steps[0].workloads;
        let metric = results.iter().find(|it| it.workload == "paced").expect("its result");
        let rate = metric.metric.value.value.expect("a rate");
        assert!((rate - 100.0).abs() < 100.0 / f64::from(exact), "{rate}");
    }
}

#[test]
fn a_tile_plays_a_trace_beside_ordinary_workloads_on_a_model() {
    let place = Workspace::new();
    let storage = ["simulate", "--array", "nvme-local", "--tiles", "2"];
    replay_beside_others(&place, &storage, (2, 20));
}

#[test]
fn a_tile_plays_a_trace_beside_ordinary_workloads_on_files() {
    let Some(place) = Workspace::usable() else { return };
    let storage = [&["run", "ds", "--tiles", "1"][..], &ALLOW].concat();
    // A busy computer starts late, and catches up after the end.
    replay_beside_others(&place, &storage, (1, 3));
}
