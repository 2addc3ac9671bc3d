//! Proxmox VE, tested with a server that speaks its published API: the forms of its answers, its
//! tasks, and its errors.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use spec::named::NamedMachine;
use tilemark_vm::named::{self, Limits, ledger};
use tilemark_vm::{
    After, DeployKind, Failure, Operation, Phase, Report, VmError, VmOperations, Watch,
};

use crate::platform::{Asked, Server, Told, told};

const TOKEN: &str = "bench@pve!tilemark=01234567-89ab-cdef-0123-456789abcdef";

/// A cluster of two nodes. Each task is reported as running once before it ends.
#[derive(Debug, Default)]
struct Cluster {
    machines: BTreeMap<u64, Machine>,
    tasks: BTreeMap<String, Task>,
    /// Answers to the next request with this method whose path contains this text.
    wrong: Vec<(&'static str, &'static str, &'static str, &'static str)>,
    /// Exit status of the next task of this kind.
    ends: Vec<(&'static str, &'static str)>,
    /// Kind of tasks that never end by themselves.
    hangs: Option<&'static str>,
    /// Kind of tasks that never end.
    endless: Option<&'static str>,
}

#[derive(Debug, Clone, Default)]
struct Machine {
    name: String,
    node: String,
    status: String,
    storage: String,
    snapshots: Vec<String>,
    has_agent: bool,
}

#[derive(Debug)]
struct Task {
    looks: u32,
    kind: &'static str,
    end: String,
    then: Then,
}

#[derive(Debug, Clone)]
enum Then {
    Snapshot(u64, String),
    Unsnap(u64, String),
    Clone(u64, u64, String),
    Status(u64, &'static str),
    Destroy(u64),
    Node(u64, String),
    Storage(u64, String),
}

fn form(asked: &Asked, key: &str) -> String {
    let pairs = asked.body.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .into_iter()
        .find(|(own, _)| *own == key)
        .map(|(_, value)| value.to_owned())
        .unwrap_or_default()
}

impl Cluster {
    fn answer(&mut self, asked: &Asked) -> Told {
        if asked.authorization != format!("PVEAPIToken={TOKEN}") {
            return told("401 authentication failure", r#"{"data":null}"#);
        }
        let fits =
            |own: &(&str, &str, &str, &str)| asked.method == own.0 && asked.path.contains(own.1);
        if let Some(at) = self.wrong.iter().position(fits) {
            let (_, _, status, body) = self.wrong.remove(at);
            return told(status, body);
        }
        let path = asked.path.strip_prefix("/api2/json").unwrap_or_default();
        let parts: Vec<&str> =
            path.split('?').next().unwrap_or_default().split('/').skip(1).collect();
        let data = match (asked.method.as_str(), parts.as_slice()) {
            ("GET", ["version"]) => r#"{"version":"8.2.4","release":"8.2","repoid":"faa83925"}"#.to_owned(),
            ("GET", ["cluster", "resources"]) => self.resources(),
            ("GET", ["cluster", "nextid"]) => "\"105\"".to_owned(),
            ("GET", ["nodes", _, "tasks", upid, "status"]) => return self.look(upid),
            ("GET", ["nodes", _, "tasks", _, "log"]) => {
                r#"[{"n":1,"t":"migration active"},{"n":2,"t":"average migration speed: 1.2 GiB/s - downtime 53 ms"}]"#.to_owned()
            }
            ("DELETE", ["nodes", _, "tasks", upid]) => {
                let upid = upid.replace("%3A", ":");
                if let Some(task) = self.tasks.get_mut(&upid) {
                    (task.end, task.looks) = ("interrupted by signal".to_owned(), 9);
                }
                "null".to_owned()
            }
            (method, ["nodes", node, "qemu", id, rest @ ..]) => {
                let (node, id) = ((*node).to_owned(), id.parse().expect("a number"));
                match self.machines.get(&id) {
                    Some(own) if own.node == node => {}
                    _ => {
                        let text = format!("500 Configuration file 'nodes/{node}/qemu-server/{id}.conf' does not exist");
                        return told(&text, r#"{"data":null}"#);
                    }
                }
                match self.of_machine(method, id, rest, asked) {
                    Ok(data) => data,
                    Err(told) => return told,
                }
            }
            _ => return told("501 Method not implemented", r#"{"data":null}"#),
        };
        told("200 OK", format!("{{\"data\":{data}}}"))
    }

    fn of_machine(
        &mut self,
        method: &str,
        id: u64,
        rest: &[&str],
        asked: &Asked,
    ) -> Result<String, Told> {
        let own = self.machines[&id].clone();
        let then = match (method, rest) {
            ("GET", ["config"]) => {
                return Ok(format!(
                    r#"{{"name":"{}","scsi0":"{}:vm-{id}-disk-0,size=32G","ide2":"none,media=cdrom","scsihw":"virtio-scsi-pci"}}"#,
                    own.name, own.storage
                ));
            }
            ("GET", ["status", "current"]) => {
                return Ok(format!(
                    r#"{{"status":"{0}","qmpstatus":"{0}","vmid":{id}}}"#,
                    own.status
                ));
            }
            ("GET", ["snapshot"]) => {
                let names = own.snapshots.iter().map(String::as_str).chain(["current"]);
                let all: Vec<String> =
                    names.map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
                return Ok(format!("[{}]", all.join(",")));
            }
            ("POST", ["agent", "ping"]) if own.has_agent => {
                return Ok(r#"{"result":{}}"#.to_owned());
            }
            ("POST", ["agent", "ping"]) => {
                return Err(told("500 QEMU guest agent is not running", r#"{"data":null}"#));
            }
            ("POST", ["snapshot"]) => Then::Snapshot(id, form(asked, "snapname")),
            ("DELETE", ["snapshot", name]) => Then::Unsnap(id, (*name).to_owned()),
            ("POST", ["clone"]) => Then::Clone(
                id,
                form(asked, "newid").parse().expect("a number"),
                form(asked, "name"),
            ),
            ("POST", ["status", "start"]) => Then::Status(id, "running"),
            ("POST", ["status", "stop"]) => Then::Status(id, "stopped"),
            ("POST", ["migrate"]) => Then::Node(id, form(asked, "target")),
            ("POST", ["move_disk"]) => Then::Storage(id, form(asked, "storage")),
            ("DELETE", []) => Then::Destroy(id),
            _ => return Err(told("501 Method not implemented", r#"{"data":null}"#)),
        };
        Ok(self.task(&own.node, then))
    }

    fn task(&mut self, node: &str, then: Then) -> String {
        let kind = match &then {
            Then::Snapshot(..) => "qmsnapshot",
            Then::Unsnap(..) => "qmdelsnapshot",
            Then::Clone(..) => "qmclone",
            Then::Status(_, "running") => "qmstart",
            Then::Status(..) => "qmstop",
            Then::Destroy(..) => "qmdestroy",
            Then::Node(..) => "qmigrate",
            Then::Storage(..) => "qmmove",
        };
        let end = self.ends.iter().position(|own| own.0 == kind).map(|at| self.ends.remove(at).1);
        let number = self.tasks.len();
        let upid =
            format!("UPID:{node}:{number:08X}:00AB12CD:65E0F00D:{kind}:100:bench@pve!tilemark:");
        let task = Task { looks: 0, kind, end: end.unwrap_or("OK").to_owned(), then };
        self.tasks.insert(upid.clone(), task);
        format!("\"{upid}\"")
    }

    fn look(&mut self, upid: &str) -> Told {
        let upid = upid.replace("%3A", ":").replace("%40", "@").replace("%21", "!");
        let Some(task) = self.tasks.get_mut(&upid) else {
            return told(
                "400 Parameter verification failed.",
                r#"{"errors":{"upid":"unable to parse worker upid"}}"#,
            );
        };
        task.looks += 1;
        let is_endless = self.endless == Some(task.kind);
        if is_endless || task.looks < 2 || (self.hangs == Some(task.kind) && task.looks < 9) {
            return told("200 OK", format!(r#"{{"data":{{"status":"running","upid":"{upid}"}}}}"#));
        }
        let (end, then) = (task.end.clone(), task.then.clone());
        if task.looks == 2 && (end == "OK" || end.starts_with("WARNINGS")) {
            self.happens(then);
        }
        told(
            "200 OK",
            format!(r#"{{"data":{{"status":"stopped","exitstatus":"{end}","upid":"{upid}"}}}}"#),
        )
    }

    fn happens(&mut self, then: Then) {
        match then {
            Then::Snapshot(id, name) => self.of(id).snapshots.push(name),
            Then::Unsnap(id, name) => self.of(id).snapshots.retain(|own| *own != name),
            Then::Clone(from, id, name) => {
                let own =
                    Machine { name, status: "stopped".to_owned(), ..self.machines[&from].clone() };
                self.machines.insert(id, own);
            }
            Then::Status(id, status) => self.of(id).status = status.to_owned(),
            Then::Destroy(id) => drop(self.machines.remove(&id)),
            Then::Node(id, node) => self.of(id).node = node,
            Then::Storage(id, storage) => self.of(id).storage = storage,
        }
    }

    fn of(&mut self, id: u64) -> &mut Machine {
        self.machines.get_mut(&id).expect("it is there")
    }

    fn resources(&self) -> String {
        let own = |(id, own): (&u64, &Machine)| {
            format!(
                r#"{{"id":"qemu/{id}","type":"qemu","vmid":{id},"name":"{}","node":"{}","status":"{}","template":0}}"#,
                own.name, own.node, own.status
            )
        };
        let all: Vec<String> = self.machines.iter().map(own).collect();
        format!("[{}]", all.join(","))
    }
}

struct Rig {
    server: Server,
    cluster: Arc<Mutex<Cluster>>,
}

impl Rig {
    /// Makes two virtual machines, one of which the tests name.
    fn new() -> Self {
        let machine = |name: &str| Machine {
            name: name.to_owned(),
            node: "pve1".to_owned(),
            status: "running".to_owned(),
            storage: "local-lvm".to_owned(),
            has_agent: true,
            ..Machine::default()
        };
        let machines = BTreeMap::from([(100, machine("web01")), (101, machine("web011"))]);
        let cluster = Arc::new(Mutex::new(Cluster { machines, ..Cluster::default() }));
        let own = Arc::clone(&cluster);
        let server = Server::of(TOKEN, move |asked| own.lock().expect("no panic").answer(asked));
        Self { server, cluster }
    }

    fn cluster(&self) -> std::sync::MutexGuard<'_, Cluster> {
        self.cluster.lock().expect("no panic")
    }

    fn machine(&self, name: &str) -> NamedMachine {
        let text = format!(
            "proxmox:{name},at={},to=pve2,storage=fast,credentials={},ca={}",
            self.server.at,
            self.server.file("token").display(),
            self.server.file("ca.pem").display()
        );
        text.parse().expect("a machine")
    }

    fn state(&self) -> std::path::PathBuf {
        self.server.file("state")
    }

    fn open(&self, name: &str) -> Result<Box<dyn VmOperations>, VmError> {
        named::open(&self.machine(name), "test", &self.state(), limits())
    }
}

pub fn limits() -> Limits {
    Limits { look: Duration::from_millis(1), ..Limits::default() }
}

fn done(machine: &mut Box<dyn VmOperations>, operation: Operation) -> Report {
    let report = machine.perform(operation, &mut ()).unwrap_or_else(|failure| panic!("{failure}"));
    let phases: Vec<Phase> = report.ended.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(phases, operation.phases());
    report
}

fn fails(machine: &mut Box<dyn VmOperations>, operation: Operation) -> Failure {
    machine.perform(operation, &mut ()).expect_err("it cannot succeed")
}

const SNAPSHOT: Operation = Operation::Snapshot { keep: Duration::ZERO };
const DEPLOY: Operation = Operation::Deploy(DeployKind::Full);

#[test]
fn operations_touch_only_the_named_vm() {
    let rig = Rig::new();
    let mut machine = rig.open("web01").expect("it is there");
    assert!(machine.about().starts_with("Proxmox VE 8.2.4 at https://127.0.0.1:"));
    let report = done(&mut machine, Operation::LiveMigration);
    assert_eq!(report.stood_still, Some(Duration::from_millis(53)), "from the task's log");
    assert!(
        report
            .checked
            .contains("running on node pve2; scsi0 on local-lvm; its guest agent answers")
    );
    let back = done(&mut machine, Operation::LiveMigration);
    assert!(back.checked.contains("node pve1"), "{}", back.checked);
    assert!(done(&mut machine, Operation::StorageMigration).checked.contains("scsi0 on fast"));
    assert!(done(&mut machine, Operation::StorageMigration).checked.contains("scsi0 on local-lvm"));
    done(&mut machine, Operation::UnifiedMigration);
    done(&mut machine, SNAPSHOT);
    done(&mut machine, DEPLOY);
    assert_eq!(rig.cluster().machines.len(), 3);
    done(&mut machine, Operation::Destroy);
    drop(machine);
    let cluster = rig.cluster();
    assert_eq!(cluster.machines.len(), 2);
    assert!(cluster.machines[&100].snapshots.is_empty());
    let other = rig.server.asked().into_iter().filter(|own| own.path.contains("/qemu/101"));
    assert_eq!(other.count(), 0, "web011 was not named");
    let form = rig.server.asked().into_iter().find(|own| own.path.ends_with("/move_disk"));
    assert_eq!(form.expect("asked").body, "disk=scsi0&storage=fast&delete=1");
    assert_eq!(std::fs::read_dir(rig.state()).expect("there").count(), 0, "no ledger is left");
}

#[test]
fn name_without_exactly_one_match_is_refused_at_once() {
    let rig = Rig::new();
    for name in ["web0", "WEB01", "100", "web01 "] {
        let machine = NamedMachine { name: name.to_owned(), ..rig.machine("web01") };
        let error = named::open(&machine, "test", &rig.state(), limits()).err().expect(name);
        assert!(matches!(error, VmError::Missing { .. }), "{error}");
    }
    rig.cluster().of(101).name = "web01".to_owned();
    let error = rig.open("web01").err().expect("two of one name").to_string();
    assert!(error.contains("there are 2"), "{error}");
    assert!(rig.server.asked().iter().all(|own| own.method == "GET"));
}

#[test]
fn documented_errors_are_reported_and_vm_is_unchanged() {
    let rig = Rig::new();
    let mut machine = rig.open("web01").expect("it is there");
    for (operation, path, status, body, says) in [
        (
            SNAPSHOT,
            "/snapshot",
            "403 Permission check failed (/vms/100, VM.Snapshot)",
            "",
            "VM.Snapshot",
        ),
        (
            SNAPSHOT,
            "/snapshot",
            "400 Parameter verification failed.",
            r#"{"data":null,"errors":{"snapname":"snapshot name 'x' already used"}}"#,
            "snapname: snapshot name 'x' already used",
        ),
        (
            Operation::LiveMigration,
            "/migrate",
            "500 VM is locked (backup)",
            "",
            "VM is locked (backup)",
        ),
        (Operation::LiveMigration, "/migrate", "595 No route to host", "", "595 No route to host"),
        (
            Operation::StorageMigration,
            "/move_disk",
            "596 tls_process_server_certificate",
            "",
            "596",
        ),
        (Operation::StorageMigration, "/move_disk", "599 Too many redirections", "", "599"),
        (
            DEPLOY,
            "/clone",
            "500 unable to create VM 105 - VM 105 already exists",
            "",
            "already exists",
        ),
        (DEPLOY, "/clone", "501 Method 'POST' not implemented", "", "not implemented"),
        (DEPLOY, "/clone", "200 OK", r#"{"data":"no UPID"}"#, "an invalid answer to"),
    ] {
        rig.cluster().wrong.push(("POST", path, status, body));
        let failure = fails(&mut machine, operation);
        let text = failure.to_string();
        assert!(text.contains(says), "{text}");
        assert_eq!(failure.phase, operation.phases().first().copied(), "{text}");
        assert!(matches!(failure.after, After::Runs | After::Nothing), "{text}");
    }
    for (operation, kind, end) in [
        (Operation::LiveMigration, "qmigrate", "migration aborted"),
        (
            Operation::StorageMigration,
            "qmmove",
            "storage migration failed: no space left on device",
        ),
        (SNAPSHOT, "qmsnapshot", "snapshot feature is not available"),
        (DEPLOY, "qmclone", "clone failed: can't lock file '/var/lock/x' - got timeout"),
        (DEPLOY, "qmstart", "start failed: QEMU exited with code 1"),
    ] {
        rig.cluster().ends.push((kind, end));
        let failure = fails(&mut machine, operation);
        assert!(failure.to_string().contains(end), "{failure}");
        assert!(matches!(failure.after, After::Runs | After::Nothing), "{failure}");
    }
    rig.cluster().ends.push(("qmigrate", "WARNINGS: 1"));
    done(&mut machine, Operation::LiveMigration);
    drop(machine);
    assert_eq!(rig.cluster().machines.len(), 2, "no clone is left");
}

#[test]
fn wrong_token_or_certificate_is_reported_and_not_shown() {
    let rig = Rig::new();
    std::fs::write(rig.server.file("token"), "bench@pve!x=secret\n").expect("written");
    let error = rig.open("web01").err().expect("no token of theirs").to_string();
    assert!(error.contains("401 authentication failure") && !error.contains("secret"), "{error}");
    let unknown = NamedMachine { ca: None, ..rig.machine("web01") };
    let error =
        named::open(&unknown, "test", &rig.state(), limits()).err().expect("no authority vouches");
    assert!(error.to_string().contains("no authority vouches for its certificate"), "{error}");
}

/// Observer that stops the operation at once.
struct Stopped;

impl Watch for Stopped {
    fn is_stopped(&self) -> bool {
        true
    }
}

#[test]
fn stopped_migration_is_cancelled_and_vm_stays() {
    let rig = Rig::new();
    let mut machine = rig.open("web01").expect("it is there");
    rig.cluster().hangs = Some("qmigrate");
    let failure = machine.perform(Operation::LiveMigration, &mut Stopped).expect_err("stopped");
    assert!(matches!(*failure.reason, VmError::Stopped), "{failure}");
    assert_eq!(failure.after, After::Runs, "{failure}");
    assert_eq!(rig.server.count("DELETE", "/tasks/UPID"), 1);
    assert_eq!(rig.cluster().machines[&100].node, "pve1");
}

#[test]
fn undeletable_snapshot_is_named_and_removed_by_cleanup() {
    let rig = Rig::new();
    let mut machine = rig.open("web01").expect("it is there");
    // One failure for the operation's own attempt, and others for the removal.
    rig.cluster().ends.extend([("qmdelsnapshot", "cannot delete: dataset is busy"); 3]);
    let failure = fails(&mut machine, SNAPSHOT);
    assert_eq!(failure.phase, Some(Phase::Delete), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("dataset is busy") && text.contains("snapshot tilemark-"), "{text}");
    assert!(matches!(failure.after, After::Left { .. }), "{text}");
    drop(machine);
    assert_eq!(rig.cluster().machines[&100].snapshots.len(), 1);
    swept(&rig.state(), 1);
    assert!(rig.cluster().machines[&100].snapshots.is_empty());
}

/// Sweeps the objects of a run whose process is gone.
fn swept(state: &Path, things: usize) {
    for entry in std::fs::read_dir(state).expect("ledgers").flatten() {
        kill(&entry.path());
    }
    let seen = ledger::sweep(state, false, limits());
    assert_eq!(seen.iter().map(|own| own.made.len()).sum::<usize>(), things, "{seen:?}");
    let swept = ledger::sweep(state, true, limits());
    assert!(swept.iter().all(|own| own.stays.is_empty()), "{swept:?}");
    assert_eq!(std::fs::read_dir(state).expect("there").count(), 0);
}

/// As if the owner had been killed and its number were reused.
pub fn kill(ledger: &Path) {
    let marker = ledger.join("owner.json");
    let text = std::fs::read_to_string(&marker).expect("the marker");
    let at = text.find("\"start_ticks\": ").expect("its start") + 15;
    std::fs::write(marker, format!("{}1{}", &text[..at], &text[at..])).expect("written");
}

/// Kills when a number of phases of an operation have ended: nothing of it is removed.
struct KilledAt {
    left: usize,
}

impl Watch for KilledAt {
    fn ended(&mut self, _: Phase) {
        self.left -= 1;
    }

    fn is_stopped(&self) -> bool {
        if self.left == 0 {
            panic!("killed");
        }
        false
    }
}

#[test]
fn cleanup_finds_only_made_objects_after_any_kill() {
    let keep = Operation::Snapshot { keep: Duration::from_secs(1) };
    for (operation, left) in [(keep, 1), (Operation::LiveMigration, 0), (DEPLOY, 0), (DEPLOY, 1)] {
        let rig = Rig::new();
        rig.cluster().of(101).snapshots.push("tilemark-of-others".to_owned());
        let mut machine = rig.open("web01").expect("it is there");
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // A kill runs no destructor.
            let mut watch = KilledAt { left };
            let _ = machine.perform(operation, &mut watch);
        }));
        assert!(killed.is_err(), "{operation} {left}");
        std::mem::forget(machine);
        swept(&rig.state(), 1);
        let cluster = rig.cluster();
        assert_eq!(cluster.machines.len(), 2, "{operation} {left}");
        assert!(cluster.machines[&100].snapshots.is_empty());
        assert_eq!(cluster.machines[&101].snapshots.len(), 1);
    }
}

/// Observer that stops the operation as soon as a phase has ended.
#[derive(Default)]
struct StopsAfter {
    has_ended: bool,
}

impl Watch for StopsAfter {
    fn ended(&mut self, _: Phase) {
        self.has_ended = true;
    }

    fn is_stopped(&self) -> bool {
        self.has_ended
    }
}

/// Regression of e6eaf978: a task that never ended kept a stopped run for an hour, and again at its
/// end.
#[test]
fn stop_ends_the_wait_for_an_endless_task() {
    let rig = Rig::new();
    rig.cluster().endless = Some("qmdelsnapshot");
    let limits = Limits { stopped: Duration::from_millis(50), ..limits() };
    let machine = rig.machine("web01");
    let mut machine = named::open(&machine, "test", &rig.state(), limits).expect("it is there");
    let failure = machine.perform(SNAPSHOT, &mut StopsAfter::default()).expect_err("stopped");
    assert!(matches!(*failure.reason, VmError::Stopped), "{failure}");
    assert!(matches!(&failure.after, After::Left { what } if what.contains("a task")), "{failure}");
    let asked = rig.server.count("DELETE", "/snapshot/");
    drop(machine);
    assert_eq!(rig.server.count("DELETE", "/snapshot/"), asked, "it stays in the ledger");
}

/// Regression of e6eaf978: the text of an error contained the token that was sent.
#[test]
fn token_that_a_platform_echoes_is_in_no_error() {
    let rig = Rig::new();
    let mut machine = rig.open("web01").expect("it is there");
    for body in [r#"{"data":null}"#, r#"{"message":"PVEAPIToken=TOKEN","errors":{"a":"TOKEN"}}"#] {
        let body = body.replace("TOKEN", TOKEN).leak();
        let status = format!("500 no PVEAPIToken={TOKEN}").leak();
        rig.cluster().wrong = vec![("POST", "/snapshot", status, body)];
        let failure = fails(&mut machine, SNAPSHOT).to_string();
        assert!(failure.contains("***") && !failure.contains("89ab-cdef"), "{failure}");
    }
}
