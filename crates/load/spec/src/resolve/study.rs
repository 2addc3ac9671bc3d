use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use toml::Table as Changes;

use super::change::lay_over;
use super::folder::{File, Folder, beside};
use super::overlay::with_all;
use super::tile::beside as run_beside;
use crate::array::Array;
use crate::check::{Finding, Findings};
use crate::error::SpecError;
use crate::events::{PlannedEvent, Restart};
use crate::load::{load_study, load_tile, load_workload, refuse};
use crate::locate::DefinitionPath;
use crate::nearest::did_you_mean;
use crate::over::OverSetting;
use crate::plan::{Measure, Scale};
use crate::shipped;
use crate::study::formula::{Argument, Formula, FormulaError, Node, Scope, Tree, parse};
use crate::study::{Configuration, Limits, RealConfiguration, Study, TileList};
use crate::tile::ResolvedTile;
use crate::workload::{Action, Step, Workload};

/// Study with all definitions that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedStudy {
    /// Study as written in the file.
    pub study: Study,
    /// Modelled configurations, in the order of the study.
    pub configurations: Vec<ResolvedConfiguration>,
    /// Configurations on real storage, in the order of the study.
    pub reals: Vec<ResolvedReal>,
    /// Formula of each table, in the order of the study.
    pub tables: Vec<Formula>,
    /// Formula of each claim, in the order of the study; `None` for claims without one.
    pub claims: Vec<Option<Formula>>,
    /// File of the study itself.
    pub file: File,
}

/// Modelled configuration with all definitions that it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResolvedConfiguration {
    /// Name of the configuration.
    pub name: String,
    /// Title in tables, one line.
    pub title: String,
    /// Name or path of the array.
    pub array_name: String,
    /// Array with the configuration's changes.
    pub array: Array,
    /// Name or path of the tile.
    pub tile_name: String,
    /// Tile with the configuration's changes to its workloads, and with its operations.
    pub tile: ResolvedTile,
    /// Name or path of the operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// Second datastore of the operations: `pool:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    /// Events of the array's hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<PlannedEvent>,
    /// Restart of a lost host's virtual machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Numbers of tiles to run.
    pub tiles: Vec<u32>,
    /// Measurement of the steps, from the configuration or else the study.
    pub measure: Measure,
    /// Factor applied to disk sizes.
    pub footprint: f64,
    /// Factor applied to schedule times.
    pub time: f64,
}

/// Configuration on real storage with all definitions that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedReal {
    /// Name of the configuration.
    pub name: String,
    /// Title in tables, one line.
    pub title: String,
    /// Name or path of the tile.
    pub tile_name: String,
    /// Tile with the configuration's changes to its workloads.
    pub tile: ResolvedTile,
    /// Numbers of tiles to run.
    pub tiles: Vec<u32>,
    /// Storage protocol through which the disks are reached; `None` for local files.
    pub over: Option<OverSetting>,
    /// Limits that slow the storage down.
    pub limits: Limits,
    /// True if I/O goes through the page cache.
    pub buffered: bool,
    /// Number of threads that generate the load.
    pub workers: u32,
    /// Measurement of the steps, from the configuration or else the study.
    pub measure: Measure,
    /// Factor applied to disk sizes.
    pub footprint: f64,
    /// Factor applied to schedule times.
    pub time: f64,
}

/// Resolves a shipped study by name, or a study from a file whose path ends in `.toml`.
///
/// # Errors
///
/// There is no such study, a file that it names cannot be read, or a definition is invalid.
pub fn resolve_study(name: &str) -> Result<ResolvedStudy, SpecError> {
    if !shipped::is_path(name) {
        let names: Vec<&str> = shipped::study_names().collect();
        if !names.contains(&name) {
            return Err(shipped::not_shipped("study", name, names.into_iter()));
        }
        let file = Folder::Shipped.read(&format!("{name}.toml"), "study")?;
        return resolve_study_text(file, &Folder::Shipped);
    }
    let path = Path::new(name);
    let folder = Folder::Directory(path.parent().map_or_else(PathBuf::new, Path::to_path_buf));
    let file = path.file_name().map(|file| file.to_string_lossy().into_owned());
    let file = folder.read(&file.unwrap_or_default(), "study")?;
    resolve_study_text(file, &folder)
}

/// Resolves a study from its text. Paths in the study are relative to `folder`.
///
/// # Errors
///
/// Errors of [`resolve_study`].
pub fn resolve_study_text(file: File, folder: &Folder) -> Result<ResolvedStudy, SpecError> {
    let study = load_study(&file.name, &file.text)?;
    let mut known: IndexMap<&str, Merged> = IndexMap::new();
    let mut configurations = Vec::new();
    for configuration in &study.configurations {
        let merged = Merged::new(configuration, &study, &known);
        configurations.push(merged.resolve(configuration, folder)?);
        known.insert(&configuration.name, merged);
    }
    let real = |each| ResolvedReal::new(each, &study, folder);
    let reals = study.reals.iter().map(real).collect::<Result<Vec<_>, _>>()?;
    let formula =
        |text: &str, scope| parse(text, scope).expect("the study's check parsed the formula");
    let tables = study.tables.iter().map(|each| formula(&each.measure, Scope::Table)).collect();
    let claim = |text: &String| formula(text, Scope::Claim);
    let claims = study.claims.iter().map(|each| each.measure.as_ref().map(claim)).collect();
    let resolved = ResolvedStudy { study, configurations, reals, tables, claims, file };
    refuse(&resolved.file.name, &resolved.file.text, resolved.unknown_names())?;
    Ok(resolved)
}

/// Settings of a configuration, merged with the settings of the configurations that it is based on
/// (`like`).
#[derive(Debug, Clone)]
struct Merged {
    array: String,
    changes: Vec<Changes>,
    tile: String,
    operations: Option<String>,
    second: Option<String>,
    events: Vec<PlannedEvent>,
    restart: Option<Restart>,
    tiles: TileList,
    measure: Measure,
    scale: Scale,
    workload: Vec<IndexMap<String, Changes>>,
}

impl Merged {
    fn new(each: &Configuration, study: &Study, known: &IndexMap<&str, Self>) -> Self {
        let like = each.like.as_deref().map(|name| known[name].clone());
        let checked = "the study's check found the tile";
        let (array, tile, tiles) = (each.array.clone(), each.tile.clone(), each.tiles.clone());
        let (operations, second) = (each.operations.clone(), each.second.clone());
        let mut merged = match like {
            Some(like) => Self {
                array: array.unwrap_or(like.array),
                tile: tile.unwrap_or(like.tile),
                operations: operations.or(like.operations),
                second: second.or(like.second),
                events: if each.events.is_empty() { like.events } else { each.events.clone() },
                restart: each.restart.or(like.restart),
                tiles: tiles.unwrap_or(like.tiles),
                ..like
            },
            None => Self {
                array: array.expect(checked),
                changes: Vec::new(),
                tile: tile.or_else(|| study.tile.clone()).expect(checked),
                operations,
                second,
                events: each.events.clone(),
                restart: each.restart,
                tiles: tiles.or_else(|| study.tiles.clone()).expect(checked),
                measure: study.measure.clone(),
                scale: study.scale.clone(),
                workload: Vec::new(),
            },
        };
        merged.changes.push(each.with.clone());
        merged.workload.push(each.workload.clone());
        merged.measure = measure_over(&each.measure, &merged.measure);
        merged.scale = scale_over(&each.scale, &merged.scale);
        merged
    }

    fn resolve(
        &self,
        configuration: &Configuration,
        folder: &Folder,
    ) -> Result<ResolvedConfiguration, SpecError> {
        let name = &configuration.name;
        let array = self.array(name, folder)?;
        let tile = changed_tile(&self.tile, &self.workload, name, folder)?;
        let tile = match &self.operations {
            Some(group) => run_beside(tile, group, operations(group, folder)?)?,
            None => tile,
        };
        if let Some(second) = &self.second {
            check_second(name, second, &array, &tile)?;
        }
        Ok(ResolvedConfiguration {
            name: name.clone(),
            title: configuration.title.clone(),
            array_name: self.array.clone(),
            array,
            tile_name: self.tile.clone(),
            tile,
            operations: self.operations.clone(),
            second: self.second.clone(),
            events: self.events.clone(),
            restart: self.restart,
            tiles: self.tiles.numbers().to_vec(),
            measure: self.measure.clone(),
            footprint: self.scale.footprint.unwrap_or(1.0),
            time: self.scale.time.unwrap_or(1.0),
        })
    }

    fn array(&self, configuration: &str, folder: &Folder) -> Result<Array, SpecError> {
        let file = if shipped::is_path(&self.array) {
            folder.read(&self.array, "array")?
        } else {
            let known = shipped::arrays().iter().find(|file| file.name == self.array);
            let Some(file) = known else {
                return Err(shipped::not_shipped("array", &self.array, shipped::array_names()));
            };
            File { name: format!("arrays/{}.toml", file.name), text: file.text.to_owned() }
        };
        let name = format!("{} of configuration \"{configuration}\"", file.name);
        with_all(&name, &file.text, &self.changes)
    }
}

impl ResolvedReal {
    fn new(each: &RealConfiguration, study: &Study, folder: &Folder) -> Result<Self, SpecError> {
        let tile = each.tile.as_ref().or(study.tile.as_ref());
        let tile_name = tile.expect("the study's check found the tile").clone();
        let changes = std::slice::from_ref(&each.workload);
        let scale = scale_over(&each.scale, &study.scale);
        Ok(Self {
            name: each.name.clone(),
            title: each.title.clone(),
            tile: changed_tile(&tile_name, changes, &each.name, folder)?,
            tile_name,
            tiles: each.tiles.numbers().to_vec(),
            over: each.over,
            limits: each.limits,
            buffered: each.buffered,
            workers: each.workers,
            measure: measure_over(&each.measure, &study.measure),
            footprint: scale.footprint.unwrap_or(1.0),
            time: scale.time.unwrap_or(1.0),
        })
    }
}

/// Merges two measurement settings: `near` overrides `far`.
fn measure_over(near: &Measure, far: &Measure) -> Measure {
    Measure {
        warm_up_min: near.warm_up_min.or(far.warm_up_min),
        warm_up_max: near.warm_up_max.or(far.warm_up_max),
        duration: near.duration.or(far.duration),
        slice: near.slice.or(far.slice),
    }
}

fn scale_over(near: &Scale, far: &Scale) -> Scale {
    Scale { footprint: near.footprint.or(far.footprint), time: near.time.or(far.time) }
}

/// Reads a tile, and applies a configuration's changes to its workloads.
fn changed_tile(
    name: &str,
    changes: &[IndexMap<String, Changes>],
    configuration: &str,
    folder: &Folder,
) -> Result<ResolvedTile, SpecError> {
    let mut tile = tile(name, folder)?;
    for (name, changes) in changes.iter().flatten() {
        let known: Vec<String> = tile.workloads.iter().map(|(w, _)| w.name.clone()).collect();
        let Some(position) = known.iter().position(|known| known == name) else {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(SpecError::NotInTile {
                configuration: configuration.to_owned(),
                workload: name.clone(),
                tile: tile.tile.name,
                help: did_you_mean(name, &known, "workloads"),
            });
        };
        let workload = &mut tile.workloads[position].0;
        *workload = changed(workload, changes, configuration)?;
    }
    Ok(tile)
}

/// Applies changes to a workload.
fn changed(
    workload: &Workload,
    changes: &Changes,
    configuration: &str,
) -> Result<Workload, SpecError> {
    let name = format!("workload {} of configuration \"{configuration}\"", workload.name);
    let mut table = Changes::try_from(workload).expect("a workload is a TOML table");
    lay_over(&mut table, changes);
    let text = toml::to_string(&table).expect("a TOML table can be serialised");
    load_workload(&name, &text)
}

/// Reads a group of infrastructure operations.
fn operations(name: &str, folder: &Folder) -> Result<ResolvedTile, SpecError> {
    if shipped::is_path(name) { tile(name, folder) } else { shipped::group(name) }
}

/// Checks that a second datastore is a pool of the array, and that a disk is placed there.
fn check_second(
    configuration: &str,
    second: &str,
    array: &Array,
    tile: &ResolvedTile,
) -> Result<(), SpecError> {
    let wrong = |problem, help| SpecError::Second {
        configuration: configuration.to_owned(),
        second: second.to_owned(),
        problem,
        help,
    };
    let known: Vec<&str> = array.pools.iter().map(|pool| pool.name.as_str()).collect();
    let pool = second.split_once(':').map_or(second, |(_, pool)| pool);
    if !known.contains(&pool) {
        return Err(wrong("which its array does not have", did_you_mean(pool, &known, "pools")));
    }
    let mut operations = tile.operations.iter().map(|(own, _)| own);
    if operations.any(lies_on_second) {
        return Ok(());
    }
    let help = "give it operations = NAME that move disks, or have disks that are on = \"second\"";
    Err(wrong("but it has no data there", help.to_owned()))
}

/// Returns true if an operation has a disk on the second datastore, or moves a disk there.
fn lies_on_second(operation: &Workload) -> bool {
    let mut steps = operation.actions.iter().flat_map(|action| &action.steps);
    let mut disks = operation.vms.iter().flat_map(|vm| &vm.disks);
    disks.any(|disk| !disk.on.is_first()) || steps.any(|step| matches!(step, Step::Move(_)))
}

fn tile(name: &str, folder: &Folder) -> Result<ResolvedTile, SpecError> {
    if !shipped::is_path(name) {
        return shipped::tile(name);
    }
    let file = folder.read(name, "tile")?;
    let tile = load_tile(&file.name, &file.text)?;
    let mut workloads: Vec<(Workload, u32)> = Vec::new();
    for part in &tile.workloads {
        let workload = if shipped::is_path(&part.workload) {
            let file = folder.read(&beside(name, &part.workload), "workload")?;
            load_workload(&file.name, &file.text)?
        } else {
            shipped::workload(&part.workload)?
        };
        if workloads.iter().any(|(before, _)| before.name == workload.name) {
            return Err(SpecError::SameName { tile: tile.name, name: workload.name });
        }
        workloads.push((workload, part.count));
    }
    Ok(ResolvedTile::new(tile, workloads))
}

impl ResolvedStudy {
    /// Returns the configuration with this name.
    pub fn configuration(&self, name: &str) -> Option<&ResolvedConfiguration> {
        self.configurations.iter().find(|each| each.name == name)
    }

    /// Returns the configuration on real storage with this name.
    pub fn real(&self, name: &str) -> Option<&ResolvedReal> {
        self.reals.iter().find(|each| each.name == name)
    }

    /// Returns the name and tile of a configuration of either kind.
    fn tile_of(&self, name: &str) -> Option<NamedTile<'_>> {
        let modelled = self.configuration(name).map(|each| (&each.tile_name, &each.tile));
        let real = || self.real(name).map(|each| (&each.tile_name, &each.tile));
        let (tile_name, tile) = modelled.or_else(real)?;
        Some(NamedTile { configuration: name.to_owned(), tile_name, tile })
    }

    /// Finds workloads and actions in formulas that the tile does not have.
    fn unknown_names(&self) -> Vec<Finding> {
        let mut found = Findings::default();
        let root = DefinitionPath::default();
        let names = |each: &crate::study::Table| each.configurations.clone();
        for (i, (formula, table)) in self.tables.iter().zip(&self.study.tables).enumerate() {
            let place = root.key("table").index(i).key("measure");
            let all = || self.configurations.iter().map(|each| each.name.clone()).collect();
            let columns = names(table).unwrap_or_else(all);
            self.unknown_in(formula, &columns, &place, &mut found);
        }
        for (i, formula) in self.claims.iter().enumerate() {
            let place = root.key("claim").index(i).key("measure");
            formula.iter().for_each(|formula| self.unknown_in(formula, &[], &place, &mut found));
        }
        found.into_vec()
    }

    fn unknown_in(
        &self,
        formula: &Formula,
        columns: &[String],
        place: &DefinitionPath,
        out: &mut Findings,
    ) {
        formula.root.walk(&mut |node| {
            let named = node.configuration().map(|(name, _)| vec![name.to_owned()]);
            let of = named.unwrap_or_else(|| columns.to_vec());
            let tiles = of.iter().filter_map(|name| self.tile_of(name));
            let error = tiles.filter_map(|tile| unknown_argument(node, &tile)).next();
            error.into_iter().for_each(|error| out.formula(place.clone(), &formula.text, error));
        });
    }
}

struct NamedTile<'a> {
    configuration: String,
    tile_name: &'a str,
    tile: &'a ResolvedTile,
}

/// Finds an argument of a function that names a workload or action that the configuration's tile
/// does not have.
fn unknown_argument(node: &Node, of: &NamedTile<'_>) -> Option<FormulaError> {
    let Tree::Call(function, arguments) = &node.tree else { return None };
    let signature = function.signature();
    let argument = |kind| {
        let place = |index| signature.argument(index) == Some(kind);
        (0..arguments.len()).find(|index| place(*index)).map(|index| &arguments[index])
    };
    let error = |node: &Node, what, name, known: &[&str]| {
        let message = format!(
            "there is no {what} \"{name}\" in tile \"{}\" of \"{}\"",
            of.tile_name, of.configuration
        );
        let help = did_you_mean(name, known, &format!("{what}s"));
        FormulaError::new(node.at.clone(), message).help(help)
    };
    let node = argument(Argument::Workload)?;
    let name = node.as_text()?;
    let workloads: Vec<&str> = of.tile.all().map(|(w, _)| w.name.as_str()).collect();
    let Some(position) = workloads.iter().position(|known| *known == name) else {
        return Some(error(node, "workload", name, &workloads));
    };
    let actions = of.tile.at(position).0.actions.iter();
    let actions: Vec<String> = actions.flat_map(Action::names).collect();
    let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    let node = argument(Argument::Action)?;
    let name = node.as_text()?;
    (!actions.contains(&name)).then(|| error(node, "action", name, &actions))
}
