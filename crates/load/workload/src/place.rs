//! Compiler of address distributions into numbers and shared state.

use spec::workload::{Address, Drift as SpecDrift, Reuse, Step};
use state_machine::{Purpose, Stream};
use units::Nanos;

use crate::address::{Addresses, Drift, Placement, Ranks, ReuseState, SharedWalk};
use crate::cursor::Cursor;
use crate::instance::Seeds;
use crate::layout::{DiskLayout, InstancePlan};
use crate::pick::Pick;
use crate::region::{Blocks, Region};
use crate::reuse::{Habit, History};
use crate::scatter::Scatter;
use crate::sizes::{for_each_step, sizes};
use crate::walk::Walk;
use crate::zipf::Zipf;

/// Purpose of a random stream of the address state; a part of the stream's path, after the disk.
/// The numbers must not change, or the same seeds would give other addresses.
#[derive(Debug, Clone, Copy)]
enum Seeded {
    Sequence = 1,
    Ranks = 2,
    Walk = 3,
    Drift = 4,
}

/// Compiler of the addresses of one workload's blocks. Positions of sequential streams belong to
/// their step. Popularity and walks belong to the part of the disk and are shared by all steps that
/// use it. All users share all of this state.
pub struct Placer<'a> {
    plan: &'a InstancePlan<'a>,
    disks: &'a [DiskLayout],
    seeds: &'a Seeds,
    pub addresses: Addresses,
    /// Disk and region of each entry of `addresses.ranks`, `walks` and `histories`.
    rank_keys: Vec<(usize, Region, u64)>,
    walk_keys: Vec<(usize, Region)>,
    history_keys: Vec<(usize, Region, u32)>,
}

/// Target of an access: a part of a disk, and the access's number in the program.
#[derive(Debug, Clone, Copy)]
struct Site {
    disk: usize,
    region: Region,
    number: u32,
}

impl<'a> Placer<'a> {
    pub fn new(plan: &'a InstancePlan<'a>, disks: &'a [DiskLayout], seeds: &'a Seeds) -> Self {
        // The first cursors are the disks' logs, by position.
        let cursors = disks.iter().map(|disk| Cursor::log(disk.size.get())).collect();
        let addresses = Addresses { cursors, ..Addresses::default() };
        Self {
            plan,
            disks,
            seeds,
            addresses,
            rank_keys: Vec::new(),
            walk_keys: Vec::new(),
            history_keys: Vec::new(),
        }
    }

    /// Places blocks of any of these lengths at the end of a disk's log.
    pub fn log(&self, disk: usize, lengths: &[u32]) -> Vec<Placement> {
        lengths.iter().map(|_| Placement::Sequential { cursor: disk }).collect()
    }

    /// Returns the placement of blocks of each of these lengths on a disk, for the access with this
    /// number.
    pub fn places(
        &mut self,
        disk: usize,
        number: u32,
        address: &Address,
        lengths: &[u32],
    ) -> Vec<Placement> {
        let region = Region::whole(self.disks[disk].size.get());
        self.part(Site { disk, region, number }, address, lengths)
    }

    /// Returns the placement of blocks inside a part of the disk.
    fn part(&mut self, site: Site, address: &Address, lengths: &[u32]) -> Vec<Placement> {
        let Site { disk, region, .. } = site;
        let each = |place: &dyn Fn(u32) -> Placement| {
            lengths.iter().map(|length| place(*length)).collect()
        };
        match address {
            Address::Within(within) => {
                let inside = region.part(within.start.get(), within.length.get());
                self.part(Site { region: inside, ..site }, &within.address, lengths)
            }
            Address::Uniform => each(&|length| Placement::Uniform(region.blocks(length))),
            Address::Hot(spots) => {
                let spots: Vec<(f64, f64)> =
                    spots.iter().map(|spot| (spot.io.get(), spot.space.get())).collect();
                each(&|length| hot(region, &spots, length))
            }
            Address::Zipf(zipf) => {
                let ranks = self.ranks(disk, region, zipf.exponent);
                each(&|length| Placement::Zipf { blocks: region.blocks(length), ranks })
            }
            Address::ReuseWalk(_) => {
                let walk = self.walk(disk, region);
                each(&|length| Placement::ReuseWalk { blocks: region.blocks(length), walk })
            }
            Address::Reuse(reuse) => {
                let (history, habit) = self.habit(disk, region, reuse);
                each(&|length| Placement::Reuse { blocks: region.blocks(length), history, habit })
            }
            Address::Sequential(sequential) => {
                let cursor = self.cursor(site, lengths, sequential.streams);
                each(&|_| Placement::Sequential { cursor })
            }
            Address::Mixed(mixed) => {
                let cursor = self.cursor(site, lengths, 1);
                let random = mixed.random.get();
                each(&|length| Placement::Mixed { random, blocks: region.blocks(length), cursor })
            }
            Address::Drift(drift) => {
                let base = self.stream(disk, Seeded::Drift, region.begin).unit();
                let turnover = drift.turnover.scale(self.plan.time_scale).max(Nanos(1));
                each(&|length| drifting(region.blocks(length), drift, base, turnover))
            }
        }
    }

    fn cursor(&mut self, site: Site, lengths: &[u32], streams: u32) -> usize {
        let mut stream = self.stream(site.disk, Seeded::Sequence, u64::from(site.number));
        let largest = lengths.iter().copied().max().unwrap_or(512);
        let cursor = Cursor::streams(site.region, largest, streams.max(1), &mut stream);
        self.addresses.cursors.push(cursor);
        self.addresses.cursors.len() - 1
    }

    fn ranks(&mut self, disk: usize, region: Region, exponent: f64) -> usize {
        let key = (disk, region, exponent.to_bits());
        if let Some(known) = self.rank_keys.iter().position(|other| *other == key) {
            return known;
        }
        let pages = self.pages(disk, region, |address| matches!(address, Address::Zipf(_)));
        let mut stream = self.stream(disk, Seeded::Ranks, region.begin);
        self.addresses.ranks.push(Ranks {
            zipf: Zipf::new(pages.count, exponent),
            scatter: Scatter::new(pages.count, &mut stream),
            pages,
        });
        self.rank_keys.push(key);
        self.rank_keys.len() - 1
    }

    fn walk(&mut self, disk: usize, region: Region) -> usize {
        let key = (disk, region);
        if let Some(known) = self.walk_keys.iter().position(|other| *other == key) {
            return known;
        }
        let pages = self.pages(disk, region, |address| matches!(address, Address::ReuseWalk(_)));
        let walk = Walk::new(pages.count, &mut self.stream(disk, Seeded::Walk, region.begin));
        self.addresses.walks.push(SharedWalk { walk, pages });
        self.walk_keys.push(key);
        self.walk_keys.len() - 1
    }

    /// Returns the positions of the history of the disk's part, and of this step's habit. Creates
    /// both if necessary.
    fn habit(&mut self, disk: usize, region: Region, reuse: &Reuse) -> (usize, usize) {
        let key = (disk, region, reuse.page.get());
        let known = self.history_keys.iter().position(|other| *other == key);
        let history = known.unwrap_or_else(|| {
            self.history_keys.push(key);
            self.addresses.reuse.histories.push(History::new(region, key.2));
            self.history_keys.len() - 1
        });
        let again: Vec<(f64, f64)> =
            reuse.again.iter().map(|again| (again.io.get(), again.within.get())).collect();
        let ReuseState { histories, habits } = &mut *self.addresses.reuse;
        let shared = &mut histories[history];
        let misaligned: Vec<(f64, u32)> =
            reuse.misaligned.iter().map(|places| (places.io.get(), places.by.get())).collect();
        let habit = Habit::new(reuse.sequential.get(), &again, shared.pages())
            .in_runs(reuse.run)
            .of_same_size(reuse.same_size)
            .misaligned(&misaligned);
        shared.remember(&habit);
        habits.push(habit);
        (history, habits.len() - 1)
    }

    /// Returns the region as pages of the smallest block that any step with such an address uses on
    /// the disk.
    fn pages(&self, disk: usize, region: Region, is_such: fn(&Address) -> bool) -> Blocks {
        let mut smallest = u32::MAX;
        let name = &self.disks[disk].name;
        for_each_step(self.plan.workload, &mut |_, step| {
            let (Step::Read(access) | Step::Write(access)) = step else { return Ok(()) };
            if access.disk == *name && is_such(innermost(&access.address)) {
                let sizes = sizes(self.plan.workload, "", &access.size)?;
                smallest = sizes.iter().map(|(size, _)| size.get()).fold(smallest, u32::min);
            }
            Ok(())
        })
        .expect("sizes were read when the disks were laid out");
        region.blocks(smallest)
    }

    fn stream(&self, disk: usize, what: Seeded, number: u64) -> Stream {
        let [tile, position, copy] = self.seeds.path;
        let path = [tile, position, copy, disk as u64, what as u64, number];
        Stream::derive(self.seeds.seed, &path, Purpose::Addresses)
    }
}

fn drifting(blocks: Blocks, drift: &SpecDrift, base: f64, turnover: Nanos) -> Placement {
    Placement::Drift(Drift {
        blocks,
        set: blocks.share(drift.working_set.get()),
        base: blocks.share(base) - 1,
        inside: drift.inside.get(),
        turnover,
    })
}

/// Places hot spots one after another, from the start of the region. The rest of the I/O goes to
/// the rest of the region.
fn hot(region: Region, spots: &[(f64, f64)], length: u32) -> Placement {
    let (mut weights, mut areas, mut begin) = (Vec::new(), Vec::new(), 0.0);
    for (io, space) in spots {
        weights.push(*io);
        areas.push(region.part(begin, *space).blocks(length));
        begin += space;
    }
    weights.push((1.0 - weights.iter().sum::<f64>()).max(0.0));
    areas.push(region.part(begin, (1.0 - begin).max(0.0)).blocks(length));
    match Pick::new(&weights) {
        Some(spot) => Placement::Hot { spot, spots: areas.into_boxed_slice() },
        None => Placement::Uniform(region.blocks(length)),
    }
}

fn innermost(address: &Address) -> &Address {
    match address {
        Address::Within(within) => innermost(&within.address),
        other => other,
    }
}
