use crate::ladder::Climb;
use crate::plan::PlanError;

/// Reads `"4"` or `"1..8"`; no text is a search.
pub fn parse_tiles(text: Option<&str>) -> Result<Climb, PlanError> {
    let Some(text) = text else { return Ok(Climb::Search) };
    let wrong = || PlanError::Tiles { text: text.to_owned() };
    let number = |part: &str| part.trim().parse::<u32>().map_err(|_| wrong());
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (number(first)?, number(last.trim_start_matches('='))?),
        None => (number(text)?, number(text)?),
    };
    if first == 0 || last < first { Err(wrong()) } else { Ok(Climb::Range { first, last }) }
}

/// The text that [`parse_tiles`] reads back.
pub(crate) fn tiles_text(climb: Climb) -> Option<String> {
    match climb {
        Climb::Search => None,
        Climb::Range { first, last } if first == last => Some(first.to_string()),
        Climb::Range { first, last } => Some(format!("{first}..{last}")),
    }
}
