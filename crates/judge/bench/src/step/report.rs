use indexmap::IndexMap;
use run_store::gauge::Gauge;
use run_store::run::{
    ActionResult, CallErrors, CallTotal, Check, Disturbance, Figure, HostStep, IoTotal, Latency,
    MetricResult, PooledAction, Score, Steady, Step, StepEvent, Throughput, TileScore,
    UnderOperations, Verdict, WarmUp, Warning, WorkloadResult,
};
use run_store::slice::{CallRow, Direction, Topology};
use spec::ResolvedTile;
use units::Nanos;

use crate::fleet::Member;
use crate::score::{
    BLOCKS_MIN, References, SliceWork, TileWork, applications_score, infrastructure_score,
    metric_rate, score_interval, tile_means, weighted_total,
};
use crate::step::waits::Dialogues;
use crate::verdict::{Judged, StepJudge, sentence};
use crate::window::{ActionTotals, InstanceTotals, Window};

/// Reason why a step without operations has no infrastructure score.
const NO_INFRASTRUCTURE: &str = "no infrastructure operations were run";

const DEFINITION: &str = "applications: sum over tiles of the geometric mean of each scored \
                          workload's metric divided by its reference. Infrastructure: geometric \
                          mean of each operation's rate divided by its reference. Total: 0.8 x \
                          applications + 0.2 x infrastructure, absent where no operations ran";

/// All data for a step's entry in `run.json`.
#[derive(Debug)]
pub struct StepFacts<'a> {
    /// Tile of the step.
    pub tile: &'a ResolvedTile,
    /// Reference values, each of which is one tile's worth of work.
    pub references: &'a References,
    /// Tile, workload and copy of each instance.
    pub members: &'a [Member],
    /// Names of all numbered objects.
    pub topology: &'a Topology,
    /// Measurement window.
    pub window: &'a Window,
    /// Judgement of the window.
    pub judged: Judged,
    /// Disturbances by other programs.
    pub disturbances: Vec<Disturbance>,
    /// Results of each host's share.
    pub hosts: Vec<HostStep>,
    /// Effect of infrastructure operations on the tiles, if any ran.
    pub under_operations: Option<UnderOperations>,
    /// Events of hosts.
    pub events: Vec<StepEvent>,
    /// Steadiness of the window.
    pub steady: Steady,
    /// Gauges, summarised over the window.
    pub gauges: Vec<Gauge>,
    /// Work of every instance, slice by slice of the window.
    pub work: &'a [SliceWork],
    /// Number of slices in one burst period, at least 1.
    pub slices_per_block: usize,
    /// Seed of the resampling.
    pub seed: u64,
}

/// Position of a step in its run.
#[derive(Debug, Clone)]
pub struct StepPlace {
    /// Number of the step, counted from 1, in the order in which the ladder visited numbers of
    /// tiles.
    pub step: u32,
    /// Number of the repeat, counted from 1.
    pub repeat: u32,
    /// Position among all steps that ran, counted from 1.
    pub order: u32,
    /// Number of tiles.
    pub tiles: u32,
    /// Start of the load.
    pub started: jiff::Timestamp,
}

impl StepFacts<'_> {
    /// Builds the entry of the step.
    pub fn step(
        self,
        place: &StepPlace,
        warm_up: WarmUp,
        checks: Vec<Check>,
        warnings: Vec<Warning>,
    ) -> Step {
        let workloads = self.workloads();
        let score = self.score(&workloads);
        let (actions, calls) = (self.pooled_actions(), self.calls());
        let throughput = self.throughput();
        let window = self.window;
        let dialogues =
            Dialogues { tile: self.tile, members: self.members, topology: self.topology, window };
        let waits = self
            .judged
            .broken
            .as_ref()
            .map_or_else(Vec::new, |(member, limit)| dialogues.waits(member.workload, limit));
        Step {
            step: place.step,
            repeat: place.repeat,
            order: place.order,
            tiles: place.tiles,
            vms: u32::try_from(self.topology.vms.len()).unwrap_or(u32::MAX),
            started: place.started,
            verdict: self.judged.verdict,
            cause: Some(self.judged.cause),
            reason: self.judged.reason,
            disturbances: self.disturbances,
            bottleneck: None,
            waits,
            gauges: self.gauges,
            warm_up,
            steady: Some(self.steady),
            measured_ns: window.duration.0,
            workloads,
            limits: self.judged.pooled,
            actions,
            io: io_totals(window),
            calls,
            throughput,
            score,
            power: None,
            generator: self.judged.generator,
            hosts: self.hosts,
            under_operations: self.under_operations,
            events: self.events,
            checks,
            warnings,
            model: None,
            replay: None,
        }
    }

    fn workloads(&self) -> Vec<WorkloadResult> {
        (0..self.members.len()).map(|index| self.workload(index)).collect()
    }

    fn workload(&self, index: usize) -> WorkloadResult {
        let member = self.members[index];
        let totals = &self.window.instances[index];
        let names = &self.topology.instances[index];
        WorkloadResult {
            tile: member.tile,
            workload: names.workload.clone(),
            copy: member.copy,
            metric: self.metric(index),
            actions: names.actions.iter().zip(&totals.actions).map(action_result).collect(),
            limits: self.judged.instances[index].clone(),
        }
    }

    /// Returns the results of every action over all instances of its workload.
    fn pooled_actions(&self) -> Vec<PooledAction> {
        let mut pooled: IndexMap<(&str, &String), ActionTotals> = IndexMap::new();
        for (names, totals) in self.topology.instances.iter().zip(&self.window.instances) {
            for (action, totals) in names.actions.iter().zip(&totals.actions) {
                pooled.entry((&names.workload, action)).or_default().merge(totals);
            }
        }
        let entry = |((workload, action), totals): ((&str, &String), ActionTotals)| PooledAction {
            workload: workload.to_owned(),
            result: action_result((action, &totals)),
        };
        pooled.into_iter().map(entry).collect()
    }

    /// Returns the work per second. A stage of an action does not count as an action.
    fn throughput(&self) -> Throughput {
        let io = io_totals(self.window);
        let whole = |(member, totals): (&Member, &InstanceTotals)| {
            let workload = &self.tile.at(member.workload).0;
            let stages: usize = workload.actions.iter().map(|own| own.stages().len()).sum();
            let count = totals.actions.len() - stages.min(totals.actions.len());
            totals.actions.iter().take(count).map(ActionTotals::count).sum::<u64>()
        };
        let actions: u64 = self.members.iter().zip(&self.window.instances).map(whole).sum();
        let seconds = self.window.duration.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let actions_per_s = if actions == 0 { 0.0 } else { actions as f64 / seconds };
        Throughput {
            operations_per_s: io.iter().map(|total| total.operations_per_s).sum(),
            bytes_per_s: io.iter().map(|total| total.bytes_per_s).sum(),
            actions_per_s,
        }
    }

    /// Returns the results of every kind of call over all instances of its workload.
    fn calls(&self) -> Vec<CallTotal> {
        let mut pooled: IndexMap<(&str, &String), CallRow> = IndexMap::new();
        for (names, totals) in self.topology.instances.iter().zip(&self.window.instances) {
            for row in totals.calls.values() {
                let of = (names.workload.as_str(), &names.kinds[usize::from(row.kind)]);
                pooled.entry(of).and_modify(|sum| sum.merge(row)).or_insert_with(|| row.clone());
            }
        }
        let seconds = self.window.duration.as_secs_f64().max(f64::MIN_POSITIVE);
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let total = |((workload, kind), row): ((&str, &String), CallRow)| CallTotal {
            workload: workload.to_owned(),
            kind: kind.clone(),
            count: row.service.count(),
            errors: CallErrors::of(&row.errors),
            bytes: row.bytes.get(),
            calls_per_s: row.service.count() as f64 / seconds,
            service: Latency::from(&row.service),
            response: Latency::from(&row.response),
        };
        pooled.into_iter().map(total).collect()
    }

    fn metric(&self, index: usize) -> MetricResult {
        let position = self.members[index].workload;
        let metric = &self.tile.at(position).0.metric;
        let reference = self.references.0[position];
        let absent = || Figure::absent("the workload is only load and is not part of the score");
        let (value, normalised) = match reference.value {
            None => (absent(), absent()),
            Some(_) if self.window.duration == Nanos::ZERO => {
                let none = || Figure::absent("nothing was measured");
                (none(), none())
            }
            Some(reference) => {
                let count: f64 = self.work.iter().map(|slice| slice[index]).sum();
                let value = metric_rate(metric, count, self.window.duration);
                (Figure::of(value), Figure::of(value / reference))
            }
        };
        MetricResult {
            value,
            unit: metric.unit.clone(),
            reference: reference.value.map_or_else(absent, Figure::of),
            reference_origin: reference.origin,
            normalised,
        }
    }

    /// Returns the reason why the rate of an operation is unknown, if an operation never completed
    /// in the window. The rate is then not 0, but below the minimum that the window can show.
    fn never_ended(&self) -> Option<String> {
        let of = |index: usize| self.work.iter().map(|slice| slice[index]).sum::<f64>();
        let operations = (0..self.members.len()).filter(|at| self.members[*at].tile.is_none());
        let mut without = operations.filter(|at| of(*at) == 0.0);
        let name = &self.topology.instances[without.next()?].workload;
        let time = self.window.duration;
        Some(format!("no {name} completed in the measured {time}"))
    }

    fn score(&self, workloads: &[WorkloadResult]) -> Option<Score> {
        let work: Vec<TileWork> = workloads
            .iter()
            .filter_map(|result| {
                let normalised = result.metric.normalised.value?;
                Some(TileWork { tile: result.tile, normalised })
            })
            .collect();
        let applications = applications_score(&work)?;
        let none = self.never_ended();
        let infrastructure = infrastructure_score(&work).filter(|_| none.is_none());
        let why = none.unwrap_or_else(|| NO_INFRASTRUCTURE.to_owned());
        let figure =
            |value: Option<f64>| value.map_or_else(|| Figure::absent(why.clone()), Figure::of);
        let tiles = tile_means(&work)
            .into_iter()
            .map(|(tile, mean)| TileScore { tile, geometric_mean: Figure::of(mean) })
            .collect();
        Some(Score {
            definition: DEFINITION.to_owned(),
            tiles,
            applications: Figure::of(applications),
            infrastructure: figure(infrastructure),
            total: figure(weighted_total(applications, infrastructure)),
            interval: self.interval(),
        })
    }

    /// Computes the interval of the score, resampled in blocks of whole burst periods, because
    /// slices within a period differ. A window with too few periods is resampled slice by slice.
    /// Then bursts count as chance, and the interval is too wide rather than too narrow.
    fn interval(&self) -> Option<run_store::run::Interval> {
        let whole = self.slices_per_block.max(1);
        let block = if self.work.len() / whole >= BLOCKS_MIN { whole } else { 1 };
        let blocks: Vec<SliceWork> = self.work.chunks_exact(block).map(sum).collect();
        let positions: Vec<usize> = (0..self.members.len())
            .filter(|index| self.references.0[self.members[*index].workload].value.is_some())
            .collect();
        let blocks: Vec<SliceWork> = blocks
            .iter()
            .map(|block| positions.iter().map(|index| block[*index]).collect())
            .collect();
        let slice = self.window.duration.as_secs_f64() / count_f64(self.work.len());
        let time = Nanos::from_secs_f64(slice * count_f64(block));
        let share = |index: &usize| {
            let member = self.members[*index];
            let metric = &self.tile.at(member.workload).0.metric;
            let reference = self.references.0[member.workload].value.unwrap_or(1.0);
            (member.tile, reference / metric_rate(metric, 1.0, time))
        };
        let shares: Vec<(Option<u32>, f64)> = positions.iter().map(share).collect();
        let name = format!("blocks of {time}");
        score_interval(&blocks, &shares, self.seed, &name)
    }
}

fn action_result((name, totals): (&String, &ActionTotals)) -> ActionResult {
    ActionResult {
        action: name.clone(),
        count: totals.count(),
        errors: totals.errors,
        dropped: totals.dropped,
        service: Latency::from(&totals.service),
        response: Latency::from(&totals.response),
    }
}

fn sum(slices: &[SliceWork]) -> SliceWork {
    let mut sum = vec![0.0; slices.first().map_or(0, Vec::len)];
    for slice in slices {
        sum.iter_mut().zip(slice).for_each(|(sum, value)| *sum += value);
    }
    sum
}

#[expect(clippy::cast_precision_loss, reason = "thousands of slices at most")]
fn count_f64(count: usize) -> f64 {
    count.max(1) as f64
}

fn io_totals(window: &Window) -> Vec<IoTotal> {
    let seconds = window.duration.as_secs_f64().max(f64::MIN_POSITIVE);
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let per_second = |count: u64| if count == 0 { 0.0 } else { count as f64 / seconds };
    let total = |direction: Direction| {
        let totals = window.direction(direction);
        let count = totals.service.count();
        IoTotal {
            direction,
            count,
            errors: totals.errors,
            bytes: totals.bytes,
            operations_per_s: per_second(count),
            bytes_per_s: per_second(totals.bytes),
            service: Latency::from(&totals.service),
            response: Latency::from(&totals.response),
        }
    };
    Direction::ALL.map(total).into_iter().filter(|total| total.count + total.errors > 0).collect()
}

/// Returns warnings for limits of operations that all samples met, although the samples are too few
/// for certainty.
pub fn unsure_limits(judge: &StepJudge<'_>, judged: &Judged) -> Vec<Warning> {
    let unsure = judged.pooled.iter().filter(|own| {
        let result = &own.result;
        result.samples > 0 && result.verdict == Verdict::Inconclusive && judge.is_kept_by_all(own)
    });
    unsure
        .map(|limit| Warning {
            id: "operation-not-sure".to_owned(),
            text: format!(
                "{}, and the limits are assumed to be met",
                sentence(&limit.workload, &limit.result)
            ),
            value: Some(format!("{} samples", limit.result.samples)),
            limit: None,
            hint: Some("a longer measure.duration gives more samples".to_owned()),
        })
        .collect()
}

/// Returns warnings for limits without any samples.
pub fn untested_limits(judged: &Judged) -> Vec<Warning> {
    let untested = judged
        .pooled
        .iter()
        .filter(|limit| limit.result.samples == 0 && limit.result.verdict == Verdict::Inconclusive);
    untested
        .map(|limit| Warning {
            id: "limit-not-tested".to_owned(),
            text: format!(
                "the {}'s limit on {} was not tested: no such work was done",
                limit.workload, limit.result.name
            ),
            value: Some("0 samples".to_owned()),
            limit: None,
            hint: Some("a longer measure.duration or a larger scale.time may reach it".to_owned()),
        })
        .collect()
}
