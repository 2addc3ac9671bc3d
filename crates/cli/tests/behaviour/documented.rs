//! The documentation: its list of pages is whole, its links lead somewhere, and its commands work.
//!
//! A fenced block that begins with ```` ```sh try ```` is run, each in a place of its own, where
//! `/mnt/datastore` is a directory that a run may use and everything is small and short. Blocks of
//! other kinds (`text`) need what this machine need not have, and their page says so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::rig::{Place, err, out};

fn documents() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).canonicalize().expect("docs")
}

/// Every page below a directory.
fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Where the links of a page lead that are no addresses: the file, without its anchor.
fn links(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        for (at, _) in line.match_indices("](").filter(|_| !is_code) {
            let target = line[at + 2..].split(')').next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:") {
                found.push(file.to_owned());
            }
        }
    }
    found
}

#[test]
fn the_summary_names_every_page_once() {
    let root = documents();
    let mut all = Vec::new();
    pages(&root, &mut all);
    let summary = root.join("SUMMARY.md");
    let named = links(&std::fs::read_to_string(&summary).expect("a summary"));
    let unique: BTreeSet<&String> = named.iter().collect();
    assert_eq!(unique.len(), named.len(), "a page is named twice");
    let named: BTreeSet<PathBuf> = named.iter().map(|name| root.join(name)).collect();
    let all: BTreeSet<PathBuf> = all.into_iter().filter(|page| *page != summary).collect();
    assert_eq!(all.difference(&named).collect::<Vec<_>>(), Vec::<&PathBuf>::new(), "not named");
    assert_eq!(named.difference(&all).collect::<Vec<_>>(), Vec::<&PathBuf>::new(), "not there");
}

#[test]
fn every_link_leads_to_a_file() {
    let root = documents();
    let mut all = Vec::new();
    pages(&root, &mut all);
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] {
        all.push(root.join("..").join(name));
    }
    let mut dead = Vec::new();
    for page in all {
        let text = std::fs::read_to_string(&page).expect("a page");
        let directory = page.parent().expect("a directory");
        let missing = links(&text).into_iter().filter(|link| !directory.join(link).exists());
        dead.extend(missing.map(|link| format!("{}: {link}", page.display())));
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

/// Blocks that are to be tried, with the line they begin at.
fn tried(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, usize, String)> = None;
    for (at, line) in text.lines().enumerate() {
        let plain = line.trim_start();
        match &mut block {
            None if plain == "```sh try" => {
                block = Some((at + 1, line.len() - plain.len(), String::new()));
            }
            Some(_) if plain == "```" => {
                found.extend(block.take().map(|(at, _, script)| (at, script)));
            }
            Some((_, indent, script)) => {
                *script += line.get(*indent..).unwrap_or_default();
                script.push('\n');
            }
            None => {}
        }
    }
    assert!(block.is_none(), "a block has no end");
    found
}

/// What makes the runs of the documentation small and short.
const BRIEF: [(&str, &str); 8] = [
    ("TILEMARK_ALLOW_ROOT_FS", "1"),
    ("TILEMARK_ALLOW_SAME_DEVICE", "1"),
    ("TILEMARK_TILES", "1"),
    ("TILEMARK_FOOTPRINT", "0.0005"),
    ("TILEMARK_DURATION", "1s"),
    ("TILEMARK_WARM_UP_MIN", "200ms"),
    ("TILEMARK_WARM_UP_MAX", "400ms"),
    ("TILEMARK_SLICE", "100ms"),
];

#[test]
fn every_command_that_is_marked_works() {
    if Place::usable().is_none() {
        return;
    }
    let mut all = Vec::new();
    pages(&documents(), &mut all);
    all.sort();
    let (mut count, mut failed) = (0, Vec::new());
    for page in all {
        for (line, script) in tried(&std::fs::read_to_string(&page).expect("a page")) {
            count +=
                script.lines().filter(|line| line.trim_start().starts_with("tilemark ")).count();
            if let Some(said) = attempt(&script) {
                failed.push(format!("{}:{line}: {said}\n{script}", page.display()));
            }
        }
    }
    eprintln!("docs.commands_tested {count}");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(count >= 10, "{count} commands are marked");
}

/// That others disturb a step of a second (5) is not what is tried here.
const LENIENT: &str = "tilemark() { command tilemark \"$@\" || test $? -eq 5; }\n";

/// Runs a block; what it said, if it failed.
fn attempt(script: &str) -> Option<String> {
    let place = Place::new();
    let script = script.replace("/mnt/datastore", &place.path("ds").display().to_string());
    let mut command = Command::new("sh");
    command.args(["-eu", "-c", &format!("{LENIENT}{script}")]).current_dir(place.path(""));
    place.surroundings(&mut command);
    let program = Path::new(env!("CARGO_BIN_EXE_tilemark")).parent().expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", program.display())).envs(BRIEF);
    let output = command.output().expect("a shell");
    match output.status.code() {
        Some(0) => None,
        code => Some(format!("ended with {code:?}: {}{}", out(&output), err(&output))),
    }
}
