use spec::SpecError;
use spec::array::{Array, TierPlace, WriteMode};
use toml::{Table, Value};
use units::Bytes;

/// What is to be different. Absent values leave the array as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// Size of the tier: of the array's own, or of a new one if it has none.
    pub cache: Option<Bytes>,
    /// Which tier is meant, or where the new one is.
    pub cache_at: Option<TierPlace>,
    /// Its policy; `nhit` is `lru` that lets a page in with its third access.
    pub policy: Option<String>,
    /// Its page.
    pub page: Option<Bytes>,
    /// What it does with writes.
    pub write: Option<WriteMode>,
    /// Disks of all pools together, or of all hosts.
    pub disks: Option<u32>,
    /// Kind of the disks that hold data.
    pub disk: Option<String>,
    /// Kind of the link.
    pub link: Option<String>,
    /// Size of the controller's memory for reads.
    pub memory: Option<Bytes>,
    /// Single keys, `KEY.PATH=VALUE`; laid over all the others.
    pub with: Vec<String>,
}

/// Why an array cannot be changed so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Nothing was asked for.
    #[error("nothing is changed, so there is nothing to ask")]
    Nothing,
    /// All that was asked for is there.
    #[error("the array \"{array}\" is already like that")]
    Same {
        /// The array.
        array: String,
    },
    /// An option cannot be carried out.
    #[error("{option}: {message}")]
    Option {
        /// The option with its value.
        option: String,
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A single key.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The array cannot be written as text.
    #[error("making the text of the array")]
    Text(#[from] toml::ser::Error),
}

impl ChangeError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Nothing | Self::Same { .. } => Some(
                "say what to change: --cache SIZE, --policy NAME, --disks N, --disk NAME, --link \
                 NAME, --memory SIZE or --with KEY=VALUE"
                    .to_owned(),
            ),
            Self::Option { hint, .. } => hint.clone(),
            Self::Spec(_) | Self::Text(_) => None,
        }
    }

    pub(super) fn option(option: &str, message: impl Into<String>, hint: &str) -> Self {
        let hint = Some(hint.to_owned());
        Self::Option { option: option.to_owned(), message: message.into(), hint }
    }
}

/// One thing that is different.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The option with its value: `--disks 11`.
    pub option: String,
    /// What it comes to, in words: `11 disks`.
    pub words: String,
    /// Beginnings of the keys that it sets.
    pub keys: Vec<String>,
    /// What is assumed with it.
    pub assumed: Vec<String>,
}

/// An array with its changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// The array.
    pub array: Array,
    /// What is different.
    pub changes: Vec<Change>,
}

/// Changes on their way to be an overlay.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub overlay: Table,
    pub changes: Vec<Change>,
}

impl Draft {
    /// Sets a key.
    pub fn set(&mut self, path: &[&str], value: Value) {
        let Some((last, tables)) = path.split_last() else { return };
        let mut table = &mut self.overlay;
        for name in tables {
            let inner =
                table.entry((*name).to_owned()).or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(inner) = inner else { return };
            table = inner;
        }
        table.insert((*last).to_owned(), value);
    }

    /// Notes what is different.
    pub fn note(&mut self, option: &str, words: impl Into<String>, keys: &[&str]) {
        self.changes.push(Change {
            option: option.to_owned(),
            words: words.into(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            assumed: Vec::new(),
        });
    }

    /// Adds what is assumed with the change that was noted last.
    pub fn assume(&mut self, text: String) {
        if let Some(change) = self.changes.last_mut() {
            change.assumed.push(text);
        }
    }
}

/// A mistake in what an option has set is that option's.
pub(super) fn blame(changes: &[Change], error: SpecError) -> ChangeError {
    let SpecError::Invalid(invalid) = &error else { return error.into() };
    let found = invalid.problems().find_map(|problem| {
        let sets = |key: &String| {
            let rest = problem.path.strip_prefix(key.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let by = changes.iter().find(|change| change.keys.iter().any(sets))?;
        Some(ChangeError::Option {
            option: by.option.clone(),
            message: problem.message.clone(),
            hint: problem.help.clone(),
        })
    });
    found.unwrap_or_else(|| error.into())
}

/// A size as files write it.
pub(super) fn text(size: Bytes) -> Value {
    Value::String(plain(size))
}

/// A size as a command line writes it, exactly.
pub(super) fn plain(size: Bytes) -> String {
    size.to_text()
}
