//! Errors of an estate.

use std::io;

/// Error for a file that cannot be read as an inventory.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// File that cannot be opened or read.
    #[error("reading {path} failed")]
    Io {
        /// Path of the file.
        path: String,
        #[source]
        /// Error of the system.
        source: io::Error,
    },
    /// File above the size limit.
    #[error("{path} has {bytes} bytes, but the maximum is {most}")]
    TooLarge {
        /// Path of the file.
        path: String,
        /// Size of the file.
        bytes: u64,
        /// Size limit.
        most: u64,
    },
    /// Workbook that unpacks to more bytes than a real one would (a decompression bomb).
    #[error("{path} unpacks to more than {most} bytes, too large for an inventory")]
    Bomb {
        /// Path of the file.
        path: String,
        /// Size limit.
        most: u64,
    },
    /// File that has none of the known formats.
    #[error("{path} has none of the known formats: {known}")]
    Unknown {
        /// Path of the file.
        path: String,
        /// Names of the formats.
        known: String,
    },
    /// File that is damaged, or does not follow its format.
    #[error("{path} is not {format}: {what}")]
    Broken {
        /// Path of the file.
        path: String,
        /// Format.
        format: &'static str,
        /// Error in the file.
        what: String,
    },
    /// Table without a column of VM names.
    #[error("{path}{part} has no column with names of virtual machines: its headings are {found}")]
    NoNames {
        /// Path of the file.
        path: String,
        /// Name of the sheet, after a comma.
        part: String,
        /// First headings.
        found: String,
    },
    /// Named heading that no column has.
    #[error("{path} has no heading \"{heading}\" for {column}{nearest}")]
    NoHeading {
        /// Path of the file.
        path: String,
        /// Heading as given.
        heading: String,
        /// Column that it stands for.
        column: &'static str,
        /// Nearest heading, as text.
        nearest: String,
    },
    /// Ambiguous number that nothing in the file decides.
    #[error(
        "{path}, column \"{heading}\", row {row}: \"{text}\" is {point} or {comma}, and no number \
        in the file shows which"
    )]
    OpenMark {
        /// Path of the file.
        path: String,
        /// Heading of the column.
        heading: String,
        /// Row of the cell.
        row: u64,
        /// Text of the cell.
        text: Box<str>,
        /// Value with a decimal point.
        point: Box<str>,
        /// Value with a decimal comma.
        comma: Box<str>,
    },
    /// Two numbers of one column with different decimal marks.
    #[error(
        "{path}, column \"{heading}\": \"{point}\" (row {point_row}) has a decimal point and \"{comma}\" (row {comma_row}) a decimal comma"
    )]
    BothMarks {
        /// Path of the file.
        path: String,
        /// Heading of the column.
        heading: String,
        /// Cell with a decimal point.
        point: String,
        /// Row of that cell.
        point_row: u64,
        /// Cell with a decimal comma.
        comma: String,
        /// Row of that cell.
        comma_row: u64,
    },
    /// Sizes without a unit.
    #[error(
        "{path}: \"{heading}\" holds sizes such as {example}, but neither the heading nor a cell \
        has a unit"
    )]
    NoUnit {
        /// Path of the file.
        path: String,
        /// Heading of the column.
        heading: String,
        /// Name of the column for options.
        column: &'static str,
        /// Example of a cell.
        example: String,
    },
    /// Error of a server instead of samples.
    #[error("{path} is an error of Prometheus, not a result: {kind}: {what}")]
    Answer {
        /// Path of the file.
        path: String,
        /// Kind of the error, as Prometheus names it.
        kind: String,
        /// Text of the error.
        what: String,
    },
    /// Load without the name of the VM.
    #[error("{path} does not name its virtual machine")]
    Nameless {
        /// Path of the file.
        path: String,
    },
}

impl ReadError {
    /// Returns a hint on what to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { .. } => {
                "see docs/guides/estate.md for how each platform's list is made. A table of your own needs a \
                 heading \"VM\" and, for what is known, \"Used GiB\", \"Read IOPS\", \"Write IOPS\""
                    .to_owned()
            }
            Self::NoNames { .. } => {
                "assign the headings: --column vm=HEADING, and for others used, provisioned, os, \
                vcpus, ..."
                    .to_owned()
            }
            Self::NoHeading { .. } => "headings are compared without upper and lower \
                case".to_owned(),
            Self::Nameless { path } => format!("name it: VM={path}"),
            Self::Bomb { .. } | Self::TooLarge { .. } => {
                "export the list again, without sheets that are not about VMs and disks".to_owned()
            }
            Self::OpenMark { point, comma, .. } => {
                format!("--decimal . reads it as {point}, --decimal , as {comma}")
            }
            Self::BothMarks { .. } => {
                "write all numbers of the column with one mark, or leave out the others with --decimal . or --decimal ,"
                    .to_owned()
            }
            Self::NoUnit { column, .. } => format!("give the unit: --unit {column}=MiB (or KiB, \
                GiB, TiB, B)"),
            Self::Answer { what, .. } if what.contains("maximum resolution") => {
                "ask for fewer samples: a larger step, or less time".to_owned()
            }
            Self::Answer { .. } => "query Prometheus again, and give its answer with \"status\": \
                \"success\"".to_owned(),
            Self::Io { .. } | Self::Broken { .. } => return None,
        })
    }
}

/// Error for an estate that cannot become a tile.
#[derive(Debug, thiserror::Error)]
pub enum EstateError {
    /// No VM left.
    #[error("of {rows} listed rows no virtual machine is left: {why}")]
    Empty {
        /// Number of listed VMs.
        rows: usize,
        /// Reasons why they were left out.
        why: String,
    },
    /// No VM with a known size.
    #[error("none of {machines} virtual machines has a size")]
    NoSizes {
        /// Number of VMs.
        machines: usize,
    },
    /// The estate has no class with the given name.
    #[error("there is no class \"{class}\" ({of}); classes are {known}")]
    NoClass {
        /// Class as given.
        class: String,
        /// Option or file in which the class was given.
        of: String,
        /// Names of all classes.
        known: String,
    },
    /// The estate's files have no VM with the given name.
    #[error("there is no virtual machine \"{name}\" in these files{nearest}")]
    NoVm {
        /// Name as given.
        name: String,
        /// Nearest name, as text.
        nearest: String,
    },
    /// Pattern that matches no VM.
    #[error("no virtual machine in these files has a name like \"{pattern}\"")]
    NoFit {
        /// Pattern as given.
        pattern: String,
    },
    /// Generated definition that is invalid: a bug of this program.
    #[error("the workload of class {class} would be wrong: {what}")]
    Made {
        /// Name of the class.
        class: String,
        /// Error in the definition.
        what: String,
    },
}

impl EstateError {
    /// Returns a hint on what to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Empty { .. } => "--all keeps VMs that are powered off".to_owned(),
            Self::NoSizes { .. } => {
                "a heading such as \"Used GiB\" or \"Capacity MiB\" is needed; --column used=HEADING names one"
                    .to_owned()
            }
            Self::NoClass { .. } => "tilemark estate classes lists the meaning of each \
                class".to_owned(),
            Self::NoFit { .. } => {
                "a pattern has * for any text and ? for any letter: --class 'database=*ora*'".to_owned()
            }
            Self::NoVm { .. } | Self::Made { .. } => return None,
        })
    }
}

/// Finds the nearest of some names, and returns the end of a message: `, did you mean "x"?`; empty
/// if no name is near.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    spec::nearest(name, names).map_or_else(String::new, |own| format!(", did you mean \"{own}\"?"))
}
