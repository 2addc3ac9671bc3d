//! Asks QEMU for its counters through libvirt, which holds the monitors of its VMs.
//!
//! One `virsh` asks many VMs, because starting it takes longer than an answer. A VM that hangs keeps
//! those behind it from being asked: what came before is used, and the VM without an answer is left
//! out for a while. libvirt notes at each VM that commands passed it by (`custom-monitor`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use vm::VmError;
use vm::named::{VIRSH, Virsh};

/// Longest wait for the answers of a batch of VMs.
const WITHIN: Duration = Duration::from_secs(5);
/// Number of VMs that one `virsh` asks. 4 MiB of its output are kept, and a VM with 64 disks answers
/// with some 100 KB; an argument of a program has at most 128 KiB, which fit 900 VMs.
const BATCH: usize = 32;
/// Number of late batches after which no further one is asked in a sample. Our choice.
const LATE_MAX: u32 = 2;
/// Length of a UUID in text.
const UUID: usize = 36;

/// Connection to libvirt.
#[derive(Debug)]
pub(crate) struct Libvirt(Virsh);

/// Asks a libvirt for its VMs, to learn if it can be asked later.
///
/// # Errors
/// [`VmError::Program`] if `virsh` cannot be run; another error if libvirt does not answer now.
pub fn ask_libvirt(uri: &str) -> Result<(), VmError> {
    Libvirt::new(uri.to_owned()).0.ask(&["list", "--uuid"]).map(drop)
}

impl Libvirt {
    /// Returns a connection by its URI, for example `qemu:///system`.
    pub fn new(uri: String) -> Self {
        Self::by(VIRSH.to_owned(), uri, WITHIN)
    }

    /// Returns a connection by a program, with the longest wait for answers.
    pub fn by(program: String, uri: String, answer: Duration) -> Self {
        Self(Virsh { program, machine: uri.clone(), uri, answer })
    }

    /// Asks a VM.
    pub fn ask(&self, uuid: &str, command: &str, arguments: &Value) -> Result<Value, VmError> {
        let line = json!({ "execute": command, "arguments": arguments }).to_string();
        let answer = self.0.ask(&["qemu-monitor-command", "--domain", uuid, &line])?;
        result(&answer).ok_or_else(|| VmError::Refused {
            machine: uuid.to_owned(),
            command: command.to_owned(),
            said: answer,
        })
    }

    /// Asks VMs for the counters of their disks. Returns the answers by UUID, and the VMs that hang.
    pub fn statistics(&self, uuids: &[&str]) -> (BTreeMap<String, Value>, BTreeSet<String>) {
        let (mut all, mut hanging, mut late) = (BTreeMap::new(), BTreeSet::new(), 0);
        for batch in uuids.chunks(BATCH) {
            let (told, is_late) = self.ask_batch(batch);
            late += u32::from(is_late);
            let answers = answers(&told);
            // The VM that is asked last hangs; others without an answer only failed.
            let silent =
                asked_last(&told, batch).filter(|uuid| is_late && !answers.contains_key(*uuid));
            hanging.extend(silent.map(str::to_owned));
            all.extend(answers);
            // Each further batch would wait as long if libvirt hangs and no VM, or if their storage
            // hangs and so do VMs of every batch. The others are asked with the next sample.
            if is_late && (silent.is_none() || late == LATE_MAX) {
                break;
            }
        }
        (all, hanging)
    }

    fn ask_batch(&self, uuids: &[&str]) -> (String, bool) {
        let query = json!({ "execute": "query-blockstats" });
        let one =
            |uuid: &&str| format!("echo {uuid}; qemu-monitor-command --domain {uuid} '{query}'");
        let all: Vec<String> = uuids.iter().map(one).collect();
        self.0.ask_partly(&[&all.join("; ")]).unwrap_or_default()
    }
}

/// Returns the VM whose UUID was printed last.
fn asked_last<'a>(told: &str, uuids: &[&'a str]) -> Option<&'a str> {
    let printed = uuids.iter().filter_map(|uuid| Some((told.rfind(*uuid)?, *uuid)));
    printed.max().map(|(_, uuid)| uuid)
}

/// Reads the answers, each after the UUID of its VM. A VM that failed has a UUID alone.
fn answers(told: &str) -> BTreeMap<String, Value> {
    let one = |line: &str| {
        let (before, _) = line.split_once('{')?;
        let uuid = before.trim_end().get(before.trim_end().len().checked_sub(UUID)?..)?;
        Some((uuid.to_owned(), result(&line[before.len()..])?))
    };
    told.lines().filter_map(one).collect()
}

fn result(answer: &str) -> Option<Value> {
    serde_json::from_str::<Value>(answer).ok()?.get_mut("return").map(Value::take)
}

/// Returns true for the text of a UUID. A process may name itself as it likes, and this text becomes
/// a part of a command.
pub(crate) fn is_uuid(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == UUID && text.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_belong_to_the_uuid_before_them() {
        let [a, b, c] =
            ["a", "b", "c"].map(|end| format!("d52a8823-afa1-4c51-990f-c430ecf6e29{end}"));
        // `b` failed, so its UUID is followed by the next one; `c` was cut off.
        let told = format!("{a}{{\"return\":[1],\"id\":\"libvirt-4\"}}\n\n{b}{c}{{\"return\":[2");
        assert_eq!(answers(&told), BTreeMap::from([(a.clone(), json!([1]))]));
        let told = format!("{a}\n{{\"return\":[1]}}\n{b}{c}{{\"return\":[2]}}\n");
        assert_eq!(answers(&told), BTreeMap::from([(c, json!([2]))]));
        assert_eq!(answers("{\"return\":[]}\n"), BTreeMap::new());
    }

    #[test]
    fn vm_that_is_asked_last_hangs_and_not_one_that_failed() {
        let [a, b, c] =
            ["a", "b", "c"].map(|end| format!("d52a8823-afa1-4c51-990f-c430ecf6e29{end}"));
        let uuids = [&*a, &b, &c];
        assert_eq!(asked_last(&format!("{a}{b}"), &uuids), Some(&*b));
        assert_eq!(asked_last("", &uuids), None);
    }

    #[test]
    fn many_vms_are_asked_in_batches() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("a directory");
        let (program, calls) = (place.path().join("virsh"), place.path().join("calls"));
        let script = format!(
            "#!/bin/sh\necho >>{}\nprintf '%s\\n' \"$4\" | tr ';' '\\n' | sed -n 's/^ *echo //p' |\n\
             while read -r uuid; do echo \"$uuid{{\\\"return\\\":[]}}\"; done\n",
            calls.display()
        );
        std::fs::write(&program, script).expect("a script");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("permitted");
        let uuids: Vec<String> =
            (0..70).map(|vm| format!("d52a8823-afa1-4c51-990f-c430ecf6{vm:04}")).collect();
        let uuids: Vec<&str> = uuids.iter().map(String::as_str).collect();
        let libvirt = Libvirt::by(program.display().to_string(), String::new(), WITHIN);
        let (answers, hanging) = libvirt.statistics(&uuids);
        assert!(answers.len() == 70 && hanging.is_empty(), "{} {hanging:?}", answers.len());
        assert_eq!(std::fs::read_to_string(&calls).expect("calls").lines().count(), 3);
        assert_eq!(libvirt.statistics(&[]), (BTreeMap::new(), BTreeSet::new()));
    }

    #[test]
    fn only_uuids_become_a_part_of_a_command() {
        assert!(!is_uuid(&"-".repeat(36)) && !is_uuid(&format!("--{}", "a".repeat(34))));
        assert!(is_uuid("d52a8823-afa1-4c51-990f-c430ecf6e298"));
        for text in [
            "",
            "web1",
            "d52a8823-afa1-4c51-990f-c430ecf; ls",
            "d52a8823;destroy-web1-4c51-990f-c43",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
