use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use untrusted::Malformed;

/// What somebody called a run and noted of it; it means nothing to what was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Labels {
    /// A name beside the id; several runs may have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Values by key: `branch` is `main`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Labels {
    /// Whether nobody said anything.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.tags.is_empty() && self.note.is_none()
    }

    /// Whether it has all of these tags.
    pub fn has(&self, wanted: &[(String, String)]) -> bool {
        wanted.iter().all(|(key, value)| self.tags.get(key) == Some(value))
    }
}

/// A tag: `KEY=VALUE`.
///
/// # Errors
///
/// What a tag is, if it is none.
pub fn tag(text: &str) -> Result<(String, String), Malformed> {
    let is_key = |key: &str| {
        let rest = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !key.is_empty() && key.len() <= 64 && key.chars().all(rest)
    };
    match text.split_once('=') {
        Some((key, value)) if is_key(key) && value.chars().count() <= 256 => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(
            "a tag is KEY=VALUE: a key of letters, digits, -, _ and ., 64 at most, and a value of \
             256 characters at most"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_a_key_and_a_value() {
        assert_eq!(tag("branch=main"), Ok(("branch".to_owned(), "main".to_owned())));
        assert_eq!(tag("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())), "values may have any");
        for wrong in ["branch", "=main", "bra nch=main", &format!("k={}", "x".repeat(257))] {
            assert!(tag(wrong).is_err(), "{wrong}");
        }
        let labels = Labels { tags: [tag("a=1").expect("a tag")].into(), ..Labels::default() };
        assert!(labels.has(&[]) && labels.has(&[tag("a=1").expect("a tag")]));
        assert!(!labels.has(&[tag("a=2").expect("a tag")]));
    }
}
