//! Gauges: values about the host, the device under test and modelled parts, measured with each
//! slice, one for each name and scope.
//!
//! Function: the table below defines every gauge once, with the rule for merging two values, unit,
//! scope and source. A new gauge is one line of the table. It is then stored, rolled up, exported
//! and drawn like the others. A source of gauges (host counters, a model, a meter) is a
//! [`GaugeSource`].
//!
//! Left out: judging of values, and histograms, which none of the four merging rules fits. Only the
//! latencies behind a tier are histograms. They are not gauges, but come in the same [`Readings`].
//!
//! Invariants: a gauge that could not be read is absent, never zero. Shares are between 0 and 1.
//! Whole numbers are exact up to 2^53.

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
        /// Name of a gauge.
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
            /// All gauges, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the stable name that is used in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the unit of the values.
            pub const fn unit(self) -> GaugeUnit {
                match self { $(Self::$variant => GaugeUnit::$unit),+ }
            }

            /// Returns the rule for merging two values.
            pub const fn merging(self) -> Merging {
                match self { $(Self::$variant => Merging::$merging),+ }
            }

            /// Returns the kind of object that the gauge describes.
            pub const fn scope(self) -> ScopeKind {
                match self { $(Self::$variant => ScopeKind::$scope),+ }
            }

            /// Returns the place of the gauge on the report page.
            pub const fn place(self) -> GaugePlace {
                match self { $(Self::$variant => GaugePlace::$place),+ }
            }

            /// Returns the direction in which values of the gauge are better.
            pub const fn wanted(self) -> GaugePreference {
                match self { $(Self::$variant => GaugePreference::$wanted),+ }
            }

            /// Returns the source of the values.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source),+ }
            }

            /// Returns the title of the gauge for people.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }
        }
    };
}

/// Rule for merging a gauge's value over some time with its value over the following time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    /// Adds the values; for counts of events.
    Sum,
    /// Uses the later value; for levels.
    Last,
    /// Uses the larger value; for maxima.
    Most,
    /// Uses the mean, weighted by time.
    Mean,
}

/// Kind of object that a gauge describes. The name of the object is [`Gauge::scope`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKind {
    /// Host that generates the load.
    Host,
    /// Block device of the host.
    Device,
    /// Part of a model.
    Part,
    /// Acceleration tier.
    Tier,
    /// Power meter.
    Meter,
    /// Virtual machine of the host.
    Vm,
}

impl ScopeKind {
    /// Returns the name of the kind, which is a label in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
            Self::Part => "part",
            Self::Tier => "tier",
            Self::Meter => "meter",
            Self::Vm => "vm",
        }
    }
}

/// Place of a gauge on the report page. All gauges are stored, rolled up and exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugePlace {
    /// In the charts of the host.
    Drawn,
    /// In a view of its own, or nowhere.
    Kept,
}

/// Direction in which values of a gauge are better, for the same load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugePreference {
    /// A larger value is better.
    More,
    /// A smaller value is better.
    Less,
    /// Neither direction is better in general, so the gauge is not compared.
    Neither,
}

macro_rules! units {
    ($($variant:ident $name:literal $metric:literal $ucum:literal $about:literal;)+) => {
        /// Unit of the values of a gauge.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum GaugeUnit {
            $(
                #[doc = $about]
                $variant,
            )+
        }

        impl GaugeUnit {
            /// Returns the name of the unit in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the unit as the last part of a metric's name; empty for a count.
            pub const fn metric(self) -> &'static str {
                match self { $(Self::$variant => $metric),+ }
            }

            /// Returns the unit for OpenTelemetry, in UCUM. Text in braces is an annotation.
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
    /// Returns the unit of a sum of these values per second.
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
    /// Returns a value that does not depend on the length of its time: a sum becomes a rate per
    /// second, other values are unchanged.
    pub fn level(self, value: f64, over: Nanos) -> f64 {
        match self.merging() {
            Merging::Sum => value / over.as_secs_f64().max(f64::MIN_POSITIVE),
            Merging::Last | Merging::Most | Merging::Mean => value,
        }
    }

    /// Returns the name of the metric, which ends with the unit.
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

    /// Returns the unit of the [`level`](Self::level).
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
    OverServerCpu "over.server_cpu" Sum Seconds of Host Kept Less
        "/proc/PID/stat"
        "processor time of the servers of --over";
    OverInitiatorCpu "over.initiator_cpu" Sum Seconds of Host Kept Less
        "/proc/PID/stat"
        "processor time of the initiator of --over, if it is a process of its own";
    ServersCpu "servers.cpu" Sum Seconds of Host Kept Less
        "cpu.stat, cpuacct.usage"
        "processor time of the tiles' real servers";
    VmCpu "vm.cpu" Mean ShareOfCpus of Vm Drawn Neither
        "/proc/PID/stat"
        "processors used";
    VmReady "vm.ready" Mean ShareOfCpus of Vm Drawn Less
        "/proc/PID/task/TID/schedstat"
        "waited for a processor";
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
        "frequency of the processors, as a share of their maximum";
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

/// Value of a gauge in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gauge {
    /// Name of the gauge.
    pub name: GaugeName,
    /// Name of the object that the gauge describes: `host`, or a name among the objects of kind
    /// [`GaugeName::scope`].
    pub scope: String,
    /// Value, in the unit of the gauge.
    pub value: f64,
}

/// Scope of the gauges that describe the whole host.
pub const HOST: &str = "host";

impl Gauge {
    /// Creates a gauge of the whole host.
    pub fn of_host(name: GaugeName, value: f64) -> Self {
        Self { name, scope: HOST.to_owned(), value }
    }
}

/// Service times of the I/O that a tier sends to its backing store, for a request or on its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BehindTier {
    /// Service times of reads.
    pub read: Compact,
    /// Service times of writes.
    pub write: Compact,
}

/// All values that were read together with one slice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Readings {
    /// Gauges of the slice.
    pub gauges: Vec<Gauge>,
    /// Service times behind tiers, by the name of the tier.
    pub behind: Vec<(String, BehindTier)>,
}

impl Readings {
    /// Adds the readings of another source.
    pub fn add(&mut self, other: Self) {
        self.gauges.extend(other.gauges);
        self.behind.extend(other.behind);
    }
}

/// Sampled source of gauges, such as a host's counters or a modelled array.
pub trait GaugeSource {
    /// Returns the values since the last call; the default implementation returns none.
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
