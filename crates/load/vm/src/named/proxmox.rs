//! Proxmox VE: one virtual machine, through its API, with a token. Long operations are tasks with a
//! UPID. They are polled until they end, because an accepted request is not yet a success.
//!
//! Based on the published API (`pve-docs/api-viewer`), and tested against a server that implements
//! it, not against a real cluster.

use std::time::Duration;

use http_client::{Answer, Method, escaped};
use serde_json::Value;
use spec::named::NamedMachine;

use super::Limits;
use super::ledger::{Ledger, Made};
use super::platform::{Look, Platform, Step};
use super::service::{Api, Manner, Sent};
use crate::operation::Done;
use crate::{DeployKind, Operation, VmError};

const MANNER: Manner = Manner { port: 8006, before: "PVEAPIToken=", wrong };
const PREFIX: &str = "tilemark-";

/// Connection to one virtual machine.
pub(super) struct Proxmox {
    api: Api,
    limits: Limits,
    about: String,
    /// Original node of the virtual machine, and node to which it is moved.
    nodes: (String, Option<String>),
    /// Original storage of its disk, and storage to which it is moved.
    storages: (Option<String>, Option<String>),
    disk: Option<String>,
}

/// A task, and the change of the ledger after its end.
pub(super) struct Job {
    node: String,
    upid: String,
    after: After,
}

enum After {
    Nothing,
    Gone(Made),
    Moved(Made),
}

/// A virtual machine in the cluster's list.
#[derive(Debug, Clone)]
struct ClusterVm {
    node: String,
    id: u64,
    status: String,
}

/// Returns the messages of an error: from the status line, and for each parameter.
fn wrong(answer: &Answer) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let errors = body.get("errors").and_then(Value::as_object);
    let own =
        |(key, said): (&String, &Value)| format!("{key}: {}", said.as_str().unwrap_or_default());
    let each: Vec<String> = errors.into_iter().flatten().map(own).collect();
    let message = body.get("message").and_then(Value::as_str).unwrap_or_default().trim();
    let reason = if answer.reason.is_empty() { message } else { answer.reason.as_str() };
    let text = format!("{} {}", answer.status, untrusted::shown(reason));
    if each.is_empty() { text } else { format!("{text} ({})", untrusted::shown(&each.join("; "))) }
}

impl Proxmox {
    pub fn open(machine: &NamedMachine, limits: Limits) -> Result<Self, VmError> {
        let api = Api::of(machine, &MANNER, limits)?;
        let to = (machine.to.clone(), machine.storage.clone());
        let mut own = Self {
            api,
            limits,
            about: String::new(),
            nodes: (String::new(), to.0),
            storages: (None, to.1),
            disk: machine.disk.clone(),
        };
        let version = own.data(Method::Get, "/version", &Sent::Nothing)?;
        let version =
            version.get("version").and_then(Value::as_str).unwrap_or("of unknown version");
        own.about = format!("Proxmox VE {} at {}", untrusted::shown(version), own.api.at);
        own.nodes.0 = own.find()?.node;
        Ok(own)
    }

    /// Sends a request and returns the field `data` of the answer.
    fn data(&self, method: Method, path: &str, sent: &Sent<'_>) -> Result<Value, VmError> {
        let told = self.api.told(method, &format!("/api2/json{path}"), sent)?;
        Ok(told.get("data").cloned().unwrap_or_default())
    }

    /// Returns all virtual machines whose name and number match.
    fn all(&self, matches: impl Fn(&str, u64) -> bool) -> Result<Vec<ClusterVm>, VmError> {
        let told = self.data(Method::Get, "/cluster/resources?type=vm", &Sent::Nothing)?;
        let seen = |own: &Value| {
            let text = |key: &str| own.get(key).and_then(Value::as_str);
            let id = own.get("vmid").and_then(Value::as_u64)?;
            let is_wanted =
                text("type") == Some("qemu") && matches(text("name").unwrap_or_default(), id);
            let (node, status) =
                (text("node")?.to_owned(), text("status").unwrap_or("unknown").to_owned());
            is_wanted.then_some(ClusterVm { node, id, status })
        };
        Ok(told.as_array().into_iter().flatten().filter_map(seen).collect())
    }

    fn find(&self) -> Result<ClusterVm, VmError> {
        let name = &self.api.machine;
        let mut found = self.all(|own, _| own == name)?;
        match (found.pop(), found.len()) {
            (Some(own), 0) => Ok(own),
            (found, more) => {
                let alike = match more + usize::from(found.is_some()) {
                    0 => String::new(),
                    count => format!(" that is the only one of its name: there are {count}"),
                };
                Err(VmError::Missing { machine: name.clone(), at: self.api.at.clone(), alike })
            }
        }
    }

    fn path(of: &ClusterVm, rest: &str) -> String {
        format!("/nodes/{}/qemu/{}{rest}", escaped(&of.node), of.id)
    }

    /// Sends a request that starts a task.
    fn task(
        &self,
        method: Method,
        path: &str,
        sent: &Sent<'_>,
        after: After,
    ) -> Result<Job, VmError> {
        let told = self.data(method, path, sent)?;
        let upid = told.as_str().filter(|own| own.starts_with("UPID:")).map(str::to_owned);
        let node = upid.as_deref().and_then(|own| own.split(':').nth(1)).map(str::to_owned);
        match (upid, node) {
            (Some(upid), Some(node)) => Ok(Job { node, upid, after }),
            _ => Err(VmError::Garbage {
                machine: self.api.machine.clone(),
                command: path.to_owned(),
            }),
        }
    }

    fn task_path(job: &Job, rest: &str) -> String {
        format!("/nodes/{}/tasks/{}{rest}", escaped(&job.node), escaped(&job.upid))
    }

    /// Waits for a task that is not polled elsewhere.
    fn wait(&mut self, mut job: Job) -> Result<(), VmError> {
        let until = std::time::Instant::now() + self.limits.job;
        while matches!(self.look(&mut job)?, Look::Going) {
            if std::time::Instant::now() >= until {
                let (machine, within) = (self.api.machine.clone(), self.limits.job);
                return Err(VmError::TooLong { machine, what: "a task", within });
            }
            std::thread::sleep(self.limits.look);
        }
        Ok(())
    }

    /// Returns the downtime of the virtual machine, from a task's log.
    fn stood_still(&self, job: &Job) -> Option<Duration> {
        let path = Self::task_path(job, "/log?limit=5000");
        let log = self.data(Method::Get, &path, &Sent::Nothing).ok()?;
        let lines = log.as_array()?.iter().filter_map(|line| line.get("t")?.as_str());
        lines.filter_map(downtime).next_back()
    }

    /// Returns the disk to move, and its storage.
    fn disk(&self, seen: &ClusterVm) -> Result<(String, String), VmError> {
        let config = self.data(Method::Get, &Self::path(seen, "/config"), &Sent::Nothing)?;
        let disks = config.as_object().into_iter().flatten().filter_map(|(key, value)| {
            let value = value.as_str()?;
            let bus = key.trim_end_matches(|c: char| c.is_ascii_digit());
            let is_disk = ["scsi", "virtio", "sata", "ide"].contains(&bus) && bus.len() < key.len();
            let is_wanted = self.disk.as_ref().is_none_or(|own| own == key);
            let is_medium = value.contains("media=cdrom") || value.starts_with("none");
            let (storage, _) = value.split_once(':')?;
            (is_disk && is_wanted && !is_medium).then(|| (key.clone(), storage.to_owned()))
        });
        let mut disks: Vec<(String, String)> = disks.collect();
        match (disks.pop(), disks.len()) {
            (Some(disk), 0) => Ok(disk),
            (found, more) => {
                let count = more + usize::from(found.is_some());
                let wanted = self.disk.as_deref().unwrap_or("the only one");
                let machine = &self.api.machine;
                let text = format!(
                    "machine {machine} has {count} disks that match disk = \"{wanted}\"; exactly \
                    one must match"
                );
                Err(VmError::Unsupported(text))
            }
        }
    }

    fn move_disk(&mut self, ledger: &mut Ledger) -> Result<Job, VmError> {
        let seen = self.find()?;
        let (disk, now) = self.disk(&seen)?;
        let home = self.storages.0.get_or_insert_with(|| now.clone()).clone();
        let to = match &self.storages.1 {
            None => return Err(self.lacks("storage=NAME, the target storage of its disk")),
            Some(to) if *to == now => home,
            Some(to) => to.clone(),
        };
        let form = [("disk", disk.as_str()), ("storage", to.as_str()), ("delete", "1")];
        self.moving(&Self::path(&seen, "/move_disk"), &Sent::Form(&form), ledger)
    }

    fn migrate(&mut self, ledger: &mut Ledger, disks: bool) -> Result<Job, VmError> {
        let seen = self.find()?;
        let to = match &self.nodes.1 {
            None => return Err(self.lacks("to=NODE, the target node")),
            Some(to) if *to == seen.node => self.nodes.0.clone(),
            Some(to) => to.clone(),
        };
        let mut form = vec![("target", to.as_str()), ("online", "1")];
        if disks {
            form.push(("with-local-disks", "1"));
            if let Some(storage) = &self.storages.1 {
                form.push(("targetstorage", storage));
            }
        }
        self.moving(&Self::path(&seen, "/migrate"), &Sent::Form(&form), ledger)
    }

    fn lacks(&self, what: &str) -> VmError {
        VmError::Unsupported(format!("moving {} needs {what}", self.api.machine))
    }

    /// Starts a move. It has no identifier before it has begun, so it is recorded afterwards.
    fn moving(&self, path: &str, sent: &Sent<'_>, ledger: &mut Ledger) -> Result<Job, VmError> {
        let mut job = self.task(Method::Post, path, sent, After::Nothing)?;
        let made = Made::Moving { job: job.upid.clone() };
        ledger.note(made.clone())?;
        job.after = After::Moved(made);
        Ok(job)
    }

    fn clone(&self, ledger: &mut Ledger, name: &str, kind: DeployKind) -> Result<Job, VmError> {
        let seen = self.find()?;
        let next = self.data(Method::Get, "/cluster/nextid", &Sent::Nothing)?;
        let id = next.as_u64().or_else(|| next.as_str()?.parse().ok());
        let id = id.ok_or_else(|| VmError::Garbage {
            machine: self.api.machine.clone(),
            command: "/cluster/nextid".to_owned(),
        })?;
        ledger.note(Made::Clone { name: name.to_owned(), id: Some(id) })?;
        let (id, full) = (id.to_string(), if kind == DeployKind::Full { "1" } else { "0" });
        let mut form = vec![("newid", id.as_str()), ("name", name), ("full", full)];
        if let (Some(storage), DeployKind::Full) = (&self.storages.1, kind) {
            form.push(("storage", storage));
        }
        self.task(Method::Post, &Self::path(&seen, "/clone"), &Sent::Form(&form), After::Nothing)
    }

    /// Finds the clone with this name in the cluster; `None` if it does not exist. The number alone
    /// does not identify it, because numbers are reused.
    fn clone_of(&self, name: &str) -> Result<Option<ClusterVm>, VmError> {
        if !name.starts_with(PREFIX) {
            return Err(VmError::NotOurs { what: name.to_owned() });
        }
        Ok(self.all(|own, _| own == name)?.pop())
    }

    fn destroy(&mut self, seen: &ClusterVm, after: After) -> Result<Job, VmError> {
        if seen.status != "stopped" {
            let path = Self::path(seen, "/status/stop");
            let stopping = self.task(Method::Post, &path, &Sent::Nothing, After::Nothing)?;
            self.wait(stopping)?;
        }
        self.task(Method::Delete, &Self::path(seen, "?purge=1"), &Sent::Nothing, after)
    }

    fn is_snapshot(&self, seen: &ClusterVm, name: &str) -> Result<bool, VmError> {
        let all = self.data(Method::Get, &Self::path(seen, "/snapshot"), &Sent::Nothing)?;
        let mut names =
            all.as_array().into_iter().flatten().filter_map(|own| own.get("name")?.as_str());
        Ok(names.any(|own| own == name))
    }
}

/// Parses the downtime in a line such as `average migration speed: 1.2 GiB/s - downtime 53 ms`.
fn downtime(line: &str) -> Option<Duration> {
    let rest = line.split("downtime ").nth(1)?;
    Some(Duration::from_millis(rest.split(' ').next()?.parse().ok()?))
}

impl Platform for Proxmox {
    type Job = Job;

    fn about(&self) -> String {
        self.about.clone()
    }

    fn can(&mut self, operation: Operation) -> Result<(), VmError> {
        let seen = self.find()?;
        match operation {
            Operation::StorageMigration if self.storages.1.is_none() => {
                return Err(self.lacks("storage=NAME, the target storage of its disk"));
            }
            Operation::LiveMigration | Operation::UnifiedMigration if self.nodes.1.is_none() => {
                return Err(self.lacks("to=NODE, the target node"));
            }
            Operation::Deploy(_) => return Ok(()),
            _ => {}
        }
        let machine = self.api.machine.clone();
        match seen.status.as_str() {
            "running" => Ok(()),
            _ => Err(VmError::State { machine, seen: seen.status, wanted: "running" }),
        }
    }

    fn begin(&mut self, step: &Step<'_>, ledger: &mut Ledger) -> Result<Job, VmError> {
        match *step {
            Step::Snapshot { name } => {
                let seen = self.find()?;
                ledger.note(Made::Snapshot { name: name.to_owned() })?;
                let form = Sent::Form(&[("snapname", name)]);
                self.task(Method::Post, &Self::path(&seen, "/snapshot"), &form, After::Nothing)
            }
            Step::DeleteSnapshot { name } => {
                let path = Self::path(&self.find()?, &format!("/snapshot/{}", escaped(name)));
                let gone = After::Gone(Made::Snapshot { name: name.to_owned() });
                self.task(Method::Delete, &path, &Sent::Nothing, gone)
            }
            Step::Clone { name, kind } => self.clone(ledger, name, kind),
            Step::Start { name } => {
                let seen = self.clone_of(name)?;
                let seen = seen.ok_or_else(|| VmError::NotOurs { what: name.to_owned() })?;
                let path = Self::path(&seen, "/status/start");
                self.task(Method::Post, &path, &Sent::Nothing, After::Nothing)
            }
            Step::Destroy { name } => {
                let made = ledger.made().iter().find(|own| own.clone_name() == Some(name)).cloned();
                let made = made.ok_or_else(|| VmError::NotOurs { what: name.to_owned() })?;
                let seen = self.clone_of(name)?;
                let seen = seen.ok_or_else(|| VmError::NotOurs { what: name.to_owned() })?;
                self.destroy(&seen, After::Gone(made))
            }
            Step::MoveDisk => self.move_disk(ledger),
            Step::Migrate { disks } => self.migrate(ledger, disks),
        }
    }

    fn look(&mut self, job: &mut Job) -> Result<Look, VmError> {
        let told = self.data(Method::Get, &Self::task_path(job, "/status"), &Sent::Nothing)?;
        let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default();
        let machine = self.api.machine.clone();
        match (text("status"), text("exitstatus")) {
            ("running", _) => Ok(Look::Going),
            // The task succeeded, with warnings in its log.
            ("stopped", own) if own == "OK" || own.starts_with("WARNINGS:") => {
                let stood_still = match job.after {
                    After::Moved(_) => self.stood_still(job),
                    _ => None,
                };
                Ok(Look::Done(Done { stood_still, ..Done::default() }))
            }
            ("stopped", own) => {
                let said =
                    if own.is_empty() { "without saying how".to_owned() } else { own.to_owned() };
                Err(VmError::NotDone {
                    machine,
                    what: "a task",
                    said: untrusted::shown(&said).into_owned(),
                })
            }
            _ => Err(VmError::Garbage { machine, command: "task status".to_owned() }),
        }
    }

    fn end(&mut self, job: Job, ledger: &mut Ledger) -> Result<(), VmError> {
        match job.after {
            After::Nothing => Ok(()),
            After::Gone(made) | After::Moved(made) => ledger.gone(&made),
        }
    }

    fn call_off(&mut self, job: &mut Job) {
        let stopped = self.data(Method::Delete, &Self::task_path(job, ""), &Sent::Nothing);
        if stopped.is_ok() {
            // The object is locked until the task has ended, so its removal waits for that.
            let until = std::time::Instant::now() + self.limits.answer;
            while matches!(self.look(job), Ok(Look::Going)) && std::time::Instant::now() < until {
                std::thread::sleep(self.limits.look);
            }
        }
    }

    fn check(&mut self, clone: Option<&str>) -> Result<String, VmError> {
        let seen = match clone {
            None => self.find()?,
            Some(name) => {
                self.clone_of(name)?.ok_or_else(|| VmError::NotOurs { what: name.to_owned() })?
            }
        };
        let told = self.data(Method::Get, &Self::path(&seen, "/status/current"), &Sent::Nothing)?;
        let text = |key: &str| told.get(key).and_then(Value::as_str);
        let status = text("qmpstatus").or_else(|| text("status")).unwrap_or("unknown").to_owned();
        let machine = self.api.machine.clone();
        if status != "running" {
            return Err(VmError::State { machine, seen: status, wanted: "running" });
        }
        if let Some(lock) = text("lock") {
            let seen = format!("locked ({lock})");
            return Err(VmError::State { machine, seen, wanted: "not locked" });
        }
        let ping = self.data(Method::Post, &Self::path(&seen, "/agent/ping"), &Sent::Nothing);
        let agent = match ping {
            Ok(_) => "its guest agent answers",
            Err(_) => "no guest agent answers, so the guest itself was not checked",
        };
        let disk = self
            .disk(&seen)
            .map_or_else(|_| String::new(), |(disk, on)| format!("; {disk} on {on}"));
        Ok(format!("running on node {}{disk}; {agent}", seen.node))
    }

    fn hurry(&mut self) {
        self.limits.job = self.limits.job.min(self.limits.stopped);
    }

    fn undo(&mut self, made: &Made) -> Result<(), VmError> {
        match made {
            Made::Snapshot { name } => {
                let seen = self.find()?;
                if !name.starts_with(PREFIX) || !self.is_snapshot(&seen, name)? {
                    return Ok(());
                }
                let path = Self::path(&seen, &format!("/snapshot/{}", escaped(name)));
                let job = self.task(Method::Delete, &path, &Sent::Nothing, After::Nothing)?;
                self.wait(job)
            }
            Made::Clone { name, .. } => match self.clone_of(name)? {
                None => Ok(()),
                Some(seen) => {
                    let job = self.destroy(&seen, After::Nothing)?;
                    self.wait(job)
                }
            },
            Made::Moving { job } => {
                let node = job.split(':').nth(1).unwrap_or_default().to_owned();
                let mut job = Job { node, upid: job.clone(), after: After::Nothing };
                if matches!(self.look(&mut job), Ok(Look::Going)) {
                    self.call_off(&mut job);
                }
                Ok(())
            }
            Made::Volume { .. } | Made::Away { .. } => Ok(()),
        }
    }
}
