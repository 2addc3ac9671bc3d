//! Asks QEMU for its counters through libvirt, which holds the monitors of its VMs.
//!
//! One `virsh` asks all VMs, because starting it takes longer than an answer. A VM that hangs keeps
//! those behind it from being asked: what came before is used, and the VM without an answer is left
//! out for a while. libvirt notes at each VM that commands passed it by (`custom-monitor`).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use vm::VmError;
use vm::named::{VIRSH, Virsh};

/// Longest wait for the answers of all VMs.
const WITHIN: Duration = Duration::from_secs(5);
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

    /// Asks VMs for the counters of their disks. Returns the answers by UUID, and the VM that hangs.
    pub fn statistics(&self, uuids: &[&str]) -> (BTreeMap<String, Value>, Option<String>) {
        if uuids.is_empty() {
            return (BTreeMap::new(), None);
        }
        let query = json!({ "execute": "query-blockstats" });
        let one =
            |uuid: &&str| format!("echo {uuid}; qemu-monitor-command --domain {uuid} '{query}'");
        let all: Vec<String> = uuids.iter().map(one).collect();
        let (told, is_late) = self.0.ask_partly(&[&all.join("; ")]).unwrap_or_default();
        let answers = answers(&told);
        // The VM that is asked last hangs; others without an answer only failed.
        let silent =
            asked_last(&told, uuids).filter(|uuid| is_late && !answers.contains_key(*uuid));
        let silent = silent.map(str::to_owned);
        (answers, silent)
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
