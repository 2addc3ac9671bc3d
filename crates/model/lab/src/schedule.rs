use std::path::Path;

use serde::{Deserialize, Serialize};
use units::{Nanos, Ratio};

use crate::error::LabError;

/// What goes wrong, rule by rule; the order is that of the file.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The rules. Times add up; of rules that change what is done the first one that applies does.
    #[serde(rename = "fault", default)]
    pub rules: Vec<Rule>,
}

/// One kind of fault, and what it happens to.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    /// What goes wrong.
    pub kind: Kind,
    /// To which operations (default: all that the kind can happen to).
    #[serde(default)]
    pub on: Vec<Op>,
    /// To which files: their path below the mount point, `*` stands for anything, also for
    /// nothing and for `/` (default `*`).
    #[serde(default = "any")]
    pub path: String,
    /// Since when, counted from the mount (default 0 s).
    #[serde(default)]
    pub from: Nanos,
    /// For how long (default: for ever; a hang needs one).
    #[serde(rename = "for", default = "for_ever")]
    pub span: Nanos,
    /// How likely, for each request that all else fits (default 100 %).
    #[serde(default = "always")]
    pub probability: Ratio,
    /// Requests that all else fits and that are left alone first (default 0).
    #[serde(default)]
    pub after: u64,
    /// How often at most (default: without end).
    #[serde(default = "without_end")]
    pub times: u64,
    /// How much later; delays only, and needed there.
    #[serde(default)]
    pub by: Option<Nanos>,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Answered later.
    Delay,
    /// Not answered before the end of the span.
    Hang,
    /// An I/O error.
    Eio,
    /// No space left.
    Enospc,
    /// Fewer bytes than asked for.
    Short,
    /// A write that was answered and not done.
    Lost,
    /// A write of which the beginning was done.
    Torn,
    /// A write that went to another place of the file.
    Misdirected,
    /// What was there before the write is read once more.
    Stale,
    /// One bit is wrong.
    BitFlip,
    /// An open file that is unlinked stays under another name.
    SillyRename,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Bytes of a file.
    Read,
    /// Bytes into a file.
    Write,
    /// That everything is durable.
    Flush,
    /// That a name goes.
    Unlink,
}

impl Kind {
    /// All of them.
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

    /// As the schedule writes it.
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

    /// What it can happen to.
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
    /// Reads a schedule; the name is for messages.
    ///
    /// # Errors
    ///
    /// With the place of the first mistake.
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
    /// When it cannot be read, or as [`Self::parse`].
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
    /// The operations it is about.
    pub fn ops(&self) -> &[Op] {
        if self.on.is_empty() { self.kind.ops() } else { &self.on }
    }

    /// The first instant behind its time.
    pub fn until(&self) -> Nanos {
        self.from.saturating_add(self.span)
    }

    /// Mistake of the rule, if there is one.
    fn mistake(&self) -> Option<String> {
        let kind = self.kind;
        if let Some(op) = self.on.iter().find(|op| !kind.ops().contains(op)) {
            return Some(format!("on has {op:?}; allowed are {:?}", kind.ops()).to_lowercase());
        }
        match (kind, self.by) {
            (Kind::Delay, None) => return Some(String::from("by is absent; a delay needs a time")),
            (Kind::Delay, Some(_)) | (_, None) => {}
            (_, Some(by)) => return Some(format!("by is {by}; only a delay has one")),
        }
        let is_endless = kind == Kind::Hang && self.until() == Nanos::MAX;
        is_endless.then(|| String::from("for is absent; a hang needs an end"))
    }
}

/// Whether a pattern in which `*` stands for any text fits all of a text.
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
            ("[[fault]]\nkind = \"hang\"", &["fault 1 (hang)", "for is absent"]),
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
