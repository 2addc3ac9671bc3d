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
            /// Its name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

words! {
    /// Which part of the system under test a meter sees.
    MeterScope {
        /// A server.
        Host "host",
        /// The storage, where it has a supply of its own.
        Storage "storage",
        /// Servers and storage together; also a server whose disks are inside it.
        Rack "rack",
        /// Processors and their memory alone.
        Processor "processor",
    }
}

words! {
    /// How a meter comes by its numbers.
    MeterMethod {
        /// It measures voltage and current.
        Measured "measured",
        /// It measures, and tells a mean over a time that it chose.
        Averaged "averaged",
        /// It computes them from something else.
        Estimated "estimated",
        /// There is none: watts follow from a model of what was simulated.
        Modelled "modelled",
    }
}

words! {
    /// How energy was made of samples.
    EnergyBy {
        /// The difference of the meter's own counter.
        Counter "counter",
        /// Watts between two samples on a straight line.
        Trapezoid "trapezoid",
        /// Watts of a model, added up over every change.
        Integral "integral",
    }
}

words! {
    /// The three ways in which the field publishes a score.
    PowerCategory {
        /// The score alone.
        PerformanceOnly "performance-only",
        /// By the power of the servers.
        Server "server-power",
        /// By the power of servers and storage.
        ServerAndStorage "server-and-storage-power",
    }
}

/// A meter that was read beside the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeterFacts {
    /// Its name in this run: the scope of its gauges.
    pub name: String,
    /// As it was asked for; what is secret is not in it.
    pub asked: String,
    /// Which part of the system it sees.
    pub scope: MeterScope,
    /// The hosts that it is of; empty where there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// What it says that it is.
    pub model: String,
    /// How it comes by its numbers.
    pub method: MeterMethod,
    /// Time between two samples, in nanoseconds.
    pub period_ns: u64,
    /// The smallest step of its watts; null where nobody knows.
    pub resolution_watts: Option<f64>,
    /// The smallest step of its counter, in joules; null if it has none.
    pub counter_step_joules: Option<f64>,
    /// By which share of the reading it may be wrong, as it or its maker says; null if neither does.
    pub uncertainty: Option<f64>,
    /// Mean watts before the first step, with nothing asked of the storage.
    pub idle_watts: Figure,
    /// What a reader should know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Watts of a step's measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepPower {
    /// Each meter's part.
    pub meters: Vec<MeterEnergy>,
    /// The step's score by its power.
    pub per_kilowatt: Vec<PerKilowatt>,
}

/// What a meter showed in the measured time of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeterEnergy {
    /// Its name.
    pub meter: String,
    /// Which part of the system it sees.
    pub scope: MeterScope,
    /// Energy of exactly the measured time; absent where the samples do not carry it.
    pub joules: Figure,
    /// The same by the time.
    pub mean_watts: Figure,
    /// The largest single sample; null without any.
    pub most_watts: Option<f64>,
    /// How energy was made of samples; null if it was not.
    pub by: Option<EnergyBy>,
    /// Samples in the measured time.
    pub samples: u64,
    /// The longest time between two samples, in nanoseconds.
    pub gap_max_ns: u64,
    /// What went wrong with it meanwhile, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

/// A score by its power, in one of the field's categories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerKilowatt {
    /// Which.
    pub category: PowerCategory,
    /// Mean watts of all that belongs to it, added up; absent where a part was not measured.
    pub mean_watts: Figure,
    /// The score by these watts in kilowatts: tiles' worth of work per kilowatt.
    pub score_per_kilowatt: Figure,
}

/// What the machine was allowed to do about its power, before and after; it was only read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerPolicies {
    /// Before the first step.
    pub before: Vec<PowerPolicy>,
    /// After the last one; empty while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PowerPolicy>,
}

/// One setting of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PowerPolicy {
    /// What is set: `governor`, `turbo`.
    pub name: String,
    /// To what, with how many processors each where they differ.
    pub value: String,
}

impl PowerCategory {
    /// What belongs to it, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::PerformanceOnly => "performance only",
            Self::Server => "servers",
            Self::ServerAndStorage => "servers and storage",
        }
    }
}

impl PerKilowatt {
    /// `412.0 W, 24.31 tiles' worth of work per kilowatt`, or why not.
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

    /// The most complete category that has a number.
    pub fn best(all: &[Self]) -> Option<&Self> {
        all.iter().rev().find(|own| own.score_per_kilowatt.value.is_some())
    }
}
