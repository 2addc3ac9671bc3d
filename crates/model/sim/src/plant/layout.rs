use std::collections::BTreeMap;

use spec::array::{Array, PlaceRule, Pool};
use spec::events::PlannedEvent;
use units::Bytes;

use super::disks::unknown;
use super::local::{Groups, local};
use super::plan::{PlantDisk, PlantError, PlantInstance};
use super::pools::Sets;

/// Alignment of virtual disks and pools. It is the size of a tier's largest page, so that no page
/// belongs to two disks or pools.
pub const ALIGNMENT: Bytes = Bytes::MIB;

/// Addresses of pools and virtual disks in the plant's address space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Pools in the order of their addresses.
    pub pools: Vec<PoolSpan>,
    /// Extents of the virtual disks, by instance and disk.
    pub disks: Vec<Vec<Extent>>,
    /// Further places that events move virtual disks to, by instance and disk.
    pub elsewhere: BTreeMap<(usize, usize), Vec<Extent>>,
}

/// A pool, or one tile's pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSpan {
    /// Position in the array's list of pools. For the hosts' own disks, the position after the last
    /// pool.
    pub pool: usize,
    pub name: String,
    /// True if the array's tiers serve the pool.
    pub tiered: bool,
    /// Tile of the pool, if every tile has a pool of its own.
    pub tile: Option<u32>,
    /// Address of the first byte.
    pub base: u64,
    /// Size in bytes of all virtual disks in the pool.
    pub used: u64,
}

/// Place of a virtual disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Position in [`Layout::pools`].
    pub pool: usize,
    /// Address of the first byte.
    pub base: u64,
    /// Requested size, before alignment.
    pub size: Bytes,
}

impl Layout {
    /// Lays out the disks: pools in the order of the array's file, the disks of each pool in the
    /// order of the instances. Then follow the places that events move disks to.
    pub fn new(
        array: &Array,
        instances: &[PlantInstance],
        events: &[PlannedEvent],
    ) -> Result<Self, PlantError> {
        let mut pools = spans(array, instances);
        let is_local = local(array).is_some();
        let mut turns = 0;
        let mut disks = Vec::with_capacity(instances.len());
        for instance in instances {
            let mut own: Vec<Option<usize>> = vec![None; instance.vcpus.len()];
            let extents = instance.disks.iter().map(|disk| {
                let pool = match (&disk.pool, rule(array, instance.tile, disk)) {
                    (Some(pool), _) => named(array, pool)?,
                    _ if is_local => 0,
                    (None, Some(rule)) => named(array, &rule.pool)?,
                    (None, None) => in_turn(array, disk, &mut own, &mut turns)?,
                };
                let find = |span: &PoolSpan| {
                    span.pool == pool && span.tile.is_none_or(|tile| tile == instance.tile)
                };
                let place = pools.iter().position(find).expect("every tile of a plan has a pool");
                let base = pools[place].used;
                pools[place].used += disk.size.round_up(ALIGNMENT).get();
                Ok(Extent { pool: place, base, size: disk.size })
            });
            disks.push(extents.collect::<Result<Vec<_>, PlantError>>()?);
        }
        let mut elsewhere = elsewhere(array, (instances, &disks), &mut pools, events)?;
        check(array, &pools)?;
        let mut base = 0;
        for span in &mut pools {
            span.base = base;
            base += span.used;
        }
        for extent in disks.iter_mut().flatten().chain(elsewhere.values_mut().flatten()) {
            extent.base += pools[extent.pool].base;
        }
        Ok(Self { pools, disks, elsewhere })
    }

    /// Returns the first address after all pools.
    pub fn end(&self) -> u64 {
        self.pools.last().map_or(0, |span| span.base + span.used)
    }
}

/// Reserves room in the pools that events move disks to.
fn elsewhere(
    array: &Array,
    (instances, disks): (&[PlantInstance], &[Vec<Extent>]),
    pools: &mut [PoolSpan],
    events: &[PlannedEvent],
) -> Result<BTreeMap<(usize, usize), Vec<Extent>>, PlantError> {
    let mut found: BTreeMap<(usize, usize), Vec<Extent>> = BTreeMap::new();
    let moves = events.iter().filter_map(|event| Some((event, event.pool.as_deref()?)));
    for (event, pool) in moves {
        let pool = named(array, pool)?;
        for (at, (instance, extents)) in instances.iter().zip(disks).enumerate() {
            if !event.tiles.contains(&(instance.tile + 1)) {
                continue;
            }
            let is_it = |span: &PoolSpan| {
                span.pool == pool && span.tile.is_none_or(|tile| tile == instance.tile)
            };
            let place = pools.iter().position(is_it).expect("every tile of a plan has a pool");
            for (disk, extent) in extents.iter().enumerate() {
                let own = found.entry((at, disk)).or_default();
                if extent.pool != place && own.iter().all(|known| known.pool != place) {
                    own.push(Extent { pool: place, base: pools[place].used, size: extent.size });
                    pools[place].used += extent.size.round_up(ALIGNMENT).get();
                }
            }
        }
    }
    Ok(found)
}

fn spans(array: &Array, instances: &[PlantInstance]) -> Vec<PoolSpan> {
    let mut tiles: Vec<u32> = instances.iter().map(|instance| instance.tile).collect();
    tiles.sort_unstable();
    tiles.dedup();
    if local(array).is_some() {
        let name = String::from("local");
        return vec![PoolSpan { pool: 0, name, tiered: false, tile: None, base: 0, used: 0 }];
    }
    let span = |pool, tile| {
        let Pool { name, tiered, .. } = &array.pools[pool];
        PoolSpan { pool, name: name.clone(), tiered: *tiered, tile, base: 0, used: 0 }
    };
    let mut spans = Vec::new();
    for (pool, definition) in array.pools.iter().enumerate() {
        if definition.per_tile {
            spans.extend(tiles.iter().map(|tile| span(pool, Some(*tile))));
        } else {
            spans.push(span(pool, None));
        }
    }
    spans
}

/// Finds the first place rule that fits a disk.
fn rule<'a>(array: &'a Array, tile: u32, disk: &PlantDisk) -> Option<&'a PlaceRule> {
    array.places.iter().find(|rule| {
        let is_tile = rule.tiles.is_none_or(|[rest, every]| {
            (tile + 1).checked_rem(every).is_some_and(|number| number == rest)
        });
        let is_named = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == name)
        };
        is_tile
            && is_named(&rule.workload, &disk.workload)
            && is_named(&rule.disk, &disk.name)
            && rule.role.is_none_or(|role| role == disk.role)
    })
}

fn named(array: &Array, name: &str) -> Result<usize, PlantError> {
    let found = array.pools.iter().position(|pool| pool.name == name);
    found.ok_or_else(|| unknown(array, "pool", name))
}

/// Chooses the pool for a disk that no rule names. The virtual machines use all pools in turn.
fn in_turn(
    array: &Array,
    disk: &PlantDisk,
    own: &mut Vec<Option<usize>>,
    turns: &mut usize,
) -> Result<usize, PlantError> {
    if array.pools.is_empty() {
        let (array, disk) = (array.name.clone(), disk.name.clone());
        return Err(PlantError::NoPool { array, disk });
    }
    if disk.vm >= own.len() {
        own.resize(disk.vm + 1, None);
    }
    Ok(*own[disk.vm].get_or_insert_with(|| {
        *turns += 1;
        (*turns - 1) % array.pools.len()
    }))
}

fn check(array: &Array, pools: &[PoolSpan]) -> Result<(), PlantError> {
    for span in pools {
        let capacity = match local(array) {
            Some(local) => Groups::new(array, local)?.capacity(array)?,
            None => Sets::of_pool(array, &array.pools[span.pool])?.capacity(),
        };
        let capacity = capacity.round_down(ALIGNMENT);
        if span.used > capacity.get() {
            let pool = pool_name(&span.name, span.tile);
            let needed = Bytes::new(span.used);
            return Err(PlantError::TooSmall { pool, needed, capacity });
        }
    }
    Ok(())
}

fn pool_name(name: &str, tile: Option<u32>) -> String {
    tile.map_or_else(|| name.to_owned(), |tile| format!("{name} of tile {}", tile + 1))
}
