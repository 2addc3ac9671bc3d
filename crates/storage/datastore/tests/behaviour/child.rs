//! A second process that holds a datastore until it is killed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use tilemark_datastore::{Datastore, Target};
use units::Bytes;

use crate::rig::{anywhere, disk};

const TARGET: &str = "TILEMARK_TEST_TARGET";
const IDENTITY: &str = "TILEMARK_TEST_IDENTITY";
const READY: &str = "datastore is open";

/// Not a test of its own: without the variable it does nothing.
#[test]
fn child_holds_a_datastore_until_killed() {
    let Ok(target) = std::env::var(TARGET) else { return };
    crate::session::known();
    let target: Target = target.parse().expect("a target");
    let mut options = anywhere("killed");
    options.destroy_data = std::env::var(IDENTITY).ok();
    let mut datastore = Datastore::open(&target, Bytes::MIB * 4, &options).expect("open");
    datastore.provision(&[disk("vm/data", Bytes::MIB * 4)]).expect("provision");
    eprintln!("{READY}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// Starts the child and waits until it holds `target`.
pub fn hold(target: &Target, identity: Option<&str>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["--exact", "child::child_holds_a_datastore_until_killed", "--nocapture"])
        .env(TARGET, target.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(identity) = identity {
        command.env(IDENTITY, identity);
    }
    let mut child = command.spawn().expect("started");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut seen = Vec::new();
    for line in lines {
        let line = line.expect("text");
        if line.contains(READY) {
            return child;
        }
        seen.push(line);
    }
    let ended = child.wait();
    panic!("the child ended ({ended:?}): {seen:?}");
}

/// As `kill -9`: the child gets no chance to clean up.
pub fn kill(mut child: Child) {
    child.kill().expect("killed");
    child.wait().expect("reaped");
}
