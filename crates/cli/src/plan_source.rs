//! From options and a plan file to layers of plan values; `bench` resolves them.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use bench::plan::{Layer, Origin, PlanError, ResolvedPlan, Surroundings, Values, resolve};
use datastore::Target;
use spec::plan::Profile;
use spec::workload::CpuMode;

use crate::args::{Cpu, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;

/// The tile that runs if nobody names one.
const DEFAULT_TILE: &str = "datacenter";

/// Resolves what the options and the plan file say.
pub fn resolved(args: &RunArgs) -> Result<ResolvedPlan, Failure> {
    let mut layers = vec![Layer { origin: Origin::Flag, values: flags(args) }];
    if std::env::var("TILEMARK_SEED").ok().and_then(|text| text.parse().ok()) == args.seed {
        let seed = layers[0].values.seed.take();
        layers.push(Layer { origin: Origin::Env, values: Values { seed, ..Values::default() } });
    }
    let base = match plan_file(&args.target) {
        Some(path) => {
            let plan = spec::read_plan(&path).map_err(|error| Failure::from_definition(&error))?;
            layers.push(Layer::of_plan(&plan));
            path.parent().map(Path::to_path_buf).unwrap_or_default()
        }
        None => {
            layers[0].values.datastore = Some(from_anywhere(&args.target));
            PathBuf::new()
        }
    };
    let defaults = Values { tile: Some(DEFAULT_TILE.to_owned()), ..Values::default() };
    layers.push(Layer { origin: Origin::Default, values: defaults });
    // A tile named on the command line is found from here, one named in a plan from there.
    let (tile, base) = match &args.tile {
        Some(tile) => (tile.clone(), PathBuf::new()),
        None => {
            (layers.iter().find_map(|layer| layer.values.tile.clone()).unwrap_or_default(), base)
        }
    };
    let tile =
        spec::resolve_tile(&tile, &base).map_err(|error| Failure::from_definition(&error))?;
    let surroundings = Surroundings { entropy: entropy(), cores: cores() };
    resolve(&layers, tile, surroundings)
        .map_err(|error| Failure::from_error(Exit::Usage, &error).hint(option_of(&error)))
}

/// Messages name the key in the plan; on the command line it has another name.
fn option_of(error: &PlanError) -> Option<String> {
    let (key, option) = match error {
        PlanError::Tiles(_) => ("ladder.tiles", "tiles"),
        PlanError::Range { key, .. } => match *key {
            "scale.time" => (*key, "time-scale"),
            other => (other, other.rsplit('.').next().unwrap_or(other)),
        },
        _ => return None,
    };
    (key != option).then(|| format!("{key} in a plan is --{option} on the command line"))
}

/// A datastore by its whole path, so that the stored plan means the same everywhere. What is
/// not a datastore stays as it is, and is refused where it is read.
fn from_anywhere(text: &str) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match text.parse() {
        Ok(Target::Directory(path)) => Target::Directory(absolute(&path)).to_string(),
        Ok(Target::File(path)) => Target::File(absolute(&path)).to_string(),
        Ok(Target::Block(path)) => Target::Block(absolute(&path)).to_string(),
        Err(_) => text.to_owned(),
    }
}

/// A plan is a regular file whose name ends in `.toml`.
fn plan_file(target: &str) -> Option<PathBuf> {
    let path = Path::new(target);
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    (is_toml && !target.contains(':')).then(|| path.to_path_buf())
}

fn flags(args: &RunArgs) -> Values {
    let profile = match (args.quick, args.standard, args.full) {
        (true, ..) => Some(Profile::Quick),
        (_, true, _) => Some(Profile::Standard),
        (.., true) => Some(Profile::Full),
        _ => None,
    };
    Values {
        datastore: None,
        tile: args.tile.clone(),
        profile,
        tiles: args.tiles.clone(),
        tiles_max: args.tiles_max,
        repeats: args.repeats,
        warm_up_min: args.warm_up_min,
        warm_up_max: args.warm_up_max,
        duration: args.duration,
        slice: args.slice,
        footprint: args.footprint,
        time: args.time_scale,
        workers: args.workers,
        buffered: args.buffered.then_some(true),
        verify: args.verify.then_some(true),
        cpu: args.cpu.map(|cpu| match cpu {
            Cpu::Delay => CpuMode::Delay,
            Cpu::Burn => CpuMode::Burn,
        }),
        space_max: args.space_max,
        seed: args.seed,
    }
}

/// Random bits from the operating system, by way of the standard hasher's keys.
fn entropy() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(8))
}
