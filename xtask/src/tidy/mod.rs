//! `cargo xtask tidy`: the house rules that no compiler checks.
//!
//! Checks the dependencies between folders of crates, circles of modules, the length of files and
//! functions, that every crate has a description, that no to-do lacks an issue, that no private
//! path is committed, and that predictions are older than their results. Rules and exceptions are
//! in `xtask/tidy.toml`.

mod circles;
mod claims;
mod edges;
mod errors;
mod frozen;
mod rules;
mod scan;
mod sizes;

pub use scan::production;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// Path from the repository's root, and content, of every text file.
pub type Tree = BTreeMap<String, String>;

const CONFIG: &str = "xtask/tidy.toml";

/// Findings of tidy.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Findings that fail the check.
    pub errors: Vec<String>,
    /// Findings that are only printed.
    pub warnings: Vec<String>,
}

/// Checks the repository around the working directory and prints the findings.
pub fn main() -> Result<ExitCode> {
    let mut findings = check(&read_tree(Path::new("."))?)?;
    claims::check(Path::new("."), &mut findings)?;
    findings.warnings.iter().for_each(|text| eprintln!("warning: {text}"));
    findings.errors.iter().for_each(|text| eprintln!("error: {text}"));
    let failed = !findings.errors.is_empty();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Applies all rules to a tree of files.
pub fn check(tree: &Tree) -> Result<Findings> {
    let text = tree.get(CONFIG).with_context(|| format!("{CONFIG} is missing"))?;
    let config: rules::Config =
        toml::from_str(text).with_context(|| format!("reading {CONFIG}"))?;
    let mut findings = Findings::default();
    edges::check(tree, &config, &mut findings)?;
    circles::check(tree, &config, &mut findings);
    sizes::check(tree, &config, &mut findings);
    rules::check(tree, &mut findings);
    errors::check(tree, &mut findings);
    Ok(findings)
}

/// Every text file that git tracks or would track.
pub fn read_tree(root: &Path) -> Result<Tree> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("running git ls-files")?;
    if !listed.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let names = String::from_utf8(listed.stdout).context("a file name is not UTF-8")?;
    Ok(names
        .split('\0')
        .filter(|name| !name.is_empty())
        // Skips files that are deleted but not committed, and binary ones.
        .filter_map(|name| Some((name.to_owned(), std::fs::read_to_string(root.join(name)).ok()?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree that breaks no rule.
    fn good() -> Tree {
        [
            (CONFIG, "folders = [\"base\", \"load\"]\ntesting = \"testing\"\n"),
            ("crates/base/README.md", "# Base\n"),
            ("crates/load/README.md", "# Load\n"),
            ("crates/testing/README.md", "# Testing\n"),
            ("crates/testing/faults/Cargo.toml", "[dependencies]\nstats.workspace = true\n"),
            ("crates/base/units/Cargo.toml", "[package]\nname = \"tilemark-units\"\n"),
            ("crates/base/units/src/lib.rs", "//! Units.\n"),
            (
                "crates/load/stats/Cargo.toml",
                "[dependencies]\nunits.workspace = true\nserde = \"1\"\n",
            ),
            ("crates/load/stats/src/lib.rs", "//! Statistics.\npub fn one() {}\n"),
        ]
        .map(|(path, content)| (path.to_owned(), content.to_owned()))
        .into()
    }

    /// Findings after one file of the good tree is replaced.
    fn with(path: &str, content: &str) -> Findings {
        let mut tree = good();
        tree.insert(path.to_owned(), content.to_owned());
        check(&tree).expect("a readable configuration")
    }

    fn lines(count: usize) -> String {
        format!("//! Long.\n{}", "const A: u8 = 1;\n".repeat(count - 1))
    }

    fn long_function(count: usize) -> String {
        format!("//! Long.\nfn long() {{\n{}}}\n", "    work();\n".repeat(count - 2))
    }

    #[test]
    fn a_good_tree_has_no_findings() {
        assert_eq!(check(&good()).expect("readable"), Findings::default());
    }

    #[test]
    fn dependency_on_a_later_folder_names_both_crates() {
        for section in ["dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            let manifest = format!("[{section}]\nstats.workspace = true\n");
            let found = with("crates/base/units/Cargo.toml", &manifest);
            assert_eq!(found.errors.len(), 1, "{section}");
            assert!(found.errors[0].contains("units (base)"), "{found:?}");
            assert!(found.errors[0].contains("stats (load)"), "{found:?}");
        }
        let renamed =
            "[dependencies]\nother = { package = \"tilemark-stats\", path = \"../stats\" }\n";
        assert_eq!(with("crates/base/units/Cargo.toml", renamed).errors.len(), 1);
    }

    #[test]
    fn dependencies_of_tests_may_point_anywhere() {
        for (section, errors) in [("dev-dependencies", 0), ("dependencies", 2)] {
            let manifest =
                format!("[{section}]\nstats.workspace = true\nfaults.workspace = true\n");
            let found = with("crates/base/units/Cargo.toml", &manifest);
            assert_eq!(found.errors.len(), errors, "{section}");
        }
    }

    #[test]
    fn unknown_folder_missing_readme_and_forbidden_edge_are_errors() {
        let found = with("crates/odd/new/Cargo.toml", "[package]\nname = \"tilemark-new\"\n");
        assert!(found.errors[0].contains("crates/odd"), "{found:?}");
        let mut tree = good();
        tree.remove("crates/load/README.md");
        assert!(check(&tree).expect("readable").errors[0].contains("crates/load/README.md"));
        let mut tree = good();
        tree.get_mut(CONFIG).expect("there").push_str("[never]\nstats = [\"units\"]\n");
        assert!(check(&tree).expect("readable").errors[0].contains("units"));
        tree.get_mut(CONFIG).expect("there").push_str("units = [\"gone\"]\n");
        assert!(check(&tree).expect("readable").errors.iter().any(|text| text.contains("gone")));
    }

    #[test]
    fn files_warn_past_500_lines_and_stop_past_800() {
        let path = "crates/load/stats/src/long.rs";
        assert_eq!(with(path, &lines(500)), Findings::default());
        assert_eq!(with(path, &lines(501)).warnings.len(), 1);
        let found = with(path, &lines(801));
        assert!(found.errors[0].contains("801 lines"), "{found:?}");
    }

    #[test]
    fn tests_do_not_count_as_lines_of_code() {
        let tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(400), lines(900));
        assert_eq!(with("crates/load/stats/src/long.rs", &tests), Findings::default());
        assert_eq!(with("crates/load/stats/tests/all.rs", &lines(900)), Findings::default());
        // Only the module of tests ends the count, not a single item for tests.
        let helper = format!("//! A.\n#[cfg(test)]\nmod fixtures;\n{}", lines(900));
        assert_eq!(with("crates/load/stats/src/long.rs", &helper).errors.len(), 1);
    }

    #[test]
    fn functions_warn_past_60_lines_and_stop_past_100() {
        let path = "crates/load/stats/src/long.rs";
        assert_eq!(with(path, &long_function(60)), Findings::default());
        assert_eq!(with(path, &long_function(61)).warnings.len(), 1);
        let found = with(path, &long_function(101));
        assert!(found.errors[0].contains("function long has 101 lines"), "{found:?}");
    }

    #[test]
    fn an_exception_holds_at_its_number_and_must_fall_with_the_file() {
        let path = "crates/load/stats/src/long.rs";
        let with_exception = |allowed: usize| {
            let mut tree = good();
            tree.insert(path.to_owned(), long_function(120));
            tree.get_mut(CONFIG).expect("there").push_str(&format!(
                "[[exception]]\nfile = \"{path}\"\nfunction = \"long\"\nlines = {allowed}\n\
                 reason = \"one table\"\n"
            ));
            check(&tree).expect("readable").errors
        };
        assert_eq!(with_exception(120), [] as [String; 0]);
        assert!(with_exception(119)[0].contains("120 lines"));
        assert!(with_exception(130)[0].contains("lower it to 120"));
    }

    #[test]
    fn an_exception_for_nothing_or_without_a_reason_is_an_error() {
        let exception = |reason: &str| {
            let mut tree = good();
            tree.get_mut(CONFIG).expect("there").push_str(&format!(
                "[[exception]]\nfile = \"crates/base/none.rs\"\nlines = 900\nreason = \"{reason}\"\n"
            ));
            check(&tree).expect("readable").errors
        };
        assert!(exception("old").iter().any(|error| error.contains("is not needed")));
        assert!(exception(" ").iter().any(|error| error.contains("no reason")));
    }

    #[test]
    fn a_crate_must_say_what_it_is() {
        let found = with("crates/load/stats/src/lib.rs", "pub fn one() {}\n");
        assert!(found.errors[0].starts_with("crates/load/stats/src/lib.rs:1:"), "{found:?}");
    }

    #[test]
    fn a_to_do_needs_an_issue() {
        let word = concat!("TO", "DO");
        let path = "crates/load/stats/src/a.rs";
        assert_eq!(with(path, &format!("// {word}: later\n")).errors.len(), 1);
        assert_eq!(with(path, &format!("// {word}(#12): later\n")), Findings::default());
        assert_eq!(with(path, &format!("// {word}(me): later\n")).errors.len(), 1);
    }

    #[test]
    fn libraries_have_typed_errors() {
        let path = "crates/load/stats/src/a.rs";
        let function = |result: &str| format!("fn a() -> {result} {{}}\n");
        for text in [
            "Result<(), String>",
            "Result<Vec<u8>, String>",
            "Result<\n    fn() -> A,\n    String,\n>",
        ] {
            let found = with(path, &format!("//! A.\n{}", function(text)));
            assert!(found.errors[0].starts_with("crates/load/stats/src/a.rs:2:"), "{found:?}");
            assert_eq!(with("crates/face/cli/src/a.rs", &function(text)).errors, [""; 0]);
            let test = format!("#[cfg(test)]\nmod tests {{\n    {}}}\n", function(text));
            assert_eq!(with(path, &test), Findings::default());
        }
        for typed in ["Result<String, Wrong>", "Result<String>", "Result<(A, String), Vec<String>>"]
        {
            assert_eq!(with(path, &function(typed)), Findings::default(), "{typed}");
        }
        assert_eq!(with(path, "// Result<(), String>\n"), Findings::default());
    }

    #[test]
    fn code_in_a_doc_comment_is_text() {
        let path = "crates/load/stats/src/a.rs";
        let block = |word: &str| format!("//! A.\n/// ```{word}\n/// a\n/// ```\nfn a() {{}}\n");
        assert_eq!(with(path, &block("text")), Findings::default());
        assert!(with(path, &block("")).errors[0].starts_with("crates/load/stats/src/a.rs:2:"));
    }

    #[test]
    fn a_path_of_a_machine_is_found_in_any_file() {
        let found = with("docs/a.md", concat!("see\n", "/wo", "rk/shared\n"));
        assert!(found.errors[0].starts_with("docs/a.md:2:"), "{found:?}");
    }
}
