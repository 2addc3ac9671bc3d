use run_store::run::{HostFacts, VmFacts};

use super::{HostSecond, HostWatch};

impl HostWatch {
    /// Returns facts about the host: shares of all its cores, and this process's ready time.
    pub fn host(&self, name: &str) -> HostFacts {
        // The kernel counts in ticks, and not on all processors at the same time, so a short sample
        // may exceed the available time a little.
        let used =
            |second: &HostSecond| share(second.busy.as_secs_f64(), second, self.cores).min(1.0);
        let (used, ready) = (Course::of(&self.seconds, used), self.ready());
        HostFacts {
            name: name.to_owned(),
            used: used.mean,
            cycles: None,
            capacity: 1.0,
            used_max_1s: used.max_1s,
            used_max_20s: used.max_20s,
            ready: ready.mean,
            ready_max_1s: ready.max_1s,
            ready_max_20s: ready.max_20s,
        }
    }

    /// Returns facts about this process, as if it were a virtual machine with so many virtual CPUs.
    pub fn vm(&self, name: &str, vcpus: u32) -> VmFacts {
        let used = |second: &HostSecond| share(second.own.as_secs_f64(), second, vcpus);
        let (used, ready) = (Course::of(&self.seconds, used), self.ready());
        VmFacts {
            name: name.to_owned(),
            count: 1,
            used: used.mean,
            used_max_1s: used.max_1s,
            used_max_20s: used.max_20s,
            ready: ready.mean,
            ready_max_1s: ready.max_1s,
            ready_max_20s: ready.max_20s,
        }
    }

    fn ready(&self) -> Course {
        Course::of(&self.seconds, |second| share(second.ready.as_secs_f64(), second, 1))
    }
}

fn share(seconds: f64, second: &HostSecond, of: u32) -> f64 {
    seconds / (second.width.as_secs_f64().max(f64::MIN_POSITIVE) * f64::from(of.max(1)))
}

/// Mean and maxima of a figure over time.
#[derive(Debug, PartialEq)]
struct Course {
    mean: f64,
    max_1s: f64,
    max_20s: f64,
}

impl Course {
    /// Calculates mean and maxima. Seconds have equal weight, because samples come with every
    /// slice. Means over 20 seconds include only whole groups of 20, as in vCenter; with fewer than
    /// 20 seconds the mean takes their place.
    fn of(seconds: &[HostSecond], figure: impl Fn(&HostSecond) -> f64) -> Self {
        let values: Vec<f64> = seconds.iter().map(figure).collect();
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let max_20s = match values.len() {
            0..20 => mean(&values),
            _ => largest(&mut values.chunks_exact(20).map(mean)),
        };
        Self { mean: mean(&values), max_1s: largest(&mut values.iter().copied()), max_20s }
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a step")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    fn second(own_ms: u64) -> HostSecond {
        let own = Nanos::from_millis(own_ms);
        let ready = Nanos::from_millis(own_ms / 10);
        HostSecond { width: Nanos::SECOND, busy: own, own, ready, ..HostSecond::default() }
    }

    /// 5 seconds of work, or 18 at lower speed: the same 4.5 s of CPU in every 20.
    #[test]
    fn sums_over_20_seconds_hide_how_long_the_work_took() {
        let fast = [vec![second(900); 5], vec![second(0); 15]].concat();
        let slow = [vec![second(250); 18], vec![second(0); 2]].concat();
        let thrice = |seconds: Vec<HostSecond>| seconds.iter().cycle().take(60).cloned().collect();
        let watch =
            |seconds| HostWatch { seconds: thrice(seconds), cores: 2, ..HostWatch::default() };
        let (fast, slow) = (watch(fast).vm("vm", 1), watch(slow).vm("vm", 1));
        assert!((fast.used_max_20s - slow.used_max_20s).abs() < 1e-9);
        assert!((fast.used - slow.used).abs() < 1e-9);
        assert!((fast.used_max_1s - 0.9).abs() < 1e-9 && (slow.used_max_1s - 0.25).abs() < 1e-9);
        assert!((fast.ready_max_1s - 0.09).abs() < 1e-9);
    }

    #[test]
    fn a_host_is_its_cores_and_nothing_seen_is_nothing_used() {
        let watch = HostWatch { seconds: vec![second(1000); 4], cores: 4, ..Default::default() };
        let host = watch.host("here");
        assert!((host.used - 0.25).abs() < 1e-9 && (host.used_max_20s - 0.25).abs() < 1e-9);
        let empty = HostWatch::default().host("here");
        assert!(empty.used.abs() < f64::EPSILON && empty.used_max_20s.abs() < f64::EPSILON);
    }
}
