use std::ops::Range;
use std::path::PathBuf;

/// Error when loading a definition.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The file could not be read.
    #[error("cannot read {what} file {}", path.display())]
    Read {
        /// Kind of definition: `"plan"`, `"tile"`, `"workload"` or `"array"`.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The text is not a valid definition.
    #[error(transparent)]
    Invalid(Box<Invalid>),
    /// Two workloads of a tile, from different files, have the same name.
    #[error("tile \"{tile}\" has two workloads that are named \"{name}\"")]
    SameName {
        /// Name of the tile.
        tile: String,
        /// Name of both workloads.
        name: String,
    },
    /// Infrastructure operations do not fit the tile.
    #[error("the operations \"{group}\" cannot run beside the tile \"{tile}\": {problem}")]
    Operations {
        /// The group as given.
        group: String,
        /// Name of the tile.
        tile: String,
        /// Description of the conflict.
        problem: String,
    },
    /// A text is not a setting such as `tier.fast.size=366GiB`.
    #[error("the setting \"{setting}\" {reason}")]
    Setting {
        /// The setting as given.
        setting: String,
        /// Reason why it is not a setting.
        reason: &'static str,
    },
    /// A configuration of a study changes a workload that its tile does not have.
    #[error(
        "configuration \"{configuration}\" changes the workload \"{workload}\", which its tile \
         \"{tile}\" does not have"
    )]
    NotInTile {
        /// Name of the configuration.
        configuration: String,
        /// The workload as given.
        workload: String,
        /// Name of the tile.
        tile: String,
        /// Text with the nearest name and all known names.
        help: String,
    },
    /// The second datastore of a configuration's operations is invalid.
    #[error("configuration \"{configuration}\" has the second place \"{second}\", {problem}")]
    Second {
        /// Name of the configuration.
        configuration: String,
        /// Text of the second datastore as given.
        second: String,
        /// Reason why it is invalid.
        problem: &'static str,
        /// Text with the nearest pool and all known pools, or the missing part.
        help: String,
    },
    /// No shipped definition has this name.
    #[error("{what} \"{name}\" is not one of the shipped ones")]
    NotShipped {
        /// Kind of definition: `"tile"`, `"workload"` or `"array"`.
        what: &'static str,
        /// The name as given.
        name: String,
        /// Text with the nearest name and all known names.
        help: String,
    },
}

impl SpecError {
    /// Returns advice on how to solve the problem, if there is any. Each problem of an invalid text
    /// has its own advice.
    pub fn help(&self) -> Option<&str> {
        Some(match self {
            Self::Read { .. } | Self::Invalid(_) | Self::Operations { .. } => return None,
            Self::SameName { .. } => {
                "change the name in one of the workload files; results need different names"
            }
            Self::Setting { .. } => "write KEY.PATH=VALUE, such as tier.fast.size=366GiB",
            Self::NotInTile { help, .. }
            | Self::Second { help, .. }
            | Self::NotShipped { help, .. } => help,
        })
    }
}

/// An invalid text, with all problems that were found in it.
///
/// A problem of form (syntax, type, unknown key) is reported alone, because the text after it
/// cannot be parsed. Semantic problems are all reported at once.
#[derive(Debug, thiserror::Error)]
#[error("{}", problems[0])]
pub struct Invalid {
    /// Name of the file in messages.
    pub name: String,
    /// Content of the file.
    pub text: String,
    /// Problems in the order of the checks; at least one.
    problems: Vec<Problem>,
}

impl Invalid {
    /// Creates the error of one or more problems.
    ///
    /// # Panics
    /// If `problems` is empty.
    pub fn new(name: &str, text: &str, problems: Vec<Problem>) -> Self {
        assert!(!problems.is_empty(), "an invalid definition has at least one problem");
        Self { name: name.to_owned(), text: text.to_owned(), problems }
    }

    /// Returns all problems, in the order of the checks.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter()
    }

    /// Returns the line and column of the first problem, both counted from 1; `None` if it has no
    /// place.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let before = self.text.get(..self.problems[0].span.as_ref()?.start)?;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }
}

/// A problem in a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Description of the problem, with the given value and the allowed values.
    pub message: String,
    /// Byte range in the text; `None` for a definition that was built in memory.
    pub span: Option<Range<usize>>,
    /// Advice on how to correct it.
    pub help: Option<String>,
    /// Path of the value: `action[2].steps[0].read.disk`.
    pub path: String,
}
