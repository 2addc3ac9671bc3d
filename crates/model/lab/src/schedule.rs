use std::path::Path;

use serde::{Deserialize, Serialize};
use units::{Nanos, Rate, Ratio};

use crate::error::LabError;

/// Schedule of faults, in the order of the file.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Rules in the order of the file. Their delays add up. Of several rules that change a
    /// request's effect, the first applicable one is used.
    #[serde(rename = "fault", default)]
    pub rules: Vec<Rule>,
}

/// Rule: a kind of fault, and the requests it applies to.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    /// Kind of fault.
    pub kind: Kind,
    /// Operations (default: all to which the kind can happen).
    #[serde(default)]
    pub on: Vec<Op>,
    /// Files, by a pattern of their path below the mount point; `*` stands for any text, including
    /// none and `/` (default `*`).
    #[serde(default = "any")]
    pub path: String,
    /// Begin of the rule's time, counted from the mount (default 0 s).
    #[serde(default)]
    pub from: Nanos,
    /// Length of the rule's time (default: for ever; required for a hang).
    #[serde(rename = "for", default = "for_ever")]
    pub span: Nanos,
    /// Probability of the fault for each otherwise matching request (default 100 %).
    #[serde(default = "always")]
    pub probability: Ratio,
    /// Number of matching requests that are skipped first (default 0).
    #[serde(default)]
    pub after: u64,
    /// Maximum number of faults (default: no limit).
    #[serde(default = "without_end")]
    pub times: u64,
    /// Delay of each request; only for delays.
    #[serde(default)]
    pub by: Option<Nanos>,
    /// Maximum requests per second: each request is delayed until its turn; only for delays, above
    /// zero.
    #[serde(default)]
    pub at_most: Option<Rate>,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Late answer.
    Delay,
    /// No answer before the end of the span.
    Hang,
    /// I/O error.
    Eio,
    /// Error "no space left".
    Enospc,
    /// Fewer bytes than requested.
    Short,
    /// Acknowledged write without effect.
    Lost,
    /// Write of which only the first bytes take effect.
    Torn,
    /// Write to another offset of the file.
    Misdirected,
    /// Bytes from before a write, read once more.
    Stale,
    /// One inverted bit.
    BitFlip,
    /// Open file that gets another name when it is unlinked.
    SillyRename,
}

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Read of a file.
    Read,
    /// Write to a file.
    Write,
    /// Flush of a file.
    Flush,
    /// Removal of a name.
    Unlink,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Delay,
        Self::Hang,
        Self::Eio,
        Self::Enospc,
        Self::Short,
        Self::Lost,
        Self::Torn,
        Self::Misdirected,
        Self::Stale,
        Self::BitFlip,
        Self::SillyRename,
    ];

    /// Returns the name in the schedule.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Hang => "hang",
            Self::Eio => "eio",
            Self::Enospc => "enospc",
            Self::Short => "short",
            Self::Lost => "lost",
            Self::Torn => "torn",
            Self::Misdirected => "misdirected",
            Self::Stale => "stale",
            Self::BitFlip => "bit-flip",
            Self::SillyRename => "silly-rename",
        }
    }

    /// Returns the operations to which the kind can happen.
    pub const fn ops(self) -> &'static [Op] {
        match self {
            Self::Delay | Self::Hang | Self::Eio => &[Op::Read, Op::Write, Op::Flush],
            Self::Short | Self::BitFlip => &[Op::Read, Op::Write],
            Self::Enospc | Self::Lost | Self::Torn | Self::Misdirected | Self::Stale => {
                &[Op::Write]
            }
            Self::SillyRename => &[Op::Unlink],
        }
    }
}

fn any() -> String {
    String::from("*")
}

const fn for_ever() -> Nanos {
    Nanos::MAX
}

const fn always() -> Ratio {
    Ratio::ONE
}

const fn without_end() -> u64 {
    u64::MAX
}

impl Schedule {
    /// Parses a schedule; `name` is used in messages.
    ///
    /// # Errors
    ///
    /// With the position of the first error.
    pub fn parse(name: &str, text: &str) -> Result<Self, LabError> {
        let error = |reason: String| LabError::Schedule { name: name.to_owned(), reason };
        let schedule: Self = toml::from_str(text).map_err(|found| error(found.to_string()))?;
        for (rule, number) in schedule.rules.iter().zip(1..) {
            if let Some(wrong) = rule.mistake() {
                return Err(error(format!("fault {number} ({}): {wrong}", rule.kind.name())));
            }
        }
        Ok(schedule)
    }

    /// Reads a schedule's file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or as [`Self::parse`].
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|found| LabError::Schedule {
            name: name.clone(),
            reason: found.to_string(),
        })?;
        Self::parse(&name, &text)
    }
}

impl Rule {
    /// Returns the operations of the rule, or the default.
    pub fn ops(&self) -> &[Op] {
        if self.on.is_empty() { self.kind.ops() } else { &self.on }
    }

    /// Returns the first instant after the rule's time.
    pub fn until(&self) -> Nanos {
        self.from.saturating_add(self.span)
    }

    /// Returns the error in the rule, if there is one.
    fn mistake(&self) -> Option<String> {
        let kind = self.kind;
        if let Some(op) = self.on.iter().find(|op| !kind.ops().contains(op)) {
            return Some(format!("on has {op:?}; allowed are {:?}", kind.ops()).to_lowercase());
        }
        let is_timed = self.by.is_some() || self.at_most.is_some();
        match (kind, is_timed) {
            (Kind::Delay, false) => {
                return Some(String::from("a delay needs by or at-most, and both are absent"));
            }
            (Kind::Delay, true) | (_, false) => {}
            (_, true) => return Some(String::from("only a delay may have by and at-most")),
        }
        if self.at_most.is_some_and(|rate| rate.get() <= 0.0) {
            return Some(String::from("at-most is 0/s; it must be above zero"));
        }
        let is_endless = kind == Kind::Hang && self.until() == Nanos::MAX;
        is_endless.then(|| String::from("a hang needs for, which is absent"))
    }
}

/// Returns true if the whole text matches a pattern in which `*` stands for any text.
pub fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_and_all_of_the_text_must_fit() {
        for (pattern, text, is_fit) in [
            ("*", "", true),
            ("*.disk", ".tilemark-1/db.disk", true),
            ("*.disk", ".tilemark-1/db.disk.new", false),
            ("a*b*c", "a/x/b/c", true),
            ("a*b*c", "acb", false),
            ("a", "a", true),
            ("a", "ab", false),
            ("*state*", "x/state/y", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(fits(pattern, text), is_fit, "{pattern} and {text}");
        }
    }

    #[test]
    fn mistakes_are_told_with_their_place_and_what_is_allowed() {
        for (text, parts) in [
            ("[[fault]]\nkind = \"dely\"", &["line 2", "dely", "`delay`"][..]),
            ("[[fault]]\nkind = \"eio\"\nprobabilty = \"5%\"", &["line 3", "probability"]),
            ("[[fault]]\nkind = \"eio\"\n[[fault]]\nkind = \"delay\"", &["fault 2 (delay)", "by"]),
            ("[[fault]]\nkind = \"eio\"\nby = \"1s\"", &["fault 1 (eio)", "only a delay"]),
            (
                "[[fault]]\nkind = \"delay\"\nat-most = \"0/s\"",
                &["fault 1 (delay)", "at-most is 0/s"],
            ),
            ("[[fault]]\nkind = \"hang\"", &["fault 1 (hang)", "needs for, which is absent"]),
            (
                "[[fault]]\nkind = \"lost\"\non = [\"read\"]",
                &["fault 1 (lost)", "allowed are [write]"],
            ),
            ("[[fault]]\nkind = \"eio\"\nprobability = 0.5", &["line 3", "50%"]),
        ] {
            let error = Schedule::parse("f.toml", text).expect_err(text).to_string();
            for part in parts {
                assert!(error.contains(part), "{error} has no {part}");
            }
        }
    }

    #[test]
    fn what_is_not_said_is_always_and_everywhere() {
        let schedule = Schedule::parse("f.toml", "[[fault]]\nkind = \"eio\"").expect("valid");
        let rule = &schedule.rules[0];
        assert_eq!((rule.until(), rule.probability, rule.after), (Nanos::MAX, Ratio::ONE, 0));
        assert_eq!(rule.ops(), [Op::Read, Op::Write, Op::Flush]);
        assert!(fits(&rule.path, "any/thing"));
    }
}
