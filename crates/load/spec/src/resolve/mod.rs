//! Finds definitions by name or path, reads everything that they name, and applies changes.

mod change;
mod folder;
mod merge;
mod overlay;
pub(crate) mod shipped;
mod study;
mod tile;

pub use folder::{File, Folder};
pub use overlay::{array_text, overlay, resolve_array_with, with, with_all};
pub use study::{
    ResolvedConfiguration, ResolvedReal, ResolvedStudy, resolve_study, resolve_study_text,
};
pub use tile::{resolve_tile, with_operations};
