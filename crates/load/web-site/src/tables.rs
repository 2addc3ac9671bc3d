//! Tables of the site.

use crate::Sizes;

/// Role of the database that owns the tables, and as which the site opens its sessions.
pub const ROLE: &str = "site";
/// Sessions of the site. Pages wait for a free one, as in a site with a pool.
pub const SESSIONS: u32 = 8;

/// Statements that make the tables, with an empty line between two. [`Sizes::words`] stand for
/// their numbers, and `SEED` for that of the content.
pub const SCRIPT: &str = include_str!("site.sql");

impl Sizes {
    /// Words of [`SCRIPT`] and their values.
    pub fn words(self) -> [(&'static str, u32); 3] {
        [("PERSONS", self.persons), ("TAGS", self.tags), ("EVENTS", self.events)]
    }
}
