//! Differences in addition to the figures: computer, target, program, plan.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use run_store::run::Run;
use serde_json::Value;

use crate::document::{Difference, Seeds, SideFacts};
use crate::subject::Subject;

/// Facts of `env.json` that change with every minute or login and explain nothing. An entry matches
/// a fact whose path contains all words of the entry in sequence.
const VOLATILE: [&str; 4] =
    ["load_average", "memory.available_bytes", "cgroup.path", "temperature_millicelsius"];

type Facts = IndexMap<String, String>;

/// Returns the differences of computers, targets or programs.
pub(crate) fn environment(a: &[Subject<'_>], b: &[Subject<'_>]) -> Vec<Difference> {
    let is_measured = |subject: &Subject<'_>| !subject.run.target.is_simulated();
    // A simulation does not depend on the computer.
    let has_machine = a.iter().chain(b).all(is_measured);
    let facts = |subject: &Subject<'_>| {
        let mut facts = Facts::new();
        let run = subject.run;
        flatten("tool", &to_value(&run.tool), &mut facts);
        flatten("target", &to_value(&run.target), &mut facts);
        facts.insert("engine.backend".to_owned(), run.engine.backend.clone());
        facts.insert("random_generator".to_owned(), run.random_generator.clone());
        if let Some(environment) = subject.environment.filter(|_| has_machine) {
            flatten("", environment, &mut facts);
        }
        facts.retain(|key, _| !is_volatile(key));
        facts
    };
    differences(a.iter().map(facts).collect(), b.iter().map(facts).collect())
}

/// Returns the differences of plans, tiles or scales. The seed is reported separately, and the
/// datastore is part of the environment.
pub(crate) fn plan(a: &[Subject<'_>], b: &[Subject<'_>]) -> Vec<Difference> {
    let facts = |subject: &Subject<'_>| {
        let run = subject.run;
        let mut facts = Facts::new();
        facts.insert("profile".to_owned(), run.profile.clone());
        flatten("tile", &to_value(&run.tile), &mut facts);
        flatten("scale", &to_value(&run.scale), &mut facts);
        for (key, value) in engine_settings(run) {
            facts.insert(key.to_owned(), value);
        }
        for value in &run.plan {
            if !["seed", "datastore", "tile", "profile"].contains(&value.key.as_str()) {
                flatten(&value.key, &value.value, &mut facts);
            }
        }
        facts
    };
    differences(a.iter().map(facts).collect(), b.iter().map(facts).collect())
}

/// Returns the settings that the plan leaves to the computer, under the plan's names so that each
/// is listed once.
fn engine_settings(run: &Run) -> [(&'static str, String); 5] {
    let engine = &run.engine;
    [
        ("engine.workers", engine.workers.to_string()),
        ("engine.depth", engine.depth.to_string()),
        ("engine.buffered", engine.buffered.to_string()),
        ("engine.verify", engine.verify.to_string()),
        ("measure.slice_ns", engine.slice_ns.to_string()),
    ]
}

fn to_value(facts: &impl serde::Serialize) -> Value {
    serde_json::to_value(facts).unwrap_or(Value::Null)
}

/// Adds the leaves of a JSON value, keyed by their path.
fn flatten(path: &str, value: &Value, facts: &mut Facts) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| flatten(&below(key), value, facts));
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                flatten(&below(&position.to_string()), item, facts);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            facts.insert(path.to_owned(), text.clone());
        }
        other => {
            facts.insert(path.to_owned(), other.to_string());
        }
    }
}

fn is_volatile(key: &str) -> bool {
    let key = format!(".{key}.");
    VOLATILE.iter().any(|words| key.contains(&format!(".{words}.")))
}

fn differences(a: Vec<Facts>, b: Vec<Facts>) -> Vec<Difference> {
    let mut keys: Vec<&String> = Vec::new();
    let mut seen = BTreeSet::new();
    for key in a.iter().chain(&b).flat_map(Facts::keys) {
        if seen.insert(key) {
            keys.push(key);
        }
    }
    let values = |side: &[Facts], key: &str| -> Vec<String> {
        let found: BTreeSet<String> = side
            .iter()
            .map(|facts| facts.get(key).cloned().unwrap_or_else(|| "absent".to_owned()))
            .collect();
        found.into_iter().collect()
    };
    keys.into_iter()
        .map(|key| Difference { key: key.clone(), a: values(&a, key), b: values(&b, key) })
        .filter(|difference| difference.a != difference.b || difference.a.len() > 1)
        .collect()
}

/// Returns a note for comparisons with simulated runs.
pub(crate) fn simulated(a: &[Subject<'_>], b: &[Subject<'_>]) -> Option<String> {
    let simulated = |side: &[Subject<'_>]| {
        side.iter().filter(|subject| subject.run.target.is_simulated()).count()
    };
    let kind = |side: &[Subject<'_>]| match simulated(side) {
        0 => "measured on real storage",
        all if all == side.len() => "simulated",
        _ => "partly simulated, partly measured on real storage",
    };
    match simulated(a) + simulated(b) {
        0 => None,
        all if all == a.len() + b.len() => Some(
            "both groups are simulated: differences are differences of models, and only as \
             accurate as the models"
                .to_owned(),
        ),
        _ => Some(format!(
            "group A is {} and group B is {}: differences may be errors of the model",
            kind(a),
            kind(b)
        )),
    }
}

/// Returns the runs of a group and their seeds.
pub(crate) fn side(subjects: &[Subject<'_>]) -> SideFacts {
    let seeds: BTreeSet<u64> = subjects.iter().map(|subject| subject.run.seed).collect();
    SideFacts {
        runs: subjects.iter().map(|subject| subject.run.id.clone()).collect(),
        seeds: seeds.into_iter().collect(),
    }
}

/// Returns the overlap of two groups' seeds.
pub(crate) fn seeds(a: &SideFacts, b: &SideFacts) -> Seeds {
    if a.seeds == b.seeds {
        Seeds::Same
    } else if a.seeds.iter().any(|seed| b.seeds.contains(seed)) {
        Seeds::Overlapping
    } else {
        Seeds::Different
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::run;
    use serde_json::json;

    #[test]
    fn a_new_kernel_is_a_difference_and_momentary_load_is_not() {
        let runs = [run(1, vec![]), run(2, vec![])];
        let old = json!({"kernel": {"release": "6.1"}, "memory": {"available_bytes": 1},
            "load_average": [0.1, 0.2, 0.3]});
        let new = json!({"kernel": {"release": "6.12"}, "memory": {"available_bytes": 2},
            "load_average": [0.2, 0.2, 0.3]});
        let a = Subject { run: &runs[0], environment: Some(&old), within: None };
        let b = Subject { run: &runs[1], environment: Some(&new), within: None };
        let found = environment(&[a], &[b]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].key.as_str(), found[0].b[0].as_str()), ("kernel.release", "6.12"));
        assert_eq!(environment(&[a], &[a]), []);
    }

    #[test]
    fn a_simulated_run_is_told_from_a_measured_one_in_words() {
        let measured = run(1, vec![]);
        let mut model = run(1, vec![]);
        model.target.kind = "simulated".to_owned();
        let machine = json!({"kernel": {"release": "6.1"}});
        let real = [Subject { run: &measured, environment: Some(&machine), within: None }];
        let virtual_time = [Subject { run: &model, environment: None, within: None }];
        assert_eq!(simulated(&real, &real), None);
        let note = simulated(&real, &virtual_time).expect("a note");
        assert!(note.starts_with("group A is measured on real storage and group B is simulated"));
        assert!(simulated(&virtual_time, &virtual_time).expect("a note").contains("both groups"));
        let keys: Vec<String> =
            environment(&real, &virtual_time).into_iter().map(|found| found.key).collect();
        assert_eq!(keys, ["target.kind"], "the machine of a simulation explains nothing");
    }

    #[test]
    fn runs_of_one_side_that_disagree_are_a_difference_too() {
        let (one, mut other) = (run(1, vec![]), run(2, vec![]));
        other.scale.footprint = 0.1;
        let a = [&one, &other].map(|run| Subject { run, environment: None, within: None });
        let found = plan(&a, &a);
        assert_eq!(found[0].key, "scale.footprint");
        assert_eq!(found[0].a, ["0.1", "1.0"]);
    }

    #[test]
    fn seeds_are_told_apart_from_the_plan() {
        let (one, two) = (run(1, vec![]), run(2, vec![]));
        let subject = |run| [Subject { run, environment: None, within: None }];
        assert_eq!(plan(&subject(&one), &subject(&two)), []);
        assert_eq!(seeds(&side(&subject(&one)), &side(&subject(&two))), Seeds::Different);
        assert_eq!(seeds(&side(&subject(&one)), &side(&subject(&one))), Seeds::Same);
    }
}
