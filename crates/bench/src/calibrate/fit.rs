use device::{ServersParameters, SsdParameters, SsdPreset, Variation};
use stats::Compact;
use units::{Bytes, Nanos, Ratio};

use super::disk::{DiskModel, time};
use super::loops::Span;
use super::matrix::Mix;
use super::measure::{Answers, Measured};
use super::search::minimise;
use super::virtual_time::{Length, answers};

/// How much is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Sets of parameters a candidate may try.
    pub evaluations: u32,
    /// Answers of each loop that are enough while searching; at the end ten times as many.
    pub answers: f64,
    /// Virtual time of each loop that is wanted, in seconds.
    pub seconds: f64,
    /// Threads that simulate; the result does not depend on it.
    pub threads: usize,
}

/// A kind of model with its best parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What was tried.
    pub name: &'static str,
    /// The best found.
    pub model: DiskModel,
    /// Mean demerit over the training points while searching.
    pub cost: f64,
    /// Sets of parameters that were tried.
    pub evaluations: u32,
    /// The demerit of every point, in the order of the points; none without answers.
    pub demerits: Vec<Option<f64>>,
    /// What the model answered, in the order of the points.
    pub answers: Vec<Answers>,
}

/// All candidates, the one with the lowest demerit over the training points first.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Never empty.
    pub candidates: Vec<Candidate>,
}

impl Fit {
    /// The one that was chosen.
    pub fn best(&self) -> &Candidate {
        &self.candidates[0]
    }
}

/// A kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// [`DiskModel::Servers`] that are always alike.
    Servers,
    /// The same with paces and stalls as measured.
    Varying,
    /// [`DiskModel::Ssd`].
    Ssd,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Servers, Self::Varying, Self::Ssd];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Servers => "servers",
            Self::Varying => "servers with variation",
            Self::Ssd => "ssd",
        }
    }
}

/// What a model without answers costs: far more than any that has some.
const NO_ANSWER: f64 = 100.0;

/// Whether to stop, and who is told what is tried.
pub type Contact<'a> = (&'a (dyn Fn() -> bool + Sync), &'a mut dyn FnMut(&str));

/// Fits every kind of model to the training points. `capacity` is the size the disk is to have;
/// `progress` is told each candidate's name as it begins; once `is_stopped`, what comes out
/// means nothing.
pub fn fit(
    points: &[Measured],
    (span, capacity): (Span, Bytes),
    effort: Effort,
    contact: Contact<'_>,
) -> Fit {
    fit_kinds(points, (span, capacity), effort, contact, &Kind::ALL)
}

/// The same with some kinds of model only, at least one.
pub(super) fn fit_kinds(
    points: &[Measured],
    (span, capacity): (Span, Bytes),
    effort: Effort,
    (is_stopped, progress): Contact<'_>,
    kinds: &[Kind],
) -> Fit {
    let fitter = Fitter { points, span, capacity, effort, is_stopped, guess: Guess::of(points) };
    let candidate = |kind: &Kind| {
        progress(kind.name());
        let family = match kind {
            Kind::Servers => Family::Servers(Variation::default()),
            Kind::Varying => Family::Servers(variation(points)),
            Kind::Ssd => Family::Ssd,
        };
        fitter.candidate(kind.name(), &family)
    };
    let mut candidates: Vec<Candidate> = kinds.iter().map(candidate).collect();
    candidates.sort_by(|a, b| {
        let of = |candidate: &Candidate| mean_demerit(points, &candidate.demerits, true);
        of(a).unwrap_or(NO_ANSWER).total_cmp(&of(b).unwrap_or(NO_ANSWER))
    });
    Fit { candidates }
}

/// Mean demerit over the points of one half that have one.
pub(super) fn mean_demerit(
    points: &[Measured],
    demerits: &[Option<f64>],
    training: bool,
) -> Option<f64> {
    let of_half = points.iter().zip(demerits).filter(|(m, _)| m.point.is_training == training);
    let found: Vec<f64> = of_half.filter_map(|(_, demerit)| *demerit).collect();
    stats::mean(&found)
}

/// What a plot would show at a glance, in seconds and per second.
#[derive(Debug, Clone, Copy)]
struct Guess {
    /// Median latencies of the smallest blocks alone.
    read: f64,
    write: f64,
    /// Most I/Os per second of the smallest blocks.
    read_iops: f64,
    write_iops: f64,
    /// Most bytes per second.
    read_rate: f64,
    write_rate: f64,
}

impl Guess {
    fn of(points: &[Measured]) -> Self {
        let smallest = points.iter().map(|m| m.point.block).min().unwrap_or(Bytes::new(4096));
        let training = || points.iter().filter(|m| m.point.is_training);
        let alone = |direction: fn(&Answers) -> &Compact| {
            let mut alone: Vec<&Measured> =
                training().filter(|m| !direction(&m.answers).is_empty()).collect();
            alone.sort_by_key(|m| (m.point.depth, m.point.block));
            let median = alone.first()?;
            direction(&median.answers).percentile(Ratio::new(0.5)).map(Nanos::as_secs_f64)
        };
        let most = |mix: Mix, value: &dyn Fn(&Measured) -> f64| {
            let of_mix = training().filter(|m| m.point.mix == mix).map(value);
            of_mix.fold(0.0, f64::max)
        };
        let iops = |m: &Measured| {
            if m.point.block == smallest { m.answers.iops() } else { 0.0 }
        };
        let rate = |m: &Measured| m.answers.iops() * m.point.block.as_f64();
        let read = alone(|answers| &answers.reads).unwrap_or(1e-4);
        let or = |found: f64, other: f64| if found > 0.0 { found } else { other };
        let read_iops = or(most(Mix::Read, &iops), 1.0 / read);
        let read_rate = or(most(Mix::Read, &rate), 1e9);
        Self {
            read,
            write: alone(|answers| &answers.writes).unwrap_or(read),
            read_iops,
            write_iops: or(most(Mix::Write, &iops), read_iops),
            read_rate,
            write_rate: or(most(Mix::Write, &rate), read_rate),
        }
    }
}

/// A kind of model with what is known of it before the search.
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

/// Whole numbers a family starts from: servers and window, or dies and none.
type Shape = (u32, Option<Bytes>);

impl Fitter<'_> {
    /// The best of a family: a coarse look at whole numbers, then a search from the two best.
    fn candidate(&self, name: &'static str, family: &Family) -> Candidate {
        let mut shapes = shapes(family);
        shapes.truncate(usize::try_from(self.effort.evaluations).unwrap_or(usize::MAX).max(1));
        let mut evaluations = u32::try_from(shapes.len()).unwrap_or(u32::MAX);
        let mut starts: Vec<(f64, Shape)> = shapes
            .into_iter()
            .map(|shape| (self.cost(&self.model(family, shape, &self.start(family, shape))), shape))
            .collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best: Option<(f64, DiskModel)> = None;
        for (_, shape) in starts.into_iter().take(2) {
            let start = self.start(family, shape);
            let bounds = (self.effort.evaluations / 2, 1e-4);
            let found = minimise(&start, 0.4, bounds, &mut |place| {
                self.cost(&self.model(family, shape, place))
            });
            evaluations += found.evaluations;
            if best.as_ref().is_none_or(|(cost, _)| found.cost < *cost) {
                best = Some((found.cost, self.model(family, shape, &found.place)));
            }
        }
        let (cost, model) = best.expect("every family has a shape");
        let length = Length { answers: self.effort.answers * 10.0, shortest: 1.0 };
        let all: Vec<usize> = (0..self.points.len()).collect();
        let answers = self.simulate(&model, &all, length);
        let demerits = self.points.iter().zip(&answers);
        let demerits = demerits.map(|(m, answers)| m.answers.demerit(answers)).collect();
        Candidate { name, model, cost, evaluations, demerits, answers }
    }

    /// Logarithms of the continuous parameters, from what a plot would show.
    fn start(&self, family: &Family, shape: Shape) -> Vec<f64> {
        let Guess { read, write, read_iops, write_iops, read_rate, write_rate } = self.guess;
        let units = f64::from(shape.0);
        let busy = |iops: f64, alone: f64| (units / iops).min(0.8 * alone);
        let start = match family {
            Family::Servers(variation) => {
                let (read_time, write_time) = (busy(read_iops, read), busy(write_iops, write));
                let latency = (read - read_time).min(write - write_time).max(0.05 * read);
                let every = variation.every.as_secs_f64();
                let window = shape.1.map_or(1.0, Bytes::as_f64);
                vec![read_time, write_time, read_rate, write_rate, latency, window, every]
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
                capacity: self.capacity,
                servers: shape.0,
                read: time(value(0)),
                write: time(value(1)),
                rate: value(2),
                write_rate: value(3),
                latency: time(value(4)),
                window: shape.1.map(|_| bytes(value(5))),
                variation: Variation { every: time(value(6)), ..variation.clone() },
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

    /// Mean demerit over the training points.
    fn cost(&self, model: &DiskModel) -> f64 {
        if (self.is_stopped)() {
            return NO_ANSWER;
        }
        let training: Vec<usize> =
            (0..self.points.len()).filter(|place| self.points[*place].point.is_training).collect();
        let length = Length { answers: self.effort.answers, shortest: self.effort.seconds };
        let answers = self.simulate(model, &training, length);
        let costs = training.iter().zip(&answers).map(|(place, answers)| {
            self.points[*place].answers.demerit(answers).unwrap_or(NO_ANSWER)
        });
        let costs: Vec<f64> = costs.collect();
        stats::mean(&costs).unwrap_or(NO_ANSWER)
    }

    /// The model's answers to these points, spread over the threads.
    fn simulate(&self, model: &DiskModel, places: &[usize], length: Length) -> Vec<Answers> {
        let one = |place: &usize| {
            let measured = &self.points[*place];
            let iops = measured.answers.iops();
            // More than was measured says nothing more about what was measured.
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let measured_answers = (measured.answers.count() as f64).max(100.0);
            let length = Length { answers: length.answers.min(measured_answers), ..length };
            let round = *place as u64;
            answers(model, (&measured.point, self.span, round), (length, iops)).unwrap_or_default()
        };
        let threads = self.effort.threads.clamp(1, places.len().max(1));
        let mut results: Vec<Vec<Answers>> = Vec::new();
        std::thread::scope(|scope| {
            // Neighbours cost alike, so each thread takes every so-manieth point.
            let part = |first: usize| {
                move || places.iter().skip(first).step_by(threads).map(one).collect::<Vec<_>>()
            };
            let others: Vec<_> = (1..threads).map(|first| scope.spawn(part(first))).collect();
            results.push(part(0)());
            results.extend(others.into_iter().map(|other| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
        });
        let mut parts: Vec<_> = results.into_iter().map(Vec::into_iter).collect();
        (0..places.len()).filter_map(|place| parts[place % threads].next()).collect()
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

/// A latency above so many medians of its loop is a stall, not a pace; our choice, where the
/// distributions of depth 1 on the machines we saw have their knee.
const PACE_MAX: f64 = 2.0;

/// Entries of the tables; with 33 the last one holds the slowest 3 %.
const PACES: u32 = 33;
const STALLS: u32 = 65;

/// What varies, from loops of one user: nothing waits for anything of its own there.
///
/// Paces are latencies up to twice their loop's median, as multiples of it. What is beyond is
/// a stall, as long as it is longer than the median; their number per second is taken from the
/// smallest blocks, whose short median hides the fewest.
fn variation(points: &[Measured]) -> Variation {
    let alone = || points.iter().filter(|m| m.point.is_training && m.point.depth == 1);
    let smallest = alone().map(|m| m.point.block).min();
    let (mut paces, mut stalls, mut seconds) = (Vec::new(), Vec::new(), 0.0);
    for measured in alone() {
        for direction in measured.answers.directions() {
            let Some(median) = direction.percentile(Ratio::new(0.5)) else { continue };
            let limit = median.scale(PACE_MAX);
            let whole = f64::from(u32::try_from(direction.count()).unwrap_or(u32::MAX));
            for (value, count) in &direction.buckets {
                let count = f64::from(*count);
                if *value <= limit {
                    paces.push((value.as_secs_f64() / median.as_secs_f64(), count / whole));
                } else if Some(measured.point.block) == smallest {
                    stalls.push((value.saturating_sub(median).as_secs_f64(), count));
                }
            }
        }
        if Some(measured.point.block) == smallest {
            seconds += measured.answers.seconds;
        }
    }
    let stalled: f64 = stalls.iter().map(|(length, count)| length * count).sum();
    let count: f64 = stalls.iter().map(|(_, count)| count).sum();
    let left = seconds - stalled;
    Variation {
        every: Variation::default().every,
        pace: table(&mut paces, PACES).into_iter().map(rounded).collect(),
        stalls_per_s: if left > 0.0 { count / left } else { 0.0 },
        stalls: table(&mut stalls, STALLS).into_iter().map(time).collect(),
    }
}

/// Quantiles of weighted values at equal distances; empty without values.
fn table(values: &mut [(f64, f64)], entries: u32) -> Vec<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let whole: f64 = values.iter().map(|(_, weight)| weight).sum();
    let at = |entry: u32| {
        let wanted = whole * f64::from(entry) / f64::from(entries - 1);
        let mut seen = 0.0;
        let reached = values.iter().find(|(_, weight)| {
            seen += weight;
            seen >= wanted * (1.0 - 1e-9)
        });
        reached.or(values.last()).map(|(value, _)| *value)
    };
    (0..entries).filter_map(at).collect()
}

/// Four digits are more than a measurement knows, and short in a file.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
