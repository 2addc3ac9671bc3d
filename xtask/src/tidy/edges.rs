//! Which crate depends on which.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::rules::Config;
use super::{CONFIG, Findings, Tree};

/// Every edge between our crates must be in the table; every entry of the table in use.
pub fn check(tree: &Tree, config: &Config, findings: &mut Findings) -> Result<()> {
    let manifests = || tree.iter().filter_map(|(path, text)| Some((crate_of(path)?, path, text)));
    let ours: BTreeSet<&str> = manifests().map(|(name, ..)| name).collect();
    for (name, path, text) in manifests() {
        let manifest: Table = toml::from_str(text).with_context(|| format!("reading {path}"))?;
        let Some(allowed) = config.edges.get(name) else {
            findings.errors.push(format!("{path}: crate {name} has no line in {CONFIG}"));
            continue;
        };
        let in_tests = config.test_edges.get(name).map_or(&[][..], Vec::as_slice);
        let is_ours = |dependency: &String| ours.contains(dependency.as_str());
        let used: BTreeSet<(Purpose, String)> =
            dependencies(&manifest).into_iter().filter(|(_, name)| is_ours(name)).collect();
        let may = |purpose, dependency: &String| {
            allowed.contains(dependency)
                || purpose == Purpose::Test && in_tests.contains(dependency)
        };
        for (_, dependency) in used.iter().filter(|(purpose, name)| !may(*purpose, name)) {
            findings.errors.push(format!(
                "{path}: {name} may not depend on {dependency}; a new edge is a reviewed line \
                 in {CONFIG}"
            ));
        }
        let idle = |dependency: &&String| !used.iter().any(|(_, name)| name == *dependency);
        for unused in allowed.iter().chain(in_tests).filter(idle) {
            findings
                .warnings
                .push(format!("{CONFIG}: the edge from {name} to {unused} is not used"));
        }
    }
    let gone = config.edges.keys().filter(|name| !ours.contains(name.as_str()));
    findings.errors.extend(gone.map(|name| format!("{CONFIG}: there is no crate {name}")));
    Ok(())
}

/// The directory of the crate whose manifest this is.
fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").filter(|name| !name.contains('/'))
}

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    Product,
    Test,
}

/// Everything depended on, ours by the name of its directory.
fn dependencies(manifest: &Table) -> Vec<(Purpose, String)> {
    let own = manifest.iter();
    let per_target = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table)
        .flat_map(Table::iter);
    let sections = own.chain(per_target).filter_map(|(section, value)| {
        let purpose = match section.as_str() {
            "dependencies" | "build-dependencies" => Purpose::Product,
            "dev-dependencies" => Purpose::Test,
            _ => return None,
        };
        Some((purpose, value.as_table()?))
    });
    let name = |key: &String, value: &Value| {
        let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
        package.strip_prefix("tilemark-").unwrap_or(package).to_owned()
    };
    sections
        .flat_map(|(purpose, entries)| entries.iter().map(move |(k, v)| (purpose, name(k, v))))
        .collect()
}
