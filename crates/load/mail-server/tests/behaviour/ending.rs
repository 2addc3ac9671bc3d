//! Ends of servers: in order, by a kill in mid-use, and by the death of the run.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use tilemark_mail_server::{
    MailServer, MailServerError, Phase, Program, Session, end_leftovers, leftovers,
};

use crate::bench::{Bench, bench, wait_until};

/// Number of a server, as it was written down.
fn pid_of(bench: &Bench, program: Program) -> i32 {
    let text = fs::read_to_string(bench.runtime().join("processes")).expect("written down");
    let line = text.lines().find(|line| line.starts_with(program.name())).expect("its line");
    line.split(' ').nth(1).expect("a number").parse().expect("a number")
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).expect("a number"), Signal::KILL).expect("it runs");
}

fn fails(server: &mut MailServer) -> MailServerError {
    let mut failure = None;
    wait_until("the failure", || {
        failure = server.health().err();
        failure.is_some()
    });
    failure.expect("a failure")
}

#[test]
fn killed_server_is_named_with_its_phase() {
    for program in [Program::Exim, Program::Dovecot] {
        let Some(bench) = bench() else { return };
        let mut server = bench.ready();
        let mut sender = Session::smtp(server.ports().smtp).expect("connected");
        sender.call("u1 u2 1000").expect("accepted");
        server.health().expect("well");
        kill(pid_of(&bench, program));
        match fails(&mut server) {
            MailServerError::Ended { program: ended, phase: Phase::Running, status, .. } => {
                assert_eq!(ended, program);
                assert!(status.contains("signal: 9"), "{status}");
            }
            other => panic!("{other}"),
        }
        server.stop().expect("stopped");
        assert!(bench.processes().is_empty() && !bench.runtime().exists());
    }
}

#[test]
fn crash_of_a_child_is_a_failure_though_the_server_goes_on() {
    let Some(bench) = bench() else { return };
    let mut server = bench.ready();
    let mut mailbox = Session::lmtp(server.ports().lmtp).expect("connected");
    mailbox.call("u1 u2 1000").expect("delivered");
    let leader = pid_of(&bench, Program::Dovecot);
    let children = fs::read_to_string(format!("/proc/{leader}/task/{leader}/children"));
    let Ok(children) = children else {
        eprintln!("skipped: this kernel lists no children of a process");
        return;
    };
    let is_lmtp = |pid: &&str| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "lmtp")
    };
    let child = children.split_whitespace().find(is_lmtp).expect("a child that has the connection");
    kill(child.parse().expect("a number"));
    let error = fails(&mut server);
    assert!(matches!(error, MailServerError::Crashed { .. }), "{error}");
    assert!(error.to_string().contains("lmtp"), "{error}");
    server.health().expect("said once, and the server goes on");
    server.stop().expect("stopped");
}

#[test]
fn stop_in_mid_use_leaves_no_process() {
    let Some(bench) = bench() else { return };
    let server = bench.ready();
    let mut sender = Session::smtp(server.ports().smtp).expect("connected");
    for _ in 0..20 {
        sender.call("u1 u2,u3 43000").expect("accepted");
    }
    // A client stays connected, and deliveries are under way.
    server.stop().expect("stopped");
    assert!(bench.processes().is_empty() && !bench.runtime().exists());
    assert!(sender.call("u1 u2 100").is_err());
    // What was accepted is delivered by the next start.
    let mut server = bench.ready();
    wait_until("the delivery", || server.queue_length().expect("a queue") == 0);
    let session = Session::imap(server.ports().imap, server.password());
    let bytes = session.expect("connected").call("u3 read=20").expect("read");
    assert!(bytes > 20 * 43_000, "{bytes}");
    server.health().expect("well");
    server.stop().expect("stopped");
}

#[test]
fn processes_of_a_killed_run_are_found_and_ended() {
    let Some(bench) = bench() else { return };
    let server = bench.ready();
    let _sender = Session::smtp(server.ports().smtp).expect("connected");
    // As if this process were gone: nothing ends the servers.
    std::mem::forget(server);
    let text = fs::read_to_string(bench.runtime().join("processes")).expect("written down");
    // A number that another process has by now, and one that is not the servers' user's.
    let own = std::process::id();
    fs::write(bench.runtime().join("processes"), format!("{text}exim {own} 1\nexim 1 0\nx\n"))
        .expect("written");
    let found = leftovers(&bench.runtime()).expect("read");
    let pids: Vec<i32> = found.iter().map(|own| own.pid).collect();
    assert!(pids.contains(&pid_of(&bench, Program::Exim)), "{found:?}");
    assert!(pids.contains(&pid_of(&bench, Program::Dovecot)), "{found:?}");
    assert!(!pids.contains(&i32::try_from(own).expect("a number")), "{found:?}");
    let ended = end_leftovers(&bench.runtime()).expect("ended");
    assert!(ended.len() >= 2, "{ended:?}");
    assert!(bench.processes().is_empty() && !bench.runtime().exists());
    assert_eq!(end_leftovers(&bench.runtime()).expect("nothing is there"), []);
}

#[test]
fn child_whose_server_is_gone_is_found_by_its_settings() {
    let Some(bench) = bench() else { return };
    let server = bench.ready();
    // Exim's child that has this connection outlives the server.
    let mut sender = Session::smtp(server.ports().smtp).expect("connected");
    sender.call("u1 u2 100").expect("accepted");
    let (exim, dovecot) = (pid_of(&bench, Program::Exim), pid_of(&bench, Program::Dovecot));
    std::mem::forget(server);
    kill(exim);
    kill(dovecot);
    let found = leftovers(&bench.runtime()).expect("read");
    let is_child = |own: &&tilemark_mail_server::Leftover| own.pid != exim && own.pid != dovecot;
    assert!(found.iter().any(|own| is_child(&own) && own.program == Program::Exim), "{found:?}");
    end_leftovers(&bench.runtime()).expect("ended");
    assert!(bench.processes().is_empty());
}
