use spec::{LadderError, LadderSpec};

use crate::ladder::Climb;

/// Parses the text of a ladder; a search if there is no text.
pub(crate) fn climb_of(text: Option<&str>) -> Result<Climb, LadderError> {
    Ok(match text.map(str::parse).transpose()? {
        None | Some(LadderSpec::Search { .. }) => Climb::Search,
        Some(LadderSpec::Fixed(tiles)) => Climb::Range { first: tiles, last: tiles },
        Some(LadderSpec::Range(first, last)) => Climb::Range { first, last },
    })
}

/// Returns the text from which [`climb_of`] restores the climb; `None` for a search.
pub(crate) fn tiles_text(climb: Climb) -> Option<String> {
    match climb.range()? {
        (first, last) if first == last => Some(first.to_string()),
        (first, last) => Some(format!("{first}..{last}")),
    }
}
