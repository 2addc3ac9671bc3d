use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Figure;

macro_rules! words {
    ($(#[$about:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// Returns the name used in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

words! {
    /// Part of the measured system that a meter covers.
    MeterScope {
        /// One server.
        Host "host",
        /// Storage with its own power supply.
        Storage "storage",
        /// Servers and storage together, or a server with internal disks.
        Rack "rack",
        /// Processors and their memory only.
        Processor "processor",
    }
}

words! {
    /// Method by which a meter obtains its numbers.
    MeterMethod {
        /// Direct measurement of voltage and current.
        Measured "measured",
        /// Measurement, reported as a mean over an interval that the meter chooses.
        Averaged "averaged",
        /// Computation by the meter from other data.
        Estimated "estimated",
        /// Model of the simulated parts, without a meter.
        Modelled "modelled",
    }
}

words! {
    /// Method by which energy was computed from samples.
    EnergyBy {
        /// Difference between two readings of the meter's own counter.
        Counter "counter",
        /// Linear interpolation of watts between two samples.
        Trapezoid "trapezoid",
        /// Integral of a model's watts over every change.
        Integral "integral",
    }
}

words! {
    /// Category in which benchmarks in the field publish a score.
    PowerCategory {
        /// Score without power.
        PerformanceOnly "performance-only",
        /// Score per power of the servers.
        Server "server-power",
        /// Score per power of servers and storage.
        ServerAndStorage "server-and-storage-power",
    }
}

/// Meter that was read during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeterFacts {
    /// Name of the meter in this run. It is the scope of the meter's gauges.
    pub name: String,
    /// Meter as given by the user, without secrets.
    pub asked: String,
    /// Part of the measured system that the meter covers.
    pub scope: MeterScope,
    /// Hosts that the meter covers; empty if there is only one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// Model of the meter, as the meter reports it.
    pub model: String,
    /// Method by which the meter obtains its numbers.
    pub method: MeterMethod,
    /// Time between two samples, in nanoseconds.
    pub period_ns: u64,
    /// Resolution of the watts; null if unknown.
    pub resolution_watts: Option<f64>,
    /// Resolution of the counter, in joules; null without a counter.
    pub counter_step_joules: Option<f64>,
    /// Uncertainty as a share of the reading, as stated by the meter or its maker; null if unknown.
    pub uncertainty: Option<f64>,
    /// Mean watts before the first step, without load on the storage.
    pub idle_watts: Figure,
    /// Notes about the meter for the reader.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Power in the measured time of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepPower {
    /// Energy of each meter.
    pub meters: Vec<MeterEnergy>,
    /// Score of the step per kilowatt.
    pub per_kilowatt: Vec<PerKilowatt>,
}

/// Energy that a meter measured in the measured time of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeterEnergy {
    /// Name of the meter.
    pub meter: String,
    /// Part of the measured system that the meter covers.
    pub scope: MeterScope,
    /// Energy over exactly the measured time, in joules; absent if there are too few samples.
    pub joules: Figure,
    /// Mean power over exactly the measured time, in watts; absent if there are too few samples.
    pub mean_watts: Figure,
    /// Largest single sample, in watts; null without samples.
    pub most_watts: Option<f64>,
    /// Method by which energy was computed; null without energy.
    pub by: Option<EnergyBy>,
    /// Number of samples in the measured time.
    pub samples: u64,
    /// Maximum time between two samples, in nanoseconds.
    pub gap_max_ns: u64,
    /// Faults of the meter in the measured time; each is listed once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

/// Score per kilowatt, in one of the field's categories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerKilowatt {
    /// Category of the score.
    pub category: PowerCategory,
    /// Sum of the mean watts of all parts of the category; absent if a part was not measured.
    pub mean_watts: Figure,
    /// Score divided by `mean_watts` in kilowatts: tiles' worth of work per kilowatt.
    pub score_per_kilowatt: Figure,
}

/// Power policies of the host before and after the run. The program only reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerPolicies {
    /// Policies before the first step.
    pub before: Vec<PowerPolicy>,
    /// Policies after the last step; empty until the run has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PowerPolicy>,
}

/// Power setting of the host's processors that affects their speed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PowerPolicy {
    /// Name of the policy: `governor`, `turbo`.
    pub name: String,
    /// Value of the policy. If processors differ, each value is followed by the number of
    /// processors.
    pub value: String,
}

impl PowerCategory {
    /// Returns the parts that the category covers, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::PerformanceOnly => "performance only",
            Self::Server => "servers",
            Self::ServerAndStorage => "servers and storage",
        }
    }
}

impl PerKilowatt {
    /// Returns a text such as `412.0 W, 24.31 tiles' worth of work per kilowatt`, or the reason why
    /// there is none.
    pub fn text(&self) -> String {
        let why = |figure: &Figure| figure.reason.clone().unwrap_or_default();
        match (self.mean_watts.value, self.score_per_kilowatt.value) {
            (Some(watts), Some(score)) => {
                format!("{watts:.1} W, {score:.2} tiles' worth of work per kilowatt")
            }
            (Some(watts), None) => format!("{watts:.1} W; {}", why(&self.score_per_kilowatt)),
            (None, _) => format!("not known: {}", why(&self.mean_watts)),
        }
    }

    /// Returns the score of the most complete category that has a number.
    pub fn best(all: &[Self]) -> Option<&Self> {
        all.iter().rev().find(|own| own.score_per_kilowatt.value.is_some())
    }
}
