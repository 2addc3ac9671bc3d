use std::ops::Range;

use super::{Argument, Function};

/// A formula that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// As written.
    pub text: String,
    /// What it means.
    pub root: Node,
}

/// A part of a formula.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it is in the text, in bytes.
    pub at: Range<usize>,
    /// What it is.
    pub tree: Tree,
}

/// What a part of a formula is.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// A number.
    Number(f64),
    /// A name of something.
    Text(String),
    /// What the surroundings say.
    Variable(Variable),
    /// The other sign.
    Negate(Box<Node>),
    /// 1 for 0, 0 for all else.
    Not(Box<Node>),
    /// Arithmetic.
    Binary(Binary, Box<Node>, Box<Node>),
    /// 1 where each neighbouring pair compares as said.
    Compare(Box<Node>, Vec<(Comparison, Node)>),
    /// 1 where both are not 0.
    And(Box<Node>, Box<Node>),
    /// 1 where one is not 0.
    Or(Box<Node>, Box<Node>),
    /// A function of its arguments.
    Call(Function, Vec<Node>),
}

/// Arithmetic on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Comparison {
    /// Whether two numbers compare so.
    #[expect(clippy::float_cmp, reason = "who writes == means it, for counts of tiles")]
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Less => a < b,
            Self::LessOrEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterOrEqual => a >= b,
            Self::Equal => a == b,
            Self::NotEqual => a != b,
        }
    }
}

/// What the surroundings of a formula say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    /// The configuration of a cell of a table.
    Configuration,
    /// The number of tiles of a cell of a table, or of a step that a function visits.
    Tiles,
}

impl Variable {
    /// Its name in formulas.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Tiles => "tiles",
        }
    }
}

impl Node {
    /// This part and all below it, outermost first.
    pub fn walk(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        for part in self.parts() {
            part.walk(visit);
        }
    }

    /// The parts directly below.
    pub fn parts(&self) -> Vec<&Self> {
        match &self.tree {
            Tree::Number(_) | Tree::Text(_) | Tree::Variable(_) => Vec::new(),
            Tree::Negate(part) | Tree::Not(part) => vec![part],
            Tree::Binary(_, a, b) | Tree::And(a, b) | Tree::Or(a, b) => vec![a, b],
            Tree::Compare(first, rest) => {
                std::iter::once(first.as_ref()).chain(rest.iter().map(|(_, part)| part)).collect()
            }
            Tree::Call(_, arguments) => arguments.iter().collect(),
        }
    }

    /// The configuration that this part, a function, names, and where; none for variables.
    pub fn configuration(&self) -> Option<(&str, Range<usize>)> {
        let Tree::Call(function, arguments) = &self.tree else { return None };
        let first = arguments.first()?;
        let is_it = function.signature().argument(0) == Some(Argument::Configuration);
        Some((first.as_text().filter(|_| is_it)?, first.at.clone()))
    }

    /// The name this part is, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.tree {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }
}
