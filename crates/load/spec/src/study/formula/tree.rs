use std::ops::Range;

use super::{Argument, Function};

/// A parsed formula.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// Text of the formula as written.
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
    /// A number in base units (bytes, shares of 1).
    Number(f64),
    /// Name of an object.
    Text(String),
    /// Variable, whose value depends on the place of the formula.
    Variable(Variable),
    /// Negation of a number.
    Negate(Box<Node>),
    /// Logical negation: 1 for 0, and 0 for other numbers.
    Not(Box<Node>),
    /// Arithmetic with two operands.
    Binary(Binary, Box<Node>, Box<Node>),
    /// Chain of comparisons: 1 if all neighbouring values have their relation, else 0.
    Compare(Box<Node>, Vec<(Comparison, Node)>),
    /// 1 if both operands differ from 0, else 0.
    And(Box<Node>, Box<Node>),
    /// 1 if an operand differs from 0, else 0.
    Or(Box<Node>, Box<Node>),
    /// Call of a function with arguments.
    Call(Function, Vec<Node>),
}

/// Arithmetic operation on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// Sum of both operands.
    Add,
    /// First operand minus the second.
    Subtract,
    /// Product of both operands.
    Multiply,
    /// First operand divided by the second.
    Divide,
}

/// Relation of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Operator `<`: the first operand is less than the second.
    Less,
    /// Operator `<=`: the first operand is less than or equal to the second.
    LessOrEqual,
    /// Operator `>`: the first operand is greater than the second.
    Greater,
    /// Operator `>=`: the first operand is greater than or equal to the second.
    GreaterOrEqual,
    /// Operator `==`: both operands are equal.
    Equal,
    /// Operator `!=`: the operands differ.
    NotEqual,
}

impl Comparison {
    /// Returns true if two numbers have this relation.
    #[expect(clippy::float_cmp, reason = "== is meant as written, for counts of tiles")]
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

/// Variable of a formula, whose value depends on the place of the formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    /// The configuration of a cell of a table.
    Configuration,
    /// Number of tiles of a cell of a table, or of a step that a function visits.
    Tiles,
}

impl Variable {
    /// Returns the name of the variable in formulas.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Tiles => "tiles",
        }
    }
}

impl Node {
    /// Visits this node and all nodes below it, parents before children.
    pub fn walk(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        for part in self.parts() {
            part.walk(visit);
        }
    }

    /// Returns the child nodes.
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

    /// Returns the name of the configuration in the arguments of this function, with its byte
    /// range; `None` for variables.
    pub fn configuration(&self) -> Option<(&str, Range<usize>)> {
        let Tree::Call(function, arguments) = &self.tree else { return None };
        let first = arguments.first()?;
        let is_it = function.signature().argument(0) == Some(Argument::Configuration);
        Some((first.as_text().filter(|_| is_it)?, first.at.clone()))
    }

    /// Returns the name in this node, if the node is a name.
    pub fn as_text(&self) -> Option<&str> {
        match &self.tree {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }
}
