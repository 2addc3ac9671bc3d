//! Virtual machines of the user on which operations may be carried out: the settings of a plan's
//! `[[machines]]` or `--machine`.
//!
//! Text form: `KIND:NAME`, followed by any number of `,KEY=VALUE` with the keys of the table. All
//! text before the first known key belongs to NAME. Virtual machines that are not named this way
//! are never touched.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nearest::did_you_mean;
use crate::words::words;

words! {
    /// Platform of a virtual machine.
    MachineKind {
        /// libvirt, through its command `virsh`.
        Libvirt "libvirt",
        /// Proxmox VE, through its API.
        Proxmox "proxmox",
        /// KubeVirt, through the API of its Kubernetes cluster.
        Kubevirt "kubevirt",
    }
}

/// A virtual machine of the user. One line of TOML, `[[machines]]`, or the text of `--machine`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NamedMachine {
    /// Platform of the virtual machine.
    pub kind: MachineKind,
    /// Exact name on the platform.
    pub name: String,
    /// Address of the platform: a connection URI of libvirt (default `qemu:///system`);
    /// `https://HOST[:8006]` of Proxmox VE; `https://HOST[:6443]` of the cluster's API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Target of a migration: a connection URI of libvirt, or a node of Proxmox VE. KubeVirt
    /// chooses the target itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Transport of the memory, for libvirt: `tcp://HOST` or `unix:///PATH` (default: libvirt's
    /// choice).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Target of a storage migration: a storage pool of libvirt, or a storage of Proxmox VE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    /// Disk to move: `vda`, `scsi0` (default: the only disk).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Namespace, for KubeVirt (default `default`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Source of the token: a file, or `env:VARIABLE`. Results never contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
    /// SHA-256 of the certificate that the service must present, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// File with certificates of authorities (PEM). One of the authorities must have signed the
    /// service's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
}

/// Reason why a text is not a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamedMachineError {
    /// The text does not begin with a kind.
    #[error("machine \"{text}\" does not begin with a kind and a colon: {help}")]
    Kind {
        /// Text as it was given.
        text: String,
        /// Known kinds, as text.
        help: String,
    },
    /// The text can be parsed, but a value is invalid.
    #[error("{why} (key {key} of a machine)")]
    Sense {
        /// Key of the setting.
        key: &'static str,
        /// Reason why the value is invalid.
        why: String,
    },
}

/// Keys of a virtual machine's text.
const KEYS: [&str; 9] =
    ["at", "to", "via", "storage", "disk", "namespace", "credentials", "fingerprint", "ca"];

/// Maximum length of a name: that of a DNS subdomain (RFC 1123), which KubeVirt uses. Other
/// platforms have shorter names.
const NAME_MAX: usize = 253;

impl NamedMachine {
    /// Creates a virtual machine of this kind and name with default settings.
    pub fn of(kind: MachineKind, name: impl Into<String>) -> Self {
        let (at, to, via, storage, disk, namespace) = (None, None, None, None, None, None);
        let (credentials, fingerprint, ca) = (None, None, None);
        let name = name.into();
        Self { kind, name, at, to, via, storage, disk, namespace, credentials, fingerprint, ca }
    }

    /// Returns the invalid key and the reason; `None` if the settings are valid.
    pub fn wrong(&self) -> Option<(&'static str, String)> {
        self.wrong_name().or_else(|| self.wrong_place()).or_else(|| self.wrong_key())
    }

    /// Returns the settings that are only allowed on the command line, as text; `None` if there are
    /// none. Opening a plan from someone else must not send the content of a user's file anywhere.
    /// It must also not run a program that an address names: a libvirt address may contain one in
    /// its parameters or as its transport.
    pub fn refused_in_plans(&self) -> Option<&'static str> {
        let is_plain = |uri: &String| matches!(uri.as_str(), "qemu:///system" | "qemu:///session");
        let mut uris = [&self.at, &self.to].into_iter().flatten();
        match self.kind {
            _ if self.credentials.is_some() => Some("credentials"),
            MachineKind::Libvirt if !uris.all(is_plain) => {
                Some("a libvirt connection other than qemu:///system and qemu:///session")
            }
            _ => None,
        }
    }

    fn wrong_name(&self) -> Option<(&'static str, String)> {
        let is_plain = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        if !is_plain(&self.name) || self.name.len() > NAME_MAX || self.name.trim() != self.name {
            let text = format!("a machine has a name of 1 to {NAME_MAX} bytes without line breaks");
            return Some(("name", text));
        }
        let is_pattern = self.name.contains(['*', '?']);
        if is_pattern {
            let text = "a machine needs an exact name: \"*\" and \"?\" are not allowed";
            return Some(("name", text.to_owned()));
        }
        let dns = |text: &str| {
            let is_known = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
            };
            !text.is_empty() && text.bytes().all(is_known) && !text.starts_with(['-', '.'])
        };
        if self.kind == MachineKind::Kubevirt && !dns(&self.name) {
            let text = "a name of Kubernetes has small letters, digits, \"-\" and \".\"";
            return Some(("name", text.to_owned()));
        }
        if self.namespace.as_ref().is_some_and(|own| !dns(own)) {
            let text = "a namespace of Kubernetes has small letters, digits and \"-\"";
            return Some(("namespace", text.to_owned()));
        }
        None
    }

    fn wrong_place(&self) -> Option<(&'static str, String)> {
        let kind = self.kind.name();
        for (key, own) in self.values().into_iter().filter_map(|(key, own)| Some((key, own?))) {
            if own.trim().is_empty() || own.chars().any(char::is_control) || own.starts_with('-') {
                return Some((key, format!("{key} = \"{}\" says nothing", own.escape_debug())));
            }
        }
        let at = self.at.as_deref().unwrap_or_default();
        let is_web = at.starts_with("https://");
        let wants_web = self.kind != MachineKind::Libvirt;
        if wants_web && !is_web {
            return Some(("at", format!("a machine of {kind} needs an address https://HOST")));
        }
        if wants_web && at.contains('@') {
            let text = "an address may not contain a name and password: credentials = \"FILE\"";
            return Some(("at", text.to_owned()));
        }
        if wants_web && self.credentials.is_none() {
            let text = format!(
                "a machine of {kind} needs a token: credentials = \"FILE\" or \"env:NAME\""
            );
            return Some(("credentials", text));
        }
        let is_digest = |text: &String| {
            let digits = text.chars().filter(|c| *c != ':');
            digits.clone().count() == 64 && digits.clone().all(|c| c.is_ascii_hexdigit())
        };
        if self.fingerprint.as_ref().is_some_and(|text| !is_digest(text)) {
            let text = "a fingerprint is a SHA-256 in 64 hexadecimal digits";
            return Some(("fingerprint", text.to_owned()));
        }
        if self.fingerprint.is_some() && self.ca.is_some() {
            return Some((
                "ca",
                "a certificate is checked by fingerprint or by ca, not both".to_owned(),
            ));
        }
        None
    }

    fn wrong_key(&self) -> Option<(&'static str, String)> {
        use MachineKind::{Kubevirt, Libvirt, Proxmox};
        let allowed: [(&'static str, bool, &[MachineKind]); 8] = [
            ("to", self.to.is_some(), &[Libvirt, Proxmox]),
            ("via", self.via.is_some(), &[Libvirt]),
            ("storage", self.storage.is_some(), &[Libvirt, Proxmox]),
            ("disk", self.disk.is_some(), &[Libvirt, Proxmox]),
            ("namespace", self.namespace.is_some(), &[Kubevirt]),
            ("credentials", self.credentials.is_some(), &[Proxmox, Kubevirt]),
            ("fingerprint", self.fingerprint.is_some(), &[Proxmox, Kubevirt]),
            ("ca", self.ca.is_some(), &[Proxmox, Kubevirt]),
        ];
        let (key, ..) =
            allowed.iter().find(|(_, given, kinds)| *given && !kinds.contains(&self.kind))?;
        Some((key, format!("a machine of {} has no {key}", self.kind.name())))
    }

    fn values(&self) -> [(&'static str, Option<&str>); 9] {
        [
            ("at", self.at.as_deref()),
            ("to", self.to.as_deref()),
            ("via", self.via.as_deref()),
            ("storage", self.storage.as_deref()),
            ("disk", self.disk.as_deref()),
            ("namespace", self.namespace.as_deref()),
            ("credentials", self.credentials.as_deref()),
            ("fingerprint", self.fingerprint.as_deref()),
            ("ca", self.ca.as_deref()),
        ]
    }

    fn set(&mut self, key: &'static str, value: &str) {
        let place = match key {
            "at" => &mut self.at,
            "to" => &mut self.to,
            "via" => &mut self.via,
            "storage" => &mut self.storage,
            "disk" => &mut self.disk,
            "namespace" => &mut self.namespace,
            "credentials" => &mut self.credentials,
            "fingerprint" => &mut self.fingerprint,
            _ => &mut self.ca,
        };
        *place = Some(value.to_owned());
    }
}

impl FromStr for NamedMachine {
    type Err = NamedMachineError;

    fn from_str(text: &str) -> Result<Self, NamedMachineError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some(kind) = MachineKind::named(kind) else {
            let names: Vec<&str> = MachineKind::ALL.iter().map(|kind| kind.name()).collect();
            let help = did_you_mean(kind, &names, "kinds");
            return Err(NamedMachineError::Kind { text: text.to_owned(), help });
        };
        let (name, given) = crate::meter::pairs(rest, &KEYS);
        let mut machine = Self::of(kind, name);
        for (key, value) in given {
            machine.set(key, value);
        }
        match machine.wrong() {
            Some((key, why)) => Err(NamedMachineError::Sense { key, why }),
            None => Ok(machine),
        }
    }
}

impl fmt::Display for NamedMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.name)?;
        let mut given = self.values().into_iter().filter_map(|(key, own)| Some((key, own?)));
        given.try_for_each(|(key, value)| write!(f, ",{key}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machines_text_says_what_its_table_says_and_is_read_back() {
        let text = "proxmox:web01,at=https://pve1:8006,to=pve2,storage=fast,disk=scsi0,credentials=env:PVE";
        let machine: NamedMachine = text.parse().expect("a machine");
        let table = r#"
            kind = "proxmox"
            name = "web01"
            at = "https://pve1:8006"
            to = "pve2"
            storage = "fast"
            disk = "scsi0"
            credentials = "env:PVE"
        "#;
        assert_eq!(toml::from_str::<NamedMachine>(table).expect("a table"), machine);
        assert_eq!(machine.to_string().parse(), Ok(machine));
        let comma: NamedMachine =
            "libvirt:web, old=1".parse().expect("a name as libvirt allows it");
        assert_eq!(comma.name, "web, old=1");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        let digest = "0".repeat(63);
        for (text, says) in [
            ("libvit:web", "did you mean \"libvirt\"?"),
            ("libvirt:", "a name of 1 to 253 bytes"),
            ("libvirt:web*", "exact name"),
            ("libvirt:web\n", "without line breaks"),
            ("libvirt:web,credentials=file", "has no credentials"),
            ("libvirt:web,to=--help", "says nothing"),
            ("proxmox:web", "https://HOST"),
            ("proxmox:web,at=http://pve", "https://HOST"),
            ("proxmox:web,at=https://pve", "needs a token"),
            (
                "proxmox:web,at=https://root:x@pve,credentials=f",
                "may not contain a name and password",
            ),
            ("kubevirt:Web,at=https://k", "small letters"),
            ("kubevirt:web,at=https://k,credentials=f,to=node", "has no to"),
            ("kubevirt:web,at=https://k,credentials=f,namespace=../x", "namespace"),
            (&format!("proxmox:web,at=https://pve,credentials=f,fingerprint={digest}"), "64 hexa"),
        ] {
            let error = text.parse::<NamedMachine>().expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
