use std::ops::Range;

/// Reason why a text is no formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormulaError {
    /// Byte range in the text.
    pub at: Range<usize>,
    /// Description of the mistake.
    pub message: String,
    /// Advice, if there is any.
    pub help: Option<String>,
}

impl FormulaError {
    /// Makes a mistake at a place.
    pub fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: None }
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
