use super::finding::{Finding, Findings};
use crate::events::{EventContext, EventProblem, event_problems};
use crate::ladder::LadderSpec;
use crate::locate::DefinitionPath;
use crate::meter::Meter;
use crate::named::NamedMachine;
use crate::placement::Placement;
use crate::plan::{Ladder, OutOfRange, Plan};
use crate::shipped;

/// Prefix of a datastore that is a modelled array.
const ARRAY: &str = "array";
/// Prefix of a second datastore that is a pool of a modelled array.
const POOL: &str = "pool";

/// Finds all semantic errors in a plan.
pub(crate) fn plan_findings(plan: &Plan) -> Vec<Finding> {
    let mut found = Findings::default();
    let root = DefinitionPath::default();
    let first = plan.datastore.as_deref().unwrap_or_default();
    target(first, root.key("datastore"), &mut found);
    if let Some(second) = &plan.second {
        self::second(second, first, root.key("second"), &mut found);
    }
    if let Some(name) = plan.tile.as_ref().filter(|name| !shipped::is_path(name)) {
        let names: Vec<&str> = shipped::tile_names().collect();
        found.known(root.key("tile"), "shipped tile", name, &names);
    }
    if let Some(name) = plan.operations.as_ref().filter(|name| !shipped::is_path(name)) {
        let names: Vec<&str> = shipped::group_names().collect();
        found.known(root.key("operations"), "shipped operation group", name, &names);
    }
    ladder(&plan.ladder, &root.key("ladder"), &mut found);
    ranges(plan.out_of_range(), &root, &mut found);
    let placement = plan.hosts.placement.as_ref().map(|text| text.parse::<Placement>());
    if let Some(Err(error)) = placement {
        found.add(root.key("hosts").key("placement"), error.to_string());
    }
    events(plan, &root.key("events"), &mut found);
    meters(&plan.meters, &root.key("meters"), &mut found);
    machines(&plan.machines, &root.key("machines"), &mut found);
    found.into_vec()
}

/// Checks the events with the hosts of the plan. If the command line gives the hosts, the events
/// are checked when both are known.
fn events(plan: &Plan, place: &DefinitionPath, found: &mut Findings) {
    let name =
        |text: &String| text.split_once('=').map_or(text.as_str(), |(name, _)| name).to_owned();
    let hosts: Vec<String> = plan.hosts.members.iter().map(name).collect();
    let first = plan.datastore.as_deref().unwrap_or_default();
    let context = EventContext {
        hosts: &hosts,
        restart: plan.restart,
        duration: plan.measure.duration,
        is_modelled: first.split_once(':').is_some_and(|(kind, _)| kind == ARRAY),
    };
    for EventProblem { index, key, text } in event_problems(&plan.events, context) {
        let event = place.index(index);
        found.add(if key.is_empty() { event } else { event.key(key) }, text);
    }
}

fn meters(meters: &[Meter], place: &DefinitionPath, found: &mut Findings) {
    for (at, meter) in meters.iter().enumerate() {
        if let Some((key, why)) = meter.wrong() {
            found.add(place.index(at).key(key), why);
        }
    }
    let named = meters
        .iter()
        .enumerate()
        .filter_map(|(at, meter)| Some((place.index(at).key("name"), meter.name.as_deref()?)));
    found.names("meter", named.collect::<Vec<_>>());
}

fn machines(machines: &[NamedMachine], place: &DefinitionPath, found: &mut Findings) {
    for (at, machine) in machines.iter().enumerate() {
        if let Some((key, why)) = machine.wrong() {
            found.add(place.index(at).key(key), why);
        }
    }
}

/// Checks that a second datastore matches the first: both real storage, or a pool of a modelled
/// array.
fn second(text: &str, first: &str, place: DefinitionPath, found: &mut Findings) {
    let word = |text: &str| text.split_once(':').map_or(String::new(), |(word, _)| word.to_owned());
    match (word(first) == ARRAY, word(text).as_str()) {
        (true, _) => second_pool(text, place, found),
        (false, POOL | ARRAY) => found.add_help(
            place,
            format!("\"{text}\" is modelled, but the datastore is real storage"),
            "write a second datastore, for example dir:PATH of a directory on it",
        ),
        (false, _) => target(text, place, found),
    }
}

/// Checks a second datastore that is a pool of a modelled array.
pub(super) fn second_pool(text: &str, place: DefinitionPath, found: &mut Findings) {
    match text.split_once(':') {
        Some((POOL, "")) => {
            found.add(place, "\"pool:\" is not followed by the name of a pool");
        }
        Some((POOL, _)) => {}
        _ => found.add_help(
            place,
            format!("\"{text}\" is not a pool of a modelled array"),
            "write pool:NAME, with the name of a pool in the array's file",
        ),
    }
}

/// Checks the text of a datastore. Kinds of real storage are not checked. Only `datastore` knows
/// all of them, and it refuses an unknown kind before any change. A list here once refused
/// `pve:NAME`, although the command line accepted it.
fn target(text: &str, place: DefinitionPath, found: &mut Findings) {
    if text.trim().is_empty() {
        found.add(place, "the datastore is empty");
        return;
    }
    let Some((kind, path)) = text.split_once(':') else { return };
    if kind.contains(['/', '\\', '.']) || kind.is_empty() {
        return;
    }
    if path.is_empty() {
        found.add(place, format!("\"{kind}:\" is not followed by a path"));
    } else if kind == ARRAY && !shipped::is_path(path) {
        let names: Vec<&str> = shipped::array_names().collect();
        found.known(place, "shipped array", path, &names);
    }
}

fn ladder(ladder: &Ladder, place: &DefinitionPath, found: &mut Findings) {
    if let Some(text) = &ladder.tiles {
        match text.parse::<LadderSpec>() {
            Err(error) => found.add(place.key("tiles"), error.to_string()),
            Ok(LadderSpec::Search { .. }) => {}
            Ok(_) if ladder.tiles_max.is_some() => found.add_help(
                place.key("tiles-max"),
                format!("tiles-max bounds a search, but tiles = \"{text}\" is not a search"),
                "leave one of the two out",
            ),
            Ok(_) => {}
        }
    }
}

/// Reports values that are out of range. `place` is the table that contains them.
pub(super) fn ranges(wrong: Vec<OutOfRange>, place: &DefinitionPath, found: &mut Findings) {
    for own in wrong {
        let place = own.key.split('.').fold(place.clone(), |place, key| place.key(key));
        found.add(place, own.to_string());
    }
}
