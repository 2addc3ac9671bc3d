//! Volumes and domains that are created here, and their removal.

use super::{Disk, Job, Libvirt, PREFIX, xml};
use crate::named::ledger::{Ledger, Made};
use crate::named::platform::{Look, Platform};
use crate::{DeployKind, VmError};

impl Libvirt {
    pub(super) fn make_volume(
        &self,
        ledger: &mut Ledger,
        uuid: &str,
        disk: &Disk,
        format: &str,
    ) -> Result<Made, VmError> {
        let storage = self.storage.clone().ok_or_else(|| self.no_storage())?;
        let virsh = self.virsh();
        let info = virsh.ask(&["domblkinfo", "--domain", uuid, "--device", &disk.target])?;
        let size =
            info.lines().find_map(|line| Some(line.strip_prefix("Capacity:")?.trim().to_owned()));
        let size = size.ok_or_else(|| VmError::Garbage {
            machine: self.name.clone(),
            command: "domblkinfo".to_owned(),
        })?;
        let name = format!("{PREFIX}{}-disk-{}", ledger.tag(), ledger.next());
        let (target, home) = (disk.target.clone(), disk.source.clone());
        let made = Made::Away { disk: target, home, storage: storage.clone(), name: name.clone() };
        ledger.note(made.clone())?;
        virsh.ask(&[
            "vol-create-as",
            "--pool",
            &storage,
            "--name",
            &name,
            "--capacity",
            &size,
            "--format",
            format,
        ])?;
        Ok(made)
    }

    pub(super) fn clone(
        &mut self,
        ledger: &mut Ledger,
        name: &str,
        kind: DeployKind,
    ) -> Result<Job, VmError> {
        let uuid = self.find()?;
        let disk = self.disk_of(&uuid)?;
        let virsh = self.virsh();
        let pool = virsh.ask(&["vol-pool", "--vol", &disk.source])?.trim().to_owned();
        let volume = format!("{name}.disk");
        let info = virsh.ask(&["dumpxml", "--inactive", "--domain", &uuid])?;
        let format = xml::format_of(&info, &disk.target).unwrap_or_else(|| "raw".to_owned());
        let root = virsh.ask(&["pool-dumpxml", "--pool", &pool])?;
        let root =
            xml::between(&root, "<path>", "</path>").map(xml::unescaped).ok_or_else(|| {
                let text = format!("pool {pool} of libvirt has no directory, but clones need one");
                VmError::Unsupported(text)
            })?;
        let path = format!("{root}/{volume}");
        let own = xml::Clone { name, from: &disk.source, to: &path, format: &format, kind };
        let xml = own.of(&info).map_err(|error| VmError::Unsupported(error.to_string()))?;
        ledger.note(Made::Volume { storage: pool.clone(), name: volume.clone() })?;
        ledger.note(Made::Clone { name: name.to_owned(), id: None })?;
        let running = match kind {
            DeployKind::Full => virsh.start(&[
                "vol-clone",
                "--pool",
                &pool,
                "--vol",
                &disk.source,
                "--newname",
                &volume,
            ])?,
            DeployKind::Linked => {
                let size = virsh.ask(&["vol-info", "--bytes", "--vol", &disk.source])?;
                let size = size.lines().find_map(|line| line.strip_prefix("Capacity:"));
                let size = size.unwrap_or("0").trim().trim_end_matches(" bytes").to_owned();
                virsh.start(&[
                    "vol-create-as",
                    "--pool",
                    &pool,
                    "--name",
                    &volume,
                    "--capacity",
                    &size,
                    "--format",
                    "qcow2",
                    "--backing-vol",
                    &disk.source,
                    "--backing-vol-format",
                    &format,
                ])?
            }
        };
        Ok(Job::Clone { running, xml })
    }

    pub(super) fn destroy(&self, name: &str) -> Result<(), VmError> {
        if !name.starts_with(PREFIX) {
            return Err(VmError::NotOurs { what: name.to_owned() });
        }
        let Some(uuid) = Self::uuid(self.virsh(), name)? else { return Ok(()) };
        if self.state(&uuid)? != "shut off" {
            self.virsh().ask(&["destroy", "--domain", &uuid])?;
        }
        self.virsh().ask(&["undefine", "--domain", &uuid]).map(drop)
    }

    pub(super) fn delete_volume(&self, storage: &str, name: &str) -> Result<(), VmError> {
        if !name.starts_with(PREFIX) {
            return Err(VmError::NotOurs { what: name.to_owned() });
        }
        let virsh = self.virsh();
        let _ = virsh.ask(&["pool-refresh", "--pool", storage]);
        let all = virsh.ask(&["vol-list", "--pool", storage])?;
        let is_there = all.lines().any(|line| line.split_whitespace().next() == Some(name));
        if !is_there {
            return Ok(());
        }
        virsh.ask(&["vol-delete", "--pool", storage, "--vol", name]).map(drop)
    }

    /// Moves the disk back to its original place, and removes the volume.
    pub(super) fn bring_home(&mut self, made: &Made) -> Result<(), VmError> {
        let Made::Away { disk, home, storage, name } = made else { return Ok(()) };
        let uuid = self.find()?;
        // Cancels a copy that is not waited for any more.
        let _ = self.virsh().ask(&["blockjob", "--domain", &uuid, "--path", disk, "--abort"]);
        let (own, before) = (self.disk.replace(disk.clone()), self.away.take());
        let found = self.disk_of(&uuid);
        let moved = match found {
            Ok(found) if found.source == *home => Ok(()),
            Ok(_) => self.go_home(&uuid, made),
            Err(error) => Err(error),
        };
        self.disk = own;
        if moved.is_err() {
            self.away = before;
            return moved;
        }
        self.delete_volume(storage, name)
    }

    pub(super) fn go_home(&mut self, uuid: &str, made: &Made) -> Result<(), VmError> {
        self.away = Some(made.clone());
        let mut job = self.copy(None, uuid)?;
        loop {
            match self.look(&mut job)? {
                Look::Going => std::thread::sleep(std::time::Duration::from_millis(100)),
                Look::Ready => self.switch_over(&mut job)?,
                Look::Done(_) => break,
            }
        }
        self.away = None;
        Ok(())
    }
}
