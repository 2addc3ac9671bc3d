use std::ops::Range;

/// Reason why a text is not a formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormulaError {
    /// Byte range in the text.
    pub at: Range<usize>,
    /// Description of the problem.
    pub message: String,
    /// Advice, if there is any.
    pub help: Option<String>,
}

impl FormulaError {
    /// Creates an error at a byte range.
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
