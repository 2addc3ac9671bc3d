use std::fmt;
use std::str::FromStr;

/// A format that [`crate::open`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Binary vSCSI traces, versions 1 and 2.
    Vscsi,
    /// MSR Cambridge CSV.
    Msr,
}

struct Described {
    format: Format,
    name: &'static str,
    aliases: &'static [&'static str],
    help: &'static str,
}

const DESCRIBED: [Described; 2] = [
    Described {
        format: Format::Vscsi,
        name: "vscsi",
        aliases: &["cloudphysics", "vscsi1", "vscsi2"],
        help: "VMware vSCSI trace, binary, version 1 (32 B) or 2 (40 B)",
    },
    Described {
        format: Format::Msr,
        name: "msr",
        aliases: &["msr-cambridge", "cambridge"],
        help: "MSR Cambridge CSV: Windows file time, host, disk, Read or Write, bytes, response",
    },
];

impl Format {
    /// All of them, in the order they are listed to users.
    pub fn all() -> impl Iterator<Item = Self> {
        DESCRIBED.iter().map(|described| described.format)
    }

    /// Its name, as `--from` takes it.
    pub fn name(self) -> &'static str {
        self.described().name
    }

    /// Other names `--from` takes.
    pub fn aliases(self) -> &'static [&'static str] {
        self.described().aliases
    }

    /// One line for a list of formats.
    pub fn help(self) -> &'static str {
        self.described().help
    }

    fn described(self) -> &'static Described {
        let found = DESCRIBED.iter().find(|described| described.format == self);
        found.expect("every format is described, which a test holds")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.to_ascii_lowercase().replace('_', "-");
        let is = |d: &&Described| d.name == wanted || d.aliases.contains(&wanted.as_str());
        DESCRIBED.iter().find(is).map(|d| d.format).ok_or_else(|| {
            let names: Vec<&str> = DESCRIBED.iter().map(|d| d.name).collect();
            format!("trace format \"{text}\" is none of {}", names.join(", "))
        })
    }
}
