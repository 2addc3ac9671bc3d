//! Second datastore of a run, with the disks that belong there. Disks of running VMs move between
//! the two. The rules of the first apply to it separately: it has its own marker, examination,
//! capacity and removal, under the same run identifier.

use datastore::{Datastore, Examination, Target};
use run_store::run::{SIMULATED, TargetFacts, ToolFacts, Warning};
use rustix::fs::FileType;
use spec::array::Array;
use units::Bytes;

use crate::error::BenchError;
use crate::plan::{PlanError, ResolvedPlan};
use crate::rig::SecondStore;
use crate::run::document::{caches, summary, target_facts, warnings};
use crate::run::{RunOptions, Site, TileLoad, datastore_options, json_of};

/// A second datastore before it is opened.
#[derive(Debug)]
pub(super) struct Second {
    pub target: Target,
    options: datastore::Options,
    needed: Bytes,
    /// Bytes that the first datastore uses on the same file system.
    beside: Bytes,
}

impl Second {
    /// Returns the second datastore of a plan, for this many tiles; `None` if the plan has none.
    pub fn of(
        plan: &ResolvedPlan,
        options: &RunOptions,
        (first, load, tiles): (&Target, &TileLoad, u32),
        run_id: &str,
    ) -> Result<Option<Self>, BenchError> {
        let Some(text) = &plan.settings.second else { return Ok(None) };
        is_used(plan, load)?;
        let target: Target = text.parse().map_err(BenchError::Target)?;
        if is_same(first, &target) {
            return Err(PlanError::SecondIsFirst { second: text.clone() }.into());
        }
        let shares = device_of(first).is_some_and(|device| device_of(&target) == Some(device));
        let beside = if shares { load.needed_first(tiles) } else { Bytes::ZERO };
        let options = datastore::Options {
            destroy_data: options.second_destroy_data.clone(),
            ..datastore_options(plan, options, run_id)
        };
        Ok(Some(Self { target, options, needed: load.needed_second(tiles), beside }))
    }

    /// Returns true if both datastores are on one file system or device.
    pub fn shares(&self) -> bool {
        self.beside > Bytes::ZERO
    }

    /// Examines every rule, taking into account the space that the first datastore uses. Only
    /// reads.
    pub fn examine(&self) -> Examination {
        datastore::examine(&self.target, self.needed + self.beside, &self.options)
    }

    /// Examines every rule, as [`Second::examine`] does. The first broken rule is the error.
    pub fn preflight(&self) -> Result<(), BenchError> {
        self.examine().into_result()?;
        Ok(())
    }

    /// Opens the second datastore.
    fn open(&self) -> Result<SecondStore, BenchError> {
        let store = Datastore::open(&self.target, self.needed, &self.options)?;
        Ok(SecondStore { store, shares: self.shares() })
    }
}

/// Opens the second datastore in addition to the first. If that fails, nothing of the first
/// remains.
pub(super) fn open(
    second: Option<&Second>,
    first: Datastore,
) -> Result<(Datastore, Option<SecondStore>), BenchError> {
    match second.map(Second::open).transpose() {
        Ok(second) => Ok((first, second)),
        Err(error) => {
            first.clear();
            Err(error)
        }
    }
}

/// Adds facts about the second datastore to the facts of the first.
pub(super) fn describe(
    site: &mut Site,
    plan: &ResolvedPlan,
    (target, own): (&Target, &SecondStore),
    tool: &ToolFacts,
) {
    let preflight = own.store.preflight();
    let facts = target_facts(plan, target, preflight);
    let datastore = target.to_string();
    site.target.second = Some(Box::new(TargetFacts { datastore, ..facts }));
    site.warnings.extend(
        warnings(preflight).map(|warning| Warning {
            text: format!("second datastore: {}", warning.text),
            ..warning
        }),
    );
    if own.shares {
        site.warnings.push(Warning {
            id: "second-shares".to_owned(),
            text:
                "both datastores are on the same file system or device, so a move reads from and \
                   writes to the same storage"
                    .to_owned(),
            value: None,
            limit: None,
            hint: None,
        });
    }
    site.caches = format!("{}; of the second datastore: {}", site.caches, caches(plan, preflight));
    if let Some(fields) = site.preflight.as_object_mut() {
        fields.insert("second".to_owned(), json_of(preflight));
    }
    let environment = run_store::env::capture(target.path(), tool.clone());
    if let Some(fields) = site.environment.as_object_mut() {
        fields.insert("second".to_owned(), json_of(&environment));
    }
}

/// Returns facts about the pool that acts as second datastore in a simulation.
pub(super) fn modelled(plan: &ResolvedPlan, array: &Array) -> Option<TargetFacts> {
    let datastore = plan.settings.second.clone()?;
    Some(TargetFacts {
        summary: format!("{SIMULATED}: a pool of {}", array.name),
        datastore,
        kind: SIMULATED.to_owned(),
        capacity_bytes: None,
        provisioned_bytes: None,
        array_sha256: None,
        second: None,
        tier: None,
        over: None,
    })
}

/// Refuses a second datastore that no disk uses.
pub(super) fn is_used(plan: &ResolvedPlan, load: &TileLoad) -> Result<(), PlanError> {
    match plan.settings.second.is_some() && load.needed_second(1) == Bytes::ZERO {
        true => Err(PlanError::SecondUnused),
        false => Ok(()),
    }
}

/// Describes both datastores in one line.
pub(super) fn both(first: &Datastore, second: Option<&SecondStore>) -> String {
    let first = summary(first.preflight());
    second.map_or_else(
        || first.clone(),
        |own| format!("{first}; second: {}", summary(own.store.preflight())),
    )
}

/// Returns true if both are the same directory, file or device, even with different paths.
fn is_same(first: &Target, second: &Target) -> bool {
    let identity = |target: &Target| {
        let found = rustix::fs::stat(target.facts().is_path.then(|| target.path())?).ok()?;
        let is_block = FileType::from_raw_mode(found.st_mode).is_block_device();
        Some(if is_block { (found.st_rdev, 0) } else { (found.st_dev, found.st_ino) })
    };
    first.absolute() == second.absolute()
        || identity(first).is_some_and(|one| identity(second) == Some(one))
}

/// Returns the device of a target, if it can be known before the target is opened.
pub(super) fn device_of(target: &Target) -> Option<u64> {
    let path = target.facts().is_path.then(|| target.path())?;
    match rustix::fs::stat(path) {
        Ok(found) if FileType::from_raw_mode(found.st_mode).is_block_device() => {
            Some(found.st_rdev)
        }
        _ => run_store::rundir::device_of(path).ok(),
    }
}
