/// Reason why a text is not a quantity. The message quotes the text and shows a valid form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text has no number at its start.
    #[error("\"{text}\" does not start with a number")]
    NoNumber {
        /// The text as given.
        text: String,
    },
    /// The text has a number, but no unit after it.
    #[error("\"{text}\" has no unit; write for example \"{example}\"")]
    NoUnit {
        /// The text as given.
        text: String,
        /// Text that would be valid.
        example: String,
    },
    /// The unit is unknown.
    #[error("\"{unit}\" in \"{text}\" is not a unit of {quantity}; supported are {known}")]
    UnknownUnit {
        /// The text as given.
        text: String,
        /// Unit in the text.
        unit: String,
        /// Name of the expected quantity.
        quantity: &'static str,
        /// List of the known units.
        known: &'static str,
    },
    /// The value is out of range, or is not a whole number of base units.
    #[error("\"{text}\" is out of range: {reason}")]
    OutOfRange {
        /// The text as given.
        text: String,
        /// Description of the violated limit, with its value.
        reason: String,
    },
    /// The size is decimal, but must be binary.
    #[error(
        "\"{text}\" is a decimal size ({bytes} B), but a block size must be binary; write \
         \"{binary}\" for {binary_bytes} B"
    )]
    DecimalBlockSize {
        /// The text as given.
        text: String,
        /// Number of bytes that the text means.
        bytes: u64,
        /// Binary size that the user probably meant, as text.
        binary: String,
        /// Number of bytes that `binary` means.
        binary_bytes: u64,
    },
}
