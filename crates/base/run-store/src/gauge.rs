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

mod folded;

pub use folded::{Folded, Gauges};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Compact;
use units::Nanos;

macro_rules! gauges {
    ($(
        $variant:ident $name:literal $merging:ident $unit:ident of $scope:ident $place:ident
        $wanted:ident $source:literal $title:literal;
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

            /// Whether the page draws it with the machine.
            pub const fn place(self) -> Place {
                match self { $(Self::$variant => Place::$place),+ }
            }

            /// Which way it is better.
            pub const fn wanted(self) -> Wanted {
                match self { $(Self::$variant => Wanted::$wanted),+ }
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
    /// A meter of watts.
    Meter,
}

impl ScopeKind {
    /// Its name: a label in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
            Self::Part => "part",
            Self::Tier => "tier",
            Self::Meter => "meter",
        }
    }
}

/// Where the page shows a gauge. All are stored, rolled up and exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Among the charts of the machine.
    Drawn,
    /// In a view of its own kind, or in none.
    Kept,
}

/// Which way a gauge is better, for the same load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// More of it.
    More,
    /// Less of it.
    Less,
    /// It depends, or nobody wants either: it is not compared.
    Neither,
}

macro_rules! units {
    ($($variant:ident $name:literal $metric:literal $ucum:literal $about:literal;)+) => {
        /// What the values of a gauge are.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum GaugeUnit {
            $(
                #[doc = $about]
                $variant,
            )+
        }

        impl GaugeUnit {
            /// Its name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Its name in metrics, with which the name of a metric ends; empty for a count.
            pub const fn metric(self) -> &'static str {
                match self { $(Self::$variant => $metric),+ }
            }

            /// Its name in OpenTelemetry: UCUM, of which what is in braces only explains.
            pub const fn ucum(self) -> &'static str {
                match self { $(Self::$variant => $ucum),+ }
            }
        }
    };
}

units! {
    ShareOfCpus "share of all CPUs" "ratio" "1" "Of all processors, 0 to 1.";
    ShareOfTime "share of the time" "ratio" "1" "Of the time, 0 to 1.";
    Share "share" "ratio" "1" "Of the greatest there can be, 0 to 1.";
    BytesPerSecond "B/s" "bytes_per_second" "By/s" "Bytes per second.";
    Ios "I/Os" "" "{operation}" "Requests.";
    Bytes "B" "bytes" "By" "Bytes.";
    Seconds "s" "seconds" "s" "Seconds.";
    Events "events" "" "{event}" "How often something happened.";
    IosPerSecond "I/Os/s" "operations_per_second" "{operation}/s" "Requests per second.";
    Watts "W" "watts" "W" "Watts.";
    EventsPerSecond "events/s" "events_per_second" "{event}/s" "How often a second.";
}

impl GaugeUnit {
    /// What a sum of it is by the second.
    const fn per_second(self) -> Self {
        match self {
            Self::Bytes => Self::BytesPerSecond,
            Self::Ios => Self::IosPerSecond,
            Self::Events => Self::EventsPerSecond,
            Self::Seconds => Self::ShareOfTime,
            other => other,
        }
    }
}

impl GaugeName {
    /// What a value over some time is whatever that time: what is added up, by the second.
    pub fn level(self, value: f64, over: Nanos) -> f64 {
        match self.merging() {
            Merging::Sum => value / over.as_secs_f64().max(f64::MIN_POSITIVE),
            Merging::Last | Merging::Most | Merging::Mean => value,
        }
    }

    /// Its name among metrics, which ends with its unit there.
    pub fn metric(self, unit: GaugeUnit) -> String {
        let (name, unit) = (self.name().replace('.', "_"), unit.metric());
        if unit.is_empty() {
            return format!("tilemark_{name}");
        }
        let begin = unit.split('_').next().unwrap_or(unit);
        let stem =
            name.strip_suffix(begin).map_or(name.as_str(), |stem| stem.trim_end_matches('_'));
        format!("tilemark_{stem}_{unit}")
    }

    /// The unit of its [`level`](Self::level).
    pub const fn level_unit(self) -> GaugeUnit {
        match self.merging() {
            Merging::Sum => self.unit().per_second(),
            Merging::Last | Merging::Most | Merging::Mean => self.unit(),
        }
    }
}

gauges! {
    CpuOwn "cpu.own" Mean ShareOfCpus of Host Kept Less
        "CLOCK_PROCESS_CPUTIME_ID"
        "processors used by the load generator";
    CpuOthers "cpu.others" Mean ShareOfCpus of Host Drawn Neither
        "/proc/stat, /proc/PID/stat"
        "processors used by other processes";
    CpuSteal "cpu.steal" Mean ShareOfCpus of Host Drawn Neither
        "/proc/stat"
        "processors taken by the hypervisor";
    CpuWaiting "cpu.waiting" Mean ShareOfTime of Host Kept Neither
        "/proc/self/task/TID/schedstat"
        "the generator's threads ready and without a processor";
    PressureMemory "pressure.memory" Mean ShareOfTime of Host Kept Neither
        "/proc/pressure/memory"
        "some task waited for memory";
    PressureIo "pressure.io" Mean ShareOfTime of Host Kept Neither
        "/proc/pressure/io"
        "some task waited for storage";
    IoOthers "io.others" Mean BytesPerSecond of Host Drawn Neither
        "/proc/PID/io"
        "bytes that other processes moved";
    DeviceBusy "device.busy" Mean ShareOfTime of Device Drawn Less
        "/proc/diskstats"
        "the device had something to do";
    DeviceQueue "device.queue" Mean Ios of Device Drawn Less
        "/proc/diskstats"
        "I/Os waiting in or below the device's queue";
    DeviceBytes "device.bytes" Mean BytesPerSecond of Device Kept Neither
        "/proc/diskstats"
        "bytes that the device moved";
    Paused "generator.paused" Most Seconds of Host Kept Neither
        "the clock, while slices are waited for"
        "the longest time in which this program did not run";
    Throttled "cpu.throttled" Sum Events of Host Drawn Neither
        "/sys/devices/system/cpu/cpu*/thermal_throttle"
        "times a processor slowed down because it was hot";
    Frequency "cpu.frequency" Mean Share of Host Drawn More
        "/sys/devices/system/cpu/cpu*/cpufreq"
        "frequency of the processors, of their greatest";
    PowerWatts "power.watts" Mean Watts of Meter Drawn Less
        "a meter"
        "electrical power in watts";
    Utilisation "part.utilisation" Mean ShareOfTime of Part Drawn Less
        "the model"
        "a modelled part was busy";
    TierCapacity "tier.capacity_bytes" Most Bytes of Tier Kept Neither
        "the model"
        "room of the tier for data";
    TierResident "tier.resident_bytes" Last Bytes of Tier Kept Neither
        "the model"
        "bytes of resident pages";
    TierDirty "tier.dirty_bytes" Last Bytes of Tier Kept Neither
        "the model"
        "bytes that only the tier had";
    TierReads "tier.reads" Sum Ios of Tier Kept Neither
        "the model"
        "read requests";
    TierReadHits "tier.read_hits" Sum Ios of Tier Kept More
        "the model"
        "read requests all of whose pages were resident";
    TierReadBytes "tier.read_bytes" Sum Bytes of Tier Kept Neither
        "the model"
        "bytes read";
    TierReadHitBytes "tier.read_hit_bytes" Sum Bytes of Tier Kept Neither
        "the model"
        "bytes read from resident pages";
    TierWrites "tier.writes" Sum Ios of Tier Kept Neither
        "the model"
        "write requests";
    TierWriteHits "tier.write_hits" Sum Ios of Tier Kept More
        "the model"
        "write requests all of whose pages were resident";
    TierWriteBytes "tier.write_bytes" Sum Bytes of Tier Kept Neither
        "the model"
        "bytes written";
    TierWriteHitBytes "tier.write_hit_bytes" Sum Bytes of Tier Kept Neither
        "the model"
        "bytes written to resident pages";
    TierWritesAbsorbed "tier.writes_absorbed" Sum Ios of Tier Kept More
        "the model"
        "writes that the tier alone answered";
    TierRemoteHits "tier.remote_hits" Sum Ios of Tier Kept Neither
        "the model"
        "read hits served by another host's tier";
    TierMemoryHits "tier.memory_hits" Sum Ios of Tier Kept More
        "a served tier"
        "read hits that memory above the pages served";
    TierMemoryHeld "tier.memory_held_bytes" Last Bytes of Tier Kept Neither
        "a served tier"
        "bytes of blocks in memory above the pages";
    TierMemoryTaken "tier.memory_taken_bytes" Last Bytes of Tier Kept Neither
        "a served tier"
        "bytes that these take, compressed or not";
    TierFilled "tier.filled_bytes" Sum Bytes of Tier Kept Neither
        "the model"
        "bytes of pages that reads brought in";
    TierPlaced "tier.placed_bytes" Sum Bytes of Tier Kept Neither
        "the model"
        "bytes of pages that writes brought in whole";
    TierEvicted "tier.evicted_bytes" Sum Bytes of Tier Kept Neither
        "the model"
        "bytes of pages that left to make room";
    TierDestaged "tier.destaged_bytes" Sum Bytes of Tier Kept Neither
        "the model"
        "bytes that reached the storage late";
    TierWritten "tier.tier_written_bytes" Sum Bytes of Tier Kept Less
        "the model"
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BehindTier {
    /// Of reads.
    pub read: Compact,
    /// Of writes.
    pub write: Compact,
}

/// All that was read beside one slice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
