//! KubeVirt: one virtual machine, through the API of its Kubernetes cluster, with the token of a
//! service account. A request creates an object. The object is polled until its status shows the
//! result.
//!
//! Based on the published API (kubevirt.io/v1, snapshot.kubevirt.io/v1beta1,
//! clone.kubevirt.io/v1beta1), and tested against a server that implements it, not against a real
//! cluster. Moves of disks (`updateVolumesStrategy`) are missing, because they rewrite the virtual
//! machine's own description.

use http_client::{Answer, Method};
use serde_json::{Value, json};
use spec::named::NamedMachine;

use super::Limits;
use super::ledger::{Ledger, Made};
use super::platform::{Look, Platform, Step};
use super::service::{Api, Manner, Sent};
use crate::operation::Done;
use crate::{DeployKind, Operation, VmError};

const MANNER: Manner = Manner { port: 6443, before: "Bearer ", wrong };
const PREFIX: &str = "tilemark-";
const MACHINES: &str = "kubevirt.io/v1";
const MIGRATIONS: (&str, &str) = (MACHINES, "virtualmachineinstancemigrations");
const SNAPSHOTS: (&str, &str) = ("snapshot.kubevirt.io/v1beta1", "virtualmachinesnapshots");
const CLONES: (&str, &str) = ("clone.kubevirt.io/v1beta1", "virtualmachineclones");
const VMS: (&str, &str) = (MACHINES, "virtualmachines");
const INSTANCES: (&str, &str) = (MACHINES, "virtualmachineinstances");

/// Connection to one virtual machine.
pub(super) struct Kubevirt {
    api: Api,
    namespace: String,
    about: String,
}

/// Object on the platform whose status is polled.
pub(super) struct Job {
    of: (&'static str, &'static str),
    name: String,
    kind: Kind,
    made: Option<Made>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Migration,
    Snapshot,
    Clone,
    Running,
    /// The job is complete when the object is gone.
    Gone,
}

/// Returns the message in a `Status` object of Kubernetes.
fn wrong(answer: &Answer) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let reason = text("reason").unwrap_or(&answer.reason);
    let said = text("message").unwrap_or("it gives no details");
    format!("{} {}: {}", answer.status, untrusted::shown(reason), untrusted::shown(said))
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|own| !own.is_empty())
}

impl Kubevirt {
    pub fn open(machine: &NamedMachine, limits: Limits) -> Result<Self, VmError> {
        let api = Api::of(machine, &MANNER, limits)?;
        let namespace = machine.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let mut own = Self { api, namespace, about: String::new() };
        let version = own.api.told(
            Method::Get,
            "/apis/subresources.kubevirt.io/v1/version",
            &Sent::Nothing,
        )?;
        let version = text(&version, "/gitVersion").unwrap_or("of unknown version");
        own.about = format!("KubeVirt {} at {}", untrusted::shown(version), own.api.at);
        own.find()?;
        Ok(own)
    }

    fn path(&self, of: (&str, &str), name: &str) -> String {
        let base = format!("/apis/{}/namespaces/{}/{}", of.0, self.namespace, of.1);
        if name.is_empty() { base } else { format!("{base}/{name}") }
    }

    /// Reads an object; `None` if it does not exist.
    fn object(&self, of: (&str, &str), name: &str) -> Result<Option<Value>, VmError> {
        let path = self.path(of, name);
        let answer = self.api.ask(Method::Get, &path, &Sent::Nothing)?;
        if answer.status == 404 { Ok(None) } else { self.api.good(&answer, &path).map(Some) }
    }

    /// Reads the virtual machine itself, running or stopped.
    fn find(&self) -> Result<Value, VmError> {
        let machine = self.api.machine.clone();
        let at = format!("{}, namespace {}", self.api.at, self.namespace);
        let missing = || VmError::Missing { machine, at, alike: String::new() };
        self.object(VMS, &self.api.machine)?.ok_or_else(missing)
    }

    fn make(
        &self,
        of: (&'static str, &'static str),
        (kind, name): (&str, &str),
        spec: &Value,
    ) -> Result<(), VmError> {
        let object = json!({
            "apiVersion": of.0, "kind": kind, "spec": spec,
            "metadata": {
                "name": name, "namespace": self.namespace,
                "labels": { "app.kubernetes.io/managed-by": "tilemark" },
            },
        });
        self.api.told(Method::Post, &self.path(of, ""), &Sent::Json(&object)).map(drop)
    }

    /// Removes an object that this program created. Succeeds if it does not exist.
    fn remove(&self, of: (&str, &str), name: &str) -> Result<(), VmError> {
        if !name.starts_with(PREFIX) {
            return Err(VmError::NotOurs { what: name.to_owned() });
        }
        let path = self.path(of, name);
        let answer = self.api.ask(Method::Delete, &path, &Sent::Nothing)?;
        if answer.status == 404 { Ok(()) } else { self.api.good(&answer, &path).map(drop) }
    }

    fn source(&self) -> Value {
        json!({ "apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": self.api.machine })
    }

    /// Returns the running instance of a virtual machine. Fails if it does not run.
    fn instance(&self, name: &str) -> Result<Value, VmError> {
        let machine = name.to_owned();
        let instance = self.object(INSTANCES, name)?;
        let seen =
            instance.as_ref().and_then(|own| text(own, "/status/phase")).unwrap_or("Stopped");
        match (seen, &instance) {
            ("Running", Some(instance)) => Ok(instance.clone()),
            _ => Err(VmError::State { machine, seen: seen.to_owned(), wanted: "Running" }),
        }
    }

    fn not_done(&self, what: &'static str, object: &Value) -> VmError {
        let pointers = [
            "/status/migrationState/failureReason",
            "/status/error/message",
            "/status/conditions/0/message",
            "/status/conditions/0/reason",
        ];
        let said =
            pointers.iter().find_map(|own| text(object, own)).unwrap_or("it gives no reason");
        let said = untrusted::shown(said).into_owned();
        VmError::NotDone { machine: self.api.machine.clone(), what, said }
    }
}

/// Returns true if a job is complete, according to the phase of its object; the error is the reason
/// of its failure.
fn phase(kind: Kind, object: &Value) -> Result<bool, &'static str> {
    let phase = text(object, "/status/phase").unwrap_or_default();
    match (kind, phase) {
        (Kind::Migration, "Succeeded")
        | (Kind::Clone, "Succeeded")
        | (Kind::Running, "Running") => Ok(true),
        (Kind::Migration, "Failed") => Err("a migration"),
        (Kind::Clone, "Failed") => Err("a clone"),
        (Kind::Snapshot, "Failed") => Err("a snapshot"),
        (Kind::Running, "Failed" | "Succeeded") => Err("a start"),
        (Kind::Snapshot, _) => Ok(object.pointer("/status/readyToUse") == Some(&Value::Bool(true))),
        _ => Ok(false),
    }
}

impl Platform for Kubevirt {
    type Job = Job;

    fn about(&self) -> String {
        self.about.clone()
    }

    fn can(&mut self, operation: Operation) -> Result<(), VmError> {
        self.find()?;
        let refused = |text: &str| Err(VmError::Unsupported(text.to_owned()));
        match operation {
            Operation::StorageMigration | Operation::UnifiedMigration => refused(
                "moves of disks are not supported for KubeVirt: they would change your machine's \
                 own description",
            ),
            Operation::Deploy(DeployKind::Linked) => refused(
                "linked clones are not supported for KubeVirt, because the storage class decides \
                whether a clone is linked; use deploy",
            ),
            Operation::Deploy(DeployKind::Full) => Ok(()),
            _ => self.instance(&self.api.machine).map(drop),
        }
    }

    fn begin(&mut self, step: &Step<'_>, ledger: &mut Ledger) -> Result<Job, VmError> {
        let job = |of, name: &str, kind, made| Ok(Job { of, name: name.to_owned(), kind, made });
        match *step {
            Step::Snapshot { name } => {
                ledger.note(Made::Snapshot { name: name.to_owned() })?;
                let spec = json!({ "source": self.source() });
                self.make(SNAPSHOTS, ("VirtualMachineSnapshot", name), &spec)?;
                job(SNAPSHOTS, name, Kind::Snapshot, None)
            }
            Step::DeleteSnapshot { name } => {
                self.remove(SNAPSHOTS, name)?;
                let made = Made::Snapshot { name: name.to_owned() };
                job(SNAPSHOTS, name, Kind::Gone, Some(made))
            }
            Step::Clone { name, .. } => {
                ledger.note(Made::Clone { name: name.to_owned(), id: None })?;
                let target =
                    json!({ "apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": name });
                let spec = json!({ "source": self.source(), "target": target });
                self.make(CLONES, ("VirtualMachineClone", name), &spec)?;
                job(CLONES, name, Kind::Clone, None)
            }
            Step::Start { name } => {
                let base =
                    format!("/apis/subresources.kubevirt.io/v1/namespaces/{}", self.namespace);
                let path = format!("{base}/virtualmachines/{name}/start");
                self.api.told(Method::Put, &path, &Sent::Nothing)?;
                job(INSTANCES, name, Kind::Running, None)
            }
            Step::Destroy { name } => {
                self.remove(CLONES, name)?;
                self.remove(VMS, name)?;
                job(VMS, name, Kind::Gone, Some(Made::Clone { name: name.to_owned(), id: None }))
            }
            Step::Migrate { disks: false } => {
                let name = format!("{PREFIX}{}-move-{}", ledger.tag(), ledger.next());
                let made = Made::Moving { job: name.clone() };
                ledger.note(made.clone())?;
                let spec = json!({ "vmiName": self.api.machine });
                self.make(MIGRATIONS, ("VirtualMachineInstanceMigration", &name), &spec)?;
                job(MIGRATIONS, &name, Kind::Migration, Some(made))
            }
            Step::Migrate { disks: true } | Step::MoveDisk => Err(VmError::Unsupported(
                "moves of disks are not supported for KubeVirt".to_owned(),
            )),
        }
    }

    fn look(&mut self, job: &mut Job) -> Result<Look, VmError> {
        let object = self.object(job.of, &job.name)?;
        let done = Look::Done(Done::default());
        match (job.kind, object) {
            (Kind::Gone, None) => Ok(done),
            (Kind::Gone, Some(_)) => Ok(Look::Going),
            // The instance appears a moment after its virtual machine was started.
            (Kind::Running, None) => Ok(Look::Going),
            (_, None) => {
                let (machine, what) = (self.api.machine.clone(), "an object");
                let said = format!("{} {} is gone", job.of.1, job.name);
                Err(VmError::NotDone { machine, what, said })
            }
            (kind, Some(object)) => match phase(kind, &object) {
                Ok(true) => Ok(done),
                Ok(false) => Ok(Look::Going),
                Err(what) => Err(self.not_done(what, &object)),
            },
        }
    }

    fn end(&mut self, job: Job, ledger: &mut Ledger) -> Result<(), VmError> {
        if job.kind == Kind::Migration {
            self.remove(job.of, &job.name)?;
        }
        job.made.map_or(Ok(()), |made| ledger.gone(&made))
    }

    fn call_off(&mut self, job: &mut Job) {
        if job.kind == Kind::Migration {
            let _ = self.remove(job.of, &job.name);
        }
    }

    fn check(&mut self, clone: Option<&str>) -> Result<String, VmError> {
        let instance = self.instance(clone.unwrap_or(&self.api.machine))?;
        let node = text(&instance, "/status/nodeName").unwrap_or("of unknown name");
        let conditions = instance.pointer("/status/conditions").and_then(Value::as_array);
        let is_connected = conditions.into_iter().flatten().any(|own| {
            text(own, "/type") == Some("AgentConnected") && text(own, "/status") == Some("True")
        });
        let agent = match is_connected {
            true => "its guest agent is connected",
            false => "no guest agent is connected, so the guest itself was not checked",
        };
        Ok(format!("running on node {}; {agent}", untrusted::shown(node)))
    }

    fn undo(&mut self, made: &Made) -> Result<(), VmError> {
        match made {
            Made::Snapshot { name } => self.remove(SNAPSHOTS, name),
            Made::Clone { name, .. } => {
                self.remove(CLONES, name)?;
                self.remove(VMS, name)
            }
            Made::Moving { job } => self.remove(MIGRATIONS, job),
            Made::Volume { .. } | Made::Away { .. } => Ok(()),
        }
    }
}
