//! Reads the processor's energy counters of Linux: `intel-rapl:N` below `/sys/class/powercap`, each
//! with `name`, `energy_uj` and `max_energy_range_uj`, at which the counter wraps (Linux
//! `Documentation/power/powercap/powercap.rst`).
//!
//! Packages and memory (`package-N`, `dram`) are added. `core` and `uncore` are parts of a package,
//! and `psys` contains all, so adding them would count twice. A package may appear again in
//! `intel-rapl-mmio` (kernel 5.3 and later): this is the same counter by another path, and it
//! counts once. The sum covers the processors alone, never a server. Since the Platypus attack
//! (CVE-2020-8694) only root may read the counters; most virtual machines have none.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use run_store::run::MeterMethod;
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::period;
use crate::{About, Fault, Meter, Sample, monotonic};

const CLASS: &str = "/sys/class/powercap";

/// Maximum step of a counter that wrapped, as a share of its range. A counter that seems to make a
/// larger step was reset. Our choice: half of a range takes minutes.
const WRAP_MAX: f64 = 0.5;

/// Returns true for zones that are not part of another zone: a package, or memory.
fn counts(name: &str) -> bool {
    name.starts_with("package") || name == "dram"
}

/// Energy counters of this computer's processors.
#[derive(Debug)]
struct Rapl {
    zones: Vec<Zone>,
    period: Nanos,
}

#[derive(Debug)]
struct Zone {
    name: String,
    file: PathBuf,
    range: f64,
    /// Last value of the counter; `sum` is the counted energy. Both are in microjoules.
    last: Option<f64>,
    sum: f64,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let class = if spec.at.is_empty() { CLASS } else { &spec.at };
    Ok(Box::new(Rapl::below(Path::new(class), period(spec, Nanos::SECOND))?))
}

impl Rapl {
    /// Opens the counters below a directory like `/sys/class/powercap`, to be read once a period.
    ///
    /// # Errors
    ///
    /// If there are no counters, or they may not be read.
    fn below(class: &Path, period: Nanos) -> Result<Self, Fault> {
        let entries = fs::read_dir(class).map_err(|error| {
            Fault::Unfit(format!("reading the directory {}: {error}", class.display()))
        })?;
        let mut zones: Vec<Zone> =
            entries.filter_map(Result::ok).filter_map(|entry| zone(&entry.path())).collect();
        zones.sort_by(|a, b| a.file.cmp(&b.file));
        once_each(&mut zones);
        if zones.is_empty() {
            return Err(Fault::Unfit(format!(
                "there is no counter of a processor below {}: virtual machines have none",
                class.display()
            )));
        }
        let mut rapl = Self { zones, period };
        rapl.count()?;
        Ok(rapl)
    }

    /// Returns the energy of all zones since the first reading, in joules.
    fn count(&mut self) -> Result<f64, Fault> {
        let mut sum = 0.0;
        for zone in &mut self.zones {
            sum += zone.count()?;
        }
        Ok(sum / 1e6)
    }
}

/// Removes packages of `intel-rapl-mmio` that are also in `intel-rapl`.
fn once_each(zones: &mut Vec<Zone>) {
    let is_mapped = |zone: &Zone| {
        let directory = zone.file.parent().and_then(Path::file_name).unwrap_or_default();
        directory.to_string_lossy().starts_with("intel-rapl-mmio")
    };
    let others = zones.iter().filter(|zone| !is_mapped(zone));
    let known: BTreeSet<String> = others.map(|zone| zone.name.clone()).collect();
    zones.retain(|zone| !(is_mapped(zone) && known.contains(&zone.name)));
}

fn zone(directory: &Path) -> Option<Zone> {
    let name = fs::read_to_string(directory.join("name")).ok()?.trim().to_owned();
    let range = fs::read_to_string(directory.join("max_energy_range_uj")).ok()?;
    let range = range.trim().parse().ok().filter(|range: &f64| *range > 0.0)?;
    let file = directory.join("energy_uj");
    counts(&name).then_some(Zone { name, file, range, last: None, sum: 0.0 })
}

impl Zone {
    fn count(&mut self) -> Result<f64, Fault> {
        let text = fs::read_to_string(&self.file).map_err(|error| {
            let path = self.file.display();
            match error.kind() {
                std::io::ErrorKind::PermissionDenied => {
                    Fault::Unfit(format!("only root may read {path} (CVE-2020-8694)"))
                }
                _ => Fault::Unanswered(format!("reading {path}: {error}")),
            }
        })?;
        let now: f64 = text.trim().parse().map_err(|_| {
            Fault::Nonsense(format!("{} is not a number", untrusted::shown(text.trim())))
        })?;
        let last = self.last.replace(now).unwrap_or(now);
        let grown = if now >= last { now - last } else { now + self.range - last };
        if now < last && grown > WRAP_MAX * self.range {
            return Err(Fault::JumpedBack("counter"));
        }
        self.sum += grown;
        Ok(self.sum)
    }
}

impl Meter for Rapl {
    fn about(&self) -> About {
        let names: Vec<&str> = self.zones.iter().map(|zone| zone.name.as_str()).collect();
        About {
            // Steps of the hardware are 61 uJ and coarser, updated about every millisecond.
            method: MeterMethod::Estimated,
            counter_step: Some(1e-3),
            notes: vec!["only processors and memory, not the server".to_owned()],
            ..About::measured(format!("powercap {}", names.join(", ")), self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let joules = self.count()?;
        Ok(vec![Sample::joules(monotonic(), joules)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone_of(root: &Path, zone: &str, name: &str, energy: u64) {
        let own = root.join(zone);
        fs::create_dir_all(&own).expect("creates");
        fs::write(own.join("name"), format!("{name}\n")).expect("writes");
        fs::write(own.join("max_energy_range_uj"), "1000000000\n").expect("writes");
        fs::write(own.join("energy_uj"), format!("{energy}\n")).expect("writes");
    }

    fn joules(rapl: &mut Rapl) -> f64 {
        rapl.read().expect("reads")[0].joules.expect("it counts")
    }

    #[test]
    fn packages_and_memory_are_added_up_and_nothing_twice() {
        let root = tempfile::tempdir().expect("a directory");
        zone_of(root.path(), "intel-rapl:0", "package-0", 999_000_000);
        zone_of(root.path(), "intel-rapl:0:0", "core", 5);
        zone_of(root.path(), "intel-rapl:0:1", "dram", 7_000_000);
        zone_of(root.path(), "intel-rapl:1", "psys", 9);
        let mut rapl = Rapl::below(root.path(), Nanos::SECOND).expect("there");
        assert_eq!(rapl.about().model, "powercap package-0, dram");
        assert_eq!(joules(&mut rapl), 0.0);
        // The package wraps at its range: 1 J to the end, and 3 J from there.
        zone_of(root.path(), "intel-rapl:0", "package-0", 3_000_000);
        zone_of(root.path(), "intel-rapl:0:1", "dram", 9_500_000);
        zone_of(root.path(), "intel-rapl:0:0", "core", 500_000_000);
        assert!((joules(&mut rapl) - 6.5).abs() < 1e-9);
        zone_of(root.path(), "intel-rapl:0", "package-0", 4_000_000);
        assert!((joules(&mut rapl) - 7.5).abs() < 1e-9);
    }

    #[test]
    fn a_package_that_two_drivers_show_counts_once() {
        let root = tempfile::tempdir().expect("a directory");
        for own in ["intel-rapl:0", "intel-rapl-mmio:0"] {
            zone_of(root.path(), own, "package-0", 1_000_000);
        }
        for (package, own) in [("0", "intel-rapl:0:2"), ("1", "intel-rapl:1:2")] {
            zone_of(root.path(), own, "dram", 500_000);
            zone_of(
                root.path(),
                &format!("intel-rapl:{package}"),
                &format!("package-{package}"),
                0,
            );
        }
        let rapl = Rapl::below(root.path(), Nanos::SECOND).expect("there");
        assert_eq!(rapl.about().model, "powercap package-0, dram, package-1, dram");
        let alone = tempfile::tempdir().expect("a directory");
        zone_of(alone.path(), "intel-rapl-mmio:0", "package-0", 0);
        let rapl = Rapl::below(alone.path(), Nanos::SECOND).expect("there");
        assert_eq!(rapl.about().model, "powercap package-0");
    }

    #[test]
    fn a_counter_that_was_reset_has_not_wrapped() {
        let root = tempfile::tempdir().expect("a directory");
        zone_of(root.path(), "intel-rapl:0", "package-0", 400_000_000);
        let mut rapl = Rapl::below(root.path(), Nanos::SECOND).expect("there");
        zone_of(root.path(), "intel-rapl:0", "package-0", 10);
        assert_eq!(rapl.read(), Err(Fault::JumpedBack("counter")));
        fs::write(root.path().join("intel-rapl:0/energy_uj"), "lots").expect("writes");
        assert!(matches!(rapl.read(), Err(Fault::Nonsense(_))));
    }

    #[test]
    fn a_machine_without_counters_is_no_meter() {
        let root = tempfile::tempdir().expect("a directory");
        zone_of(root.path(), "dtpm", "soc", 1);
        assert!(matches!(Rapl::below(root.path(), Nanos::SECOND), Err(Fault::Unfit(_))));
        assert!(Rapl::below(Path::new("/nowhere"), Nanos::SECOND).is_err());
    }
}
