use std::collections::BTreeMap;

use units::Nanos;

use super::{Gauge, GaugeName, Merging};

/// Value of a gauge, merged over some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Folded {
    /// Time over which the gauge was read.
    pub time: Nanos,
    /// Value, merged by the gauge's [`Merging`] rule.
    pub value: f64,
    /// Largest single value.
    pub most: f64,
}

impl Folded {
    /// Creates a value of a single reading.
    pub const fn of(time: Nanos, value: f64) -> Self {
        Self { time, value, most: value }
    }

    /// Merges this value with the value of the following time.
    #[must_use]
    pub fn and_then(self, merging: Merging, later: Self) -> Self {
        let value = match merging {
            Merging::Sum => self.value + later.value,
            Merging::Last => later.value,
            Merging::Most => self.value.max(later.value),
            Merging::Mean => {
                let of = |one: &Self| one.time.as_secs_f64().max(f64::MIN_POSITIVE);
                let (first, second) = (of(&self), of(&later));
                (self.value * first + later.value * second) / (first + second)
            }
        };
        Self { time: self.time.saturating_add(later.time), value, most: self.most.max(later.most) }
    }
}

/// Gauges, each merged over the time in which it was read.
#[derive(Debug, Clone, Default)]
pub struct Gauges(BTreeMap<(GaugeName, String), Folded>);

impl Gauges {
    /// Merges the value of a gauge over a further time `width`.
    pub fn add(&mut self, width: Nanos, gauge: &Gauge) {
        let own = Folded::of(width, gauge.value);
        let known = self.0.entry((gauge.name, gauge.scope.clone()));
        known.and_modify(|known| *known = known.and_then(gauge.name.merging(), own)).or_insert(own);
    }

    /// Iterates over all gauges, in the order of the table, then by scope.
    pub fn iter(&self) -> impl Iterator<Item = (Gauge, Folded)> {
        self.0.iter().map(|((name, scope), folded)| {
            (Gauge { name: *name, scope: scope.clone(), value: folded.value }, *folded)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_and_a_later_one_make_one_in_the_way_of_their_kind() {
        let (first, later) = (Folded::of(Nanos::SECOND, 8.0), Folded::of(Nanos::from_secs(3), 4.0));
        let both = |merging| first.and_then(merging, later);
        let values = [Merging::Sum, Merging::Last, Merging::Most, Merging::Mean];
        assert_eq!(values.map(|merging| both(merging).value), [12.0, 4.0, 8.0, 5.0]);
        assert_eq!(
            (both(Merging::Last).time, both(Merging::Last).most),
            (Nanos::from_secs(4), 8.0)
        );
    }

    #[test]
    fn means_weigh_each_value_with_the_time_in_which_it_was_read() {
        let mut all = Gauges::default();
        let busy = |value| Gauge { name: GaugeName::DeviceBusy, scope: "sda".to_owned(), value };
        all.add(Nanos::SECOND, &busy(1.0));
        all.add(Nanos::from_secs(3), &busy(0.0));
        all.add(Nanos::SECOND, &Gauge { scope: "sdb".to_owned(), ..busy(0.5) });
        let found: Vec<f64> = all.iter().map(|(gauge, _)| gauge.value).collect();
        assert_eq!(found, [0.25, 0.5], "what was not read has no mean");
    }

    #[test]
    fn what_is_added_up_is_told_by_the_second() {
        let two = Nanos::from_secs(2);
        assert_eq!(GaugeName::TierReads.level(8.0, two), 4.0);
        assert_eq!(GaugeName::TierReads.level_unit().name(), "I/Os/s");
        assert_eq!(GaugeName::CpuOwn.level(0.5, two), 0.5);
        assert_eq!(GaugeName::CpuOwn.level_unit(), GaugeName::CpuOwn.unit());
    }
}
