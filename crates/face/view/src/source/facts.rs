use std::path::Path;

use run_store::rundir::{Event, StoredRun, files};
use serde_json::Value;

use crate::document::WritePolicy;

/// Files beside `run.json`. A missing or unreadable file counts as absent, and views work without
/// it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    pub environment: Option<Value>,
    pub preflight: Option<Value>,
    pub plan: Option<String>,
    pub checksums: Option<String>,
    pub events: Vec<Event>,
    /// Tiers of `array.toml` with their write policies.
    pub policies: Vec<(String, WritePolicy)>,
}

impl Files {
    pub(super) fn read(stored: &StoredRun) -> Self {
        let path = stored.path();
        Self {
            environment: json(path, files::ENV),
            preflight: json(path, files::PREFLIGHT),
            plan: text(path, files::PLAN),
            checksums: text(path, files::SUMS),
            events: stored.events().unwrap_or_default(),
            policies: text(path, files::ARRAY)
                .map(|text| policies(&text))
                .or_else(|| served(stored))
                .unwrap_or_default(),
        }
    }
}

/// Returns the write policy of a tier that was served in front of a real datastore.
fn served(stored: &StoredRun) -> Option<Vec<(String, WritePolicy)>> {
    let tier = stored.run().ok()?.target.tier.as_ref()?;
    let policy = match tier.mode.as_str() {
        "back" => WritePolicy::WriteBack,
        _ => WritePolicy::WriteThrough,
    };
    Some(vec![("tier".to_owned(), policy)])
}

fn text(directory: &Path, name: &str) -> Option<String> {
    untrusted::read_text(&directory.join(name)).ok()
}

fn json(directory: &Path, name: &str) -> Option<Value> {
    serde_json::from_str(&text(directory, name)?).ok()
}

/// Returns the tiers of a model with the policies of their `write` keys.
fn policies(array: &str) -> Vec<(String, WritePolicy)> {
    let Ok(table) = array.parse::<toml::Table>() else { return Vec::new() };
    let tiers = table.get("tier").and_then(toml::Value::as_array);
    let tiers = tiers.into_iter().flatten();
    let key = |tier: &toml::Value, key: &str| Some(tier.get(key)?.as_str()?.to_owned());
    tiers
        .filter_map(|tier| {
            let policy = match key(tier, "write")?.as_str() {
                "back" | "only" => WritePolicy::WriteBack,
                "through" => WritePolicy::WriteThrough,
                "around" => WritePolicy::ReadOnly,
                _ => return None,
            };
            Some((key(tier, "name")?, policy))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_a_tier_is_that_of_the_model() {
        let found = policies("[[tier]]\nname = \"near\"\nwrite = \"back\"\n[[tier]]\nname = \"x\"");
        assert_eq!(found, [("near".to_owned(), WritePolicy::WriteBack)]);
        assert_eq!(policies("not toml"), []);
    }
}
