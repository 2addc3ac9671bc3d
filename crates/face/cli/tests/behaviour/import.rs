//! A trace of another tool is converted, or nothing is left.

use std::io::Write;
use std::process::Command;

use rustix::process::Signal;

use crate::rig::{Running, Workspace, err, out};

/// Two hosts' disks, as MSR Cambridge traces have them, and one line that is torn.
const MSR: &str = "\
128166372003061629,hm,0,Write,7014912,4096,2600
128166372003061729,hm,0,Read,7019008,4096,26
128166372016382155,hm,1,Write,2517139456,16384,5000
12816637201638
128166372026382245,web,0,Read,0,512,100
";

#[test]
fn a_trace_is_imported_told_and_never_overwritten() {
    let place = Workspace::new();
    place.write("msr.csv", MSR);
    let output = place.output(&["import", "msr.csv", "--out", "a.tmt", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let said: serde_json::Value = serde_json::from_str(&out(&output)).expect("one JSON document");
    assert_eq!(said["schema"], "tilemark.import/1.0");
    for (name, value) in [("records", 4), ("devices", 3), ("bad", 1), ("parts", 1)] {
        assert_eq!(said[name], value, "{name} of {said}");
    }
    assert_eq!(said["from"], "msr");
    assert!(err(&output).contains("left out: "), "{}", err(&output));
    let mut names = place.names("a.tmt");
    names.sort_unstable();
    assert_eq!(names, ["SHA256SUMS", "part-000000.parquet", "trace.json"]);
    let mut sums = Command::new("sha256sum");
    sums.args(["-c", "--quiet", "SHA256SUMS"]).current_dir(place.path("a.tmt"));
    match sums.status() {
        Ok(status) => assert!(status.success(), "the checksums do not fit"),
        Err(error) => eprintln!("skipped: sha256sum: {error}"),
    }

    // A trace of Tilemark is read as well, and an existing file is left alone.
    let output = place.output(&["import", "a.tmt", "--out", "b.tmt"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).starts_with("4 I/Os of tilemark (with latencies)"), "{}", out(&output));
    let output = place.output(&["import", "msr.csv", "--out", "b.tmt"]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("b.tmt exists"), "{}", err(&output));
    assert_eq!(out(&output), "");
}

#[test]
fn what_is_no_trace_is_told_and_leaves_nothing() {
    let place = Workspace::new();
    place.write("letter.txt", "Dear reader,\nthis is no trace.\n");
    place.write("msr.csv", MSR);
    let cases: [(&[&str], i32, &str); 4] = [
        (&["import", "gone.csv", "--out", "a.tmt"], 2, "gone.csv"),
        (&["import", "letter.txt", "--out", "a.tmt"], 2, "letter.txt"),
        (&["import", "msr.csv", "--from", "mrs", "--out", "a.tmt"], 2, "mrs"),
        (&["import", "msr.csv", "--max-bad", "0", "--out", "a.tmt"], 1, "msr.csv"),
    ];
    for (args, code, named) in cases {
        let output = place.output(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", err(&output));
        assert!(err(&output).contains(named), "{args:?}: {}", err(&output));
        assert_eq!(out(&output), "", "{args:?}");
    }
    let left = place.names(".");
    assert!(!left.iter().any(|name| name.contains("tmt")), "left: {left:?}");
}

#[test]
fn ctrl_c_removes_what_was_written() {
    let place = Workspace::new();
    let pipe = place.path("pipe");
    match Command::new("mkfifo").arg(&pipe).status() {
        Ok(status) if status.success() => {}
        other => return eprintln!("skipped: mkfifo: {other:?}"),
    }
    let mut import = Running::new(place.command(&["import", "pipe", "--out", "a.tmt"]));
    // The trace is endless, so the import must stop by itself.
    let writer = std::thread::spawn(move || {
        let mut pipe = std::fs::File::options().write(true).open(pipe)?;
        for time in 128_166_372_003_061_629_u64.. {
            writeln!(pipe, "{time},hm,0,Write,7014912,4096,2600")?;
        }
        Ok::<(), std::io::Error>(())
    });
    import.wait_for("reading");
    import.signal(Signal::INT);
    let ended = import.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("interrupted"), "{}", ended.stderr);
    writer.join().expect("no panic").expect_err("nobody reads any more");
    let left = place.names(".");
    assert!(!left.iter().any(|name| name.contains("tmt")), "left: {left:?}");
}
