//! The shipped job array for Slurm, and agents that `srun` starts, on a cluster of this computer
//! alone: a controller and its nodes on loopback, in a directory of the test. Skipped where Slurm
//! is not installed.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::rig::{Running, Workspace, err, out};

/// Programs of Slurm for a cluster, and the one that authenticates its users.
const PROGRAMS: [&str; 4] = ["munged", "slurmctld", "slurmd", "sbatch"];

/// Path of a program, in `PATH` or in Debian's directory for servers.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    directories.map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Servers of the cluster, ended with the test in reverse order of their start.
struct Cluster(Vec<Child>);

impl Drop for Cluster {
    fn drop(&mut self) {
        for server in self.0.iter_mut().rev() {
            if let Some(pid) = i32::try_from(server.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::TERM);
            }
            let _ = server.wait();
        }
    }
}

impl Cluster {
    /// Starts the cluster; `None`, with the reason printed, where there is no Slurm.
    fn usable(place: &Workspace, nodes: &[&str]) -> Option<Self> {
        if let Some(missing) = PROGRAMS.into_iter().find(|name| program(name).is_none()) {
            eprintln!("skipped: Slurm is not installed here: there is no {missing}");
            return None;
        }
        Some(Self::start(place, nodes))
    }

    fn start(place: &Workspace, nodes: &[&str]) -> Self {
        for directory in ["munge", "state", "spool"] {
            std::fs::create_dir(place.path(directory)).expect("a directory");
        }
        write_key(&place.path("munge/key"));
        place.write("slurm.conf", &configuration(place, nodes));
        let mut cluster = Self(Vec::new());
        let at = |option: &str, name: &str| format!("--{option}={}", place.path(name).display());
        cluster.serve(
            place,
            "munged",
            &[
                "--foreground",
                "--force",
                &at("key-file", "munge/key"),
                &at("socket", "munge/socket"),
                &at("pid-file", "munge/pid"),
                &at("log-file", "munge/log"),
                &at("seed-file", "munge/seed"),
            ],
        );
        cluster.serve(place, "slurmctld", &["-D"]);
        for node in nodes {
            cluster.serve(place, "slurmd", &["-D", "-N", node]);
        }
        cluster
    }

    fn serve(&mut self, place: &Workspace, name: &str, words: &[&str]) {
        let file =
            OpenOptions::new().append(true).create(true).open(place.path(&format!("{name}.out")));
        let log = file.expect("a file");
        let mut command = Command::new(program(name).expect("it was looked for"));
        command.args(words).env("SLURM_CONF", place.path("slurm.conf")).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a second handle")).stderr(log);
        self.0.push(command.spawn().expect("it starts"));
    }
}

/// Writes a random key: whoever knows the key can run jobs as any user.
fn write_key(path: &Path) {
    let mut key = [0; 128];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
    random.expect("random bytes");
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(&key)).expect("a key");
}

/// Configuration of a cluster that listens on loopback and tracks only its own processes.
fn configuration(place: &Workspace, nodes: &[&str]) -> String {
    let free = || TcpListener::bind("127.0.0.1:0").expect("a free port");
    let ports: Vec<TcpListener> =
        std::iter::once("controller").chain(nodes.iter().copied()).map(|_| free()).collect();
    let port = |index: usize| ports[index].local_addr().expect("it is bound").port();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let node = |(at, name): (usize, &&str)| {
        let port = port(at + 1);
        format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1\n")
    };
    let all = nodes.iter().enumerate().map(node).collect::<String>();
    let names = nodes.join(",");
    let user = rustix::process::getuid().as_raw();
    let root = place.path("munge/..").canonicalize().expect("a directory").display().to_string();
    format!(
        "ClusterName=scratch\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
         CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n\
         SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\nCredType=cred/munge\n\
         AuthInfo=socket={root}/munge/socket\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
         MpiDefault=none\nReturnToService=2\nStateSaveLocation={root}/state\n\
         SlurmdSpoolDir={root}/spool/%n\nSlurmctldPidFile={root}/slurmctld.pid\n\
         SlurmdPidFile={root}/slurmd-%n.pid\nSlurmctldLogFile={root}/slurmctld.log\n\
         SlurmdLogFile={root}/slurmd.log\n\
         {all}PartitionName=all Nodes={names} Default=YES State=UP\n",
        port(0),
    )
}

/// `sbatch --wait` ends when all tasks have, with the greatest of their exit codes.
#[test]
fn the_job_array_makes_parts_that_fit_together() {
    let place = Workspace::new();
    let Some(cluster) = Cluster::usable(&place, &["here"]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/slurm/study-array.sh");
    let words = ["example", "--only", "E2", "--repeats", "4"];
    let mut submit = place.command(&[]);
    let tilemark = PathBuf::from(submit.get_program());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = tilemark.parent().map(PathBuf::from).into_iter();
    let path = std::env::join_paths(directories.chain(std::env::split_paths(&path)));
    submit = Command::new(program("sbatch").expect("it was looked for"));
    place.surroundings(&mut submit);
    submit.current_dir(place.path("")).env("SLURM_CONF", place.path("slurm.conf"));
    submit.env("PATH", path.expect("directories")).env("SHARDS", "3");
    submit.args(["--wait", "--array=1-3", script]).args(words);
    let ended = Running::new(submit).end();
    assert_eq!(ended.code, Some(0), "{}{}\n{}", ended.stdout, ended.stderr, logs(&place));
    drop(cluster);

    let parts = [1, 2, 3].map(|shard| format!("parts/studies/example-part-{shard}-of-3.json"));
    let merge = ["study", "merge", "example", "--format", "json"].into_iter();
    let merged = place.output(&merge.chain(parts.iter().map(String::as_str)).collect::<Vec<_>>());
    assert_eq!(merged.status.code(), Some(0), "{}", err(&merged));
    let alone = place.output(&[&["study", "run"], &words[..], &["--format", "json"]].concat());
    assert_eq!(out(&merged), out(&alone));
}

fn logs(place: &Workspace) -> String {
    let log = |name: &str| std::fs::read_to_string(place.path(name)).unwrap_or_default();
    ["slurmctld.out", "slurmctld.log", "slurmd.out", "slurmd.log"].map(log).concat()
}

/// The token goes over the standard input of `srun`, and a node's tasks end with the run.
#[cfg(feature = "hosts")]
#[test]
fn agents_that_srun_starts_on_two_nodes_drive_one_run() {
    let Some(place) = Workspace::usable() else { return };
    let Some(cluster) = Cluster::usable(&place, &["north", "south"]) else { return };
    let (bin, ds) = (env!("CARGO_BIN_EXE_tilemark"), place.path("ds").display().to_string());
    let host = |node: &str| {
        format!(
            "{node}=exec:export TILEMARK_AGENT_SLOT={ds}-{node}; exec srun --quiet --nodelist={node} \
             --ntasks=1 {bin} agent --join - --allow dir:{ds} --allow-root-fs"
        )
    };
    let (north, south) = (host("north"), host("south"));
    let words = ["--host", &north, "--host", &south, "--tiles", "2", "--join-within", "60s"];
    let mut run = place.run_command(&words);
    run.env("SLURM_CONF", place.path("slurm.conf"));
    let ended = Running::new(run).end();
    let logs = logs(&place);
    assert!(matches!(ended.code, Some(0 | 5)), "{}{}\n{logs}", ended.stdout, ended.stderr);
    let step = crate::hosts::stored(&place).steps.pop().expect("a step");
    let did = step.hosts.iter().map(|host| (host.host.as_str(), host.operations_per_s > 0.0));
    assert_eq!(did.collect::<Vec<_>>(), [("north", true), ("south", true)]);
    assert_eq!(place.names("ds"), [""; 0], "nothing is left");
    drop(cluster);
}
