//! Command `cargo xtask words`: counts by crate what can be counted of the language rules in
//! CONTRIBUTING.md.
//!
//! Counts are a guide, not a gate. With `--list KIND` it prints the places of one count instead; with
//! `--sample N SEED` it prints `N` random doc comments, for a reader who has not seen the code.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::tidy::{self, Tree};

/// First words that leave the subject of a sentence unclear.
const UNCLEAR_FIRST: [&str; 14] = [
    "What", "Whether", "How", "Which", "Whose", "Who", "Where", "When", "That", "One", "Its", "It",
    "Of", "They",
];

/// Names that say a role of nothing in particular.
const UNCLEAR_TYPES: [&str; 11] =
    ["Place", "Part", "Held", "Told", "Found", "Wanted", "Kept", "Seen", "Wish", "Way", "Fx"];

/// Counts whose places can be listed.
const LISTED: [&str; 7] = ["first", "short", "types", "of", "long", "machine", "wide"];

const TEST_NAME_MAX: usize = 60;
const DOCS_COLUMNS_MAX: usize = 100;
const SHORT_WORDS: usize = 3;

/// Counts of one crate, or of the documentation.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    doc_comments: usize,
    unclear_first: usize,
    short: usize,
    unclear_types: usize,
    fn_of: usize,
    tests: usize,
    long_tests: usize,
    machine: usize,
    wide_lines: usize,
}

impl Counts {
    const HEADS: [&str; 9] =
        ["docs", "first", "short", "types", "of", "tests", "long", "machine", "wide"];

    const fn columns(&self) -> [usize; 9] {
        [
            self.doc_comments,
            self.unclear_first,
            self.short,
            self.unclear_types,
            self.fn_of,
            self.tests,
            self.long_tests,
            self.machine,
            self.wide_lines,
        ]
    }
}

/// Prints the counts, or a sample.
pub fn main(arguments: &[String]) -> Result<ExitCode> {
    let tree = tidy::read_tree(Path::new("."))?;
    let text = match arguments {
        [] => table(&count(&tree)),
        [option, many, seed] if option == "--sample" => {
            let many = many.parse().context("N is not a number")?;
            let seed = seed.parse().context("SEED is not a number")?;
            sample(&tree, many, seed)
        }
        [option, kind] if option == "--list" && LISTED.contains(&kind.as_str()) => {
            list(&tree, kind)
        }
        _ => bail!("usage: cargo xtask words [--list {} | --sample N SEED]", LISTED.join("|")),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn table(counts: &BTreeMap<String, Counts>) -> String {
    let mut total = [0; 9];
    let mut lines = vec![row("crate", &Counts::HEADS)];
    for (name, own) in counts {
        let columns = own.columns();
        total.iter_mut().zip(columns).for_each(|(sum, own)| *sum += own);
        lines.push(row(name, &columns));
    }
    lines.push(row("all", &total));
    lines.concat()
}

fn row(name: &str, columns: &[impl ToString]) -> String {
    let cells: String = columns.iter().map(|own| format!(" {:>8}", own.to_string())).collect();
    format!("{name:<24}{cells}\n")
}

fn count(tree: &Tree) -> BTreeMap<String, Counts> {
    let mut all: BTreeMap<String, Counts> = BTreeMap::new();
    for (path, content) in tree {
        let Some(name) = group(path) else { continue };
        let own = all.entry(name).or_default();
        if path.ends_with(".md") {
            own.wide_lines += wide_lines(content).len();
        } else {
            count_rust(content, own, &mut |_, _, _| ());
        }
    }
    all
}

/// Places that one count has: path, line and text.
fn list(tree: &Tree, kind: &str) -> String {
    let mut lines = String::new();
    for (path, content) in tree.iter().filter(|(path, _)| group(path).is_some()) {
        let mut put = |own: &str, line: usize, text: &str| {
            if own == kind {
                lines.push_str(&format!("{path}:{line} {}\n", text.trim()));
            }
        };
        if path.ends_with(".md") {
            wide_lines(content).iter().for_each(|(line, text)| put("wide", *line, text));
        } else {
            count_rust(content, &mut Counts::default(), &mut put);
        }
    }
    lines
}

/// Crate of a Rust file, or `docs` for a page.
fn group(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["crates", folder, name, .., file] if is_rust(file) => Some(format!("{folder}/{name}")),
        [top @ ("benchmarks" | "xtask"), .., file] if is_rust(file) => Some((*top).to_owned()),
        ["docs", .., file] | [file] if has_extension(file, "md") => Some("docs".to_owned()),
        _ => None,
    }
}

fn is_rust(file: &str) -> bool {
    has_extension(file, "rs")
}

fn has_extension(file: &str, extension: &str) -> bool {
    Path::new(file).extension().is_some_and(|own| own == extension)
}

/// Counts a file, and calls `put` with the kind, line and text of each place that is counted.
fn count_rust(source: &str, counts: &mut Counts, put: &mut dyn FnMut(&str, usize, &str)) {
    for (at, comment) in doc_comments(source) {
        counts.doc_comments += 1;
        let mut words = comment.split_whitespace();
        let is_unclear = words.next().is_some_and(|first| UNCLEAR_FIRST.contains(&first))
            || comment.starts_with("The same");
        let is_short = comment.split_whitespace().count() <= SHORT_WORDS;
        let mut note = |kind: &str, count: &mut usize, is_so: bool| {
            *count += usize::from(is_so);
            if is_so {
                put(kind, at, &comment);
            }
        };
        note("first", &mut counts.unclear_first, is_unclear);
        note("short", &mut counts.short, is_short);
    }
    let mut is_test = false;
    for (at, line) in (1..).zip(source.lines().map(str::trim_start)) {
        if line.starts_with("//") {
            let machines = machines_alone(line);
            counts.machine += machines;
            (0..machines).for_each(|_| put("machine", at, line));
            continue;
        }
        let words: Vec<&str> = line
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty())
            .collect();
        let named =
            |keyword: &str| words.windows(2).find(|pair| pair[0] == keyword).map(|pair| pair[1]);
        let mut note = |kind: &str, count: &mut usize, is_so: bool| {
            *count += usize::from(is_so);
            if is_so {
                put(kind, at, line);
            }
        };
        let type_name = ["struct", "enum", "trait"].into_iter().find_map(named);
        let is_unclear = type_name.is_some_and(|name| UNCLEAR_TYPES.contains(&name));
        note("types", &mut counts.unclear_types, is_unclear);
        if let Some(name) = named("fn") {
            note("of", &mut counts.fn_of, name == "of");
            note("tests", &mut counts.tests, is_test);
            note("long", &mut counts.long_tests, is_test && name.len() > TEST_NAME_MAX);
            is_test = false;
        }
        is_test |= line.starts_with("#[test]");
    }
}

/// Uses of "machine" that mean neither VM, host nor state machine.
fn machines_alone(line: &str) -> usize {
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_alone = |at: usize| {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        matches!(words[at].to_ascii_lowercase().as_str(), "machine" | "machines")
            && !matches!(before.to_ascii_lowercase().as_str(), "virtual" | "state")
    };
    (0..words.len()).filter(|at| is_alone(*at)).count()
}

/// First line and text of each doc comment of items, lines joined.
fn doc_comments(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    for (at, line) in (1..).zip(source.lines().chain([""])) {
        match line.trim_start().strip_prefix("///") {
            Some(text) => lines.push(text.trim()),
            None if lines.is_empty() => {}
            None => {
                let first = at - lines.len();
                found.push((first, std::mem::take(&mut lines).join(" ").trim().to_owned()));
            }
        }
    }
    found
}

/// Lines of prose over the width; tables, code and lines that are one link cannot be broken.
fn wide_lines(page: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let is_wide = |(_, line): &(usize, &str)| {
        is_code ^= line.trim_start().starts_with("```");
        let can_be_broken = !is_code && !line.starts_with('|') && !line.starts_with("![");
        can_be_broken && line.chars().count() > DOCS_COLUMNS_MAX
    };
    (1..).zip(page.lines()).filter(is_wide).collect()
}

/// Doc comments of production code, drawn without repetition.
fn sample(tree: &Tree, many: usize, seed: u64) -> String {
    let mut all: Vec<(&String, String)> = Vec::new();
    for (path, content) in tree.iter().filter(|(path, _)| path.contains("/src/") && is_rust(path)) {
        let production = tidy::production(content);
        all.extend(doc_comments(production).into_iter().map(|(_, comment)| (path, comment)));
    }
    let mut state = seed;
    let mut lines = String::new();
    for _ in 0..many.min(all.len()) {
        // SplitMix64 (Steele et al., 2014): a sample must be the same on every host.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let at = usize::try_from((mixed ^ (mixed >> 31)) % all.len() as u64).unwrap_or(0);
        let (path, comment) = all.swap_remove(at);
        lines.push_str(&format!("{path}\n    {comment}\n"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_is_counted_once() {
        let source = "/// Whether it is.\n/// More of it.\nstruct Told;\n\n/// Offset of the block, in bytes.\n\
                      fn of() {}\n\n/// Its name.\nfn b() {}\n// A machine, a virtual machine, a state machine.\n\
                      #[test]\nfn a_name_that_goes_on_and_on_and_says_what_is_not_so_and_then_what_is() {}\n\
                      #[test]\nfn short_name() {}\n";
        let tree = [
            ("crates/base/x/src/lib.rs", source.to_owned()),
            ("docs/page.md", format!("{0}\n| {0} |\n```\n{0}\n```\nshort\n", "wide ".repeat(30))),
        ];
        let tree: Tree = tree.into_iter().map(|(path, text)| (path.to_owned(), text)).collect();
        let counts = count(&tree);
        let columns = counts["base/x"].columns();
        assert_eq!(columns, [3, 2, 1, 1, 1, 2, 1, 1, 0]);
        assert_eq!(counts["docs"].wide_lines, 1);
        assert_eq!(table(&counts).lines().count(), 4);
        let listed = list(&tree, "types");
        assert_eq!(listed, "crates/base/x/src/lib.rs:3 struct Told;\n");
        assert!(list(&tree, "first").starts_with("crates/base/x/src/lib.rs:1 Whether it is."));
        assert_eq!(list(&tree, "wide").lines().count(), 1);
    }

    #[test]
    fn sample_is_the_same_for_a_seed_and_has_no_comment_twice() {
        let source: String =
            (0..50).map(|at| format!("/// Comment {at}.\nfn f{at}() {{}}\n")).collect();
        let tree: Tree = [("crates/base/x/src/lib.rs".to_owned(), source)].into();
        let drawn = sample(&tree, 50, 7);
        assert_eq!(drawn, sample(&tree, 50, 7));
        assert_ne!(drawn, sample(&tree, 50, 8));
        let unique: std::collections::BTreeSet<&str> =
            drawn.lines().filter(|line| line.starts_with(' ')).collect();
        assert_eq!(unique.len(), 50);
    }
}
