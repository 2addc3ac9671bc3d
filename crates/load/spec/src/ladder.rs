use std::fmt;
use std::str::FromStr;

use crate::plan::Ladder;

/// Numbers of tiles to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LadderSpec {
    /// Grow, then search the edge. Text form: `search`.
    Search {
        /// Maximum number of tiles; `None` for as many as fit the datastore.
        max: Option<u32>,
    },
    /// A single step with this many tiles, at least 1. Text form: `4`.
    Fixed(u32),
    /// Steps from the first to the last number of tiles, both included. Text form: `1..8`.
    Range(u32, u32),
}

/// Reason why a text is not a ladder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LadderError {
    /// The text is neither a number nor a range.
    #[error(
        "tiles \"{0}\" is neither \"search\", nor a number such as \"4\", nor a range such as \"1..8\""
    )]
    Form(String),
    /// The ladder contains a step with zero tiles.
    #[error("tiles \"{0}\" begins at 0 and must begin at 1 or more")]
    Zero(String),
    /// The range ends below its start.
    #[error("tiles \"{text}\" ends at {last}, before it begins at {first}")]
    Backwards {
        /// Text as it was given.
        text: String,
        /// Start of the range.
        first: u32,
        /// End of the range.
        last: u32,
    },
}

impl FromStr for LadderSpec {
    type Err = LadderError;

    fn from_str(text: &str) -> Result<Self, LadderError> {
        let number =
            |part: &str| part.trim().parse::<u32>().map_err(|_| LadderError::Form(text.to_owned()));
        if text.trim() == "search" {
            return Ok(Self::Search { max: None });
        }
        let (first, last) = match text.split_once("..") {
            Some((first, last)) => (number(first)?, Some(number(last)?)),
            None => (number(text)?, None),
        };
        match last {
            _ if first == 0 => Err(LadderError::Zero(text.to_owned())),
            None => Ok(Self::Fixed(first)),
            Some(last) if last < first => {
                Err(LadderError::Backwards { text: text.to_owned(), first, last })
            }
            Some(last) => Ok(Self::Range(first, last)),
        }
    }
}

impl fmt::Display for LadderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Search { .. } => f.write_str("search"),
            Self::Fixed(tiles) => write!(f, "{tiles}"),
            Self::Range(first, last) => write!(f, "{first}..{last}"),
        }
    }
}

impl Ladder {
    /// Returns the ladder from both settings together; a search if neither is given.
    pub fn spec(&self) -> Result<LadderSpec, LadderError> {
        match self.tiles.as_deref().map(str::parse).transpose()? {
            None | Some(LadderSpec::Search { .. }) => {
                Ok(LadderSpec::Search { max: self.tiles_max })
            }
            Some(other) => Ok(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_is_a_search_a_number_or_a_range() {
        assert_eq!("4".parse(), Ok(LadderSpec::Fixed(4)));
        assert_eq!("1..8".parse(), Ok(LadderSpec::Range(1, 8)));
        assert_eq!("search".parse(), Ok(LadderSpec::Search { max: None }));
        for wrong in ["", "0", "0..3", "8..1", "1..", "..3", "1-8", "-1", "four"] {
            assert!(wrong.parse::<LadderSpec>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bound_alone_is_a_bounded_search() {
        let ladder = Ladder { tiles: None, tiles_max: Some(6), repeats: None };
        assert_eq!(ladder.spec(), Ok(LadderSpec::Search { max: Some(6) }));
    }
}
