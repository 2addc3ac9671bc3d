//! Refusals and their texts.

use tier::Mode;
use tilemark_tier_service::{Command, Copies, Opening, SetError};

use crate::served::{Host, open};

fn said<T>(result: Result<T, SetError>) -> String {
    result.err().expect("refused").to_string()
}

/// Text of a refusal, which must have a hint.
fn hinted<T>(result: Result<T, SetError>) -> String {
    let error = result.err().expect("refused");
    assert!(error.hint().is_some(), "{error}");
    error.to_string()
}

#[test]
fn set_is_made_in_a_new_file_only_and_removed_on_failure() {
    let host = Host::new(Mode::Back);
    let there = hinted(tilemark_tier_service::make(&host.cache(), tier::Plan::new(1 << 30)));
    assert!(there.contains("exists already"), "{there}");
    let small = host.directory.path().join("small");
    assert!(
        said(tilemark_tier_service::make(&small, tier::Plan::new(1 << 20))).contains("too small")
    );
    assert!(!small.exists());
}

#[test]
fn a_set_or_a_disk_that_somebody_has_is_refused() {
    let host = Host::new(Mode::Back);
    let served = host.serve();
    assert!(said(host.open()).contains("use"), "{}", said(host.open()));
    let other = Host::new(Mode::Back);
    assert!(said(open(&other.cache(), &[host.opening()])).contains("use"));
    served.running.stop().expect("it ends in order");
}

#[test]
fn what_is_no_set_is_no_set() {
    let host = Host::new(Mode::Back);
    std::fs::write(host.directory.path().join("none"), vec![0; 32 << 20]).expect("room");
    let text = said(open(&host.directory.path().join("none"), &[host.opening()]));
    assert!(text.contains("there is no superblock of a tier"), "{text}");
    let text = said(open(&host.directory.path().join("absent"), &[host.opening()]));
    assert!(text.contains("absent"), "{text}");
    let twice = said(open(&host.cache(), &[host.opening(), host.opening()]));
    assert!(twice.contains("\"vm1\" is named twice"), "{twice}");
}

#[test]
fn a_sidecar_that_is_a_link_is_not_followed() {
    let host = Host::new(Mode::Back);
    let elsewhere = host.directory.path().join("precious");
    std::fs::write(&elsewhere, b"precious").expect("room");
    std::os::unix::fs::symlink(&elsewhere, host.directory.path().join("disk.raw.tilemark-tier"))
        .expect("a link");
    said(host.open());
    assert_eq!(std::fs::read(&elsewhere).expect("it is there"), b"precious");
}

#[test]
fn foreign_file_with_a_sidecar_name_is_left_unchanged() {
    let behind_zeros = [vec![0; 4096], vec![7; 8192]].concat();
    for content in [vec![7; 100], vec![7; 12288], vec![0; 12288], behind_zeros, Vec::new()] {
        let host = Host::new(Mode::Back);
        let beside = host.directory.path().join("disk.raw.tilemark-tier");
        std::fs::write(&beside, &content).expect("room");
        let text = hinted(host.open());
        assert!(text.contains("is not a sidecar of a tier"), "{text}");
        assert!(std::fs::read(&beside).expect("it is there") == content);
    }
}

#[test]
fn two_disks_never_share_a_sidecar_and_no_name_leads_elsewhere() {
    let host = Host::new(Mode::Back);
    let second = host.directory.path().join("second.raw");
    std::fs::write(&second, vec![0; 1 << 20]).expect("room");
    let beside = Some(host.directory.path().join("sidecar"));
    let named = |name: &str, backing| Opening {
        name: name.to_owned(),
        backing,
        mode: Mode::Back,
        sidecar: beside.clone(),
        copies: Copies::default(),
        reserve: None,
    };
    let text = said(open(&host.cache(), &[named("vm1", host.backing()), named("vm2", second)]));
    assert!(text.contains("sidecar is in use"), "{text}");
    for name in ["../vm1", "", ".vm1", "vm/1", "vm 1", &"x".repeat(65)] {
        let text = said(open(&host.cache(), &[named(name, host.backing())]));
        assert!(text.contains("is not a valid disk name"), "{name}: {text}");
    }
}

#[test]
fn disk_in_qemu_is_refused_and_qemu_refuses_a_served_disk() {
    let Ok(version) = std::process::Command::new("qemu-io").arg("--version").output() else {
        eprintln!("skipped: qemu-io (Debian: qemu-utils) is not here");
        return;
    };
    assert!(version.status.success());
    let host = Host::new(Mode::Back);
    let backing = host.backing();
    let qemu = |commands: &[&str]| {
        let mut command = std::process::Command::new("qemu-io");
        command
            .args(["-f", "raw"])
            .args(commands.iter().flat_map(|text| ["-c", text]))
            .arg(&backing);
        command
    };
    let served = host.serve();
    let output = qemu(&["read 0 512"]).output().expect("qemu-io starts");
    let said_by_qemu = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said_by_qemu.contains("lock"), "{said_by_qemu}");
    served.running.stop().expect("it ends in order");
    let mut child = std::process::Command::new("qemu-io")
        .args(["-f", "raw"])
        .arg(&backing)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("qemu-io starts");
    // QEMU prints its prompt once it has the disk open.
    let mut prompt = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut prompt)
        .expect("a prompt");
    let text = said(host.open());
    assert!(text.contains("in use"), "{text}");
    drop(child.stdin.take());
    child.wait().expect("it ends");
    host.open().map(drop).expect("nobody has it any more");
}

#[test]
fn a_disk_with_writes_in_a_log_is_refused_to_another_set() {
    let host = Host::new(Mode::Back);
    let served = host.serve();
    host.client().write(0, &[7; 4096]).expect("bytes are taken");
    served.running.stop().expect("it ends in order");
    let other = Host::new(Mode::Back);
    let borrowed = Opening { sidecar: None, ..host.opening() };
    let text = said(open(&other.cache(), &[borrowed]));
    assert!(text.contains("its newest writes are in the log of another cache"), "{text}");
}

#[test]
fn backing_file_written_meanwhile_is_cold_and_right() {
    use std::os::unix::fs::FileExt;
    let host = Host::new(Mode::Through);
    let served = host.serve();
    host.client().read(0, 256 << 10).expect("bytes come");
    served.running.stop().expect("it ends in order");
    let served = host.serve();
    assert_eq!(served.pages, 4, "nobody wrote to it");
    served.running.stop().expect("it ends in order");
    let file = std::fs::OpenOptions::new().write(true).open(host.backing()).expect("the file");
    file.write_all_at(&[9; 4096], 0).expect("room");
    drop(file);
    let served = host.serve();
    assert_eq!(served.pages, 0, "it is another file now");
    assert_eq!(host.client().read(0, 4096).expect("bytes come"), vec![9; 4096]);
    served.running.stop().expect("it ends in order");
    assert_eq!(host.serve().pages, 1, "and known again");
}

#[test]
fn a_disk_that_is_not_there_is_named_with_those_that_are() {
    let host = Host::new(Mode::Back);
    let served = host.serve();
    let error = served.ask(Command::Drain { disk: "vm9".to_owned() }).expect_err("refused");
    assert_eq!(error.text, "no disk \"vm9\"; the disks are vm1");
}
