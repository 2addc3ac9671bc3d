//! Runs over hosts: every host is a separate agent on this computer, some in namespaces of their
//! own.

use std::time::Instant;

use run_store::run::{Answer, Run, Step, Verdict};
use run_store::rundir::StoredRun;
use rustix::process::{Pid, Signal, kill_process};

use crate::rig::{DEADLINE, Running, Workspace, err, out, simulate_words};

/// Option for a host whose agent writes its process id to a file. `wrap` is a prefix of its
/// command.
fn host(place: &Workspace, name: &str, wrap: &str) -> String {
    let (bin, ds) = (env!("CARGO_BIN_EXE_tilemark"), place.path("ds"));
    let slot = place.path("ds").parent().map(|root| root.display().to_string());
    let slot = slot.unwrap_or_default().replace('/', "-");
    format!(
        "{name}=exec:echo $$ > {name}.pid; export TILEMARK_AGENT_SLOT={slot}-{name}; exec {wrap} {bin} \
         agent --join - --allow dir:{} --allow-root-fs",
        ds.display()
    )
}

pub fn hosts(place: &Workspace, names: &[&str]) -> Vec<String> {
    names.iter().flat_map(|name| ["--host".to_owned(), host(place, name, "")]).collect()
}

fn words<'a>(hosts: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    hosts.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

/// Process id of an agent.
pub fn agent(place: &Workspace, name: &str) -> Pid {
    let text = std::fs::read_to_string(place.path(&format!("{name}.pid"))).expect("it began");
    Pid::from_raw(text.trim().parse().expect("a number")).expect("not 0")
}

pub fn wait_until_gone(pid: Pid) {
    let begun = Instant::now();
    while rustix::process::test_kill_process(pid).is_ok() {
        assert!(begun.elapsed() < DEADLINE, "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Result of a run that ended; its directory may be a partial one.
pub fn stored(place: &Workspace) -> Run {
    let all = place.runs();
    let stored = StoredRun::at(all.last().expect("a run directory")).expect("a run directory");
    stored.run().expect("its result").clone()
}

#[test]
fn three_hosts_share_tiles_by_weight_and_report_each_share() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a", "b", "c"]);
    let more = ["--tiles", "4", "--verify", "--placement", "weight:b=2"];
    let output = place.run_command(&words(&hosts, &more)).output().expect("it starts");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 5)), "{code:?}: {}{}", out(&output), err(&output));
    let run = stored(&place);
    let names: Vec<&str> = run.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let step = run.steps.iter().find(|step| step.tiles == 4).expect("four tiles were tried");
    let tiles: Vec<Vec<u32>> = step.hosts.iter().map(|host| host.tiles.clone()).collect();
    assert_eq!(tiles, [vec![1], vec![0, 3], vec![2]], "b has twice the weight");
    let of_hosts: f64 = step.hosts.iter().map(|host| host.operations_per_s).sum();
    let all = step.throughput.operations_per_s;
    assert!(all > 0.0 && (of_hosts - all).abs() < 1.0, "{of_hosts} of {all}");
    for host in &step.hosts {
        assert!(host.operations_per_s > 0.0 && host.against_others.samples > 0, "{host:?}");
    }
    let verified = run.warnings.iter().find(|warning| warning.id == "verified").expect("read back");
    assert!(["host a", "host b", "host c"].iter().all(|host| verified.text.contains(host)));
    assert!(out(&output).contains("its I/Os compared with the others"), "{}", out(&output));
    assert_eq!(place.names("ds"), [""; 0], "nothing is left");
    let again = place.output(&["verify-report", "latest"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", out(&again), err(&again));
    assert!(out(&again).contains("limits of host b agrees"), "{}", out(&again));
    let script = "import duckdb, sys; print(duckdb.sql(\"select string_agg(distinct tile || host, ' ' \
                  order by tile || host) from 'series.parquet' where tiles = 4\").fetchone()[0])";
    let mut python = std::process::Command::new("python3");
    let asked = python.args(["-c", script]).current_dir(&place.runs()[0]).output();
    match asked.ok().filter(|asked| asked.status.success()) {
        Some(asked) => assert_eq!(out(&asked).trim(), "0b 1a 2c 3b"),
        None => eprintln!("skipped: the column `host` is read with duckdb, which is not installed"),
    }
}

#[test]
fn prepared_disks_of_hosts_are_reused_until_removed() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a", "b"]);
    let run = |more: &[&str]| place.run_command(&words(&hosts, more)).output().expect("it starts");
    let nothing = run(&["--tiles", "2", "--reuse", "latest"]);
    assert!(err(&nothing).contains("left disks at"), "{}", err(&nothing));

    let run_words = place.run_command(&words(&hosts, &["--tiles", "2", "--format", "json"]));
    let mut prepare = place.command(&["prepare"]);
    prepare.args(run_words.get_args().skip(1));
    let prepared = prepare.output().expect("it starts");
    assert_eq!(prepared.status.code(), Some(0), "{}{}", out(&prepared), err(&prepared));
    let document: serde_json::Value = serde_json::from_str(&out(&prepared)).expect("JSON");
    let made = document["run"].as_str().expect("a run").to_owned();
    let both = [format!(".tilemark-{made}-a"), format!(".tilemark-{made}-b")];
    let there = || {
        let mut names = place.names("ds");
        names.sort();
        names
    };
    assert_eq!(there(), both);
    assert!(document["prefill"]["bytes"].as_u64() > Some(0), "{document}");
    assert_eq!(document["hosts"][1]["name"], "b", "{document}");

    let again = run(&["--tiles", "2", "--reuse", "latest", "--verify"]);
    assert!(matches!(again.status.code(), Some(0 | 5)), "{}{}", out(&again), err(&again));
    assert_eq!(there(), both, "they stay");
    let used = stored(&place);
    let filled = used.prefill.as_ref().map_or(0, |prefill| prefill.bytes);
    assert_eq!(filled, 0, "nothing is filled twice");
    let said = used.warnings.iter().any(|warning| warning.text.contains(&made));
    assert!(said, "whose disks they are: {:?}", used.warnings);

    let other = run(&["--tiles", "2", "--reuse", "nobody"]);
    assert_eq!(other.status.code(), Some(3), "{}", err(&other));
    assert!(err(&other).contains("host a"), "{}", err(&other));
    let last = run(&["--tiles", "1", "--reuse", &made, "--remove"]);
    assert!(matches!(last.status.code(), Some(0 | 5)), "{}{}", out(&last), err(&last));
    assert_eq!(place.names("ds"), [""; 0], "both are removed");
}

#[test]
fn killed_agent_voids_the_step_by_name_and_others_clean_up() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a", "b"]);
    let mut run = place.start(&words(&hosts, &["--tiles", "2"]));
    run.wait_for("measuring");
    kill_process(agent(&place, "b"), Signal::KILL).expect("it is there");
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("host b: gone: "), "{}", ended.stderr);
    let run = stored(&place);
    assert!(run.steps.iter().all(|step| step.verdict == Verdict::Interrupted), "never n - 1");
    assert!(run.answer.sentence.contains("host b"), "{}", run.answer.sentence);
    let left = place.names("ds");
    assert!(left.iter().all(|name| name.ends_with("-b")), "a removed its own: {left:?}");
    let cleaned = place.output(&["cleanup", "ds"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
    assert_eq!(place.names("ds"), [""; 0]);
}

#[test]
fn paused_agent_is_lost_and_removes_its_disks_on_resume() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a", "b"]);
    let mut run = place.start(&words(&hosts, &["--tiles", "2"]));
    run.wait_for("measuring");
    let b = agent(&place, "b");
    kill_process(b, Signal::STOP).expect("it is there");
    run.wait_for("host b: gone: ");
    kill_process(b, Signal::CONT).expect("it is there");
    assert_eq!(run.end().code, Some(1));
    wait_until_gone(b);
    assert_eq!(place.names("ds"), [""; 0], "both removed what they made");
}

#[test]
fn agents_of_killed_controller_end_and_remove_their_disks() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a", "b"]);
    let mut run = place.start(&words(&hosts, &["--tiles", "2"]));
    run.wait_for("measuring");
    let agents = [agent(&place, "a"), agent(&place, "b")];
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None);
    agents.into_iter().for_each(wait_until_gone);
    assert_eq!(place.names("ds"), [""; 0]);
}

#[test]
fn interrupted_run_over_hosts_keeps_result_and_removes_disks() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a", "b"]);
    let mut run = place.start(&words(&hosts, &["--tiles", "2"]));
    run.wait_for("measuring");
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(stored(&place).steps.len(), 1);
    assert_eq!(place.names("ds"), [""; 0]);
}

/// Study with two runs of each step, one for each host.
const STUDY: [&str; 7] = ["study", "run", "example", "--repeats", "2", "--format", "json"];

fn study_on(hosts: &[String]) -> Vec<&str> {
    STUDY.into_iter().chain(hosts.iter().map(String::as_str)).collect()
}

#[test]
fn a_study_over_hosts_is_to_the_byte_that_of_one_machine() {
    let Some(place) = Workspace::usable() else { return };
    let alone = place.output(&STUDY);
    assert_eq!(alone.status.code(), Some(0), "{}", err(&alone));
    let hosts = hosts(&place, &["a", "b"]);
    let together = place.output(&study_on(&hosts));
    assert_eq!(together.status.code(), Some(0), "{}", err(&together));
    assert!(out(&alone) == out(&together), "the documents differ");
    for name in ["a", "b"] {
        wait_until_gone(agent(&place, name));
    }
}

#[test]
fn points_of_killed_host_are_simulated_on_other_hosts() {
    let Some(place) = Workspace::usable() else { return };
    let alone = place.output(&STUDY);
    let hosts = hosts(&place, &["a", "b"]);
    let mut study = Running::new(place.command(&study_on(&hosts)));
    study.wait_for(" runs on ");
    kill_process(agent(&place, "b"), Signal::KILL).expect("it is there");
    let ended = study.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = "host b: gone: its agent ended, or nothing came from it for 2 s; other hosts simulate its share";
    assert_eq!(ended.stderr.matches(told).count(), 1, "{}", ended.stderr);
    assert!(out(&alone) == ended.stdout, "the documents differ");
}

#[test]
fn study_without_hosts_left_fails_each_point() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a"]);
    let many = ["--repeats", "50"].map(str::to_owned);
    let hosts: Vec<String> = hosts.into_iter().chain(many).collect();
    let mut command = place.command(&["study", "run", "example", "--format", "json"]);
    command.args(&hosts);
    let mut study = Running::new(command);
    study.wait_for(" runs on ");
    kill_process(agent(&place, "a"), Signal::KILL).expect("it is there");
    let ended = study.end();
    assert!(ended.stderr.contains("no host is left to simulate it"), "{}", ended.stderr);
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).expect("one document");
    let claims = result["claims"].as_array().expect("claims");
    let predicted: Vec<_> = claims.iter().filter(|own| own["kind"] == "predicted").collect();
    assert!(!predicted.is_empty() && predicted.iter().all(|own| own["met"] == false), "{claims:?}");
}

/// Four counts, twice each.
const SIMULATION: [&str; 10] = [
    "--array",
    "hdd-raid10",
    "--tile",
    "micro/read-4k-qd1",
    "--footprint",
    "0.01",
    "--tiles",
    "1..4",
    "--repeats",
    "2",
];

/// Answer, steps without the times of day, and the bytes of the series.
type Simulated = (Answer, Vec<Step>, Vec<(String, Vec<u8>)>);

fn simulated(place: &Workspace, more: &[&str]) -> Simulated {
    let output = place.output(&simulate_words(&[&SIMULATION[..], more].concat()));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    taken(place)
}

/// Stored run of the place, which is then removed.
fn taken(place: &Workspace) -> Simulated {
    let [directory] = &place.runs()[..] else { panic!("one run is stored") };
    let stored = StoredRun::at(directory).expect("a run directory");
    let Run { answer, mut steps, .. } = stored.run().expect("run.json").clone();
    for step in &mut steps {
        step.started = jiff::Timestamp::UNIX_EPOCH;
    }
    let files = std::fs::read_dir(directory).expect("a directory");
    let files = files.map(|own| own.expect("an entry").path());
    let series = files.filter(|file| file.extension().is_some_and(|own| own == "parquet"));
    let named = |file: std::path::PathBuf| {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(&file).expect("it is ours"))
    };
    let mut series: Vec<(String, Vec<u8>)> = series.map(named).collect();
    series.sort();
    std::fs::remove_dir_all(directory).expect("it is ours");
    (answer, steps, series)
}

#[test]
fn simulation_on_threads_or_hosts_is_bit_identical() {
    let Some(place) = Workspace::usable() else { return };
    let alone = simulated(&place, &[]);
    assert!(alone.1.len() == 8 && alone.2.len() > 2);
    assert!(simulated(&place, &["--threads", "3"]) == alone, "threads changed it");
    let hosts = hosts(&place, &["a", "b"]);
    let words: Vec<&str> = hosts.iter().map(String::as_str).collect();
    assert!(simulated(&place, &words) == alone, "hosts changed it");
    for name in ["a", "b"] {
        wait_until_gone(agent(&place, name));
    }
}

#[test]
fn a_simulation_goes_on_here_when_its_hosts_are_lost() {
    let Some(place) = Workspace::usable() else { return };
    let alone = simulated(&place, &[]);
    let hosts = hosts(&place, &["a"]);
    let words: Vec<&str> = SIMULATION.into_iter().chain(hosts.iter().map(String::as_str)).collect();
    let mut command = place.command(&simulate_words(&words));
    command.args(["--live", "line"]);
    let mut run = Running::new(command);
    run.wait_for("1 tile");
    kill_process(agent(&place, "a"), Signal::KILL).expect("it is there");
    let ended = run.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said = ended.stderr.matches("other hosts simulate its share").count();
    assert!(said <= 1, "{}", ended.stderr);
    assert!(taken(&place) == alone, "losing the host changed it");
}

#[test]
fn hosts_are_examined_and_cleaned_up_where_they_are() {
    let Some(place) = Workspace::usable() else { return };
    let all = hosts(&place, &["a", "b"]);
    let ask = |verb: &[&'static str]| place.output(&[verb, &words(&all, &[])].concat());
    let doctor = ask(&["doctor", "ds"]);
    assert!(matches!(doctor.status.code(), Some(0 | 5)), "{}", err(&doctor));
    let said = out(&doctor);
    assert!(said.starts_with("a:\n  ") && said.contains("\nb:\n  "), "{said}");
    assert!(
        said.matches("fit for measuring").count() == 2 && said.contains("  good     "),
        "{said}"
    );
    let json = ask(&["doctor", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&out(&json)).expect("one document");
    let names: Vec<_> = document["hosts"].as_array().expect("hosts").iter().collect();
    assert_eq!((names[0]["name"].as_str(), names[1]["name"].as_str()), (Some("a"), Some("b")));
    assert!(names.iter().all(|host| !host["findings"][0]["id"].is_null()), "{document}");

    // The first host to look finds the objects that a killed run left.
    let mut run = place.start(&words(&hosts(&place, &["c"]), &["--tiles", "1"]));
    run.wait_for("measuring");
    kill_process(agent(&place, "c"), Signal::KILL).expect("it is there");
    run.end();
    assert_eq!(place.names("ds").len(), 1, "the killed one's");
    let listed = ask(&["cleanup", "ds", "--dry-run"]);
    assert!(out(&listed).contains("a:\n  would remove "), "{}{}", out(&listed), err(&listed));
    assert_eq!(place.names("ds").len(), 1);
    let one = hosts(&place, &["a"]);
    let cleaned = place.output(&[&["cleanup", "ds"][..], &words(&one, &[])].concat());
    assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
    assert!(out(&cleaned).starts_with("a:\n  removed "), "{}", out(&cleaned));
    assert_eq!(place.names("ds"), [""; 0]);

    std::fs::create_dir(place.path("other")).expect("creates");
    let refused = ask(&["cleanup", "other"]);
    assert!(err(&refused).contains("host a: "), "{}", err(&refused));
    assert!(err(&refused).contains("/ds"), "what is allowed is said: {}", err(&refused));
}

/// A relative path given for hosts was once looked up in the agent's directory.
#[test]
fn relative_target_is_resolved_on_the_controller() {
    let Some(place) = Workspace::usable() else { return };
    let elsewhere = ["--host".to_owned(), host(&place, "a", "env -C /")];
    let check = ["check", "ds", "--allow-root-fs", "--footprint", "0.001"];
    for verb in [&["doctor", "ds"][..], &["cleanup", "ds"], &check] {
        let output = place.output(&[verb, &words(&elsewhere, &[])].concat());
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 5)), "{verb:?}: {}{}", out(&output), err(&output));
    }
    let wrong = place.output(&[&["cleanup", "blok:ds"][..], &words(&elsewhere, &[])].concat());
    assert_eq!(wrong.status.code(), Some(2), "before any agent begins: {}", err(&wrong));
    assert!(err(&wrong).contains("hint: "), "{}", err(&wrong));
}

#[test]
fn a_plan_over_hosts_says_what_it_would_do_and_touches_nothing() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a", "b"]);
    let plan = |more: &[&str]| {
        let run = place.run_command(&words(&hosts, more));
        let mut plan = place.command(&["plan"]);
        plan.args(run.get_args().skip(1));
        plan.output().expect("it starts")
    };
    let said = plan(&["--tiles", "3", "--placement", "packed:2"]);
    assert_eq!(said.status.code(), Some(0), "{}{}", out(&said), err(&said));
    let text = out(&said);
    for part in ["\nb: ", "placement  packed:2", "\nladder ", "\nwrites ", "a run may begin"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = plan(&["--tiles", "3", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&out(&json)).expect("one document");
    assert_eq!(document["tiles_max"], 3, "{document}");
    assert_eq!(document["hosts"][1]["name"], "b", "{document}");
    let each = document["per_tile_bytes"].as_u64().expect("a number");
    assert_eq!(document["written_at_most_bytes"], 3 * each, "{document}");
    let many = plan(&["--tiles", "3", "--space-max", "1KiB"]);
    assert_eq!(many.status.code(), Some(3), "{}{}", out(&many), err(&many));
    assert!(out(&many).contains("not even the first step fits"), "{}", out(&many));
    assert_eq!((place.names("ds"), place.runs().len()), (vec![], 0));
}

#[test]
fn what_a_hosts_owner_did_not_allow_is_refused_with_what_is() {
    let Some(place) = Workspace::usable() else { return };
    std::fs::create_dir(place.path("other")).expect("a directory");
    let hosts = hosts(&place, &["a"]);
    let output = {
        let mut command = place.run_command(&words(&hosts, &[]));
        let args: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
        command = place.command(&[]);
        command.args(args.iter().map(|arg| if arg == "ds" { "other".into() } else { arg.clone() }));
        command.output().expect("it starts")
    };
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(
        err(&output).contains("may not be used on this host; allowed: dir:"),
        "{}",
        err(&output)
    );
    assert_eq!((place.names("other"), place.runs()), (Vec::new(), Vec::new()));
    let nothing = place.output(&["agent", "--join", "@none", "--config", "none.toml"]);
    assert_eq!(nothing.status.code(), Some(3), "{}", err(&nothing));
}

#[test]
fn bad_tokens_names_and_command_plans_are_refused() {
    let place = Workspace::new();
    let refused = |args: &[&str], code: i32, says: &str| {
        let output = place.output(args);
        let text = err(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?}: {text}");
    };
    let seen = "--join accepts no token on the command line";
    refused(&["agent", "--join", "secret", "--allow", "dir:ds"], 2, seen);
    std::fs::write(place.path("token"), "secret").expect("written");
    refused(&["agent", "--join", "@token", "--allow", "dir:ds"], 2, "not a valid invitation");
    refused(&["hosts", "--host", "a=rsh:b"], 2, "after the name, write");
    refused(&["hosts", "--host", "a=ssh:-oProxyCommand=x"], 2, "does not begin with `-`");
    refused(
        &["hosts", "--host", "a=exec:true", "--host", "a=exec:true"],
        3,
        "host a is named twice",
    );
    refused(&["hosts", "--host", "a=exec:exit 7"], 1, "host a: its agent ended before it joined");
    refused(&["hosts", "--host", "a=exec:exit 7"], 1, "\nhint: its output is above");
    let nobody = ["hosts", "--host", "a=join", "--join-within", "1s"];
    refused(&nobody, 1, "host a: did not join within 1 s\nhint: the agent must reach this host");
    let anywhere = ["hosts", "--host", "a=join", "--listen", "0.0.0.0:0"];
    refused(&anywhere, 3, "hosts cannot connect to 0.0.0.0");
    refused(&["run", "file:x", "--host", "a=join"], 3, "would overwrite each other's data");
    refused(&["run", "ds", "--placement", "sideways", "--host", "a=join"], 2, "placement");
    let file = ["prepare", "file:x", "--tiles", "1", "--host", "a=join", "--storage", "local"];
    refused(&file, 3, "only directories keep disks");
    let plan =
        "datastore = \"ds\"\ntile = \"tile.toml\"\n[hosts]\nmembers = [\"a=exec:touch caught\"]\n";
    place.write("plan.toml", plan);
    refused(&["run", "plan.toml"], 2, "a plan may not name commands to run");
    assert!(!place.path("caught").exists());
}

/// Each refusal is one line, with the hint on the next, before any agent starts.
#[test]
fn what_is_not_done_over_hosts_says_so_and_what_is() {
    let place = Workspace::new();
    let caught = "a=exec:touch caught";
    let refused = |args: &[&str], code: i32, says: &str, hint: &str| {
        let output = place.output(&[args, &["--host", caught]].concat());
        let text = err(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.contains(says));
        let at = at.unwrap_or_else(|| panic!("{args:?} does not say \"{says}\": {text}"));
        let told = lines.get(at + 1).and_then(|line| line.strip_prefix("hint: "));
        assert!(told.is_some_and(|told| told.contains(hint)), "{args:?}: {text}");
        assert!(!place.path("caught").exists(), "{args:?} started an agent");
    };
    let run = |more: &[&'static str]| [&["run", "ds", "--tile", "tile.toml"][..], more].concat();
    let operations = run(&["--operations=standard"]);
    refused(&operations, 3, "infrastructure operations run on one host", "--operations");
    refused(
        &run(&["--second", "dir:other"]),
        3,
        "a second datastore is for operations",
        "--second",
    );
    place.write("web.csv", "128166372000000000,web,0,Read,0,4096,1000\n");
    place.write("played.toml", PLAYED);
    place.write(
        "played-tile.toml",
        "name = \"played\"\ntitle = \"A trace\"\nsource = \"Made up.\"\nworkload = [{ use = \"played.toml\" }]\n",
    );
    let played = ["run", "ds", "--tile", "played-tile.toml"];
    refused(&played, 3, "a tile that plays a trace runs on one host", "--to-workload");
    let replay = ["replay", "web.csv", "--on", "ds"];
    refused(&replay, 2, "replay runs on this host only", "copy the trace to each host");
    let simulate = ["simulate", "--array", "vnx5500", "--tile", "played-tile.toml", "--tiles", "1"];
    refused(&simulate, 3, "a tile that plays a trace is simulated on one host", "--threads");
    let simulate = ["simulate", "--array", "vnx5500"];
    refused(&simulate, 2, "the steps of a search are not known in advance", "--tiles FIRST..LAST");
    refused(
        &["run", "file:x", "--tile", "tile.toml"],
        3,
        "would overwrite each other's data",
        "--storage local",
    );
}

/// A workload that plays `web.csv` back.
const PLAYED: &str = r#"
name = "played"
title = "A trace"
source = "Made up for tests."

[metric]
unit = "I/Os/s"
count = "io"
reference = 400

[[vm]]
name = "played"

[[vm.disk]]
name = "data"
size = "32MiB"

[replay]
trace = "web.csv"
"#;

/// The two names do not show that the host is one.
#[test]
fn one_host_under_two_names_is_told_to_be_held_by_this_very_run() {
    let Some(place) = Workspace::usable() else { return };
    let first = host(&place, "a", "");
    // On the same computer the same lock stops a second agent.
    let second =
        host(&place, "a", "").replacen("a=exec:echo $$ > a.pid", "b=exec:echo $$ > b.pid", 1);
    let hosts = ["--host".to_owned(), first, "--host".to_owned(), second];
    let output = place.run_command(&words(&hosts, &["--tiles", "2"])).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let said = err(&output);
    let is_named = said.contains("host a: held by ") || said.contains("host b: held by ");
    assert!(is_named, "{said}");
    assert_eq!((place.names("ds"), place.runs().len()), (vec![], 0));
    for name in ["a", "b"] {
        wait_until_gone(agent(&place, name));
    }
}

#[test]
fn joining_host_gets_its_token_in_a_private_file() {
    use std::os::unix::fs::PermissionsExt;
    let Some(place) = Workspace::usable() else { return };
    let more = ["--host", "a=join", "--tokens", ".", "--live", "line"];
    let mut run = Running::new(place.run_command(&more));
    run.wait_for("waiting for a");
    let token = std::fs::metadata(place.path("a")).expect("a file").permissions().mode();
    assert_eq!(token & 0o777, 0o600);
    let ds = format!("dir:{}", place.path("ds").display());
    let mut agent = place.command(&["agent", "--join", "@a", "--allow-root-fs", "--allow", &ds]);
    let agent = agent.env("TILEMARK_AGENT_SLOT", place.path("ds")).output().expect("it starts");
    assert_eq!(agent.status.code(), Some(0), "{}", err(&agent));
    let ended = run.end();
    assert!(matches!(ended.code, Some(0 | 5)), "{}", ended.stderr);
    assert_eq!(stored(&place).hosts[0].reached, "a=join");
    // A token is valid for one run.
    let again = ["agent", "--join", "@a", "--allow", &ds, "--join-within", "1s"];
    assert_eq!(place.output(&again).status.code(), Some(1));
}

#[test]
fn a_host_that_works_for_another_controller_says_for_whom() {
    let Some(place) = Workspace::usable() else { return };
    let hosts = hosts(&place, &["a"]);
    let mut run = place.start(&words(&hosts, &["--tiles", "1"]));
    run.wait_for("measuring");
    let second = place.output(&["hosts", hosts[0].as_str(), hosts[1].as_str()]);
    assert_eq!(second.status.code(), Some(1), "{}", err(&second));
    let said = err(&second);
    assert!(said.contains("host a: held by run ") && said.contains("-light-"), "{said}");
    run.signal(Signal::INT);
    assert_eq!(run.end().code, Some(130), "the first run is not disturbed");
}

/// True if namespaces can be made here; otherwise prints a notice.
fn can_unshare() -> bool {
    let made = std::process::Command::new("unshare")
        .args(["--mount", "--net", "--time", "true"])
        .output()
        .is_ok_and(|made| made.status.success());
    if !made {
        eprintln!("skipped: namespaces cannot be made here (that takes root)");
    }
    made
}

#[test]
fn hosts_with_different_storage_are_refused_before_filling() {
    let Some(place) = Workspace::usable().filter(|_| can_unshare()) else { return };
    // That host sees another directory at this path.
    let other = place.path("other");
    std::fs::create_dir(&other).expect("a directory");
    let (other, ds) = (other.display().to_string(), place.path("ds").display().to_string());
    let wrap = format!("unshare --mount sh -c 'mount --bind {other} {ds} && exec \"$@\"' sh");
    let hosts =
        ["--host".to_owned(), host(&place, "a", ""), "--host".to_owned(), host(&place, "b", &wrap)];
    let output = place.run_command(&words(&hosts, &[])).output().expect("it starts");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let said = err(&output);
    assert!(said.contains("hosts a and b do not see the same storage"), "{said}");
    assert_eq!((place.names("ds"), place.names("other"), place.runs().len()), (vec![], vec![], 0));

    let local = words(&hosts, &["--storage", "local", "--tiles", "2"]);
    let output = place.run_command(&local).output().expect("it starts");
    assert!(matches!(output.status.code(), Some(0 | 5)), "{}", err(&output));
    assert_eq!((place.names("ds"), place.names("other")), (vec![], vec![]));
}

#[test]
fn host_with_full_storage_is_named_and_others_clean_up() {
    let Some(place) = Workspace::usable().filter(|_| can_unshare()) else { return };
    // That host has a separate file system there, with space for bytes but too few inodes.
    let ds = place.path("ds").display().to_string();
    let full = format!(
        "unshare --mount sh -c 'mount -t tmpfs -o size=16g,nr_inodes=10 none {ds} && exec \"$@\"' sh"
    );
    let hosts =
        ["--host".to_owned(), host(&place, "a", ""), "--host".to_owned(), host(&place, "b", &full)];
    let more = ["--storage", "local", "--tiles", "24"];
    let output = place.run_command(&words(&hosts, &more)).output().expect("it starts");
    let said = err(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("host b: ") && said.contains("No space left on device"), "{said}");
    assert!(!said.contains("host a: "), "only b is to blame: {said}");
    assert_eq!(place.names("ds"), [""; 0], "a removed its disks");
    assert!(stored(&place).steps.iter().all(|step| step.verdict != Verdict::Passed));
}

/// As on a thinly provisioned pool: there is space when the run begins and none while it measures.
#[test]
fn host_whose_storage_fills_under_load_voids_the_step() {
    let Some(place) = Workspace::usable().filter(|_| can_unshare()) else { return };
    let other = place.path("other");
    std::fs::create_dir(&other).expect("a directory");
    // Filling takes some fifty writes of a MiB.
    let faults = "[[fault]]\nkind = \"enospc\"\npath = \"*.disk\"\nafter = 300\n";
    let options = lab::Options {
        schedule: lab::Schedule::parse("faults.toml", faults).expect("a schedule"),
        size: Some(units::Bytes::new(7 << 30)),
        ..lab::Options::new(spec::shipped::array("nvme-local").expect("it is shipped"))
    };
    let _lab = match lab::Mounted::new(&other, &options) {
        Ok(lab) => lab,
        Err(error) => {
            eprintln!("skipped: a lab cannot be mounted here: {error}");
            return;
        }
    };
    let ds = place.path("ds").display().to_string();
    let full =
        format!("unshare --mount sh -c 'mount --bind {} {ds} && exec \"$@\"' sh", other.display());
    let hosts =
        ["--host".to_owned(), host(&place, "a", ""), "--host".to_owned(), host(&place, "b", &full)];
    let more = ["--storage", "local", "--tiles", "2", "--live", "line", "--duration", "60s"];
    let ended = Running::new(place.run_command(&words(&hosts, &more))).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let is_said =
        ended.stderr.contains("No space left on device") && ended.stderr.contains("(host b)");
    assert!(is_said && !ended.stderr.contains("(host a)"), "only b is to blame: {}", ended.stderr);
    let run = stored(&place);
    assert!(!run.steps.is_empty(), "{}", run.answer.sentence);
    assert!(run.steps.iter().all(|step| step.verdict == Verdict::Interrupted), "{:?}", run.steps);
    for name in ["a", "b"] {
        wait_until_gone(agent(&place, name));
    }
    assert_eq!((place.names("ds"), place.names("other")), (vec![], vec![]), "nothing is left");
}

/// Until the clock shows a later second.
fn wait_until_past(unix_s: u64) {
    let now = || std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    while now() <= unix_s {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn an_invitation_that_has_expired_lets_nobody_in_and_says_so() {
    let place = Workspace::new();
    let name = |text: &str| text.parse::<cluster::Name>().expect("a name");
    let (hub, _events) = cluster::Hub::open(&cluster::HubOptions {
        cluster: name("expired"),
        members: vec![name("a")],
        listen: vec![([127, 0, 0, 1], 0).into()],
        known_as: Vec::new(),
        lease: many_hosts::LEASE,
        valid_for: std::time::Duration::from_secs(1),
    })
    .expect("a hub");
    let invitation = hub.invitation(&name("a")).expect("it is a member");
    let parts = serde_json::to_value(&invitation).expect("JSON");
    wait_until_past(parts["until_unix_s"].as_u64().expect("a time"));
    std::fs::write(place.path("token"), invitation.token()).expect("written");
    let words = ["agent", "--join", "@token", "--allow", "dir:ds", "--join-within", "5s"];
    let output = place.output(&words);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("expired"), "{}", err(&output));
    assert_eq!(hub.wait_for(&[name("a")], std::time::Duration::ZERO), [name("a")], "not there");
}

#[test]
fn a_host_whose_clock_is_days_ahead_begins_at_the_same_moment() {
    let Some(place) = Workspace::usable().filter(|_| can_unshare()) else { return };
    let wrap = "unshare --time --monotonic 1000000 --boottime 1000000";
    let hosts =
        ["--host".to_owned(), host(&place, "a", ""), "--host".to_owned(), host(&place, "b", wrap)];
    let output = place.run_command(&words(&hosts, &["--tiles", "2"])).output().expect("it starts");
    assert!(matches!(output.status.code(), Some(0 | 5)), "{}", err(&output));
    let run = stored(&place);
    let ahead = run.hosts[1].clock_ahead_ns - run.hosts[0].clock_ahead_ns;
    assert!((ahead - 1_000_000_000_000_000).abs() < 1_000_000_000, "{ahead}");
    let late = run.steps[0].hosts.iter().map(|host| host.began_late_ns).max();
    assert!(late < Some(10_000_000_000), "{late:?}");
}

/// Host behind a separate link: a network namespace and a pair of veth.
struct Link {
    name: String,
    /// The address on this side.
    here: String,
}

impl Link {
    fn new(number: u8) -> Self {
        let name = format!("tm{}x{number}", std::process::id() % 10_000);
        // Other test processes may use the same addresses, and a killed one leaves them behind.
        let net = format!("10.{}.{number}", 64 + std::process::id() % 128);
        let link = Self { name, here: format!("{net}.1:0") };
        let name = &link.name;
        link.sh(&format!(
            "ip netns add {name} && ip link add {name}h type veth peer name {name}g && ip link set \
             {name}g netns {name} && ip addr add {net}.1/24 dev {name}h && ip link set {name}h up && ip \
             -n {name} addr add {net}.2/24 dev {name}g && ip -n {name} link set {name}g up && ip -n \
             {name} link set lo up"
        ));
        link
    }

    fn sh(&self, script: &str) {
        let done = std::process::Command::new("sh").args(["-c", script]).output().expect("a shell");
        assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let name = &self.name;
        let script = format!("ip netns del {name}; ip link del {name}h");
        let _ = std::process::Command::new("sh").args(["-c", &script]).output();
    }
}

fn can_link() -> bool {
    let has_ip = std::process::Command::new("ip").arg("-V").output().is_ok();
    if !has_ip {
        eprintln!("skipped: there is no ip (iproute2)");
    }
    has_ip && can_unshare()
}

#[test]
fn cut_link_loses_the_host_and_ends_its_agent() {
    let Some(place) = Workspace::usable().filter(|_| can_link()) else { return };
    let link = Link::new(17);
    let wrap = format!("ip netns exec {}", link.name);
    let hosts = ["--host".to_owned(), host(&place, "b", &wrap)];
    let mut run = place.start(&words(&hosts, &["--tiles", "1", "--listen", &link.here]));
    run.wait_for("measuring");
    let name = &link.name;
    link.sh(&format!("ip link set {name}h down"));
    run.wait_for("host b: gone: ");
    link.sh(&format!("ip link set {name}h up"));
    assert_eq!(run.end().code, Some(1));
    wait_until_gone(agent(&place, "b"));
    assert_eq!(place.names("ds"), [""; 0]);
}

#[test]
fn a_slow_link_loses_no_slice() {
    let Some(place) = Workspace::usable().filter(|_| can_link()) else { return };
    let link = Link::new(18);
    let name = &link.name;
    link.sh(&format!(
        "ip netns exec {name} tc qdisc add dev {name}g root tbf rate 1mbit burst 4kb latency 200ms"
    ));
    let wrap = format!("ip netns exec {name}");
    let hosts = ["--host".to_owned(), host(&place, "b", &wrap)];
    let more = ["--tiles", "1", "--listen", &link.here, "--duration", "3s"];
    let output = place.run_command(&words(&hosts, &more)).output().expect("it starts");
    let code = output.status.code();
    // With too uncertain a clock no run begins; otherwise the run is complete.
    if code == Some(1) {
        assert!(err(&output).contains("its clock is only known within"), "{}", err(&output));
        return;
    }
    assert!(matches!(code, Some(0 | 5)), "{}", err(&output));
    let again = place.output(&["verify-report", "latest"]);
    assert_eq!(again.status.code(), Some(0), "{}", out(&again));
}

/// Real sshd on loopback with its own keys, and an ssh client that knows it by the name `pve`.
struct Sshd {
    child: std::process::Child,
    path: String,
}

impl Sshd {
    /// Starts the server; `None`, with the reason printed, if there is no sshd or it may not be
    /// started.
    fn start(place: &Workspace) -> Option<Self> {
        let sh = |script: &str| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", script]).current_dir(place.path(""));
            command.output().expect("a shell")
        };
        let found =
            sh("PATH=$PATH:/usr/sbin; command -v sshd && command -v ssh && [ $(id -u) = 0 ]");
        if !found.status.success() {
            eprintln!("skipped: sshd and ssh are not here, or this is not root");
            return None;
        }
        let found = out(&found);
        let (sshd, ssh) = (found.lines().next()?.to_owned(), found.lines().nth(1)?.to_owned());
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = port.local_addr().expect("an address").port();
        let here = place.path("").display().to_string();
        let here = here.trim_end_matches('/');
        let made = sh(&format!(
            "ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f key && cp \
             key.pub authorized && mkdir -p bin /run/sshd && printf 'Port {port}\\nListenAddress \
             127.0.0.1\\nHostKey {here}/host\\nAuthorizedKeysFile {here}/authorized\\nStrictModes \
             no\\nUsePAM no\\nPidFile none\\n' > sshd.conf && printf 'Host pve\\nHostName \
             127.0.0.1\\nPort {port}\\nUser root\\nIdentityFile {here}/key\\nUserKnownHostsFile \
             {here}/known\\nStrictHostKeyChecking no\\nLogLevel ERROR\\n' > ssh.conf && printf \
             '#!/bin/sh\\nexec {ssh} -F {here}/ssh.conf \"$@\"\\n' > bin/ssh && chmod +x bin/ssh"
        ));
        assert!(made.status.success(), "{}", err(&made));
        let mut command = std::process::Command::new(sshd);
        command.args(["-D", "-e", "-f"]).arg(place.path("sshd.conf"));
        let child = command.stderr(std::process::Stdio::null()).spawn().expect("it starts");
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < DEADLINE, "it does not listen");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Some(Self { child, path: format!("{here}/bin") })
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_host_is_started_over_ssh_and_nothing_stays_there() {
    let Some(place) = Workspace::usable() else { return };
    let Some(sshd) = Sshd::start(&place) else { return };
    let path = format!("{}:{}", sshd.path, std::env::var("PATH").unwrap_or_default());
    let more = ["--host", "pve", "--tiles", "1", "--host-program", env!("CARGO_BIN_EXE_tilemark")];
    let output = place.run_command(&more).env("PATH", &path).output().expect("it starts");
    assert!(matches!(output.status.code(), Some(0 | 5)), "{}{}", out(&output), err(&output));
    let run = stored(&place);
    assert_eq!((run.hosts[0].name.as_str(), run.hosts[0].reached.as_str()), ("pve", "pve"));
    assert_eq!(place.names("ds"), [""; 0]);

    let missing = ["--host", "pve", "--host-program", "/nowhere/tilemark"];
    let output = place.run_command(&missing).env("PATH", &path).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let said = err(&output);
    assert!(said.contains("its agent ended before it joined"), "{said}");
    assert!(said.contains("/nowhere/tilemark"), "what the shell there said is told: {said}");
    drop(sshd);
    let output = place.run_command(&more).env("PATH", &path).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
}
