//! Answer in sentences, and progress of the run, made from data alone. They are stored for readers
//! without this program; this program does not read them back.

use units::print::count;
use units::{Bytes, Nanos};

use super::{
    Answer, ClimbEnd, ClimbFacts, Edge, LeftOut, OutOfTime, Run, Status, Stop, TilesInterval,
    Verdict,
};

impl Run {
    /// Returns the answer in sentences that a person can quote, with the score.
    ///
    /// Runs of earlier versions lack the data; for them, the stored sentence is returned.
    pub fn sentence(&self) -> String {
        self.sentence_with(self.answer.score.value)
    }

    /// Returns the answer in sentences without the score, for output that shows the score
    /// separately.
    pub fn sentence_without_score(&self) -> String {
        self.sentence_with(None)
    }

    fn sentence_with(&self, score: Option<f64>) -> String {
        match &self.answer.climb {
            Some(climb) => sentences(&Sentence { run: self, climb }.text(score)),
            None => self.answer.sentence.clone(),
        }
    }

    /// Returns the results of both searches, if the run searched with smaller disks and confirmed
    /// the result with larger ones.
    pub fn search_text(&self) -> Option<String> {
        let search = self.resized.as_ref().filter(|own| own.is_search)?;
        Some(format!(
            "with {} of disks per tile {} passed and {} failed. Confirmed with {} per tile",
            Bytes::new(search.tile_bytes),
            count(search.held.into(), "tile"),
            search.failed,
            Bytes::new(self.tile.disk_bytes)
        ))
    }

    /// Returns the progress of the run, for example `5 runs of 3 tile counts, 2 passed;
    /// interrupted`: five steps, at three different tile counts.
    pub fn progress(&self) -> String {
        let Some(climb) = &self.answer.climb else { return self.answer.progress.clone() };
        let runs = count(self.steps.len() as u64, "run");
        let counts = count(climb.tile_counts.into(), "tile count");
        let mut text = format!("{runs} of {counts}, {} passed", climb.tile_counts_passed);
        let lists = [
            ("more tiles than the held number passed", &climb.passed_above),
            ("fewer tiles than the held number failed", &climb.failed_below),
        ];
        for (what, counts) in lists.iter().filter(|(_, counts)| !counts.is_empty()) {
            let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
            let counts = counts.join(", ");
            text += &format!("; {what} ({counts}): near the edge passing is partly luck");
        }
        match climb.ended {
            ClimbEnd::Complete => text,
            ClimbEnd::Interrupted => format!("{text}; interrupted"),
            ClimbEnd::Failed { .. } => format!("{text}; ended by an error"),
            ClimbEnd::NotYet => format!("{text} so far"),
        }
    }

    /// Stores the sentences in the answer, for readers of `run.json` without this program.
    pub fn write_sentences(&mut self) {
        self.answer.sentence = self.sentence();
        self.answer.progress = self.progress();
    }
}

impl ClimbFacts {
    /// Returns a text such as `the time of 2m ended before run 2 of 2 tiles: 3 of 6 steps were
    /// run`; `None` if no time limit ended the search.
    pub fn out_of_time_text(&self) -> Option<String> {
        let OutOfTime { time_ns, left_out } = self.out_of_time.as_ref()?;
        let what = match left_out {
            Some(left_out) => format!("ended before {}", left_out.text()),
            None if self.is_decided() => "ended before more was known".to_owned(),
            None => "ended the search before the edge was found".to_owned(),
        };
        Some(format!("the time of {} {what}", Nanos(*time_ns)))
    }
}

impl LeftOut {
    fn text(&self) -> String {
        let next = self.next.map_or_else(
            || "its last step was complete".to_owned(),
            |next| format!("run {} of {}", next.repeat, count(next.tiles.into(), "tile")),
        );
        match self.steps_asked {
            Some(asked) => {
                format!("{next}: {} of {} were run", self.steps_run, count(asked.into(), "step"))
            }
            None => next,
        }
    }
}

impl Answer {
    /// Returns the state of the run in one word: `complete`, `ended-early`, `interrupted` or
    /// `inconclusive`. A simulation that left steps out because of `--within` is `ended-early`.
    pub fn ending(&self) -> &'static str {
        let out_of_time = self.climb.as_ref().and_then(|climb| climb.out_of_time.as_ref());
        match self.status {
            Status::Complete if out_of_time.is_some_and(|own| own.left_out.is_some()) => {
                "ended-early"
            }
            Status::Complete => "complete",
            Status::Interrupted => "interrupted",
            Status::Inconclusive => "inconclusive",
        }
    }

    /// Returns true if the error of the model is too large to plan with any number of tiles.
    /// Earlier versions did not store this fact. Their simulations are of a wrong model unless they
    /// are complete; with a wrong model, none was.
    pub(super) fn is_of_wrong_model(&self, is_simulated: bool) -> bool {
        match &self.climb {
            Some(climb) => climb.model_error.as_ref().is_some_and(|error| error.is_too_far),
            None => is_simulated && self.status != Status::Complete,
        }
    }
}

/// Capitalises the first letter, for the start of a sentence.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Splits a text at `; ` outside of parentheses, and makes a sentence of each part. A semicolon
/// without a space belongs to a name or path, and is kept.
pub(super) fn sentences(text: &str) -> String {
    let is_closed = |part: &str| part.matches('(').count() <= part.matches(')').count();
    let (mut all, mut from) = (String::new(), 0);
    for (at, gap) in text.match_indices("; ") {
        if is_closed(&text[from..at]) {
            all += &format!("{}. ", capital(&text[from..at]));
            from = at + gap.len();
        }
    }
    all + &capital(&text[from..]) + "."
}

struct Sentence<'a> {
    run: &'a Run,
    climb: &'a ClimbFacts,
}

impl Sentence<'_> {
    fn text(&self, score: Option<f64>) -> String {
        let mut text = match &self.climb.ended {
            ClimbEnd::Complete => self.scale(),
            ClimbEnd::Interrupted => "interrupted: ".to_owned(),
            ClimbEnd::Failed { error } => format!("ended by an error ({error}): "),
            ClimbEnd::NotYet => "so far: ".to_owned(),
        };
        text += &self.found();
        let answer = &self.run.answer;
        if let Some(found) = answer.bottleneck.as_ref().filter(|_| self.climb.is_decided()) {
            text += &format!("; {}", found.text);
        }
        if let Some(score) = score {
            text += &format!("; score {score:.2}");
        }
        self.with_model_error(text)
    }

    fn found(&self) -> String {
        match (self.run.answer.tiles_held.unwrap_or(0), self.climb.stop) {
            (0, None) => format!("no step was finished{}", self.out_of_time()),
            (0, Some(stop)) => {
                let said = match stop {
                    Stop::Limit { .. } => format!("{} does not hold", self.run.target.subject()),
                    _ => "nothing can be said about".to_owned(),
                };
                let (tiles, reason) = (self.tiles(stop.tiles()), self.reason(stop.tiles()));
                format!("{said} {tiles}: {reason}")
            }
            (held, stop) => self.holds(held, stop),
        }
    }

    fn with_model_error(&self, text: String) -> String {
        let Some(error) = &self.climb.model_error else { return text };
        let widened = self.run.answer.tiles_interval.filter(|_| error.is_interval_widened);
        let by = widened.map_or_else(String::new, |TilesInterval { low, high, .. }| match high {
            Some(high) => format!("; with the error of the model {low} to {high} tiles"),
            None => format!("; with the error of the model at least {low} tiles"),
        });
        let refused = if error.is_too_far { "this model cannot answer: " } else { "" };
        format!("{refused}{text}{by}; the array is a calibrated one: {}", error.text)
    }

    /// Returns the scale of the disks. It precedes all numbers, because smaller disks are cached
    /// better.
    fn scale(&self) -> String {
        let run = self.run;
        match run.scale.footprint {
            footprint if footprint < 1.0 && !run.target.is_simulated() => format!(
                "{} estimate with disks 1/{:.0} of their size; {}by speed, ",
                run.profile,
                1.0 / footprint,
                self.search()
            ),
            _ if run.resized.as_ref().is_some_and(|own| own.is_search) => {
                format!("disks of full size; {}", self.search())
            }
            _ => String::new(),
        }
    }

    fn search(&self) -> String {
        self.run.search_text().map_or_else(String::new, |text| format!("{text}; "))
    }

    fn holds(&self, held: u32, stop: Option<Stop>) -> String {
        let tail = match stop {
            Some(Stop::Limit { tiles }) => {
                let fails = match tiles == held + 1 {
                    true => format!("tile {tiles} fails"),
                    false => format!("{tiles} tiles fail"),
                };
                format!("; {fails} because {}", self.reason(tiles))
            }
            Some(Stop::Flat { tiles, gain }) if gain < 0.0 => {
                format!("; {} do less work than fewer", count(tiles.into(), "tile"))
            }
            Some(Stop::Flat { tiles, gain }) => {
                format!("; tile {tiles} adds {:.1} % of a tile's work", gain * 100.0)
            }
            Some(Stop::Inconclusive { tiles }) => {
                format!("; nothing can be said about {tiles}: {}", self.reason(tiles))
            }
            None => self.cap(),
        };
        let (subject, interval) = (self.run.target.subject(), self.interval(held));
        format!("{subject} holds {interval}{tail}{}{}", self.out_of_time(), self.hysteresis())
    }

    /// Returns a text such as `27 tiles (216 VMs)`, `26 to 29 tiles (95 %), 27 most likely`, `at
    /// least 27 tiles (216 VMs)`, or `at least 26 tiles (95 %), 28 most likely; 27 tiles ran and
    /// held`. An interval has no number of VMs; `Run::plan_text` has the VMs to plan with.
    fn interval(&self, held: u32) -> String {
        let tiles = self.tiles(held);
        let interval = match &self.climb.model_error {
            Some(error) => error.searched,
            None => self.run.answer.tiles_interval,
        };
        let own = match interval {
            Some(own) if (own.low, own.high) == (held, Some(held)) => return tiles,
            Some(own) if own.low < held || own.high.is_some() => own,
            _ => return format!("at least {tiles}"),
        };
        // A count that passed once may fail at times, so `at least` belongs to the lower end.
        let range = match own.high {
            Some(high) => format!("{} to {high} tiles", own.low),
            // `At least 0 tiles` would be no bound.
            None if own.low == 0 => "0 or more tiles".to_owned(),
            None => format!("at least {}", count(own.low.into(), "tile")),
        };
        let likely = own.most_likely.unwrap_or(held);
        let ran = match likely == held {
            true => String::new(),
            false => format!("; {} ran and held", count(held.into(), "tile")),
        };
        format!("{range} ({:.0} %), {likely} most likely{ran}", own.confidence * 100.0)
    }

    fn hysteresis(&self) -> String {
        self.climb.hysteresis.map_or_else(String::new, |own| {
            format!(
                "; {} passed before the overload with {} and failed after it and a rest",
                count(own.tiles.into(), "tile"),
                own.overload
            )
        })
    }

    fn out_of_time(&self) -> String {
        self.climb.out_of_time_text().map_or_else(String::new, |text| format!("; {text}"))
    }

    /// Returns the reason why no more than `tiles_held` tiles were tried.
    fn cap(&self) -> String {
        let run = self.run;
        match (&self.climb.ended, run.answer.edge, self.climb.users_max) {
            (ClimbEnd::Complete, Edge::CapacityReached, _) => self.capacity(),
            (ClimbEnd::Complete, Edge::LadderEnded, Some(most)) => {
                let most = count(most, "user");
                format!(", the largest number whose users fit into memory (at most {most})")
            }
            (ClimbEnd::Complete, Edge::LadderEnded, None) => {
                ", the most that this run was allowed to try".to_owned()
            }
            _ => String::new(),
        }
    }

    fn capacity(&self) -> String {
        let (target, load) = (&self.run.target, Bytes::new(self.run.tile.disk_bytes));
        let capacity = Bytes::new(target.capacity_bytes.unwrap_or(0));
        let fits = self.run.answer.tiles_max.unwrap_or(0);
        let next = fits.saturating_add(1);
        let what = if target.is_simulated() && load * u64::from(next) <= capacity {
            // All pools together have room for the tile, but its own pool does not.
            format!("the array has no room for tile {next}")
        } else {
            format!("{capacity} hold {fits} of {load} each")
        };
        format!("; capacity, not speed, was the limit: {what}")
    }

    /// Returns a text such as `6 tiles (48 VMs)`.
    fn tiles(&self, tiles: u32) -> String {
        let vms = tiles.saturating_mul(self.run.tile.vms);
        format!("{} ({})", count(tiles.into(), "tile"), count(vms.into(), "VM"))
    }

    /// Returns the reason why the step with this number of tiles did not pass.
    fn reason(&self, tiles: u32) -> String {
        let steps = self.run.steps.iter().filter(|step| step.tiles == tiles);
        let with = |verdict| steps.clone().find(|step| step.verdict == verdict);
        if let Some(step) = with(Verdict::Failed).or_else(|| with(Verdict::Inconclusive)) {
            return step.reason.clone();
        }
        let disturbance = steps.clone().find_map(|step| step.disturbances.first());
        disturbance.map_or_else(
            || "it did not pass".to_owned(),
            |found| format!("it did no more work than fewer tiles, beside others: {found}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::sentences;

    #[test]
    fn names_and_parentheses_with_semicolons_stay_whole() {
        assert_eq!(
            sentences("reading /a;b failed (busy; again); score 2"),
            "Reading /a;b failed (busy; again). Score 2."
        );
    }
}
