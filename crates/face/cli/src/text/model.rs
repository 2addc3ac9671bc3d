use run_store::run::{HostFacts, ModelFacts, PartFacts, Step, TierFacts};
use units::Bytes;

use super::{Table, count, number};

/// Formats the counters of a model's parts in a step; empty on real storage.
pub fn model(step: &Step) -> Vec<String> {
    let Some(model) = &step.model else { return Vec::new() };
    let groups = [parts(&model.parts), tiers(&model.tiers), hosts(model)];
    let lines: Vec<String> = groups.into_iter().flatten().collect();
    if lines.is_empty() {
        return lines;
    }
    let tiles = count(u64::from(step.tiles), "tile");
    [vec![format!("inside, at {tiles}:")], lines].concat()
}

fn parts(parts: &[PartFacts]) -> Vec<String> {
    let mut table =
        Table::new(&["part", ">count", ">busy", ">busiest", ">IOPS", ">MiB/s", ">inside"]);
    for part in parts {
        table.row(vec![
            part.name.clone(),
            part.count.to_string(),
            percent(part.utilisation),
            percent(part.utilisation_max),
            number(part.iops),
            number(part.bytes_per_s / 1_048_576.0),
            number(part.inside),
        ]);
    }
    if table.is_empty() { Vec::new() } else { table.lines() }
}

fn tiers(tiers: &[TierFacts]) -> Vec<String> {
    let mut table = Table::new(&[
        "tier",
        ">size",
        ">full",
        ">read hits",
        ">write hits",
        ">filled",
        ">placed",
        ">evicted",
        ">dirty",
        ">at most",
    ]);
    let bytes = |bytes: u64| Bytes::new(bytes).to_string();
    for TierFacts { name, capacity_bytes, counts, .. } in tiers {
        table.row(vec![
            name.clone(),
            bytes(*capacity_bytes),
            share(counts.resident_bytes, *capacity_bytes),
            share(counts.read_hits, counts.reads),
            share(counts.write_hits, counts.writes),
            bytes(counts.filled_bytes),
            bytes(counts.placed_bytes),
            bytes(counts.evicted_bytes),
            bytes(counts.dirty_bytes),
            bytes(counts.dirty_bytes_max),
        ]);
    }
    if table.is_empty() { Vec::new() } else { table.lines() }
}

fn hosts(model: &ModelFacts) -> Vec<String> {
    let mut table = Table::new(&["host", ">CPU", ">of 1 s", ">of 20 s", ">ready", ">of 1 s"]);
    for HostFacts { name, used, used_max_1s, used_max_20s, ready, ready_max_1s, .. } in &model.hosts
    {
        table.row(vec![
            name.clone(),
            percent(*used),
            percent(*used_max_1s),
            percent(*used_max_20s),
            format!("{ready:.2} s/s"),
            format!("{ready_max_1s:.2} s/s"),
        ]);
    }
    if table.is_empty() { Vec::new() } else { table.lines() }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn share(part: u64, of: u64) -> String {
    if of == 0 {
        return "-".to_owned();
    }
    #[expect(clippy::cast_precision_loss, reason = "printed as whole per cents")]
    let share = part as f64 / of as f64;
    percent(share)
}
