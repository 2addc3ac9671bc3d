use spec::SpecError;
use spec::array::{Array, TierPlace, WriteMode};
use toml::{Table, Value};
use units::Bytes;

/// Changes of an array. Absent values leave the array as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// Size of the tier: of the array's own, or of a new one if it has none.
    pub cache: Option<Bytes>,
    /// Place of the tier to change or add.
    pub cache_at: Option<TierPlace>,
    /// Replacement policy; `nhit` is `lru` that admits a page on its third access.
    pub policy: Option<String>,
    /// Page size.
    pub page: Option<Bytes>,
    /// Write mode.
    pub write: Option<WriteMode>,
    /// Disks of all pools together, or of all hosts.
    pub disks: Option<DiskCount>,
    /// Kind of the disks that hold data.
    pub disk: Option<String>,
    /// Kind of the link.
    pub link: Option<String>,
    /// Size of the controller's memory for reads.
    pub memory: Option<Bytes>,
    /// Single keys, `KEY.PATH=VALUE`; applied after all other changes.
    pub with: Vec<String>,
}

/// Number of disks after a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DiskCount {
    /// Total number of disks.
    Total(u32),
    /// Multiple of the present number of disks.
    Times(f64),
}

/// Text that is not a number of disks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a number of disks, such as 12, nor a multiple, such as 1.5x")]
pub struct DiskCountError {
    /// Text as the user gave it.
    pub text: String,
}

/// Largest multiple of the disks; a tier of a thousand times the disks is a typing error.
const TIMES_MAX: f64 = 1000.0;

impl std::str::FromStr for DiskCount {
    type Err = DiskCountError;

    fn from_str(text: &str) -> Result<Self, DiskCountError> {
        let error = || DiskCountError { text: text.to_owned() };
        match text.strip_suffix('x') {
            None => text
                .parse::<std::num::NonZeroU32>()
                .map(|total| Self::Total(total.get()))
                .map_err(|_| error()),
            Some(times) => times
                .parse()
                .ok()
                .filter(|times| (1.0 / TIMES_MAX..=TIMES_MAX).contains(times))
                .map(Self::Times)
                .ok_or_else(error),
        }
    }
}

impl std::fmt::Display for DiskCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Total(total) => write!(f, "{total}"),
            Self::Times(times) => write!(f, "{times}x"),
        }
    }
}

/// Reason why an array cannot be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// No change given.
    #[error("no change is given")]
    Nothing,
    /// Array that already has the changes.
    #[error("the array \"{array}\" already has this change")]
    Same {
        /// Name of the array.
        array: String,
    },
    /// Option that cannot be applied.
    #[error("{option}: {message}")]
    Option {
        /// Option with its value.
        option: String,
        /// Error text.
        message: String,
        /// Hint on what to do.
        hint: Option<String>,
    },
    /// Invalid single key.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Array that cannot be written as text.
    #[error("converting the array to text")]
    Text(#[from] toml::ser::Error),
}

impl ChangeError {
    /// Returns a hint on how to solve the problem, if there is one.
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

/// Change of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Option with its value: `--disks 11`.
    pub option: String,
    /// Effect as text: `11 disks`.
    pub words: String,
    /// Prefixes of the keys that it sets.
    pub keys: Vec<String>,
    /// Assumptions of the change.
    pub assumed: Vec<String>,
    /// True if the change has an effect only where disks are the limit, but it is unknown whether
    /// they are. The interval then includes the interval of the unchanged storage.
    pub may_do_nothing: bool,
}

/// Array with its changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// Changed array.
    pub array: Array,
    /// Other models of the same storage, with the same changes.
    pub others: Vec<Array>,
    /// List of the changes.
    pub changes: Vec<Change>,
}

/// Changes that are being collected as an overlay.
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

    /// Records a change.
    pub fn note(&mut self, option: &str, words: impl Into<String>, keys: &[&str]) {
        self.changes.push(Change {
            option: option.to_owned(),
            words: words.into(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            assumed: Vec::new(),
            may_do_nothing: false,
        });
    }

    /// Adds an assumption of the last recorded change.
    pub fn assume(&mut self, text: String) {
        if let Some(change) = self.changes.last_mut() {
            change.assumed.push(text);
        }
    }

    /// Records that the last recorded change may do nothing.
    pub fn may_do_nothing(&mut self) {
        if let Some(change) = self.changes.last_mut() {
            change.may_do_nothing = true;
        }
    }
}

/// Attributes an error in a key to the option that set it.
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

/// Returns a size in the form used in files.
pub(super) fn text(size: Bytes) -> Value {
    Value::String(plain(size))
}

/// Returns a size in the form used on a command line, without rounding.
pub(super) fn plain(size: Bytes) -> String {
    size.to_text()
}
