//! Power meters: the settings of a plan's `[[meters]]` or `--meter`.
//!
//! Text form: `KIND:WHERE`, followed by any number of `,KEY=VALUE` with the keys of the table. All
//! text before the first known key belongs to WHERE, so that a command may contain commas.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::nearest::did_you_mean;
use crate::words::words;

words! {
    /// Kind of a meter, by its protocol.
    MeterKind {
        /// A program that prints a line with time and watts for each sample.
        Command "command",
        /// A power analyser behind a daemon that speaks the protocol of SPEC's PTDaemon.
        PtDaemon "ptdaemon",
        /// A Shelly plug or relay, over HTTP.
        Shelly "shelly",
        /// A plug with the firmware Tasmota, over HTTP.
        Tasmota "tasmota",
        /// Management controller of a server or an enclosure, over DMTF Redfish.
        Redfish "redfish",
        /// Counters of the processor, from Linux in `/sys/class/powercap`.
        Rapl "rapl",
        /// A power distribution unit, over SNMP.
        Snmp "snmp",
        /// Management controller of a server, through `ipmitool dcmi power reading`.
        Ipmi "ipmi",
    }
}

words! {
    /// Part of the system under test that a meter measures.
    PowerScope {
        /// A single server.
        Host "host",
        /// The storage, if it has its own power supply.
        Storage "storage",
        /// Servers and storage together. Also a server with internal disks.
        Rack "rack",
        /// Processors and their memory only. Such a figure only explains, and is never the main
        /// result.
        Processor "processor",
    }
}

/// A meter. One line of TOML, `[[meters]]`, or the text of `--meter`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Meter {
    /// Kind of the meter.
    pub kind: MeterKind,
    /// Address of the meter: a command line; `HOST[:PORT]`; or an address `https://HOST` for
    /// Redfish. It may be omitted for `rapl` and `ipmi`, which then measure this host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// Name of the meter in the result (default: its kind, with a number added from the second
    /// meter on).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Part of the system that it measures (default: host; for `rapl` always processor).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<PowerScope>,
    /// Names of the measured hosts in the run, if several hosts drive the tiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// Interval between two samples (default: by kind; for a command, 1 s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Nanos>,
    /// Switch, energy meter or channel of a `shelly`, counted from 0; channel of a `ptdaemon`,
    /// counted from 1 (default: the sum).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Object that an `snmp` meter reads, as its identifier: `1.3.6.1.4.1.318...`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oid: Option<String>,
    /// Factor that converts the object's number to watts (default 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Source of the name and password (`NAME:PASSWORD`), or of the SNMP community: a file, or
    /// `env:VARIABLE`. Results never contain them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
    /// SHA-256 of the certificate that a Redfish service must present, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// True to accept any certificate. The result states it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

/// Reason why a text is not a meter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeterSpecError {
    /// The text does not begin with a kind.
    #[error("meter \"{text}\" does not begin with a kind and a colon: {help}")]
    Kind {
        /// Text as it was given.
        text: String,
        /// Known kinds, as text.
        help: String,
    },
    /// A value is malformed.
    #[error("{key} = \"{value}\" of a meter is not one of {allowed}")]
    Value {
        /// Key of the setting.
        key: &'static str,
        /// Text as it was given.
        value: String,
        /// Allowed values, as text.
        allowed: String,
    },
    /// The text can be parsed, but a value is invalid.
    #[error("{why} (key {key} of a meter)")]
    Sense {
        /// Key of the setting.
        key: &'static str,
        /// Reason why the value is invalid.
        why: String,
    },
}

/// Keys of a meter's text.
const KEYS: [&str; 10] = [
    "name",
    "scope",
    "of",
    "every",
    "id",
    "oid",
    "scale",
    "credentials",
    "fingerprint",
    "insecure",
];

/// Minimum interval between two samples. Our choice: no meter of these kinds is faster.
const EVERY_MIN: Nanos = Nanos::from_millis(50);
/// Maximum interval between two samples: a step is not much longer.
const EVERY_MAX: Nanos = Nanos::from_secs(60);

impl Meter {
    /// Creates a meter of this kind with default settings.
    pub fn of_kind(kind: MeterKind, at: impl Into<String>) -> Self {
        Self {
            kind,
            at: at.into(),
            name: None,
            scope: None,
            of: Vec::new(),
            every: None,
            id: None,
            oid: None,
            scale: None,
            credentials: None,
            fingerprint: None,
            insecure: false,
        }
    }

    /// Returns the part of the system that the meter measures.
    pub fn scope(&self) -> PowerScope {
        let usual = match self.kind {
            MeterKind::Rapl => PowerScope::Processor,
            _ => PowerScope::Host,
        };
        self.scope.unwrap_or(usual)
    }

    /// Returns the time for which a load must run before readings count, because an analyser first
    /// selects its ranges. It is as long as the wait of MLCommons power-dev
    /// (`ANALYZER_SLEEP_SECONDS`), or ten samples.
    pub fn warm_up(&self) -> Nanos {
        match self.kind {
            MeterKind::PtDaemon => Nanos(self.every.unwrap_or(Nanos::SECOND).0.saturating_mul(10)),
            _ => Nanos::ZERO,
        }
    }

    /// Returns the invalid key and the reason; `None` if the settings are valid.
    pub fn wrong(&self) -> Option<(&'static str, String)> {
        self.wrong_place().or_else(|| self.wrong_values()).or_else(|| self.wrong_key())
    }

    fn wrong_place(&self) -> Option<(&'static str, String)> {
        let kind = self.kind.name();
        let is_here = matches!(self.kind, MeterKind::Rapl | MeterKind::Ipmi);
        if self.at.trim().is_empty() && !is_here {
            return Some(("at", format!("a {kind} meter needs an address")));
        }
        if self.at.contains("://") && self.at.contains('@') {
            let text = "an address of a meter may not contain a name and password: credentials = \
                \"FILE\"";
            return Some(("at", text.to_owned()));
        }
        let is_web = self.at.starts_with("https://") || self.at.starts_with("http://");
        if self.kind == MeterKind::Redfish && !is_web {
            return Some(("at", "a redfish meter needs an address https://HOST".to_owned()));
        }
        if self.at.starts_with("http://") && self.credentials.is_some() && !self.insecure {
            let text =
                "the password would be sent as plaintext: use https://, or set insecure = true";
            return Some(("at", text.to_owned()));
        }
        None
    }

    fn wrong_values(&self) -> Option<(&'static str, String)> {
        if let Some(every) = self.every.filter(|every| !(EVERY_MIN..=EVERY_MAX).contains(every)) {
            return Some(("every", format!("every = {every} is not {EVERY_MIN} to {EVERY_MAX}")));
        }
        if self.scale.is_some_and(|scale| !(scale > 0.0 && scale.is_finite())) {
            return Some(("scale", "the scale must be above 0".to_owned()));
        }
        let is_rapl = self.kind == MeterKind::Rapl;
        if is_rapl && self.scope.is_some_and(|scope| scope != PowerScope::Processor) {
            let text = "rapl measures only processors and their memory: its scope is processor";
            return Some(("scope", text.to_owned()));
        }
        let is_digest = |text: &String| {
            let digits = text.chars().filter(|c| *c != ':');
            digits.clone().count() == 64 && digits.clone().all(|c| c.is_ascii_hexdigit())
        };
        if self.fingerprint.as_ref().is_some_and(|text| !is_digest(text)) {
            let text = "a fingerprint is a SHA-256 in 64 hexadecimal digits";
            return Some(("fingerprint", text.to_owned()));
        }
        None
    }

    /// Returns the settings that are only allowed on the command line, as text; `None` if there are
    /// none. Opening a plan from someone else must neither run its commands nor send the content of
    /// a user's file anywhere.
    pub fn refused_in_plans(&self) -> Option<&'static str> {
        match self.kind {
            MeterKind::Command => Some("commands to run"),
            _ => self.credentials.is_some().then_some("credentials"),
        }
    }

    fn wrong_key(&self) -> Option<(&'static str, String)> {
        use MeterKind::{Ipmi, PtDaemon, Redfish, Shelly, Snmp, Tasmota};
        let allowed: [(&'static str, bool, &[MeterKind]); 6] = [
            ("id", self.id.is_some(), &[Shelly, PtDaemon]),
            ("oid", self.oid.is_some(), &[Snmp]),
            ("scale", self.scale.is_some(), &[Snmp]),
            ("credentials", self.credentials.is_some(), &[Redfish, Shelly, Tasmota, Snmp, Ipmi]),
            ("fingerprint", self.fingerprint.is_some(), &[Redfish]),
            ("insecure", self.insecure, &[Redfish]),
        ];
        if self.kind == Snmp && self.oid.is_none() {
            let text = "an snmp meter needs an object to read: oid = \"1.3.6.1...\"";
            return Some(("oid", text.to_owned()));
        }
        let (key, ..) =
            allowed.iter().find(|(_, given, kinds)| *given && !kinds.contains(&self.kind))?;
        Some((key, format!("a {} meter has no {key}", self.kind.name())))
    }

    fn set(&mut self, key: &'static str, value: &str) -> Result<(), MeterSpecError> {
        let wrong =
            |allowed: String| Err(MeterSpecError::Value { key, value: value.to_owned(), allowed });
        let of = |form: &str| form.to_owned();
        match key {
            "name" => self.name = Some(value.to_owned()),
            "oid" => self.oid = Some(value.to_owned()),
            "credentials" => self.credentials = Some(value.to_owned()),
            "fingerprint" => self.fingerprint = Some(value.to_owned()),
            "of" => self.of = value.split('+').map(str::to_owned).collect(),
            "scope" => match PowerScope::named(value) {
                Some(scope) => self.scope = Some(scope),
                None => return wrong(listed(PowerScope::ALL.iter().map(|own| own.name()))),
            },
            "every" => match value.parse() {
                Ok(every) => self.every = Some(every),
                Err(_) => return wrong(of("a time such as 1s")),
            },
            "id" => match value.parse() {
                Ok(id) => self.id = Some(id),
                Err(_) => return wrong(of("a whole number")),
            },
            "scale" => match value.parse() {
                Ok(scale) => self.scale = Some(scale),
                Err(_) => return wrong(of("a number")),
            },
            _ => match value {
                "true" => self.insecure = true,
                "false" => self.insecure = false,
                _ => return wrong(of("true and false")),
            },
        }
        Ok(())
    }
}

fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the start of the first known key in a text, and every `KEY=VALUE` from there on.
pub(crate) fn pairs<'a>(
    text: &'a str,
    keys: &[&'static str],
) -> (&'a str, Vec<(&'static str, &'a str)>) {
    let known = |part: &str| {
        let (key, _) = part.split_once('=')?;
        keys.iter().copied().find(|known| *known == key)
    };
    let begins: Vec<(usize, &'static str)> =
        text.match_indices(',').filter_map(|(at, _)| Some((at, known(&text[at + 1..])?))).collect();
    let ends = begins.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
    let value =
        |((at, key), end): (&(usize, &'static str), usize)| (*key, &text[at + key.len() + 2..end]);
    let first = begins.first().map_or(text.len(), |(at, _)| *at);
    (&text[..first], begins.iter().zip(ends).map(value).collect())
}

impl FromStr for Meter {
    type Err = MeterSpecError;

    fn from_str(text: &str) -> Result<Self, MeterSpecError> {
        let names: Vec<&str> = MeterKind::ALL.iter().map(|kind| kind.name()).collect();
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some(kind) = MeterKind::named(kind) else {
            let help = did_you_mean(kind, &names, "kinds");
            return Err(MeterSpecError::Kind { text: text.to_owned(), help });
        };
        let (at, given) = pairs(rest, &KEYS);
        let mut meter = Self::of_kind(kind, at);
        for (key, value) in given {
            meter.set(key, value)?;
        }
        match meter.wrong() {
            Some((key, why)) => Err(MeterSpecError::Sense { key, why }),
            None => Ok(meter),
        }
    }
}

impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.at)?;
        let of = (!self.of.is_empty()).then(|| self.of.join("+"));
        let every = self.every.map(Nanos::to_text);
        let (id, scale) = (self.id.map(|id| id.to_string()), self.scale.map(|by| by.to_string()));
        let scope = self.scope.map(|scope| scope.name().to_owned());
        let pairs = [
            ("name", &self.name),
            ("scope", &scope),
            ("of", &of),
            ("every", &every),
            ("id", &id),
            ("oid", &self.oid),
            ("scale", &scale),
            ("credentials", &self.credentials),
            ("fingerprint", &self.fingerprint),
        ];
        for (key, value) in pairs {
            if let Some(value) = value {
                write!(f, ",{key}={value}")?;
            }
        }
        if self.insecure { f.write_str(",insecure=true") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meters_text_says_what_its_table_says_and_is_read_back() {
        let text =
            "snmp:pdu1:161,name=left,scope=storage,of=a+b,every=2s,oid=1.3.6.1.4.1.318,scale=0.1";
        let meter: Meter = text.parse().expect("a meter");
        let table = r#"
            kind = "snmp"
            at = "pdu1:161"
            name = "left"
            scope = "storage"
            of = ["a", "b"]
            every = "2s"
            oid = "1.3.6.1.4.1.318"
            scale = 0.1
        "#;
        assert_eq!(toml::from_str::<Meter>(table).expect("a table"), meter);
        assert_eq!(meter.to_string().parse(), Ok(meter));
    }

    #[test]
    fn a_command_may_have_commas_and_equal_signs() {
        let meter: Meter = "command:/bin/watts --of a,b x=1,scope=rack".parse().expect("a meter");
        assert_eq!(meter.at, "/bin/watts --of a,b x=1");
        assert_eq!(meter.scope(), PowerScope::Rack);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        for (text, says) in [
            ("shely:plug", "shelly"),
            ("shelly:", "needs an address"),
            ("shelly:plug,scope=room", "host, storage, rack, processor"),
            ("shelly:plug,every=1ms", "50 ms to 1m"),
            ("rapl:,scope=host", "only processors and their memory"),
            ("snmp:pdu", "oid"),
            ("shelly:plug,oid=1.3", "no oid"),
            ("redfish:bmc", "https://"),
            ("redfish:https://me:secret@bmc", "may not contain a name and password"),
            ("redfish:https://bmc,fingerprint=12", "64 hexadecimal"),
            ("redfish:https://bmc,insecure=yes", "true and false"),
        ] {
            let error = text.parse::<Meter>().expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
