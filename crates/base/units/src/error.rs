/// Why a text is not a quantity. The message names the text and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text has no number in front.
    #[error("\"{text}\" does not start with a number")]
    NoNumber {
        /// The text as given.
        text: String,
    },
    /// The unit is missing.
    #[error("\"{text}\" has no unit; write for example \"{example}\"")]
    NoUnit {
        /// The text as given.
        text: String,
        /// A text that would be right.
        example: String,
    },
    /// The unit is not one of the known ones.
    #[error("\"{unit}\" in \"{text}\" is not a unit of {quantity}; known are {known}")]
    UnknownUnit {
        /// The text as given.
        text: String,
        /// The unit that was found.
        unit: String,
        /// What was being parsed.
        quantity: &'static str,
        /// The units that are known.
        known: &'static str,
    },
    /// The value does not fit or is not a whole number of base units.
    #[error("\"{text}\" is out of range: {reason}")]
    OutOfRange {
        /// The text as given.
        text: String,
        /// The bound that is broken, with its value.
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
        /// What it means as written.
        bytes: u64,
        /// The binary text the user probably meant.
        binary: String,
        /// What that would mean.
        binary_bytes: u64,
    },
}
