use std::ops::Range;

/// Why a text is no formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormulaError {
    /// Where, in bytes of the text.
    pub at: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// The way out, if one is known.
    pub help: Option<String>,
}

impl FormulaError {
    /// A mistake at a place.
    pub fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: None }
    }

    /// Adds the way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
