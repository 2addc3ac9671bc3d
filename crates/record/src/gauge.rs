//! Side-series: what the machine, the device under test and modelled parts did while a slice was
//! measured, one number for each name and scope.
//!
//! What it does: names every gauge once, with its unit and where it is read. A new gauge is one
//! line of the table; it is then stored, exported and drawn like the others.
//!
//! What it refuses: histograms (those are rows of the slice), judging.
//!
//! Invariants: a gauge that could not be read is absent, never zero; shares are between 0 and 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! gauges {
    ($($variant:ident $name:literal $unit:ident $source:literal $title:literal;)+) => {
        /// What is measured.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        pub enum GaugeName {
            $(
                #[doc = $title]
                #[serde(rename = $name)]
                $variant,
            )+
        }

        impl GaugeName {
            /// All of them, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stable name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The unit of its values.
            pub const fn unit(self) -> GaugeUnit {
                match self { $(Self::$variant => GaugeUnit::$unit),+ }
            }

            /// Where it is read.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source),+ }
            }

            /// What a person reads beside it.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }
        }
    };
}

/// What the values of a gauge are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeUnit {
    /// Of all processors, 0 to 1.
    ShareOfCpus,
    /// Of the time, 0 to 1.
    ShareOfTime,
    /// Bytes per second.
    BytesPerSecond,
    /// Requests.
    Ios,
    /// Seconds.
    Seconds,
    /// How often something happened.
    Events,
}

impl GaugeUnit {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ShareOfCpus => "share of all CPUs",
            Self::ShareOfTime => "share of the time",
            Self::BytesPerSecond => "B/s",
            Self::Ios => "I/Os",
            Self::Seconds => "s",
            Self::Events => "events",
        }
    }
}

gauges! {
    CpuOwn "cpu.own" ShareOfCpus "CLOCK_PROCESS_CPUTIME_ID"
        "processors used by the load generator";
    CpuOthers "cpu.others" ShareOfCpus "/proc/stat, /proc/PID/stat"
        "processors used by other processes";
    CpuSteal "cpu.steal" ShareOfCpus "/proc/stat"
        "processors taken by the hypervisor";
    CpuWaiting "cpu.waiting" ShareOfTime "/proc/self/task/TID/schedstat"
        "the generator's threads ready and without a processor";
    PressureMemory "pressure.memory" ShareOfTime "/proc/pressure/memory"
        "some task waited for memory";
    PressureIo "pressure.io" ShareOfTime "/proc/pressure/io"
        "some task waited for storage";
    IoOthers "io.others" BytesPerSecond "/proc/PID/io"
        "bytes that other processes moved";
    DeviceBusy "device.busy" ShareOfTime "/proc/diskstats"
        "the device had something to do";
    DeviceQueue "device.queue" Ios "/proc/diskstats"
        "I/Os waiting in or below the device's queue";
    DeviceBytes "device.bytes" BytesPerSecond "/proc/diskstats"
        "bytes that the device moved";
    Paused "generator.paused" Seconds "the clock, while slices are waited for"
        "the longest time in which this program did not run";
    Throttled "cpu.throttled" Events "/sys/devices/system/cpu/cpu*/thermal_throttle"
        "times a processor slowed down because it was hot";
    Utilisation "part.utilisation" ShareOfTime "the model"
        "a modelled part was busy";
}

/// One number of one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gauge {
    /// What was measured.
    pub name: GaugeName,
    /// Of what: `host`, a device, a process, a part of a model.
    pub scope: String,
    /// The value, in the unit of its name.
    pub value: f64,
}

/// The scope of the whole machine.
pub const HOST: &str = "host";

impl Gauge {
    /// One of the whole machine.
    pub fn of_host(name: GaugeName, value: f64) -> Self {
        Self { name, scope: HOST.to_owned(), value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_same_in_json() {
        let mut seen = std::collections::BTreeSet::new();
        for name in GaugeName::ALL {
            assert!(seen.insert(name.name()), "{} twice", name.name());
            let json = serde_json::to_string(name).expect("serialises");
            assert_eq!(json, format!("\"{}\"", name.name()));
        }
    }
}
