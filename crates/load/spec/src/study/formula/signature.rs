use std::ops::Range;

use super::error::FormulaError;
use super::table::{
    FUNCTIONS, HOST_FIGURES, PART_FIGURES, PROGRAMS, SUPPLIES, TIER_FIGURES, VM_FIGURES,
};
use super::{Argument, Function, Node, Signature, Tree, Variable};
use crate::nearest::did_you_mean;

impl Argument {
    /// Returns the allowed names; empty if any name is allowed.
    pub const fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Direction => &["read", "write"],
            Self::TierFigure => &TIER_FIGURES,
            Self::PartFigure => &PART_FIGURES,
            Self::HostFigure => &HOST_FIGURES,
            Self::VmFigure => &VM_FIGURES,
            Self::Supply => &SUPPLIES,
            Self::Program => &PROGRAMS,
            _ => &[],
        }
    }

    /// Returns the name of the argument in messages.
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
            Self::HostFigure | Self::VmFigure => "figure of processors",
            Self::Supply => "supply",
            Self::Program => "program",
            Self::Vm => "virtual machine",
        }
    }

    /// Returns true for a number, and false for a name.
    const fn is_number(self) -> bool {
        matches!(self, Self::Tiles | Self::Number | Self::PerTiles)
    }
}

impl Function {
    /// Returns the signature of the function with this name.
    pub fn named(name: &str) -> Option<&'static Signature> {
        FUNCTIONS.iter().find(|signature| signature.name == name)
    }

    /// Returns the names of all functions.
    pub fn names() -> Vec<&'static str> {
        FUNCTIONS.iter().map(|signature| signature.name).collect()
    }

    /// Returns the signature of the function.
    pub fn signature(self) -> &'static Signature {
        let own = |signature: &&Signature| signature.function == self;
        FUNCTIONS.iter().find(own).expect("a test checks that every function has a signature")
    }
}

impl Signature {
    /// Returns the kind of the argument at this position, counted from 0; `None` beyond the last
    /// argument.
    pub fn argument(&self, index: usize) -> Option<Argument> {
        let last = self.arguments.last().filter(|_| self.is_repeated);
        self.arguments.get(index).or(last).copied()
    }

    /// Returns the usage of the function: `p95(configuration, tiles, workload, action)`.
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

    /// Checks arguments against the signature.
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

/// Checks that an argument is a number.
pub(super) fn number(node: &Node) -> Result<(), FormulaError> {
    match &node.tree {
        Tree::Text(text) => {
            let message = format!("\"{text}\" is a name, but a number belongs here");
            Err(FormulaError::new(node.at.clone(), message))
        }
        Tree::Variable(Variable::Configuration) => {
            let message = "configuration is a name, but a number belongs here";
            Err(FormulaError::new(node.at.clone(), message))
        }
        _ => Ok(()),
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
