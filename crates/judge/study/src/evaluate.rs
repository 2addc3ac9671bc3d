//! Evaluation of formulas.

use std::collections::BTreeMap;

use run_store::run::{Step, Verdict};
use spec::study::formula::{Binary, Comparison, Function, Node, Tree, Variable};
use spec::study::{ResolvedConfiguration, ResolvedStudy};
use units::Ratio;

use super::absent::{Absent, Number, finite};
use super::figures;
use super::point::{PointError, Simulate};

/// Confidence level of the intervals.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Results of all steps, one for each repeat.
pub(super) type Results = BTreeMap<(usize, u32), Vec<Result<Step, PointError>>>;

/// Values of the variables.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bound<'a> {
    pub configuration: Option<&'a str>,
    pub tiles: Option<u32>,
}

/// Repeats from which a figure is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Single repeat, counted from 0.
    Repeat(usize),
    /// Mean of all repeats.
    Mean,
    /// Mean of all repeats. A comparison is true or false only if the interval of the difference
    /// between its sides, over paired repeats, decides it. Otherwise it is undecided.
    Intervals,
}

/// Evaluator of formulas.
#[derive(Clone, Copy)]
pub(super) struct Evaluator<'a> {
    pub study: &'a ResolvedStudy,
    pub results: &'a Results,
    /// Simulator of working sets with its seed; `None` if nothing may be simulated.
    pub simulate: Option<(&'a dyn Simulate, u64)>,
    pub repeats: u32,
    /// True for claims. A step that broke a limit then has no figure.
    pub is_claim: bool,
}

/// Returns the value of a formula that needs no step.
pub(super) fn constant(study: &ResolvedStudy, node: &Node, bound: Bound<'_>) -> Option<f64> {
    let results = Results::new();
    let none = Evaluator { study, results: &results, simulate: None, repeats: 1, is_claim: false };
    none.value(node, bound, Of::Repeat(0)).ok()
}

/// Converts to a whole number of tiles, at least 1.
pub(super) fn whole(tiles: f64) -> Option<u32> {
    let is_whole = tiles >= 1.0 && tiles <= f64::from(u32::MAX) && tiles.fract() == 0.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was checked")]
    is_whole.then_some(tiles as u32)
}

impl<'a> Evaluator<'a> {
    /// Returns the value of a formula.
    pub fn value(&self, node: &Node, bound: Bound<'_>, of: Of) -> Number {
        let number = |node: &Node| self.value(node, bound, of);
        match &node.tree {
            Tree::Number(number) => Ok(*number),
            Tree::Text(_) | Tree::Variable(Variable::Configuration) => {
                Err(Absent::because("a name is not a number"))
            }
            Tree::Variable(Variable::Tiles) => {
                bound.tiles.map(f64::from).ok_or_else(|| Absent::because("tiles has no value"))
            }
            Tree::Negate(part) => Ok(-number(part)?),
            Tree::Not(part) => Ok(truth(number(part)? == 0.0)),
            // A factor of 0 makes the other one unnecessary: `(strain(...) <= 1) * iops(...)`.
            Tree::Binary(Binary::Multiply, a, b) => match number(a)? {
                0.0 => Ok(0.0),
                a => arithmetic(Binary::Multiply, a, number(b)?),
            },
            Tree::Binary(binary, a, b) => arithmetic(*binary, number(a)?, number(b)?),
            Tree::And(a, b) => match (number(a), number(b)) {
                (Ok(0.0), _) | (_, Ok(0.0)) => Ok(0.0),
                (a, b) => a.and(b).map(|_| 1.0),
            },
            Tree::Or(a, b) => {
                let (a, b) = (number(a)?, number(b)?);
                Ok(truth(a != 0.0 || b != 0.0))
            }
            Tree::Compare(first, rest) => {
                let (mut left, mut holds) = (number(first)?, true);
                let mut before = &**first;
                for (comparison, right) in rest {
                    let value = number(right)?;
                    holds &= match of {
                        Of::Intervals => self.orders(*comparison, before, right, bound)?,
                        _ => comparison.holds(left, value),
                    };
                    (left, before) = (value, right);
                }
                Ok(truth(holds))
            }
            Tree::Call(function, arguments) => self.call(*function, arguments, bound, of),
        }
    }

    /// Compares both sides over the repeats. A repeat has the same random numbers in every
    /// configuration, so differences are computed repeat by repeat.
    fn orders(
        &self,
        comparison: Comparison,
        left: &Node,
        right: &Node,
        bound: Bound<'_>,
    ) -> Result<bool, Absent> {
        let repeats = usize::try_from(self.repeats).unwrap_or(1);
        let differences = (0..repeats)
            .map(|repeat| {
                let side = |node| self.value(node, bound, Of::Repeat(repeat));
                Ok(side(left)? - side(right)?)
            })
            .collect::<Result<Vec<f64>, Absent>>()?;
        let interval = stats::mean_interval(&differences, Ratio::new(CONFIDENCE))
            .ok_or_else(|| Absent::because("an order needs two repeats or more to be decided"))?;
        match [interval.low, interval.high].map(|end| comparison.holds(end, 0.0)) {
            [low, high] if low == high => Ok(low),
            _ => Err(Absent(format!(
                "the order is not decided: the sides differ by {:.4} to {:.4} over {repeats} \
                 repeats (95 %)",
                interval.low, interval.high
            ))),
        }
    }

    fn call(&self, function: Function, arguments: &[Node], bound: Bound<'_>, of: Of) -> Number {
        let number = |index: usize| self.value(&arguments[index], bound, of);
        let all = || arguments.iter().map(|node| self.value(node, bound, of));
        match function {
            Function::Ratio => arithmetic(Binary::Divide, number(0)?, number(1)?),
            Function::Gain => {
                Ok(100.0 * (arithmetic(Binary::Divide, number(0)?, number(1)?)? - 1.0))
            }
            Function::Percent => Ok(100.0 * number(0)?),
            Function::Between => {
                let (value, low, high) = (number(0)?, number(1)?, number(2)?);
                Ok(truth((low..=high).contains(&value)))
            }
            Function::Abs => Ok(number(0)?.abs()),
            Function::Round => Ok(number(0)?.round()),
            Function::Min => all().try_fold(f64::INFINITY, |least, next| Ok(least.min(next?))),
            Function::Max => all().try_fold(f64::NEG_INFINITY, |most, next| Ok(most.max(next?))),
            _ => {
                let (index, configuration) = self.configuration(&arguments[0], bound)?;
                self.of_configuration(function, (index, configuration), arguments, bound, of)
            }
        }
    }

    fn configuration(
        &self,
        node: &Node,
        bound: Bound<'_>,
    ) -> Result<(usize, &'a ResolvedConfiguration), Absent> {
        let name = node.as_text().or(bound.configuration).unwrap_or_default();
        let known = self.study.configurations.iter().enumerate();
        let mut known = known.filter(|(_, each)| each.name == name);
        let is_real = || self.study.reals.iter().any(|each| each.name == name);
        known.next().ok_or_else(|| {
            Absent(if is_real() {
                format!("{name} needs real storage and was not run")
            } else {
                format!("there is no configuration \"{name}\"")
            })
        })
    }

    fn of_configuration(
        &self,
        function: Function,
        (index, configuration): (usize, &ResolvedConfiguration),
        arguments: &[Node],
        bound: Bound<'_>,
        of: Of,
    ) -> Number {
        match function {
            Function::Holds => self.holds(index, configuration),
            Function::Argmax | Function::Largest | Function::Smallest => {
                let mut best: Option<(u32, f64)> = None;
                for tiles in &configuration.tiles {
                    let bound = Bound { tiles: Some(*tiles), ..bound };
                    // The position of the peak is taken from the means, because repeats of a flat
                    // top differ.
                    let is_mean = function == Function::Argmax || of == Of::Intervals;
                    let of = if is_mean { Of::Mean } else { of };
                    let value = self.value(&arguments[1], bound, of)?;
                    let is_better = |best: f64| match function {
                        Function::Smallest => value < best,
                        _ => value > best,
                    };
                    if best.is_none_or(|(_, best)| is_better(best)) {
                        best = Some((*tiles, value));
                    }
                }
                let best = best.ok_or_else(|| Absent::because("there are no tiles"))?;
                Ok(if function == Function::Argmax { f64::from(best.0) } else { best.1 })
            }
            _ => {
                let tiles = self.value(&arguments[1], bound, of)?;
                let tiles = whole(tiles)
                    .ok_or_else(|| Absent(format!("{tiles} is not a number of tiles from 1 up")))?;
                self.figure(function, (index, configuration), tiles, arguments, (bound, of))
            }
        }
    }

    fn figure(
        &self,
        function: Function,
        (index, configuration): (usize, &ResolvedConfiguration),
        tiles: u32,
        arguments: &[Node],
        (bound, of): (Bound<'_>, Of),
    ) -> Number {
        match function {
            Function::Passes => return self.passes(index, tiles, configuration).map(truth),
            Function::Vms => return Ok(figures::vms(configuration, tiles)),
            Function::Footprint => return Ok(figures::footprint(configuration, tiles)),
            Function::WorkingSet => {
                let share = arguments.get(2).map(|node| self.value(node, bound, of));
                return self.working_set(configuration, tiles, share.unwrap_or(Ok(0.95))?);
            }
            _ => {}
        }
        let names: Vec<&str> = arguments[2..].iter().filter_map(Node::as_text).collect();
        let one = |repeat: usize| {
            let step = self.step(index, tiles, configuration, repeat)?;
            let is_of_failures = matches!(function, Function::Strain | Function::Failed);
            if self.is_claim && step.verdict == Verdict::Failed && !is_of_failures {
                return Err(Absent(format!(
                    "not comparable: {} at {tiles} broke a limit ({})",
                    configuration.name, step.reason
                )));
            }
            figures::figure(function, step, configuration, &names)
                .and_then(|value| finite(value, function.signature().name))
                .map_err(|Absent(why)| Absent(format!("{} at {tiles}: {why}", configuration.name)))
        };
        match of {
            Of::Repeat(repeat) => one(repeat),
            Of::Mean | Of::Intervals => {
                let repeats = usize::try_from(self.repeats).unwrap_or(1);
                let sum = (0..repeats).try_fold(0.0, |sum, repeat| Ok(sum + one(repeat)?))?;
                Ok(sum / f64::from(self.repeats))
            }
        }
    }

    /// Returns the working set of all tiles. Tiles are alike and share no pages, so each uses an
    /// equal part of a shared cache.
    fn working_set(&self, configuration: &ResolvedConfiguration, tiles: u32, share: f64) -> Number {
        let (simulate, seed) =
            self.simulate.ok_or_else(|| Absent::because("simulation is not allowed here"))?;
        if self.study.real(&configuration.name).is_some() {
            return Err(Absent::because("real storage does not count pages"));
        }
        let one = simulate.working_set(configuration, share, seed);
        let one = one.map_err(|error| Absent(format!("{}: {error}", configuration.name)))?;
        Ok(one * f64::from(tiles))
    }

    fn step(
        &self,
        index: usize,
        tiles: u32,
        configuration: &ResolvedConfiguration,
        repeat: usize,
    ) -> Result<&'a Step, Absent> {
        let name = &configuration.name;
        let results = self.results.get(&(index, tiles));
        match results.and_then(|results| results.get(repeat)) {
            Some(Ok(step)) => Ok(step),
            Some(Err(error)) => Err(Absent(format!("{name} at {tiles}: {error}"))),
            None => Err(Absent(format!("{name} at {tiles} was not run"))),
        }
    }

    /// Returns true if every limit was met in every repeat. A step that cannot run does not pass.
    fn passes(
        &self,
        index: usize,
        tiles: u32,
        configuration: &ResolvedConfiguration,
    ) -> Result<bool, Absent> {
        let name = &configuration.name;
        let mut unclear = None;
        for repeat in 0..usize::try_from(self.repeats).unwrap_or(1) {
            match self.results.get(&(index, tiles)).and_then(|results| results.get(repeat)) {
                Some(Err(PointError::DoesNotFit(_))) => return Ok(false),
                _ => match self.step(index, tiles, configuration, repeat)?.verdict {
                    Verdict::Failed => return Ok(false),
                    Verdict::Passed => {}
                    other => {
                        unclear = Some(Absent(format!("{name} at {tiles} is {}", other.name())));
                    }
                },
            }
        }
        unclear.map_or(Ok(true), Err)
    }

    fn holds(&self, index: usize, configuration: &ResolvedConfiguration) -> Number {
        let mut held = 0;
        for tiles in &configuration.tiles {
            if !self.passes(index, *tiles, configuration)? {
                break;
            }
            held = *tiles;
        }
        Ok(f64::from(held))
    }
}

fn arithmetic(binary: Binary, a: f64, b: f64) -> Number {
    let (value, what) = match binary {
        Binary::Add => (a + b, "a sum"),
        Binary::Subtract => (a - b, "a difference"),
        Binary::Multiply => (a * b, "a product"),
        Binary::Divide if b == 0.0 => return Err(Absent::because("a division by 0")),
        Binary::Divide => (a / b, "a quotient"),
    };
    finite(value, what)
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}
