use run_store::run::Warning;

use super::document::Noise;

/// CPU time of the computer since its start, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuTimes {
    /// Time spent on work.
    pub busy: f64,
    /// Time that the hypervisor gave to other VMs.
    pub steal: f64,
    /// Total time of all states.
    pub total: f64,
}

/// Ticks per second of `/proc/stat`: `USER_HZ`, 100 on every supported Linux (proc(5)).
const TICKS_PER_S: f64 = 100.0;

impl CpuTimes {
    /// Returns the current counters; `None` if the system does not report them.
    pub fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq,
    /// steal. The guest time that follows is a part of user.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks = line.split_whitespace().map(|word| word.parse::<f64>().ok());
        let ticks: Vec<f64> = ticks.take(8).collect::<Option<_>>()?;
        let [user, nice, system, idle, waiting, irq, soft, steal] = ticks[..].try_into().ok()?;
        let busy = user + nice + system + irq + soft;
        Some(Self { busy, steal, total: busy + steal + idle + waiting })
    }

    /// Returns the difference from an earlier reading.
    pub fn since(self, before: Self) -> Self {
        Self {
            busy: self.busy - before.busy,
            steal: self.steal - before.steal,
            total: self.total - before.total,
        }
    }
}

/// Returns the other work on the computer since `before`, without this process's CPU time `own_s`
/// in seconds.
pub fn cpu_noise(before: Option<CpuTimes>, own_s: f64) -> Noise {
    let Some(spent) = before.and_then(|before| Some(CpuTimes::now()?.since(before))) else {
        return Noise::default();
    };
    let share = |ticks: f64| (spent.total > 0.0).then(|| ticks.max(0.0) / spent.total);
    let others = share(spent.busy - own_s * TICKS_PER_S);
    Noise { steal: share(spent.steal), others, ..Noise::default() }
}

/// Returns warnings about other work on the computer.
pub fn noise_warnings(noise: &Noise) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut above = |id: &str, found: Option<f64>, limit: f64, text: &str, hint: &str| {
        if let Some(found) = found.filter(|found| *found > limit) {
            warnings.push(Warning {
                id: id.to_owned(),
                text: text.to_owned(),
                value: Some(format!("{:.1} %", found * 100.0)),
                limit: Some(format!("{:.0} %", limit * 100.0)),
                hint: Some(hint.to_owned()),
            });
        }
    };
    let quiet = "measure again when the machine is idle";
    above("steal", noise.steal, 0.01, "the host gave CPU time to other guests", quiet);
    above("others", noise.others, 0.05, "other processes used the CPU", quiet);
    above(
        "unlike-itself",
        noise.floor,
        0.1,
        "the device was not stable: rounds of the same loops differ",
        "no model can have a much smaller error; measure longer, on an idle machine",
    );
    above(
        "generator-busy",
        Some(noise.worker_cpu),
        0.9,
        "the generator's thread was busy in some loop; the model counts its time as the device's",
        "use a machine with a faster core",
    );
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_kernel_is_read() {
        let times = CpuTimes::parse("cpu  10 1 5 80 3 0 1 20 7 0\ncpu0 1 2\n").expect("a line");
        assert_eq!(times, CpuTimes { busy: 17.0, steal: 20.0, total: 120.0 });
        assert_eq!(CpuTimes::parse("intr 5"), None);
    }
}
