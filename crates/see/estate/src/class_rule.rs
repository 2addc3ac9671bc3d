//! Class rules of the command line, for one VM or for all VMs whose names match a pattern.

use std::str::FromStr;

use crate::class::CLASSES;

/// Class for one VM (`VM=CLASS`), or for all names that match a pattern (`CLASS=PATTERN`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRule {
    /// Name of a VM, or a pattern of names.
    pub names: String,
    /// Name of the class.
    pub class: String,
    /// True if `names` is a pattern.
    pub is_pattern: bool,
}

/// Error for a text that is not a class rule.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is neither VM=CLASS nor CLASS=PATTERN")]
pub struct ClassRuleError(String);

impl FromStr for ClassRule {
    type Err = ClassRuleError;

    /// Parses a rule. The side with `*` or `?` is the pattern. Without a pattern, the right side is
    /// the class, if a class has that name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sides =
            text.split_once('=').filter(|(left, right)| !left.is_empty() && !right.is_empty());
        let (left, right) = sides.ok_or_else(|| ClassRuleError(text.to_owned()))?;
        let is_pattern = |side: &str| side.contains(['*', '?']);
        let is_class = |side: &str| CLASSES.iter().any(|class| class.name == side);
        let is_reversed =
            is_pattern(right) || (is_class(left) && !is_class(right) && !is_pattern(left));
        let (names, class) = if is_reversed { (right, left) } else { (left, right) };
        Ok(Self {
            names: names.to_owned(),
            class: class.to_owned(),
            is_pattern: is_reversed || is_pattern(left),
        })
    }
}

impl ClassRule {
    /// Returns true if the rule applies to a VM of this name.
    pub fn fits(&self, name: &str) -> bool {
        match self.is_pattern {
            true => is_match(&self.names.to_lowercase(), &name.to_lowercase()),
            false => self.names == name,
        }
    }
}

/// Matches `*` with any text and `?` with any letter. Only the last star is retried. This is
/// enough, because a later star can match any text that an earlier star matched.
fn is_match(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(own) if *own == '?' || *own == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                (at, read) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|own| *own == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_is_for_one_name_or_for_a_pattern() {
        let rule = |text: &str| text.parse::<ClassRule>().expect(text);
        let pattern = rule("database=*ora*");
        assert_eq!((pattern.class.as_str(), pattern.is_pattern), ("database", true));
        assert!(pattern.fits("PRDORA01") && pattern.fits("ora") && !pattern.fits("or"));
        assert_eq!(rule("*ora*=database"), pattern);
        let one = rule("sql3=web");
        assert_eq!(
            (one.names.as_str(), one.class.as_str(), one.is_pattern),
            ("sql3", "web", false)
        );
        assert!(rule("mail=mx-?").fits("MX-1") && !rule("mail=mx-?").fits("mx-12"));
        assert!(rule("web=shop").fits("Shop"));
        assert!("web=".parse::<ClassRule>().is_err() && "web".parse::<ClassRule>().is_err());
    }

    #[test]
    fn patterns_fit_as_shells_have_it() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a*b*c", "aXXbYYbZc", true),
            ("a*b", "ab", true),
            ("a*b", "abc", false),
            ("**x", "yx", true),
            ("?", "", false),
        ] {
            assert_eq!(is_match(pattern, text), fits, "{pattern} {text}");
        }
    }
}
