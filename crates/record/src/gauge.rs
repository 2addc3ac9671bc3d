//! Side-series: what the machine, the device under test and modelled parts did while a slice was
//! measured, one number for each name and scope.
//!
//! What it does: names every gauge once, with how two values of it become one, its unit, what it is
//! of and where it is read. A new gauge is one line of the table; it is then stored, rolled up,
//! exported and drawn like the others. A source of gauges (the host's watch, a model, a meter) is a
//! [`GaugeSource`].
//!
//! What it refuses: judging, and histograms: two of them do not make one by any of the four ways
//! below. The only ones that come beside a slice and are no rows of it are those behind a tier;
//! they travel in the same [`Readings`].
//!
//! Invariants: a gauge that could not be read is absent, never zero; shares are between 0 and 1;
//! whole numbers are exact up to 2^53.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Packed;
use units::Nanos;

macro_rules! gauges {
    ($(
        $variant:ident $name:literal $merging:ident $unit:ident of $scope:ident
        $source:literal $title:literal;
    )+) => {
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

            /// How two values of it become one.
            pub const fn merging(self) -> Merging {
                match self { $(Self::$variant => Merging::$merging),+ }
            }

            /// What kind of thing it is of.
            pub const fn scope(self) -> ScopeKind {
                match self { $(Self::$variant => ScopeKind::$scope),+ }
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

/// How a value of some time and the same gauge's value of the time after it make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    /// What happened is added up.
    Sum,
    /// What is held is that of the later.
    Last,
    /// Of a largest, the larger.
    Most,
    /// The mean, each weighted with its time.
    Mean,
}

/// What a gauge is of; its name among others of the kind is [`Gauge::scope`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKind {
    /// The machine that makes the load.
    Host,
    /// A block device of it.
    Device,
    /// A part of a model.
    Part,
    /// An acceleration tier.
    Tier,
}

impl ScopeKind {
    /// Its name: a label in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
            Self::Part => "part",
            Self::Tier => "tier",
        }
    }
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
    /// Bytes.
    Bytes,
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
            Self::Bytes => "B",
            Self::Seconds => "s",
            Self::Events => "events",
        }
    }

    /// Its name in metrics, with which the name of a metric ends; empty for a count.
    pub const fn metric(self) -> &'static str {
        match self {
            Self::ShareOfCpus | Self::ShareOfTime => "ratio",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
            Self::Ios | Self::Events => "",
        }
    }
}

gauges! {
    CpuOwn "cpu.own" Mean ShareOfCpus of Host "CLOCK_PROCESS_CPUTIME_ID"
        "processors used by the load generator";
    CpuOthers "cpu.others" Mean ShareOfCpus of Host "/proc/stat, /proc/PID/stat"
        "processors used by other processes";
    CpuSteal "cpu.steal" Mean ShareOfCpus of Host "/proc/stat"
        "processors taken by the hypervisor";
    CpuWaiting "cpu.waiting" Mean ShareOfTime of Host "/proc/self/task/TID/schedstat"
        "the generator's threads ready and without a processor";
    PressureMemory "pressure.memory" Mean ShareOfTime of Host "/proc/pressure/memory"
        "some task waited for memory";
    PressureIo "pressure.io" Mean ShareOfTime of Host "/proc/pressure/io"
        "some task waited for storage";
    IoOthers "io.others" Mean BytesPerSecond of Host "/proc/PID/io"
        "bytes that other processes moved";
    DeviceBusy "device.busy" Mean ShareOfTime of Device "/proc/diskstats"
        "the device had something to do";
    DeviceQueue "device.queue" Mean Ios of Device "/proc/diskstats"
        "I/Os waiting in or below the device's queue";
    DeviceBytes "device.bytes" Mean BytesPerSecond of Device "/proc/diskstats"
        "bytes that the device moved";
    Paused "generator.paused" Most Seconds of Host "the clock, while slices are waited for"
        "the longest time in which this program did not run";
    Throttled "cpu.throttled" Sum Events of Host "/sys/devices/system/cpu/cpu*/thermal_throttle"
        "times a processor slowed down because it was hot";
    Utilisation "part.utilisation" Mean ShareOfTime of Part "the model"
        "a modelled part was busy";
    TierCapacity "tier.capacity_bytes" Most Bytes of Tier "the model"
        "room of the tier for data";
    TierResident "tier.resident_bytes" Last Bytes of Tier "the model"
        "bytes of resident pages";
    TierDirty "tier.dirty_bytes" Last Bytes of Tier "the model"
        "bytes that only the tier had";
    TierReads "tier.reads" Sum Ios of Tier "the model"
        "read requests";
    TierReadHits "tier.read_hits" Sum Ios of Tier "the model"
        "read requests all of whose pages were resident";
    TierReadBytes "tier.read_bytes" Sum Bytes of Tier "the model"
        "bytes read";
    TierReadHitBytes "tier.read_hit_bytes" Sum Bytes of Tier "the model"
        "bytes read from resident pages";
    TierWrites "tier.writes" Sum Ios of Tier "the model"
        "write requests";
    TierWriteHits "tier.write_hits" Sum Ios of Tier "the model"
        "write requests all of whose pages were resident";
    TierWriteBytes "tier.write_bytes" Sum Bytes of Tier "the model"
        "bytes written";
    TierWriteHitBytes "tier.write_hit_bytes" Sum Bytes of Tier "the model"
        "bytes written to resident pages";
    TierWritesAbsorbed "tier.writes_absorbed" Sum Ios of Tier "the model"
        "writes that the tier alone answered";
    TierRemoteHits "tier.remote_hits" Sum Ios of Tier "the model"
        "read hits served by another host's tier";
    TierFilled "tier.filled_bytes" Sum Bytes of Tier "the model"
        "bytes of pages that reads brought in";
    TierPlaced "tier.placed_bytes" Sum Bytes of Tier "the model"
        "bytes of pages that writes brought in whole";
    TierEvicted "tier.evicted_bytes" Sum Bytes of Tier "the model"
        "bytes of pages that left to make room";
    TierDestaged "tier.destaged_bytes" Sum Bytes of Tier "the model"
        "bytes that reached the storage late";
    TierWritten "tier.tier_written_bytes" Sum Bytes of Tier "the model"
        "bytes written to the tier";
}

/// One number of one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gauge {
    /// What was measured.
    pub name: GaugeName,
    /// Of which: `host`, or the name of the thing that its name is of ([`GaugeName::scope`]).
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

/// Service times of what a tier sends to the storage behind it, for a request or by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BehindTier {
    /// Of reads.
    pub read: Packed,
    /// Of writes.
    pub write: Packed,
}

/// All that was read beside one slice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Readings {
    /// Numbers.
    pub gauges: Vec<Gauge>,
    /// Service times behind tiers, by the name of the tier.
    pub behind: Vec<(String, BehindTier)>,
}

impl Readings {
    /// Adds what somebody else read.
    pub fn add(&mut self, other: Self) {
        self.gauges.extend(other.gauges);
        self.behind.extend(other.behind);
    }
}

/// Somebody who reads gauges.
pub trait GaugeSource {
    /// What was read since this was last asked; nothing by default.
    fn read(&mut self) -> Readings {
        Readings::default()
    }
}

/// A gauge over some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Folded {
    /// The time in which it was read.
    pub time: Nanos,
    /// The value, as its [`Merging`] has it.
    pub value: f64,
    /// The largest single value.
    pub most: f64,
}

impl Folded {
    /// One value.
    pub const fn of(time: Nanos, value: f64) -> Self {
        Self { time, value, most: value }
    }

    /// Both one after the other.
    #[must_use]
    pub fn and_then(self, merging: Merging, later: Self) -> Self {
        let value = match merging {
            Merging::Sum => self.value + later.value,
            Merging::Last => later.value,
            Merging::Most => self.value.max(later.value),
            Merging::Mean => {
                let of = |one: &Self| one.time.as_secs_f64().max(f64::MIN_POSITIVE);
                let (first, second) = (of(&self), of(&later));
                (self.value * first + later.value * second) / (first + second)
            }
        };
        Self { time: self.time.saturating_add(later.time), value, most: self.most.max(later.most) }
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

    #[test]
    fn a_value_and_a_later_one_make_one_in_the_way_of_their_kind() {
        let (first, later) = (Folded::of(Nanos::SECOND, 8.0), Folded::of(Nanos::from_secs(3), 4.0));
        let both = |merging| first.and_then(merging, later);
        let values = [Merging::Sum, Merging::Last, Merging::Most, Merging::Mean];
        assert_eq!(values.map(|merging| both(merging).value), [12.0, 4.0, 8.0, 5.0]);
        assert_eq!(
            (both(Merging::Last).time, both(Merging::Last).most),
            (Nanos::from_secs(4), 8.0)
        );
    }
}
