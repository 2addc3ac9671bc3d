use run_store::rollup::Entity;
use run_store::run::{LimitResult, PlaceFacts, Step, WorkloadResult};
use run_store::slice::Direction;
use units::Nanos;
use units::print::{count, iops};

use super::focus::Focus;
use crate::document::{LimitHeld, MapItem, MapPage, TrailPoint};
use crate::request::Lens;
use crate::scope::{Detail, ENOUGH, Points, Scope, Sum, ratio};
use crate::source::Source;
use crate::words::{self, rate};

/// Maximum number of points in an item's trail.
const TRAIL: usize = 12;

/// Makes view `map`: amount of I/O and latency by workload. It shows the step that broke a limit,
/// or the step behind the answer, unless the lens has a step or a time.
pub(crate) fn map(source: &Source, lens: &Lens) -> MapPage {
    let focus = Focus::new(source, lens);
    let scope = focus.broken_or_held(Detail::Tiles);
    let points = scope.frame.points(TRAIL);
    let mut members = Members::of(&scope, &points);
    let mut items: Vec<MapItem> = Vec::new();
    let last = last_step(&scope);
    for member in &mut members.all {
        items.push(member.item(&scope, &points, last));
    }
    items.retain(|item| item.count > 0);
    items.sort_by_key(|item| std::cmp::Reverse(item.count));
    let place = focus.step_words().map_or_else(String::new, |words| format!("{words}: "));
    MapPage { sentence: place + &sentence(source, &items), items }
}

/// Returns the members that wait most, up to `most` of them, in a part of the run.
pub(super) fn top(scope: &Scope<'_>, most: usize) -> Vec<MapItem> {
    let points = scope.frame.points(1);
    let mut members = Members::of(scope, &points);
    members.all.sort_by_key(|member| std::cmp::Reverse(member.all.wait_ns()));
    members.all.truncate(most);
    let items = members.all.iter_mut().map(|member| member.item(scope, &points, None));
    items.filter(|item| item.count > 0).collect()
}

/// A workload of a tile with its I/O.
struct Member {
    tile: Option<u32>,
    workload: String,
    all: Sum,
    reads: u64,
    trail: Vec<Sum>,
}

struct Members {
    all: Vec<Member>,
}

impl Members {
    fn of(scope: &Scope<'_>, points: &Points) -> Self {
        let mut members = Self { all: Vec::new() };
        let entities = scope.level.entities.iter();
        let places: Vec<usize> = entities.map(|entity| members.place(entity, points)).collect();
        for (bucket, row) in scope.rows() {
            let member = &mut members.all[places[row.entity as usize]];
            member.trail[points.of[bucket]].add(row);
            if row.direction == Direction::Read {
                member.reads += row.count();
            }
        }
        for member in &mut members.all {
            member.trail.iter().for_each(|sum| member.all.merge(sum));
        }
        members
    }

    /// Returns the position of an entity's member; copies of a workload in a tile are one member.
    fn place(&mut self, entity: &Entity, points: &Points) -> usize {
        let is_same =
            |known: &Member| known.tile == entity.tile && known.workload == entity.workload;
        if let Some(known) = self.all.iter().position(is_same) {
            return known;
        }
        self.all.push(Member {
            tile: entity.tile,
            workload: entity.workload.clone(),
            all: Sum::default(),
            reads: 0,
            trail: (0..points.len()).map(|_| Sum::default()).collect(),
        });
        self.all.len() - 1
    }
}

impl Member {
    fn item(&mut self, scope: &Scope<'_>, points: &Points, last: Option<&Step>) -> MapItem {
        let time = self.time(scope, points);
        let tile = self.tile.map_or(0, |tile| tile.saturating_add(1));
        MapItem {
            name: match self.tile {
                Some(_) => format!("tile-{tile}/{}", self.workload),
                None => self.workload.clone(),
            },
            tile,
            workload: self.workload.clone(),
            host: host(scope.source, self.tile, &self.workload),
            count: self.all.count(),
            operations_per_s: rate(self.all.count(), time),
            bytes_per_s: rate(self.all.bytes, time),
            bytes: self.all.bytes,
            read_share: (self.all.count() > 0).then(|| ratio(self.reads, self.all.count())),
            p50_ns: self.all.percentile(0.5),
            p99_ns: self.all.percentile(0.99),
            limit: last.and_then(|step| self.limit(step)),
            trail: self.trail(points, scope),
        }
    }

    /// Returns the time under load of the spans in which the member existed, including its pauses.
    /// So a tile that exists only in the fifth step is not slower for its absence before, and a
    /// tile that pauses is not faster.
    fn time(&self, scope: &Scope<'_>, points: &Points) -> Nanos {
        let spans = scope.frame.parts().map(|(span, ..)| scope.frame.range(span));
        let point = |bucket: usize| &self.trail[points.of[bucket]];
        let there = spans.filter(|buckets| buckets.clone().any(|own| point(own).count() > 0));
        there
            .flat_map(|buckets| &scope.frame.load[buckets])
            .fold(Nanos::ZERO, |time, load| time.saturating_add(*load))
    }

    fn trail(&self, points: &Points, scope: &Scope<'_>) -> Vec<TrailPoint> {
        if points.len() > TRAIL.max(scope.source.rollup().spans().len()) {
            return Vec::new();
        }
        let there = self.trail.iter().enumerate().filter(|(_, sum)| sum.count() > 0);
        let mut found: Vec<TrailPoint> = there
            .map(|(point, sum)| TrailPoint {
                at_ns: points.at[point].0,
                operations_per_s: rate(sum.count(), points.load[point]),
                bytes_per_s: rate(sum.bytes, points.load[point]),
                p50_ns: sum.percentile(0.5),
                p99_ns: sum.percentile(0.99),
            })
            .collect();
        let skipped = found.len().saturating_sub(TRAIL);
        found.drain(..skipped);
        found
    }

    /// Returns the limit with the least room, or the most exceeded limit.
    fn limit(&self, step: &Step) -> Option<LimitHeld> {
        let is_mine =
            |result: &&WorkloadResult| result.workload == self.workload && result.tile == self.tile;
        let limits = step.workloads.iter().filter(is_mine).flat_map(|result| &result.limits);
        let held = limits.map(held);
        held.max_by(|a, b| a.ratio.unwrap_or(-1.0).total_cmp(&b.ratio.unwrap_or(-1.0)))
    }
}

fn held(limit: &LimitResult) -> LimitHeld {
    LimitHeld {
        name: format!("{} {}", limit.name, limit.statistic),
        measured_ns: limit.measured_ns,
        limit_ns: limit.limit_ns,
        ratio: limit.measured_ns.map(|measured| ratio(measured, limit.limit_ns)),
        samples: limit.samples,
        verdict: limit.verdict.name().to_owned(),
    }
}

/// Returns the host of a workload of a tile: the driving host, or the modelled host; in a recorded
/// trace the recording host. A tile has the same hosts in every step.
fn host(source: &Source, tile: Option<u32>, workload: &str) -> Option<String> {
    let Some(tile) = tile else { return source.trace_facts()?.host.clone() };
    if let Some(host) = source.hosts().of_tile(tile) {
        return Some(host.to_owned());
    }
    let models = source.steps().iter().filter_map(|step| step.model.as_ref());
    let mut models = models.filter(|model| model.hosts.len() > 1);
    models.find_map(|model| {
        let is_own = |place: &&PlaceFacts| place.tile == tile && place.workload == workload;
        Some(model.places.iter().find(is_own)?.hosts.join(", "))
    })
}

/// Returns the last step of `run.json` in the lens.
fn last_step<'a>(scope: &Scope<'a>) -> Option<&'a Step> {
    let spans = scope.source.rollup().spans();
    let ran = scope.frame.parts().filter_map(|(span, ..)| spans.get(span as usize));
    let ran: Vec<(u32, u32)> = ran.map(|span| (span.step, span.repeat)).collect();
    let steps = scope.source.steps().iter();
    steps.rev().find(|step| ran.contains(&(step.step, step.repeat)))
}

fn sentence(source: &Source, items: &[MapItem]) -> String {
    let total: u64 = items.iter().map(|item| item.count).sum();
    let Some(first) = items.first().filter(|_| total >= ENOUGH) else {
        return words::too_few(total);
    };
    let share = words::share(first.count, total);
    let much = match source.has_times() {
        true => iops(first.operations_per_s),
        false => count(first.count, "I/O"),
    };
    let most = format!("Most I/O: {}, {share} of all ({much})", first.name);
    let limits = items.iter().filter_map(|item| Some((item, item.limit.as_ref()?)));
    let limits = limits.filter_map(|(item, limit)| Some((item, limit, limit.ratio?)));
    let Some((item, limit, ratio)) = limits.max_by(|a, b| a.2.total_cmp(&b.2)) else {
        return format!("{most}.");
    };
    let measured = Nanos(limit.measured_ns.unwrap_or(0));
    let place = if ratio > 1.0 { "furthest above its limit" } else { "nearest to its limit" };
    format!(
        "{most}; {place}: {}, {} {measured} of {} ({}).",
        item.name,
        limit.name,
        Nanos(limit.limit_ns),
        count(limit.samples, "sample")
    )
}
