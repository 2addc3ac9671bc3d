use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::Refusal;

/// Schema id of [`Preflight`] as JSON. The minor number rises when fields are added.
pub const PREFLIGHT_SCHEMA: &str = "tilemark.preflight/1.0";

/// Result of the checks that are made before anything is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preflight {
    /// Version of the format: [`PREFLIGHT_SCHEMA`].
    pub schema: String,
    /// Target as text, with its kind.
    pub target: String,
    /// Path after all symbolic links.
    pub resolved: String,
    /// Kernel name and release, for example `Linux 6.12.1`.
    pub kernel: String,
    /// Bytes the run needs for its disks.
    pub needed_bytes: u64,
    /// Bytes that the disks may use under all limits.
    pub capacity_bytes: u64,
    /// Bytes that provisioning and prefilling would write: the disks, and our label. 0 if nothing
    /// is written.
    pub write_bytes: u64,
    /// All rules that were checked, in order.
    pub checks: Vec<Check>,
    /// File system of a directory or file target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystemFacts>,
    /// Target device, or the device below the file system if the kernel names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceFacts>,
    /// Warnings: facts that do not forbid the target but are worth knowing.
    pub warnings: Vec<Warning>,
}

/// Rule with the value found and the value allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Id of the rule. If the rule is broken, the refusal has the same id.
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

/// Fact that does not forbid the target but is worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable name of the warning.
    pub id: String,
    /// Warning in one sentence.
    pub text: String,
}

/// Warning that the file system refuses direct I/O, which was requested.
pub(crate) const DIRECT_REFUSED: &str = "direct-refused";

impl Preflight {
    /// Returns the warning that the page cache is measured although direct I/O was requested, if
    /// this is so.
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

/// Properties of a mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystemFacts {
    /// Type of the file system: `ext4`, `xfs`, `nfs4`, ...
    pub fs_type: String,
    /// Path of the mount point.
    pub mount_point: String,
    /// Mounted source: a device, an export, or a word.
    pub source: String,
    /// Options of the mount and of the file system, comma separated.
    pub options: String,
    /// Size of the file system in bytes.
    pub size_bytes: u64,
    /// Bytes that an ordinary user may still allocate.
    pub free_bytes: u64,
    /// Bytes that other directories and files of Tilemark use or have reserved on the same file
    /// system.
    pub leftover_bytes: u64,
}

/// Properties of a block device from sysfs. A partition has its own size and number, and the model,
/// serial, scheduler and queue of its disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Kernel name of the device, such as `nvme0n1`. It does not identify the device.
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
    /// Smallest unit that the device can address, in bytes.
    pub logical_sector_bytes: u32,
    /// Smallest unit that the device writes without reading, in bytes.
    pub physical_sector_bytes: u32,
    /// Active I/O scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// True if the kernel treats the device as a rotating disk.
    pub rotational: bool,
    /// Mode of the write cache that the kernel assumes: `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// Path of the file below a loop device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
}

/// Preflight in progress. It collects all refusals, not only the first.
#[derive(Debug, Clone)]
pub struct Examination {
    /// Result so far.
    pub preflight: Preflight,
    /// Refusals of all broken rules, in the order of the checks. If it is empty, the target may be
    /// used.
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

    /// Records a checked rule. The rule holds if `refusal` is `None`.
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

    /// Unwraps a result. An error is recorded as a refusal and ends the examination.
    pub fn need<T>(&mut self, rule: (&str, &str), found: Result<T, Refusal>) -> ControlFlow<(), T> {
        match found {
            Ok(found) => ControlFlow::Continue(found),
            Err(refusal) => {
                self.check(refusal.id(), rule, refusal.to_string(), Some(refusal));
                ControlFlow::Break(())
            }
        }
    }

    /// Checks that the needed bytes are within `limit`. `rule` is the text of the rule behind the
    /// limit.
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

    /// Records a warning.
    pub fn warn(&mut self, id: &str, text: impl Into<String>) {
        self.preflight.warnings.push(Warning::new(id, text));
    }

    /// Returns the preflight, or the first refusal.
    pub fn into_result(self) -> Result<Preflight, Refusal> {
        match self.refusals.into_iter().next() {
            Some(refusal) => Err(refusal),
            None => Ok(self.preflight),
        }
    }
}
