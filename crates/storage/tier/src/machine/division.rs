//! Parts of the pages for disks with policies of their own ([`super::pages`]): what they have no room for leaves, a few
//! pages at a time, as those of a disk that leaves do.

use super::Tier;
use super::roster::{QUEUE_MAX, STEP, STEP_PAGES};

impl Tier {
    /// Parts may have to become others.
    pub(super) fn parts_changed(&mut self) {
        self.divides_at = self.pages.is_dividing().then_some(self.now);
        self.stir();
    }

    /// Some pages leave for the parts that are to be made. A set that is to be left in order keeps what it has.
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
