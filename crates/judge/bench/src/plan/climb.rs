use spec::{LadderError, LadderSpec};

use crate::ladder::Climb;

/// Way of climbing for the text of a ladder; without a text, a search.
pub(crate) fn climb_of(text: Option<&str>) -> Result<Climb, LadderError> {
    Ok(match text.map(str::parse).transpose()? {
        None | Some(LadderSpec::Search { .. }) => Climb::Search,
        Some(LadderSpec::Fixed(tiles)) => Climb::Range { first: tiles, last: tiles },
        Some(LadderSpec::Range(first, last)) => Climb::Range { first, last },
    })
}

/// Text that [`climb_of`] parses back; `None` for a search.
pub(crate) fn tiles_text(climb: Climb) -> Option<String> {
    match climb.range()? {
        (first, last) if first == last => Some(first.to_string()),
        (first, last) => Some(format!("{first}..{last}")),
    }
}
