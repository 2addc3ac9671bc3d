//! `make bench`: prints one line per figure, `figure <name> <value> <unit>`, and measures peers in
//! the same call.
//!
//! Figures are documented in `docs/benchmarks.md`. Ratios are medians of interleaved pairs, because
//! the speed of hosts drifts. Nothing is judged here.

mod analyze;
mod answer;
mod apps;
mod before;
mod build;
mod cache;
mod cpu;
mod device;
mod docs;
mod estate;
mod fio;
mod front;
mod hosts;
mod huge;
mod import;
#[path = "../../../crates/storage/block-server/tests/behaviour/machine.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the front end's own tests, which use all of it")]
mod machine;
mod meter;
#[path = "../../../crates/storage/block-server/tests/behaviour/client.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the front end's own tests, which use all of it")]
mod nbd_client;
mod operations;
mod other;
mod own_nbd;
mod package;
mod page;
mod pairs;
mod peers;
mod process;
mod protocols;
mod record;
mod record_fio;
mod replay;
mod sim;
mod store;
mod studies;
mod switched;
mod tier;
mod tier_changes;
mod tier_durable;
mod tier_kept;
mod tilemark;
mod tiles;
mod vhost;
mod watch;

pub(crate) use self::front::serve;
pub(crate) use self::tier::serve as serve_tier;
pub(crate) use self::tier_durable::serve as serve_file;
pub(crate) use self::tilemark::binary;
pub(crate) use self::watch::keep_a_day;

use std::borrow::Cow;
use std::process::ExitCode;

use anyhow::Result;

/// A measurement with one or more figures whose names share a prefix.
struct Group {
    /// Prefix of its figures' names.
    name: &'static str,
    run: fn(&str) -> Result<Vec<Figure>>,
}

/// A measured number with its name and unit.
#[derive(Debug)]
pub(crate) struct Figure {
    name: String,
    value: f64,
    unit: Cow<'static, str>,
}

impl Figure {
    pub(crate) fn new(
        name: impl Into<String>,
        value: f64,
        unit: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { name: name.into(), value, unit: unit.into() }
    }

    pub(crate) fn value(&self) -> f64 {
        self.value
    }
}

const GROUPS: &[Group] = &[
    Group { name: "engine.read_4k", run: pairs::read_4k },
    Group { name: "engine.mixed_8k", run: pairs::mixed_8k },
    Group { name: "engine.seq_1m", run: pairs::seq_1m },
    Group { name: "engine.qd1", run: pairs::qd1 },
    Group { name: "engine.file_qd1", run: pairs::file_qd1 },
    Group { name: "engine.file_qd1_busy", run: pairs::file_qd1_busy },
    Group { name: "engine.file_qd32", run: pairs::file_qd32 },
    Group { name: "engine.file_seq_1m", run: pairs::file_seq_1m },
    Group { name: "engine.tiles_40", run: tiles::tiles_40 },
    Group { name: "engine.scale_2_workers", run: pairs::scale_2_workers },
    Group { name: "answer.lab", run: answer::lab },
    Group { name: "answer.disk", run: answer::disk },
    Group { name: "ui", run: page::ui },
    Group { name: "api", run: page::api },
    Group { name: "report", run: page::report },
    Group { name: "live", run: page::overhead },
    Group { name: "analyze", run: analyze::analyze },
    Group { name: "apps", run: apps::real_servers },
    Group { name: "cache", run: cache::policies },
    Group { name: "cache.lru_vs_libcachesim", run: peers::libcachesim },
    Group { name: "mrc", run: cache::curves },
    Group { name: "import", run: import::formats },
    Group { name: "estate.rows_per_s", run: estate::rows },
    Group { name: "docs", run: docs::commands },
    Group { name: "package", run: package::sizes },
    Group { name: "meter", run: meter::energy },
    Group { name: "operations.files", run: operations::files },
    Group { name: "operations.reflink_ms", run: operations::reflink },
    Group { name: "operations.qemu.unified_s", run: operations::unified },
    Group { name: "protocols.setup_s", run: protocols::set_up },
    Group { name: "protocols.nbd_own_cpu_vs_nbdkit", run: own_nbd::beside_nbdkit },
    Group { name: "replay", run: replay::punctuality },
    Group { name: "record", run: record::overhead },
    Group { name: "record_disk", run: record::on_disk },
    Group { name: "record_fio", run: record_fio::against_fio },
    Group { name: "cluster", run: |_| process::figures("tilemark-cluster", "hosts") },
    Group { name: "cluster.efficiency", run: hosts::efficiency },
    Group { name: "cluster.agents_64_merge_core_percent", run: hosts::merge_64 },
    Group { name: "cluster.study_speedup_2", run: hosts::study_speedup },
    Group {
        name: "cluster.merge_1000",
        run: |_| process::figures("tilemark-many-hosts", "thousand"),
    },
    Group { name: "front.ram", run: front::ram },
    Group { name: "sim.loop", run: |_| process::figures("tilemark-sim", "hold") },
    Group { name: "sim.tier", run: |_| process::figures("tilemark-sim", "tiers") },
    Group { name: "sim.fast_cache", run: sim::fast_cache },
    Group { name: "sim.power_overhead_percent", run: before::power_overhead },
    Group { name: "sim.full_vs_nexosim", run: peers::nexosim },
    Group { name: "sim.vsan_40", run: sim::vsan_40 },
    Group { name: "tier.changes", run: tier_changes::changes },
    Group { name: "tier.flash_hit", run: tier::flash_hit },
    Group { name: "tier.fua_d1", run: tier_durable::fua_d1 },
    Group { name: "tier.fua_d32", run: tier_durable::fua_d32 },
    Group { name: "tier.hit", run: tier::hit },
    Group { name: "tier.memory_hit", run: tier::memory_hit },
    Group { name: "tier.memory_read", run: tier::memory_read },
    Group { name: "tier.memory_mb_per_gib", run: tier_kept::memory },
    Group { name: "tier.miss", run: tier_durable::miss },
    Group { name: "tier.warm_after_kill_percent", run: tier_kept::warm },
    Group { name: "tier.crash_points", run: tier_kept::crash_points },
    Group { name: "tier.vhost_d32", run: vhost::hits },
    Group { name: "watch.core_percent_per_10k_iops", run: |_| watch::cost("watch") },
    Group { name: "watch.memory_mb", run: |_| watch::memory("watch") },
    Group { name: "watch.neighbour_power", run: |_| watch::neighbours("watch") },
    Group { name: "watch.year_mb", run: |_| watch::year("watch") },
    Group { name: "store", run: store::rates },
    Group { name: "studies", run: studies::predicted },
    Group { name: "other", run: other::other },
    Group { name: "build", run: build::clean },
];

/// Runs every group whose name begins with `wanted`, or that has the figure `wanted`.
pub(crate) fn main(wanted: &str) -> Result<ExitCode> {
    let mut is_any = false;
    let mut is_failed = false;
    for group in GROUPS {
        if !(group.name.starts_with(wanted) || wanted.starts_with(group.name)) {
            continue;
        }
        is_any = true;
        match (group.run)(group.name) {
            Ok(figures) => print(&figures, wanted),
            Err(error) => {
                is_failed = true;
                eprintln!("{}: not measured: {error:#}", group.name);
            }
        }
    }
    if !is_any {
        let names: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
        eprintln!("no figure begins with \"{wanted}\"; there are {}", names.join(", "));
        return Ok(ExitCode::from(2));
    }
    Ok(if is_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[expect(clippy::print_stdout, reason = "figures are this command's result")]
fn print(figures: &[Figure], wanted: &str) {
    for figure in figures.iter().filter(|figure| figure.name.starts_with(wanted)) {
        println!("figure {} {:.4} {}", figure.name, figure.value, figure.unit);
    }
}

/// Returns the middle value, or the mean of the two middle values if their number is even.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}
