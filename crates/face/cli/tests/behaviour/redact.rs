//! Replaces text that differs by place and run with text of the same width.

use crate::rig::Workspace;

/// Text without the path of its place.
pub fn text(place: &Workspace, text: &str) -> String {
    let root = place.path("");
    let root = root.to_string_lossy();
    text.replace(root.trim_end_matches('/'), "/place")
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
