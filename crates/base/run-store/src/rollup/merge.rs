//! Merging of rows, for every table.

use super::buckets::Bucketed;
use super::rows::{ActionRow, CallRow, Group, IoRow, RateRow, SliceRow};
use super::rows::{BehindRow, GaugeRow};
use crate::slice::{Direction, SizeClass};

/// Implements `place` and `set_bucket` of a row, in the same way for all tables.
macro_rules! placed {
    () => {
        fn place(&self) -> (u32, u32) {
            (self.span, self.bucket)
        }

        fn set_bucket(&mut self, bucket: u32) {
            self.bucket = bucket;
        }
    };
}

impl Bucketed for IoRow {
    type Key = (u32, Direction, SizeClass);

    placed!();

    fn key(&self) -> Self::Key {
        (self.entity, self.direction, self.class)
    }

    fn absorb(&mut self, later: Self) {
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.errors = self.errors.saturating_add(later.errors);
        self.service.merge(&later.service);
        self.response_sum_ns = self.response_sum_ns.saturating_add(later.response_sum_ns);
    }
}

impl Bucketed for ActionRow {
    type Key = u32;

    placed!();

    fn key(&self) -> u32 {
        self.action
    }

    fn absorb(&mut self, later: Self) {
        self.errors += later.errors;
        self.dropped += later.dropped;
        self.response.merge(&later.response);
    }
}

impl Bucketed for CallRow {
    type Key = u32;

    placed!();

    fn key(&self) -> u32 {
        self.call
    }

    fn absorb(&mut self, later: Self) {
        self.bytes += later.bytes;
        self.errors += later.errors;
        self.service.merge(&later.service);
    }
}

impl Bucketed for SliceRow {
    type Key = ();

    placed!();

    fn key(&self) {}

    fn absorb(&mut self, later: Self) {
        self.slices += later.slices;
        self.time += later.time;
        self.submitted += later.submitted;
        self.completed += later.completed;
        self.queued += later.queued;
        self.in_flight_seconds += later.in_flight_seconds;
        self.worker_cpu_max = self.worker_cpu_max.max(later.worker_cpu_max);
        self.lateness.merge(&later.lateness);
    }
}

impl Bucketed for RateRow {
    type Key = Group;

    placed!();

    fn key(&self) -> Group {
        self.group
    }

    fn absorb(&mut self, later: Self) {
        self.operations_min = self.operations_min.min(later.operations_min);
        self.operations_max = self.operations_max.max(later.operations_max);
        self.bytes_min = self.bytes_min.min(later.bytes_min);
        self.bytes_max = self.bytes_max.max(later.bytes_max);
    }

    fn absorb_nothing(&mut self) {
        self.operations_min = 0.0;
        self.bytes_min = 0.0;
    }
}

impl Bucketed for GaugeRow {
    type Key = u32;

    placed!();

    fn key(&self) -> u32 {
        self.gauge
    }

    fn absorb(&mut self, later: Self) {
        self.folded = self.folded.and_then(self.name.merging(), later.folded);
    }
}

impl Bucketed for BehindRow {
    type Key = u32;

    placed!();

    fn key(&self) -> u32 {
        self.tier
    }

    fn absorb(&mut self, later: Self) {
        self.read.merge(&later.read);
        self.write.merge(&later.write);
    }
}
