use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

use super::error::FormulaError;
use super::lexer::{Kind, Token, tokens};
use super::signature::number;
use super::{Argument, Binary, Formula, Function, Node, Signature, Tree, Variable};
use crate::nearest::did_you_mean;

/// Maximum nesting depth. It is enough for people, and too small to overflow a thread's stack.
const DEPTH_MAX: u32 = 50;

/// Kind of place in which a formula is used. It decides which variables are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A claim, without variables.
    Claim,
    /// A cell of a table, with both variables.
    Table,
}

/// Parses a formula.
pub fn parse(text: &str, scope: Scope) -> Result<Formula, FormulaError> {
    let tokens = tokens(text)?.into_iter().peekable();
    let mut parser =
        Parser { tokens, end: text.len(), depth: 0, scope, has_tiles: scope == Scope::Table };
    let root = parser.formula()?;
    match parser.tokens.next() {
        None => {
            number(&root)?;
            Ok(Formula { text: text.to_owned(), root })
        }
        Some(token) => Err(FormulaError::new(token.at, "the formula has ended before this")),
    }
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
    end: usize,
    depth: u32,
    scope: Scope,
    /// True if `tiles` has a value here.
    has_tiles: bool,
}

impl Parser {
    fn is_next(&mut self, kind: &Kind) -> bool {
        self.tokens.next_if(|token| token.kind == *kind).is_some()
    }

    fn is_next_word(&mut self, word: &str) -> bool {
        let is_it = |token: &Token| matches!(&token.kind, Kind::Word(found) if found == word);
        self.tokens.next_if(is_it).is_some()
    }

    /// Returns the byte range of the next token.
    fn here(&mut self) -> Range<usize> {
        let end = self.end;
        self.tokens.peek().map_or(end..end, |token| token.at.clone())
    }

    /// Runs a parser one nesting level deeper. Refuses to exceed the maximum depth.
    fn deeper(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<Node, FormulaError>,
    ) -> Result<Node, FormulaError> {
        if self.depth == DEPTH_MAX {
            return Err(FormulaError::new(self.here(), "too many nested parts"));
        }
        self.depth += 1;
        let node = inside(self);
        self.depth -= 1;
        node
    }

    fn formula(&mut self) -> Result<Node, FormulaError> {
        self.deeper(|parser| {
            let mut left = parser.conjunction()?;
            while parser.is_next_word("or") {
                let right = parser.conjunction()?;
                left = pair(left, right, Tree::Or)?;
            }
            Ok(left)
        })
    }

    fn conjunction(&mut self) -> Result<Node, FormulaError> {
        let mut left = self.negation()?;
        while self.is_next_word("and") {
            let right = self.negation()?;
            left = pair(left, right, Tree::And)?;
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Node, FormulaError> {
        let start = self.here().start;
        if !self.is_next_word("not") {
            return self.comparison();
        }
        let part = self.deeper(Self::negation)?;
        number(&part)?;
        Ok(Node { at: start..part.at.end, tree: Tree::Not(Box::new(part)) })
    }

    fn comparison(&mut self) -> Result<Node, FormulaError> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(Kind::Compare(comparison)) = self.tokens.peek().map(|token| &token.kind) {
            let comparison = *comparison;
            self.tokens.next();
            let right = self.sum()?;
            number(&right)?;
            rest.push((comparison, right));
        }
        let Some((_, last)) = rest.last() else { return Ok(first) };
        number(&first)?;
        Ok(Node { at: first.at.start..last.at.end, tree: Tree::Compare(Box::new(first), rest) })
    }

    fn sum(&mut self) -> Result<Node, FormulaError> {
        let mut left = self.product()?;
        loop {
            let binary = if self.is_next(&Kind::Plus) {
                Binary::Add
            } else if self.is_next(&Kind::Minus) {
                Binary::Subtract
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = pair(left, right, |a, b| Tree::Binary(binary, a, b))?;
        }
    }

    fn product(&mut self) -> Result<Node, FormulaError> {
        let mut left = self.signed()?;
        loop {
            let binary = if self.is_next(&Kind::Times) {
                Binary::Multiply
            } else if self.is_next(&Kind::Over) {
                Binary::Divide
            } else {
                return Ok(left);
            };
            let right = self.signed()?;
            left = pair(left, right, |a, b| Tree::Binary(binary, a, b))?;
        }
    }

    fn signed(&mut self) -> Result<Node, FormulaError> {
        let start = self.here().start;
        if !self.is_next(&Kind::Minus) {
            return self.value();
        }
        let part = self.deeper(Self::signed)?;
        number(&part)?;
        Ok(Node { at: start..part.at.end, tree: Tree::Negate(Box::new(part)) })
    }

    fn value(&mut self) -> Result<Node, FormulaError> {
        let Some(Token { at, kind }) = self.tokens.next() else {
            return Err(FormulaError::new(self.end..self.end, "the formula ends too early"));
        };
        let tree = match kind {
            Kind::Number(number) => Tree::Number(number),
            Kind::Text(text) => Tree::Text(text),
            Kind::Word(word) => return self.named(at, &word),
            Kind::Open => {
                let inside = self.formula()?;
                let end = self.close("the parenthesis", at.start)?;
                return Ok(Node { at: at.start..end, ..inside });
            }
            _ => return Err(FormulaError::new(at, "a number, a name or \"(\" belongs here")),
        };
        Ok(Node { at, tree })
    }

    fn close(&mut self, what: &str, opened: usize) -> Result<usize, FormulaError> {
        let here = self.here();
        if self.is_next(&Kind::Close) {
            return Ok(here.end);
        }
        let at = if here.start == self.end { opened..opened + 1 } else { here };
        Err(FormulaError::new(at, format!("{what} is not closed here; \")\" is missing")))
    }

    fn named(&mut self, at: Range<usize>, word: &str) -> Result<Node, FormulaError> {
        let opened = self.here();
        if self.is_next(&Kind::Open) {
            return self.call(at, word, opened.start);
        }
        let variable = match word {
            "configuration" => Variable::Configuration,
            "tiles" => Variable::Tiles,
            "and" | "or" | "not" => {
                return Err(FormulaError::new(at, format!("\"{word}\" has nothing before it")));
            }
            _ => {
                let message = format!("there is no variable \"{word}\"");
                let help = "the variables are configuration and tiles; names are quoted, functions \
                            have parentheses";
                return Err(FormulaError::new(at, message).help(help));
            }
        };
        let has_value = match variable {
            Variable::Configuration => self.scope == Scope::Table,
            Variable::Tiles => self.has_tiles,
        };
        if !has_value {
            let message = format!("\"{word}\" has no value here");
            let help = "it has one in tables; tiles also inside argmax, largest and smallest";
            return Err(FormulaError::new(at, message).help(help));
        }
        Ok(Node { at, tree: Tree::Variable(variable) })
    }

    fn call(
        &mut self,
        name_at: Range<usize>,
        name: &str,
        opened: usize,
    ) -> Result<Node, FormulaError> {
        let Some(signature) = Function::named(name) else {
            let help = did_you_mean(name, &Function::names(), "functions");
            let message = format!("there is no function \"{name}\"");
            return Err(FormulaError::new(name_at, message).help(help));
        };
        let mut arguments = Vec::new();
        let mut end = self.here();
        if !self.is_next(&Kind::Close) {
            loop {
                let argument = self.argument(signature, arguments.len())?;
                arguments.push(argument);
                if !self.is_next(&Kind::Comma) {
                    break;
                }
            }
            let closed = self.close(&format!("\"{name}(\""), opened)?;
            end = closed..closed;
        }
        let at = name_at.start..end.end;
        signature.check(&arguments, &at)?;
        Ok(Node { at, tree: Tree::Call(signature.function, arguments) })
    }

    fn argument(&mut self, signature: &Signature, index: usize) -> Result<Node, FormulaError> {
        let outside = self.has_tiles;
        self.has_tiles |= signature.argument(index) == Some(Argument::PerTiles);
        let argument = self.formula();
        self.has_tiles = outside;
        argument
    }
}

fn pair(
    left: Node,
    right: Node,
    tree: impl FnOnce(Box<Node>, Box<Node>) -> Tree,
) -> Result<Node, FormulaError> {
    number(&left)?;
    number(&right)?;
    Ok(Node { at: left.at.start..right.at.end, tree: tree(Box::new(left), Box::new(right)) })
}
