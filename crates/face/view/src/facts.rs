//! Facts about the measurement of a run, as names and values. They are everything that is needed to
//! judge or to repeat the run.

use run_store::run::Run;
use units::print::{count, percent};
use units::{Bytes, Nanos};

use crate::document::Fact;

/// Lists the facts about a run, the most interesting first.
pub fn facts(run: &Run) -> Vec<Fact> {
    let (tool, tile) = (&run.tool, &run.tile);
    let commit = tool.commit.as_ref().map(|own| format!(" (commit {own})")).unwrap_or_default();
    let ended = run.ended.map_or_else(|| "not yet".to_owned(), |ended| ended.to_string());
    let time: u64 = run.steps.iter().map(|step| step.warm_up.duration_ns + step.measured_ns).sum();
    let all = [
        ("Tilemark", Some(format!("{}{commit}", tool.version))),
        ("Format of the results", Some(run.schema.clone())),
        ("Run", Some(run.id.clone())),
        ("Started", Some(run.started.to_string())),
        ("Ended", Some(ended)),
        ("Time under load", Some(Nanos(time).to_string())),
        ("Target", Some(target(run))),
        ("Second target", second(run)),
        ("Model of the array, SHA-256", run.target.array_sha256.clone()),
        (
            "Tile",
            Some(format!(
                "{}: {}, {}, {} of disks",
                tile.name,
                count(tile.vms.into(), "VM"),
                count(tile.workloads.into(), "workload"),
                Bytes::new(tile.disk_bytes)
            )),
        ),
        ("Scale", Some(scale(run))),
        ("Tile definition, SHA-256", Some(tile.sha256.clone())),
        ("Plan, SHA-256", Some(run.plan_sha256.clone())),
        ("Seed", Some(format!("{} ({})", run.seed, run.random_generator))),
        ("Profile", Some(run.profile.clone())),
        ("Engine", Some(engine(run))),
        ("Resolution", Some(format!("slices of {}", Nanos(run.engine.slice_ns)))),
        (
            "Percentiles",
            Some(
                "of merged histograms, never means of percentiles; service time unless said \
                 otherwise"
                    .to_owned(),
            ),
        ),
    ];
    let fact =
        |(name, value): (&str, Option<String>)| Some(Fact { name: name.to_owned(), value: value? });
    all.into_iter().filter_map(fact).collect()
}

fn target(run: &Run) -> String {
    let target = &run.target;
    let bytes = |bytes: Option<u64>, what: &str| {
        bytes.map(|bytes| format!(", {}{what}", Bytes::new(bytes))).unwrap_or_default()
    };
    format!(
        "{} ({}), {}{}{}",
        target.summary,
        target.kind,
        target.datastore,
        bytes(target.capacity_bytes, ""),
        bytes(target.provisioned_bytes, " of disks made")
    )
}

fn second(run: &Run) -> Option<String> {
    let second = run.target.second.as_ref()?;
    Some(format!("{}, {}", second.summary, second.datastore))
}

fn scale(run: &Run) -> String {
    let scaled = |share: f64, text: String| ((share - 1.0).abs() > f64::EPSILON).then_some(text);
    let (disks, time) = (run.scale.footprint, run.scale.time);
    let parts = [
        scaled(disks, format!("disks at {} of their size", percent(disks))),
        scaled(time, format!("time at {}", percent(time))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "full: disks and time as the tile says".to_owned(),
        false => parts.join(", "),
    }
}

fn engine(run: &Run) -> String {
    let engine = &run.engine;
    format!(
        "{}, {}, depth {}, {}{}",
        engine.backend,
        count(engine.workers.into(), "thread"),
        engine.depth,
        match engine.buffered {
            true => "through the page cache",
            false => "not through the page cache (O_DIRECT)",
        },
        if engine.verify { ", every block checked" } else { "" }
    )
}
