//! Confirmation by the owner that storage which the tier does not recognise is the right one.
//!
//! The confirmation is the word `IDENTITY@STATE`. The state is a number that changes with each
//! opening. So the word confirms only the change that was refused, and no later change, even if it
//! is left in a unit file.

use crate::format::{Sidecar, Superblock};

/// Returns the word that confirms a backing store or a sidecar with this identity.
pub fn word_for_disk(identity: &str, sidecar: &Sidecar) -> String {
    format!("{identity}@{}.{}", sidecar.generation, sidecar.seq)
}

/// Returns the word that confirms a cache with this identity.
pub fn word_for_cache(identity: &str, superblock: &Superblock) -> String {
    format!("{identity}@{}", superblock.seq)
}

/// Returns the identity that a word contains.
pub(super) fn identity_in(word: &str) -> &str {
    word.rsplit_once('@').map_or(word, |(identity, _)| identity)
}

/// Returns the hint that shows the owner how to confirm the storage.
pub(super) fn accept(word: &str) -> String {
    format!("if it is the right one, accept it for this start only: --accept-identity {word}")
}

pub(super) fn or_unknown(known: &str) -> &str {
    if known.is_empty() { "not stored (by an earlier program)" } else { known }
}
