use spec::{LadderError, LadderSpec};

use crate::ladder::Climb;

/// What a ladder's text asks for; no text is a search.
pub(crate) fn climb_of(text: Option<&str>) -> Result<Climb, LadderError> {
    Ok(match text.map(str::parse).transpose()? {
        None | Some(LadderSpec::Search { .. }) => Climb::Search,
        Some(LadderSpec::Fixed(tiles)) => Climb::Range { first: tiles, last: tiles },
        Some(LadderSpec::Range(first, last)) => Climb::Range { first, last },
    })
}

/// The text that [`climb_of`] reads back; nothing for a search.
pub(crate) fn tiles_text(climb: Climb) -> Option<String> {
    match climb.range()? {
        (first, last) if first == last => Some(first.to_string()),
        (first, last) => Some(format!("{first}..{last}")),
    }
}
