use run_store::slice::SizeClass;

use super::headline::headline;
use crate::document::{Dimensions, RunPage};
use crate::facts::facts;
use crate::source::Source;
use crate::warnings::warnings;
use crate::words;

impl Source {
    /// Returns everything about a run that does not depend on the lens.
    pub fn page(&self) -> RunPage {
        let files = self.files();
        RunPage {
            row: self.row(),
            headline: headline(self),
            warnings: self.run().map(warnings).unwrap_or_default(),
            facts: self.run().map(facts).unwrap_or_default(),
            run: self.run().cloned(),
            environment: files.environment.clone(),
            preflight: files.preflight.clone(),
            plan: files.plan.clone(),
            checksums: files.checksums.clone(),
            dimensions: self.dimensions(),
            steps: self.step_spans(),
            end_ns: self.rollup().end().0,
            slice_ns: self.slice().0,
            live: self.live_state().cloned(),
        }
    }

    fn dimensions(&self) -> Dimensions {
        let of_steps = self.steps().iter().map(|step| step.tiles);
        let of_spans = self.rollup().spans().iter().map(|span| span.tiles);
        Dimensions {
            workloads: self.workloads(),
            tiles: of_steps.chain(of_spans).max().unwrap_or(0),
            hosts: self.hosts().names().to_vec(),
            classes: SizeClass::all().map(|class| class.name().to_owned()).to_vec(),
            has_tier: self.has_tier(),
            has_calls: !self.rollup().call_names().is_empty(),
            has_ladder: !self.is_observed(),
            has_times: self.has_times(),
            has_latencies: self.has_latencies(),
            lacks: words::lacks(self),
        }
    }
}
