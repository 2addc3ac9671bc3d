//! Small tiles for tests.
use record::slice::{Direction, IoRow, SizeClass, Slice, VmId};
use spec::ResolvedTile;
use spec::workload::Workload;
use stats::Histogram;
use units::{Bytes, Nanos};

/// A workload from its text.
pub fn workload(text: &str) -> Workload {
    toml::from_str(text).expect("a valid workload")
}

/// A tile of these workloads, once each.
pub fn tile_of(workloads: Vec<Workload>) -> ResolvedTile {
    let parts: String = workloads
        .iter()
        .map(|workload| format!("[[workload]]\nuse = \"{}\"\n", workload.name))
        .collect();
    let text = format!("name = \"test\"\ntitle = \"Test\"\nsource = \"ours\"\n{parts}");
    ResolvedTile {
        tile: toml::from_str(&text).expect("a valid tile"),
        workloads: workloads.into_iter().map(|workload| (workload, 1)).collect(),
    }
}

/// A tile of one workload whose groups come in bursts with these periods.
pub fn tile_with_periods(periods: &[&str]) -> ResolvedTile {
    let groups: String = periods
        .iter()
        .enumerate()
        .map(|(index, period)| {
            format!(
                "[[users]]\nname = \"g{index}\"\nvm = \"vm\"\nload.closed.users = 1\n\
                 schedule.every = \"{period}\"\nschedule.active = \"1ms\"\n"
            )
        })
        .collect();
    tile_of(vec![workload(&format!(
        "name = \"bursts\"\ntitle = \"Bursts\"\nsource = \"ours\"\n\
         metric = {{ unit = \"x/s\", count = \"actions\" }}\n[[vm]]\nname = \"vm\"\n{groups}"
    ))])
}

/// A slice of one second in which `count` reads of 8 KiB finished after `service`.
pub fn io_slice(start: Nanos, count: u32, service: Nanos) -> Slice {
    let mut histogram = Histogram::new();
    histogram.record_n(service, count);
    let row = IoRow {
        vm: VmId(0),
        kind: 0,
        direction: Direction::Read,
        class: SizeClass::of(8192),
        bytes: Bytes::new(u64::from(count) * 8192),
        errors: 0,
        service: histogram.compact(),
        response: histogram.compact(),
    };
    Slice { start, width: Nanos::SECOND, io: vec![row], ..Slice::default() }
}
