use units::Nanos;

use super::finding::{Finding, Findings};
use crate::events::{EventContext, EventProblem, event_problems};
use crate::ladder::LadderSpec;
use crate::locate::Place;
use crate::meter::Meter;
use crate::named::NamedMachine;
use crate::nearest::did_you_mean;
use crate::placement::Placement;
use crate::plan::{EngineOptions, Ladder, Measure, Plan, Scale};
use crate::shipped;

/// What a datastore may be; a simulation has an array in its place.
const TARGETS: [&str; 4] = ["dir", "file", "block", ARRAY];
const ARRAY: &str = "array";
/// What a second datastore may be; a simulation has a pool in its place.
const SECOND: [&str; 3] = ["dir", "file", "block"];
const POOL: &str = "pool";
/// The longest stretch of a schedule: a 5-minute burst becomes one of eight hours.
const TIME_SCALE_MAX: f64 = 100.0;

/// All mistakes of meaning in a plan.
pub(crate) fn plan_findings(plan: &Plan) -> Vec<Finding> {
    let mut found = Findings::default();
    let root = Place::default();
    datastore(&plan.datastore, root.key("datastore"), &mut found);
    if let Some(second) = &plan.second {
        self::second(second, &plan.datastore, root.key("second"), &mut found);
    }
    if !shipped::is_path(&plan.tile) {
        let names: Vec<&str> = shipped::tile_names().collect();
        found.known(root.key("tile"), "shipped tile", &plan.tile, &names);
    }
    if let Some(name) = plan.operations.as_ref().filter(|name| !shipped::is_path(name)) {
        let names: Vec<&str> = shipped::group_names().collect();
        found.known(root.key("operations"), "shipped operation group", name, &names);
    }
    ladder(&plan.ladder, &root.key("ladder"), &mut found);
    measure(&plan.measure, &root.key("measure"), &mut found);
    scale(&plan.scale, &root.key("scale"), &mut found);
    engine(&plan.engine, &root.key("engine"), &mut found);
    let placement = plan.hosts.placement.as_ref().map(|text| text.parse::<Placement>());
    if let Some(Err(error)) = placement {
        found.add(root.key("hosts").key("placement"), error.to_string());
    }
    events(plan, &root.key("events"), &mut found);
    meters(&plan.meters, &root.key("meters"), &mut found);
    machines(&plan.machines, &root.key("machines"), &mut found);
    found.into_vec()
}

/// Hosts that are named here must be; those of the command line are checked when both are known.
fn events(plan: &Plan, place: &Place, found: &mut Findings) {
    let name =
        |text: &String| text.split_once('=').map_or(text.as_str(), |(name, _)| name).to_owned();
    let hosts: Vec<String> = plan.hosts.members.iter().map(name).collect();
    let context =
        EventContext { hosts: &hosts, restart: plan.restart, duration: plan.measure.duration };
    for EventProblem { index, key, text } in event_problems(&plan.events, context) {
        let event = place.index(index);
        found.add(if key.is_empty() { event } else { event.key(key) }, text);
    }
}

fn meters(meters: &[Meter], place: &Place, found: &mut Findings) {
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

fn machines(machines: &[NamedMachine], place: &Place, found: &mut Findings) {
    for (at, machine) in machines.iter().enumerate() {
        if let Some((key, why)) = machine.wrong() {
            found.add(place.index(at).key(key), why);
        }
    }
}

/// A second place is of the kind of the first: storage beside storage, a pool of a modelled array.
fn second(text: &str, first: &str, place: Place, found: &mut Findings) {
    let is_modelled =
        |text: &str, word: &str| text.strip_prefix(word).is_some_and(|rest| rest.starts_with(':'));
    match (is_modelled(first, ARRAY), is_modelled(text, POOL)) {
        (false, false) => target(text, &SECOND, place, found),
        (true, _) => second_pool(text, place, found),
        (false, true) => found.add_help(
            place,
            "a pool is a place in a modelled array, and the datastore is real storage",
            "write dir:PATH, file:PATH or block:PATH",
        ),
    }
}

/// A pool of a modelled array as the second place.
pub(super) fn second_pool(text: &str, place: Place, found: &mut Findings) {
    match text.split_once(':') {
        Some((POOL, "")) => {
            found.add(place, "\"pool:\" is not followed by the name of a pool");
        }
        Some((POOL, _)) => {}
        _ => found.add_help(
            place,
            format!("\"{text}\" is no pool of a modelled array"),
            "write pool:NAME, by the name of a pool in the array's file",
        ),
    }
}

fn datastore(text: &str, place: Place, found: &mut Findings) {
    target(text, &TARGETS, place, found);
}

fn target(text: &str, kinds: &[&str], place: Place, found: &mut Findings) {
    if text.trim().is_empty() {
        found.add(place, "the datastore is empty");
        return;
    }
    let Some((kind, path)) = text.split_once(':') else { return };
    if kind.contains(['/', '\\', '.']) || kind.is_empty() {
        return;
    }
    if !kinds.contains(&kind) {
        let help = format!(
            "{}; a directory with a colon in its name is dir:./{text}",
            did_you_mean(kind, kinds, "kinds")
        );
        found.add_help(place, format!("\"{kind}:\" is not a kind of datastore"), help);
    } else if path.is_empty() {
        found.add(place, format!("\"{kind}:\" is not followed by a path"));
    } else if kind == ARRAY && !shipped::is_path(path) {
        let names: Vec<&str> = shipped::array_names().collect();
        found.known(place, "shipped array", path, &names);
    }
}

fn ladder(ladder: &Ladder, place: &Place, found: &mut Findings) {
    if let Some(text) = &ladder.tiles {
        match text.parse::<LadderSpec>() {
            Err(error) => found.add(place.key("tiles"), error.to_string()),
            Ok(LadderSpec::Search { .. }) => {}
            Ok(_) if ladder.tiles_max.is_some() => found.add_help(
                place.key("tiles-max"),
                format!("tiles-max bounds a search, and tiles = \"{text}\" is none"),
                "leave one of the two out",
            ),
            Ok(_) => {}
        }
    }
    if let Some(most) = ladder.tiles_max {
        found.at_least_one(place.key("tiles-max"), "tiles-max", most);
    }
    if let Some(repeats) = ladder.repeats {
        found.at_least_one(place.key("repeats"), "the number of repeats", repeats);
    }
}

pub(super) fn measure(measure: &Measure, place: &Place, found: &mut Findings) {
    if let (Some(least), Some(most)) = (measure.warm_up_min, measure.warm_up_max)
        && least > most
    {
        found.add(
            place.key("warm-up-min"),
            format!("the shortest warm-up {least} is above the longest {most}"),
        );
    }
    if let Some(duration) = measure.duration {
        found.some_time(place.key("duration"), "the measured time", duration);
    }
    if let Some(slice) = measure.slice {
        found.some_time(place.key("slice"), "the slice", slice);
        if let Some(duration) = measure.duration
            && duration != Nanos::ZERO
            && slice > duration
        {
            let message = format!("the slice {slice} is longer than the measured time {duration}");
            found.add(place.key("slice"), message);
        }
    }
}

pub(super) fn scale(scale: &Scale, place: &Place, found: &mut Findings) {
    if let Some(footprint) = scale.footprint
        && !(footprint > 0.0 && footprint <= 1.0)
    {
        found.add(
            place.key("footprint"),
            format!("the footprint scale {footprint} must be above 0 and at most 1"),
        );
    }
    if let Some(time) = scale.time
        && !(time > 0.0 && time <= TIME_SCALE_MAX)
    {
        found.add(
            place.key("time"),
            format!("the time scale {time} must be above 0 and at most {TIME_SCALE_MAX}"),
        );
    }
}

fn engine(engine: &EngineOptions, place: &Place, found: &mut Findings) {
    if let Some(workers) = engine.workers {
        found.at_least_one(place.key("workers"), "the number of workers", workers);
    }
    if engine.space_max.is_some_and(|space| space.get() == 0) {
        found.add(place.key("space-max"), "space-max is 0 and must be above 0");
    }
}
