use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::Refusal;

/// The schema id of [`Preflight`] as JSON; the minor number rises with added fields.
pub const PREFLIGHT_SCHEMA: &str = "tilemark.preflight/1.0";

/// Result of the checks before anything was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preflight {
    /// Version of the format: [`PREFLIGHT_SCHEMA`].
    pub schema: String,
    /// The target, with its kind.
    pub target: String,
    /// The path after every symbolic link.
    pub resolved: String,
    /// Kernel name and release, `Linux 6.12.1`.
    pub kernel: String,
    /// Bytes the run needs for its disks.
    pub needed_bytes: u64,
    /// Bytes the datastore may hold under all limits.
    pub capacity_bytes: u64,
    /// Bytes that would be written by provisioning and prefilling: the disks, and our label.
    /// 0 when nothing is written.
    pub write_bytes: u64,
    /// Every rule that was checked, in order.
    pub checks: Vec<Check>,
    /// The file system below a directory or file target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystemFacts>,
    /// The device, or the device below the file system where the kernel names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceFacts>,
    /// Warnings: allowed, but worth knowing.
    pub warnings: Vec<Warning>,
}

/// Rule with the value found and the value allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The rule; when it is broken the refusal has the same id.
    pub id: String,
    /// Checked property, in words.
    pub what: String,
    /// Value found.
    pub found: String,
    /// Value allowed.
    pub limit: String,
    /// True if the rule holds.
    pub passed: bool,
}

/// Something allowed but worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable name of the warning.
    pub id: String,
    /// Warning in one sentence.
    pub text: String,
}

/// Direct I/O was asked for and the file system refuses it.
pub(crate) const DIRECT_REFUSED: &str = "direct-refused";

impl Preflight {
    /// Why the page cache is measured although direct I/O was asked for, if it is.
    pub fn direct_refused(&self) -> Option<&str> {
        let refused = self.warnings.iter().find(|warning| warning.id == DIRECT_REFUSED);
        refused.map(|warning| warning.text.as_str())
    }
}

impl Warning {
    /// Creates a warning.
    pub fn new(id: &str, text: impl Into<String>) -> Self {
        Self { id: id.to_owned(), text: text.into() }
    }
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystemFacts {
    /// `ext4`, `xfs`, `nfs4`, ...
    pub fs_type: String,
    /// Path of the mount point.
    pub mount_point: String,
    /// Mounted source: a device, an export, or a word.
    pub source: String,
    /// Options of the mount and of the file system, comma separated.
    pub options: String,
    /// Size of the file system.
    pub size_bytes: u64,
    /// Bytes an ordinary user may still allocate.
    pub free_bytes: u64,
    /// Bytes other tilemark directories and files hold or have reserved in the same place.
    pub leftover_bytes: u64,
}

/// A block device as sysfs describes it. A partition shows its own size and number, and its
/// disk's model, serial, scheduler and queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// The kernel's name, such as `nvme0n1`; not an identity.
    pub name: String,
    /// Device number, `major:minor`.
    pub number: String,
    /// Size of the device in bytes.
    pub size_bytes: u64,
    /// Vendor and model of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Serial number of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// World wide name or EUI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwid: Option<String>,
    /// Names of the device in `/dev/disk/by-id`.
    pub by_id: Vec<String>,
    /// Smallest unit the device can address, in bytes.
    pub logical_sector_bytes: u32,
    /// Smallest unit the device writes without reading, in bytes.
    pub physical_sector_bytes: u32,
    /// The active I/O scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// True if the kernel takes the device for a rotating disk.
    pub rotational: bool,
    /// Write cache as the kernel treats it: `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// The file behind a loop device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
}

/// A preflight in the making, with all the refusals, not only the first.
#[derive(Debug, Clone)]
pub struct Examination {
    /// Result so far.
    pub preflight: Preflight,
    /// Every broken rule, in the order of the checks. Empty: the target may be used.
    pub refusals: Vec<Refusal>,
}

impl Examination {
    pub(crate) fn new(target: &str, needed: Bytes) -> Self {
        let system = rustix::system::uname();
        let preflight = Preflight {
            schema: PREFLIGHT_SCHEMA.to_owned(),
            target: target.to_owned(),
            resolved: String::new(),
            kernel: format!(
                "{} {}",
                system.sysname().to_string_lossy(),
                system.release().to_string_lossy()
            ),
            needed_bytes: needed.get(),
            capacity_bytes: 0,
            write_bytes: 0,
            checks: Vec::new(),
            file_system: None,
            device: None,
            warnings: Vec::new(),
        };
        Self { preflight, refusals: Vec::new() }
    }

    /// Records a rule that holds when there is no `refusal`.
    pub fn check(
        &mut self,
        id: &'static str,
        rule: (&str, &str),
        found: impl Into<String>,
        refusal: Option<Refusal>,
    ) {
        self.preflight.checks.push(Check {
            id: id.to_owned(),
            what: rule.0.to_owned(),
            limit: rule.1.to_owned(),
            found: found.into(),
            passed: refusal.is_none(),
        });
        self.refusals.extend(refusal);
    }

    /// Unwraps a result. An error becomes a refusal and ends the examination.
    pub fn need<T>(&mut self, rule: (&str, &str), found: Result<T, Refusal>) -> ControlFlow<(), T> {
        match found {
            Ok(found) => ControlFlow::Continue(found),
            Err(refusal) => {
                self.check(refusal.id(), rule, refusal.to_string(), Some(refusal));
                ControlFlow::Break(())
            }
        }
    }

    /// Checks that what is needed is within `limit`, which came about by `rule`.
    pub fn check_space(&mut self, free: Bytes, (limit, rule): (Bytes, String)) {
        let needed = Bytes::new(self.preflight.needed_bytes);
        self.preflight.capacity_bytes = limit.get();
        let text = format!("at most {limit}: {rule}");
        let refusal = (needed > limit).then(|| Refusal::Space {
            path: (&self.preflight.resolved).into(),
            needed,
            limit,
            free,
            rule,
        });
        self.check("space", ("the disks fit", &text), format!("{needed} needed"), refusal);
    }

    /// Notes what is allowed but worth knowing.
    pub fn warn(&mut self, id: &str, text: impl Into<String>) {
        self.preflight.warnings.push(Warning::new(id, text));
    }

    /// The preflight, or the first refusal.
    pub fn into_result(self) -> Result<Preflight, Refusal> {
        match self.refusals.into_iter().next() {
            Some(refusal) => Err(refusal),
            None => Ok(self.preflight),
        }
    }
}
