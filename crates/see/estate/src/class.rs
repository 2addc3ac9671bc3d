//! Classes of virtual machines: rules that assign a VM to a class, and assumptions for values that
//! were not measured.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;
use units::{BlockSize, Bytes, Nanos, Ratio};

use crate::error::{EstateError, nearest};
use crate::vm::{Load, Vm};

/// Class, as in `classes.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Class {
    /// Short name.
    pub name: String,
    /// Plural name of the class's VMs, for people.
    pub title: String,
    /// Words in a VM's name that identify the class.
    pub words: Vec<String>,
    /// Texts that identify the class anywhere in a VM's name.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Texts that identify the class at the end of a word of the name, or before its number.
    #[serde(default)]
    pub ends: Vec<String>,
    /// Texts in the name of an operating system that identify the class.
    #[serde(default)]
    pub os: Vec<String>,
    /// Reads and writes per second for each GiB used, if nothing was measured.
    #[serde(default)]
    pub per_gib: f64,
    /// Reads and writes per second of a VM, if nothing was measured.
    #[serde(default)]
    pub per_vm: f64,
    /// Reads as a share of reads and writes.
    pub reads: Ratio,
    /// Sizes of reads, by weight.
    pub read_sizes: IndexMap<String, f64>,
    /// Sizes of writes, by weight.
    pub write_sizes: IndexMap<String, f64>,
    /// Limits for reads and for writes.
    pub limit: ClassLimit,
    /// Source of the numbers.
    pub source: String,
}

/// Limit on a mean.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassLimit {
    /// Mean response time of reads, and of writes.
    pub mean: Nanos,
}

/// Reason why a VM is in its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Named on the command line.
    Asked,
    /// Named in a column of a file.
    Column,
    /// Pattern of the command line that fits the name.
    Pattern(String),
    /// Word, or part of a word, in the VM's name.
    Name(String),
    /// Text in the name of the VM's operating system.
    Os(String),
    /// No rule fitted.
    Rest,
}

impl Rule {
    /// Returns the reason as text.
    pub fn words(&self) -> String {
        match self {
            Self::Asked => "asked for".to_owned(),
            Self::Pattern(text) => format!("set by \"{text}\""),
            Self::Column => "named by a file".to_owned(),
            Self::Name(word) => format!("\"{word}\" in its name"),
            Self::Os(text) => format!("\"{text}\" in its operating system"),
            Self::Rest => "no rule fits".to_owned(),
        }
    }
}

/// All classes; the last is for VMs that no rule fits.
pub static CLASSES: LazyLock<Vec<Class>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        class: Vec<Class>,
    }
    let file: File = toml::from_str(include_str!("../classes.toml")).expect("a test reads it");
    file.class
});

/// Rates of a VM: measured values, and assumptions where a value is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rates {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub written_bytes_per_s: f64,
}

impl Rates {
    pub fn add(&mut self, other: &Self) {
        self.reads_per_s += other.reads_per_s;
        self.writes_per_s += other.writes_per_s;
        self.read_bytes_per_s += other.read_bytes_per_s;
        self.written_bytes_per_s += other.written_bytes_per_s;
    }

    pub fn times(self, factor: f64) -> Self {
        Self {
            reads_per_s: self.reads_per_s * factor,
            writes_per_s: self.writes_per_s * factor,
            read_bytes_per_s: self.read_bytes_per_s * factor,
            written_bytes_per_s: self.written_bytes_per_s * factor,
        }
    }

    pub fn io_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }
}

impl Class {
    /// Returns the index in [`CLASSES`]; `of` is the place where the class was given.
    ///
    /// # Errors
    /// If there is no class of that name.
    pub fn number(name: &str, of: &str) -> Result<usize, EstateError> {
        CLASSES.iter().position(|class| class.name == name).ok_or_else(|| {
            let names: Vec<&str> = CLASSES.iter().map(|class| class.name.as_str()).collect();
            let known = format!("{}{}", names.join(", "), nearest(name, names.iter().copied()));
            EstateError::NoClass { class: name.to_owned(), of: of.to_owned(), known }
        })
    }

    /// Finds the class of a VM by the VM's name and operating system.
    pub fn of(vm: &Vm) -> (usize, Rule) {
        let words = words(&vm.name);
        let by_name = CLASSES.iter().enumerate().find_map(|(number, class)| {
            let fits = |own: &&String| words.iter().any(|word| word == *own);
            class.words.iter().find(fits).map(|word| (number, Rule::Name(word.clone())))
        });
        let by_part = || {
            let lower = vm.name.to_lowercase();
            CLASSES.iter().enumerate().find_map(|(number, class)| {
                let part = class.parts.iter().find(|own| lower.contains(own.as_str()));
                let end =
                    || class.ends.iter().find(|own| words.iter().any(|word| word.ends_with(*own)));
                part.or_else(end).map(|text| (number, Rule::Name(text.clone())))
            })
        };
        let by_os = || {
            CLASSES.iter().enumerate().find_map(|(number, class)| {
                let fits = |text: &&String| contains(&vm.os, text);
                class.os.iter().find(fits).map(|text| (number, Rule::Os(text.clone())))
            })
        };
        by_name.or_else(by_part).or_else(by_os).unwrap_or((CLASSES.len() - 1, Rule::Rest))
    }

    /// Completes measured values with the class's assumptions; measured values are not changed.
    pub(crate) fn complete(&self, load: &Load, size: Bytes) -> Rates {
        let (reads_per_s, writes_per_s) = self.io(load, size);
        Rates {
            reads_per_s,
            writes_per_s,
            read_bytes_per_s: load
                .read_bytes_per_s
                .unwrap_or_else(|| reads_per_s * mean_size(&self.read_sizes)),
            written_bytes_per_s: load
                .written_bytes_per_s
                .unwrap_or_else(|| writes_per_s * mean_size(&self.write_sizes)),
        }
    }

    fn io(&self, load: &Load, size: Bytes) -> (f64, f64) {
        let share = load.read_share.unwrap_or_else(|| self.reads.get());
        if let (Some(reads), Some(writes)) = (load.reads_per_s, load.writes_per_s) {
            return (reads, writes);
        }
        if let Some(io) = load.io_per_s {
            let reads = load.reads_per_s.unwrap_or(io * share).min(io);
            return (reads, load.writes_per_s.unwrap_or(io - reads));
        }
        let of_bytes = |bytes: Option<f64>, sizes| bytes.map(|bytes| bytes / mean_size(sizes));
        let reads = load.reads_per_s.or_else(|| of_bytes(load.read_bytes_per_s, &self.read_sizes));
        let writes =
            load.writes_per_s.or_else(|| of_bytes(load.written_bytes_per_s, &self.write_sizes));
        match (reads, writes) {
            (None, None) => {
                let gib = size.as_f64() / Bytes::new(1 << 30).as_f64();
                let io = self.per_vm + self.per_gib * gib;
                (io * share, io * (1.0 - share))
            }
            (Some(reads), Some(writes)) => (reads, writes),
            // The other direction was not measured: it gets its share, not zero.
            (Some(reads), None) => {
                (reads, if share > 0.0 { reads * (1.0 - share) / share } else { 0.0 })
            }
            (None, Some(writes)) => {
                (if share < 1.0 { writes * share / (1.0 - share) } else { 0.0 }, writes)
            }
        }
    }
}

/// Returns the mean of a mix of sizes, in bytes.
pub(crate) fn mean_size(mix: &IndexMap<String, f64>) -> f64 {
    let size = |text: &String| text.parse::<BlockSize>().map_or(0.0, |size| f64::from(size.get()));
    let (sum, weights) = mix.iter().fold((0.0, 0.0), |(sum, weights), (text, weight)| {
        (size(text).mul_add(*weight, sum), weights + weight)
    });
    sum / weights
}

/// Words in names that do not indicate the purpose of a VM.
const AFFIXES: [&str; 17] = [
    "prod", "prd", "test", "tst", "dev", "qa", "uat", "stage", "stg", "preprod", "server", "srv",
    "svr", "host", "node", "vm", "int",
];

/// Splits a name into words in lower case. The words are: runs of letters and digits; the same runs
/// without digits at the end; and these without [`AFFIXES`] (`oraprod1`: `ora`).
fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let runs = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|run| !run.is_empty());
    let all = |run: &str| {
        let bare = run.trim_end_matches(|letter: char| letter.is_ascii_digit());
        [run.to_owned(), bare.to_owned(), without_affixes(bare).to_owned()]
    };
    runs.flat_map(all).collect()
}

fn without_affixes(mut word: &str) -> &str {
    loop {
        let shorter = AFFIXES
            .iter()
            .find_map(|own| word.strip_prefix(own).or_else(|| word.strip_suffix(own)))
            .map(|rest| rest.trim_matches(|letter: char| letter.is_ascii_digit()));
        match shorter {
            Some(rest) if !rest.is_empty() => word = rest,
            _ => return word,
        }
    }
}

fn contains(text: &str, part: &str) -> bool {
    let (text, part) = (text.to_lowercase(), part.to_lowercase());
    // "Windows 1" is not "Windows 10".
    text.match_indices(&part)
        .any(|(at, _)| !text[at + part.len()..].starts_with(|letter: char| letter.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(name: &str, os: &str) -> (&'static str, Rule) {
        let vm = Vm { name: name.to_owned(), os: os.to_owned(), ..Vm::default() };
        let (number, rule) = Class::of(&vm);
        (CLASSES[number].name.as_str(), rule)
    }

    #[test]
    fn names_tell_before_operating_systems_and_the_rest_is_general() {
        assert_eq!(class_of("PRD-SQL02", "Windows 10").0, "database");
        assert_eq!(class_of("exch-mbx-01", "").0, "mail");
        assert_eq!(class_of("www1", "").0, "web");
        assert_eq!(class_of("pc-114", "Microsoft Windows 11 (64-bit)").0, "desktop");
        assert_eq!(class_of("jumphost", "Debian GNU/Linux 12"), ("general", Rule::Rest));
        assert_eq!(class_of("explorer", "").0, "general", "a short word is a whole word");
        assert_eq!(class_of("x", "Windows Server 2012").0, "general");
    }

    #[test]
    fn names_in_one_word_are_classed_by_what_they_contain() {
        for (name, class) in [
            ("BOWSQL038", "database"),
            ("nywscosql1", "database"),
            ("wsqltest77", "database"),
            ("oraprod1", "database"),
            ("pgdb07", "database"),
            ("mailhost9", "mail"),
            ("NYEXCHSVC4", "mail"),
            ("nyextwww01", "web"),
            ("NYMAMWEBa", "web"),
            ("nyc3web07", "web"),
            ("prodfs01", "file"),
            ("ctxvda012", "desktop"),
            ("temporary4", "general"),
            ("tunasoft", "general"),
            ("server12", "general"),
        ] {
            assert_eq!(class_of(name, "").0, class, "{name}");
        }
        assert_eq!(class_of("BOWSQL038", "").1, Rule::Name("sql".to_owned()));
    }

    #[test]
    fn what_was_measured_stays_and_the_rest_is_assumed() {
        let class = &CLASSES[0];
        let half = Bytes::new(100 << 30);
        let assumed = class.complete(&Load::default(), half);
        assert!((assumed.io_per_s() - 500.0).abs() < 1e-9, "5 for each of 100 GiB");
        assert!((assumed.read_bytes_per_s / assumed.reads_per_s - 10.4 * 1024.0).abs() < 1e-6);
        let load = Load { io_per_s: Some(40.0), written_bytes_per_s: Some(7.0), ..Load::default() };
        let measured = class.complete(&load, half);
        assert!(
            (measured.reads_per_s - 28.0).abs() < 1e-9
                && (measured.writes_per_s - 12.0).abs() < 1e-9
        );
        assert!((measured.written_bytes_per_s - 7.0).abs() < 1e-9);
        let bytes = Load { read_bytes_per_s: Some(10.4 * 1024.0), ..Load::default() };
        assert!((class.complete(&bytes, half).reads_per_s - 1.0).abs() < 1e-9);
        let reads = Load { reads_per_s: Some(70.0), ..Load::default() };
        let completed = class.complete(&reads, half);
        assert!((completed.writes_per_s - 30.0).abs() < 1e-9, "what was not measured is no zero");
    }

    #[test]
    fn every_class_has_a_name_of_its_own_a_source_and_good_sizes() {
        for (number, class) in CLASSES.iter().enumerate() {
            assert_eq!(Class::number(&class.name, "").ok(), Some(number));
            assert!(!class.source.trim().is_empty(), "{}", class.name);
            assert!(
                mean_size(&class.read_sizes) >= 4096.0 && mean_size(&class.write_sizes) >= 4096.0
            );
            assert!(class.per_gib + class.per_vm > 0.0);
        }
        let error = Class::number("databases", "row 3").expect_err("it is misspelt");
        assert!(error.to_string().contains("did you mean \"database\"?"), "{error}");
    }
}
