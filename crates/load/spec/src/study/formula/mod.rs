//! Formulas: what a study measures, written over figures of its configurations.
//!
//! ```text
//! formula     = conjunction { "or" conjunction }
//! conjunction = negation { "and" negation }
//! negation    = "not" negation | comparison
//! comparison  = sum { ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum }
//! sum         = product { ( "+" | "-" ) product }
//! product     = signed { ( "*" | "/" ) signed }
//! signed      = "-" signed | value
//! value       = number | text | variable | call | "(" formula ")"
//! call        = name "(" [ formula { "," formula } ] ")"
//! variable    = "configuration" | "tiles"
//! number      = digits [ "." digits ] [ "e" [ "+" | "-" ] digits ] [ unit ]
//! unit        = "%" | "B" | "kB" | "MB" | "GB" | "TB" | "KiB" | "MiB" | "GiB" | "TiB"
//! text        = '"' ... '"' | "'" ... "'"
//! ```
//!
//! A comparison is 1 where it holds and 0 where not; `a > b > c` holds where both do. `and`,
//! `or` and `not` take 0 for no and all else for yes. Texts name things and stand only where
//! a function wants a name. Variables have a value inside `argmax`, `largest`, `smallest` and
//! in tables only. Which functions there are is in [`FUNCTIONS`].
//!
//! A formula that was read has known functions only, each with arguments of the right number
//! and kind; whether the things it names exist is checked where they are known.

mod error;
mod function;
mod lexer;
mod parser;
mod signature;
mod table;
mod tree;

pub use error::FormulaError;
pub use function::{Argument, Function, Signature};
pub use parser::{Scope, parse};
pub use table::FUNCTIONS;
pub use tree::{Binary, Comparison, Formula, Node, Tree, Variable};
