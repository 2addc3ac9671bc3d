use std::time::Duration;

use hardware::{ServersParameters, SsdParameters, SsdPreset, Variation};
use run_store::run::Warning;
use stats::minimise;
use units::Bytes;

use super::disk::{DiskModel, time};
use super::guess::Guess;
use super::loops::Span;
use super::measure::{Answers, Measured};
use super::table::{foreseen, table};
use super::tally::Tally;
use super::vary::variation;
use super::virtual_time::{Length, answers};

/// Limits for the amount of simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Maximum number of parameter sets per candidate.
    pub evaluations: u32,
    /// Number of completions of each loop during the search. The final evaluation uses ten times as
    /// many.
    pub answers: f64,
    /// Virtual time of each loop, in seconds.
    pub seconds: f64,
    /// Number of simulating threads. The result does not depend on it.
    pub threads: usize,
    /// Time limit for the search of all candidates together. Each may use an equal share.
    pub at_most: Duration,
}

/// Kind of model with its best parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name of the kind.
    pub name: &'static str,
    /// Best model found.
    pub model: DiskModel,
    /// Mean of the demerit up to p99 and the rate error over the training points, during the
    /// search.
    pub cost: f64,
    /// Number of parameter sets that were tried.
    pub evaluations: u32,
    /// True if the time limit ended the search.
    pub is_cut: bool,
    /// Demerit of every point in the rounds that were not fitted, in the order of the points;
    /// `None` without completions.
    pub demerits: Vec<Option<f64>>,
    /// Latencies of the model, in the order of the points.
    pub answers: Vec<Answers>,
    /// Latencies of a model that was fitted without the unseen points.
    pub foreseen: Vec<Answers>,
}

impl Candidate {
    /// Returns the demerits of a model that was fitted without the unseen points.
    pub fn foreseen_demerits(&self, points: &[Measured]) -> Vec<Option<f64>> {
        demerits(points, &self.foreseen)
    }
}

/// All candidates, sorted by their error at unseen points, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Candidates, at least one.
    pub candidates: Vec<Candidate>,
}

impl Fit {
    /// Returns the chosen candidate.
    pub fn best(&self) -> &Candidate {
        &self.candidates[0]
    }

    /// Returns a warning if the time limit ended the search.
    pub fn warning(&self) -> Option<Warning> {
        let cut = self.candidates.iter().filter(|candidate| candidate.is_cut);
        let names: Vec<&str> = cut.map(|candidate| candidate.name).collect();
        (!names.is_empty()).then(|| Warning {
            id: "fit-cut".to_owned(),
            text: format!(
                "the search reached its time limit and was cut short: {}",
                names.join(", ")
            ),
            value: None,
            limit: None,
            hint: Some("calibrate again when the machine is idle".to_owned()),
        })
    }
}

/// Kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// [`DiskModel::Servers`] without variation.
    Servers,
    /// [`DiskModel::Servers`] with measured paces and stalls.
    Varying,
    /// [`DiskModel::Ssd`].
    Ssd,
    /// [`DiskModel::Table`].
    Table,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Table, Self::Servers, Self::Varying, Self::Ssd];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Servers => "servers",
            Self::Varying => "servers with variation",
            Self::Ssd => "ssd",
            Self::Table => "table",
        }
    }
}

/// Cost of a model without completions, which is far above the cost of any other.
const NO_ANSWER: f64 = 100.0;

/// Stop condition, and receiver of progress lines.
pub type Contact<'a> = (&'a (dyn Fn() -> bool + Sync), &'a mut dyn FnMut(&str));

/// Fits every kind of model to the training points. `capacity` is the size of the modelled disk,
/// and `progress` receives progress lines. If `is_stopped` returns true, the result is meaningless.
pub fn fit(
    points: &[Measured],
    (span, capacity): (Span, Bytes),
    effort: Effort,
    contact: Contact<'_>,
) -> Fit {
    fit_kinds(points, (span, capacity), effort, contact, &Kind::ALL)
}

/// Fits only some kinds of model, at least one.
pub(super) fn fit_kinds(
    points: &[Measured],
    (span, capacity): (Span, Bytes),
    effort: Effort,
    (is_stopped, progress): Contact<'_>,
    kinds: &[Kind],
) -> Fit {
    let fitter = Fitter { points, span, capacity, effort, is_stopped, guess: Guess::of(points) };
    let searched = kinds.iter().filter(|kind| **kind != Kind::Table).count().max(1);
    let share = effort.at_most / u32::try_from(searched).unwrap_or(1);
    let candidate = |kind: &Kind| {
        let family = match kind {
            Kind::Servers => Family::Servers(Variation::default()),
            Kind::Varying => Family::Servers(variation(points)),
            Kind::Ssd => Family::Ssd,
            Kind::Table => return fitter.table(kind.name()),
        };
        let mut tally = Tally::new(kind.name(), share, &mut *progress);
        fitter.candidate(&family, &mut tally)
    };
    let mut candidates: Vec<Candidate> = kinds.iter().map(candidate).collect();
    candidates.sort_by(|a, b| misfit(points, a).total_cmp(&misfit(points, b)));
    Fit { candidates }
}

/// Returns the criterion for comparing candidates: the mean of demerit and rate error at points
/// that the model was not fitted to. If there are none, the other points are used.
fn misfit(points: &[Measured], candidate: &Candidate) -> f64 {
    let training = points.iter().all(|measured| measured.point.is_training);
    let of_half = points.iter().zip(&candidate.foreseen);
    let of_half = of_half.filter(|(measured, _)| measured.point.is_training == training);
    let errors = of_half.map(|(m, model)| m.checked().rate_error(model).unwrap_or(NO_ANSWER));
    let rates = stats::mean(&errors.collect::<Vec<_>>()).unwrap_or(NO_ANSWER);
    let demerits = candidate.foreseen_demerits(points);
    mean_demerit(points, &demerits, training).unwrap_or(NO_ANSWER) + rates
}

/// Returns the demerits of every point in the rounds that were not fitted.
fn demerits(points: &[Measured], answers: &[Answers]) -> Vec<Option<f64>> {
    points.iter().zip(answers).map(|(m, answers)| m.checked().demerit(answers)).collect()
}

/// Returns the mean demerit over the points of one half, without points that have none.
pub(super) fn mean_demerit(
    points: &[Measured],
    demerits: &[Option<f64>],
    training: bool,
) -> Option<f64> {
    let of_half = points.iter().zip(demerits).filter(|(m, _)| m.point.is_training == training);
    let found: Vec<f64> = of_half.filter_map(|(_, demerit)| *demerit).collect();
    stats::mean(&found)
}

/// Kind of model, with the facts that are known before the search.
#[derive(Debug, Clone)]
enum Family {
    Servers(Variation),
    Ssd,
}

struct Fitter<'a> {
    points: &'a [Measured],
    span: Span,
    capacity: Bytes,
    effort: Effort,
    is_stopped: &'a (dyn Fn() -> bool + Sync),
    guess: Guess,
}

/// Integer parameters from which a search starts: servers and window, or dies and none.
type Shape = (u32, Option<Bytes>);

impl Fitter<'_> {
    /// Returns the best model of a family: a coarse search over integer parameters, then a fine
    /// search from the best two.
    fn candidate(&self, family: &Family, tally: &mut Tally<'_>) -> Candidate {
        let mut shapes = shapes(family);
        shapes.truncate(usize::try_from(self.effort.evaluations).unwrap_or(usize::MAX).max(1));
        let mut starts: Vec<(f64, Shape)> = Vec::new();
        for shape in shapes {
            let place = self.start(family, shape);
            starts.push((self.cost(&self.model(family, shape, &place), tally), shape));
        }
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best: Option<(f64, DiskModel)> = None;
        for (_, shape) in starts.into_iter().take(2) {
            let start = self.start(family, shape);
            let bounds = (self.effort.evaluations / 2, 1e-4);
            let found = minimise(&start, 0.4, bounds, &mut |place| {
                self.cost(&self.model(family, shape, place), tally)
            });
            if best.as_ref().is_none_or(|(cost, _)| found.cost < *cost) {
                best = Some((found.cost, self.model(family, shape, &found.place)));
            }
        }
        let (cost, model) = best.expect("every family has a shape");
        tally.say();
        self.judged(model, cost, tally)
    }

    /// Returns a candidate with its demerits, from longer loops than in the search.
    fn judged(&self, model: DiskModel, cost: f64, tally: &Tally<'_>) -> Candidate {
        let answers = self.at_length(&model);
        let demerits = demerits(self.points, &answers);
        let foreseen = answers.clone();
        let Tally { name, tried, is_cut, .. } = *tally;
        let evaluations = tried;
        Candidate { name, model, cost, evaluations, is_cut, demerits, answers, foreseen }
    }

    /// Returns the table of measured latencies, which needs no search.
    fn table(&self, name: &'static str) -> Candidate {
        let model = DiskModel::Table(table(self.points, self.capacity));
        let answers = self.at_length(&model);
        let foreseen = DiskModel::Table(foreseen(self.points, self.capacity));
        let foreseen = self.at_length(&foreseen);
        let training: Vec<usize> = self.training();
        let cost = self.mean_cost(&training, training.iter().map(|place| &answers[*place]));
        let demerits = demerits(self.points, &answers);
        Candidate { name, model, cost, evaluations: 1, is_cut: false, demerits, answers, foreseen }
    }

    fn at_length(&self, model: &DiskModel) -> Vec<Answers> {
        let length = Length { answers: self.effort.answers * 10.0, shortest: 1.0 };
        let all: Vec<usize> = (0..self.points.len()).collect();
        self.simulate(model, &all, length)
    }

    fn training(&self) -> Vec<usize> {
        (0..self.points.len()).filter(|place| self.points[*place].point.is_training).collect()
    }

    /// Returns logarithms of the continuous parameters to start with, derived from simple figures.
    fn start(&self, family: &Family, shape: Shape) -> Vec<f64> {
        let Guess { read, write, read_iops, write_iops, read_rate, write_rate } = self.guess;
        let units = f64::from(shape.0);
        let busy = |iops: f64, alone: f64| (units / iops).min(0.8 * alone);
        let start = match family {
            Family::Servers(variation) => {
                let (read_time, write_time) = (busy(read_iops, read), busy(write_iops, write));
                let latency = (read - read_time).min(write - write_time).max(0.05 * read);
                let mut start = vec![read_time, write_time, read_rate, write_rate, latency];
                start.extend(shape.1.map(Bytes::as_f64));
                start.extend((!variation.pace.is_empty()).then(|| variation.every.as_secs_f64()));
                start
            }
            Family::Ssd => {
                let read_time = busy(read_iops, read);
                let latency = 0.5 * write.min(read);
                let command = 0.5 / read_iops.max(write_iops);
                let program = 2.0 * units / write_iops;
                vec![read_time, program, read_rate.max(write_rate), command, latency, 64e6]
            }
        };
        start.into_iter().map(f64::ln).collect()
    }

    fn model(&self, family: &Family, shape: Shape, place: &[f64]) -> DiskModel {
        let value = |number: usize| place[number].exp();
        match family {
            Family::Servers(variation) => DiskModel::Servers(ServersParameters {
                // Parameters that this shape lacks are left out.
                window: shape.1.map(|_| bytes(value(5))),
                variation: if variation.pace.is_empty() {
                    variation.clone()
                } else {
                    let every = time(value(5 + usize::from(shape.1.is_some())));
                    Variation { every, ..variation.clone() }
                },
                capacity: self.capacity,
                servers: shape.0,
                read: time(value(0)),
                write: time(value(1)),
                rate: value(2),
                write_rate: value(3),
                latency: time(value(4)),
            }),
            Family::Ssd => DiskModel::Ssd(SsdParameters {
                capacity: self.capacity,
                dies: shape.0,
                read: time(value(0)),
                program: time(value(1)),
                rate: value(2),
                command: time(value(3)),
                latency: time(value(4)),
                buffer: bytes(value(5)),
                ..SsdPreset::NvmeMqsim.parameters()
            }),
        }
    }

    /// Returns the mean, over the training points, of the demerit up to p99 and the rate error.
    ///
    /// The part beyond p99 consists of only a few completions during a search, and would mislead
    /// it. Without the rate error, a model without any delay would be as good as any model with
    /// long tails, because none of these has a demerit below 100 %.
    fn cost(&self, model: &DiskModel, tally: &mut Tally<'_>) -> f64 {
        if (self.is_stopped)() || tally.is_over() {
            return NO_ANSWER;
        }
        let training = self.training();
        let length = Length { answers: self.effort.answers, shortest: self.effort.seconds };
        let answers = self.simulate(model, &training, length);
        let cost = self.mean_cost(&training, answers.iter());
        tally.note(cost);
        cost
    }

    fn mean_cost<'b>(&self, places: &[usize], answers: impl Iterator<Item = &'b Answers>) -> f64 {
        let costs = places.iter().zip(answers).map(|(place, answers)| {
            let measured = self.points[*place].fitted();
            let demerit = measured.demerit_p99(answers);
            demerit.zip(measured.rate_error(answers)).map_or(NO_ANSWER, |(a, b)| a + b)
        });
        stats::mean(&costs.collect::<Vec<_>>()).unwrap_or(NO_ANSWER)
    }

    /// Simulates these points with the model, distributed over the threads. Returns the latencies.
    fn simulate(&self, model: &DiskModel, places: &[usize], length: Length) -> Vec<Answers> {
        let one = |place: &usize| {
            if (self.is_stopped)() {
                return Answers::default();
            }
            let measured = &self.points[*place];
            let iops = measured.answers.iops();
            // More answers than were measured give no better comparison.
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let measured_answers = (measured.answers.count() as f64).max(100.0);
            let length = Length { answers: length.answers.min(measured_answers), ..length };
            let round = *place as u64;
            answers(model, (&measured.point, self.span, round), (length, iops)).unwrap_or_default()
        };
        parallel::map(places, self.effort.threads, one)
    }
}

fn shapes(family: &Family) -> Vec<Shape> {
    let windows = [None, Some(Bytes::new(128 << 10)), Some(Bytes::MIB), Some(Bytes::new(8 << 20))];
    match family {
        Family::Servers(_) => {
            let servers = [1, 2, 4, 8, 32].into_iter();
            servers.flat_map(|servers| windows.map(|window| (servers, window))).collect()
        }
        Family::Ssd => [1, 4, 16, 64].map(|dies| (dies, None)).to_vec(),
    }
}

fn bytes(value: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let bytes = value as u64;
    Bytes::new(bytes.max(1))
}
