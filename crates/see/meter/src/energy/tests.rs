use proptest::prelude::*;

use super::*;

const PERIOD: Nanos = Nanos::SECOND;

const WATTS: Rules = Rules { period: PERIOD, counter_step: None };
const COUNTER: Rules = Rules { period: PERIOD, counter_step: Some(0.001) };

fn at(seconds: f64) -> Nanos {
    Nanos::from_secs_f64(seconds)
}

fn span(from: f64, to: f64) -> Span {
    Span { from: at(from), to: at(to) }
}

/// Energy of power that rises by 10 W per second from 100 W: over [a, b] it is 100 (b-a) + 5 (b^2 -
/// a^2).
fn ramp(from: f64, to: f64) -> f64 {
    100.0 * (to - from) + 5.0 * (to * to - from * from)
}

#[test]
fn exactly_the_time_counts_and_not_what_lies_around_it() {
    let samples: Vec<Sample> =
        (0..12).map(|s| Sample::watts(at(f64::from(s)), 100.0 + 10.0 * f64::from(s))).collect();
    let found = energy(&samples, span(1.25, 9.6), WATTS).expect("it carries");
    assert!((found.joules - ramp(1.25, 9.6)).abs() < 1e-6, "{found:?}");
    assert_eq!(found.by, EnergyBy::Trapezoid);
    let one = energy(&samples, span(3.2, 3.4), WATTS).expect("between two samples");
    assert!((one.joules - ramp(3.2, 3.4)).abs() < 1e-6, "{one:?}");
}

#[test]
fn a_counter_is_taken_for_what_it_counted() {
    let samples: Vec<Sample> =
        (0..10).map(|s| Sample::joules(at(f64::from(s)), 5000.0 + 250.0 * f64::from(s))).collect();
    let found = energy(&samples, span(2.5, 6.5), COUNTER).expect("it carries");
    assert!((found.joules - 1000.0).abs() < 1e-9, "{found:?}");
    assert_eq!(found.by, EnergyBy::Counter);
}

#[test]
fn a_counter_of_watt_hours_does_not_judge_seconds() {
    let rules = Rules { period: PERIOD, counter_step: Some(3600.0) };
    let both = |s: u32| Sample { watts: Some(50.0), ..Sample::joules(at(f64::from(s)), 3600.0) };
    let samples: Vec<Sample> = (0..10).map(both).collect();
    let found = energy(&samples, span(1.0, 9.0), rules).expect("watts carry it");
    assert_eq!((found.joules, found.by), (400.0, EnergyBy::Trapezoid));
    let alone: Vec<Sample> = samples.iter().map(|own| Sample { watts: None, ..*own }).collect();
    assert!(matches!(energy(&alone, span(1.0, 9.0), rules), Err(Void::Coarse { .. })));
}

/// The counter is updated once a minute: its difference over ten seconds may be that of a whole
/// minute.
#[test]
fn a_counter_that_stands_still_between_samples_is_not_taken() {
    let told = |s: u32| if s < 5 { 0.0 } else { 6000.0 };
    let both = |s: u32| Sample { watts: Some(100.0), ..Sample::joules(at(f64::from(s)), told(s)) };
    let samples: Vec<Sample> = (0..12).map(both).collect();
    let found = energy(&samples, span(1.0, 11.0), COUNTER).expect("watts carry it");
    assert_eq!((found.joules, found.by), (1000.0, EnergyBy::Trapezoid));
}

#[test]
fn nothing_is_made_up_where_samples_are_missing() {
    let samples: Vec<Sample> =
        [0.0, 1.0, 2.0, 4.5, 5.0, 6.0].iter().map(|s| Sample::watts(at(*s), 100.0)).collect();
    assert!(energy(&samples, span(0.5, 1.5), WATTS).is_ok());
    let gap = energy(&samples, span(1.5, 5.5), WATTS).expect_err("2.5 s without a sample");
    assert_eq!(gap.to_string(), "there was no sample for 2.5 s (limit 2 s, two periods)");
    assert_eq!(energy(&samples, span(5.5, 7.0), WATTS), Err(Void::NoEnd));
    assert_eq!(energy(&samples[1..], span(0.5, 1.5), WATTS), Err(Void::NoBegin));
    assert_eq!(energy(&[], span(0.5, 1.5), WATTS), Err(Void::NoBegin));
    assert_eq!(energy(&samples, span(1.5, 1.5), WATTS), Err(Void::NoTime));
}

/// Model: power at every microsecond of the span, summed up.
fn model(samples: &[Sample], span: Span) -> f64 {
    const STEPS: u32 = 20_000;
    let width = span.length().as_secs_f64() / f64::from(STEPS);
    let power = |moment: Nanos| {
        let after = samples.iter().position(|own| own.at >= moment).expect("after");
        let before = after.saturating_sub(1);
        let (a, b) = (samples[before], samples[after.max(1)]);
        let share =
            (moment.as_secs_f64() - a.at.as_secs_f64()) / (b.at.as_secs_f64() - a.at.as_secs_f64());
        a.watts.expect("watts") * (1.0 - share) + b.watts.expect("watts") * share
    };
    (0..STEPS)
        .map(|step| power(at(span.from.as_secs_f64() + (f64::from(step) + 0.5) * width)) * width)
        .sum()
}

proptest! {
    #[test]
    fn a_trapezoid_is_the_area_below_straight_lines(
        steps in prop::collection::vec((100_u64..2000, 0.0..1000.0_f64), 4..20),
        from in 0.0..0.5_f64,
        length in 0.1..0.5_f64,
    ) {
        let mut time = 0;
        let samples: Vec<Sample> = steps.iter().map(|(gap, watts)| {
            time += gap;
            Sample::watts(Nanos::from_millis(time), *watts)
        }).collect();
        let (first, last) = (samples[0].at.as_secs_f64(), samples[samples.len() - 1].at.as_secs_f64());
        let begin = first + from * (last - first);
        let own = span(begin, begin + length * (last - begin));
        let found = energy(&samples, own, WATTS).expect("gaps are below two periods");
        let expected = model(&samples, own);
        prop_assert!((found.joules - expected).abs() <= 1e-3 * expected + 1e-3, "{found:?} of {expected}");
    }

    #[test]
    fn two_halves_are_the_whole(
        watts in prop::collection::vec(0.0..1000.0_f64, 12..13),
        cut in 1.5..9.5_f64,
    ) {
        let samples: Vec<Sample> = watts.iter().enumerate()
            .map(|(s, watts)| Sample::watts(Nanos::from_secs(s as u64), *watts)).collect();
        let joules = |from, to| energy(&samples, span(from, to), WATTS).expect("it carries").joules;
        prop_assert!((joules(1.0, cut) + joules(cut, 10.0) - joules(1.0, 10.0)).abs() < 1e-3);
    }
}
