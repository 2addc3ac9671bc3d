//! Selects the steps behind an answer if the lens names none: the step with the answer's number of
//! tiles, and the step that broke a limit.

use run_store::run::{Step, Verdict};

use crate::request::Lens;
use crate::scope::{Detail, Phases, Scope};
use crate::source::Source;
use crate::words;

/// Steps behind an answer.
pub(super) struct Focus<'a> {
    source: &'a Source,
    lens: &'a Lens,
    /// Steps with the answer's number of tiles, as pairs of step and repeat; `None` for everything
    /// in the lens.
    held: Option<Vec<(u32, u32)>>,
    broke: Option<Vec<(u32, u32)>>,
}

impl<'a> Focus<'a> {
    pub fn new(source: &'a Source, lens: &'a Lens) -> Self {
        let mut focus = Self { source, lens, held: None, broke: None };
        if lens.step.is_some() || lens.time.is_some() {
            return focus;
        }
        if source.is_running() {
            focus.held = source.rollup().spans().last().map(|span| vec![(span.step, span.repeat)]);
            return focus;
        }
        let Some(run) = source.run() else { return focus };
        let held = run.answer.tiles_held.filter(|tiles| *tiles > 0);
        focus.held = held.and_then(|tiles| pairs(&run.steps, |step| step.tiles == tiles));
        let broken = run.answer.first_broken.as_ref();
        focus.broke = broken.and_then(|broken| {
            pairs(&run.steps, |step| (step.tiles, step.repeat) == (broken.tiles, broken.repeat))
        });
        focus.held = focus.held.or_else(|| focus.broke.clone());
        focus
    }

    /// Returns the measured time that the numbers come from.
    pub fn held(&self) -> Scope<'a> {
        self.scope(self.held.as_deref())
    }

    /// Returns the measured time in which the cause is searched: the step that broke a limit, if
    /// any.
    pub fn cause(&self) -> Scope<'a> {
        self.scope(self.broke.as_deref().or(self.held.as_deref()))
    }

    /// Returns the measured time of the step that broke a limit, otherwise of the steps behind the
    /// answer, otherwise of all steps.
    pub fn broken_or_held(&self, detail: Detail) -> Scope<'a> {
        let steps = self.broke.as_deref().or(self.held.as_deref());
        Scope::new(self.source, self.lens, detail, Phases::Summary, steps)
    }

    /// Describes the step, such as `With 5 tiles, the step that broke`; `None` if the lens names a
    /// step.
    pub fn step_words(&self) -> Option<String> {
        let (pairs, what) = match (&self.broke, &self.held) {
            (Some(pairs), _) => (pairs, "the step that broke"),
            (None, Some(pairs)) if !self.source.is_running() => (pairs, "the step that held"),
            _ => return None,
        };
        let step = self.source.steps().iter().find(|s| pairs.contains(&(s.step, s.repeat)))?;
        Some(format!("With {}, {what}", units::print::count(step.tiles.into(), "tile")))
    }

    fn scope(&self, steps: Option<&[(u32, u32)]>) -> Scope<'a> {
        Scope::new(self.source, self.lens, Detail::Usual, Phases::Summary, steps)
    }

    /// Returns the steps of `run.json` behind the numbers.
    pub fn steps(&self) -> Vec<&'a Step> {
        let steps = self.source.steps().iter();
        steps
            .filter(|step| self.lens.step.is_none_or(|number| step.step == number))
            .filter(|step| {
                let held = self.held.as_ref();
                held.is_none_or(|pairs| pairs.contains(&(step.step, step.repeat)))
            })
            .collect()
    }

    /// Returns the step that broke a limit, if there is one.
    pub fn broken(&self) -> Option<&'a Step> {
        let pair = self.broke.as_ref()?.first()?;
        self.source.steps().iter().find(|step| (step.step, step.repeat) == *pair)
    }

    /// Describes the saturated resource in that step, and where the broken action waited; `None` if
    /// the run has no such data.
    pub fn limited(&self) -> Option<String> {
        let broken = self.source.run()?.answer.first_broken.as_ref()?;
        words::limited(self.broken()?, broken)
    }

    /// Describes the time of the numbers: `4 tiles, measured time`.
    pub fn time_words(&self, scope: &Scope<'_>) -> String {
        let time = scope.time();
        if self.lens.time.is_some() {
            return format!("over {time} of the run");
        }
        if !self.source.has_times() {
            return "of the whole trace, which has no times".to_owned();
        }
        if self.source.is_observed() {
            return format!("over all {time}");
        }
        let mut tiles: Vec<u32> = self.tiles(scope);
        tiles.dedup();
        match tiles.as_slice() {
            [only] => {
                let tiles = units::print::count((*only).into(), "tile");
                format!("at {tiles}, over {time}")
            }
            _ => format!("over {time} of all steps"),
        }
    }

    fn tiles(&self, scope: &Scope<'_>) -> Vec<u32> {
        let spans = self.source.rollup().spans();
        let numbered = (0_u32..).zip(spans);
        let mut tiles: Vec<u32> = numbered
            .filter(|(number, span)| {
                let first = scope.frame.first(*number);
                first.is_some() && span.to > span.from
            })
            .map(|(_, span)| span.tiles)
            .collect();
        tiles.sort_unstable();
        tiles
    }
}

fn pairs(steps: &[Step], wanted: impl Fn(&Step) -> bool) -> Option<Vec<(u32, u32)>> {
    let found: Vec<(u32, u32)> = steps
        .iter()
        .filter(|step| wanted(step) && step.verdict != Verdict::Interrupted)
        .map(|step| (step.step, step.repeat))
        .collect();
    (!found.is_empty()).then_some(found)
}
