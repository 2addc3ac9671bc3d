//! A watched host of the tests: three VMs, one of which suffers.

use std::sync::Arc;

use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use units::Nanos;
use watch::{Cell, Judge, Key, Latencies, Rules, Slice, Totals};

const RULES: &str = "[[rule]]\nname = \"nothing fails\"\nlimit = \"errors <= 0\"\nfor = \"10s\"\n";

pub struct Watched {
    pub totals: Totals,
    judge: Judge,
    start_s: u64,
}

impl Default for Watched {
    fn default() -> Self {
        let judge = Judge::new(&Rules::load("rules.toml", RULES).expect("rules"));
        Self { totals: Totals::new("pve1"), judge, start_s: 0 }
    }
}

impl Watched {
    /// Watches for ten more seconds.
    pub fn go_on(&mut self) {
        let mut slice = self.empty();
        for (vm, disk, slow) in [
            ("sql1", "sda", 40),
            ("web1", "nvme0n1", 4),
            ("idle1", "sda", 0),
            ("sql1", "sda in QEMU", 9),
        ] {
            for direction in [Direction::Read, Direction::Write, Direction::Flush] {
                let times = [(Nanos::from_micros(300), 1000), (Nanos::from_millis(80), slow)];
                let is_failing = vm == "sql1" && disk == "sda" && direction == Direction::Write;
                let cell = Cell { errors: u64::from(is_failing), ..cell(times) };
                slice.io.insert(key(vm, disk, direction), cell);
            }
            for (name, value) in [(GaugeName::VmCpu, 0.2), (GaugeName::VmReady, 0.01)] {
                slice.gauges.insert((name, Arc::from(vm)), Folded::of(Nanos::from_secs(10), value));
            }
        }
        let stolen = Folded::of(Nanos::from_secs(10), 0.05);
        slice.gauges.insert((GaugeName::CpuSteal, Arc::from("host")), stolen);
        // Rules leave such slices out.
        slice.lost = if slice.start_s.is_multiple_of(20) { 3 } else { 0 };
        self.totals.add(&slice);
        self.judge.judge(&slice);
        self.totals.set_alarms(self.judge.active());
    }

    /// A thousand reads of one VM, from 2 us to 2 s; returns their times, ascending.
    pub fn spread_times(&mut self) -> Vec<Nanos> {
        let mut slice = self.empty();
        let times: Vec<Nanos> = (0..1000).map(|at| Nanos(2_000 + at * at * at * 2)).collect();
        let cell = cell(times.iter().map(|time| (*time, 1)));
        slice.io.insert(key("spread", "sda", Direction::Read), cell);
        self.totals.add(&slice);
        times
    }

    fn empty(&mut self) -> Slice {
        self.start_s += 10;
        Slice { watched: Nanos::from_secs(10), ..Slice::new(self.start_s, 10) }
    }
}

fn key(vm: &str, disk: &str, direction: Direction) -> Key {
    let class = (!disk.ends_with(watch::IN_QEMU)).then(|| SizeClass::of(4096));
    Key { vm: vm.into(), disk: disk.into(), direction, class, is_below: false }
}

fn cell(times: impl IntoIterator<Item = (Nanos, u32)>) -> Cell {
    let times: Vec<(Nanos, u32)> = times.into_iter().collect();
    let count = times.iter().map(|(_, count)| u64::from(*count)).sum();
    let latency_ns = times.iter().map(|(time, count)| time.0 * u64::from(*count)).sum();
    let latencies: Latencies = times.into_iter().collect();
    Cell { count, bytes: count * 4096, latency_ns, latencies, ..Cell::default() }
}
