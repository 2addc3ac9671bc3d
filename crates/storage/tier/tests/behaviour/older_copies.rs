//! The owner is gone with its cache, and any of sidecar, backing store and the copies of its log that peers hold is put
//! back to an older state of itself before the disk is taken over.
//!
//! What the backing store has then is what the client was promised; or, where the backing store is the older one, all of
//! what it had when it was copied; or the take-over is refused. Left out is what nothing can tell:
//! copies that lack no group which the sidecar or its marks know to have been durable; a sidecar from a time when the disk
//! had no log; a sidecar with the copies of its time before a newer backing store; and a backing store that was put back
//! alone to a state after its last marks.

use state_machine::{Purpose, Stream};
use tilemark_tier::format::Head;
use tilemark_tier::{Mode, TakeOverError, Taking, ownership};

use super::copies::{copied, take_as, taking};
use super::older::{Marks, is_promised, since};
use super::oracle::{Oracle, stamps};
use super::peers::HolderHost;
use super::world::{DISK, Devices, Shape, World};

const ONE: Shape = Shape { disk_bytes: 512 << 10, mode: Mode::Back, depth: 8, copies: 1 };
const TWO: Shape = Shape { copies: 2, ..ONE };

/// A copy of everything that could be copied at one moment.
#[derive(Clone)]
struct Copy {
    devices: Devices,
    holders: Vec<HolderHost>,
    marks: Option<Marks>,
    oracle: Oracle,
    writes: u64,
}

impl Copy {
    fn of(world: &World, marks: Option<Marks>, chance: &mut Stream) -> Self {
        let (mut devices, mut holders) = world.left_behind();
        devices.kill(chance);
        holders.iter_mut().for_each(|holder| holder.end(false, chance));
        let (oracle, writes) = (world.oracle.clone(), devices.backing.writes());
        Self { devices, holders, marks, oracle, writes }
    }

    fn content(&mut self) -> Vec<u64> {
        let mut bytes = vec![0; usize::try_from(ONE.disk_bytes).expect("small")];
        self.devices.backing.read(0, &mut bytes).expect("no fault");
        stamps(&bytes)
    }

    /// Highest group of a holder's copy.
    fn last(&self, holder: usize) -> u64 {
        let mut disk = self.holders[holder].disk.clone();
        let mut bytes = vec![0; usize::try_from(disk.bytes()).expect("small")];
        disk.read(0, &mut bytes).expect("no fault");
        let heads = bytes.chunks(4096).filter_map(|block| Some(Head::decode(block)?.0));
        heads.filter(|head| head.owner == DISK).map(|head| head.seq).max().unwrap_or(0)
    }
}

/// Parts that are put back to an older state.
#[derive(Debug, Clone)]
struct Older {
    sidecar: bool,
    backing: bool,
    holders: Vec<bool>,
}

impl Older {
    fn draw(holders: usize, chance: &mut Stream) -> Self {
        let mut coin = || chance.below(2) == 0;
        Self { sidecar: coin(), backing: coin(), holders: (0..holders).map(|_| coin()).collect() }
    }

    fn is_nothing(&self) -> bool {
        !self.sidecar && !self.backing && self.holders.iter().all(|older| !older)
    }

    fn of(&self, now: &Copy, old: &Copy) -> Copy {
        let mut mixed = now.clone();
        if self.sidecar {
            mixed.devices.sidecar = old.devices.sidecar.clone();
            mixed.marks = old.marks;
        }
        if self.backing {
            mixed.devices.backing = old.devices.backing.clone();
            mixed.writes = old.writes;
        }
        for (at, _) in self.holders.iter().enumerate().filter(|(_, older)| **older) {
            mixed.holders[at] = old.holders[at].clone();
        }
        mixed
    }

    /// True if nothing that is stored anywhere can tell that a part is older.
    fn is_untold(&self, now: &Copy, old: &Copy) -> bool {
        let said = |copy: &Copy| copy.devices.clone().said().expect("no fault");
        let is_newest_copy = self.holders.iter().any(|older| !older);
        if self.sidecar {
            let is_all_old = self.backing && !is_newest_copy;
            return !ownership::has_log(&said(old)) || (!is_all_old && !is_newest_copy);
        }
        let marks = now.marks.unwrap_or_default();
        if self.backing && old.writes >= marks.writes {
            return true;
        }
        let known = said(now).log_durable.max(marks.moment.log);
        let last = (0..self.holders.len()).map(|holder| old.last(holder)).max().unwrap_or(0);
        !is_newest_copy && last >= known
    }
}

/// Puts parts back and takes the disk over. Says whether it was refused.
fn open(now: &Copy, old: &Copy, older: &Older, shape: Shape) -> bool {
    let mut mixed = older.of(now, old);
    let alone = mixed.content();
    let since = since(mixed.marks, mixed.writes);
    let asked = Taking { since, ..taking(&mixed.holders, shape) };
    let before = mixed.devices.said().expect("no fault");
    match take_as(&mut mixed.devices, &mut mixed.holders, asked, None) {
        Ok(_) => {}
        Err(
            TakeOverError::Older { .. }
            | TakeOverError::SidecarOlder { .. }
            | TakeOverError::BackingOlder { .. }
            | TakeOverError::Damaged(_)
            | TakeOverError::NoCopy { .. },
        ) => {
            assert_eq!(mixed.content(), alone, "nothing was put there");
            assert_eq!(mixed.devices.said().expect("no fault"), before);
            return true;
        }
        Err(error) => panic!("{error}"),
    }
    let content = mixed.content();
    if older.backing {
        let is_all_old = content == alone || is_promised(&old.oracle, &content);
        assert!(is_all_old || is_promised(&now.oracle, &content), "a mixture");
    } else {
        now.oracle.check(&content, false);
    }
    false
}

/// Runs by `seed`, keeps copies, and puts parts of each back after each stop. Returns points, and how many of
/// them were refused.
fn sweep(seed: u64, shape: Shape) -> (usize, usize) {
    let mut chance = Stream::derive(seed, &[14], Purpose::Device);
    let mut world = copied(seed, shape);
    let (mut marks, mut copies): (Option<Marks>, Vec<Copy>) = (None, Vec::new());
    let (mut points, mut refused) = (0, 0);
    for step in 0..700 {
        world.step();
        if chance.below(40) == 0 {
            marks = Marks::of(&world, false).or(marks);
        }
        if step % 29 == 0 {
            copies.push(Copy::of(&world, marks, &mut chance));
        }
        let old = &copies[usize::try_from(chance.below(copies.len() as u64)).expect("few")];
        let older = Older::draw(shape.copies.into(), &mut chance);
        if step % 3 > 0 || older.is_nothing() {
            continue;
        }
        let now = Copy::of(&world, marks, &mut chance);
        if older.is_untold(&now, old) {
            continue;
        }
        let tried = std::panic::AssertUnwindSafe(|| open(&now, old, &older, shape));
        match std::panic::catch_unwind(tried) {
            Ok(is_refused) => (points, refused) = (points + 1, refused + usize::from(is_refused)),
            Err(panic) => {
                eprintln!("seed {seed}, step {step}, {older:?}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    (points, refused)
}

fn points(shape: Shape, first: u64, wanted: usize) {
    let (mut points, mut refused, mut seed) = (0, 0, first);
    while points < wanted {
        let (more, some) = sweep(seed, shape);
        (points, refused, seed) = (points + more, refused + some, seed + 1);
    }
    assert!(refused > points / 50, "{refused} of {points}");
}

#[test]
fn older_states_of_one_copy_are_told_or_harmless() {
    points(ONE, 700, 2500);
}

#[test]
fn older_states_of_two_copies_are_told_or_harmless() {
    points(TWO, 800, 2500);
}
