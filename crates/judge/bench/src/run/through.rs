//! Tier through which a run's disks are reached. The usual rules apply to its datastore: it has its
//! own marker, examination, capacity and removal, under the same run identifier.

use datastore::{Datastore, Target};
use run_store::run::{ServedTier, Warning};

use crate::error::BenchError;
use crate::plan::ResolvedPlan;
use crate::rig::{Through, TierSpec};
use crate::run::document::summary;
use crate::run::second::device_of;
use crate::run::{RunOptions, Site, datastore_options, json_of};

/// A tier that is not created yet.
#[derive(Debug)]
pub(super) struct Before<'a> {
    spec: &'a TierSpec,
    target: Target,
    options: datastore::Options,
    /// True if it is on the file system or device of the datastore.
    shares: bool,
}

impl<'a> Before<'a> {
    /// Returns the tier of a run; `None` if none was requested.
    pub fn of(
        plan: &ResolvedPlan,
        options: &'a RunOptions,
        first: &Target,
        run_id: &str,
    ) -> Result<Option<Self>, BenchError> {
        let Some(spec) = &options.through else { return Ok(None) };
        if !plan.tile_set.operations.is_empty() {
            let what = "operations use them beside the load";
            return Err(BenchError::TierAlone { what });
        }
        let target: Target = spec.target.parse().map_err(BenchError::Target)?;
        let shares = device_of(first).is_some_and(|device| device_of(&target) == Some(device));
        let options =
            datastore::Options { adopt: None, ..datastore_options(plan, options, run_id) };
        Ok(Some(Self { spec, target, options, shares }))
    }

    /// Checks every rule. Only reads.
    pub fn preflight(&self) -> Result<(), BenchError> {
        datastore::preflight(&self.target, self.spec.needed(), &self.options)?;
        Ok(())
    }

    /// Creates the tier.
    pub fn open(&self) -> Result<Through, BenchError> {
        let store = Datastore::open(&self.target, self.spec.needed(), &self.options)?;
        Through::make(self.spec.clone(), store)
    }

    /// Adds the tier to the facts about the run.
    pub fn describe(&self, site: &mut Site, through: &Through) {
        let spec = self.spec;
        let preflight = through.store().preflight();
        site.target.tier = Some(ServedTier {
            datastore: self.target.to_string(),
            summary: summary(preflight),
            mode: if spec.is_back { "back" } else { "through" }.to_owned(),
            size_bytes: spec.size.get(),
            page_bytes: spec.page.get(),
            log_percent: spec.log_percent,
            policy: spec.policy.name().to_owned(),
            admission: spec.admission,
        });
        site.target.summary = format!("{}; through a tier: {spec}", site.target.summary);
        if let Some(fields) = site.preflight.as_object_mut() {
            fields.insert("tier".to_owned(), json_of(preflight));
        }
        let note = |id: &str, text: &str| Warning {
            id: id.to_owned(),
            text: text.to_owned(),
            value: None,
            limit: None,
            hint: None,
        };
        site.warnings.push(note(
            "tier-in-process",
            "a thread of this program serves the tier over a socket, so the processor time of the \
             load includes the tier's",
        ));
        site.warnings.push(note(
            "tier-begins-empty",
            "the tier begins empty and is kept between steps, so earlier steps had a colder tier; \
             each step has its hits",
        ));
        if spec.is_back {
            site.warnings.push(note(
                "tier-owes",
                "writes in the log at the end of a step reach the datastore unmeasured \
                 (tier.dirty_bytes): a load that runs longer than the log lasts is slower",
            ));
        }
        if self.shares {
            site.warnings.push(note(
                "tier-shares",
                "the tier is on the file system or device of the datastore, so both compete for \
                 the same storage",
            ));
        }
    }
}
