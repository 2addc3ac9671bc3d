use bench::recheck::{Agreement, Item, Recheck};
use serde_json::Value;
use units::Nanos;

/// Formats a recheck: all differences, and the deciding numbers of the values that agree.
pub fn recheck(recheck: &Recheck) -> String {
    let mut lines = vec![sentence(recheck)];
    lines.extend(recheck.files.iter().map(|item| line("files: ", item)));
    lines.extend(recheck.definitions.iter().map(|item| line("", item)));
    for step in &recheck.steps {
        let tiles = units::print::count(step.tiles.into(), "tile");
        lines.push(format!("step {}, repeat {} ({tiles})", step.step, step.repeat));
        let shown = step.items.iter().filter(|item| item.differs() || item.decides);
        lines.extend(shown.map(|item| line("  ", item)));
        let rest = step.items.iter().filter(|item| !item.differs() && !item.decides).count();
        if rest > 0 {
            lines.push(format!("  {rest} more agree"));
        }
    }
    if !recheck.answer.is_empty() {
        lines.push("answer".to_owned());
        lines.extend(recheck.answer.iter().map(|item| line("  ", item)));
    }
    lines.push("not re-checked".to_owned());
    lines.extend(recheck.not_rechecked.iter().map(|own| format!("  {}: {}", own.what, own.why)));
    lines.join("\n") + "\n"
}

fn sentence(recheck: &Recheck) -> String {
    let (all, differ) =
        (recheck.items().count(), recheck.items().filter(|own| own.differs()).count());
    let compared = units::print::count(all as u64, "figure");
    match recheck.result {
        Agreement::Agrees => format!("{}: {compared} agree with the raw series", recheck.run),
        Agreement::Differs => {
            format!("{}: {differ} of {compared} differ from the raw series", recheck.run)
        }
        Agreement::NotRechecked => {
            format!("{}: the raw series do not allow a new verdict", recheck.run)
        }
    }
}

fn line(indent: &str, item: &Item) -> String {
    let (what, result) = (&item.what, item.result.name());
    match item.result {
        Agreement::Agrees => match brief(&item.stored) {
            Some(value) => format!("{indent}{what} {result}: {value}"),
            None => format!("{indent}{what} {result}"),
        },
        Agreement::Differs => {
            let shown = |value: &Value| brief(value).unwrap_or_else(|| value.to_string());
            let (stored, computed) = (shown(&item.stored), shown(&item.computed));
            if stored == computed {
                let place = first_difference(&item.stored, &item.computed, String::new());
                let place = place.unwrap_or_default();
                return format!("{indent}{what} {result}: {place}");
            }
            format!("{indent}{what} {result}: stored {stored}, computed {computed}")
        }
        Agreement::NotRechecked => format!("{indent}{what} {result}"),
    }
}

/// Formats the main number of a value, with its unit.
fn brief(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => return Some(text.clone()),
        Value::Number(number) => return Some(number.to_string()),
        Value::Null => return Some("none".to_owned()),
        _ => {}
    }
    if let Some(limit) = value.get("result").or_else(|| value.get("limit_ns").map(|_| value)) {
        let time =
            |key: &str| limit.get(key).and_then(Value::as_u64).map(|ns| Nanos(ns).to_string());
        let none = || "none".to_owned();
        let measured = time("measured_ns").unwrap_or_else(none);
        let allowed = time("limit_ns").unwrap_or_else(none);
        let verdict = limit.get("verdict").and_then(Value::as_str).unwrap_or_default();
        let samples = limit.get("samples").and_then(Value::as_u64).unwrap_or(0);
        let samples = units::print::count(samples, "sample");
        return Some(format!("{verdict}, {measured} of {allowed}, {samples}"));
    }
    let score = value.get("applications").and_then(|own| own.get("value"));
    let figure = score.or_else(|| value.get("value")).and_then(Value::as_f64);
    figure.map(|figure| format!("{figure:.4}"))
}

/// Describes the first difference, as `tiles[3].geometric_mean.value: stored 1, computed 0.9`.
fn first_difference(stored: &Value, computed: &Value, place: String) -> Option<String> {
    match (stored, computed) {
        (Value::Object(one), Value::Object(other)) => one.iter().find_map(|(key, value)| {
            let dot = if place.is_empty() { "" } else { "." };
            let other = other.get(key).unwrap_or(&Value::Null);
            first_difference(value, other, format!("{place}{dot}{key}"))
        }),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs.into_iter().find_map(|(at, (one, other))| {
                first_difference(one, other, format!("{place}[{at}]"))
            })
        }
        _ if stored == computed => None,
        _ => Some(format!("{place}: stored {stored}, computed {computed}")),
    }
}

#[cfg(test)]
mod tests {
    use bench::recheck;
    use bench::run::sample;
    use bench::sample::SampleOptions;
    use run_store::rundir::StoredRun;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_decides_is_told_and_of_what_differs_both() {
        let base = tempfile::tempdir().expect("a directory");
        let options = SampleOptions {
            base: base.path().to_owned(),
            tile: "datacenter".to_owned(),
            tiles: 3,
            time: Nanos::from_secs(600),
            slice: Nanos::from_secs(10),
            seed: 1,
            is_empty: false,
        };
        let run = sample(&options, None).expect("a run");
        let stored = StoredRun::at(&run.directory).expect("a run");
        let mut found = recheck::recheck(&stored, None).expect("readable");
        assert!(super::recheck(&found).contains("limit shop order p95 agrees: passed, "));
        // Verdict that a forger would have stored for the step beyond the edge.
        let steps = found.steps.iter_mut().map(|step| &mut step.items);
        let failed = |item: &Item| item.what == "verdict" && item.stored == json!("failed");
        for items in steps.filter(|items| items.iter().any(failed)) {
            for item in items.iter_mut().filter(|item| failed(item)) {
                (item.stored, item.result) = (json!("passed"), Agreement::Differs);
            }
            let limit = items.iter_mut().find(|item| item.stored.get("result").is_some());
            let limit = limit.expect("a limit");
            limit.stored["result"]["measured_ns"] = json!(1_000_000);
            limit.result = Agreement::Differs;
        }
        let text = super::recheck(&found);
        assert!(text.contains("verdict differs: stored passed, computed failed"), "{text}");
        assert!(text.contains(", 1 ms of "), "{text}");
    }
}
