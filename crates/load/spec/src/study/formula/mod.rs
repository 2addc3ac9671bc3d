//! Formulas: computations of a study over figures of its configurations.
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
//! A comparison is 1 if true and 0 if false; `a > b > c` is true if both comparisons are. `and`,
//! `or` and `not` treat 0 as false and any other number as true. Texts are names, and are only
//! allowed as arguments that are names. Variables only have a value inside `argmax`, `largest`,
//! `smallest` and in tables. [`FUNCTIONS`] contains all functions.
//!
//! A parsed formula only has known functions, with arguments of the right number and kind. The
//! existence of the named objects is checked later, when the objects are known.

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
