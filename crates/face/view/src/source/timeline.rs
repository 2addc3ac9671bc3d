use run_store::run::Verdict;
use run_store::rundir::{Event, EventKind};
use units::Nanos;
use watch::LEVELS;

use super::Source;
use crate::document::{MomentEvent, StepSpan};

impl Source {
    /// Returns the names of the workloads, in order of appearance.
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

    /// Returns the finest resolution of time.
    pub(crate) fn slice(&self) -> Nanos {
        let of_run = self.facts.run.as_ref().map(|run| Nanos(run.engine.slice_ns));
        let of_store = || self.facts.watched.as_ref().map(|_| Nanos::from_secs(LEVELS[0].width_s));
        of_run.or_else(of_store).filter(|width| width.0 > 0).unwrap_or(self.rollup.wide().width)
    }

    /// Returns the phases of all steps on the run's axis.
    pub(crate) fn step_spans(&self) -> Vec<StepSpan> {
        let spans = self.rollup.spans().iter();
        spans
            .map(|span| StepSpan {
                step: span.step,
                repeat: span.repeat,
                tiles: span.tiles,
                phase: span.phase,
                from_ns: span.from.0,
                to_ns: span.to.0,
                verdict: self.verdict_of(span.step, span.repeat),
            })
            .collect()
    }

    fn verdict_of(&self, step: u32, repeat: u32) -> Option<Verdict> {
        let mut steps = self.steps().iter();
        steps.find(|known| (known.step, known.repeat) == (step, repeat)).map(|known| known.verdict)
    }

    /// Returns the events on the run's axis, in order. Times of events count from the begin of the
    /// run, including pauses between steps. An event inside a step is placed relative to the step's
    /// `step-start`, any other at the end of the step before.
    pub(crate) fn moments(&self) -> Vec<MomentEvent> {
        let mut clock = Clock { from: Nanos::ZERO, to: Nanos::ZERO, started: None };
        let mut moments: Vec<MomentEvent> = Vec::new();
        for event in &self.facts.files.events {
            if event.kind == EventKind::StepStart {
                clock = self.clock_of(event).unwrap_or(clock);
            }
            let at = clock.at(event.at_ns);
            moments.push(MomentEvent {
                at_ns: at.0,
                kind: event.kind.name().to_owned(),
                text: words(event),
            });
            if event.kind == EventKind::StepEnd {
                clock.started = None;
            }
        }
        moments
    }

    fn clock_of(&self, event: &Event) -> Option<Clock> {
        let number = |key: &str| event.fields.get(key).and_then(serde_json::Value::as_u64);
        let (step, repeat) = (number("step")?, number("repeat").unwrap_or(1));
        let of_step = || {
            let spans = self.rollup.spans().iter();
            spans.filter(move |s| (u64::from(s.step), u64::from(s.repeat)) == (step, repeat))
        };
        Some(Clock {
            from: of_step().map(|span| span.from).min()?,
            to: of_step().map(|span| span.to).max()?,
            started: Some(event.at_ns),
        })
    }
}

/// Conversion of event times to the axis, in or after one step.
struct Clock {
    /// Begin of the current step on the axis.
    from: Nanos,
    /// End of the current step on the axis.
    to: Nanos,
    /// Begin of the current step in event time; `None` between steps.
    started: Option<u64>,
}

impl Clock {
    fn at(&self, at_ns: u64) -> Nanos {
        match self.started {
            Some(started) => {
                self.from.saturating_add(Nanos(at_ns.saturating_sub(started))).min(self.to)
            }
            None => self.to,
        }
    }
}

/// Formats an event: its kind and its fields.
fn words(event: &Event) -> String {
    let field = |key: &str| {
        let value = event.fields.get(key)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let tiles = || {
        units::print::count(
            event.fields.get("tiles").and_then(serde_json::Value::as_u64).unwrap_or(0),
            "tile",
        )
    };
    match &event.kind {
        EventKind::RunStart => "the run began".to_owned(),
        EventKind::RunEnd => {
            format!("the run ended: {}", field("answer").unwrap_or_else(|| "no answer".to_owned()))
        }
        EventKind::LargerDisks => "disks were made again, larger".to_owned(),
        EventKind::StepStart => format!("{} began", tiles()),
        EventKind::StepEnd => {
            let verdict = field("verdict").unwrap_or_else(|| "ended".to_owned());
            let reason = field("reason").map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{} {verdict}{reason}", tiles())
        }
        EventKind::Prefill => format!("disks of {} were filled", tiles()),
        kind => {
            let text = field("text").or_else(|| field("message"));
            let phase = field("phase").map(|phase| format!(" {phase}"));
            let words = text.map(|text| format!(": {text}")).or(phase).unwrap_or_default();
            format!("{}{words}", kind.name().replace('-', " "))
        }
    }
}
