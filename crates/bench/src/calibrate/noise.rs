/// CPU time of the machine since it started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuTimes {
    /// Spent on work.
    pub busy: f64,
    /// Taken by the hypervisor for others.
    pub steal: f64,
    /// Everything.
    pub total: f64,
}

/// Ticks per second of `/proc/stat`: `USER_HZ`, 100 on every Linux we run on (proc(5)).
pub const TICKS_PER_S: f64 = 100.0;

impl CpuTimes {
    /// Now; nothing where the system does not tell.
    pub fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal;
    /// the guests' time after it is a part of user.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks = line.split_whitespace().map(|word| word.parse::<f64>().ok());
        let ticks: Vec<f64> = ticks.take(8).collect::<Option<_>>()?;
        let [user, nice, system, idle, waiting, irq, soft, steal] = ticks[..].try_into().ok()?;
        let busy = user + nice + system + irq + soft;
        Some(Self { busy, steal, total: busy + steal + idle + waiting })
    }

    /// What came since then.
    pub fn since(self, before: Self) -> Self {
        Self {
            busy: self.busy - before.busy,
            steal: self.steal - before.steal,
            total: self.total - before.total,
        }
    }
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
