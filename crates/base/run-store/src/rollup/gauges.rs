//! Gauges in the buckets of the wide level. Counters of tiers are also gauges.

use std::collections::BTreeMap;

use units::{Bytes, Nanos};

use super::Rollup;
use super::buckets::{Bucketed, add};
use super::rows::{BehindRow, GaugeOf, GaugeRow, TierName, TierRow};
use crate::gauge::{Folded, Gauge, GaugeName, Readings, ScopeKind};
use crate::run::Phase;
use crate::series::{GaugeRecord, StepKey};

impl Rollup {
    /// Adds the readings of the last added slice, whose width was `width`. Readings before the
    /// first slice are dropped.
    pub fn readings(&mut self, width: Nanos, readings: &Readings) {
        let Some((span, bucket)) = self.slices.last().map(Bucketed::place) else { return };
        let mut rows = BTreeMap::new();
        for own in &readings.gauges {
            let row = self.gauge_row(
                (span, bucket),
                (own.name, &own.scope),
                Folded::of(width, own.value),
            );
            rows.insert(row.gauge, row);
        }
        add(&mut self.gauges, rows.into_values().collect());
        let mut rows = BTreeMap::new();
        for (tier, behind) in &readings.behind {
            let tier = self.tier(tier);
            let (read, write) = (behind.read.clone(), behind.write.clone());
            rows.insert(tier, BehindRow { span, bucket, tier, read, write });
        }
        add(&mut self.behind, rows.into_values().collect());
    }

    /// Adds gauges of observed I/O: start and length of their time, counted from the start of the
    /// trace. Gauges before the first slice are dropped.
    pub fn observed_gauges(&mut self, gauges: impl IntoIterator<Item = (Nanos, Nanos, Gauge)>) {
        if self.spans.is_empty() {
            return;
        }
        let key = StepKey { step: 1, tiles: 0, repeat: 1, phase: Phase::Measured };
        let records = gauges.into_iter().map(|(start, width, gauge)| GaugeRecord {
            key,
            start,
            width,
            gauge,
        });
        self.add_stored(records.collect());
    }

    /// Adds gauges of a series to a rollup that was written without gauges.
    pub(super) fn add_stored(&mut self, records: Vec<GaugeRecord>) {
        let mut rows: BTreeMap<((u32, u32), u32), GaugeRow> = BTreeMap::new();
        for GaugeRecord { key, start, width, gauge } in records {
            let (span, offset) = self.known(key, start);
            let bucket = offset.0.checked_div(self.wide.width.0).unwrap_or(0);
            let place = (span, u32::try_from(bucket).unwrap_or(u32::MAX));
            let of = (gauge.name, gauge.scope.as_str());
            let row = self.gauge_row(place, of, Folded::of(width, gauge.value));
            let known = rows.entry((place, row.gauge));
            known.and_modify(|known| known.absorb(row)).or_insert(row);
        }
        self.gauges.extend(rows.into_values());
        self.gauges.sort_by_key(|row| (row.place(), row.gauge));
    }

    /// Adds a tier's counter from a file of version 1.
    pub(super) fn put_counter(
        &mut self,
        place: (u32, u32),
        (tier, gauge): (u32, GaugeName),
        (value, most): (u64, u64),
    ) {
        let Some(scope) = self.tier_names.get(tier as usize).map(|tier| tier.name.clone()) else {
            return;
        };
        let exact = |value: u64| Bytes::new(value).as_f64();
        let folded = Folded { time: self.wide.width, value: exact(value), most: exact(most) };
        let row = self.gauge_row(place, (gauge, &scope), folded);
        self.gauges.push(row);
    }

    pub(super) fn gauge_row(
        &mut self,
        (span, bucket): (u32, u32),
        (name, scope): (GaugeName, &str),
        folded: Folded,
    ) -> GaugeRow {
        if name.scope() == ScopeKind::Tier {
            let tier = self.tier(scope) as usize;
            if name == GaugeName::TierCapacity {
                let capacity = &mut self.tier_names[tier].capacity_bytes;
                *capacity = (*capacity).max(whole(folded.most));
            }
        }
        let is_own = |own: &GaugeOf| own.name == name && own.scope == scope;
        let gauge = self.gauge_names.iter().position(is_own).unwrap_or_else(|| {
            self.gauge_names.push(GaugeOf { name, scope: scope.to_owned() });
            self.gauge_names.len() - 1
        });
        let gauge = u32::try_from(gauge).expect("fewer gauges than 2^32");
        GaugeRow { span, bucket, gauge, name, folded }
    }

    fn tier(&mut self, name: &str) -> u32 {
        let found = self.tier_position(name);
        found.unwrap_or_else(|| {
            self.tier_names.push(TierName { name: name.to_owned(), capacity_bytes: 0 });
            u32::try_from(self.tier_names.len() - 1).expect("fewer tiers than 2^32")
        })
    }

    fn tier_position(&self, name: &str) -> Option<u32> {
        let found = self.tier_names.iter().position(|tier| tier.name == name)?;
        u32::try_from(found).ok()
    }

    /// Returns the gauges with their scopes, indexed by [`GaugeRow::gauge`].
    pub fn gauge_names(&self) -> &[GaugeOf] {
        &self.gauge_names
    }

    /// Returns the rows of gauges in the buckets of the wide level, ascending by span, bucket and
    /// gauge.
    pub fn gauges(&self) -> &[GaugeRow] {
        &self.gauges
    }

    /// Returns the last value of each gauge; sums are converted to rates per second.
    pub fn levels(&self) -> Vec<Gauge> {
        let mut last: Vec<Option<Folded>> = vec![None; self.gauge_names.len()];
        for row in &self.gauges {
            last[row.gauge as usize] = Some(row.folded);
        }
        let level = |(of, folded): (&GaugeOf, Option<Folded>)| {
            let value = folded.map(|folded| of.name.level(folded.value, folded.time))?;
            Some(Gauge { name: of.name, scope: of.scope.clone(), value })
        };
        self.gauge_names.iter().zip(last).filter_map(level).collect()
    }

    /// Returns the names of tiers, indexed by [`TierRow::tier`].
    pub fn tier_names(&self) -> &[TierName] {
        &self.tier_names
    }

    /// Returns the rows of tiers in the buckets of the wide level, ascending by span, bucket and
    /// tier. They have the tiers' gauges and the latencies behind the tiers.
    pub fn tiers(&self) -> Vec<TierRow> {
        let of_tier = |own: &GaugeOf| {
            (own.name.scope() == ScopeKind::Tier).then(|| self.tier_position(&own.scope)).flatten()
        };
        let tiers: Vec<Option<u32>> = self.gauge_names.iter().map(of_tier).collect();
        let mut rows: BTreeMap<((u32, u32), u32), TierRow> = BTreeMap::new();
        for row in &self.gauges {
            let Some(tier) = tiers[row.gauge as usize] else { continue };
            let known = rows.entry((row.place(), tier)).or_default();
            known.counts.put(row.name, row.folded);
        }
        for row in &self.behind {
            let known = rows.entry((row.place(), row.tier)).or_default();
            (known.backing_read, known.backing_write) = (row.read.clone(), row.write.clone());
        }
        let placed = |(((span, bucket), tier), row)| TierRow { span, bucket, tier, ..row };
        rows.into_iter().map(placed).collect()
    }
}

/// Converts the value of a gauge that is a whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole")]
const fn whole(value: f64) -> u64 {
    value as u64
}
