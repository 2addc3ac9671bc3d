//! Checks the dependencies between crates, by their folders.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::rules::Config;
use super::{CONFIG, Findings, Tree};

/// Holds that crates depend on crates of their own folder and of folders before it, and that no
/// product crate depends on one of the folder for tests. Dependencies of tests may point anywhere.
pub fn check(tree: &Tree, config: &Config, findings: &mut Findings) -> Result<()> {
    let mut crates = BTreeMap::new();
    for (path, text) in tree {
        let Some((folder, name)) = crate_of(path) else { continue };
        let rank = config.folders.iter().position(|known| known == folder);
        if rank.is_none() && folder != config.testing {
            findings.errors.push(format!("{path}: folder crates/{folder} is not in {CONFIG}"));
        }
        crates.insert(name, (path, text, folder, rank));
    }
    for (name, (path, text, folder, rank)) in &crates {
        let manifest: Table = toml::from_str(text).with_context(|| format!("reading {path}"))?;
        for dependency in product_dependencies(&manifest) {
            let Some((.., below, its_rank)) = crates.get(dependency.as_str()) else { continue };
            let is_never = config.never.get(*name).is_some_and(|all| all.contains(&dependency));
            if is_never || *folder != config.testing && (its_rank.is_none() || its_rank > rank) {
                findings.errors.push(format!(
                    "{path}: {name} ({folder}) may not depend on {dependency} ({below}): {CONFIG}"
                ));
            }
        }
    }
    let mut named = config.never.iter().flat_map(|(name, all)| std::iter::once(name).chain(all));
    if let Some(gone) = named.find(|name| !crates.contains_key(name.as_str())) {
        findings.errors.push(format!("{CONFIG}: there is no crate {gone}"));
    }
    for folder in config.folders.iter().chain([&config.testing]) {
        let readme = format!("crates/{folder}/README.md");
        if !tree.contains_key(&readme) {
            findings.errors.push(format!("{readme} is missing: what lives there, where to begin"));
        }
    }
    Ok(())
}

/// Folder and directory of the crate with this manifest.
fn crate_of(path: &str) -> Option<(&str, &str)> {
    let (folder, name) =
        path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?.split_once('/')?;
    (!name.contains('/')).then_some((folder, name))
}

/// Dependencies of the product, with crates of this workspace by the name of their directory.
fn product_dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let sections = targets.filter_map(|(_, target)| target.as_table()).chain([manifest]);
    let product = |table: &Table| {
        let all = ["dependencies", "build-dependencies"].map(|section| table.get(section).cloned());
        all.into_iter().flatten().filter_map(|section| section.as_table().cloned())
    };
    let name = |(key, value): (String, Value)| {
        let package = value.get("package").and_then(Value::as_str).unwrap_or(&key);
        package.strip_prefix("tilemark-").unwrap_or(package).replace('_', "-")
    };
    sections.flat_map(|table| product(table).collect::<Vec<_>>()).flatten().map(name).collect()
}
