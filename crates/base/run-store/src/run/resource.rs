use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::print::percent;

/// Resource that was at its limit, or closest to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bottleneck {
    /// Kind of the resource; `none-seen` if no observed resource was at its limit.
    pub kind: Resource,
    /// Name of the resource: `pool lun1 disks`, `host-3`, `sda`. With `none-seen`, the resource
    /// closest to its limit; empty if none could be observed.
    pub name: String,
    /// Used share of the resource, 0 to 1; null without one.
    pub utilisation: Option<f64>,
    /// Description of the finding.
    pub text: String,
    /// Source of the numbers, and the threshold to which they were compared.
    pub source: String,
}

/// Kind of a resource that can be at its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Disks of a model.
    Disk,
    /// Disks of a model's tier.
    Tier,
    /// Link or network of a model.
    Link,
    /// Processor or write memory of a controller of a model.
    Controller,
    /// Queue of a model in which I/Os wait to be sent.
    Queue,
    /// Processors of a host.
    HostCpu,
    /// Virtual processors of one virtual machine.
    VmCpu,
    /// The device under test.
    Device,
    /// Flushes of the device under test.
    Flush,
    /// The load generator itself.
    Generator,
    /// Room for virtual disks.
    Capacity,
    /// No observed resource was at its limit.
    NoneSeen,
}

impl Resource {
    /// Returns true if this is a resource, not [`Resource::NoneSeen`].
    pub fn is_seen(self) -> bool {
        self != Self::NoneSeen
    }
}

/// Cause of waiting within the action whose limit was exceeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    /// Cause of the waiting.
    pub what: Waited,
    /// Share of the action's mean response time, 0 to 1.
    pub share: f64,
}

/// Cause of waiting within an action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "on")]
pub enum Waited {
    /// Reads of a disk.
    Reads {
        /// Name of the disk in the workload.
        disk: String,
    },
    /// Writes to a disk, including appends.
    Writes {
        /// Name of the disk in the workload.
        disk: String,
    },
    /// Flushes of a disk.
    Flushes {
        /// Name of the disk in the workload.
        disk: String,
    },
    /// Calls to an endpoint.
    Calls {
        /// Name of the endpoint in the workload.
        endpoint: String,
    },
    /// Processor work and, on a modelled host, the wait for a processor.
    Processor,
    /// Pause that is part of the dialogue.
    Pause,
    /// Wait from the intended start to the first step.
    Queue,
    /// Time that the mean times of the steps do not explain.
    Unexplained,
}

impl std::fmt::Display for Waited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reads { disk } => write!(f, "reads of disk {disk}"),
            Self::Writes { disk } => write!(f, "writes to disk {disk}"),
            Self::Flushes { disk } => write!(f, "flushes of disk {disk}"),
            Self::Calls { endpoint } => write!(f, "calls of {endpoint}"),
            Self::Processor => f.write_str("a processor"),
            Self::Pause => f.write_str("its own pauses"),
            Self::Queue => f.write_str("earlier work of its users"),
            Self::Unexplained => f.write_str("time not explained by its steps"),
        }
    }
}

/// Smallest share that is mentioned in a text.
const TOLD_MIN: f64 = 0.1;

/// Returns a text such as `on average 71 % went to reads of disk db, 20 % to a processor`. It names
/// the two largest shares of an action's time; `None` if no share is known.
pub fn told_waits(waits: &[Wait]) -> Option<String> {
    let worth = waits.iter().filter(|wait| wait.share >= TOLD_MIN).take(2);
    let parts: Vec<String> =
        worth.map(|wait| format!("{} to {}", percent(wait.share), wait.what)).collect();
    let (first, rest) = parts.split_first()?;
    let first = first.replacen(" to ", " went to ", 1);
    Some(format!("on average {}", [&[first], rest].concat().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_two_waits_are_told_and_small_ones_are_not() {
        let wait = |what, share| Wait { what, share };
        let reads = Waited::Reads { disk: "db".to_owned() };
        let all = [wait(reads, 0.71), wait(Waited::Queue, 0.2), wait(Waited::Pause, 0.05)];
        let told = told_waits(&all).expect("something is told");
        assert_eq!(
            told,
            "on average 71 % went to reads of disk db, 20 % to earlier work of its users"
        );
        assert_eq!(told_waits(&all[2..]), None);
    }
}
