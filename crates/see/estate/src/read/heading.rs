//! Headings of tables: of RVTools, vCenter, PowerCLI, govc, or your own. A heading is recognised by
//! its words, and its unit by the text after them.

use std::str::FromStr;

use super::size;

/// Content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "`COLUMNS` has the name of each column")]
pub enum Column {
    Vm,
    Id,
    Time,
    Part,
    Os,
    Vcpus,
    State,
    Template,
    Placeholder,
    Provisioned,
    Used,
    Consumed,
    Raw,
    ReadIops,
    WriteIops,
    Iops,
    ReadShare,
    ReadBytes,
    WrittenBytes,
    Class,
}

/// Columns: the name for `--column`, and the headings, the preferred first. RVTools' headings are
/// from its 4.x sheets (and with "MB" from older ones), PowerCLI's from `Get-VM | Export-Csv`, the
/// counters' are vSphere's own.
pub(super) const COLUMNS: [(Column, &str, &[&str]); 20] = [
    (Column::Vm, "vm", &["vm", "vm name", "vmname", "virtual machine", "name", "domain", "guest"]),
    (Column::Id, "id", &["vm uuid", "uuid", "vm instance uuid"]),
    (
        Column::Time,
        "time",
        &[
            "timestamp",
            "time stamp",
            "datetime",
            "date/time",
            "date time",
            "sample time",
            "interval start",
            "date",
            "time",
            "zeitstempel",
            "zeitpunkt",
            "datum",
            "uhrzeit",
            "zeit",
            "horodatage",
            "heure",
        ],
    ),
    (
        Column::Part,
        "disk",
        &["instance", "disk", "disk key", "disk path", "virtual disk", "hard disk", "device"],
    ),
    (
        Column::Os,
        "os",
        &[
            "os according to the configuration file",
            "os according to the vmware tools",
            "operating system",
            "guest os",
            "guestfullname",
            "os",
            "ostools",
        ],
    ),
    (Column::Vcpus, "vcpus", &["cpus", "vcpus", "numcpu", "num cpu", "vcpu", "cpu", "maxcpu"]),
    (Column::State, "state", &["powerstate", "power state", "state", "status"]),
    (Column::Template, "template", &["template"]),
    (Column::Placeholder, "placeholder", &["srm placeholder", "srmplaceholder"]),
    (
        Column::Provisioned,
        "provisioned",
        &[
            "total disk capacity",
            "totaldiskcapacity",
            "capacity",
            "provisioned",
            "provisionedspace",
            "provisioned space",
            "disk size",
            "disk capacity",
            "maxdisk",
            "disk",
            "size",
            "storage",
        ],
    ),
    (
        Column::Used,
        "used",
        &["in use", "inuse", "used", "usedspace", "used space", "used capacity"],
    ),
    (Column::Consumed, "consumed", &["consumed"]),
    (Column::Raw, "raw", &["raw"]),
    (
        Column::ReadIops,
        "read-iops",
        &[
            "read iops",
            "reads/s",
            "iops read",
            "virtualdisk.numberreadaveraged.average",
            "virtualdisk.numberreadaveraged",
        ],
    ),
    (
        Column::WriteIops,
        "write-iops",
        &[
            "write iops",
            "writes/s",
            "iops write",
            "virtualdisk.numberwriteaveraged.average",
            "virtualdisk.numberwriteaveraged",
        ],
    ),
    (Column::Iops, "iops", &["iops", "peak iops", "95th percentile iops", "io/s"]),
    (Column::ReadShare, "read-share", &["read %", "reads %", "% read", "read share", "read ratio"]),
    (Column::ReadBytes, "read-bytes", &["read", "read throughput", "virtualdisk.read.average"]),
    (
        Column::WrittenBytes,
        "written-bytes",
        &["write", "written", "write throughput", "virtualdisk.write.average"],
    ),
    (Column::Class, "class", &["workload", "class"]),
];

/// Heading whose meaning the user gives: `vm=Hostname`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedColumn {
    pub(super) column: Column,
    pub(super) heading: String,
}

/// Error in the user's meaning of a column.
#[derive(Debug, thiserror::Error)]
pub enum NamedColumnError {
    /// Text without `=`.
    #[error("\"{0}\" is not COLUMN=HEADING")]
    Form(String),
    /// No column has the name before `=`.
    #[error("there is no column \"{0}\"; columns are {known}", known = names().join(", "))]
    Unknown(String),
    /// The unit is none of the known units of size.
    #[error("\"{0}\" is not a unit of sizes: write KiB, MiB, GiB, TiB or B")]
    Unit(String),
}

pub(super) fn name_of(column: Column) -> &'static str {
    COLUMNS.iter().find(|(own, ..)| *own == column).map_or("", |(_, name, _)| name)
}

fn names() -> Vec<&'static str> {
    COLUMNS.iter().map(|(_, name, _)| *name).collect()
}

impl FromStr for NamedColumn {
    type Err = NamedColumnError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, heading) =
            text.split_once('=').ok_or_else(|| NamedColumnError::Form(text.to_owned()))?;
        Ok(Self { column: column_named(name)?, heading: heading.to_owned() })
    }
}

fn column_named(name: &str) -> Result<Column, NamedColumnError> {
    let found = COLUMNS.iter().find(|(_, own, _)| *own == name);
    found.map(|(column, ..)| *column).ok_or_else(|| NamedColumnError::Unknown(name.to_owned()))
}

/// Unit that the user gives for columns whose heading has none: `used=MiB`, or `MiB` for every
/// column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedUnit {
    pub(super) column: Option<Column>,
    /// Number of bytes in one unit.
    pub(super) bytes: f64,
}

impl FromStr for NamedUnit {
    type Err = NamedColumnError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (column, unit) = match text.split_once('=') {
            Some((name, unit)) => (Some(column_named(name)?), unit),
            None => (None, text),
        };
        let bytes = size::unit(unit).ok_or_else(|| NamedColumnError::Unit(unit.to_owned()))?;
        Ok(Self { column, bytes })
    }
}

/// Parsed heading: words in lower case, and the unit after them in bytes, or bytes per second.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Heading {
    pub words: String,
    pub unit: Option<f64>,
    /// Sheet name of RVTools that older exports put before each heading: `vinfo` of `vInfoVMName`.
    pub sheet: Option<&'static str>,
}

/// Units that a heading may end in. Units of one or two letters need a space before them.
const UNITS: [&str; 9] = ["tib", "gib", "mib", "kib", "tb", "gb", "mb", "kb", "bytes"];
const UNITS_APART: [&str; 8] = ["to", "go", "mo", "ko", "tio", "gio", "mio", "octets"];
/// Headings that mean a size only together with a unit: `Disk GB`.
const NEED_UNIT: [&str; 3] = ["disk", "size", "storage"];
const SHEETS: [&str; 3] = ["vinfo", "vdisk", "vpartition"];
/// Unit of sizes in RVTools, with or without a unit in the heading: MiB.
const RVTOOLS_UNIT: f64 = 1_048_576.0;

impl Heading {
    /// Returns the number of bytes in one unit of the column. A heading without a unit also has one
    /// if its tool always uses the same unit.
    pub fn size_unit(&self) -> Option<f64> {
        self.unit.or(self.sheet.map(|_| RVTOOLS_UNIT))
    }

    /// Returns true if these words are the column's heading. Words that can also name disks mean a
    /// size only together with a unit.
    pub fn fits(&self, column: Column, words: &str) -> bool {
        let is_size = column == Column::Provisioned && NEED_UNIT.contains(&words);
        let is_part = column == Column::Part;
        self.words == words
            && (!is_size || self.unit.is_some())
            && !(is_part && self.unit.is_some())
    }

    /// Parses a heading.
    pub fn of(text: &str) -> Self {
        let plain = text.replace(['(', ')', '[', ']', '_'], " ");
        let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        // KBps of vSphere is kilobytes, Kbps would be bits.
        let plain = plain.strip_suffix("Bps").map_or(plain.clone(), |rest| format!("{rest}B"));
        let lower = plain.to_lowercase();
        let lower = lower.strip_suffix("/s").unwrap_or(&lower).trim_end();
        let sheet = SHEETS.into_iter().find(|sheet| {
            let rest = lower.strip_prefix(sheet).unwrap_or_default();
            rest.starts_with(|letter: char| letter.is_alphanumeric())
        });
        let lower = sheet.map_or(lower, |sheet| &lower[sheet.len()..]);
        let apart = lower.rsplit_once(' ').filter(|(_, unit)| UNITS_APART.contains(unit));
        let joined = || {
            // "numgb" of PowerCLI has no space; otherwise "kb" is no word.
            UNITS.into_iter().find_map(|unit| Some((lower.strip_suffix(unit)?, unit)))
        };
        let (words, unit) = match apart.or_else(joined).filter(|(words, _)| !words.is_empty()) {
            Some((words, unit)) => (words.trim_end(), size::unit(unit)),
            None => (lower, None),
        };
        let unit = match words {
            // vSphere's counters of bytes are KBps.
            "virtualdisk.read.average" | "virtualdisk.write.average" => unit.or(Some(1024.0)),
            _ => unit,
        };
        // "reads/s" and "io/s" are words.
        let is_rate = ["reads", "writes", "io"].contains(&words);
        let words = if is_rate { format!("{words}/s") } else { words.to_owned() };
        Self { words, unit, sheet }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_known_by_words_and_unit() {
        let read = |text| {
            let heading = Heading::of(text);
            (heading.words, heading.unit)
        };
        let (gib, mib) = (1_073_741_824.0, 1_048_576.0);
        for (text, words, unit) in [
            ("Total disk capacity MiB", "total disk capacity", Some(mib)),
            ("ProvisionedSpaceGB", "provisionedspace", Some(gib)),
            ("Used [GB]", "used", Some(gib)),
            ("Used\u{a0}Go", "used", Some(gib)),
            ("Photo", "photo", None),
            ("Read (MiB/s)", "read", Some(mib)),
            ("Read (KBps)", "read", Some(1024.0)),
            ("Reads/s", "reads/s", None),
            ("VM", "vm", None),
            ("vInfoInUse", "inuse", None),
            ("vInfoVMName", "vmname", None),
            ("virtualDisk.read.average", "virtualdisk.read.average", Some(1024.0)),
        ] {
            assert_eq!(read(text), (words.to_owned(), unit), "{text}");
        }
        assert_eq!(Heading::of("vDisk size").sheet, None);
        assert_eq!(Heading::of("vInfoInUse").size_unit(), Some(mib), "RVTools has its own");
        assert!(Heading::of("Disk GB").fits(Column::Provisioned, "disk"));
        assert!(Heading::of("Disk").fits(Column::Part, "disk"));
        assert!(!Heading::of("Disk").fits(Column::Provisioned, "disk"));
        assert!("used=MiB".parse::<NamedUnit>().is_ok() && "GB".parse::<NamedUnit>().is_ok());
        assert!("used=parsec".parse::<NamedUnit>().is_err());
    }
}
