//! The shipped manifests for Kubernetes, against the schemas of its API, and the shipped workflow of GitHub
//! Actions, whose scripts are run.

use std::path::PathBuf;
use std::process::Command;

use crate::commands_documented::{BRIEF, LENIENT, surroundings};
use crate::rig::{Workspace, err, out};

fn manifests() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/kubernetes");
    let entries = std::fs::read_dir(folder).expect("a directory");
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    all
}

#[test]
fn kubernetes_takes_every_manifest_as_it_is() {
    let validator =
        std::env::var_os("KUBERNETES_VALIDATE").unwrap_or_else(|| "kubernetes-validate".into());
    let output = Command::new(validator).arg("--strict").args(manifests()).output();
    let Ok(output) = output else {
        eprintln!(
            "skipped: kubernetes-validate is not installed (pip install kubernetes-validate)"
        );
        return;
    };
    assert!(output.status.success(), "{}{}", out(&output), err(&output));
}

#[test]
fn a_job_that_measures_asks_for_no_more_than_it_needs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/kubernetes");
    let job = std::fs::read_to_string(format!("{folder}/storage-class-job.yaml")).expect("it");
    for line in [
        "runAsNonRoot: true",
        "allowPrivilegeEscalation: false",
        "readOnlyRootFilesystem: true",
        "capabilities: {drop: [ALL]}",
        "automountServiceAccountToken: false",
        "localhostProfile: tilemark.json",
        "backoffLimit: 0",
    ] {
        assert!(job.contains(line), "{line}");
    }
    assert!(!job.contains("hostPath") && !job.contains("privileged: true"));
}

/// Scripts of a workflow's steps (the texts after `run:`), in step order.
fn scripts(workflow: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = workflow.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(one) = line.trim_start().trim_start_matches("- ").strip_prefix("run: ") else {
            continue;
        };
        if one != "|" {
            found.push(one.to_owned());
            continue;
        }
        let indent = |line: &str| line.len() - line.trim_start().len();
        let own = indent(line);
        let mut script = String::new();
        while let Some(line) = lines.next_if(|line| line.trim().is_empty() || indent(line) > own) {
            script += line.trim_start();
            script.push('\n');
        }
        found.push(script);
    }
    found
}

#[test]
fn the_scripts_of_the_shipped_workflow_run_as_github_runs_them() {
    let Some(place) = Workspace::usable() else { return };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    let workflow = std::fs::read_to_string(format!("{root}/deploy/ci/github-actions.yml"));
    let scripts = scripts(&workflow.expect("it is shipped"));
    assert_eq!(scripts.len(), 3, "{scripts:?}");
    std::os::unix::fs::symlink(format!("{root}/deploy"), place.path("deploy")).expect("a link");
    let expected = "tiles >= 8\nshop.order-of-new-customer.p95 <= 300ms";
    for script in scripts.iter().filter(|script| !script.starts_with("sudo ")) {
        let script = script.replace("/mnt/datastore", &place.path("ds").display().to_string());
        let mut command = Command::new("bash");
        command.args(["-e", "-c", &format!("{LENIENT}{script}")]).current_dir(place.path(""));
        surroundings(&place, &mut command);
        command.envs(BRIEF).env("TILES", "8").env("EXPECT", expected);
        let output = command.env("GITHUB_STEP_SUMMARY", place.path("step.md")).output();
        let output = output.expect("a shell");
        // Steps of a second on a busy computer may miss an expectation (7), which is not tested
        // here.
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 7)),
            "{script}: {code:?}: {}{}",
            out(&output),
            err(&output)
        );
    }
    let junit = std::fs::read_to_string(place.path("tilemark-results/junit.xml")).expect("a file");
    assert!(junit.contains("shop.order-of-new-customer.p95"), "{junit}");
    let summary = std::fs::read_to_string(place.path("step.md")).expect("a summary");
    assert!(summary.contains("tiles &gt;= 8") || summary.contains("tiles >= 8"), "{summary}");
}
