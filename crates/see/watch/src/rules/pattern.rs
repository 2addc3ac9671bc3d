use std::fmt;

use serde::Deserialize;

/// Pattern of names: `*` stands for any number of letters, including none, and `?` for one letter.
/// Every other letter stands for itself, because names of VMs may contain any letter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(String);

/// Error for an empty pattern, which matches no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an empty pattern matches no name; leave the key out, or write \"*\"")]
pub struct EmptyPattern;

impl TryFrom<String> for Pattern {
    type Error = EmptyPattern;

    fn try_from(text: String) -> Result<Self, EmptyPattern> {
        if text.is_empty() { Err(EmptyPattern) } else { Ok(Self(text)) }
    }
}

impl Default for Pattern {
    fn default() -> Self {
        Self("*".to_owned())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pattern {
    /// Returns true if the pattern matches every name.
    pub fn is_any(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'*')
    }

    /// Returns true if the pattern matches a name. The number of steps is at most the product of
    /// both lengths.
    pub fn fits(&self, name: &str) -> bool {
        let (mut pattern, mut rest) = (self.0.as_str(), name);
        // Pattern behind the last star, and what that star has not taken yet.
        let mut star: Option<(&str, &str)> = None;
        loop {
            let mut letters = rest.chars();
            match (pattern.chars().next(), letters.next()) {
                (Some('*'), _) => {
                    pattern = &pattern[1..];
                    star = Some((pattern, rest));
                }
                (None, None) => return true,
                (Some(own), Some(letter)) if own == '?' || own == letter => {
                    pattern = &pattern[own.len_utf8()..];
                    rest = letters.as_str();
                }
                _ => {
                    let Some((behind, taken)) = star else { return false };
                    let mut letters = taken.chars();
                    if letters.next().is_none() {
                        return false;
                    }
                    (pattern, rest) = (behind, letters.as_str());
                    star = Some((behind, rest));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Pattern::try_from(pattern.to_owned()).expect("a pattern").fits(name)
    }

    /// Matches by definition, in exponential time.
    fn model(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', behind)), _) => {
                model(behind, name) || name.split_first().is_some_and(|(_, n)| model(pattern, n))
            }
            (Some((own, behind)), Some((letter, n))) if *own == '?' || own == letter => {
                model(behind, n)
            }
            _ => false,
        }
    }

    #[test]
    fn star_takes_any_letters_and_brackets_are_letters() {
        assert!(fits("sql*", "sql") && fits("sql*", "sql-7") && !fits("sql*", "mysql"));
        assert!(fits("*a*b", "xaxxab") && !fits("*a*b", "xaxxabc"));
        assert!(fits("vm?", "vmä") && !fits("vm?", "vm"));
        assert!(fits("a[1]", "a[1]") && !fits("a[1]", "a1"));
        assert!(fits("*", "") && !fits("?", ""));
        assert_eq!(Pattern::try_from(String::new()), Err(EmptyPattern));
    }

    #[test]
    fn hostile_name_takes_no_exponential_time() {
        assert!(!fits(&"a*".repeat(50), &"a".repeat(49)));
        assert!(!fits(&("*a".repeat(100) + "b"), &"a".repeat(10_000)));
    }

    proptest! {
        #[test]
        fn pattern_fits_as_its_definition_says(pattern in "[ab*?]{1,7}", name in "[ab]{0,7}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(fits(&pattern, &name), model(&letters(&pattern), &letters(&name)));
        }
    }
}
