//! Benchmark of a cluster of hosts, on this computer: a hub here, eight members in separate
//! processes, TLS over loopback. Prints one line for each figure:
//!
//! - `cluster.clock_uncertainty_us`: uncertainty of the clock offset, best of 20 probes, of the
//!   worst member;
//! - `cluster.start_lateness_us`: lateness of the latest member at a common start; 99th percentile
//!   of a hundred starts;
//! - `cluster.detect_killed_ms`, `cluster.detect_hung_ms`: time from SIGKILL and SIGSTOP until the
//!   hub reports the member as gone, with a lease of 2 s; median of five.
#![expect(clippy::print_stdout, reason = "figures are this program's result")]

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tilemark_cluster::{Asked, Event, Hub, HubOptions, Member, Name, monotonic};
use units::Nanos;

const MEMBERS: usize = 8;
const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);
const STARTS: usize = 100;
const LOSSES: usize = 5;
/// Argument with which this program runs as a member.
const MEMBER: &str = "member";

fn main() {
    if std::env::args().nth(1).as_deref() == Some(MEMBER) {
        return member();
    }
    let names: Vec<Name> = (0..MEMBERS).map(|n| name(&format!("m{n}"))).collect();
    let (hub, events) = Hub::open(&HubOptions {
        cluster: name(&format!("bench-{}", std::process::id())),
        members: names.clone(),
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        known_as: Vec::new(),
        lease: LEASE,
        valid_for: Duration::from_secs(3600),
    })
    .expect("a hub");
    let mut children: Vec<Child> = names.iter().map(|member| process(&hub, member)).collect();
    assert_eq!(hub.wait_for(&names, PATIENCE), [], "they join");

    let uncertainty = |member| hub.clock(member, 20).expect("answers").uncertainty();
    let worst = names.iter().map(uncertainty).max().unwrap_or_default();
    figure("clock_uncertainty_us", worst.0 as f64 / 1e3, "us");

    let mut late: Vec<Nanos> = (0..STARTS).map(|_| latest(&hub, &names)).collect();
    late.sort_unstable();
    figure("start_lateness_us", late[STARTS * 99 / 100 - 1].0 as f64 / 1e3, "us");

    let mut lost = |what, signal: Signal| {
        let mut times: Vec<Duration> = (0..LOSSES)
            .map(|_| {
                let time = missed(&hub, &events, (&names[0], &mut children[0]), signal);
                children[0] = process(&hub, &names[0]);
                assert_eq!(hub.wait_for(&names, PATIENCE), [], "it joins again");
                time
            })
            .collect();
        times.sort_unstable();
        figure(what, times[LOSSES / 2].as_secs_f64() * 1e3, "ms");
    };
    lost("detect_killed_ms", Signal::KILL);
    lost("detect_hung_ms", Signal::STOP);
    drop(hub);
    for mut child in children {
        child.wait().expect("a member that is alone ends");
    }
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn figure(name: &str, value: f64, unit: &str) {
    println!("figure cluster.{name} {value:.4} {unit}");
}

/// Starts all members 50 ms from now, and returns the largest lateness.
fn latest(hub: &Hub, names: &[Name]) -> Nanos {
    let offsets: Vec<_> =
        names.iter().map(|member| hub.clock(member, 5).expect("answers")).collect();
    let at = monotonic() + Nanos::from_millis(50);
    std::thread::scope(|scope| {
        let ask = |(member, offset): (&Name, &tilemark_cluster::ClockOffset)| {
            let at = offset.theirs(at).0.to_le_bytes();
            let answer = hub.ask(member, "start", &at, PATIENCE).expect("an answer");
            Nanos(u64::from_le_bytes(answer.try_into().expect("8 bytes")))
        };
        let asked = names.iter().zip(&offsets).map(|pair| scope.spawn(move || ask(pair)));
        let asked: Vec<_> = asked.collect();
        asked.into_iter().map(|one| one.join().expect("no panic")).max().unwrap_or_default()
    })
}

/// Sends a signal to a member, and returns the time until the hub reports the member as gone.
fn missed(
    hub: &Hub,
    events: &Receiver<Event>,
    (member, child): (&Name, &mut Child),
    signal: Signal,
) -> Duration {
    let id = Pid::from_raw(i32::try_from(child.id()).expect("an id")).expect("not 0");
    assert!(hub.present().contains(member));
    events.try_iter().for_each(drop);
    let begun = Instant::now();
    kill_process(id, signal).expect("it is there");
    while events.recv_timeout(PATIENCE).expect("it is missed") != Event::Left(member.clone()) {}
    let time = begun.elapsed();
    child.kill().expect("it is there");
    child.wait().expect("it ended");
    time
}

fn process(hub: &Hub, member: &Name) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let mut child = command.arg(MEMBER).stdin(Stdio::piped()).spawn().expect("it starts");
    let token = hub.invitation(member).expect("a member").token();
    let mut input = child.stdin.take().expect("it is piped");
    writeln!(input, "{token}").expect("it reads");
    child
}

/// Runs as a member that starts at the time it is told, and reports its lateness.
fn member() {
    let mut token = String::new();
    std::io::stdin().lock().read_line(&mut token).expect("a token");
    let answer = |asked: Asked| {
        let at: [u8; 8] =
            asked.question.try_into().map_err(|_| tilemark_cluster::RemoteError::new("no time"))?;
        let late = engine::wait_until(Nanos(u64::from_le_bytes(at)));
        Ok(late.0.to_le_bytes().to_vec())
    };
    let invitation = token.parse().expect("an invitation");
    let member = Member::join(&invitation, LEASE, PATIENCE, Box::new(answer)).expect("it joins");
    while !member.is_alone() {
        std::thread::sleep(Duration::from_millis(20));
    }
}
