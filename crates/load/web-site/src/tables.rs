//! Tables of the site.

use crate::Sizes;

/// Database role that owns the tables and that the site logs in as.
pub const ROLE: &str = "site";
/// Number of database sessions of the site. Pages wait for a free one, as in a site with a pool.
pub const SESSIONS: u32 = 8;

/// Statements that create the tables, separated by empty lines. They contain the placeholders of
/// [`Sizes::words`], and `SEED` for the seed of the content.
pub const SCRIPT: &str = include_str!("site.sql");

impl Sizes {
    /// Returns the placeholders of [`SCRIPT`] with their values.
    pub fn words(self) -> [(&'static str, u32); 3] {
        [("PERSONS", self.persons), ("TAGS", self.tags), ("EVENTS", self.events)]
    }
}
