use std::path::PathBuf;

use miette::{Diagnostic, NamedSource, SourceSpan};

/// Why a definition could not be had.
#[derive(Debug, thiserror::Error, Diagnostic)]
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
    #[diagnostic(transparent)]
    Invalid(Box<Invalid>),
    /// Two workloads of a tile, from different files, call themselves the same.
    #[error("tile \"{tile}\" has two workloads that are named \"{name}\"")]
    #[diagnostic(help(
        "change the name in one of the workload files; results are told apart by it"
    ))]
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
    #[diagnostic(help("write KEY.PATH=VALUE, such as tier.fast.size=366GiB"))]
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
        #[help]
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
        #[help]
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
        #[help]
        help: String,
    },
}

/// A text that is not a valid definition: the first mistake, and all others found with it.
///
/// A mistake of form (syntax, type, unknown key) is alone: what comes after it cannot be
/// read. Mistakes of meaning are all reported at once.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{first}")]
pub struct Invalid {
    /// The file's name and text.
    #[source_code]
    pub file: NamedSource<String>,
    /// The first mistake.
    pub first: Problem,
    /// Where it is, in bytes.
    #[label("here")]
    pub span: Option<SourceSpan>,
    /// What to do about it.
    #[help]
    pub help: Option<String>,
    /// The other mistakes.
    #[related]
    pub others: Vec<Problem>,
}

impl Invalid {
    pub(crate) fn new(name: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        assert!(!problems.is_empty(), "an invalid definition has at least one problem");
        let first = problems.remove(0);
        Self {
            file: NamedSource::new(name, text.to_owned()).with_language("toml"),
            span: first.span,
            help: first.help.clone(),
            first,
            others: problems,
        }
    }

    /// All mistakes, in the order of the checks.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Line and column of the first mistake, both from 1; none if it has no place.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let before = self.file.inner().get(..self.span?.offset())?;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }
}

/// One mistake in a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub struct Problem {
    /// What is wrong, with the value seen and the value allowed.
    pub message: String,
    /// Where in the text, in bytes; none for a definition that was not read from a text.
    #[label("here")]
    pub span: Option<SourceSpan>,
    /// What to do about it.
    #[help]
    pub help: Option<String>,
    /// Where in the definition: `action[2].steps[0].read.disk`.
    pub path: String,
}
