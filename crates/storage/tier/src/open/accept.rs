//! The owner's word that storage which the tier does not know, or does not know any more, is the right one.
//!
//! The word is `IDENTITY@STATE`. The state is a number that changes with each opening, so the word counts for the change
//! that was refused and for no later one: left in a unit file it accepts nothing more.

use crate::format::{Sidecar, Superblock};

/// Word that accepts a backing store or a sidecar with this identity.
pub fn word_for_disk(identity: &str, sidecar: &Sidecar) -> String {
    format!("{identity}@{}.{}", sidecar.generation, sidecar.seq)
}

/// Word that accepts a cache with this identity.
pub fn word_for_cache(identity: &str, superblock: &Superblock) -> String {
    format!("{identity}@{}", superblock.seq)
}

/// The identity in a word.
pub(super) fn identity_in(word: &str) -> &str {
    word.rsplit_once('@').map_or(word, |(identity, _)| identity)
}

/// The way out where the owner knows better.
pub(super) fn accept(word: &str) -> String {
    format!("if it is the right one, accept it, this once: --accept-identity {word}")
}

pub(super) fn or_unknown(known: &str) -> &str {
    if known.is_empty() { "not stored (by an earlier program)" } else { known }
}
