//! State of a running step: its phase, and the sums of its slices so far.

use std::time::Duration;

use bystanders::HostWatch;
use bystanders::disturbance::{WindowSums, seen};
use run_store::gauge::{Gauge, GaugeSource, Gauges, Readings};
use run_store::run::{Disturbance, HostStep, Phase, Steady, StepEvent, Verdict, WarmUp};
use run_store::slice::{Slice, Topology};
use spec::ResolvedTile;
use units::Nanos;

use crate::placed::Placed;
use crate::plan::{ResolvedPlan, longest_period, workloads_of};
use crate::rig::{HostEvent, HostLoad};
use crate::score::{SliceWork, slice_work};
use crate::step::against::Sums;
use crate::step::checks::LittleSums;
use crate::step::felt::Felt;
use crate::step::hosts::HostParts;
use crate::step::playing::Playing;
use crate::step::{Rounds, WarmUpBounds, WarmUpRule};
use crate::verdict::{Judged, LimitSamples, StepJudge};
use crate::window::Window;

/// Interval at which a requested stop is checked while no slice arrives.
pub const POLL: Duration = Duration::from_millis(100);

/// State of a running step: first the warm-up, then the measurement window.
pub struct Course<'a> {
    /// Judge for the limits of the window.
    pub judge: StepJudge<'a>,
    /// Measurement window so far.
    pub window: Window,
    /// Time since the start of the step.
    pub elapsed: Nanos,
    /// Result of the warm-up; `None` until it has ended.
    pub warm_up: Option<WarmUp>,
    /// Current length of the window. It grows while there are too few samples.
    pub target: Nanos,
    asked: Nanos,
    rule: WarmUpRule,
    extension: Nanos,
    target_max: Nanos,
    /// Samples for the limits.
    pub samples: LimitSamples,
    pub rounds: Rounds,
    pub watch: Option<HostWatch>,
    pub meters: Vec<Box<dyn GaugeSource>>,
    gauges: Gauges,
    pub work: Vec<SliceWork>,
    pub slices_per_block: usize,
    tile: &'a ResolvedTile,
    pub little: LittleSums,
    pub playing: Playing,
    pub host_sums: Sums,
    pub operation_sums: Sums,
    /// Current placement of tiles on hosts.
    pub placed: Placed,
    /// Names of objects, with the current hosts.
    pub topology: Topology,
    /// True if hosts are stopped or tiles move in this step.
    is_moved: bool,
    /// Effect of host events. Only recorded if such events may happen.
    pub felt: Option<Felt>,
    /// Disturbances at the last check.
    in_the_way: Vec<Disturbance>,
}

/// Maximum length of a window, in seconds, for which disturbances are recomputed every second.
const LOOKED_AT_EACH: usize = 120;

impl<'a> Course<'a> {
    pub fn new(
        plan: &'a ResolvedPlan,
        judge: StepJudge<'a>,
        playing: Playing,
        watch: Option<HostWatch>,
    ) -> Self {
        let (slice, target) = (plan.slice, plan.duration);
        let period = longest_period(target, plan.time, workloads_of(&plan.tile_set));
        let quarter = Nanos(target.0 / 4).max(slice);
        Self {
            judge,
            samples: LimitSamples::new(&judge, slices_per_block(plan)),
            rounds: Rounds::new(slices_per_block(plan)),
            watch,
            meters: Vec::new(),
            gauges: Gauges::default(),
            window: Window::new(judge.topology, Nanos::ZERO, 0),
            elapsed: Nanos::ZERO,
            warm_up: (playing.is_any() && plan.warm_up_max == Nanos::ZERO).then(no_warm_up),
            target,
            asked: target,
            rule: WarmUpRule::new(WarmUpBounds {
                shortest: plan.warm_up_min,
                longest: plan.warm_up_max,
                slice,
                burst_period: period,
            }),
            extension: if period > Nanos::ZERO { period } else { quarter },
            // A trace has its own length, so its window is not extended.
            target_max: Nanos(target.0.saturating_mul(u64::from(match playing.is_any() {
                true => 1,
                false => plan.method.lengthen_max,
            }))),
            work: Vec::new(),
            slices_per_block: slices_per_block(plan),
            tile: &plan.tile_set,
            little: LittleSums::new(!judge.placed.names().is_empty()),
            playing,
            host_sums: Sums::of_hosts(&judge),
            operation_sums: Sums::of_operations(&judge),
            placed: judge.placed.clone(),
            topology: judge.topology.clone(),
            is_moved: !plan.settings.events.is_empty(),
            felt: (!plan.settings.events.is_empty() || plan.settings.restart.is_some())
                .then(|| Felt::new(&judge)),
            in_the_way: Vec::new(),
        }
    }

    /// Expects moves of tiles that are not in the plan.
    pub fn expect_moves(&mut self) {
        self.is_moved = true;
        self.felt = Some(Felt::new(&self.judge));
    }

    /// Changes the hosts that drive the tiles.
    pub fn place(&mut self, by_tile: Vec<usize>) {
        self.placed.moved(by_tile);
        self.is_moved = true;
        for entry in &mut self.topology.instances {
            let name = entry.tile.and_then(|tile| self.placed.name_of(tile));
            entry.host = name.map(str::to_owned);
        }
    }

    /// Returns the phase of the next slice.
    pub fn phase(&self) -> Phase {
        if self.warm_up.is_some() { Phase::Measured } else { Phase::WarmUp }
    }

    /// Returns the time left until the limit of the warm-up, or until the end of the window.
    pub fn left(&self) -> Nanos {
        match self.warm_up {
            None => self.rule.left(),
            Some(_) => self.target.saturating_sub(self.window.duration),
        }
    }

    /// Returns true if the window was extended beyond the length in the plan.
    pub fn is_longer(&self) -> bool {
        self.target > self.asked
    }

    pub fn take(&mut self, slice: &Slice, readings: &Readings) {
        self.elapsed += slice.width;
        self.little.add(slice);
        self.playing.see(slice);
        if self.warm_up.is_none() {
            self.warm_up = self.rule.push(slice);
            if self.warm_up.is_some() {
                let in_flight = slice.generator.in_flight;
                self.window = Window::new(self.judge.topology, self.elapsed, in_flight);
                // The measured time begins where the last slice of the warm-up ended.
                if let Some(watch) = &mut self.watch {
                    watch.restart();
                }
            }
            return;
        }
        readings.gauges.iter().for_each(|gauge| self.gauges.add(slice.width, gauge));
        self.window.add(slice);
        self.samples.add(&self.judge, slice);
        self.rounds.add(slice);
        self.host_sums.add_hosts(&self.judge, &self.placed, slice);
        self.operation_sums.add_operations(&self.judge, slice);
        if let Some(felt) = &mut self.felt {
            felt.add(&self.judge, slice);
        }
        self.work.push(slice_work(self.tile, self.judge.members, self.judge.topology, slice));
        self.lengthen();
    }

    /// Extends the window if samples do not decide, or if rounds drift near a limit. Each extension
    /// is a burst period (or a quarter of the window), up to the profile's bound.
    fn lengthen(&mut self) {
        let longer = self.target.saturating_add(self.extension);
        if self.window.duration >= self.target && longer <= self.target_max && self.wants_more() {
            self.target = longer;
        }
    }

    fn wants_more(&self) -> bool {
        let judged = self.judged();
        self.judge.wants_more_samples(&judged)
            || drifts_towards_a_limit(&judged, &steady_of(&self.rounds, self.is_moved))
    }

    /// Returns events of hosts, with their effects on other tiles.
    pub fn events(&self, events: &[HostEvent], seed: u64) -> Vec<StepEvent> {
        let felt = |at| self.felt.as_ref()?.survivors(&self.judge, events, at, seed);
        let told =
            |(at, own): (usize, &HostEvent)| StepEvent { survivors: felt(at), ..own.event.clone() };
        events.iter().enumerate().map(told).collect()
    }

    pub fn is_complete(&self) -> bool {
        let is_over = self.window.duration >= self.target || self.playing.is_over();
        self.warm_up.is_some() && is_over
    }

    pub fn judged(&self) -> Judged {
        self.judge.judge(&self.window, &self.samples)
    }

    /// Reads the gauges of the host and the meters, as values since the last call.
    pub fn read(&mut self) -> Readings {
        let mut all = self.watch.as_mut().map(HostWatch::read).unwrap_or_default();
        self.meters.iter_mut().for_each(|meter| all.add(meter.read()));
        all
    }

    /// Records the wait for a slice.
    pub fn waited(&mut self, took: Duration) {
        if let Some(watch) = &mut self.watch {
            watch.waited(POLL.into(), took.into());
        }
    }

    pub fn gauges(&self) -> Vec<Gauge> {
        self.gauges.iter().map(|(gauge, _)| gauge).collect()
    }

    /// Returns the results of each host's share.
    pub fn hosts(
        &self,
        judged: &Judged,
        loads: &[HostLoad],
        (tiles, seed): (u32, u64),
    ) -> Vec<HostStep> {
        let parts = HostParts {
            placed: self.judge.placed,
            tiles,
            judge: &self.judge,
            window: &self.window,
            limits: &judged.hosts,
            sums: &self.host_sums,
            loads,
            seed,
        };
        parts.steps()
    }

    /// Returns the disturbances so far, for a live view. Computing them adds up all seconds again,
    /// so after some minutes it is only done every tenth second.
    pub fn disturbances_so_far(&mut self) -> Vec<Disturbance> {
        let seconds = self.watch.as_ref().map_or(0, |watch| watch.seconds().len());
        let is_due = seconds < LOOKED_AT_EACH || seconds.is_multiple_of(10);
        // Before the window, no bytes of ours are counted, so all bytes would count as those of
        // others.
        if self.window.duration == Nanos::ZERO {
            self.in_the_way.clear();
        } else if is_due {
            self.in_the_way = seen(self.disturbances());
        }
        self.in_the_way.clone()
    }

    pub fn disturbances(&self) -> Vec<Disturbance> {
        let bytes: u64 = self.window.directions.iter().map(|direction| direction.bytes).sum();
        #[expect(clippy::cast_precision_loss, reason = "bytes of a window are far below 2^53")]
        let own = bytes as f64;
        let watch = self.watch.as_ref();
        watch.map_or_else(Vec::new, |watch| {
            WindowSums::of(watch.seconds(), watch.device()).disturbances(own)
        })
    }
}

/// Minimum distance to the closest limit, as a share of it, at which drift cannot break the limit.
/// Rounds that are not steady have moved by a fifth, and latencies near a saturated device move by
/// more than rates.
const ROOM_FOR_DRIFT: f64 = 0.5;

/// Returns true if a window passed but was not steady, with a limit near enough to matter.
pub fn drifts_towards_a_limit(judged: &Judged, steady: &Steady) -> bool {
    let decide = judged.pooled.iter().map(|pooled| &pooled.result).filter(|own| own.decides());
    let room = decide.filter_map(|limit| limit.margin.value).reduce(f64::min);
    judged.verdict == Verdict::Passed
        && steady.reached == Some(false)
        && room.is_some_and(|room| room < ROOM_FOR_DRIFT)
}

/// Returns the steadiness of a window. It is not judged if there were events of hosts.
pub fn steady_of(rounds: &Rounds, is_eventful: bool) -> Steady {
    let steady = rounds.steady();
    match is_eventful {
        false => steady,
        true => Steady { reached: None, detail: EVENTFUL.to_owned(), ..steady },
    }
}

const EVENTFUL: &str = "not tested: hosts were stopped or tiles moved meanwhile, or might have";

/// Returns the result of a warm-up of zero length, for a recorded load without a requested warm-up.
/// It is measured from its first I/O.
fn no_warm_up() -> WarmUp {
    WarmUp {
        rule: "none".to_owned(),
        reached: true,
        duration_ns: 0,
        detail: "a trace is measured from its first I/O".to_owned(),
    }
}

/// Returns the number of slices in the longest burst period of a plan's window, at least 1. The
/// score's interval is resampled in blocks of this many slices.
pub fn slices_per_block(plan: &ResolvedPlan) -> usize {
    let (slice, window) = (plan.slice, plan.duration);
    let period = longest_period(window, plan.time, workloads_of(&plan.tile_set));
    usize::try_from(period.0 / slice.0.max(1)).unwrap_or(1).max(1)
}
