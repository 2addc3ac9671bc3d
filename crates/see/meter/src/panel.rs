//! All meters of a run, each on a separate thread.

mod watched;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use run_store::gauge::{Gauge, GaugeName, GaugeSource, Readings};
use run_store::run::{Figure, MeterEnergy, MeterFacts, MeterScope};
use spec::meter::{Meter as Spec, PowerScope};
use units::Nanos;

use crate::energy::Rules;
use crate::panel::watched::Watched;
use crate::{About, Fault, MeterError, Phase, Sample, Span, monotonic};

/// Longest wait for a meter's first sample. Analysers at USB take 17 s to start (MLCommons
/// power-dev, `server.py`, which waits for 30 s).
const FIRST_MAX: Duration = Duration::from_secs(30);

/// Longest wait for meters to end.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// Open meters of a run. Dropping the panel ends them.
#[derive(Debug)]
pub struct Panel {
    meters: Vec<Watched>,
}

/// Present state of a meter.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Last sample.
    pub last: Option<Sample>,
    /// Number of samples so far.
    pub taken: u64,
    /// Last fault.
    pub fault: Option<Fault>,
}

impl Panel {
    /// Opens all meters at the same time, and waits until each has a sample.
    ///
    /// # Errors
    ///
    /// If a meter cannot be opened, has no sample, or has the same name as another.
    pub fn open(specs: &[Spec]) -> Result<Self, MeterError> {
        let names = names(specs)?;
        let opened: Vec<Result<Watched, MeterError>> = std::thread::scope(|scope| {
            let all: Vec<_> = specs
                .iter()
                .zip(names)
                .map(|(spec, name)| scope.spawn(move || Watched::open(spec, name)))
                .collect();
            all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err(died()))).collect()
        });
        let panel = Self { meters: opened.into_iter().collect::<Result<_, _>>()? };
        panel.await_first()?;
        Ok(panel)
    }

    fn await_first(&self) -> Result<(), MeterError> {
        let until = Instant::now() + FIRST_MAX;
        for meter in &self.meters {
            while meter.shown().taken == 0 {
                if Instant::now() >= until || meter.is_over() {
                    let waited = FIRST_MAX.into();
                    let why = meter.shown().fault;
                    return Err(MeterError::Silent { meter: meter.asked(), waited, why });
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }

    /// Refuses meters of hosts that do not take part. Without host names, this computer is the only
    /// host.
    ///
    /// # Errors
    ///
    /// If there is such a meter.
    pub fn check_hosts(specs: &[Spec], hosts: &[String]) -> Result<(), MeterError> {
        for spec in specs {
            let Some(host) = spec.of.iter().find(|host| !hosts.contains(host)) else { continue };
            let known = match hosts {
                [] => "only this host drives tiles".to_owned(),
                hosts => format!("there are {}", hosts.join(", ")),
            };
            let (meter, host) = (spec.to_string(), host.clone());
            return Err(MeterError::Host { meter, host, known });
        }
        Ok(())
    }

    /// Returns true if there are no meters.
    pub fn is_empty(&self) -> bool {
        self.meters.is_empty()
    }

    /// Announces a phase to all meters without waiting.
    pub fn phase(&self, phase: Phase) {
        self.meters.iter().for_each(|meter| meter.set_phase(phase));
    }

    /// Returns the state of each meter, in the order of the specifications.
    pub fn shown(&self) -> Vec<Shown> {
        self.meters.iter().map(Watched::shown).collect()
    }

    /// Returns the present properties of each meter.
    pub fn about(&self) -> Vec<About> {
        self.meters.iter().map(Watched::about).collect()
    }

    /// Returns a source of watts for each meter, for the slices from now on.
    pub fn sources(&self) -> Vec<Box<dyn GaugeSource>> {
        let source = |meter: &Watched| {
            let own = Watts { meter: meter.clone(), read: monotonic() };
            Box::new(own) as Box<dyn GaugeSource>
        };
        self.meters.iter().map(source).collect()
    }

    /// Waits until every meter has a sample after a time. It stops waiting for a meter after twice
    /// the meter's period, and altogether when `goes_on` returns false.
    pub fn settle(&self, after: Nanos, goes_on: &dyn Fn() -> bool) {
        for meter in &self.meters {
            let until = after.saturating_add(Nanos(meter.about().period.0.saturating_mul(2)));
            let is_there = || meter.shown().last.is_some_and(|last| last.at >= after);
            while !is_there() && !meter.is_over() && monotonic() < until && goes_on() {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Returns the longest period of all meters.
    pub fn period(&self) -> Nanos {
        self.meters.iter().map(|meter| meter.about().period).max().unwrap_or(Nanos::ZERO)
    }

    /// Returns the energy of each meter in a span.
    pub fn energy(&self, span: Span) -> Vec<MeterEnergy> {
        self.meters.iter().map(|meter| meter_energy(meter, span)).collect()
    }

    /// Returns facts about each meter, with its idle watts in a span.
    pub fn facts(&self, idle: Option<Span>) -> Vec<MeterFacts> {
        self.meters.iter().map(|meter| facts(meter, idle)).collect()
    }

    /// Ends all meters, with a limited wait. Returns texts about settings that were not restored,
    /// and about meters that hang.
    pub fn close(&self) -> Vec<String> {
        self.meters.iter().for_each(Watched::stop);
        let until = Instant::now() + CLOSE_MAX;
        self.meters.iter().filter_map(|meter| meter.end(until)).collect()
    }
}

impl Drop for Panel {
    fn drop(&mut self) {
        self.close();
    }
}

fn died() -> MeterError {
    MeterError::Thread(std::io::Error::other("it died"))
}

/// Returns the names of the meters: the given name, or otherwise the kind, with a number from the
/// second meter on.
fn names(specs: &[Spec]) -> Result<Vec<String>, MeterError> {
    let mut taken = BTreeSet::new();
    for name in specs.iter().filter_map(|spec| spec.name.as_ref()) {
        if !taken.insert(name.clone()) {
            return Err(MeterError::Name(name.clone()));
        }
    }
    let mut named = Vec::new();
    for spec in specs {
        named.push(spec.name.clone().unwrap_or_else(|| {
            let kind = spec.kind.name();
            let numbered = (2_u32..).map(|number| format!("{kind}-{number}"));
            let mut free = std::iter::once(kind.to_owned()).chain(numbered);
            let name = free.find(|name| !taken.contains(name)).unwrap_or_default();
            taken.insert(name.clone());
            name
        }));
    }
    Ok(named)
}

const fn scope_of(spec: PowerScope) -> MeterScope {
    match spec {
        PowerScope::Host => MeterScope::Host,
        PowerScope::Storage => MeterScope::Storage,
        PowerScope::Rack => MeterScope::Rack,
        PowerScope::Processor => MeterScope::Processor,
    }
}

fn meter_energy(meter: &Watched, span: Span) -> MeterEnergy {
    let about = meter.about();
    let rules = Rules { period: about.period, counter_step: about.counter_step };
    let log = meter.log();
    let energy = log.energy(span, rules);
    let seconds = span.length().as_secs_f64();
    let figure = |by: f64| match &energy {
        Ok(energy) => Figure::of(energy.joules / by),
        Err(why) => Figure::absent(why.to_string()),
    };
    // A fault between the last sample before and the first one after belongs to this span.
    let wide = Span { to: span.to.saturating_add(about.period), ..span };
    MeterEnergy {
        meter: meter.name().to_owned(),
        scope: scope_of(meter.spec().scope()),
        joules: figure(1.0),
        mean_watts: figure(seconds),
        most_watts: log.watts(span).reduce(f64::max),
        by: energy.as_ref().ok().map(|energy| energy.by),
        samples: log.watts(span).count() as u64,
        gap_max_ns: log.gap(span).0,
        faults: log.faults(wide).into_iter().map(ToString::to_string).collect(),
    }
}

fn facts(meter: &Watched, idle: Option<Span>) -> MeterFacts {
    let (about, spec) = (meter.about(), meter.spec());
    MeterFacts {
        name: meter.name().to_owned(),
        asked: spec.to_string(),
        scope: scope_of(spec.scope()),
        of: spec.of.clone(),
        model: about.model,
        method: about.method,
        period_ns: about.period.0,
        resolution_watts: about.resolution_watts,
        counter_step_joules: about.counter_step,
        uncertainty: about.uncertainty,
        idle_watts: match idle {
            Some(span) => meter_energy(meter, span).mean_watts,
            None => Figure::absent("not measured yet"),
        },
        notes: about.notes,
    }
}

/// Source of a meter's watts for each slice.
#[derive(Debug)]
struct Watts {
    meter: Watched,
    /// Time of the last sample returned.
    read: Nanos,
}

impl GaugeSource for Watts {
    fn read(&mut self) -> Readings {
        let (mut sum, mut count) = (0.0, 0.0);
        let log = self.meter.log();
        for (at, watts) in log.watts_since(self.read) {
            (sum, count, self.read) = (sum + watts, count + 1.0, at);
        }
        drop(log);
        let gauge = (count > 0.0).then(|| Gauge {
            name: GaugeName::PowerWatts,
            scope: self.meter.name().to_owned(),
            value: sum / count,
        });
        Readings { gauges: gauge.into_iter().collect(), ..Readings::default() }
    }
}

#[cfg(test)]
mod tests;
