//! Files and options of other tools: refused by name with the equivalent, or read correctly.

use serde_json::Value;

use crate::rig::{Workspace, err, out};

/// The table that vmstat prints every second.
fn vmstat() -> String {
    let head = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
                r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n";
    let row =
        " 1  0      0 696853 23432 2058756    0    0    130    120 1200 2300  3  1 96  0  0\n";
    head.to_owned() + &row.repeat(50)
}

#[test]
fn files_that_are_no_trace_are_refused_by_every_command() {
    let place = Workspace::new();
    place.write("vmstat.txt", &vmstat());
    place.write("job_clat_hist.1.log", &format!("1000, 0, 4096{}\n", ", 0".repeat(1856)));
    place.write("trace.csv.bz2", "BZh91AY&SY and more");
    place.write("order.txt", "0 0 2312 8 1\n12 0 4096 16 0\n31 0 64 8 1\n");
    for (file, said, hint) in [
        ("vmstat.txt", "vmstat", "record one with"),
        ("job_clat_hist.1.log", "histogram log of fio", "write_lat_log"),
        ("trace.csv.bz2", "packed with bzip2", "hint: unpack it"),
        ("order.txt", "mqsim and disksim match", "name the format with --"),
    ] {
        let commands: [&[&str]; 4] = [
            &["import", file, "--out", "a.tmt"],
            &["analyze", file],
            &["analyze", file, "--to-workload", "w.toml"],
            &["replay", file, "--array", "hdd-raid10"],
        ];
        for command in commands {
            let output = place.output(command);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {}", err(&output));
            let text = err(&output);
            assert!(text.contains(said) && text.contains(hint), "{command:?}: {text}");
            let option = if command[0] == "analyze" { "--trace-format" } else { "--from" };
            assert!(file != "order.txt" || text.contains(option), "{command:?}: {text}");
        }
    }
    assert!(!place.path("a.tmt").exists() && !place.path("w.toml").exists());
}

const HISTOGRAMS: &str = "\
Histogram: latency of IOs in Microseconds (us) for virtual machine worldGroupID : 2099979, virtual disk handleID : 8194 (scsi0:0) {
 min : 120
 max : 90000
 mean : 800
 count : 10
   {
      7               (<=                500)
      2               (<=               1000)
      1               (>                5000)
   }
}
";

#[test]
fn histograms_of_vscsistats_are_analysed() {
    let place = Workspace::new();
    place.write("vscsistats.txt", HISTOGRAMS);
    let told = place.output(&["analyze", "vscsistats.txt"]);
    assert!(told.status.success(), "{}", err(&told));
    for word in ["1 virtual disk", "2099979", "8194 (scsi0:0)", "<=500", ">1000", "90000"] {
        assert!(out(&told).contains(word), "{word}: {}", out(&told));
    }
    let all = place.output(&["analyze", "vscsistats.txt", "--view", "histograms"]);
    assert!(out(&all).contains("<=1000"), "{}", out(&all));
    let json = place.output(&["analyze", "vscsistats.txt", "--format", "json"]);
    let json: Value = serde_json::from_str(&out(&json)).expect("one JSON document");
    assert_eq!(json["histograms"][0]["buckets"][0]["frequency"], 7);
    let filtered = place.output(&["analyze", "vscsistats.txt", "--vm", "web"]);
    assert_eq!(filtered.status.code(), Some(2));
    assert!(err(&filtered).contains("--vm needs single I/Os"), "{}", err(&filtered));
    let import = place.output(&["import", "vscsistats.txt", "--out", "a.tmt"]);
    assert!(err(&import).contains("tilemark analyze FILE shows them"), "{}", err(&import));
}

#[test]
fn words_of_other_tools_are_answered_with_what_does_the_same() {
    let place = Workspace::new();
    place.write("plan.json", "{\"tile\": \"shop\"}\n");
    place.write("plan.toml", "{\"tile\": \"shop\"}\n");
    place.write("a.csv", "128166372003061629,hm,0,Write,7014912,4096,2600\n");
    let plan = |datastore: &str| format!("datastore = \"{datastore}\"\ntile = \"vdi\"\n");
    place.write("pve.toml", &plan("pve:local-lvm"));
    let commands: [(&[&str], &str, &str); 8] = [
        (&["plan", "pve.toml"], "Proxmox VE", "pve:NAME works only on a node of Proxmox VE"),
        (&["run", "plan.json"], "plan.json is JSON, but a plan is TOML", "tile = \"shop\""),
        (&["simulate", "plan.toml"], "plan.toml is JSON", "schema plan"),
        (&["analyze", "a.csv", "--from", "msr"], "msr", "--trace-format msr"),
        (&["simulate", "--array", "vnx5500", "--disks", "12"], "--disks", "--with pool.NAME.count"),
        (&["runs", "rm", "latest", "--force"], "--force", "removes at once"),
        (&["run", "dir:x", "--expect", "iops > 1000"], "iops > 1000", "'tiles >= 8'"),
        (&["replay", "a.csv", "--array", "vnx5500", "--size", "200"], "no unit", "mean 200GiB?"),
    ];
    for (command, said, hint) in commands {
        let output = place.output(command);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", err(&output));
        let (message, hints) = err(&output).split_once("hint: ").map_or_else(
            || panic!("{command:?}: {}", err(&output)),
            |(message, hints)| (message.to_owned(), hints.to_owned()),
        );
        assert!(message.contains(said), "{command:?}: {message}");
        assert!(hints.contains(hint), "{command:?}: {hints}");
    }
    let bytes = place.output(&["replay", "a.csv", "--array", "vnx5500", "--size", "200B"]);
    assert_eq!(bytes.status.code(), Some(2), "{}", err(&bytes));
    assert!(err(&bytes).contains("did you mean 200GiB?"), "{}", err(&bytes));
}

#[test]
fn fio_jobs_are_converted_one_by_one() {
    let place = Workspace::new();
    place.write("job.fio", "[reads]\nrw=randread\niodepth=32\n[gaps]\nrw=write:4k\nsize=1g\n");
    let told = place.output(&["tiles", "from-fio", "job.fio", "--size", "2GiB"]);
    assert!(told.status.success(), "{}", err(&told));
    assert!(out(&told).contains("name = \"reads\"\nsize = \"2GiB\""), "{}", out(&told));
    assert!(err(&told).contains("note       [reads] iodepth=32 becomes 1"), "{}", err(&told));
    assert!(err(&told).contains("not made   job \"gaps\": rw=write:4k"), "{}", err(&told));
    let absent = place.output(&["tiles", "from-fio", "job.fio"]);
    assert_eq!(absent.status.code(), Some(2), "{}", err(&absent));
    assert!(err(&absent).contains("--size SIZE"), "{}", err(&absent));
}
