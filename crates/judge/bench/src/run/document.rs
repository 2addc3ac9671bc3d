use std::sync::Arc;

use datastore::{Preflight, Target};
use jiff::Timestamp;
use run_store::run::{
    Answer, Capacity, Edge, EngineFacts, EstateFacts, Known, LoadHost, ModelError, OperationsFacts,
    Prefill, Run, SCHEMA, ScaleFacts, Status, Step, TargetFacts, TileFacts, TilesInterval,
    ToolFacts, Warning,
};
use run_store::rundir::{RunId, sha256_hex};
use spec::ResolvedTile;
use spec::array::Calibrated;
use spec::plan::Profile;
use state_machine::GENERATOR;
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::plan::ResolvedPlan;
use crate::run::larger::{Larger, Reason};
use crate::run::wear::Wears;
use crate::run::{End, Reporter, TileLoad};
use crate::score::References;

/// Facts about a run that are known before its first step.
#[derive(Debug, Clone)]
pub struct RunFacts<'a> {
    /// Identifier of the run.
    pub id: String,
    /// Reference values, each of which is one tile's worth of work.
    pub references: &'a References,
    /// Load of one tile.
    pub load: TileLoad,
    /// Maximum number of tiles that fit into the datastore.
    pub fits: u32,
    /// Size of one tile's disks at full size, if they are scaled down.
    pub full_bytes: Option<Bytes>,
    /// Target of the run.
    pub target: TargetFacts,
    /// Start of the run.
    pub started: Timestamp,
    tool: ToolFacts,
    plan_sha256: String,
    warnings: Vec<Warning>,
    /// Known caches in front of real storage.
    pub caches: Option<String>,
    /// Error of the array's model, if the array was fitted to storage.
    pub calibration: Option<Calibrated>,
    /// Driving hosts, if not only this host drives.
    pub hosts: Vec<LoadHost>,
    /// True if the host's power policies are read before and after the run.
    pub power_policies: bool,
    /// Wear of the devices before the run, and the `env.json` document that contains it.
    pub wear: Option<(Wears, serde_json::Value)>,
    /// Generator of the report.
    pub reporter: Option<Arc<dyn Reporter>>,
    /// Reason why a quick search does not make its disks larger.
    pub kept_small: Option<Reason>,
    /// Results of the search that larger disks confirm: size of a tile's disks, and the numbers of
    /// tiles that held and failed.
    pub search: Option<(Bytes, u32, u32)>,
    /// Limit of a simulation's real time, if there is one.
    pub within: Option<Nanos>,
}

impl<'a> RunFacts<'a> {
    /// Collects the facts about a run that starts now.
    pub fn new(
        plan: &ResolvedPlan,
        references: &'a References,
        load: TileLoad,
        tool: &ToolFacts,
        id: &RunId,
        target: TargetFacts,
    ) -> Result<Self, BenchError> {
        Ok(Self {
            id: id.to_string(),
            references,
            load,
            fits: u32::MAX,
            full_bytes: full_bytes(plan)?,
            target,
            started: Timestamp::now(),
            tool: tool.clone(),
            plan_sha256: sha256_hex(plan.to_toml()?.as_bytes()),
            warnings: Vec::new(),
            caches: None,
            calibration: None,
            hosts: Vec::new(),
            power_policies: false,
            wear: None,
            reporter: None,
            kept_small: None,
            search: None,
            within: None,
        })
    }

    /// Adapts the facts to disks of another size: bytes per tile, and number of tiles that fit.
    ///
    /// # Errors
    ///
    /// The plan cannot be stored.
    pub fn resize(&mut self, larger: &Larger) -> Result<(), BenchError> {
        self.plan_sha256 = sha256_hex(larger.plan.to_toml()?.as_bytes());
        (self.load, self.fits) = (larger.load, larger.fits);
        Ok(())
    }

    /// Returns the capacity in tiles of full size; `None` if disks have full size, or the capacity
    /// is unknown.
    pub fn room(&self) -> Option<Capacity> {
        let (tile, bytes) = (self.full_bytes?.get(), self.target.capacity_bytes?);
        let tiles = bytes.checked_div(tile)?;
        let tiles = u32::try_from(tiles).unwrap_or(u32::MAX);
        Some(Capacity { tiles, tile_bytes: tile, bytes })
    }

    /// Adds warnings.
    pub fn note(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.warnings.extend(warnings);
    }

    /// Records that the disks of an earlier run are used.
    pub fn note_reuse(&mut self, run_id: &str) {
        self.warnings.push(Warning {
            id: "reused".to_owned(),
            text: format!(
                "the disks of run {run_id} are reused, with all data written to them since"
            ),
            value: None,
            limit: None,
            hint: None,
        });
    }

    /// Returns the document of the run. Facts that are only known at its end are missing: backend,
    /// depth and provisioned bytes.
    pub fn run(
        &self,
        plan: &ResolvedPlan,
        answer: Answer,
        steps: Vec<Step>,
        prefill: Option<Prefill>,
        end: &End,
    ) -> Run {
        Run {
            schema: SCHEMA.to_owned(),
            id: self.id.clone(),
            labels: plan.labels.clone(),
            started: self.started,
            ended: None,
            tool: self.tool.clone(),
            seed: plan.seed,
            random_generator: GENERATOR.to_owned(),
            profile: profile_name(plan.profile).to_owned(),
            target: self.target.clone(),
            tile: self.tile(plan),
            scale: ScaleFacts { footprint: plan.footprint, time: plan.time },
            engine: EngineFacts {
                backend: "none".to_owned(),
                workers: plan.workers,
                depth: 0,
                buffered: plan.settings.engine.buffered,
                verify: plan.settings.engine.verify,
                slice_ns: plan.slice.0,
            },
            hosts: self.hosts.clone(),
            meters: Vec::new(),
            power_policies: None,
            plan_sha256: self.plan_sha256.clone(),
            plan: plan.values(),
            prefill,
            steps,
            resized: None,
            answer: match &self.calibration {
                Some(known) => widened(answer, known),
                None => answer,
            },
            expectations: Vec::new(),
            warnings: self.warnings(plan, end),
        }
    }

    /// Returns the warning about disks below full size, which every such result has, because caches
    /// hold more of them.
    fn scaled(&self, plan: &ResolvedPlan) -> Option<Warning> {
        let footprint = plan.footprint;
        let caches = self.caches.as_ref().map_or_else(String::new, |seen| format!(" ({seen})"));
        let kept = |reason: &Reason| format!("; they were not made larger: {reason}");
        let kept = self.kept_small.as_ref().map_or_else(String::new, kept);
        (footprint < 1.0).then(|| Warning {
            id: Known::ScaledFootprint.id().to_owned(),
            text: format!(
                "disks have 1/{:.0} of their full size, so caches of the storage hold a larger \
                 share of them than at full size{caches}{kept}",
                1.0 / footprint
            ),
            value: Some(format!("{footprint:.6}")),
            limit: Some("1".to_owned()),
            hint: Some(match self.target.is_simulated() {
                true => "a simulation without --footprint uses the full size".to_owned(),
                false => "--full-size, --standard and --full use larger disks".to_owned(),
            }),
        })
    }

    fn tile(&self, plan: &ResolvedPlan) -> TileFacts {
        TileFacts {
            name: plan.tile_set.tile.name.clone(),
            sha256: tile_sha256(&plan.traces.identify(&plan.tile_set)),
            vms: self.load.vms,
            workloads: self.load.workloads,
            disk_bytes: self.load.bytes.get(),
            operations: plan.settings.operations.clone().map(|name| OperationsFacts {
                name,
                sha256: operations_sha256(&plan.tile_set),
                disk_bytes: self.load.beside.get(),
            }),
            endpoints: plan.settings.endpoints.keys().cloned().collect(),
            estate: plan.tile_set.tile.estate.map(|own| EstateFacts {
                vms: own.vms,
                tiles: own.tiles,
                capacity_bytes: own.capacity.get(),
                measured: own.measured.get(),
            }),
        }
    }

    fn warnings(&self, plan: &ResolvedPlan, end: &End) -> Vec<Warning> {
        let mut warnings = self.warnings.clone();
        warnings.extend(self.scaled(plan));
        warnings.extend(plan.traces.all().flat_map(|(_, trace)| trace.warnings.clone()));
        if let End::Failed(error) = end {
            warnings.push(Warning {
                id: error.id().to_owned(),
                text: error.to_string(),
                value: None,
                limit: None,
                hint: error.hint(),
            });
        }
        warnings
    }
}

/// Widens the answer of a calibrated model by the error of the model.
fn widened(mut answer: Answer, known: &Calibrated) -> Answer {
    let searched = answer.tiles_interval;
    let widening = answer.tiles_held.zip(known.factors());
    if let Some((held, (low, high))) = widening {
        let is_edge = matches!(answer.edge, Edge::LimitBroken | Edge::ThroughputFlat);
        let high_alone = is_edge.then_some(held);
        let alone =
            TilesInterval { low: held, high: high_alone, most_likely: None, confidence: 0.95 };
        let own = searched.unwrap_or(alone);
        let (low, high) =
            (times(own.low, low, f64::floor), own.high.map(|own| times(own, high, f64::ceil)));
        answer.tiles_interval = Some(TilesInterval { low, high, ..own });
    }
    let is_too_far = known.is_too_far_off();
    if let Some(climb) = &mut answer.climb {
        let is_interval_widened = widening.is_some();
        let text = known.sentence();
        climb.model_error = Some(ModelError { searched, is_interval_widened, is_too_far, text });
    }
    if is_too_far && answer.status == Status::Complete {
        answer.status = Status::Inconclusive;
    }
    answer
}

fn full_bytes(plan: &ResolvedPlan) -> Result<Option<Bytes>, BenchError> {
    if plan.footprint >= 1.0 || plan.traces.all().next().is_some() {
        return Ok(None);
    }
    let mut full = plan.clone();
    full.footprint = 1.0;
    Ok(Some(TileLoad::of(&full)?.bytes))
}

/// Multiplies a number of tiles by a factor, and rounds with `round`. Whole products are not
/// rounded.
pub fn times(tiles: u32, factor: f64, round: fn(f64) -> f64) -> u32 {
    const EXACT: f64 = 1e-9;
    let product = f64::from(tiles) * factor;
    let whole = product.round();
    let tiles = if (product - whole).abs() < EXACT { whole } else { round(product) };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let tiles = tiles as u32;
    tiles
}

/// Returns the hash of a tile without its operations: equal hashes mean equal loads. Operations
/// have a separate hash ([`operations_sha256`]).
pub fn tile_sha256(tile: &ResolvedTile) -> String {
    let alone = ResolvedTile { operations: Vec::new(), ..tile.clone() };
    sha256_hex(&serde_json::to_vec(&alone).unwrap_or_default())
}

/// Returns the hash of the infrastructure operations.
pub fn operations_sha256(tile: &ResolvedTile) -> String {
    sha256_hex(&serde_json::to_vec(&tile.operations).unwrap_or_default())
}

/// Returns the reason why memory is measured instead of storage; `None` if it is not. Direct I/O
/// may be refused, or the file system may be in memory.
pub fn page_cache(found: &Preflight) -> Option<String> {
    let memory = found.file_system.as_ref().map(|facts| facts.fs_type.as_str());
    let memory = memory.filter(|kind| ["tmpfs", "ramfs"].contains(kind));
    let words = |kind| format!("it is on {kind}, which is memory");
    found.direct_refused().map(str::to_owned).or_else(|| memory.map(words))
}

/// Describes the known caches. Only with this knowledge can disks be chosen that are larger than
/// the caches.
pub fn caches(plan: &ResolvedPlan, preflight: &Preflight) -> String {
    let is_cached = plan.settings.engine.buffered || page_cache(preflight).is_some();
    let page_cache =
        if is_cached { "the page cache answers" } else { "the page cache is bypassed" };
    let device = preflight.device.as_ref();
    let device = device.and_then(|device| Some((&device.name, device.write_cache.as_ref()?)));
    let device = device.map_or_else(String::new, |(name, cache)| format!("{name} says {cache}, "));
    format!("{page_cache}, {device}and the layers below cannot be seen")
}

pub(crate) const fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Quick => "quick",
        Profile::Standard => "standard",
        Profile::Full => "full",
    }
}

/// Returns facts about a real target after its examination.
pub fn target_facts(plan: &ResolvedPlan, target: &Target, preflight: &Preflight) -> TargetFacts {
    TargetFacts {
        datastore: plan.datastore.clone(),
        kind: kind(target),
        summary: summary(preflight),
        capacity_bytes: Some(preflight.capacity_bytes),
        provisioned_bytes: None,
        array_sha256: None,
        second: None,
        tier: None,
        over: None,
    }
}

/// Returns warnings from the examination of a target.
pub fn warnings(preflight: &Preflight) -> impl Iterator<Item = Warning> + '_ {
    preflight.warnings.iter().map(|warning| Warning {
        id: warning.id.clone(),
        text: warning.text.clone(),
        value: None,
        limit: None,
        hint: None,
    })
}

/// Returns the kind of the target in one word.
fn kind(target: &Target) -> String {
    target.facts().noun.replace(' ', "-")
}

/// Returns a text such as `ext4 on nvme0n1 (Samsung SSD 990, 1.8 TiB)`.
pub fn summary(preflight: &Preflight) -> String {
    let device = preflight.device.as_ref().map(|device| {
        let size = units::Bytes::new(device.size_bytes);
        match &device.model {
            Some(model) => format!("{} ({}, {size})", device.name, model.trim()),
            None => format!("{} ({size})", device.name),
        }
    });
    match (&preflight.file_system, device) {
        (Some(file_system), Some(device)) => format!("{} on {device}", file_system.fs_type),
        (Some(file_system), None) => format!("{} on {}", file_system.fs_type, file_system.source),
        (None, Some(device)) => device,
        (None, None) => preflight.resolved.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_store::run::{ClimbFacts, Figure, Stop};
    use spec::array::TileCheck;

    fn answered(modelled_us: u64, buffered: bool) -> Run {
        let mut run = fixtures::run(1, Vec::new());
        let mut answer = run.answer;
        let interval =
            TilesInterval { low: 18, high: Some(20), most_likely: None, confidence: 0.95 };
        (answer.tiles_held, answer.tiles_interval) = (Some(19), Some(interval));
        let stop = Some(Stop::Limit { tiles: 20 });
        answer.climb = Some(ClimbFacts { stop, ..ClimbFacts::default() });
        answer.score = Figure::of(17.25);
        let check = TileCheck {
            tile: "general".to_owned(),
            measured_rate: 1000.0,
            modelled_rate: 1000.0,
            measured_time: Nanos::from_micros(800),
            modelled_time: Nanos::from_micros(modelled_us),
        };
        run.answer = widened(answer, &Calibrated { buffered, check: Some(check) });
        run.write_sentences();
        run
    }

    /// Regression: the model predicted 19, measurements were 6, 7 and 12, and the answer showed no
    /// uncertainty.
    #[test]
    fn a_calibrated_array_answers_with_its_error() {
        let run = answered(600, true);
        let found = &run.answer;
        assert_eq!(found.tiles_interval.map(|i| (i.low, i.high)), Some((13, Some(20))));
        assert!(
            found.sentence.starts_with(
                "This datastore holds 18 to 20 tiles (95 %), 19 most likely. Tile 20 fails because it did not pass. Score 17.25. With the error of the model 13 to 20 tiles. The array"
            ),
            "{found:?}"
        );
        assert!(found.sentence.contains("through the page cache"), "{found:?}");
        assert_eq!(found.status, Status::Complete);
        // Regression: the page cut off the model's error together with the score before it.
        let beside = run.sentence_without_score();
        assert!(beside.contains(". With the error of the model 13 to 20 tiles."), "{beside}");
        assert!(!beside.contains("Score"), "{beside}");
    }

    #[test]
    fn an_array_that_is_too_far_off_does_not_answer() {
        let found = answered(35, false).answer;
        assert_eq!(found.status, Status::Inconclusive);
        assert!(found.sentence.starts_with("This model cannot answer: "), "{found:?}");
    }
}
