//! Divisions of the pages for disks with their own policy ([`super::pages`]). Surplus pages are
//! evicted a few at a time, like the pages of a disk that is detached.

use super::Tier;
use super::roster::{QUEUE_MAX, STEP, STEP_PAGES};

impl Tier {
    /// Schedules a check if the divisions must be rebuilt.
    pub(super) fn parts_changed(&mut self) {
        self.divides_at = self.pages.is_dividing().then_some(self.now);
        self.stir();
    }

    /// Evicts some of the surplus pages. A set that is closing keeps its pages.
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
