//! Meter whose watts are known at every time: the computed energy must equal the used one.

use std::f64::consts::TAU;

use run_store::run::EnergyBy;
use tilemark_meter::energy::{Rules, energy};
use tilemark_meter::{Log, Sample, Span};
use units::Nanos;

/// Power of a server: 200 W, a load that varies by 80 W every 30 s, and a ramp of 0.5 W per second.
fn power(second: f64) -> f64 {
    200.0 + 80.0 * (TAU * second / 30.0).sin() + 0.5 * second
}

/// Integral of the power.
fn used(second: f64) -> f64 {
    200.0 * second - 80.0 * 30.0 / TAU * (TAU * second / 30.0).cos() + 0.25 * second * second
}

fn at(second: f64) -> Nanos {
    Nanos::from_secs_f64(second)
}

const FROM: f64 = 7.3;
const TO: f64 = 67.9;

fn error_percent(joules: f64) -> f64 {
    let expected = used(TO) - used(FROM);
    (joules / expected - 1.0).abs() * 100.0
}

/// Samples up to a fifth of a period late, by a fixed sequence.
fn jittered(period: f64, sample: impl Fn(f64) -> Sample) -> Vec<Sample> {
    let jitter = |number: u32| f64::from(number * 7919 % 100) / 500.0;
    let count = (80.0 / period).ceil();
    (0_u32..)
        .take_while(|number| f64::from(*number) < count)
        .map(|number| sample((f64::from(number) + jitter(number)) * period))
        .collect()
}

fn measured(samples: &[Sample], period: f64, counter_step: Option<f64>) -> (f64, EnergyBy) {
    let rules = Rules { period: at(period), counter_step };
    let mut log = Log::default();
    samples.iter().for_each(|sample| log.take(*sample, sample.at));
    let found = log.energy(Span { from: at(FROM), to: at(TO) }, rules).expect("it carries");
    assert_eq!(
        energy(samples, Span { from: at(FROM), to: at(TO) }, rules).map(|own| own.joules),
        Ok(found.joules)
    );
    (error_percent(found.joules), found.by)
}

#[test]
fn watts_once_a_second_are_right_within_a_tenth_of_a_per_cent() {
    let samples = jittered(1.0, |second| Sample::watts(at(second), power(second)));
    let (error, by) = measured(&samples, 1.0, None);
    assert_eq!(by, EnergyBy::Trapezoid);
    assert!(error <= 0.1, "{error} %");
}

#[test]
fn a_counter_is_as_right_as_its_steps() {
    let step = 3.6;
    let told = |second: f64| (used(second) - used(0.0)).div_euclid(step) * step;
    let samples = jittered(1.0, |second| Sample::joules(at(second), told(second)));
    let (error, by) = measured(&samples, 1.0, Some(step));
    assert_eq!(by, EnergyBy::Counter);
    let expected = used(TO) - used(FROM);
    assert!(error <= 100.0 * 2.0 * step / expected + 0.1, "{error} %");
}

/// The controller of a server reports whole watts, every five seconds.
#[test]
fn a_slow_and_coarse_meter_is_off_by_less_than_a_per_cent() {
    let samples = jittered(5.0, |second| Sample::watts(at(second), power(second).round()));
    let (error, _) = measured(&samples, 5.0, None);
    assert!(error <= 1.0, "{error} %");
}
