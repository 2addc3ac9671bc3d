//! Power beside a run, from the meter's program to the answer per kilowatt.

use run_store::gauge::GaugeName;
use run_store::run::{EnergyBy, MeterScope, PowerCategory, Run};
use run_store::rundir::StoredRun;

use crate::rig::{Workspace, err, out};

/// Program that prints so many watts ten times a second, until ended.
fn program(watts: &str, more: &str) -> String {
    format!("command:while :; do echo $(date +%s.%N) {watts}; sleep 0.1; done,every=300ms{more}")
}

fn run_of(place: &Workspace) -> Run {
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    stored.run().expect("run.json").clone()
}

#[test]
fn server_meter_gives_score_per_kilowatt_of_servers_only() {
    let Some(place) = Workspace::usable() else { return };
    let output = place.run(0, &["--meter", &program("250", ""), "--governor"]);
    let run = run_of(&place);
    assert_eq!((run.meters[0].name.as_str(), run.meters[0].scope), ("command", MeterScope::Host));
    let idle = run.meters[0].idle_watts.value.expect("nothing was asked of the storage yet");
    assert!((idle - 250.0).abs() < 1e-6, "{idle}");
    let power = run.steps[0].power.as_ref().expect("watts of the step");
    let energy = &power.meters[0];
    let seconds = run.steps[0].measured_ns as f64 / 1e9;
    let joules = energy.joules.value.unwrap_or_else(|| panic!("{energy:?}"));
    assert!((joules - 250.0 * seconds).abs() < 1e-6 * joules, "{joules} J in {seconds} s");
    assert_eq!(energy.by, Some(EnergyBy::Trapezoid));
    let score = run.answer.score.value.expect("one tile holds");
    let of = |category| {
        let mut all = run.answer.per_kilowatt.iter();
        all.find(|own| own.category == category).expect("three categories")
    };
    let servers = of(PowerCategory::Server).score_per_kilowatt.value.expect("all of it is metered");
    assert!((servers - score / 0.25).abs() < 1e-6 * servers, "{servers} of {score}");
    let all = &of(PowerCategory::ServerAndStorage).score_per_kilowatt;
    assert_eq!(all.reason.as_deref(), Some("no meter has the scope storage or rack"));
    let gauge = run.steps[0].gauges.iter().find(|own| own.name == GaugeName::PowerWatts);
    let gauge = gauge.expect("a series beside the others");
    assert_eq!(gauge.scope, "command");
    assert!((gauge.value - 250.0).abs() < 1e-6, "{}", gauge.value);
    let text = out(&output);
    assert!(text.contains("power      servers: 250.0 W"), "{text}");
    assert!(text.contains("servers and storage: not known"), "{text}");
    let policies = run.power_policies.expect("they were asked for");
    assert_eq!(policies.before, policies.after, "nothing was changed");
    let judged = place.output(&["verify-report", &run.id, "--tile", "tile.toml"]);
    assert_eq!(judged.status.code(), Some(0), "{}{}", out(&judged), err(&judged));
}

#[test]
fn a_meter_that_talks_nonsense_is_named_and_the_run_goes_on() {
    let Some(place) = Workspace::usable() else { return };
    let good = program("100", ",scope=rack,name=strip");
    let wrong = "command:echo $(date +%s.%N) 90; while :; do sleep 0.1; echo $(date +%s.%N) lots; \
                 done,every=300ms,name=broken,scope=storage";
    let output = place.run(0, &["--meter", &good, "--meter", wrong, "--verbose"]);
    let run = run_of(&place);
    let meters = &run.steps[0].power.as_ref().expect("watts").meters;
    assert!(meters[0].joules.value.is_some(), "{:?}", meters[0]);
    let why = meters[1].joules.reason.as_deref().expect("nonsense carries nothing");
    assert!(why.contains("lots"), "{why}");
    let warning = run.steps[0].warnings.iter().find(|own| own.id == "meter").expect("a warning");
    assert!(warning.text.contains("the meter broken"), "{}", warning.text);
    let all = &run.answer.per_kilowatt[2];
    assert!(all.score_per_kilowatt.value.is_some(), "the strip sees all of it: {all:?}");
    let text = out(&output);
    assert!(text.contains("broken") && text.contains("strip"), "{text}");
}

/// Each meter is right once, so that it is accepted, and then wrong in its own way: its energy is
/// void, the reason is given, and the tiles are judged all the same.
#[test]
fn faulty_meters_are_named_and_the_run_goes_on() {
    let Some(place) = Workspace::usable() else { return };
    let good = |then: &str| format!("command:echo $(date +%s.%N) 90; {then},every=300ms");
    let loops = |each: &str| good(&format!("while :; do sleep 0.1; {each}; done"));
    let wrong = [
        ("stops", good("sleep 1000"), "no sample"),
        ("ends", good("echo battery empty >&2; exit 3"), "exit status: 3: battery empty"),
        (
            "jumps",
            loops("echo $(date +%s.%N) 90; echo $(date -d '0.2 seconds ago' +%s.%N) 90"),
            "its time jumped back",
        ),
        (
            "repeats",
            loops("now=$(date +%s.%N); echo $now 90; echo $now 90"),
            "it repeated a sample",
        ),
        (
            "counts",
            loops("echo $(date +%s.%N) 90 J; echo $(date +%s.%N) 80 J"),
            "its counter jumped back",
        ),
    ];
    let named: Vec<String> =
        wrong.iter().map(|(name, meter, _)| format!("{meter},name={name}")).collect();
    let words: Vec<&str> = named.iter().flat_map(|own| ["--meter", own.as_str()]).collect();
    place.run(0, &words);
    let run = run_of(&place);
    let step = &run.steps[0];
    let meters = &step.power.as_ref().expect("watts").meters;
    for ((name, _, why), own) in wrong.iter().zip(meters) {
        assert_eq!((own.meter.as_str(), own.joules.value), (*name, None));
        let reason = own.joules.reason.as_deref().unwrap_or_default();
        assert!(reason.contains(why), "{name}: {reason}");
        let told = format!("the meter {name}");
        assert!(step.warnings.iter().any(|own| own.text.contains(&told)), "{:?}", step.warnings);
    }
    assert!(run.answer.tiles_held.is_some(), "{}", run.answer.sentence);
    let servers = &run.answer.per_kilowatt[1].score_per_kilowatt;
    assert_eq!(servers.value, None, "half of two supplies is not half of the power");
}

#[test]
fn missing_meter_is_refused_before_any_write() {
    let place = Workspace::new();
    let output = place.run_command(&["--meter", "shelly:127.0.0.1:1"]).output().expect("starts");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("hint: tilemark meter test"), "{}", err(&output));
    assert!(place.names("ds").is_empty());
    let output = place.run_command(&["--meter", "shely:plug"]).output().expect("starts");
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("did you mean \"shelly\"?"), "{}", err(&output));
    let plan = "datastore = \"dir:ds\"\ntile = \"tile.toml\"\n\n[[meters]]\nkind = \"snmp\"\nat = \"pdu\"\n";
    place.write("plan.toml", plan);
    let output = place.output(&["check", "plan.toml"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("plan.toml") && err(&output).contains("oid"), "{}", err(&output));
}

#[test]
fn somebodys_plan_runs_no_program_and_reads_no_secret() {
    let place = Workspace::new();
    let plan = "datastore = \"dir:ds\"\ntile = \"tile.toml\"\n\n[[meters]]\n";
    let meters = [
        ("kind = \"command\"\nat = \"touch ran; echo 1 1\"", "commands to run"),
        ("kind = \"tasmota\"\nat = \"plug\"\ncredentials = \"tile.toml\"", "credentials"),
    ];
    for (meter, what) in meters {
        place.write("plan.toml", &format!("{plan}{meter}\n"));
        let output = place.output(&["run", "--allow-root-fs", "--allow-same-device", "plan.toml"]);
        assert_eq!(output.status.code(), Some(3), "{}", err(&output));
        assert!(err(&output).contains(what), "{}", err(&output));
        assert!(!place.path("ran").exists());
    }
}

#[test]
fn a_meter_is_tested_without_a_run() {
    let place = Workspace::new();
    let output = place.output(&["meter", "test", &program("42", ",scope=processor")]);
    let text = out(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", err(&output));
    assert!(text.contains("42.0") && text.contains("trapezoid"), "{text}");
    assert!(text.contains("a meter of processors"), "{text}");
    let output = place.output(&["meter", "test", "rapl:/nowhere"]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
}
