use cache::tier::Counters;
use hardware::{Array, PartId, Usage};
use run_store::gauge::BehindTier;
use run_store::run::{CopyCounts, PartFacts, PartKind, TierCounts, TierFacts};
use units::Nanos;

/// Group of equal parts that are reported together.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    pub kind: PartKind,
    pub parts: Vec<PartId>,
}

impl Group {
    pub const fn new(name: String, kind: PartKind, parts: Vec<PartId>) -> Self {
        Self { name, kind, parts }
    }

    /// Returns the work of each part up to `now`.
    pub fn usages(&self, parts: &Array, now: Nanos) -> Vec<Usage> {
        self.parts.iter().map(|part| parts.usage(*part, now)).collect()
    }

    /// Returns the work of all parts between `before` and `after`, which are `elapsed` apart.
    pub fn facts(&self, before: &[Usage], after: &[Usage], elapsed: Nanos) -> PartFacts {
        let deltas = before.iter().zip(after).map(|(before, after)| delta(before, after));
        let deltas: Vec<Usage> = deltas.collect();
        let utilisations: Vec<f64> =
            deltas.iter().map(|usage| usage.utilisation(elapsed)).collect();
        let count = u32::try_from(self.parts.len()).expect("parts are numbered by u32");
        let seconds = elapsed.as_secs_f64();
        let per_second = |of: fn(&Usage) -> u64| {
            let sum: u64 = deltas.iter().map(of).sum();
            if seconds > 0.0 { as_f64(sum) / seconds } else { 0.0 }
        };
        PartFacts {
            name: self.name.clone(),
            kind: self.kind,
            count,
            utilisation: utilisations.iter().sum::<f64>() / f64::from(count.max(1)),
            utilisation_max: utilisations.iter().copied().fold(0.0, f64::max),
            iops: per_second(|usage| usage.completed),
            bytes_per_s: per_second(|usage| usage.bytes),
            inside: deltas.iter().map(|usage| usage.inside(elapsed)).sum(),
        }
    }
}

const fn delta(before: &Usage, after: &Usage) -> Usage {
    Usage {
        completed: after.completed - before.completed,
        bytes: after.bytes - before.bytes,
        busy_ns: after.busy_ns - before.busy_ns,
        inside_ns: after.inside_ns - before.inside_ns,
        servers: after.servers,
    }
}

/// State of a tier, or of several equal tiers together, at the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct TierFill {
    pub capacity_bytes: u64,
    pub resident_bytes: u64,
    pub dirty_bytes: u64,
    pub dirty_bytes_max: u64,
    /// Copies since measured time began.
    pub copies: CopyCounts,
}

impl TierFill {
    /// Adds the state of another tier.
    pub fn add(&mut self, other: &Self) {
        self.capacity_bytes += other.capacity_bytes;
        self.resident_bytes += other.resident_bytes;
        self.dirty_bytes += other.dirty_bytes;
        self.dirty_bytes_max += other.dirty_bytes_max;
        self.copies.add(&other.copies);
    }
}

/// Returns the counts of a tier since `before`.
pub fn tier_facts(name: &str, held: TierFill, before: &Counters, after: &Counters) -> TierFacts {
    let count = |of: fn(&Counters) -> u64| of(after) - of(before);
    let requests = count(|c| c.reads) + count(|c| c.writes);
    let alone = count(|c| c.read_hits) + count(|c| c.writes_absorbed);
    TierFacts {
        name: name.to_owned(),
        capacity_bytes: held.capacity_bytes,
        counts: TierCounts {
            resident_bytes: held.resident_bytes,
            dirty_bytes: held.dirty_bytes,
            dirty_bytes_max: held.dirty_bytes_max.max(held.dirty_bytes),
            reads: count(|c| c.reads),
            read_hits: count(|c| c.read_hits),
            read_bytes: count(|c| c.read_bytes),
            read_hit_bytes: count(|c| c.read_hit_bytes),
            writes: count(|c| c.writes),
            write_hits: count(|c| c.write_hits),
            write_bytes: count(|c| c.write_bytes),
            write_hit_bytes: count(|c| c.write_hit_bytes),
            writes_absorbed: count(|c| c.writes_absorbed),
            remote_hits: count(|c| c.remote_hits),
            filled_bytes: count(|c| c.filled_bytes),
            placed_bytes: count(|c| c.placed_bytes),
            evicted_bytes: count(|c| c.evicted_bytes),
            destaged_bytes: count(|c| c.destaged_bytes),
            tier_written_bytes: count(|c| c.tier_written_bytes),
            ..TierCounts::default()
        },
        copies: Some(held.copies).filter(|copies| *copies != CopyCounts::default()),
        behind: BehindTier::default(),
        acceleration_rate: (requests > 0).then(|| as_f64(alone) / as_f64(requests)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate, not a count")]
const fn as_f64(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Debug;

    use super::*;

    /// Counters of a tier that are not kept: parts of counters that are kept, and counters of cases
    /// that occur only in tests.
    const NOT_KEPT: [&str; 7] = [
        "copied_bytes",
        "evicted_dirty_bytes",
        "lost_bytes",
        "refused_bytes",
        "remote_hit_bytes",
        "sequential_bytes",
        "writes_fallen_back",
    ];
    /// Kept counts that are not counters of a modelled tier: its content, and counts that only a
    /// served tier has.
    const NOT_COUNTED: [&str; 6] = [
        "dirty_bytes",
        "dirty_bytes_max",
        "memory_held_bytes",
        "memory_hits",
        "memory_taken_bytes",
        "resident_bytes",
    ];

    /// Returns the names and values of the fields of a structure of numbers.
    fn fields(of: &impl Debug) -> BTreeMap<String, u64> {
        let text = format!("{of:#?}");
        let inside = text.lines().filter(|line| line.starts_with("    "));
        let field = |line: &str| {
            let (name, value) = line.trim().split_once(": ").expect("a name and a value");
            (name.to_owned(), value.trim_end_matches(',').parse().expect("a number"))
        };
        inside.map(field).collect()
    }

    fn names(of: &impl Debug, without: &[&str]) -> BTreeSet<String> {
        let all = fields(of).into_keys().collect::<BTreeSet<_>>();
        assert!(without.iter().all(|name| all.contains(*name)), "{without:?} are not of {all:?}");
        all.into_iter().filter(|name| !without.contains(&name.as_str())).collect()
    }

    /// The list of counters is written twice on purpose: the counting crate does not depend on
    /// documents, and the crate that writes documents does not depend on caches. Whoever adds a
    /// counter to one of the lists states here where it is kept.
    #[test]
    fn tier_counters_and_stored_counts_have_the_same_names() {
        let counted = names(&Counters::default(), &NOT_KEPT);
        let kept = names(&TierCounts::default(), &NOT_COUNTED);
        let apart: Vec<&String> = counted.symmetric_difference(&kept).collect();
        assert!(apart.is_empty(), "only one of both lists has {apart:?}");
    }

    #[test]
    fn every_counter_is_kept_under_its_own_name() {
        let tier = Counters {
            reads: 1,
            read_hits: 2,
            remote_hits: 3,
            read_bytes: 4,
            read_hit_bytes: 5,
            remote_hit_bytes: 6,
            writes: 7,
            write_hits: 8,
            write_bytes: 9,
            write_hit_bytes: 10,
            writes_absorbed: 11,
            writes_fallen_back: 12,
            filled_bytes: 13,
            placed_bytes: 14,
            evicted_bytes: 15,
            evicted_dirty_bytes: 16,
            destaged_bytes: 17,
            tier_written_bytes: 18,
            copied_bytes: 19,
            sequential_bytes: 20,
            refused_bytes: 21,
            lost_bytes: 22,
        };
        let facts = tier_facts("t", TierFill::default(), &Counters::default(), &tier);
        let (counted, kept) = (fields(&tier), fields(&facts.counts));
        for name in names(&tier, &NOT_KEPT) {
            assert_eq!(kept.get(&name), counted.get(&name), "{name}");
        }
    }
}
