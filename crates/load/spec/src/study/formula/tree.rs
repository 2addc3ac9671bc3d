use std::ops::Range;

use super::{Argument, Function};

/// A parsed formula.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// Text as it was written.
    pub text: String,
    /// Root of the tree.
    pub root: Node,
}

/// Node of a formula's tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Byte range in the text.
    pub at: Range<usize>,
    /// Content of the node.
    pub tree: Tree,
}

/// Content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// A number in base units.
    Number(f64),
    /// Name of an object.
    Text(String),
    /// Variable with a value from the surroundings.
    Variable(Variable),
    /// Negation of a number.
    Negate(Box<Node>),
    /// 1 for 0, 0 for all else.
    Not(Box<Node>),
    /// Arithmetic with two operands.
    Binary(Binary, Box<Node>, Box<Node>),
    /// 1 if each neighbouring pair has its relation, else 0.
    Compare(Box<Node>, Vec<(Comparison, Node)>),
    /// 1 where both are not 0.
    And(Box<Node>, Box<Node>),
    /// 1 where one is not 0.
    Or(Box<Node>, Box<Node>),
    /// Call of a function with arguments.
    Call(Function, Vec<Node>),
}

/// Arithmetic operation on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// Sum of both.
    Add,
    /// Difference of both.
    Subtract,
    /// Product of both.
    Multiply,
    /// Quotient of both.
    Divide,
}

/// Relation of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Less, `<`, than the second.
    Less,
    /// Less or equal, `<=`.
    LessOrEqual,
    /// Greater, `>`, than the second.
    Greater,
    /// Greater or equal, `>=`.
    GreaterOrEqual,
    /// Equal, `==`, to the second.
    Equal,
    /// Not equal, `!=`, to the second.
    NotEqual,
}

impl Comparison {
    /// True if two numbers have this relation.
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

/// Variable of a formula, with a value from its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    /// The configuration of a cell of a table.
    Configuration,
    /// Number of tiles of a cell of a table, or of a step that a function visits.
    Tiles,
}

impl Variable {
    /// Name of the variable in formulas.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Tiles => "tiles",
        }
    }
}

impl Node {
    /// Visits this node and all below it, outermost first.
    pub fn walk(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        for part in self.parts() {
            part.walk(visit);
        }
    }

    /// Nodes directly below.
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

    /// Configuration that this node, a function, names, with its place; `None` for variables.
    pub fn configuration(&self) -> Option<(&str, Range<usize>)> {
        let Tree::Call(function, arguments) = &self.tree else { return None };
        let first = arguments.first()?;
        let is_it = function.signature().argument(0) == Some(Argument::Configuration);
        Some((first.as_text().filter(|_| is_it)?, first.at.clone()))
    }

    /// Name in this node, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.tree {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }
}
