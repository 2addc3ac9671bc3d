//! Every configuration of every shipped study runs: one small tile, for an instant. Outcomes of
//! claims are in `docs/studies`; this test detects a study that no longer runs.

use bench::progress::Control;
use spec::plan::Measure;
use spec::shipped::study_names;
use spec::study::{ResolvedStudy, resolve_study};
use tilemark_study::{Point, Simulate, Simulated};
use units::Nanos;

/// Study with steps of half a second and tiles of a sixteenth of the size; a step that is long
/// because its task begins five times in an hour, takes a quarter of an hour.
fn brief(name: &str) -> ResolvedStudy {
    let mut study = resolve_study(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let tenth = Some(Nanos::from_millis(100));
    for configuration in &mut study.configurations {
        configuration.footprint /= 16.0;
        // Schedules of five minutes are compressed to half a second.
        configuration.time = configuration.time.min(1.0 / 600.0);
        let is_long = configuration.measure.duration >= Some(Nanos::from_secs(600));
        let (millis, slice) = if is_long { (900_000, 1_000) } else { (500, 100) };
        configuration.measure = Measure {
            warm_up_min: tenth,
            warm_up_max: tenth,
            duration: Some(Nanos::from_millis(millis)),
            slice: Some(Nanos::from_millis(slice)),
        };
    }
    study
}

#[test]
fn every_configuration_of_every_shipped_study_runs() {
    let names: Vec<_> = study_names().collect();
    assert!(names.contains(&"vsan-6"), "{names:?}");
    for name in names {
        let study = brief(name);
        let simulated = Simulated::new(&study.configurations);
        for (index, configuration) in study.configurations.iter().enumerate() {
            let point = Point { index, configuration, tiles: 1, repeat: 1, seed: 1 };
            let place = format!("{name}, configuration {}", configuration.name);
            let step = simulated.step(&point, &Control::default());
            let step = step.unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(step.model.is_some(), "{place}: nothing is said of the model");
            assert!(step.io.iter().any(|total| total.count > 0), "{place}: no I/O");
        }
    }
}
