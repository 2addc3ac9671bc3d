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
//! `or` and `not` take 0 for false and any other number for true. Texts are names, and are allowed
//! only where a function takes a name. Variables have a value only inside `argmax`, `largest`,
//! `smallest` and in tables. All functions are in [`FUNCTIONS`].
//!
//! A parsed formula has only known functions, with arguments of the right number and kind. The
//! existence of the named objects is checked where they are known.

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
