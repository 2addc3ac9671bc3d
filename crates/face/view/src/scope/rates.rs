use run_store::rollup::Group;
use run_store::slice::{Direction, SizeClass};

use super::{Points, Scope};
use crate::request::{Breakdown, Lens, Measure};

/// Smallest and largest rate in each point; `None` where no slice is known.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Range {
    pub least: Vec<Option<f64>>,
    pub most: Vec<Option<f64>>,
}

/// Returns smallest and largest rates of the slices in each point, by the lines of a breakdown.
/// `None` for lines for which no rates of single slices are stored.
pub(crate) fn ranges(
    scope: &Scope<'_>,
    breakdown: Breakdown,
    keys: &[(String, String)],
    points: &Points,
) -> Vec<Option<Range>> {
    let groups: Vec<Option<Group>> =
        keys.iter().map(|(key, _)| group_of(scope, breakdown, key)).collect();
    let empty = || Range { least: vec![None; points.len()], most: vec![None; points.len()] };
    let mut ranges: Vec<Option<Range>> =
        groups.iter().map(|group| group.map(|_| empty())).collect();
    let mut seen = vec![vec![false; scope.frame.len()]; groups.len()];
    let short = scope.short_buckets();
    for row in scope.source.rollup().rates() {
        let bucket = scope.frame.flat(row.span, row.bucket);
        let Some(bucket) = bucket.filter(|bucket| !short[*bucket]) else { continue };
        let Some(line) = groups.iter().position(|group| *group == Some(row.group)) else {
            continue;
        };
        let (least, most) = match scope.lens.measure {
            Measure::Throughput => (row.bytes_min, row.bytes_max),
            _ => (row.operations_min, row.operations_max),
        };
        if let Some(range) = &mut ranges[line] {
            range.add(points.of[bucket], least, most);
            seen[line][bucket] = true;
        }
    }
    for (range, seen) in ranges.iter_mut().zip(seen) {
        // A bucket in which a line has no rate had no I/O of the line.
        let idle = (0..seen.len()).filter(|bucket| !seen[*bucket] && !short[*bucket]);
        let idle = idle.map(|bucket| points.of[bucket]);
        if let Some(range) = range {
            idle.for_each(|point| range.add(point, 0.0, 0.0));
        }
    }
    ranges
}

impl Range {
    fn add(&mut self, point: usize, least: f64, most: f64) {
        let old = self.least[point];
        self.least[point] = Some(old.map_or(least, |old| old.min(least)));
        let old = self.most[point];
        self.most[point] = Some(old.map_or(most, |old| old.max(most)));
    }
}

/// Returns the group of stored rates that equals a line, if there is one.
fn group_of(scope: &Scope<'_>, breakdown: Breakdown, key: &str) -> Option<Group> {
    let lens = scope.lens;
    if !scope.is_wide || has_size_filter(lens) {
        return None;
    }
    let direction = lens.is_write.map(|is_write| match is_write {
        true => Direction::Write,
        false => Direction::Read,
    });
    let is_everybody = lens.workloads.is_empty();
    match breakdown {
        Breakdown::None if is_everybody => Some(direction.map_or(Group::All, Group::Direction)),
        Breakdown::Direction if is_everybody => Some(Group::Direction(match key {
            "r" => Direction::Read,
            "w" => Direction::Write,
            _ => Direction::Flush,
        })),
        Breakdown::Size if is_everybody && direction.is_none() => class(key).map(Group::Class),
        Breakdown::Workload if direction.is_none() => {
            let mut entities = (0_u32..).zip(&scope.level.entities);
            let found = entities.find(|(_, entity)| entity.workload == key);
            found.map(|(entity, _)| Group::Entity(entity))
        }
        _ => None,
    }
}

fn has_size_filter(lens: &Lens) -> bool {
    lens.classes != 0 || lens.selection != (0, 0)
}

/// Returns the class of a key. For the smallest class it returns `None`: its stored rates include
/// flushes, and the line's rates do not.
fn class(key: &str) -> Option<SizeClass> {
    let position = crate::request::CLASSES.iter().position(|known| *known == key)?;
    SizeClass::from_index(u8::try_from(position).ok().filter(|position| *position > 0)?)
}
