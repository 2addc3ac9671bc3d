//! Which steps an answer is about when the lens does not say: the ones that held, and the one
//! that broke.

use run_store::run::{Step, Verdict};

use crate::request::Lens;
use crate::scope::{Detail, Phases, Scope};
use crate::source::Source;
use crate::words;

/// The steps of an answer.
pub(super) struct Focus<'a> {
    source: &'a Source,
    lens: &'a Lens,
    /// Pairs of step and repeat; none for everything in the lens.
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

    /// The measured time that numbers are from.
    pub fn held(&self) -> Scope<'a> {
        self.scope(self.held.as_deref())
    }

    /// The measured time in which the cause is looked for.
    pub fn cause(&self) -> Scope<'a> {
        self.scope(self.broke.as_deref().or(self.held.as_deref()))
    }

    /// The measured time of the step that broke, else of the one that held, else of all.
    pub fn broken_or_held(&self, detail: Detail) -> Scope<'a> {
        let steps = self.broke.as_deref().or(self.held.as_deref());
        Scope::new(self.source, self.lens, detail, Phases::Summary, steps)
    }

    /// `With 5 tiles, the step that broke`; nothing where the lens says what is shown.
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

    /// The steps of `run.json` that numbers are from.
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

    /// The step in which it broke, if it did.
    pub fn broken(&self) -> Option<&'a Step> {
        let pair = self.broke.as_ref()?.first()?;
        self.source.steps().iter().find(|step| (step.step, step.repeat) == *pair)
    }

    /// What was at its limit in that step, and what its broken action waited for; nothing where the run does not know.
    pub fn limited(&self) -> Option<String> {
        let broken = self.source.run()?.answer.first_broken.as_ref()?;
        words::limited(self.broken()?, broken)
    }

    /// The time that numbers are from, in words: `4 tiles, measured time`.
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
