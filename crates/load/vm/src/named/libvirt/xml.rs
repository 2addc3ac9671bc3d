//! Reader for a few values of libvirt's own XML, which libvirt always writes in the same way: with
//! single quotes and one element per line. A full XML parser is not needed.

use std::time::Duration;

use untrusted::Malformed;

use crate::DeployKind;
use crate::operation::Done;

/// Returns the text between two markers.
pub(super) fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let begin = text.find(from)? + from.len();
    let end = text[begin..].find(to)?;
    Some(&text[begin..begin + end])
}

/// Escapes a text for use in single quotes.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('\'', "&apos;").replace('"', "&quot;")
}

/// Undoes the escapes of a text.
pub(super) fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&apos;", "'");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}

/// Returns the major number and the text of a version such as 7.2.22.
fn version(text: &str) -> Option<(u32, String)> {
    let own: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    Some((own.split('.').next()?.parse().ok()?, own))
}

/// Returns the version of QEMU in the output of `virsh version`.
pub(super) fn hypervisor(said: &str) -> Option<(u32, String)> {
    version(said.lines().find_map(|line| line.strip_prefix("Running hypervisor: QEMU "))?)
}

/// Returns the version in a machine type: `pc-i440fx-10.0`.
pub(super) fn machine_type(xml: &str) -> Option<(u32, String)> {
    let machine = between(between(xml, "<type ", ">")?, "machine='", "'")?;
    version(machine.rsplit('-').next()?)
}

/// Returns the format of the disk with this target name.
pub(super) fn format_of(xml: &str, target: &str) -> Option<String> {
    let wanted = format!("<target dev='{}'", escaped(target));
    let mut disks = xml.split("<disk ").skip(1).filter_map(|own| own.split("</disk>").next());
    let own = disks.find(|own| own.contains(&wanted))?;
    between(own, "<driver name='qemu' type='", "'").map(str::to_owned)
}

/// Extracts the numbers of a migration from the output of `domjobinfo --completed --rawstats`.
pub(super) fn moved(said: &str) -> Done {
    let number = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|own| own.trim().parse::<u64>().ok())
    };
    let copied_bytes = number("data_processed").unwrap_or(0);
    let stood_still = number("downtime").map(Duration::from_millis);
    Done { stood_still, copied_bytes, checked: String::new() }
}

/// Description of a clone.
pub(super) struct Clone<'a> {
    pub name: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    pub format: &'a str,
    pub kind: DeployKind,
}

impl Clone<'_> {
    /// Returns the domain XML with another name and another disk, without UUID and card addresses.
    /// The error is the reason why that is impossible.
    pub fn of(&self, xml: &str) -> Result<String, Malformed> {
        if xml.contains("<nvram") || xml.contains("<tpm") {
            return Err("machines with UEFI variables or a TPM cannot be cloned".into());
        }
        let disk = format!("<source file='{}'", escaped(self.from));
        if xml.matches(&disk).count() != 1 {
            return Err(format!(
                "the disk {} must be in the machine's description exactly once",
                self.from
            )
            .into());
        }
        let is_own = |line: &&str| {
            let line = line.trim_start();
            !line.starts_with("<uuid>") && !line.starts_with("<mac address=")
        };
        let mut lines: Vec<String> = xml.lines().filter(is_own).map(str::to_owned).collect();
        let named = lines.iter_mut().find(|line| line.trim_start().starts_with("<name>"));
        *named.ok_or("the machine's description has no name")? =
            format!("  <name>{}</name>", self.name);
        let mut text =
            lines.join("\n").replace(&disk, &format!("<source file='{}'", escaped(self.to)));
        if self.kind == DeployKind::Linked && self.format != "qcow2" {
            // The layer is qcow2, whatever is below it.
            let (before, after) = text.split_at(text.find(&escaped(self.to)).unwrap_or(0));
            let at = before.rfind("<driver ").ok_or("the disk has no driver in the description")?;
            let format = format!("type='{}'", self.format);
            text = before[..at].to_owned()
                + &before[at..].replacen(&format, "type='qcow2'", 1)
                + after;
        }
        Ok(text + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "<domain type='qemu'>
  <name>it&apos;s</name>
  <uuid>5b7bb96c-80c3-4fec-9106-f09b32c6c95c</uuid>
  <os>
    <type arch='x86_64' machine='pc-i440fx-10.0'>hvm</type>
  </os>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='/a &amp; b/x'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/>
      <source file='/c'/>
      <target dev='vdb' bus='virtio'/>
    </disk>
    <interface type='network'>
      <mac address='52:54:00:00:00:01'/>
    </interface>
  </devices>
</domain>";

    #[test]
    fn a_clone_has_its_own_name_and_disk_and_neither_uuid_nor_card() {
        let own = |kind| Clone {
            name: "tilemark-1",
            from: "/a & b/x",
            to: "/p/y'z",
            format: "raw",
            kind,
        };
        let full = own(DeployKind::Full).of(XML).expect("a clone");
        assert!(full.contains("<name>tilemark-1</name>") && !full.contains("it&apos;s"), "{full}");
        assert!(
            full.contains("<source file='/p/y&apos;z'/>") && full.contains("file='/c'"),
            "{full}"
        );
        assert!(!full.contains("uuid") && !full.contains("52:54"), "{full}");
        assert!(full.contains("type='raw'"), "{full}");
        let linked = own(DeployKind::Linked).of(XML).expect("a clone");
        assert!(!linked.contains("type='raw'"), "{linked}");
        let other =
            Clone { name: "n", from: "/b/x", to: "/y", format: "raw", kind: DeployKind::Full };
        assert!(other.of(XML).is_err(), "another disk");
        assert!(own(DeployKind::Full).of(&XML.replace("<os>", "<os><nvram>/n</nvram>")).is_err());
    }

    #[test]
    fn versions_formats_and_counts_are_read_as_libvirt_writes_them() {
        assert_eq!(machine_type(XML), Some((10, "10.0".to_owned())));
        let said = "Using API: QEMU 9.0.0\nRunning hypervisor: QEMU 7.2.22\n";
        assert_eq!(hypervisor(said), Some((7, "7.2.22".to_owned())));
        assert_eq!(format_of(XML, "vdb").as_deref(), Some("qcow2"));
        assert_eq!(format_of(XML, "vdc"), None);
        let done =
            moved("time_elapsed: 628\ndowntime: 73\ndata_total: 9\ndata_processed: 63801615\n");
        assert_eq!(
            (done.stood_still, done.copied_bytes),
            (Some(Duration::from_millis(73)), 63_801_615)
        );
    }
}
