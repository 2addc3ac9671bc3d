use run_store::rollup::{IoRow, Level};
use run_store::slice::{Direction, SizeClass};

use super::Scope;
use crate::request::{Breakdown, Lens};
use crate::source::Hosts;

/// Maximum number of lines of a breakdown; lines with the least I/O are left out.
const GROUPS_MAX: usize = 24;
const DIRECTIONS: usize = 3;

/// Set of combinations of entity, direction and class that a lens includes.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    has: Vec<bool>,
}

fn cell(entity: u32, direction: Direction, class: SizeClass) -> usize {
    let direction = match direction {
        Direction::Read => 0,
        Direction::Write => 1,
        Direction::Flush => 2,
    };
    (entity as usize * DIRECTIONS + direction) * SizeClass::COUNT + usize::from(class.index())
}

fn cell_of(row: &IoRow) -> usize {
    cell(row.entity, row.direction, row.class)
}

/// Returns true if the level distinguishes tiles. Entities without a tile are then infrastructure
/// operations.
fn tells_tiles(level: &Level) -> bool {
    level.entities.iter().any(|entity| entity.tile.is_some())
}

/// Returns all cells of a level: entity, direction, class.
fn all(level: &Level) -> impl Iterator<Item = (u32, Direction, SizeClass)> + '_ {
    (0_u32..).zip(&level.entities).flat_map(|(entity, _)| {
        Direction::ALL.into_iter().flat_map(move |direction| {
            SizeClass::all().into_iter().map(move |class| (entity, direction, class))
        })
    })
}

impl Cells {
    pub fn new(level: &Level, hosts: &Hosts, lens: &Lens) -> Self {
        let tells_tiles = tells_tiles(level);
        let entities: Vec<bool> = level
            .entities
            .iter()
            .map(|entity| {
                let is_workload = match lens.workloads.is_empty() {
                    true => !entity.is_below(),
                    false => lens.workloads.contains(&entity.workload),
                };
                let tile = entity.tile.map(|tile| tile.saturating_add(1));
                let host = entity.tile.and_then(|tile| hosts.of_tile(tile));
                let is_host =
                    lens.hosts.is_empty() || host.is_some_and(|host| in_list(&lens.hosts, host));
                is_workload
                    && is_host
                    && (lens.tiles.is_empty()
                        || tile.map_or(!tells_tiles, |tile| lens.tiles.contains(&tile)))
            })
            .collect();
        let has = all(level).map(|(entity, direction, class)| {
            entities[entity as usize] && is_size(lens, direction, class)
        });
        Self { has: has.collect() }
    }

    pub fn has(&self, row: &IoRow) -> bool {
        self.has.get(cell_of(row)).copied().unwrap_or(false)
    }
}

fn in_list(names: &[String], name: &str) -> bool {
    names.iter().any(|own| own == name)
}

/// Returns true if direction and class are in the lens. A flush has no size, so every size filter
/// excludes flushes.
fn is_size(lens: &Lens, direction: Direction, class: SizeClass) -> bool {
    let bit = 1_u8 << class.index();
    let is_direction = match (lens.is_write, direction) {
        (None, _) | (Some(false), Direction::Read) | (Some(true), Direction::Write) => true,
        (Some(_), _) => false,
    };
    let is_flush = direction == Direction::Flush;
    let is_class = lens.classes == 0 || (!is_flush && lens.classes & bit != 0);
    let is_pair = lens.selection == (0, 0)
        || match direction {
            Direction::Read => lens.selection.0 & bit != 0,
            Direction::Write => lens.selection.1 & bit != 0,
            Direction::Flush => false,
        };
    is_direction && is_class && is_pair
}

/// Lines of a breakdown, and the assignment of rows to lines.
#[derive(Debug, Clone)]
pub(crate) struct Grouping {
    /// Keys of the lines in the lens, with names for people.
    pub groups: Vec<(String, String)>,
    /// Number of groups with I/O that were left out.
    pub left_out: u32,
    of: Vec<Option<usize>>,
}

/// Key of a line; its order is the order of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    All,
    /// Line of entities without a tile, if the level has tiles.
    Operations,
    Direction(Direction),
    Class(SizeClass),
    Workload(usize),
    Tile(u32),
    Host(usize),
    Pair(Direction, SizeClass),
}

impl Grouping {
    pub(super) fn new(scope: &Scope<'_>, breakdown: Breakdown) -> Self {
        let (level, hosts) = (&scope.level, scope.source.hosts());
        let kinds: Vec<Option<Kind>> =
            all(level).map(|cell| kind_of((level, hosts), breakdown, cell)).collect();
        let mut counts: Vec<(Kind, u64)> = Vec::new();
        let mut by_cell = vec![0_u64; kinds.len()];
        scope.rows().for_each(|(_, row)| by_cell[cell_of(row)] += row.count() + row.errors);
        for (kind, count) in kinds.iter().zip(by_cell).filter(|(_, count)| *count > 0) {
            let Some(kind) = kind else { continue };
            match counts.iter_mut().find(|(known, _)| known == kind) {
                Some((_, sum)) => *sum += count,
                None => counts.push((*kind, count)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let left_out = counts.len().saturating_sub(GROUPS_MAX);
        counts.truncate(GROUPS_MAX);
        counts.sort_by_key(|(kind, _)| *kind);
        let place = |kind: Option<Kind>| counts.iter().position(|(known, _)| Some(*known) == kind);
        Self {
            groups: counts.iter().map(|(kind, _)| names((level, hosts), *kind)).collect(),
            left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
            of: kinds.into_iter().map(place).collect(),
        }
    }

    /// Returns the line of a row.
    pub fn of(&self, row: &IoRow) -> Option<usize> {
        self.of.get(cell_of(row)).copied().flatten()
    }
}

fn kind_of(
    (level, hosts): (&Level, &Hosts),
    breakdown: Breakdown,
    (entity, direction, class): (u32, Direction, SizeClass),
) -> Option<Kind> {
    let is_flush = direction == Direction::Flush;
    let place = &level.entities[entity as usize];
    match breakdown {
        Breakdown::None => Some(Kind::All),
        Breakdown::Direction => Some(Kind::Direction(direction)),
        Breakdown::Size => (!is_flush).then_some(Kind::Class(class)),
        Breakdown::Workload => {
            let first = level.entities.iter().position(|e| e.workload == place.workload);
            first.map(Kind::Workload)
        }
        Breakdown::Tile => Some(match place.tile {
            Some(tile) => Kind::Tile(tile),
            None if tells_tiles(level) => Kind::Operations,
            None => Kind::All,
        }),
        Breakdown::Host => {
            let host = place.tile.and_then(|tile| hosts.position(tile));
            Some(host.map_or(Kind::All, Kind::Host))
        }
        Breakdown::Selection => (!is_flush).then_some(Kind::Pair(direction, class)),
    }
}

/// Returns the key of a class in the lens, such as `64k`.
fn key_of_class(class: SizeClass) -> &'static str {
    crate::request::CLASSES[usize::from(class.index())]
}

fn names((level, hosts): (&Level, &Hosts), kind: Kind) -> (String, String) {
    match kind {
        Kind::All => ("all".to_owned(), "all I/O".to_owned()),
        Kind::Operations => ("operations".to_owned(), "infrastructure operations".to_owned()),
        Kind::Direction(direction) => {
            let (key, label) = direction_names(direction);
            (key.to_owned(), label.to_owned())
        }
        Kind::Class(class) => (key_of_class(class).to_owned(), class.name().to_owned()),
        Kind::Workload(entity) => {
            let name = &level.entities[entity].workload;
            (name.clone(), name.clone())
        }
        Kind::Tile(tile) => {
            let number = tile.saturating_add(1);
            (number.to_string(), format!("tile {number}"))
        }
        Kind::Host(host) => {
            let name = &hosts.names()[host];
            (name.clone(), name.clone())
        }
        Kind::Pair(direction, class) => {
            let (key, label) = direction_names(direction);
            (format!("{key}{}", key_of_class(class)), format!("{label} {}", class.name()))
        }
    }
}

const fn direction_names(direction: Direction) -> (&'static str, &'static str) {
    match direction {
        Direction::Read => ("r", "reads"),
        Direction::Write => ("w", "writes"),
        Direction::Flush => ("f", "flushes"),
    }
}
