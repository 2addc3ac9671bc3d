use super::finding::{Finding, Findings};
use crate::locate::DefinitionPath;
use crate::shipped;
use crate::tile::Tile;

/// Finds all semantic errors in a tile.
pub(crate) fn tile_findings(tile: &Tile) -> Vec<Finding> {
    let mut found = Findings::default();
    let root = DefinitionPath::default();
    found.says_something(root.key("name"), "the name", &tile.name);
    found.says_something(root.key("title"), "the title", &tile.title);
    found.says_something(root.key("source"), "the source", &tile.source);
    if let Some(estate) = &tile.estate {
        let place = root.key("estate");
        found.at_least_one(place.key("vms"), "the number of machines", estate.vms);
        if !(estate.tiles > 0.0 && estate.tiles <= 1e6) {
            let message = format!("an estate is {} tiles", estate.tiles);
            found.add_help(place.key("tiles"), message, "more than 0 and at most a million");
        }
    }
    let workloads = root.key("workload");
    found.not_empty(workloads.clone(), "the list of workloads", &tile.workloads);
    let shipped: Vec<&str> = shipped::workload_names().collect();
    for (i, part) in tile.workloads.iter().enumerate() {
        let place = workloads.index(i);
        found.at_least_one(place.key("count"), "the count", part.count);
        if !shipped::is_path(&part.workload) {
            found.known(place.key("use"), "shipped workload", &part.workload, &shipped);
        }
        if tile.workloads[..i].iter().any(|before| before.workload == part.workload) {
            found.add_help(
                place.key("use"),
                format!("workload \"{}\" comes twice", part.workload),
                "use it once, with a count",
            );
        }
    }
    found.into_vec()
}
