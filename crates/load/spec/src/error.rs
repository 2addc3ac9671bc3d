use std::ops::Range;
use std::path::PathBuf;

/// Why a definition could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The file could not be read at all.
    #[error("cannot read {what} file {}", path.display())]
    Read {
        /// `"plan"`, `"tile"`, `"workload"` or `"array"`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The text is not a valid definition.
    #[error(transparent)]
    Invalid(Box<Invalid>),
    /// Two workloads of a tile, from different files, call themselves the same.
    #[error("tile \"{tile}\" has two workloads that are named \"{name}\"")]
    SameName {
        /// The tile's name.
        tile: String,
        /// The name that comes twice.
        name: String,
    },
    /// Infrastructure operations that do not go with a tile.
    #[error("the operations \"{group}\" cannot run beside the tile \"{tile}\": {problem}")]
    Operations {
        /// The group as given.
        group: String,
        /// The tile's name.
        tile: String,
        /// What does not go together.
        problem: String,
    },
    /// A setting such as `tier.fast.size=366GiB` that is none.
    #[error("the setting \"{setting}\" {reason}")]
    Setting {
        /// The setting as given.
        setting: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A configuration of a study changes a workload that its tile has not.
    #[error(
        "configuration \"{configuration}\" changes the workload \"{workload}\", which its tile \
         \"{tile}\" has not"
    )]
    NotInTile {
        /// The configuration.
        configuration: String,
        /// The workload as given.
        workload: String,
        /// The tile.
        tile: String,
        /// The nearest name and all known ones.
        help: String,
    },
    /// A second place of a configuration's operations that is none.
    #[error("configuration \"{configuration}\" has the second place \"{second}\", {problem}")]
    Second {
        /// The configuration.
        configuration: String,
        /// The place as given.
        second: String,
        /// What is wrong with it.
        problem: &'static str,
        /// The nearest pool and all that there are, or what is missing.
        help: String,
    },
    /// A name that no shipped definition has.
    #[error("{what} \"{name}\" is not shipped")]
    NotShipped {
        /// `"tile"`, `"workload"` or `"array"`.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The nearest name and all known ones.
        help: String,
    },
}

impl SpecError {
    /// What to do about it; for a text that is not valid, each mistake has its own.
    pub fn help(&self) -> Option<&str> {
        Some(match self {
            Self::Read { .. } | Self::Invalid(_) | Self::Operations { .. } => return None,
            Self::SameName { .. } => {
                "change the name in one of the workload files; results are told apart by it"
            }
            Self::Setting { .. } => "write KEY.PATH=VALUE, such as tier.fast.size=366GiB",
            Self::NotInTile { help, .. }
            | Self::Second { help, .. }
            | Self::NotShipped { help, .. } => help,
        })
    }
}

/// A text that is not a valid definition, with all mistakes that were found in it.
///
/// A mistake of form (syntax, type, unknown key) is alone: what comes after it cannot be
/// read. Mistakes of meaning are all reported at once.
#[derive(Debug, thiserror::Error)]
#[error("{}", problems[0])]
pub struct Invalid {
    /// The file's name.
    pub name: String,
    /// What the file holds.
    pub text: String,
    /// At least one mistake, in the order of the checks.
    problems: Vec<Problem>,
}

impl Invalid {
    pub(crate) fn new(name: &str, text: &str, problems: Vec<Problem>) -> Self {
        assert!(!problems.is_empty(), "an invalid definition has at least one problem");
        Self { name: name.to_owned(), text: text.to_owned(), problems }
    }

    /// All mistakes, in the order of the checks.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter()
    }

    /// Line and column of the first mistake, both from 1; none if it has no place.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let before = self.text.get(..self.problems[0].span.as_ref()?.start)?;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }
}

/// One mistake in a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// What is wrong, with the value seen and the value allowed.
    pub message: String,
    /// Where in the text, in bytes; none for a definition that was not read from a text.
    pub span: Option<Range<usize>>,
    /// What to do about it.
    pub help: Option<String>,
    /// Where in the definition: `action[2].steps[0].read.disk`.
    pub path: String,
}
