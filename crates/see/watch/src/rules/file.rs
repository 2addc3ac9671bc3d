use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use http_client::Address;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use spec::{Invalid, Problem, SpecError};
use toml::Spanned;
use units::Nanos;

use super::{Limit, Pattern};
use crate::LEVELS;
use crate::program::Program;

/// Maximum length of a rule's name, in letters. The name is a label of every alarm.
const NAME_MAX: usize = 100;
/// Maximum number of rules. Our choice: each rule needs memory for each VM.
const RULES_MAX: usize = 1_000;

/// Minimum and maximum length of the recording of a breach. Our choice: a busy disk makes some MB
/// per second.
const EVIDENCE: RangeInclusive<Nanos> = Nanos::SECOND..=Nanos::from_secs(600);
/// Default maximum number of recordings in 24 hours. Our choice.
const EVIDENCE_PER_DAY: usize = 4;

/// Rules of a file, and the receivers of their alarms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Rules in the order of the file.
    pub rules: Vec<Rule>,
    /// Receivers of alarms.
    pub send: SendTo,
    /// Maximum number of recordings in 24 hours, over all rules together.
    pub evidence_per_day: usize,
}

/// Limit on the I/O of certain VMs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Name, unique within the file.
    pub name: Arc<str>,
    /// VMs that the rule applies to; each is judged separately.
    pub vm: Pattern,
    /// Disks that the rule applies to; each is judged separately.
    pub disk: Pattern,
    /// Limit of each VM on each disk.
    pub limit: Limit,
    /// Length of a window, a multiple of the finest level's slices.
    pub window: Nanos,
    /// Severity of the rule's alarms.
    pub severity: Severity,
    /// Length of the disk's recording when an alarm begins; `None` for no recording.
    pub evidence: Option<Nanos>,
}

/// Severity of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Information only.
    Info,
    /// Should be looked at.
    #[default]
    Warning,
    /// Must be acted on.
    Critical,
}

/// Receivers of alarms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SendTo {
    /// Alertmanagers; each gets every alarm, as the members of a cluster require.
    pub alertmanagers: Vec<Address>,
    /// Servers that get JSON.
    pub webhooks: Vec<Address>,
    /// Program that gets JSON on its standard input.
    pub command: Option<Program>,
}

impl SendTo {
    /// Returns true if there is no receiver.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Severity {
    /// Returns the name in rules and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<RuleForm>,
    #[serde(default)]
    send: SendForm,
    #[serde(default)]
    evidence: EvidenceForm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EvidenceForm {
    per_day: Spanned<usize>,
}

impl Default for EvidenceForm {
    fn default() -> Self {
        Self { per_day: Spanned::new(0..0, EVIDENCE_PER_DAY) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleForm {
    name: Spanned<String>,
    #[serde(default)]
    vm: Pattern,
    #[serde(default)]
    disk: Pattern,
    limit: Limit,
    #[serde(default = "usual_window", rename = "for")]
    window: Spanned<Nanos>,
    #[serde(default)]
    severity: Severity,
    evidence: Option<Spanned<Nanos>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct SendForm {
    #[serde(default)]
    alertmanager: OneOrMore<Address>,
    #[serde(default)]
    webhook: OneOrMore<Address>,
    #[serde(default)]
    command: OneOrMore<String>,
}

fn usual_window() -> Spanned<Nanos> {
    Spanned::new(0..0, Nanos::from_secs(300))
}

/// A text, or a list of texts.
struct OneOrMore<T>(Vec<T>);

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Texts<T>(PhantomData<T>);
        impl<'de, T: FromStr<Err: fmt::Display>> Visitor<'de> for Texts<T> {
            type Value = OneOrMore<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(OneOrMore(vec![text.parse().map_err(E::custom)?]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(text) = list.next_element::<String>()? {
                    all.push(text.parse().map_err(de::Error::custom)?);
                }
                Ok(OneOrMore(all))
            }
        }
        from.deserialize_any(Texts(PhantomData))
    }
}

impl Rules {
    /// Reads rules from a file.
    ///
    /// # Errors
    /// The file cannot be read, or contains invalid rules.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let text = untrusted::read_named_text(path).map_err(|source| SpecError::Read {
            what: "rules",
            path: path.to_owned(),
            source,
        })?;
        Self::load(&path.display().to_string(), &text)
    }

    /// Reads rules from TOML text; `name` is the file's name in messages.
    ///
    /// # Errors
    /// The text contains invalid rules. The error contains no addresses or commands.
    pub fn load(name: &str, text: &str) -> Result<Self, SpecError> {
        let hidden = |error| match error {
            SpecError::Invalid(invalid) => {
                let problems = invalid.problems().cloned().collect();
                SpecError::Invalid(Box::new(Invalid::new(name, &mask(text), problems)))
            }
            other => other,
        };
        let file: File = spec::load_form(name, text).map_err(hidden)?;
        let problems = check(&file);
        if !problems.is_empty() {
            return Err(hidden(SpecError::Invalid(Box::new(Invalid::new(name, text, problems)))));
        }
        let rule = |own: RuleForm| Rule {
            name: own.name.into_inner().into(),
            vm: own.vm,
            disk: own.disk,
            limit: own.limit,
            window: own.window.into_inner(),
            severity: own.severity,
            evidence: own.evidence.map(Spanned::into_inner),
        };
        let mut command = file.send.command.0.into_iter();
        let send = SendTo {
            alertmanagers: file.send.alertmanager.0,
            webhooks: file.send.webhook.0,
            command: command
                .next()
                .map(|path| Program { path: path.into(), arguments: command.collect() }),
        };
        let evidence_per_day = file.evidence.per_day.into_inner();
        Ok(Self { rules: file.rule.into_iter().map(rule).collect(), send, evidence_per_day })
    }

    /// Returns the longest window of all rules.
    pub fn longest_window(&self) -> Nanos {
        self.rules.iter().map(|rule| rule.window).max().unwrap_or(Nanos::ZERO)
    }
}

fn check(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |span: Option<Range<usize>>, path: &str, message: String, help: &str| {
        let help = Some(help.to_owned()).filter(|help| !help.is_empty());
        problems.push(Problem { message, span, help, path: path.to_owned() });
    };
    if file.rule.is_empty() {
        let help = "a rule is a table [[rule]] with name and limit";
        add(None, "rule", "there is no rule".to_owned(), help);
    }
    if file.rule.len() > RULES_MAX {
        let message =
            format!("there are {} rules, but the maximum is {RULES_MAX}", file.rule.len());
        add(None, "rule", message, "");
    }
    let mut names = BTreeSet::new();
    for (at, rule) in file.rule.iter().enumerate() {
        let (name, path) = (rule.name.get_ref(), format!("rule[{at}].name"));
        let letters = name.chars().count();
        if name.trim().is_empty() || letters > NAME_MAX || name.chars().any(char::is_control) {
            let message =
                format!("the name of a rule must have 1 to {NAME_MAX} letters in one line");
            add(Some(rule.name.span()), &path, message, "");
        }
        if !names.insert(name) {
            let message = format!("two rules have the name \"{}\"", untrusted::shown(name));
            add(Some(rule.name.span()), &path, message, "alarms are identified by the name");
        }
        let (window, width_s) = (*rule.window.get_ref(), LEVELS[0].width_s);
        let (width, longest) = (Nanos::from_secs(width_s), Nanos::from_secs(86_400));
        if !window.0.is_multiple_of(width.0) || window < width || window > longest {
            let message = format!("a window of {window} must be a multiple of {width} up to 1 day");
            let span = Some(rule.window.span());
            add(span, &format!("rule[{at}].for"), message, "as in for = \"5m\"");
        }
        let evidence = rule.evidence.as_ref().filter(|own| !EVIDENCE.contains(own.get_ref()));
        if let Some(own) = evidence {
            let message = format!("a recording of {} must be 1 s to 10 min", own.get_ref());
            let path = format!("rule[{at}].evidence");
            add(Some(own.span()), &path, message, "as in evidence = \"30s\"");
        }
    }
    if file.send.command.0.first().is_some_and(String::is_empty) {
        add(None, "send.command", "the command of [send] has no program".to_owned(), "");
    }
    problems
}

/// Replaces addresses and commands by asterisks, because messages show the faulty line, and web
/// hooks have secrets in their paths. The length in bytes stays the same, so that positions remain
/// right.
fn mask(text: &str) -> String {
    let mut is_send = false;
    let mut masked = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let inside = start.trim_start_matches('[').trim_start();
        let is_table =
            start.starts_with('[') && inside.starts_with(|own: char| own.is_alphabetic());
        // A list of a key such as send.command goes on in the next lines.
        is_send = if is_table {
            inside.starts_with("send")
        } else {
            is_send || start.starts_with("send")
        };
        let is_secret = (is_send && !is_table) || line.contains("//");
        let from = match is_secret {
            true => line.find('=').map_or(0, |at| at + 1),
            false => line.len(),
        };
        masked.push_str(&line[..from]);
        for letter in line[from..].chars() {
            match letter {
                ' ' | '\t' | '\r' | '\n' | '"' | '\'' | '[' | ']' | ',' => masked.push(letter),
                hidden => masked.extend(std::iter::repeat_n('*', hidden.len_utf8())),
            }
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[send]
alertmanager = ["http://a.example:9093", "http://b.example:9093/am/"]
webhook = "https://hooks.example/T0/secret"
command = ["/usr/local/bin/page", "storage"]

[[rule]]
name = "databases write fast"
vm = "sql*"
limit = "write p95 <= 20ms"

[[rule]]
name = "nothing fails"
disk = "nvme?n1"
limit = "errors <= 0"
for = "1m"
severity = "critical"
"#;

    fn report(text: &str) -> String {
        match Rules::load("rules.toml", text).expect_err("it is wrong") {
            SpecError::Invalid(invalid) => invalid.report(),
            other => other.to_string(),
        }
    }

    #[test]
    fn rules_are_read_with_their_usual_values() {
        let rules = Rules::load("rules.toml", GOOD).expect("they are right");
        let [first, second] = &rules.rules[..] else { panic!("{rules:?}") };
        assert_eq!((first.window, first.severity), (Nanos::from_secs(300), Severity::Warning));
        assert!(first.vm.fits("sql1") && !first.vm.fits("web1") && first.disk.is_any());
        assert_eq!((second.window, second.severity), (Nanos::from_secs(60), Severity::Critical));
        assert!(second.vm.is_any() && second.disk.fits("nvme0n1"));
        assert_eq!(rules.send.alertmanagers[1].path(), "/am/");
        let command = rules.send.command.as_ref().expect("a command");
        assert_eq!(command.arguments, ["storage"]);
        assert_eq!(rules.longest_window(), Nanos::from_secs(300));
        assert!(!format!("{rules:?}").contains("secret"), "{rules:?}");
    }

    #[test]
    fn wrong_rule_names_line_value_and_allowed_values() {
        let rule = |lines: &str| format!("[[rule]]\nname = \"a\"\n{lines}\n");
        let good = "limit = \"errors <= 0\"";
        for (text, parts) in [
            (String::new(), &["there is no rule", "in rules.toml"][..]),
            (rule(""), &["the key \"limit\" is missing", "line 1"]),
            (rule("limit = \"write p96 <= 20ms\""), &["line 3", "\"p96\"; supported are p50"]),
            (rule("limit = 20"), &["line 3", "a text belongs here"]),
            (rule(&format!("{good}\nvms = \"a\"")), &["line 4", "unknown key \"vms\"", "\"vm\"?"]),
            (rule(&format!("{good}\nvm = \"\"")), &["line 4", "empty pattern"]),
            (
                rule(&format!("{good}\nfor = \"15s\"")),
                &["line 4", "15 s must be a multiple of 10 s"],
            ),
            (rule(&format!("{good}\nfor = \"2d\"")), &["line 4", "up to 1 day"]),
            (rule(&format!("{good}\nfor = \"0s\"")), &["line 4", "multiple of 10 s"]),
            (rule(&format!("{good}\nfor = \"5\"")), &["line 4", "unit"]),
            (
                rule(&format!("{good}\nseverity = \"page\"")),
                &["line 4", "unknown choice \"page\"", "info, warning, critical"],
            ),
            (
                rule(good).repeat(2),
                &[
                    "line 5",
                    "two rules have the name \"a\"",
                    "hint: alarms are identified by the name",
                ],
            ),
            (rule(&format!("{good}\nevidence = \"1h\"")), &["line 4", "1h must be 1 s to 10 min"]),
            (format!("evidence.per_day = -1\n{}", rule(good)), &["line 1"]),
            (rule(good).replace("\"a\"", "\" \""), &["line 2", "1 to 100 letters"]),
            (format!("rules = 1\n{}", rule(good)), &["line 1", "unknown key \"rules\""]),
            (rule("limit = \"errors"), &["line 3"]),
        ] {
            let report = report(&text);
            parts.iter().for_each(|part| assert!(report.contains(part), "{text}\n{report}"));
        }
    }

    #[test]
    fn mistake_in_an_address_shows_no_secret() {
        for line in [
            "webhook = \"htps://hooks.example/secret\"",
            "web_hook = \"https://hooks.example/secret\"",
            "webhook = \"https://me:secret@hooks.example/\"",
            "webhook = \"https://hooks.example/secret",
            "webhook = { url = \"https://hooks.example/secret\" }",
            "webhook = [\"https://hooks.example/\",\n  \"//secret\"]",
            "command = [1, \"secret\"]",
            "command = [\"\",\n\"secret\"]",
            "alertmanager = [[\"secret\"]]",
        ] {
            let rule = "[[rule]]\nname = \"a\"\nlimit = \"errors <= 0\"\n";
            let places = [format!("[send]\n{line}\n{rule}"), format!("send.{line}\n{rule}")];
            for text in places {
                let report = report(&text);
                assert!(!report.contains("secret"), "{report}");
                let error = Rules::load("rules.toml", &text).expect_err("it is wrong");
                assert!(!format!("{error:?}").contains("secret"), "{error:?}");
            }
        }
    }
}
