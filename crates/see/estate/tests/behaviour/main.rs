//! Behaviour of an import: real columns, damaged files, and a tile as the divided estate.

mod book;
mod estates;
mod formats;
mod meaning;
mod refusals;
mod watched;
