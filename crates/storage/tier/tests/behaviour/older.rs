//! Any of cache, sidecar and backing store is put back to an older state of itself before an opening.
//!
//! Marks of the backing store lie with the sidecar and are stored now and then, as the service does
//! it. There are three valid outcomes.
//!
//! - Reads return the data that the client was promised.
//! - If the backing store is the older one, reads return all data that it has now, or all data that
//!   it had when it was copied.
//! - The opening is refused.
//!
//! Cases that nothing can detect are excluded: a backing store that was put back alone, beside a
//! log with writes, to a state after its last marks; a cache that lacks nothing which its sidecar
//! or marks know; and a cache with its sidecar before a newer backing store in mode back.

use state_machine::{Purpose, Stream};
use tilemark_tier::{AttachError, Mode, Moment, OpenError, Since, Tier};

use super::oracle::{Oracle, stamps};
use super::world::{Devices, Direct, Shape, World, memory_of};

const BACK: Shape = Shape { disk_bytes: 512 << 10, mode: Mode::Back, depth: 8, copies: 0 };
const THROUGH: Shape = Shape { mode: Mode::Through, ..BACK };

/// Marks as they are stored beside the sidecar: numbers, and how often the backing store was written until then.
#[derive(Debug, Clone, Copy, Default)]
pub struct Marks {
    pub moment: Moment,
    pub writes: u64,
    is_left: bool,
}

impl Marks {
    pub fn of(world: &World, is_left: bool) -> Option<Self> {
        let moment = world.tier.moment(0)?;
        Some(Self { moment, writes: world.devices.backing.writes(), is_left })
    }
}

/// A copy of everything that could be copied at one moment.
#[derive(Clone)]
struct Copy {
    devices: Devices,
    marks: Option<Marks>,
    oracle: Oracle,
    writes: u64,
}

/// A run whose marks are stored now and then.
struct Run {
    world: World,
    marks: Option<Marks>,
}

impl Run {
    fn store_marks(&mut self, is_left: bool) {
        self.marks = Marks::of(&self.world, is_left).or(self.marks);
    }

    fn copy(&self, chance: &mut Stream) -> Copy {
        let mut devices = self.world.devices.clone();
        devices.kill(chance);
        let (oracle, writes) = (self.world.oracle.clone(), devices.backing.writes());
        Copy { devices, marks: self.marks, oracle, writes }
    }
}

/// Knowledge of changes, as the service has it: it compares the marks with how often the backing
/// store was written.
pub fn since(marks: Option<Marks>, writes: u64) -> Since {
    let Some(marks) = marks else { return Since::Unknown };
    match () {
        () if marks.writes == writes => Since::Unchanged(marks.moment),
        () if writes < marks.writes => Since::Older(marks.moment),
        () if marks.is_left => Since::Changed(marks.moment),
        () => Since::Perhaps(marks.moment),
    }
}

/// Parts that are put back to an older state.
#[derive(Debug, Clone, Copy)]
struct Older {
    cache: bool,
    sidecar: bool,
    backing: bool,
}

/// Puts parts back, opens and looks. Says whether it was refused.
fn open(now: &Copy, old: &Copy, older: Older, shape: Shape, case: u64) -> bool {
    let mut devices = now.devices.clone();
    let (mut marks, mut writes) = (now.marks, now.writes);
    if older.cache {
        devices.cache = old.devices.cache.clone();
    }
    if older.sidecar {
        devices.sidecar = old.devices.sidecar.clone();
        marks = old.marks;
    }
    if older.backing {
        devices.backing = old.devices.backing.clone();
        writes = old.writes;
    }
    let mut alone = vec![0; usize::try_from(shape.disk_bytes).expect("small")];
    devices.backing.read(0, &mut alone).expect("no fault");
    devices.since = Some(since(marks, writes));
    let opened = match devices.open(shape.mode) {
        Ok(opened) => opened,
        Err(OpenError::Attach { error, .. }) => {
            let is_told = matches!(
                error,
                AttachError::CacheOlder { .. }
                    | AttachError::SidecarOlder { .. }
                    | AttachError::BackingOlder { .. }
                    | AttachError::Changed { .. }
                    | AttachError::Stale { .. }
            );
            assert!(is_told, "{older:?}: {error}");
            return true;
        }
        Err(error) => panic!("{older:?}: {error}"),
    };
    devices.since = None;
    let mut after = World::of(case, shape, devices, opened.tier, now.oracle.clone());
    after.oracle.is_loose = true;
    let content = stamps(&after.read_all());
    if older.backing {
        // All of it: no page and no write of another state.
        let is_all_old = content == stamps(&alone) || is_promised(&old.oracle, &content);
        assert!(is_all_old || is_promised(&now.oracle, &content), "{older:?}: a mixture");
    } else {
        now.oracle.check(&content, false);
    }
    false
}

pub fn is_promised(oracle: &Oracle, content: &[u64]) -> bool {
    let checked = std::panic::AssertUnwindSafe(|| oracle.check(content, false));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(checked).is_ok();
    std::panic::set_hook(hook);
    result
}

/// True if nothing that is stored anywhere can tell that a part is older.
fn is_untold(now: &Copy, old: &Copy, older: Older, shape: Shape) -> bool {
    let told = |copy: &Copy| {
        let mut sidecar = copy.devices.clone();
        let said = sidecar.said().expect("no fault");
        let marks = copy.marks.unwrap_or_default().moment;
        (said.log_durable.max(marks.log), said.opening)
    };
    let Marks { writes: marked, .. } = now.marks.unwrap_or_default();
    match older {
        // The newest sidecar knows no group that the older cache lacks.
        Older { cache: true, sidecar: false, .. } => {
            let (log, opening) = told(now);
            let mut devices = old.devices.clone();
            let found = Tier::examine(&mut Direct::new(&mut devices)).expect("it was whole");
            let disk = &found.disks[0];
            disk.entry.opening == opening && disk.entry.log_seq + disk.groups > log
        }
        // Everything of one moment is a stop at that moment, and so is the sidecar with it.
        Older { cache: true, sidecar: true, backing: true } => false,
        Older { cache: true, sidecar: true, backing: false } => shape.mode == Mode::Back,
        Older { sidecar: false, backing: true, .. } => {
            shape.mode == Mode::Back && old.writes >= marked
        }
        Older { .. } => false,
    }
}

/// Runs by `seed`, keeps copies, and puts parts of each back after each stop. Returns points, and how many of
/// them were refused.
fn sweep(seed: u64, shape: Shape, steps: usize) -> (usize, usize) {
    let mut chance = Stream::derive(seed, &[12], Purpose::Device);
    let mut run = Run { world: World::with_memory(seed, shape, memory_of(seed)), marks: None };
    let (mut copies, mut points, mut refused) = (Vec::new(), 0, 0);
    for step in 0..steps {
        run.world.step();
        if chance.below(40) == 0 {
            run.store_marks(false);
        }
        if step % 29 == 0 {
            copies.push(run.copy(&mut chance));
        }
        if step % 7 > 0 {
            continue;
        }
        let now = match chance.below(4) {
            0 => {
                let mut left = Run { world: copy_of(&run, shape, seed), marks: run.marks };
                left.world.close();
                left.store_marks(true);
                left.copy(&mut chance)
            }
            _ => run.copy(&mut chance),
        };
        let Some(old) =
            copies.get(usize::try_from(chance.below(copies.len() as u64)).expect("few"))
        else {
            continue;
        };
        let which = 1 + chance.below(7);
        let older = Older { cache: which & 1 > 0, sidecar: which & 2 > 0, backing: which & 4 > 0 };
        if is_untold(&now, old, older, shape) {
            continue;
        }
        let case = seed << 32 | step as u64;
        let tried = std::panic::AssertUnwindSafe(|| open(&now, old, older, shape, case));
        match std::panic::catch_unwind(tried) {
            Ok(is_refused) => (points, refused) = (points + 1, refused + usize::from(is_refused)),
            Err(panic) => {
                eprintln!("seed {seed}, step {step}, {older:?}, {:?}", shape.mode);
                std::panic::resume_unwind(panic);
            }
        }
    }
    (points, refused)
}

/// A second world, on copies of the devices of the run after a kill, to be closed.
fn copy_of(run: &Run, shape: Shape, seed: u64) -> World {
    let mut devices = run.world.devices.clone();
    devices.kill(&mut Stream::derive(seed, &[13], Purpose::Device));
    devices.since = Some(Since::Unknown);
    let opened = devices.open(shape.mode).expect("nothing is older");
    devices.since = None;
    let mut world = World::of(seed, shape, devices, opened.tier, run.world.oracle.clone());
    world.oracle.is_loose = true;
    let content = stamps(&world.read_all());
    world.oracle = run.world.oracle.reborn(&content);
    world
}

fn points(shape: Shape, wanted: usize) {
    let (mut points, mut refused, mut seed) = (0, 0, 500);
    while points < wanted {
        let (more, some) = sweep(seed, shape, 700);
        (points, refused, seed) = (points + more, refused + some, seed + 1);
    }
    assert!(refused > points / 50 || shape.mode == Mode::Through, "{refused} of {points}");
}

#[test]
fn older_states_are_told_or_harmless_in_mode_back() {
    points(BACK, 5000);
}

#[test]
fn older_states_are_told_or_harmless_in_mode_through() {
    points(THROUGH, 5000);
}
