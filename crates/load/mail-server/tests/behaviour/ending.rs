//! Ends of servers: in order, by a kill in mid-use, and by the death of the run.

use std::fs;

use process_home::{Phase, ProcessError};
use rustix::process::{Pid, Signal, kill_process};
use tilemark_mail_server::{MailServer, MailServerError, Program, Session};

use crate::bench::{Bench, bench, wait_until};

/// Number of a server: a process of this test's that this process started.
fn pid_of(bench: &Bench, program: Program) -> i32 {
    let is_leader = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (name, fields) = stat.rsplit_once(") ").unwrap_or_default();
        let parent = fields.split(' ').nth(1).and_then(|field| field.parse().ok());
        name.contains(&format!("({}", program.name())) && parent == Some(std::process::id())
    };
    let found = bench.processes().into_iter().find(is_leader).expect("a server");
    i32::try_from(found).expect("a number")
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
            MailServerError::Process(ProcessError::Ended {
                name,
                phase: Phase::Load,
                status,
                ..
            }) => {
                assert_eq!(name, program.name());
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
    // Mails that were accepted are delivered after the next start.
    let mut server = bench.ready();
    wait_until("the delivery", || server.queue_length().expect("a queue") == 0);
    let session = Session::imap(server.ports().imap, server.password());
    let bytes = session.expect("connected").call("u3 read=20").expect("read");
    assert!(bytes > 20 * 43_000, "{bytes}");
    server.health().expect("well");
    server.stop().expect("stopped");
}

#[test]
fn servers_end_with_the_thread_that_started_them() {
    let Some(bench) = bench() else { return };
    let ports = bench.ports;
    let sender = std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            let server = bench.ready();
            let mut sender = Session::smtp(ports.smtp).expect("connected");
            sender.call("u1 u2 100").expect("accepted");
            // As if the run were killed: nothing ends the servers in order.
            std::mem::forget(server);
            sender
        });
        started.join().expect("a sender")
    });
    // Exim's child that has this connection goes on as long as its client.
    drop(sender);
    wait_until("the end of all processes", || bench.processes().is_empty());
    wait_until("the end of all children", || {
        [ports.smtp, ports.imap, ports.lmtp]
            .iter()
            .all(|port| std::net::TcpStream::connect(("127.0.0.1", *port)).is_err())
    });
}
