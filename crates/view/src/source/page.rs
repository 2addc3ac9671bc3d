use record::slice::SizeClass;
use units::Nanos;

use super::Source;
use crate::document::{Dimensions, RunPage};

impl Source {
    /// What does not depend on the lens.
    pub fn page(&self) -> RunPage {
        let files = &self.facts.files;
        RunPage {
            row: self.row(),
            headline: crate::views::headline(self),
            run: self.facts.run.clone(),
            environment: files.environment.clone(),
            preflight: files.preflight.clone(),
            plan: files.plan.clone(),
            checksums: files.checksums.clone(),
            dimensions: self.dimensions(),
            steps: self.step_spans(),
            end_ns: self.rollup.end().0,
            slice_ns: self.slice().0,
            live: self.live.clone(),
        }
    }

    fn dimensions(&self) -> Dimensions {
        let of_steps = self.steps().iter().map(|step| step.tiles);
        let of_spans = self.rollup.spans().iter().map(|span| span.tiles);
        Dimensions {
            workloads: self.workloads(),
            tiles: of_steps.chain(of_spans).max().unwrap_or(0),
            classes: SizeClass::all().map(|class| class.name().to_owned()).to_vec(),
            has_tier: self.has_tier(),
            has_ladder: !self.is_observed(),
        }
    }

    /// Names of workloads, in the order in which they appeared.
    pub(crate) fn workloads(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for entity in &self.rollup.wide().entities {
            if !names.contains(&entity.workload) {
                names.push(entity.workload.clone());
            }
        }
        names
    }

    pub(crate) fn has_tier(&self) -> bool {
        let of_model = self.steps().iter().filter_map(|step| step.model.as_ref());
        !self.rollup.tier_names().is_empty()
            || of_model.flat_map(|model| &model.tiers).next().is_some()
    }

    /// The finest step of time there is.
    pub(crate) fn slice(&self) -> Nanos {
        let of_run = self.facts.run.as_ref().map(|run| Nanos(run.engine.slice_ns));
        of_run.filter(|width| width.0 > 0).unwrap_or(self.rollup.wide().width)
    }
}
