//! The shipped manifests for Kubernetes, against the schemas of its API.

use std::path::PathBuf;
use std::process::Command;

use crate::rig::{err, out};

fn manifests() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes");
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
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes");
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
