//! Frequency of the processors: the mean of `scaling_cur_freq` over `cpuinfo_max_freq`, the highest
//! frequency including turbo (Linux `admin-guide/pm/cpufreq.rst`).
//!
//! The gauge explains but decides nothing: governors follow the load, and an idle processor is slow
//! because it is idle. A capped processor (power, firmware, a cloud's credits) is visible as a step
//! with a lower share than other steps of the same load.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use run_store::gauge::{Gauge, GaugeName, GaugeSource, Readings};

/// Interval of readings. Some kernels ask each processor, and wait for the answers; our choice,
/// about the interval of the watch.
const EVERY: Duration = Duration::from_millis(500);

/// Maximum number of processors that are read. With more processors, a subset is evenly spaced; our
/// choice.
const PROCESSORS_MAX: usize = 16;

/// Processors whose frequency is read.
#[derive(Debug)]
struct Frequency {
    /// File with the present frequency of each, and its maximum in the same unit (kHz).
    processors: Vec<(PathBuf, f64)>,
    last: Option<Instant>,
}

/// Opens the meter; `None` if the kernel does not scale frequencies, as in most virtual machines.
pub(super) fn open() -> Option<Box<dyn GaugeSource>> {
    Frequency::below(Path::new("/sys/devices/system/cpu"))
        .map(|found| Box::new(found) as Box<dyn GaugeSource>)
}

impl Frequency {
    fn below(directory: &Path) -> Option<Self> {
        let entries = fs::read_dir(directory).ok()?.filter_map(Result::ok);
        let mut all: Vec<(PathBuf, f64)> = entries
            .filter_map(|entry| {
                let own = entry.path().join("cpufreq");
                let most = number(&own.join("cpuinfo_max_freq")).filter(|most| *most > 0.0)?;
                Some((own.join("scaling_cur_freq"), most))
            })
            .collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let each = all.len().div_ceil(PROCESSORS_MAX).max(1);
        let processors: Vec<(PathBuf, f64)> = all.into_iter().step_by(each).collect();
        (!processors.is_empty()).then_some(Self { processors, last: None })
    }

    fn share(&self) -> Option<f64> {
        let now = self.processors.iter().filter_map(|(path, most)| Some(number(path)? / most));
        let (sum, count) = now.fold((0.0, 0.0), |(sum, count), own| (sum + own, count + 1.0));
        (count > 0.0).then(|| (sum / count).min(1.0))
    }
}

impl GaugeSource for Frequency {
    fn read(&mut self) -> Readings {
        if self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return Readings::default();
        }
        self.last = Some(Instant::now());
        let gauge = self.share().map(|share| Gauge::of_host(GaugeName::Frequency, share));
        Readings { gauges: gauge.into_iter().collect(), ..Readings::default() }
    }
}

fn number(path: &Path) -> Option<f64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(processors: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (number, (now, most)) in processors.iter().enumerate() {
            let own = root.path().join(format!("cpu{number}/cpufreq"));
            fs::create_dir_all(&own).expect("creates");
            fs::write(own.join("scaling_cur_freq"), now).expect("writes");
            fs::write(own.join("cpuinfo_max_freq"), most).expect("writes");
        }
        fs::create_dir_all(root.path().join("cpuidle")).expect("creates");
        root
    }

    #[test]
    fn cpu_frequency_is_relative_to_each_core_maximum() {
        let root = machine(&[("1200000\n", "2400000\n"), ("3000000\n", "3000000\n")]);
        let mut own = Frequency::below(root.path()).expect("it scales");
        let read = own.read();
        assert_eq!(read.gauges, [Gauge::of_host(GaugeName::Frequency, 0.75)]);
        assert!(own.read().gauges.is_empty(), "not more often than twice a second");
    }

    #[test]
    fn what_does_not_scale_or_cannot_be_read_is_no_zero() {
        assert!(Frequency::below(machine(&[]).path()).is_none());
        assert!(Frequency::below(Path::new("/nowhere")).is_none());
        assert!(Frequency::below(machine(&[("800000", "0")]).path()).is_none());
        let root = machine(&[("<unknown>\n", "2400000\n"), ("600000\n", "2400000\n")]);
        let share = Frequency::below(root.path()).and_then(|own| own.share());
        assert_eq!(share, Some(0.25));
        let many = machine(&[("1", "2"); 100]);
        assert!(Frequency::below(many.path()).is_some_and(|own| own.processors.len() <= 16));
    }
}
