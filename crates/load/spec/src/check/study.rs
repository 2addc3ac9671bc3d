use indexmap::IndexSet;

use super::finding::{Finding, Findings};
use super::plan;
use crate::events::{EventContext, EventProblem, event_problems};
use crate::locate::DefinitionPath;
use crate::study::formula::{FormulaError, Scope, parse};
use crate::study::{
    Claim, Configuration, Kind, Limits, Published, RealConfiguration, Study, Table, Tolerance,
};

/// Finds all semantic errors in a study.
pub(crate) fn study_findings(study: &Study) -> Vec<Finding> {
    let mut found = Findings::default();
    let root = DefinitionPath::default();
    found.names("study", [(root.key("name"), study.name.as_str())]);
    found.says_something(root.key("title"), "the title", &study.title);
    found.says_something(root.key("source"), "the source", &study.source);
    found.at_least_one(root.key("repeats"), "the number of repeats", study.repeats);
    if i64::try_from(study.seed).is_err() {
        let message = format!("the seed {} must be at most 2^63-1", study.seed);
        found.add(root.key("seed"), message);
    }
    plan::ranges(study.measure.out_of_range(), &root, &mut found);
    plan::ranges(study.scale.out_of_range(), &root, &mut found);
    configurations(study, &root.key("configuration"), &mut found);
    let names: Vec<&str> = study.configurations.iter().map(|each| each.name.as_str()).collect();
    for (i, each) in study.reals.iter().enumerate() {
        real(each, study, &root.key("real").index(i), &mut found);
    }
    let reals = study.reals.iter().map(|each| each.name.as_str());
    let all: Vec<&str> = names.iter().copied().chain(reals).collect();
    for (i, each) in study.tables.iter().enumerate() {
        table(each, &all, &root.key("table").index(i), &mut found);
    }
    claims(study, &all, &root.key("claim"), &mut found);
    found.into_vec()
}

fn configurations(study: &Study, place: &DefinitionPath, found: &mut Findings) {
    let all = &study.configurations;
    if study.reals.is_empty() {
        found.not_empty(place.clone(), "the list of configurations", all);
    }
    let names = all.iter().enumerate();
    let names = names.map(|(i, each)| (place.index(i).key("name"), each.name.as_str()));
    let reals = study.reals.iter().enumerate();
    let real = DefinitionPath::default().key("real");
    let reals = reals.map(|(i, each)| (real.index(i).key("name"), each.name.as_str()));
    found.names("configuration", names.chain(reals));
    for (i, each) in all.iter().enumerate() {
        configuration(each, study, &all[..i], &place.index(i), found);
    }
}

fn configuration(
    each: &Configuration,
    study: &Study,
    before: &[Configuration],
    place: &DefinitionPath,
    found: &mut Findings,
) {
    found.says_something(place.key("title"), "the title", &each.title);
    plan::ranges(each.measure.out_of_range(), place, found);
    plan::ranges(each.scale.out_of_range(), place, found);
    if let Some(second) = &each.second {
        plan::second_pool(second, place.key("second"), found);
    }
    let duration = each.measure.duration.or(study.measure.duration);
    let context = EventContext { hosts: &[], restart: each.restart, duration, is_modelled: true };
    // What a configuration inherits is known when it runs, and is checked then.
    let own = if each.like.is_none() { &each.events[..] } else { &[] };
    for EventProblem { index, key, text } in event_problems(own, context) {
        let event = place.key("events").index(index);
        found.add(if key.is_empty() { event } else { event.key(key) }, text);
    }
    match (&each.array, &each.like) {
        (_, Some(like)) => {
            let names: Vec<&str> = before.iter().map(|other| other.name.as_str()).collect();
            found.known(place.key("like"), "earlier configuration", like, &names);
        }
        (None, None) => found.add_help(
            place.clone(),
            format!("the configuration \"{}\" has no array", each.name),
            "give it array = NAME, or like = the name of an earlier configuration",
        ),
        (Some(_), None) => {
            if each.tile.is_none() && study.tile.is_none() {
                let help = "give the study or the configuration tile = NAME";
                let message = format!("the configuration \"{}\" has no tile", each.name);
                found.add_help(place.clone(), message, help);
            }
            if each.tiles.is_none() && study.tiles.is_none() {
                let help = "give the study or the configuration tiles = \"1..4\"";
                let message =
                    format!("the configuration \"{}\" has no numbers of tiles", each.name);
                found.add_help(place.clone(), message, help);
            }
        }
    }
}

fn real(each: &RealConfiguration, study: &Study, place: &DefinitionPath, found: &mut Findings) {
    found.says_something(place.key("title"), "the title", &each.title);
    plan::ranges(each.measure.out_of_range(), place, found);
    plan::ranges(each.scale.out_of_range(), place, found);
    found.at_least_one(place.key("workers"), "the number of workers", each.workers);
    if each.tile.is_none() && study.tile.is_none() {
        let message = format!("the configuration \"{}\" has no tile", each.name);
        found.add_help(place.clone(), message, "give the study or the configuration tile = NAME");
    }
    let Limits { read_iops, write_iops, read_rate, write_rate } = each.limits;
    let limits = [
        ("read-iops", read_iops.map(u64::from)),
        ("write-iops", write_iops.map(u64::from)),
        ("read-rate", read_rate.map(units::Bytes::get)),
        ("write-rate", write_rate.map(units::Bytes::get)),
    ];
    for (key, limit) in limits {
        if limit == Some(0) {
            let message = "a limit of 0 lets nothing through; it must be at least 1";
            found.add(place.key("limits").key(key), message);
        }
    }
}

fn table(table: &Table, names: &[&str], place: &DefinitionPath, found: &mut Findings) {
    found.says_something(place.key("title"), "the title", &table.title);
    for (i, name) in table.configurations.iter().flatten().enumerate() {
        found.known(place.key("configurations").index(i), "configuration", name, names);
    }
    formula(&table.measure, Scope::Table, names, &place.key("measure"), found);
}

fn claims(study: &Study, names: &[&str], place: &DefinitionPath, found: &mut Findings) {
    let mut seen = IndexSet::new();
    for (i, each) in study.claims.iter().enumerate() {
        let place = place.index(i);
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if each.id.is_empty() || !each.id.chars().all(fine) {
            let help = "an id is made of letters, digits, \"-\", \"_\" and \".\"";
            found.add_help(place.key("id"), format!("\"{}\" is not an id", each.id), help);
        } else if !seen.insert(each.id.as_str()) {
            found.add(place.key("id"), format!("there is more than one claim \"{}\"", each.id));
        }
        claim(each, names, &place, found);
    }
}

fn claim(claim: &Claim, names: &[&str], place: &DefinitionPath, found: &mut Findings) {
    found.says_something(place.key("text"), "the text", &claim.text);
    found.says_something(place.key("source"), "the source", &claim.source);
    published(&claim.published, &place.key("published"), found);
    tolerance(claim, &place.key("tolerance"), found);
    match &claim.measure {
        Some(text) => formula(text, Scope::Claim, names, &place.key("measure"), found),
        None if claim.why.is_none() && claim.kind != Kind::Input => found.add_help(
            place.clone(),
            format!("the claim \"{}\" has no measure", claim.id),
            "give it a measure, or say in why = \"...\" why it cannot be measured",
        ),
        None => {}
    }
}

fn published(published: &Published, place: &DefinitionPath, found: &mut Findings) {
    match published.bounds() {
        Some((low, high)) if !(low.is_finite() && high.is_finite()) => {
            found.add(place.clone(), "the published value is not a finite number");
        }
        Some((low, high)) if low > high => {
            let message = format!("the range ends at {high}, before it begins at {low}");
            found.add(place.clone(), message);
        }
        _ => {}
    }
}

fn tolerance(claim: &Claim, place: &DefinitionPath, found: &mut Findings) {
    match claim.tolerance {
        Tolerance::Absolute(far) if !(far >= 0.0 && far.is_finite()) => {
            found.add(place.key("absolute"), format!("the distance {far} must be 0 or more"));
        }
        Tolerance::Range(low, high) if low > high || low.is_nan() || high.is_nan() => {
            let message = format!("the range ends at {high}, before it begins at {low}");
            found.add(place.key("range"), message);
        }
        Tolerance::Order(false) | Tolerance::Exact(false) => {
            found.add_help(place.clone(), "a tolerance of false allows nothing", "write true");
        }
        Tolerance::Absolute(_) | Tolerance::Relative(_) | Tolerance::Exact(_)
            if claim.published.bounds().is_none() =>
        {
            found.add_help(
                place.clone(),
                "this tolerance needs a published number, but words are published",
                "use range, at-least, at-most or order",
            );
        }
        _ => {}
    }
}

fn formula(text: &str, scope: Scope, names: &[&str], place: &DefinitionPath, found: &mut Findings) {
    let formula = match parse(text, scope) {
        Ok(formula) => formula,
        Err(error) => return found.formula(place.clone(), text, error),
    };
    formula.root.walk(&mut |node| {
        let Some((name, at)) = node.configuration() else { return };
        if !names.contains(&name) {
            let help = crate::nearest::did_you_mean(name, names, "configurations");
            let message = format!("there is no configuration \"{name}\"");
            found.formula(place.clone(), text, FormulaError::new(at, message).help(help));
        }
    });
}
