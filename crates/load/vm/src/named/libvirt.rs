//! libvirt: snapshots, blockcopy, migrations and clones of one domain.
//!
//! Tested with libvirt 9.0.0 and its QEMU driver (`tests/behaviour/libvirt.rs`). A domain is found
//! by its exact name, and then only addressed by its UUID: `virsh` interprets `1` as the id of the
//! first started domain, not as a name.

mod volumes;
mod xml;

use spec::named::NamedMachine;

use super::Limits;
use super::ledger::{Ledger, Made};
use super::platform::{Look, Platform, Step};
use super::virsh::{Running, VIRSH, Virsh};
use crate::operation::Done;
use crate::{Operation, VmError};

/// First major version of QEMU that migrates an emulated guest without losing pages, as in
/// `qemu::program`.
const MOVES_EMULATED: u32 = 9;
/// Prefix of files and domains that are created here. Nothing else is ever undefined or deleted.
const PREFIX: &str = "tilemark-";

/// Connection to one domain.
pub(super) struct Libvirt {
    name: String,
    /// Connections to the hosts where the domain may be: `at`, then `to`.
    places: Vec<Virsh>,
    /// Position of the domain's current host in `places`.
    here: usize,
    via: Option<String>,
    storage: Option<String>,
    disk: Option<String>,
    about: String,
    /// Original place of the disk, while the disk is elsewhere.
    away: Option<Made>,
}

/// A job in progress.
pub(super) enum Job {
    /// The job is complete.
    Over(Done, After),
    /// A copy of a disk by `virsh blockcopy`.
    Copy { running: Option<Running>, disk: String, made: Made, home: bool, is_pivoted: bool },
    /// A migration of the domain by `virsh migrate`.
    Move { running: Running, made: Made },
    /// A command without a result.
    Command(Running),
    /// A clone of a volume, for a new domain.
    Clone { running: Running, xml: String },
}

/// Change of the ledger after a job.
pub(super) enum After {
    Stays,
    Goes(Vec<Made>),
}

struct Disk {
    target: String,
    source: String,
}

impl Libvirt {
    pub fn open(machine: &NamedMachine, limits: Limits) -> Result<Self, VmError> {
        let place = |uri: &str| Virsh {
            program: VIRSH.to_owned(),
            uri: uri.to_owned(),
            machine: machine.name.clone(),
            answer: limits.answer,
        };
        let at = place(machine.at.as_deref().unwrap_or("qemu:///system"));
        let places: Vec<Virsh> = [at].into_iter().chain(machine.to.as_deref().map(place)).collect();
        let version =
            places[0].ask(&["version", "--daemon"]).or_else(|_| places[0].ask(&["version"]));
        let known = |line: &&str| line.starts_with("Using library:");
        let version = version.unwrap_or_default();
        let about = version
            .lines()
            .find(known)
            .map_or("libvirt", |line| line.trim_start_matches("Using library:").trim());
        let mut own = Self {
            name: machine.name.clone(),
            places,
            here: 0,
            via: machine.via.clone(),
            storage: machine.storage.clone(),
            disk: machine.disk.clone(),
            about: format!("{about} at {}", machine.at.as_deref().unwrap_or("qemu:///system")),
            away: None,
        };
        own.find()?;
        Ok(own)
    }

    fn virsh(&self) -> &Virsh {
        &self.places[self.here]
    }

    /// Returns the UUID of the domain with this exact name on a host; `None` if there is none.
    fn uuid(virsh: &Virsh, name: &str) -> Result<Option<String>, VmError> {
        let all = virsh.ask(&["list", "--all", "--uuid", "--name"])?;
        let named = all.lines().filter_map(|line| line.trim().split_once(' '));
        let mut found =
            named.filter(|(_, own)| own.trim() == name).map(|(uuid, _)| uuid.to_owned());
        Ok(found.next_back())
    }

    /// Finds the domain on either host and returns its UUID.
    fn find(&mut self) -> Result<String, VmError> {
        let order = (self.here..self.places.len()).chain(0..self.here);
        for place in order {
            if let Some(uuid) = Self::uuid(&self.places[place], &self.name)? {
                self.here = place;
                return Ok(uuid);
            }
        }
        let at = self.places.iter().map(|own| own.uri.as_str()).collect::<Vec<_>>().join(" and ");
        Err(VmError::Missing { machine: self.name.clone(), at, alike: String::new() })
    }

    fn state(&self, uuid: &str) -> Result<String, VmError> {
        Ok(self.virsh().ask(&["domstate", "--domain", uuid])?.trim().to_owned())
    }

    fn wants(&self, uuid: &str, wanted: &'static str) -> Result<(), VmError> {
        let seen = self.state(uuid)?;
        let machine = self.name.clone();
        if seen == wanted { Ok(()) } else { Err(VmError::State { machine, seen, wanted }) }
    }

    /// Returns the disk that was named, or else the only disk.
    fn disk_of(&self, uuid: &str) -> Result<Disk, VmError> {
        let all = self.virsh().ask(&["domblklist", "--details", "--domain", uuid])?;
        let mut disks: Vec<Disk> = all.lines().filter_map(disk).collect();
        if let Some(wanted) = &self.disk {
            disks.retain(|own| own.target == *wanted);
        }
        match (disks.pop(), disks.len()) {
            (Some(disk), 0) => Ok(disk),
            (found, more) => {
                let count = more + usize::from(found.is_some());
                let wanted = self.disk.as_deref().unwrap_or("the only one");
                let text = format!(
                    "machine {} has {count} disks that are files and match disk = \"{wanted}\"; \
                    exactly one must match",
                    self.name
                );
                Err(VmError::Unsupported(text))
            }
        }
    }

    /// Refuses to migrate an emulated guest with a QEMU that is known to damage it.
    fn check_moves(&self, uuid: &str) -> Result<(), VmError> {
        let xml = self.virsh().ask(&["dumpxml", "--domain", uuid])?;
        if !xml.contains("<domain type='qemu'") {
            return Ok(());
        }
        // If libvirt does not know the emulator's version, the machine type names a version that it
        // has at least.
        let version = self.virsh().ask(&["version"]).ok();
        let version =
            version.as_deref().and_then(xml::hypervisor).or_else(|| xml::machine_type(&xml));
        match version {
            Some((major, text)) if major < MOVES_EMULATED => Err(VmError::Version {
                version: text,
                why: "damages an emulated guest that is moved while it runs: pages are lost, but \
                      it reports \"completed\"",
                works: "9.0",
            }),
            _ => Ok(()),
        }
    }

    /// Starts to copy the disk: away from its original place, or back.
    fn copy(&mut self, ledger: Option<&mut Ledger>, uuid: &str) -> Result<Job, VmError> {
        let disk = self.disk_of(uuid)?;
        let virsh = self.virsh();
        let xml = virsh.ask(&["dumpxml", "--domain", uuid])?;
        let format = xml::format_of(&xml, &disk.target).unwrap_or_else(|| "raw".to_owned());
        let (made, to, home) = match &self.away {
            Some(made @ Made::Away { home, .. }) => (made.clone(), home.clone(), true),
            _ => {
                let Some(ledger) = ledger else { return Err(self.no_storage()) };
                let made = self.make_volume(ledger, uuid, &disk, &format)?;
                let Made::Away { storage, name, .. } = &made else { return Err(self.no_storage()) };
                let to =
                    virsh.ask(&["vol-path", "--pool", storage, "--vol", name])?.trim().to_owned();
                (made, to, false)
            }
        };
        let running = virsh.start(&[
            "blockcopy",
            "--domain",
            uuid,
            "--path",
            &disk.target,
            "--dest",
            &to,
            "--format",
            &format,
            "--reuse-external",
            "--transient-job",
            "--wait",
        ])?;
        let (running, disk) = (Some(running), disk.target);
        Ok(Job::Copy { running, disk, made, home, is_pivoted: false })
    }

    fn no_storage(&self) -> VmError {
        let text = format!(
            "moving the disk of {} needs storage=POOL, a libvirt storage pool of files",
            self.name
        );
        VmError::Unsupported(text)
    }

    fn migrate(&mut self, ledger: &mut Ledger, uuid: &str, disks: bool) -> Result<Job, VmError> {
        let there = self.places.len().saturating_sub(1).saturating_sub(self.here);
        let persistent = self.virsh().ask(&["dominfo", "--domain", uuid])?;
        let is_kept = persistent
            .lines()
            .any(|line| line.strip_prefix("Persistent:").is_some_and(|own| own.trim() == "yes"));
        let mut words = vec![
            "migrate",
            "--domain",
            uuid,
            "--desturi",
            &self.places[there].uri,
            "--live",
            "--p2p",
        ];
        if is_kept {
            words.extend(["--persistent", "--undefinesource"]);
        }
        if disks {
            words.push("--copy-storage-all");
        }
        let disks_over = self.via.as_ref().map(|via| format!("{via}.disks"));
        if let Some(via) = &self.via {
            words.extend(["--migrateuri", via]);
        }
        if let Some(over) = disks_over.as_ref().filter(|own| disks && own.starts_with("unix:")) {
            words.extend(["--disks-uri", over]);
        }
        let made = Made::Moving { job: self.virsh().uri.clone() };
        ledger.note(made.clone())?;
        Ok(Job::Move { running: self.virsh().start(&words)?, made })
    }

    /// Describes the state of the guest agent in the virtual machine.
    fn agent(&self, uuid: &str) -> &'static str {
        let ping = r#"{"execute":"guest-ping"}"#;
        let words = ["qemu-agent-command", "--domain", uuid, "--timeout", "5", "--cmd", ping];
        match self.virsh().ask(&words) {
            Ok(_) => "its guest agent answers",
            Err(_) => "no guest agent answers, so the guest itself was not checked",
        }
    }
}

/// Parses a line of `domblklist --details`. Returns the disk if it is a file. The path is the rest
/// after the third column.
fn disk(line: &str) -> Option<Disk> {
    let mut rest = line;
    let mut word = || {
        let (word, after) = rest.trim_start().split_once(char::is_whitespace)?;
        rest = after;
        Some(word)
    };
    let (kind, device, target) = (word()?, word()?, word()?);
    let source = rest.trim();
    let is_disk = kind == "file" && device == "disk" && source != "-";
    is_disk.then(|| Disk { target: target.to_owned(), source: source.to_owned() })
}

impl Platform for Libvirt {
    type Job = Job;

    fn about(&self) -> String {
        self.about.clone()
    }

    fn can(&mut self, operation: Operation) -> Result<(), VmError> {
        let uuid = self.find()?;
        match operation {
            Operation::Deploy(_) => self.wants(&uuid, "shut off"),
            Operation::StorageMigration if self.storage.is_none() => Err(self.no_storage()),
            Operation::LiveMigration | Operation::UnifiedMigration => {
                if self.places.len() < 2 {
                    let text = format!(
                        "moving {} needs to=URI, the libvirt of the target host",
                        self.name
                    );
                    return Err(VmError::Unsupported(text));
                }
                self.wants(&uuid, "running")?;
                self.check_moves(&uuid)
            }
            _ => self.wants(&uuid, "running"),
        }
    }

    fn begin(&mut self, step: &Step<'_>, ledger: &mut Ledger) -> Result<Job, VmError> {
        let over = |after| Ok(Job::Over(Done::default(), after));
        match *step {
            Step::Snapshot { name } => {
                let uuid = self.find()?;
                ledger.note(Made::Snapshot { name: name.to_owned() })?;
                let words = ["snapshot-create-as", "--domain", &uuid, "--name", name, "--atomic"];
                Ok(Job::Command(self.virsh().start(&words)?))
            }
            Step::DeleteSnapshot { name } => {
                self.undo(&Made::Snapshot { name: name.to_owned() })?;
                over(After::Goes(vec![Made::Snapshot { name: name.to_owned() }]))
            }
            Step::Clone { name, kind } => self.clone(ledger, name, kind),
            Step::Start { name } => {
                let uuid = Self::uuid(self.virsh(), name)?;
                let uuid = uuid.ok_or_else(|| VmError::NotOurs { what: name.to_owned() })?;
                self.virsh().ask(&["start", "--domain", &uuid])?;
                over(After::Stays)
            }
            Step::Destroy { name } => {
                self.destroy(name)?;
                let is_own = |own: &str| own.strip_suffix(".disk") == Some(name);
                let volume =
                    |made: &&Made| matches!(made, Made::Volume { name, .. } if is_own(name));
                let volumes: Vec<Made> = ledger.made().iter().filter(volume).cloned().collect();
                for made in &volumes {
                    self.undo(made)?;
                }
                let own = Made::Clone { name: name.to_owned(), id: None };
                over(After::Goes([volumes, vec![own]].concat()))
            }
            Step::MoveDisk => {
                let uuid = self.find()?;
                self.copy(Some(ledger), &uuid)
            }
            Step::Migrate { disks } => {
                let uuid = self.find()?;
                self.migrate(ledger, &uuid, disks)
            }
        }
    }

    fn look(&mut self, job: &mut Job) -> Result<Look, VmError> {
        match job {
            Job::Over(done, _) => Ok(Look::Done(std::mem::take(done))),
            Job::Copy { is_pivoted: true, .. } => Ok(Look::Done(Done::default())),
            Job::Copy { running, .. } => match running {
                Some(own) => Ok(if own.look()?.is_some() { Look::Ready } else { Look::Going }),
                None => Ok(Look::Ready),
            },
            Job::Clone { running, xml } => match running.look()? {
                None => Ok(Look::Going),
                Some(_) => {
                    self.virsh().define(xml)?;
                    Ok(Look::Done(Done::default()))
                }
            },
            Job::Command(running) => match running.look()? {
                None => Ok(Look::Going),
                Some(_) => Ok(Look::Done(Done::default())),
            },
            Job::Move { running, .. } => {
                if running.look()?.is_none() {
                    return Ok(Look::Going);
                }
                let uuid = self.find()?;
                let words = ["domjobinfo", "--domain", &uuid, "--completed", "--rawstats"];
                Ok(Look::Done(xml::moved(&self.virsh().ask(&words)?)))
            }
        }
    }

    fn switch_over(&mut self, job: &mut Job) -> Result<(), VmError> {
        let uuid = self.find()?;
        let Job::Copy { disk, made, home, is_pivoted, .. } = job else { return Ok(()) };
        self.virsh().ask(&["blockjob", "--domain", &uuid, "--path", disk, "--pivot"])?;
        *is_pivoted = true;
        self.away = (!*home).then(|| made.clone());
        Ok(())
    }

    fn end(&mut self, job: Job, ledger: &mut Ledger) -> Result<(), VmError> {
        let goes = match job {
            Job::Over(_, After::Goes(made)) => made,
            Job::Copy { made, home: true, .. } => {
                if let Made::Away { storage, name, .. } = &made {
                    self.delete_volume(storage, name)?;
                }
                vec![made]
            }
            Job::Move { made, .. } => vec![made],
            _ => Vec::new(),
        };
        goes.iter().try_for_each(|made| ledger.gone(made))
    }

    fn call_off(&mut self, job: &mut Job) {
        let Ok(uuid) = self.find() else { return };
        match job {
            Job::Copy { running, disk, .. } => {
                let _ =
                    self.virsh().ask(&["blockjob", "--domain", &uuid, "--path", disk, "--abort"]);
                running.take();
            }
            Job::Move { running, .. } | Job::Command(running) => {
                let _ = self.virsh().ask(&["domjobabort", "--domain", &uuid]);
                running.kill();
            }
            Job::Clone { running, .. } => running.kill(),
            Job::Over(..) => {}
        }
    }

    fn check(&mut self, clone: Option<&str>) -> Result<String, VmError> {
        let uuid = match clone {
            None => self.find()?,
            Some(name) => Self::uuid(self.virsh(), name)?
                .ok_or_else(|| VmError::NotOurs { what: name.to_owned() })?,
        };
        self.wants(&uuid, "running")?;
        let all = self.virsh().ask(&["domblklist", "--details", "--domain", &uuid])?;
        let disks: Vec<String> = all.lines().filter_map(disk).map(|own| own.source).collect();
        let disks = if disks.is_empty() { "it has no disk".to_owned() } else { disks.join(", ") };
        Ok(format!("running at {}; {disks}; {}", self.virsh().uri, self.agent(&uuid)))
    }

    fn undo(&mut self, made: &Made) -> Result<(), VmError> {
        match made {
            Made::Snapshot { name } => {
                let uuid = self.find()?;
                let all = self.virsh().ask(&["snapshot-list", "--domain", &uuid, "--name"])?;
                if !name.starts_with(PREFIX) || !all.lines().any(|own| own.trim() == name) {
                    return Ok(());
                }
                let words = ["snapshot-delete", "--domain", &uuid, "--snapshotname", name];
                self.virsh().ask(&words).map(drop)
            }
            Made::Clone { name, .. } => self.destroy(name),
            Made::Volume { storage, name } => self.delete_volume(storage, name),
            Made::Away { .. } => self.bring_home(made),
            Made::Moving { .. } => {
                let uuid = self.find()?;
                // An error means that nothing is under way.
                let _ = self.virsh().ask(&["domjobabort", "--domain", &uuid]);
                Ok(())
            }
        }
    }
}
