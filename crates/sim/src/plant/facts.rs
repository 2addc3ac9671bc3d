use cache::tier::Counters;
use device::{Array, PartId, Usage};
use record::run::{BehindTier, PartFacts, TierCounts, TierFacts};
use units::Nanos;

/// Equal parts that are reported together.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    kind: &'static str,
    pub parts: Vec<PartId>,
}

impl Group {
    pub const fn new(name: String, kind: &'static str, parts: Vec<PartId>) -> Self {
        Self { name, kind, parts }
    }

    /// What went through each part up to `now`.
    pub fn usages(&self, parts: &Array, now: Nanos) -> Vec<Usage> {
        self.parts.iter().map(|part| parts.usage(*part, now)).collect()
    }

    /// What went through since `before`, `elapsed` ago.
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
            kind: self.kind.to_owned(),
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

/// State of a tier, or of equal ones together, at the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    pub capacity_bytes: u64,
    pub resident_bytes: u64,
    pub dirty_bytes: u64,
    pub dirty_bytes_max: u64,
}

/// What a tier counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    pub tier: Counters,
    /// Read hits in another host's share.
    pub remote_hits: u64,
}

/// What a tier did since `before`.
pub fn tier_facts(name: &str, held: Held, before: &Counted, after: &Counted) -> TierFacts {
    let remote_hits = after.remote_hits - before.remote_hits;
    let (before, after) = (&before.tier, &after.tier);
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
            remote_hits,
            filled_bytes: count(|c| c.filled_bytes),
            placed_bytes: count(|c| c.placed_bytes),
            evicted_bytes: count(|c| c.evicted_bytes),
            destaged_bytes: count(|c| c.destaged_bytes),
            tier_written_bytes: count(|c| c.tier_written_bytes),
        },
        behind: BehindTier::default(),
        acceleration_rate: (requests > 0).then(|| as_f64(alone) / as_f64(requests)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate, not a count")]
const fn as_f64(value: u64) -> f64 {
    value as f64
}
