//! Outline of a plan, as `plan` prints it for one host and for several.

use bench::run::Outline;
use serde_json::{Map, Value, json};

use crate::args::RunArgs;
use crate::commands::run;
use crate::text::count;

/// Returns the outline as lines of text.
pub fn outlined(args: &RunArgs, outline: &Outline) -> Vec<String> {
    let fate = if run::keeps(args) { "kept" } else { "removed" };
    let tiles = outline.tiles_max.map_or_else(
        || "not even the first step fits".to_owned(),
        |most| format!("up to {}", count(u64::from(most), "tile")),
    );
    let budget = outline.budget.map_or_else(String::new, |budget| {
        format!("; no step begins that would end after {budget}")
    });
    vec![
        format!(
            "tile       {}, {} of disks",
            count(u64::from(outline.vms_per_tile), "VM"),
            outline.bytes_per_tile
        ),
        format!("ladder     {}: {tiles}", outline.ladder),
        format!(
            "time       a step takes {} to {}{budget}",
            outline.step_time.0, outline.step_time.1
        ),
        format!(
            "writes     at most {} ({} B), all in Tilemark's own files or ranges; {fate} at the \
            end",
            outline.bytes_at_most,
            outline.bytes_at_most.get()
        ),
        String::new(),
        outline.plan.trim_end().to_owned(),
        String::new(),
    ]
}

/// Returns the outline as JSON, to be a part of a document.
pub fn outline_document(outline: &Outline) -> Map<String, Value> {
    let own = json!({
        "vms_per_tile": outline.vms_per_tile,
        "per_tile_bytes": outline.bytes_per_tile.get(),
        "tiles_max": outline.tiles_max,
        "written_at_most_bytes": outline.bytes_at_most.get(),
        "ladder": outline.ladder,
        "step_at_least_ns": outline.step_time.0.0,
        "step_at_most_ns": outline.step_time.1.0,
        "plan_toml": outline.plan,
    });
    match own {
        Value::Object(own) => own,
        _ => Map::new(),
    }
}
