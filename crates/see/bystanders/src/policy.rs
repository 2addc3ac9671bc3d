//! Reads power policies of the host, and never changes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use run_store::run::PowerPolicy;

/// Reads the power policies below `/sys` (Linux `admin-guide/pm/cpufreq.rst`, `intel_pstate.rst`,
/// `cpuidle.rst`; `power/powercap/powercap.rst`). Absent policies are left out.
pub fn power_policies() -> Vec<PowerPolicy> {
    below(Path::new("/sys"))
}

fn below(sys: &Path) -> Vec<PowerPolicy> {
    let cpus = sys.join("devices/system/cpu");
    let each = |file: &str| common(processors(&cpus).iter().map(|own| word(&own.join(file))));
    let limits = |own: &PathBuf| {
        let end = |file: &str| word(&own.join("cpufreq").join(file));
        Some(format!("{} to {} kHz", end("scaling_min_freq")?, end("scaling_max_freq")?))
    };
    let all = processors(&cpus);
    let seen = [
        ("driver", each("cpufreq/scaling_driver")),
        ("governor", each("cpufreq/scaling_governor")),
        ("energy preference", each("cpufreq/energy_performance_preference")),
        ("frequency limits", common(all.iter().map(limits))),
        ("turbo", turbo(&cpus)),
        ("idle driver", word(&cpus.join("cpuidle/current_driver"))),
        ("idle governor", word(&cpus.join("cpuidle/current_governor"))),
        ("idle states", common(all.iter().map(|own| idle_states(own)))),
    ];
    let policy = |(name, value): (&str, Option<String>)| {
        Some(PowerPolicy { name: name.to_owned(), value: value? })
    };
    seen.into_iter().filter_map(policy).chain(power_limits(sys)).collect()
}

fn word(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn children(directory: &Path, begin: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let own = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let number: u32 = name.strip_prefix(begin)?.parse().ok()?;
        Some((number, entry.path()))
    });
    let mut own: Vec<(u32, PathBuf)> = own.collect();
    own.sort();
    own.into_iter().map(|(_, path)| path).collect()
}

fn processors(cpus: &Path) -> Vec<PathBuf> {
    children(cpus, "cpu")
}

/// Returns the common value, or the different values with their counts.
fn common(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for value in values.flatten() {
        *counts.entry(value).or_default() += 1;
    }
    match counts.len() {
        0 => None,
        1 => counts.into_keys().next(),
        _ => {
            let each = counts.iter().map(|(value, count)| format!("{value} ({count} processors)"));
            Some(each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns the state of turbo. `intel_pstate/no_turbo` is 1 when turbo is off; `cpufreq/boost` is 1
/// when turbo is on.
fn turbo(cpus: &Path) -> Option<String> {
    let off = word(&cpus.join("intel_pstate/no_turbo")).map(|value| value == "0");
    let is_on = off.or_else(|| word(&cpus.join("cpufreq/boost")).map(|value| value == "1"))?;
    Some(if is_on { "on" } else { "off" }.to_owned())
}

fn idle_states(processor: &Path) -> Option<String> {
    let states = children(&processor.join("cpuidle"), "state").into_iter().filter_map(|state| {
        let is_off = word(&state.join("disable")).is_some_and(|value| value != "0");
        Some(word(&state.join("name"))? + if is_off { " (off)" } else { "" })
    });
    Some(states.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

/// Returns the power limits of the processors, such as `package-0 long_term`.
fn power_limits(sys: &Path) -> Vec<PowerPolicy> {
    let zones = children(&sys.join("class/powercap"), "intel-rapl:");
    let of_zone = |zone: PathBuf| {
        let name = word(&zone.join("name")).unwrap_or_default();
        let limit = |number: u32| {
            let of = |what: &str| word(&zone.join(format!("constraint_{number}_{what}")));
            let (kind, value) = (of("name")?, of("power_limit_uw")?);
            let watts = value.parse::<f64>().ok()? / 1e6;
            let name = format!("power limit {name} {kind}");
            Some(PowerPolicy { name, value: format!("{watts} W") })
        };
        // Powercap has at most long_term, short_term and peak_power.
        (0..3).filter_map(limit).collect::<Vec<_>>()
    };
    zones.into_iter().flat_map(of_zone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
        fs::write(path, text).expect("writes");
    }

    fn value<'a>(found: &'a [PowerPolicy], name: &str) -> &'a str {
        found.iter().find(|own| own.name == name).map_or("none", |own| &own.value)
    }

    #[test]
    fn cpu_policies_are_counted_per_value_and_absent_ones_omitted() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(below(root.path()), []);
        for (cpu, governor) in [(0, "performance"), (1, "powersave"), (10, "powersave")] {
            let own = format!("devices/system/cpu/cpu{cpu}");
            write(root.path(), &format!("{own}/cpufreq/scaling_governor"), governor);
            write(root.path(), &format!("{own}/cpufreq/scaling_min_freq"), "800000\n");
            write(root.path(), &format!("{own}/cpufreq/scaling_max_freq"), "3500000\n");
            write(root.path(), &format!("{own}/cpuidle/state0/name"), "POLL\n");
            write(root.path(), &format!("{own}/cpuidle/state1/name"), "C6\n");
            write(root.path(), &format!("{own}/cpuidle/state1/disable"), "1\n");
        }
        write(root.path(), "devices/system/cpu/intel_pstate/no_turbo", "1\n");
        write(root.path(), "class/powercap/intel-rapl:0/name", "package-0\n");
        write(root.path(), "class/powercap/intel-rapl:0/constraint_0_name", "long_term\n");
        write(root.path(), "class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "95000000\n");
        let found = below(root.path());
        let of = |name| value(&found, name);
        assert_eq!(of("governor"), "performance (1 processors), powersave (2 processors)");
        assert_eq!(of("frequency limits"), "800000 to 3500000 kHz");
        assert_eq!(of("idle states"), "POLL, C6 (off)");
        assert_eq!(of("turbo"), "off");
        assert_eq!(of("power limit package-0 long_term"), "95 W");
        assert_eq!(of("driver"), "none");
    }
}
