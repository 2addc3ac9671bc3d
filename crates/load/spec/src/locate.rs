//! Location of a path such as `action[2].steps[0].read.disk` in the text of a file.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Path of a value in a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DefinitionPath {
    segments: Vec<Segment>,
    /// True if the path means the key itself, not its value.
    key: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
}

impl DefinitionPath {
    /// Returns the path of the value of `name` below this path.
    pub fn key(&self, name: &str) -> Self {
        self.with(Segment::Key(name.to_owned()), false)
    }

    /// Returns the path of the key `name` below this path.
    pub fn at_key(&self, name: &str) -> Self {
        self.with(Segment::Key(name.to_owned()), true)
    }

    /// Returns the path of the element `index` below this path.
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index), false)
    }

    fn with(&self, segment: Segment, key: bool) -> Self {
        let mut segments = self.segments.clone();
        segments.push(segment);
        Self { segments, key }
    }

    /// Returns the byte range of this path. If the file does not contain it, the range of the
    /// nearest enclosing path is returned.
    pub fn span(&self, document: &Spanned<DeTable<'_>>) -> Option<Range<usize>> {
        let Some((Segment::Key(first), rest)) = self.segments.split_first() else {
            return None;
        };
        let (key, mut value) = entry(document.get_ref(), first)?;
        let mut span = if rest.is_empty() && self.key { key } else { value.span() };
        for (position, segment) in rest.iter().enumerate() {
            let last = position + 1 == rest.len();
            match (segment, value.get_ref()) {
                (Segment::Key(name), DeValue::Table(table)) => {
                    let Some((key, inner)) = entry(table, name) else { break };
                    span = if last && self.key { key } else { inner.span() };
                    value = inner;
                }
                (Segment::Index(index), DeValue::Array(array)) => {
                    let Some(inner) = array.get(*index) else { break };
                    span = inner.span();
                    value = inner;
                }
                _ => break,
            }
        }
        Some(span)
    }
}

/// Returns the innermost path whose range contains a byte of the text.
pub(crate) fn path_at(document: &Spanned<DeTable<'_>>, offset: usize) -> DefinitionPath {
    let mut place = DefinitionPath::default();
    descend_table(document.get_ref(), offset, &mut place);
    place
}

fn descend_table(table: &DeTable<'_>, offset: usize, place: &mut DefinitionPath) {
    let found =
        table.iter().find(|(key, value)| key.span().contains(&offset) || holds(value, offset));
    if let Some((key, value)) = found {
        place.segments.push(Segment::Key(key.get_ref().clone().into_owned()));
        descend(value, offset, place);
    }
}

fn descend(value: &Spanned<DeValue<'_>>, offset: usize, place: &mut DefinitionPath) {
    match value.get_ref() {
        DeValue::Table(table) => descend_table(table, offset, place),
        DeValue::Array(array) => {
            let inner = array.iter().enumerate().find(|(_, each)| holds(each, offset));
            if let Some((index, inner)) = inner {
                place.segments.push(Segment::Index(index));
                descend(inner, offset, place);
            }
        }
        _ => {}
    }
}

/// Returns true if a byte belongs to a value. The span of a table with a header only covers the
/// header.
fn holds(value: &Spanned<DeValue<'_>>, offset: usize) -> bool {
    value.span().contains(&offset)
        || match value.get_ref() {
            DeValue::Table(table) => table
                .iter()
                .any(|(key, value)| key.span().contains(&offset) || holds(value, offset)),
            DeValue::Array(array) => array.iter().any(|each| holds(each, offset)),
            _ => false,
        }
}

fn entry<'t, 'i>(
    table: &'t DeTable<'i>,
    name: &str,
) -> Option<(Range<usize>, &'t Spanned<DeValue<'i>>)> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(key, value)| (key.span(), value))
}

impl fmt::Display for DefinitionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Key(name) if position == 0 => f.write_str(name)?,
                Segment::Key(name) => write!(f, ".{name}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
