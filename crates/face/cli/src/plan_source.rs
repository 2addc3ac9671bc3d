//! Makes layers of plan values from options and a plan file; `bench` resolves them.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use bench::BenchError;
use bench::plan::{
    ARRAY_PREFIX, Layer, Origin, PlanError, ResolvedPlan, Surroundings, resolve, resolve_simulated,
};
use bench::replay::{Asked, Definition, ReplayError, Traces};
use clap::Args;
use datastore::Target;
use run_store::run::Labels;
use run_store::rundir::files;
use spec::array::Array;
use spec::expect::{ExpectationError, Quantity};
use spec::plan::{EngineOptions, Ladder, Measure, Plan, Profile, Scale};
use spec::replay::{Pace, Replay};
use spec::{ResolvedTile, SpecError};
use units::{Bytes, Nanos};

use crate::args::{LoadArgs, ReplayArgs, RunArgs, SimulateArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{exports, stored_runs, target};

/// File with the estate's virtual machines, which `estate import` writes beside the tile.
pub const SHEET: &str = "estate.json";

/// Tile for runs without a named tile.
const DEFAULT_TILE: &str = "datacenter";

/// Resolves the options and the plan file.
pub fn resolved(args: &RunArgs) -> Result<ResolvedPlan, Failure> {
    let mut source = match args.given.as_slice() {
        [line, environment] => Source::layered(flags(line), flags(environment)),
        _ => Source::new(flags(args)),
    };
    match plan_file(args.named()) {
        Some(path) => {
            let datastore = source.read(&path)?.datastore.unwrap_or_default();
            if datastore.starts_with(ARRAY_PREFIX) {
                return Err(not_real(&path, &datastore));
            }
        }
        None if args.named().starts_with(ARRAY_PREFIX) => {
            return Err(not_real(Path::new(args.named()), args.named()));
        }
        None if args.target.is_none() => {}
        None => source.layers[0].plan.datastore = Some(from_anywhere(args.named())),
    }
    if !args.given.is_empty() {
        source.layers.push(Layer { origin: Origin::Config, plan: flags(args) });
    }
    exports::name_datastore(&mut source.layers)?;
    let mut plan = source.resolve(resolve)?;
    plan.labels = labels(&args.load);
    name_expected_runs(&mut plan, args.stored.out.as_deref())?;
    Ok(plan)
}

/// Replaces names of runs in expectations by run ids. `latest` is the latest run before this run
/// begins.
fn name_expected_runs(plan: &mut ResolvedPlan, out: Option<&Path>) -> Result<(), Failure> {
    for expectation in &mut plan.settings.expect {
        let Quantity::NotSlower { run } = &mut expectation.quantity else { continue };
        let stored = stored_runs::open(out, run)?;
        stored.run().map_err(stored_runs::failure)?;
        let id = stored.id().as_str();
        let is_here = stored_runs::open(out, id)
            .is_ok_and(|own| own.path().canonicalize().ok() == stored.path().canonicalize().ok());
        *run = if is_here { id.to_owned() } else { stored.path().display().to_string() };
    }
    Ok(())
}

/// Resolves the options and the plan file of a simulation, and reads the array.
///
/// On a terminal the default profile is `quick`, because a person waits. Scripts get `standard`,
/// whose figures vary less.
pub fn simulated(
    args: &SimulateArgs,
    is_at_terminal: bool,
) -> Result<(ResolvedPlan, Array), Failure> {
    let mut source = Source::new(simulated_flags(args));
    let from_plan = match &args.plan {
        Some(path) => Some(array_of(path, &source.read(path)?.datastore.unwrap_or_default())?),
        None => None,
    };
    let base = if args.array.is_some() { PathBuf::new() } else { source.base.clone() };
    let name = args.array.clone().or(from_plan).unwrap_or_default();
    source.layers[0].plan.datastore = Some(format!("{ARRAY_PREFIX}{name}"));
    let definition = |error: SpecError| Failure::from_definition(&error);
    let changes = spec::array::overlay(&args.with).map_err(definition)?;
    let array = spec::resolve_array_with(&crate::user_arrays::find(&name), &base, &[changes])
        .map_err(definition)?;
    let array = titled(array, &args.with);
    // A plan file without a profile means the standard one, so that it repeats its run.
    let is_named = source.layers.iter().any(|layer| layer.plan.profile.is_some());
    if is_at_terminal && args.plan.is_none() && !is_named {
        crate::say!("profile    quick, because this is a terminal; --standard uses three repeats");
        let plan = Plan { profile: Some(Profile::Quick), ..Plan::default() };
        source.layers.push(Layer { origin: Origin::Default, plan });
    }
    let mut plan = source.resolve(resolve_simulated)?;
    plan.labels = labels(&args.load);
    name_expected_runs(&mut plan, args.stored.out.as_deref())?;
    Ok((plan, array))
}

/// Reads a trace and makes a plan for it. Also returns the array, if the trace is played on a
/// modelled array.
pub fn replayed(args: &ReplayArgs) -> Result<(ResolvedPlan, Option<Array>), Failure> {
    let array = args.array.as_ref().map(|name| modelled(name, &args.with)).transpose()?;
    let datastore = match (&args.on, &args.array) {
        (Some(target), _) => {
            target::parse(target)?;
            from_anywhere(target)
        }
        (None, array) => format!("{ARRAY_PREFIX}{}", array.as_deref().unwrap_or_default()),
    };
    let replay = replay_of(args);
    let read = |error: ReplayError| Failure::from(BenchError::from(error));
    if let Some(size) = args.size {
        check_size(size)?;
    }
    let recording = bench::replay::load(&replay, args.max_bad).map_err(read)?;
    let asked = Asked {
        size_max: args.size,
        limits: args.limits.iter().map(|limit| limit.0.clone()).collect(),
        slice: args.slice,
        ..Asked::default()
    };
    let made = bench::replay::definition(replay, &recording, asked);
    let mut source = Source::new(Plan { datastore: Some(datastore), ..replay_flags(args) });
    source.layers.push(Layer { origin: Origin::Default, plan: replay_defaults(&made) });
    let resolve: Resolve = if array.is_some() { resolve_simulated } else { resolve };
    let mut plan = source.resolve_with(resolve, made.tile)?;
    plan.traces = Traces::one(recording);
    Ok((plan, array))
}

/// Refuses a disk below 1 MiB, which is probably a wrong unit.
fn check_size(size: Bytes) -> Result<(), Failure> {
    if size >= Bytes::MIB {
        return Ok(());
    }
    let message = format!("--size {size} is below 1 MiB");
    let hint = format!("did you mean {}GiB?", size.get());
    let hint = (size.get() < 1024).then_some(hint);
    Err(Failure::new(Exit::Usage, message).hint(hint))
}

fn replay_of(args: &ReplayArgs) -> Replay {
    let trace = std::path::absolute(&args.trace).unwrap_or_else(|_| args.trace.clone());
    Replay {
        trace: trace.display().to_string(),
        format: args.from.map(|format| format.name().to_owned()),
        vm: args.vm.clone(),
        devices: (!args.devices.is_empty()).then(|| args.devices.clone()),
        speed: args.speed,
        pace: if args.closed { Pace::Closed } else { Pace::Open },
    }
}

fn replay_flags(args: &ReplayArgs) -> Plan {
    Plan {
        ladder: Ladder { tiles: args.tiles.clone(), repeats: args.repeats, tiles_max: None },
        measure: Measure {
            warm_up_min: args.warm_up,
            warm_up_max: args.warm_up,
            duration: args.duration,
            slice: args.slice,
        },
        engine: EngineOptions {
            workers: args.workers,
            buffered: args.buffered,
            space_max: args.space_max,
            ..EngineOptions::default()
        },
        seed: args.seed,
        ..Plan::default()
    }
}

/// Returns the defaults of a replay: one copy, once, at full size and speed, from the trace's first
/// I/O.
fn replay_defaults(made: &Definition) -> Plan {
    Plan {
        tile: Some(files::TILE.to_owned()),
        ladder: Ladder { tiles: Some("1".to_owned()), repeats: Some(1), tiles_max: None },
        measure: Measure {
            warm_up_min: Some(Nanos::ZERO),
            warm_up_max: Some(Nanos::ZERO),
            duration: Some(made.duration),
            slice: Some(made.slice),
        },
        scale: Scale { footprint: Some(1.0), time: Some(1.0) },
        ..Plan::default()
    }
}

/// Reads an array by its name, or from a file relative to the working directory, with changes.
pub fn modelled(name: &str, with: &[String]) -> Result<Array, Failure> {
    let definition = |error: SpecError| Failure::from_definition(&error);
    let changes = spec::array::overlay(with).map_err(definition)?;
    let array =
        spec::resolve_array_with(&crate::user_arrays::find(name), Path::new(""), &[changes])
            .map_err(definition)?;
    Ok(titled(array, with))
}

/// Appends the changes to the title, because the array is no longer the shipped one.
fn titled(mut array: Array, with: &[String]) -> Array {
    let is_own = with.iter().any(|change| change.starts_with("title="));
    if !with.is_empty() && !is_own {
        array.title = format!("{}, changed: {}", array.title, with.join(", "));
    }
    array
}

/// Returns the array that a plan names as its datastore.
fn array_of(plan: &Path, datastore: &str) -> Result<String, Failure> {
    datastore.strip_prefix(ARRAY_PREFIX).map(str::to_owned).ok_or_else(|| {
        let message = format!(
            "the datastore of {} is {datastore}, which is real storage, not a modelled array",
            plan.display()
        );
        let hint = "name an array with --array, or measure the datastore with tilemark run";
        Failure::new(Exit::Usage, message).hint(Some(hint))
    })
}

fn not_real(plan: &Path, datastore: &str) -> Failure {
    let message = format!("{datastore} is a modelled array, not a datastore");
    let plan = plan.display().to_string();
    let hint = match plan.strip_prefix(ARRAY_PREFIX) {
        Some(array) => format!("tilemark simulate --array {array}"),
        None => format!("tilemark simulate {plan}"),
    };
    Failure::new(Exit::Usage, message).hint(Some(hint))
}

/// Layers of plan values, and the base of their relative paths.
struct Source {
    layers: Vec<Layer>,
    base: PathBuf,
    has_tile: bool,
}

impl Source {
    fn new(plan: Plan) -> Self {
        let has_tile = plan.tile.is_some();
        let given = plan.seed;
        let mut layers = vec![Layer { origin: Origin::Flag, plan }];
        if std::env::var("TILEMARK_SEED").ok().and_then(|text| text.parse().ok()) == given {
            let seed = layers[0].plan.seed.take();
            layers.push(Layer { origin: Origin::Env, plan: Plan { seed, ..Plan::default() } });
        }
        Self { layers, base: PathBuf::new(), has_tile }
    }

    /// Starts with the values of the command line and the values that the environment adds.
    fn layered(line: Plan, with_environment: Plan) -> Self {
        let mut source = Self::new(line);
        source.has_tile |= with_environment.tile.is_some();
        source.layers.push(Layer { origin: Origin::Env, plan: with_environment });
        source
    }

    /// Adds a plan file.
    fn read(&mut self, path: &Path) -> Result<Plan, Failure> {
        check_toml(path)?;
        let plan = spec::read_plan(path).map_err(|error| Failure::from_definition(&error))?;
        self.layers.push(Layer::of_plan(&plan));
        self.base = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(plan)
    }

    fn resolve(mut self, resolve: Resolve) -> Result<ResolvedPlan, Failure> {
        let tile = self.tile()?;
        self.resolve_with(resolve, tile)
    }

    /// Reads the tile that the layers name.
    fn tile(&mut self) -> Result<ResolvedTile, Failure> {
        let defaults = Plan { tile: Some(DEFAULT_TILE.to_owned()), ..Plan::default() };
        self.layers.push(Layer { origin: Origin::Default, plan: defaults });
        // Paths on the command line are relative to the working directory, those in a plan to the
        // plan.
        let is_here = self.has_tile || !self.layers.iter().any(in_plan);
        let base = if is_here { Path::new("") } else { self.base.as_path() };
        let mut names = self.layers.iter_mut().filter_map(|layer| layer.plan.tile.as_mut());
        let name = names.next().expect("the default layer names a tile");
        if let Some(list) = hypervisor_list(Path::new(&*name)) {
            let message = format!("{} is a list of a hypervisor, not an estate", list.display());
            let hint = format!("tilemark estate import {} --out NAME", list.display());
            return Err(Failure::new(Exit::Usage, message).hint(Some(hint)));
        }
        let tile =
            spec::resolve_tile(name, base).map_err(|error| Failure::from_definition(&error))?;
        // An absolute path keeps the stored plan valid in any directory. A tile that the run made
        // lies beside the plan.
        let is_made = tile.workloads.iter().all(|(workload, _)| workload.replay.is_some());
        if spec::shipped::is_path(name) && !(is_made && name == files::TILE) {
            let path = base.join(&*name);
            *name = std::path::absolute(&path).unwrap_or(path).display().to_string();
        }
        self.operations(tile)
    }

    /// Adds the infrastructure operations that the layers name, found by the same rule as the tile.
    fn operations(&mut self, tile: ResolvedTile) -> Result<ResolvedTile, Failure> {
        let named = |layer: &&mut Layer| layer.plan.operations.is_some();
        let Some(layer) = self.layers.iter_mut().find(named) else { return Ok(tile) };
        let base = if layer.origin == Origin::Flag { Path::new("") } else { self.base.as_path() };
        let Some(name) = layer.plan.operations.as_mut() else { return Ok(tile) };
        let tile = spec::with_operations(tile, name, base)
            .map_err(|error| Failure::from_definition(&error))?;
        if spec::shipped::is_path(name) {
            let path = base.join(&*name);
            *name = std::path::absolute(&path).unwrap_or(path).display().to_string();
        }
        Ok(tile)
    }

    fn resolve_with(self, resolve: Resolve, tile: ResolvedTile) -> Result<ResolvedPlan, Failure> {
        let surroundings = Surroundings { entropy: entropy(), cores: cores() };
        resolve(&self.layers, tile, surroundings)
            .map_err(|error| Failure::from_error(Exit::Usage, &error).hint(option_of(&error)))
    }
}

/// Returns true if the layer is a plan file that names a tile.
fn in_plan(layer: &Layer) -> bool {
    layer.origin == Origin::Plan && layer.plan.tile.is_some()
}

type Resolve = fn(&[Layer], ResolvedTile, Surroundings) -> Result<ResolvedPlan, PlanError>;

/// Returns the option to name in a message, if the plan's key has another name on the command line.
fn option_of(error: &PlanError) -> Option<String> {
    if let PlanError::UnknownEndpoint { help, .. }
    | PlanError::MissingEndpoint { help, .. }
    | PlanError::WrongEndpoint { help, .. } = error
    {
        return Some(help.clone());
    }
    if let PlanError::Address { name, why } = error {
        return Some(format!("--endpoint {name}={}://HOST:PORT/PATH", why.protocol));
    }
    if let PlanError::Expect(ExpectationError::Unknown { help, .. }) = error {
        return Some(help.clone());
    }
    let key = match error {
        PlanError::Tiles(_) => "ladder.tiles",
        PlanError::Range(wrong) => wrong.key,
        _ => return None,
    };
    let option = option_named(key.rsplit('.').next()?)?;
    (key != option).then(|| format!("{key} in a plan is --{option} on the command line"))
}

/// Returns the option of a setting, by the last word of the setting's key.
fn option_named(word: &str) -> Option<String> {
    let options = EngineOptions::augment_args(Plan::augment_args(clap::Command::new("plan")));
    let arg =
        options.get_arguments().find(|arg| arg.get_id().as_str().replace('_', "-") == word)?;
    arg.get_long().map(str::to_owned)
}

/// Returns the path if it is a hypervisor's list of VMs, given instead of an estate's directory.
fn hypervisor_list(tile: &Path) -> Option<&Path> {
    tile.parent().filter(|parent| !parent.as_os_str().is_empty() && parent.is_file())
}

/// Returns the path of the tile for an estate's directory or file.
fn tile_of_estate(estate: &Path) -> String {
    // JSON of a hypervisor is no file of an estate. A tile beside it would otherwise run by
    // mistake; as a directory the path is refused with a hint.
    let is_list = |own: &Path| {
        let json = own.extension().is_some_and(|extension| extension == "json");
        let is_sheet = own.file_name().is_some_and(|name| name == SHEET);
        json && own.is_file() && !(is_sheet && own.with_file_name(files::TILE).is_file())
    };
    if is_list(estate) {
        return estate.join(files::TILE).display().to_string();
    }
    let directory = match estate.extension() {
        Some(extension) if extension == "toml" || extension == "json" => estate.parent(),
        _ => Some(estate),
    };
    directory.unwrap_or(Path::new("")).join(files::TILE).display().to_string()
}

/// Makes the path of a datastore absolute, so that the stored plan is valid in any directory. Any
/// other text stays as it is, and is refused where it is read.
fn from_anywhere(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), |target: Target| target.absolute().to_string())
}

/// Makes the path of a second datastore absolute. In a simulation the text names a pool.
fn second_from_anywhere(text: &str) -> String {
    if text.starts_with("pool:") { text.to_owned() } else { from_anywhere(text) }
}

/// Returns the path of a plan file: a regular file whose name ends in `.toml`.
fn plan_file(target: &str) -> Option<PathBuf> {
    let path = Path::new(target);
    let is = |wanted: &str| path.extension().is_some_and(|extension| extension == wanted);
    // A plan in another format is refused by name when it is read.
    let is_plan = is("toml") || ((is("json") || is("yaml") || is("yml")) && path.is_file());
    (is_plan && !target.contains(':')).then(|| path.to_path_buf())
}

/// Refuses a plan in another format than TOML, with the format's name.
fn check_toml(path: &Path) -> Result<(), Failure> {
    let is = |wanted: &str| path.extension().is_some_and(|extension| extension == wanted);
    let begins_so = || {
        let text = untrusted::read_named_text(path).unwrap_or_default();
        text.trim_start().starts_with('{')
    };
    let language = match () {
        () if is("json") || begins_so() => "JSON",
        () if is("yaml") || is("yml") => "YAML",
        () => return Ok(()),
    };
    let message = format!("{} is {language}, but a plan is TOML", path.display());
    let hint = "the keys are those of tilemark schema plan, as in tile = \"shop\"; tilemark run \
                dir:PATH --print-config prints a plan to begin with";
    Err(Failure::new(Exit::Usage, message).hint(Some(hint)))
}

fn profile(quick: bool, standard: bool, full: bool) -> Option<Profile> {
    match (quick, standard, full) {
        (true, ..) => Some(Profile::Quick),
        (_, true, _) => Some(Profile::Standard),
        (.., true) => Some(Profile::Full),
        _ => None,
    }
}

fn simulated_flags(args: &SimulateArgs) -> Plan {
    let profile = profile(args.quick, args.standard, args.full);
    let endpoints = args.endpoints.iter().cloned().collect();
    Plan { profile, endpoints, ..shared(&args.load) }
}

fn flags(args: &RunArgs) -> Plan {
    Plan {
        profile: profile(args.quick, args.standard, args.full),
        engine: args.engine.clone(),
        endpoints: args.endpoints.iter().cloned().collect(),
        hosts: args.hosts.hosts.clone(),
        meters: args.meters.clone(),
        machines: args.machines.clone(),
        ..shared(&args.load)
    }
}

/// Returns the settings that `run` and `simulate` share, including settings with a second option.
fn shared(load: &LoadArgs) -> Plan {
    let mut plan = load.plan.clone();
    plan.tile = plan.tile.or_else(|| load.estate.as_deref().map(tile_of_estate));
    plan.second = plan.second.as_deref().map(second_from_anywhere);
    plan.scale.footprint = plan.scale.footprint.or(load.full_size.then_some(1.0));
    plan
}

/// Returns the name, tags and note of the run.
fn labels(load: &LoadArgs) -> Labels {
    Labels {
        name: load.name.clone(),
        tags: load.tags.iter().cloned().collect(),
        note: load.note.clone(),
    }
}

/// Draws random bits from the operating system, through the keys of the standard hasher.
pub fn entropy() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(8))
}
