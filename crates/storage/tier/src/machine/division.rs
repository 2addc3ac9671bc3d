//! Divisions of the pages for disks with policies of their own ([`super::pages`]). Surplus pages
//! are evicted a few at a time, like those of a disk that leaves.

use super::Tier;
use super::roster::{QUEUE_MAX, STEP, STEP_PAGES};

impl Tier {
    /// Checks if the divisions must be made anew.
    pub(super) fn parts_changed(&mut self) {
        self.divides_at = self.pages.is_dividing().then_some(self.now);
        self.stir();
    }

    /// Evicts some of the surplus pages. A set that is being closed keeps its pages.
    pub(super) fn pump_division(&mut self) {
        if self.is_closing {
            self.divides_at = None;
        }
        if self.divides_at.is_none_or(|at| at > self.now) {
            return;
        }
        if self.pool.queue.len() < QUEUE_MAX || self.is_failed {
            for page in self.pages.give_up_surplus(STEP_PAGES) {
                self.queue_unmap(Some(page));
            }
            self.pool.is_due = true;
        }
        self.divides_at = self.pages.is_dividing().then_some(self.now + STEP);
        self.time_changed();
        self.stir();
    }
}
