use std::ops::Range;

use super::parser::number;
use super::table::{FUNCTIONS, HOST_FIGURES, PART_FIGURES, TIER_FIGURES};
use super::{FormulaError, Node, Tree, Variable};
use crate::nearest::did_you_mean;

/// A function of formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// 1 if every limit held in every repeat.
    Passes,
    /// Most tiles of the configuration's list up to which every step passes; 0 if its first fails.
    Holds,
    /// Largest share that a measured value is of its limit, over all limits or those of a workload or an action; above 1 a limit is broken.
    Strain,
    /// Application score.
    Score,
    /// The workload's metric, mean of the tiles.
    Throughput,
    /// The workload's metric, sum of the tiles.
    ThroughputTotal,
    /// Finished actions per minute and tile.
    Actions,
    /// Finished actions per minute of all tiles.
    ActionsTotal,
    /// Intended starts that were given up, as a share of all.
    Dropped,
    /// Mean response time of an action over all tiles.
    Mean,
    /// Median of the response time of an action over all tiles.
    P50,
    /// 95th percentile of the response time of an action over all tiles.
    P95,
    /// 99th percentile of the response time of an action over all tiles.
    P99,
    /// 99.9th percentile of the response time of an action over all tiles.
    P999,
    /// Longest response time of an action over all tiles.
    Longest,
    /// Reads and writes per second.
    Iops,
    /// Reads per second.
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Reads as a share of reads and writes.
    ReadShare,
    /// Bytes per second, both ways.
    Bytes,
    /// Bytes read per second.
    ReadBytes,
    /// Bytes written per second.
    WriteBytes,
    /// Mean service time of reads or writes.
    LatencyMean,
    /// Median of the service time.
    LatencyP50,
    /// 95th percentile of the service time.
    LatencyP95,
    /// 99th percentile of the service time.
    LatencyP99,
    /// 99.9th percentile of the service time.
    LatencyP999,
    /// Mean number of I/Os in flight.
    Outstanding,
    /// What a tier, or memory that answers reads, did.
    Tier,
    /// What parts of the model did; `*` in the name stands for any letters.
    Part,
    /// What the hosts' processors did.
    Host,
    /// What virtual machines' processors did.
    Vm,
    /// Bytes of different pages touched since the start, all tiles.
    Touched,
    /// Smallest LRU memory with which a share of what is not a first reference hits.
    WorkingSet,
    /// Bytes of virtual disks, as scaled.
    Footprint,
    /// Virtual machines.
    Vms,
    /// Events the simulation handled.
    Events,
    /// Number of tiles of the configuration's list at which a formula, in which it is called tiles, is largest.
    Argmax,
    /// Largest value of a formula over the configuration's list of tiles.
    Largest,
    /// Smallest value of a formula over the configuration's list of tiles.
    Smallest,
    /// First divided by second.
    Ratio,
    /// How much more the first is than the second, as a percentage of the second.
    Gain,
    /// A share as a percentage.
    Percent,
    /// 1 if the first is at least the second and at most the third.
    Between,
    /// Without its sign.
    Abs,
    /// Nearest whole number.
    Round,
    /// Smallest of any number of values.
    Min,
    /// Largest of any number of values.
    Max,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The name of a configuration.
    Configuration,
    /// A number of tiles.
    Tiles,
    /// A number.
    Number,
    /// A formula in which `tiles` has a value.
    PerTiles,
    /// The name of a workload of the tile.
    Workload,
    /// The name of an action of that workload.
    Action,
    /// `read` or `write`.
    Direction,
    /// The name of a tier, with `*` for any letters.
    Tier,
    /// A figure of a tier.
    TierFigure,
    /// The name of a part, with `*` for any letters.
    Part,
    /// A figure of a part.
    PartFigure,
    /// A figure of the hosts, or of virtual machines.
    HostFigure,
    /// Workload and virtual machine, `shop/shop-db`, with `*` for any letters.
    Vm,
}

impl Argument {
    /// The names that are allowed, where only some are.
    pub const fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Direction => &["read", "write"],
            Self::TierFigure => &TIER_FIGURES,
            Self::PartFigure => &PART_FIGURES,
            Self::HostFigure => &HOST_FIGURES,
            _ => &[],
        }
    }

    /// In messages.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Tiles => "number of tiles",
            Self::Number => "number",
            Self::PerTiles => "formula over tiles",
            Self::Workload => "workload",
            Self::Action => "action",
            Self::Direction => "direction",
            Self::Tier => "tier",
            Self::TierFigure => "figure of a tier",
            Self::Part => "part",
            Self::PartFigure => "figure of a part",
            Self::HostFigure => "figure of processors",
            Self::Vm => "virtual machine",
        }
    }

    /// Whether it is a number rather than a name.
    const fn is_number(self) -> bool {
        matches!(self, Self::Tiles | Self::Number | Self::PerTiles)
    }
}

/// How a function is called.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    /// Its name.
    pub name: &'static str,
    /// The function.
    pub function: Function,
    /// What its arguments are.
    pub arguments: &'static [Argument],
    /// How many of the last may be left out.
    pub optional: usize,
    /// Whether the last may come any number of times.
    pub is_repeated: bool,
    /// Unit of its value; empty where it is that of its arguments.
    pub unit: &'static str,
    /// What it is, for people.
    pub meaning: &'static str,
}

impl Function {
    /// The function of this name.
    pub fn named(name: &str) -> Option<&'static Signature> {
        FUNCTIONS.iter().find(|signature| signature.name == name)
    }

    /// All names.
    pub fn names() -> Vec<&'static str> {
        FUNCTIONS.iter().map(|signature| signature.name).collect()
    }

    /// How it is called.
    pub fn signature(self) -> &'static Signature {
        let own = |signature: &&Signature| signature.function == self;
        FUNCTIONS.iter().find(own).expect("every function has a signature, as a test says")
    }
}

impl Signature {
    /// What the argument at this place is, from 0; none beyond the last.
    pub fn argument(&self, index: usize) -> Option<Argument> {
        let last = self.arguments.last().filter(|_| self.is_repeated);
        self.arguments.get(index).or(last).copied()
    }

    /// How it is written: `p95(configuration, tiles, workload, action)`.
    pub fn usage(&self) -> String {
        let required = self.arguments.len() - self.optional;
        let name = |(index, argument): (usize, &Argument)| {
            let name = match argument {
                Argument::Tiles => "tiles",
                other => other.what(),
            };
            if index < required { name.to_owned() } else { format!("[{name}]") }
        };
        let mut names: Vec<String> = self.arguments.iter().enumerate().map(name).collect();
        if self.is_repeated {
            names.push("...".to_owned());
        }
        format!("{}({})", self.name, names.join(", "))
    }

    /// Whether these can be its arguments.
    pub(super) fn check(&self, found: &[Node], at: &Range<usize>) -> Result<(), FormulaError> {
        let least = self.arguments.len() - self.optional;
        let most = if self.is_repeated { usize::MAX } else { self.arguments.len() };
        if !(least..=most).contains(&found.len()) {
            let message = format!("\"{}\" has {} arguments here", self.name, found.len());
            let help = format!("it is written {}", self.usage());
            return Err(FormulaError::new(at.clone(), message).help(help));
        }
        for (index, node) in found.iter().enumerate() {
            let Some(argument) = self.argument(index) else { continue };
            self.check_one(argument, node)?;
        }
        Ok(())
    }

    fn check_one(&self, argument: Argument, node: &Node) -> Result<(), FormulaError> {
        if argument.is_number() {
            return number(node);
        }
        let name = match &node.tree {
            Tree::Text(name) => name,
            Tree::Variable(Variable::Configuration) if argument == Argument::Configuration => {
                return Ok(());
            }
            _ => {
                let message = format!("the name of a {} belongs here, in quotes", argument.what());
                let help = format!("it is written {}", self.usage());
                return Err(FormulaError::new(node.at.clone(), message).help(help));
            }
        };
        let choices = argument.choices();
        if choices.is_empty() || choices.contains(&name.as_str()) {
            return Ok(());
        }
        let message = format!("there is no {} \"{name}\"", argument.what());
        let help = did_you_mean(name, choices, "names");
        Err(FormulaError::new(node.at.clone(), message).help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_name_and_by_itself() {
        for signature in FUNCTIONS {
            assert_eq!(
                Function::named(signature.name).map(|s| s.function),
                Some(signature.function)
            );
            assert_eq!(signature.function.signature().name, signature.name);
        }
    }

    #[test]
    fn usage_shows_what_may_be_left_out() {
        let usage = |name| Function::named(name).map(Signature::usage);
        assert_eq!(usage("holds").as_deref(), Some("holds(configuration)"));
        assert_eq!(
            usage("actions").as_deref(),
            Some("actions(configuration, tiles, workload, [action])")
        );
        assert_eq!(usage("max").as_deref(), Some("max(number, ...)"));
    }
}
