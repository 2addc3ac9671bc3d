//! A run over hosts on the export of one NFS server. Server, controller and hosts are in network
//! namespaces of their own, with cables (veth) to one switch. Without the programs, or without
//! root, a test says why and returns.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use run_store::run::{Run, Verdict};

use crate::hosts::stored;
use crate::rig::{Workspace, err, ganesha, names, out};

/// Creates the switch and its namespaces `$1c`, `$1s`, `$1a` and `$1b` (controller with the switch,
/// server, hosts), with packets of `$2` bytes.
const CABLES: &str = r#"
set -e
ip netns add $1c; ip -n $1c link set lo up
ip -n $1c link add switch mtu $2 type bridge
ip -n $1c addr add 10.214.0.1/24 dev switch; ip -n $1c link set switch up
number=2
for end in s a b; do
    ip netns add $1$end; ip -n $1$end link set lo up
    ip link add name cable$end mtu $2 netns $1c type veth peer name eth0 mtu $2 netns $1$end
    ip -n $1c link set cable$end master switch up
    ip -n $1$end addr add 10.214.0.$number/24 dev eth0; ip -n $1$end link set eth0 up
    number=$((number + 1))
done
"#;

const SERVER: &str = r#"
mount -t tmpfs -o size=1m,mode=755 tilemark /run && mkdir /run/rpcbind /run/ganesha
rpcbind -f &
exec ganesha.nfsd -F -f server/ganesha.conf -L server/log -p server/pid
"#;

/// Program of a host: mounts the export at `$2` by Tilemark's client, for this process and its
/// agent alone, and unmounts it when the agent has ended.
const HOST: &str = r#"#!/bin/sh
"$0.tilemark" nfs-client --ready "$1.ready" "$3" "$2" &
client=$!
while ! [ -e "$1.ready" ]; do kill -0 $client || exit 1; sleep 0.1; done
mountpoint -q "$2" || exit 1
"$0.tilemark" agent --join - --allow "dir:$2"
code=$?
kill $client
exit $code
"#;

/// Namespaces of a test, by the beginning of their names. Dropping it removes them, also those of a
/// set-up that did not end.
struct Namespaces(String);

impl Drop for Namespaces {
    fn drop(&mut self) {
        for end in ["s", "a", "b", "c"] {
            let mut remove = Command::new("ip");
            remove.args(["netns", "del", &format!("{}{end}", self.0)]);
            let _ = with_sbin(&mut remove).stderr(Stdio::null()).status();
        }
    }
}

struct Network {
    place: Workspace,
    id: String,
    server: std::process::Child,
    _namespaces: Namespaces,
}

impl Network {
    fn new(mtu: u32) -> Option<Self> {
        let place = Workspace::usable()?;
        let needed = "for own in ip unshare nsenter rpcbind rpcinfo ganesha.nfsd; do \
                      command -v $own >/dev/null || { echo $own is not installed; exit 1; }; done; \
                      [ $(id -u) = 0 ] || { echo only root makes networks; exit 1; }; \
                      unshare --net --mount true";
        let found = shell(&place, needed, &[]);
        if !found.status.success() {
            eprintln!("skipped: {}{}", out(&found), err(&found));
            return None;
        }
        let id = format!("tmx{}", std::process::id() % 100_000);
        let namespaces = Namespaces(id.clone());
        let made = shell(&place, CABLES, &[&id, &mtu.to_string()]);
        assert!(made.status.success(), "{}", err(&made));
        for directory in ["server", "export", "export/theirs", "point"] {
            std::fs::create_dir_all(place.path(directory)).expect("made");
        }
        place.write("server/ganesha.conf", &ganesha("10.214.0.2", &place.path("export")));
        let program = Path::new(env!("CARGO_BIN_EXE_tilemark"));
        std::os::unix::fs::symlink(program, place.path("host.tilemark")).expect("a link");
        place.write("host", HOST);
        let mut server = command(&format!("{id}s"), "setpriv");
        server.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork"]);
        server.args(["--kill-child", "sh", "-c", SERVER]).current_dir(place.path(""));
        let log = std::fs::File::create(place.path("server/said")).expect("a log");
        server.stdout(log.try_clone().expect("a copy")).stderr(log);
        let own =
            Self { server: server.spawn().expect("started"), place, id, _namespaces: namespaces };
        let answers = "for i in $(seq 300); do ip netns exec $1a rpcinfo -T tcp 10.214.0.2 100003 3 \
                       >/dev/null 2>&1 && exit; sleep 0.1; done; cat server/said server/log; exit 1";
        let ready = shell(&own.place, answers, &[&own.id]);
        assert!(ready.status.success(), "{}", out(&ready));
        Some(own)
    }

    /// Returns the option of a host that mounts the export.
    fn host(&self, name: &str) -> String {
        let at = |name: &str| self.place.path(name).display().to_string();
        let export = format!("nfs:10.214.0.2:{}", at("export"));
        format!(
            "{name}=exec:export TILEMARK_AGENT_SLOT={id}{name}; exec ip netns exec {id}{name} unshare \
             --mount sh {} {} {} {export}",
            at("host"),
            at(name),
            at("point"),
            id = self.id
        )
    }

    /// Returns a run of the hosts that measures for so long, in the namespace of the switch.
    fn run_for(&self, duration: &str, more: &[&str]) -> Command {
        let point = format!("dir:{}", self.place.path("point").display());
        let mut command = command(&format!("{}c", self.id), env!("CARGO_BIN_EXE_tilemark"));
        command.args(["run", "--allow-same-device", "--quick", "--tile", "tile.toml", "--tiles"]);
        command.args(["2", "--footprint", "0.002", "--duration", duration, "--slice", "200ms"]);
        for name in ["a", "b"] {
            command.args(["--host", &self.host(name)]);
        }
        command.args(["--listen", "10.214.0.1:0"]).args(more).arg(point);
        command.current_dir(self.place.path(""));
        self.place.surroundings(&mut command);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn shell(place: &Workspace, script: &str, arguments: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args(arguments).current_dir(place.path(""));
    with_sbin(&mut shell).output().expect("a shell")
}

fn command(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]).stdin(Stdio::null());
    with_sbin(&mut command);
    command
}

fn with_sbin(command: &mut Command) -> &mut Command {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"))
}

/// Bytes that a host received from the switch.
fn received(network: &Network, host: &str) -> u64 {
    let script = "ip netns exec $1 cat /sys/class/net/eth0/statistics/rx_bytes";
    let read = shell(&network.place, script, &[&format!("{}{host}", network.id)]);
    out(&read).trim().parse().expect("a number")
}

#[test]
fn hosts_share_the_export_of_one_server_over_links() {
    let Some(network) = Network::new(9000) else { return };
    let output = network.run_for("1s", &["--format", "json"]).output().expect("it starts");
    let told = err(&output);
    let run: Run = run_store::run::parse(&out(&output)).unwrap_or_else(|_| panic!("{told}"));
    let step = run.steps.first().unwrap_or_else(|| panic!("{told}"));
    let is_fine = matches!(step.verdict, Verdict::Passed | Verdict::Inconclusive);
    assert!(is_fine, "{}: {}", step.verdict.name(), step.reason);
    assert_eq!(step.hosts.len(), 2, "{:?}", step.hosts);
    for host in &step.hosts {
        assert!(host.operations_per_s > 0.0, "{host:?}");
        // What a host read came over its own cable.
        assert!(received(&network, &host.host) > 1 << 20, "{}", host.host);
    }
    assert!(run.target.summary.contains("shared by a, b"), "{}", run.target.summary);
    assert!(run.target.summary.contains("10.214.0.2:"), "{}", run.target.summary);
    assert_eq!(names(&network.place.path("export")), ["theirs"], "nothing else is left");
}

#[test]
fn step_of_hosts_that_lose_their_server_does_not_pass() {
    let Some(mut network) = Network::new(1500) else { return };
    let mut run = crate::rig::Running::new(network.run_for("60s", &["--live", "line"]));
    run.wait_for("measuring");
    network.server.kill().expect("it runs");
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let run = stored(&network.place);
    assert!(run.steps.iter().all(|step| step.verdict != Verdict::Passed), "{:?}", run.steps);
    assert!(ended.stderr.contains("host a") || ended.stderr.contains("host b"), "{}", ended.stderr);
}
