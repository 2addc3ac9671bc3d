//! What differs from place to place and run to run, replaced by something as wide.

use crate::rig::Place;

/// A text without the place it was made in.
pub fn text(place: &Place, text: &str) -> String {
    let root = place.path("");
    let root = root.to_string_lossy();
    text.replace(root.trim_end_matches('/'), "/place")
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
