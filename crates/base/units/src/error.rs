/// Reason why a text is not a quantity. The message has the text and a valid form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Text without a number at its start.
    #[error("\"{text}\" does not start with a number")]
    NoNumber {
        /// The text as given.
        text: String,
    },
    /// Missing unit.
    #[error("\"{text}\" has no unit; write for example \"{example}\"")]
    NoUnit {
        /// The text as given.
        text: String,
        /// A text that would be right.
        example: String,
    },
    /// Unknown unit.
    #[error("\"{unit}\" in \"{text}\" is not a unit of {quantity}; known are {known}")]
    UnknownUnit {
        /// The text as given.
        text: String,
        /// Unit in the text.
        unit: String,
        /// Quantity that was expected.
        quantity: &'static str,
        /// Known units.
        known: &'static str,
    },
    /// Value that does not fit, or is not a whole number of base units.
    #[error("\"{text}\" is out of range: {reason}")]
    OutOfRange {
        /// The text as given.
        text: String,
        /// Broken limit, with its value.
        reason: String,
    },
    /// A decimal size where only a binary one makes sense.
    #[error(
        "\"{text}\" is a decimal size ({bytes} B) and a block size must be binary; \
         write \"{binary}\" for {binary_bytes} B"
    )]
    DecimalBlockSize {
        /// The text as given.
        text: String,
        /// Bytes of the text as written.
        bytes: u64,
        /// The binary text the user probably meant.
        binary: String,
        /// Bytes of the binary text.
        binary_bytes: u64,
    },
}
