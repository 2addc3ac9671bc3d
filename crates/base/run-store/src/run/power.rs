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
            /// Name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

words! {
    /// Part of the system under test that a meter measures.
    MeterScope {
        /// A single server.
        Host "host",
        /// The storage, if it has a supply of its own.
        Storage "storage",
        /// Servers and storage together; also a server with internal disks.
        Rack "rack",
        /// Processors and their memory alone.
        Processor "processor",
    }
}

words! {
    /// Method by which a meter gets its numbers.
    MeterMethod {
        /// The meter measures voltage and current.
        Measured "measured",
        /// The meter measures, and reports a mean over a time of its choice.
        Averaged "averaged",
        /// The meter computes the numbers from other data.
        Estimated "estimated",
        /// There is no meter: watts follow from a model of the simulated parts.
        Modelled "modelled",
    }
}

words! {
    /// Method by which energy was computed from samples.
    EnergyBy {
        /// Difference of the meter's own counter.
        Counter "counter",
        /// Linear interpolation of watts between two samples.
        Trapezoid "trapezoid",
        /// Watts of a model, integrated over every change.
        Integral "integral",
    }
}

words! {
    /// Category in which the field publishes a score.
    PowerCategory {
        /// Score without power.
        PerformanceOnly "performance-only",
        /// Score by the power of the servers.
        Server "server-power",
        /// Score by the power of servers and storage.
        ServerAndStorage "server-and-storage-power",
    }
}

/// Meter that was read beside the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeterFacts {
    /// Name of the meter in this run: the scope of its gauges.
    pub name: String,
    /// Meter as it was asked for, without secrets.
    pub asked: String,
    /// Part of the system that the meter measures.
    pub scope: MeterScope,
    /// Hosts that the meter measures; empty where there is only one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// Model of the meter, as it reports.
    pub model: String,
    /// Method by which the meter gets its numbers.
    pub method: MeterMethod,
    /// Time between two samples, in nanoseconds.
    pub period_ns: u64,
    /// Smallest step of the watts; null if unknown.
    pub resolution_watts: Option<f64>,
    /// Smallest step of the counter, in joules; null without a counter.
    pub counter_step_joules: Option<f64>,
    /// Uncertainty as a share of the reading, as the meter or its maker says; null if unknown.
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
    /// Energy by meter.
    pub meters: Vec<MeterEnergy>,
    /// Score of the step per kilowatt.
    pub per_kilowatt: Vec<PerKilowatt>,
}

/// Energy that a meter measured in the measured time of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeterEnergy {
    /// Name of the meter.
    pub meter: String,
    /// Part of the system that the meter measures.
    pub scope: MeterScope,
    /// Energy of exactly the measured time; absent if the samples do not suffice.
    pub joules: Figure,
    /// Mean power of exactly the measured time; absent if the samples do not suffice.
    pub mean_watts: Figure,
    /// Largest single sample; null without samples.
    pub most_watts: Option<f64>,
    /// Method by which energy was computed; null without energy.
    pub by: Option<EnergyBy>,
    /// Samples in the measured time.
    pub samples: u64,
    /// Longest time between two samples, in nanoseconds.
    pub gap_max_ns: u64,
    /// Faults of the meter in that time, each once.
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
    /// Score divided by these watts in kilowatts: tiles' worth of work per kilowatt.
    pub score_per_kilowatt: Figure,
}

/// Power policies of the host before and after the run. They are only read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerPolicies {
    /// Policies before the first step.
    pub before: Vec<PowerPolicy>,
    /// Policies after the last step; empty while the run lasts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PowerPolicy>,
}

/// One power policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PowerPolicy {
    /// Name of the policy: `governor`, `turbo`.
    pub name: String,
    /// Value of the policy. Where processors differ, each value has the number of processors.
    pub value: String,
}

impl PowerCategory {
    /// Parts of the category, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::PerformanceOnly => "performance only",
            Self::Server => "servers",
            Self::ServerAndStorage => "servers and storage",
        }
    }
}

impl PerKilowatt {
    /// Text such as `412.0 W, 24.31 tiles' worth of work per kilowatt`, or the reason why there is
    /// none.
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

    /// Most complete category that has a number.
    pub fn best(all: &[Self]) -> Option<&Self> {
        all.iter().rev().find(|own| own.score_per_kilowatt.value.is_some())
    }
}
