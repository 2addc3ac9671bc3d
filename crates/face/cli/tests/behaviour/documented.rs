//! The documentation: its list of pages is whole, and its links lead somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Pages beside the documentation.
pub(crate) const BESIDE: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

pub(crate) fn documents() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs"))
        .canonicalize()
        .expect("docs")
}

/// Every page below a directory.
pub(crate) fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Files that the links of a page lead to, without their anchors.
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
    all.extend(BESIDE.map(|name| root.join("..").join(name)));
    let mut dead = Vec::new();
    for page in all {
        let text = std::fs::read_to_string(&page).expect("a page");
        let directory = page.parent().expect("a directory");
        let missing = links(&text).into_iter().filter(|link| !directory.join(link).exists());
        dead.extend(missing.map(|link| format!("{}: {link}", page.display())));
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}
