//! Tables with a heading: RVTools, vCenter, PowerCLI, govc, or one of your own. A heading is known by its words, its
//! unit by what stands behind them.

use std::str::FromStr;

use units::Bytes;

use super::Input;
use crate::error::{ReadError, nearest};
use crate::place::{BadRows, Place};
use crate::row::{Facts, LeftOut, Record};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "`COLUMNS` says what each is called")]
pub enum Column {
    Vm,
    Id,
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

/// Each column: its name for `--column`, and the headings it has, the better first. RVTools' are those of its 4.x
/// sheets (and with "MB" of older ones), PowerCLI's those of `Get-VM | Export-Csv`, the counters' vSphere's own.
const COLUMNS: [(Column, &str, &[&str]); 18] = [
    (Column::Vm, "vm", &["vm", "vm name", "vmname", "virtual machine", "name", "domain", "guest"]),
    (Column::Id, "id", &["vm uuid", "uuid", "vm instance uuid"]),
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
        ],
    ),
    (Column::Vcpus, "vcpus", &["cpus", "vcpus", "numcpu", "num cpu", "vcpu", "cpu", "maxcpu"]),
    (Column::State, "state", &["powerstate", "power state", "state", "status"]),
    (Column::Template, "template", &["template"]),
    (Column::Placeholder, "placeholder", &["srm placeholder"]),
    (
        Column::Provisioned,
        "provisioned",
        &[
            "total disk capacity",
            "capacity",
            "provisioned",
            "provisionedspace",
            "provisioned space",
            "disk size",
            "maxdisk",
        ],
    ),
    (Column::Used, "used", &["in use", "used", "usedspace", "used space", "used capacity"]),
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

/// A heading that somebody says the meaning of: `vm=Hostname`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedColumn {
    column: Column,
    heading: String,
}

/// What is wrong with one.
#[derive(Debug, thiserror::Error)]
pub enum NamedColumnError {
    /// There is no `=`.
    #[error("\"{0}\" is not COLUMN=HEADING")]
    Form(String),
    /// There is no such column.
    #[error("there is no column \"{0}\"; columns are {known}", known = names().join(", "))]
    Unknown(String),
}

fn names() -> Vec<&'static str> {
    COLUMNS.iter().map(|(_, name, _)| *name).collect()
}

impl FromStr for NamedColumn {
    type Err = NamedColumnError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, heading) =
            text.split_once('=').ok_or_else(|| NamedColumnError::Form(text.to_owned()))?;
        let column = COLUMNS.iter().find(|(_, own, _)| *own == name);
        let (column, ..) = column.ok_or_else(|| NamedColumnError::Unknown(name.to_owned()))?;
        Ok(Self { column: *column, heading: heading.to_owned() })
    }
}

/// What rows of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Machines,
    Disks,
    Partitions,
    /// Of machines that another list has.
    Loads,
}

/// A cell, as far as its form is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Empty,
    Text(String),
    Number(f64),
    Flag(bool),
}

/// The meaning of a table's columns.
pub(super) struct Columns {
    rows: Rows,
    part: String,
    /// By number of the column in the table: what it holds, and bytes or rates in one of its units.
    meaning: Vec<Option<(Column, Option<f64>)>>,
}

impl Columns {
    /// From the heading. `part` is the sheet's name; it or the file's name may say what rows are.
    pub fn of(input: &Input<'_>, part: &str, headings: &[String]) -> Result<Self, ReadError> {
        let known: Vec<(String, Option<f64>)> = headings.iter().map(|own| heading(own)).collect();
        let mut meaning = vec![None; headings.len()];
        for (column, _, words) in &COLUMNS {
            let named = input.columns.iter().find(|named| named.column == *column);
            let at = match named {
                Some(named) => Some(position(input, named, headings)?),
                None => words.iter().find_map(|word| known.iter().position(|(own, _)| own == word)),
            };
            if let Some(at) = at
                && meaning[at].is_none()
            {
                meaning[at] = Some((*column, known[at].1));
            }
        }
        let has = |wanted| meaning.iter().flatten().any(|(own, _): &(Column, _)| *own == wanted);
        if !has(Column::Vm) {
            let found: Vec<&str> = headings.iter().take(8).map(String::as_str).collect();
            let part = if part.is_empty() { String::new() } else { format!(", {part}") };
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            return Err(ReadError::NoNames { path: input.path.clone(), part, found });
        }
        let name = format!("{} {part}", input.path).to_lowercase();
        let has_disks =
            known.iter().any(|(own, _)| ["disk", "disk key", "disk path"].contains(&own.as_str()));
        let loads = [
            Column::ReadIops,
            Column::WriteIops,
            Column::Iops,
            Column::ReadBytes,
            Column::WrittenBytes,
        ];
        let has_load = loads.into_iter().any(has);
        let lists = [Column::Provisioned, Column::Used, Column::State, Column::Vcpus];
        let lists = lists.into_iter().any(has);
        let rows = if name.contains("vpartition") || (has(Column::Consumed) && has_disks) {
            Rows::Partitions
        } else if name.contains("vdisk") || (has_disks && !has(Column::State)) {
            Rows::Disks
        } else if has_load && !lists {
            Rows::Loads
        } else {
            Rows::Machines
        };
        Ok(Self { rows, part: part.to_owned(), meaning })
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.meaning.len()
    }

    /// Whether anything is read from a column.
    pub fn wants(&self, column: usize) -> bool {
        self.meaning.get(column).is_some_and(Option::is_some)
    }

    /// Turns a row into what it says; rows without anything in them say nothing.
    pub fn row(
        &self,
        input: &Input<'_>,
        (row, cells): (u64, &[Cell]),
        bad: &mut BadRows,
    ) -> Option<Record> {
        if cells.iter().all(|cell| *cell == Cell::Empty) {
            return None;
        }
        let at = input.at(&self.part, row);
        match self.record(at.clone(), cells) {
            Ok(record) => Some(record),
            Err(what) => {
                bad.add(&at, what);
                None
            }
        }
    }

    fn record(&self, at: Place, cells: &[Cell]) -> Result<Record, String> {
        let mut record = Record {
            at,
            name: String::new(),
            id: String::new(),
            lists: self.rows == Rows::Machines,
            facts: Facts::default(),
        };
        let (mut size, mut is_raw) = (None, false);
        for (meaning, cell) in self.meaning.iter().zip(cells) {
            let Some((column, unit)) = *meaning else { continue };
            if *cell == Cell::Empty {
                continue;
            }
            let facts = &mut record.facts;
            match column {
                Column::Vm => record.name = cell.text(),
                Column::Id => record.id = cell.text().to_lowercase(),
                Column::Os => facts.os = cell.text(),
                Column::Vcpus => facts.vcpus = Some(cell.count()?),
                Column::State => facts.out = facts.out.or(state(&cell.text())?),
                Column::Template => {
                    facts.out = cell.flag()?.then_some(LeftOut::Template).or(facts.out)
                }
                Column::Placeholder => {
                    facts.out = cell.flag()?.then_some(LeftOut::Placeholder).or(facts.out);
                }
                Column::Provisioned => size = Some(cell.bytes(unit)?),
                Column::Used => facts.used = Some(cell.bytes(unit)?),
                Column::Consumed => facts.consumed = Some(cell.bytes(unit)?),
                Column::Raw => is_raw = cell.flag()?,
                Column::ReadIops => facts.load.reads_per_s = Some(cell.rate()?),
                Column::WriteIops => facts.load.writes_per_s = Some(cell.rate()?),
                Column::Iops => facts.load.io_per_s = Some(cell.rate()?),
                Column::ReadShare => facts.load.read_share = Some(cell.share()?),
                Column::ReadBytes => facts.load.read_bytes_per_s = Some(cell.bytes(unit)?.as_f64()),
                Column::WrittenBytes => {
                    facts.load.written_bytes_per_s = Some(cell.bytes(unit)?.as_f64())
                }
                Column::Class => facts.class = Some(cell.text()),
            }
        }
        if record.name.is_empty() {
            return Err("it names no virtual machine".to_owned());
        }
        self.place(&mut record.facts, size, is_raw);
        if record.lists && record.name.starts_with("vCLS") {
            record.facts.out = Some(LeftOut::Platform);
        }
        Ok(record)
    }

    /// A size is a machine's, or a disk's; sheets of disks and partitions tell nothing else.
    fn place(&self, facts: &mut Facts, size: Option<Bytes>, is_raw: bool) {
        match self.rows {
            Rows::Machines => facts.provisioned = size,
            Rows::Disks if is_raw => *facts = Facts { raw: size, ..Facts::default() },
            Rows::Disks => *facts = Facts { disk: size, load: facts.load, ..Facts::default() },
            Rows::Loads => {}
            Rows::Partitions => *facts = Facts { consumed: facts.consumed, ..Facts::default() },
        }
    }
}

/// The words of a heading in lower case, and the unit behind them: bytes, or bytes a second, in one.
fn heading(text: &str) -> (String, Option<f64>) {
    const UNITS: [(&str, f64); 9] = [
        ("tib", 1_099_511_627_776.0),
        ("gib", 1_073_741_824.0),
        ("mib", 1_048_576.0),
        ("kib", 1024.0),
        // Hypervisors that say MB mean powers of 1,024: VMware's headings changed from MB to MiB and their numbers
        // did not.
        ("tb", 1_099_511_627_776.0),
        ("gb", 1_073_741_824.0),
        ("mb", 1_048_576.0),
        ("kb", 1024.0),
        ("bytes", 1.0),
    ];
    let text = text.trim().to_lowercase().replace(['(', ')', '_'], " ");
    let text = text.trim();
    let text = text.strip_suffix("/s").unwrap_or(text).trim_end().to_owned();
    let unit = UNITS.iter().find_map(|(unit, size)| {
        let words = text.strip_suffix(unit)?;
        // "numgb" of PowerCLI has no blank; "kb" is no word of its own otherwise.
        (!words.is_empty()).then(|| (words.trim_end().to_owned(), Some(*size)))
    });
    // "reads/s" and "io/s" are words.
    let rate = |words: String| {
        if ["reads", "writes", "io"].contains(&words.as_str()) { words + "/s" } else { words }
    };
    let (words, unit) = unit.unwrap_or((text, None));
    (rate(words), unit)
}

fn position(
    input: &Input<'_>,
    named: &NamedColumn,
    headings: &[String],
) -> Result<usize, ReadError> {
    let wanted = named.heading.trim().to_lowercase();
    headings.iter().position(|own| own.trim().to_lowercase() == wanted).ok_or_else(|| {
        let (_, column, _) =
            COLUMNS.iter().find(|(own, ..)| *own == named.column).expect("it is one of them");
        ReadError::NoHeading {
            path: input.path.clone(),
            heading: named.heading.clone(),
            column,
            nearest: nearest(&named.heading, headings.iter().map(String::as_str)),
        }
    })
}

fn state(text: &str) -> Result<Option<LeftOut>, String> {
    match text.to_lowercase().replace([' ', '-', '_'], "").as_str() {
        "poweredon" | "on" | "running" | "up" => Ok(None),
        "poweredoff" | "off" | "stopped" | "suspended" | "shutoff" | "paused" | "down" => {
            Ok(Some(LeftOut::Off))
        }
        _ => Err(format!("its state \"{text}\" is neither on nor off")),
    }
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.trim().to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
        }
    }

    fn number(&self) -> Result<f64, String> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => number(text),
            Self::Empty | Self::Flag(_) => None,
        };
        number
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| format!("\"{}\" is no number of 0 or more", self.text()))
    }

    fn count(&self) -> Result<u32, String> {
        let number = self.number()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and within bounds"
        )]
        if number.fract() == 0.0 && number <= 65536.0 {
            Ok(number as u32)
        } else {
            Err(format!("{number} is no count of processors"))
        }
    }

    /// A rate of I/Os. No machine makes a thousand million a second.
    fn rate(&self) -> Result<f64, String> {
        let number = self.number()?;
        if number <= 1e9 {
            Ok(number)
        } else {
            Err(format!("{number} I/Os a second are none of a machine"))
        }
    }

    /// `0.7`, `70` and `70 %` are the same.
    fn share(&self) -> Result<f64, String> {
        let text = self.text();
        let bare = Self::Text(text.trim_end_matches(['%', ' ']).to_owned()).number()?;
        let share = if text.ends_with('%') || bare > 1.0 { bare / 100.0 } else { bare };
        if share <= 1.0 { Ok(share) } else { Err(format!("\"{text}\" is no share")) }
    }

    fn bytes(&self, unit: Option<f64>) -> Result<Bytes, String> {
        let bytes = match (self.number(), unit) {
            (Ok(number), Some(unit)) => number * unit,
            (Ok(_), None) => {
                return Err(format!(
                    "the size {} has no unit, in its heading or behind it",
                    self.text()
                ));
            }
            (Err(_), _) => {
                let text = self.text();
                let size = text.parse::<Bytes>().map_err(|_| format!("\"{text}\" is no size"))?;
                size.as_f64()
            }
        };
        // An exbibyte on one machine is a wrong unit.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is below 2^60"
        )]
        if bytes < 1_152_921_504_606_846_976.0 {
            Ok(Bytes::new(bytes as u64))
        } else {
            Err(format!("{} are more than a machine has", self.text()))
        }
    }

    fn flag(&self) -> Result<bool, String> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            other => match other.text().to_lowercase().as_str() {
                "true" | "yes" | "1" => Ok(true),
                "false" | "no" | "0" => Ok(false),
                text => Err(format!("\"{text}\" is neither true nor false")),
            },
        }
    }
}

/// A number as people and spreadsheets write it: `1,024`, `1.024,5`, `1 024`. A single comma with three digits behind
/// it separates thousands, since platforms write whole numbers so; any other single mark is a decimal point.
fn number(text: &str) -> Option<f64> {
    let text: String =
        text.trim().chars().filter(|letter| !letter.is_whitespace() && *letter != '\'').collect();
    let (comma, point) = (text.rfind(','), text.rfind('.'));
    let plain = match (comma, point) {
        (Some(comma), Some(point)) if comma > point => text.replace('.', "").replace(',', "."),
        (Some(_), Some(_)) => text.replace(',', ""),
        (Some(_), None) if is_grouped(&text, ',') => text.replace(',', ""),
        (Some(_), None) => text.replacen(',', ".", 1),
        (None, Some(_)) if text.matches('.').count() > 1 && is_grouped(&text, '.') => {
            text.replace('.', "")
        }
        _ => text,
    };
    plain.parse().ok()
}

fn is_grouped(text: &str, mark: char) -> bool {
    let mut groups = text.split(mark);
    let first = groups.next().unwrap_or_default();
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len())
        && is_digits(first)
        && groups.all(|group| group.len() == 3 && is_digits(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_platforms_and_people_write_them() {
        for (text, value) in [
            ("1024", 1024.0),
            ("1,024", 1024.0),
            ("1,024,000", 1_024_000.0),
            ("1.024,5", 1024.5),
            ("1,024.5", 1024.5),
            ("12,5", 12.5),
            ("12.5", 12.5),
            ("1 024", 1024.0),
            ("1.024.000", 1_024_000.0),
            ("1'024", 1024.0),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        assert_eq!(number("many"), None);
    }

    #[test]
    fn headings_are_known_by_words_and_unit() {
        assert_eq!(
            heading("Total disk capacity MiB"),
            ("total disk capacity".to_owned(), Some(1_048_576.0))
        );
        assert_eq!(
            heading("ProvisionedSpaceGB"),
            ("provisionedspace".to_owned(), Some(1_073_741_824.0))
        );
        assert_eq!(heading("Read (MiB/s)"), ("read".to_owned(), Some(1_048_576.0)));
        assert_eq!(heading("Reads/s"), ("reads/s".to_owned(), None));
        assert_eq!(heading("VM"), ("vm".to_owned(), None));
    }

    #[test]
    fn cells_without_a_unit_or_beyond_all_measure_are_refused() {
        assert!(Cell::Number(40.0).bytes(None).is_err());
        assert_eq!(Cell::Text("40 GiB".to_owned()).bytes(None), Ok(Bytes::new(40 << 30)));
        assert!(Cell::Number(1e15).bytes(Some(1_048_576.0)).is_err());
        assert!(Cell::Number(-1.0).rate().is_err());
        assert_eq!(Cell::Text("70 %".to_owned()).share(), Ok(0.7));
        assert_eq!(Cell::Number(70.0).share(), Ok(0.7));
        assert!(Cell::Text("170 %".to_owned()).share().is_err());
    }
}
