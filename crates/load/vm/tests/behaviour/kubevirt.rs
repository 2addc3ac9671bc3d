//! KubeVirt, tested with a server that speaks the published API of its cluster: objects with a
//! status, and errors in the form of Kubernetes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use spec::named::NamedMachine;
use tilemark_vm::named::{self, ledger};
use tilemark_vm::{After, DeployKind, Failure, Operation, Phase, Report, VmError, VmOperations};

use crate::platform::{Asked, Server, Told, told};
use crate::proxmox::{kill, limits};

const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln";
const SNAPSHOT: Operation = Operation::Snapshot { keep: Duration::ZERO };
const DEPLOY: Operation = Operation::Deploy(DeployKind::Full);

/// Objects by path; a new object gets its last status at the second poll.
#[derive(Debug, Default)]
struct Cluster {
    objects: BTreeMap<String, Value>,
    looks: BTreeMap<String, u32>,
    wrong: Vec<(&'static str, &'static str, u16, &'static str, &'static str)>,
    /// Results of the next object of a kind, in place of success.
    ends: Vec<(&'static str, Value)>,
}

fn status(code: u16, reason: &str, message: &str) -> Told {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    told(&format!("{code} {reason}"), body.to_string())
}

fn vm(name: &str) -> String {
    format!("/apis/kubevirt.io/v1/namespaces/shop/virtualmachines/{name}")
}

fn instance(name: &str) -> String {
    format!("/apis/kubevirt.io/v1/namespaces/shop/virtualmachineinstances/{name}")
}

fn running(node: &str) -> Value {
    let agent = json!([{ "type": "AgentConnected", "status": "True" }]);
    json!({ "status": { "phase": "Running", "nodeName": node, "conditions": agent } })
}

impl Cluster {
    fn answer(&mut self, asked: &Asked) -> Told {
        if asked.authorization != format!("Bearer {TOKEN}") {
            return status(401, "Unauthorized", "Unauthorized");
        }
        let fits = |own: &(&str, &str, u16, &str, &str)| {
            asked.method == own.0 && asked.path.contains(own.1)
        };
        if let Some(at) = self.wrong.iter().position(fits) {
            let (_, _, code, reason, message) = self.wrong.remove(at);
            return status(code, reason, message);
        }
        match asked.method.as_str() {
            "GET" if asked.path.ends_with("/version") => {
                told("200 OK", r#"{"gitVersion":"v1.3.1"}"#)
            }
            "GET" => self.look(&asked.path),
            "POST" => self.make(asked),
            "PUT" => {
                let name =
                    asked.path.trim_end_matches("/start").rsplit('/').next().unwrap_or_default();
                self.objects.insert(instance(name), running("node-b"));
                told("202 Accepted", "")
            }
            "DELETE" => match self.objects.remove(&asked.path) {
                None => status(404, "NotFound", "not found"),
                Some(_) => {
                    let name = asked.path.rsplit('/').next().unwrap_or_default().to_owned();
                    if asked.path.contains("/virtualmachines/") {
                        self.objects.remove(&instance(&name));
                    }
                    told("200 OK", r#"{"kind":"Status","status":"Success"}"#)
                }
            },
            _ => status(405, "MethodNotAllowed", "the server does not allow this method"),
        }
    }

    fn make(&mut self, asked: &Asked) -> Told {
        let object: Value = serde_json::from_str(&asked.body).expect("JSON");
        let name = object.pointer("/metadata/name").and_then(Value::as_str).expect("a name");
        let path = format!("{}/{name}", asked.path);
        if self.objects.contains_key(&path) {
            return status(409, "AlreadyExists", &format!("\"{name}\" already exists"));
        }
        self.objects.insert(path, object.clone());
        told("201 Created", object.to_string())
    }

    fn look(&mut self, path: &str) -> Told {
        let Some(object) = self.objects.get(path).cloned() else {
            return status(404, "NotFound", &format!("{path} not found"));
        };
        let looks = self.looks.entry(path.to_owned()).or_default();
        *looks += 1;
        if *looks < 2 || object.get("status").is_some() {
            return told("200 OK", object.to_string());
        }
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let end = self.ends.iter().position(|own| own.0 == kind).map(|at| self.ends.remove(at).1);
        let mut ended = object.clone();
        ended["status"] = end.clone().unwrap_or_else(|| match kind.as_str() {
            "VirtualMachineSnapshot" => json!({ "phase": "Succeeded", "readyToUse": true }),
            _ => json!({ "phase": "Succeeded" }),
        });
        if end.is_none() {
            self.happens(&kind, &object);
        }
        self.objects.insert(path.to_owned(), ended.clone());
        told("200 OK", ended.to_string())
    }

    fn happens(&mut self, kind: &str, object: &Value) {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        match kind {
            "VirtualMachineInstanceMigration" => {
                self.objects.insert(instance(text("/spec/vmiName")), running("node-c"));
            }
            "VirtualMachineClone" => {
                self.objects
                    .insert(vm(text("/spec/target/name")), json!({ "spec": {}, "status": {} }));
            }
            _ => {}
        }
    }
}

struct Rig {
    server: Server,
    cluster: Arc<Mutex<Cluster>>,
}

impl Rig {
    fn new() -> Self {
        let mut own = Cluster::default();
        for name in ["web01", "web011"] {
            own.objects.insert(
                vm(name),
                json!({ "spec": {}, "status": { "printableStatus": "Running" } }),
            );
            own.objects.insert(instance(name), running("node-a"));
        }
        let cluster = Arc::new(Mutex::new(own));
        let own = Arc::clone(&cluster);
        let server = Server::of(TOKEN, move |asked| own.lock().expect("no panic").answer(asked));
        Self { server, cluster }
    }

    fn cluster(&self) -> std::sync::MutexGuard<'_, Cluster> {
        self.cluster.lock().expect("no panic")
    }

    fn open(&self, name: &str) -> Result<Box<dyn VmOperations>, VmError> {
        let text = format!(
            "kubevirt:{name},at={},namespace=shop,credentials={},ca={}",
            self.server.at,
            self.server.file("token").display(),
            self.server.file("ca.pem").display()
        );
        let machine: NamedMachine = text.parse().expect("a machine");
        named::open(&machine, "test", &self.server.file("state"), limits())
    }

    /// Names of existing objects that a run made.
    fn made(&self) -> Vec<String> {
        self.cluster().objects.keys().filter(|own| own.contains("/tilemark-")).cloned().collect()
    }
}

fn done(machine: &mut Box<dyn VmOperations>, operation: Operation) -> Report {
    machine.perform(operation, &mut ()).unwrap_or_else(|failure| panic!("{failure}"))
}

fn fails(machine: &mut Box<dyn VmOperations>, operation: Operation) -> Failure {
    machine.perform(operation, &mut ()).expect_err("it cannot succeed")
}

#[test]
fn named_vm_is_moved_saved_and_cloned_and_nothing_is_left() {
    let rig = Rig::new();
    let mut machine = rig.open("web01").expect("it is there");
    assert!(machine.about().starts_with("KubeVirt v1.3.1 at https://127.0.0.1:"));
    let report = done(&mut machine, Operation::LiveMigration);
    assert_eq!(report.checked, "running on node node-c; its guest agent is connected");
    assert_eq!(report.stood_still, None, "nobody says it");
    done(&mut machine, SNAPSHOT);
    done(&mut machine, DEPLOY);
    assert_eq!(rig.made().len(), 3, "the clone, its instance, and the order for it");
    done(&mut machine, Operation::Destroy);
    drop(machine);
    assert_eq!(rig.made(), [""; 0]);
    let other = rig.server.asked().into_iter().filter(|own| own.path.contains("web011"));
    assert_eq!(other.count(), 0, "web011 was not named");
    let asked = rig.server.asked();
    let migration = asked.iter().find(|own| own.method == "POST").expect("asked");
    let body: Value = serde_json::from_str(&migration.body).expect("JSON");
    assert_eq!(body["spec"], json!({ "vmiName": "web01" }));
    assert_eq!(body["apiVersion"], "kubevirt.io/v1");
    assert_eq!(body["metadata"]["labels"]["app.kubernetes.io/managed-by"], "tilemark");
}

#[test]
fn missing_or_impossible_is_refused_before_any_change() {
    let rig = Rig::new();
    let missing = rig.open("web0").err().expect("no such machine").to_string();
    assert!(
        missing.contains("no machine \"web0\"") && missing.contains("namespace shop"),
        "{missing}"
    );
    let mut machine = rig.open("web01").expect("it is there");
    let linked = Operation::Deploy(DeployKind::Linked);
    for operation in [Operation::StorageMigration, Operation::UnifiedMigration, linked] {
        let failure = fails(&mut machine, operation);
        assert_eq!((failure.phase, &failure.after), (None, &After::Untouched), "{failure}");
    }
    rig.cluster().objects.remove(&instance("web01"));
    let failure = fails(&mut machine, Operation::LiveMigration).to_string();
    assert!(failure.contains("is \"Stopped\", but must be \"Running\""), "{failure}");
    assert!(rig.server.asked().iter().all(|own| own.method == "GET"));
}

#[test]
fn every_documented_error_is_told_in_its_words() {
    let rig = Rig::new();
    let mut machine = rig.open("web01").expect("it is there");
    for (code, reason, message) in [
        (400, "BadRequest", "the object provided is unrecognized"),
        (403, "Forbidden", "User \"system:serviceaccount:shop:bench\" cannot create resource"),
        (404, "NotFound", "the server could not find the requested resource"),
        (409, "AlreadyExists", "in-flight migration detected"),
        (422, "Invalid", "Cannot migrate VMI, Reason: DisksNotLiveMigratable"),
        (429, "TooManyRequests", "the server has received too many requests"),
        (500, "InternalError", "failed calling webhook"),
        (503, "ServiceUnavailable", "the server is currently unable to handle the request"),
        (504, "Timeout", "request did not complete within the allotted timeout"),
    ] {
        rig.cluster().wrong.push((
            "POST",
            "virtualmachineinstancemigrations",
            code,
            reason,
            message,
        ));
        let failure = fails(&mut machine, Operation::LiveMigration);
        let text = failure.to_string();
        assert!(text.contains(&format!("{code} {reason}")) && text.contains(message), "{text}");
        assert_eq!((failure.phase, &failure.after), (Some(Phase::Copying), &After::Runs), "{text}");
    }
    let state =
        json!({ "failed": true, "failureReason": "Live migration failed error encountered" });
    for (operation, kind, end, says) in [
        (
            Operation::LiveMigration,
            "VirtualMachineInstanceMigration",
            json!({ "phase": "Failed", "migrationState": state }),
            "error encountered",
        ),
        (
            SNAPSHOT,
            "VirtualMachineSnapshot",
            json!({ "phase": "Failed", "readyToUse": false, "error": { "message": "deadline exceeded" } }),
            "deadline exceeded",
        ),
        (
            DEPLOY,
            "VirtualMachineClone",
            json!({ "phase": "Failed", "conditions": [{ "type": "Ready", "message": "no snapshot class" }] }),
            "no snapshot class",
        ),
    ] {
        rig.cluster().ends.push((kind, end));
        let failure = fails(&mut machine, operation);
        assert!(failure.to_string().contains(says), "{failure}");
        assert!(matches!(failure.after, After::Runs | After::Nothing), "{failure}");
    }
    assert_eq!(rig.made(), [""; 0], "what failed is taken back");
    std::fs::write(rig.server.file("token"), "other").expect("written");
    let error = rig.open("web01").err().expect("no token of theirs").to_string();
    assert!(error.contains("401 Unauthorized"), "{error}");
}

#[test]
fn a_snapshot_that_stays_when_it_is_deleted_is_found_by_cleanup() {
    let rig = Rig::new();
    let mut machine = rig.open("web01").expect("it is there");
    let busy =
        ("DELETE", "virtualmachinesnapshots", 409, "Conflict", "snapshot is in use by a restore");
    rig.cluster().wrong.extend([busy; 3]);
    let failure = fails(&mut machine, SNAPSHOT);
    assert!(matches!(failure.after, After::Left { .. }), "{failure}");
    assert!(failure.to_string().contains("in use by a restore"), "{failure}");
    drop(machine);
    let state = rig.server.file("state");
    std::fs::read_dir(&state).expect("ledgers").flatten().for_each(|own| kill(&own.path()));
    let swept = ledger::sweep(&state, true, limits());
    assert_eq!((swept.len(), swept[0].stays.len()), (1, 0), "{swept:?}");
    assert_eq!(rig.made(), [""; 0]);
}
