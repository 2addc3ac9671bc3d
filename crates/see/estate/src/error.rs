//! What can be wrong with an estate.

use std::io;

/// A file that cannot be read as an inventory.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be opened or read.
    #[error("reading {path} failed")]
    Io {
        /// The file.
        path: String,
        #[source]
        /// Why.
        source: io::Error,
    },
    /// It is larger than anything that is read.
    #[error("{path} has {bytes} bytes, at most {most} are read")]
    TooLarge {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
        /// The bound.
        most: u64,
    },
    /// A workbook unpacks to more than a real one would.
    #[error("{path} unpacks to more than {most} bytes: no inventory does")]
    Bomb {
        /// The file.
        path: String,
        /// The bound.
        most: u64,
    },
    /// It is none of the formats.
    #[error("{path} is none of: {known}")]
    Unknown {
        /// The file.
        path: String,
        /// Names of formats.
        known: String,
    },
    /// It is damaged, or its content is not what its form promises.
    #[error("{path} is no {format}: {what}")]
    Broken {
        /// The file.
        path: String,
        /// What it was read as.
        format: &'static str,
        /// What is wrong.
        what: String,
    },
    /// A table has no column of machines' names.
    #[error("{path}{part} has no column of names of virtual machines: its headings are {found}")]
    NoNames {
        /// The file.
        path: String,
        /// The sheet, behind a comma.
        part: String,
        /// Headings, the first of them.
        found: String,
    },
    /// A column that was named is not there.
    #[error("{path} has no heading \"{heading}\" for {column}{nearest}")]
    NoHeading {
        /// The file.
        path: String,
        /// As it was named.
        heading: String,
        /// What it was to be.
        column: &'static str,
        /// The nearest heading, in words.
        nearest: String,
    },
    /// A number has two readings, and nothing in the file decides.
    #[error(
        "{path}, column \"{heading}\", row {row}: \"{text}\" is {point} or {comma}, and no number in the file says which"
    )]
    OpenMark {
        /// The file.
        path: String,
        /// Heading of the column.
        heading: String,
        /// Row of the cell.
        row: u64,
        /// The cell.
        text: Box<str>,
        /// Its value with a decimal point.
        point: Box<str>,
        /// Its value with a decimal comma.
        comma: Box<str>,
    },
    /// Two numbers of one column have different decimal marks.
    #[error(
        "{path}, column \"{heading}\": \"{point}\" (row {point_row}) has a decimal point and \"{comma}\" (row {comma_row}) a decimal comma"
    )]
    BothMarks {
        /// The file.
        path: String,
        /// Heading of the column.
        heading: String,
        /// The cell with a decimal point.
        point: String,
        /// Its row.
        point_row: u64,
        /// The cell with a decimal comma.
        comma: String,
        /// Its row.
        comma_row: u64,
    },
    /// Sizes have no unit.
    #[error(
        "{path}: \"{heading}\" holds sizes such as {example}, and neither the heading nor a cell has a unit"
    )]
    NoUnit {
        /// The file.
        path: String,
        /// Heading of the column.
        heading: String,
        /// The column's name for options.
        column: &'static str,
        /// One of its cells.
        example: String,
    },
    /// A server answered with an error instead of samples.
    #[error("{path} is an error of Prometheus and no result: {kind}: {what}")]
    Answer {
        /// The file.
        path: String,
        /// Its kind, as Prometheus calls it.
        kind: String,
        /// Its own words.
        what: String,
    },
    /// A load does not say whose it is.
    #[error("{path} does not say of which virtual machine it is")]
    Nameless {
        /// The file.
        path: String,
    },
}

impl ReadError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { .. } => {
                "see docs/guides/estate.md for how each platform's list is made; a table of your own needs a \
                 heading \"VM\" and, for what is known, \"Used GiB\", \"Read IOPS\", \"Write IOPS\""
                    .to_owned()
            }
            Self::NoNames { .. } => {
                "say which heading is which: --column vm=HEADING, and for others used, provisioned, os, vcpus, ..."
                    .to_owned()
            }
            Self::NoHeading { .. } => "headings are compared without regard to case".to_owned(),
            Self::Nameless { path } => format!("name it: VM={path}"),
            Self::Bomb { .. } | Self::TooLarge { .. } => {
                "export the list again, without sheets that are not about machines and disks".to_owned()
            }
            Self::OpenMark { point, comma, .. } => {
                format!("--decimal . takes {point}, --decimal , takes {comma}")
            }
            Self::BothMarks { .. } => {
                "write all numbers of the column with one mark, or leave out the others with --decimal . or --decimal ,"
                    .to_owned()
            }
            Self::NoUnit { column, .. } => format!("say it: --unit {column}=MiB (or KiB, GiB, TiB, B)"),
            Self::Answer { what, .. } if what.contains("maximum resolution") => {
                "ask for fewer samples: a larger step, or less time".to_owned()
            }
            Self::Answer { .. } => "ask Prometheus again, and give its answer with \"status\": \"success\"".to_owned(),
            Self::Io { .. } | Self::Broken { .. } => return None,
        })
    }
}

/// An estate that cannot be made a tile.
#[derive(Debug, thiserror::Error)]
pub enum EstateError {
    /// Nothing was left.
    #[error("no virtual machine is left of {rows} that were listed: {why}")]
    Empty {
        /// Machines listed.
        rows: usize,
        /// Why they were left out.
        why: String,
    },
    /// Nobody knows how large they are.
    #[error("none of {machines} virtual machines has a size")]
    NoSizes {
        /// How many there are.
        machines: usize,
    },
    /// A class that does not exist.
    #[error("there is no class \"{class}\" ({of}); classes are {known}")]
    NoClass {
        /// As it was named.
        class: String,
        /// Where.
        of: String,
        /// All names.
        known: String,
    },
    /// A machine that does not exist.
    #[error("there is no virtual machine \"{name}\" in these files{nearest}")]
    NoVm {
        /// As it was named.
        name: String,
        /// The nearest name, in words.
        nearest: String,
    },
    /// A pattern of names that fits no machine.
    #[error("no virtual machine in these files has a name like \"{pattern}\"")]
    NoFit {
        /// As it was given.
        pattern: String,
    },
    /// A definition that we made is not a good one.
    #[error("the workload of class {class} would be wrong: {what}")]
    Made {
        /// The class.
        class: String,
        /// What is wrong.
        what: String,
    },
}

impl EstateError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Empty { .. } => "--all keeps machines that are off".to_owned(),
            Self::NoSizes { .. } => {
                "a heading such as \"Used GiB\" or \"Capacity MiB\" is needed; --column used=HEADING names one"
                    .to_owned()
            }
            Self::NoClass { .. } => "tilemark estate classes lists what each stands for".to_owned(),
            Self::NoFit { .. } => {
                "a pattern has * for any text and ? for any letter: --class 'database=*ora*'".to_owned()
            }
            Self::NoVm { .. } | Self::Made { .. } => return None,
        })
    }
}

/// The nearest of some names, as the end of a message: `, did you mean "x"?`; empty where none is near.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    spec::nearest(name, names).map_or_else(String::new, |own| format!(", did you mean \"{own}\"?"))
}
