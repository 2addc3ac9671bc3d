//! Study of FAST Cache: it exists, is complete, and is equal on any number of threads. Its claims
//! are not judged here; the page in `docs/studies` has their outcomes.

use std::num::NonZeroUsize;

use bench::progress::Control;
use findings::StudyResult;
use spec::study::{Kind, ResolvedStudy, resolve_study};
use tilemark_study::{Options, Simulated, run};
use units::Nanos;

fn study() -> ResolvedStudy {
    resolve_study("fast-cache").expect("it is shipped")
}

#[test]
fn what_was_fitted_is_not_called_a_prediction() {
    let study = study();
    let kind = |id: &str| {
        let claim = study.study.claims.iter().find(|claim| claim.id == id);
        claim.unwrap_or_else(|| panic!("no claim {id}")).kind
    };
    for fitted in ["A1", "A2", "A3", "A4-five", "A5-one", "A8", "A10", "A14"] {
        assert_eq!(kind(fitted), Kind::Calibrated, "{fitted}");
    }
    let predicted = "A4 A5-two A6 A9-same A9-order A11 A12-11 A12-20 A13 A15-reads A15-writes";
    for predicted in predicted.split(' ') {
        assert_eq!(kind(predicted), Kind::Predicted, "{predicted}");
    }
}

/// A second of the smallest step, once.
fn brief(threads: usize) -> StudyResult {
    let mut study = study();
    for configuration in &mut study.configurations {
        configuration.footprint /= 16.0;
        configuration.measure.warm_up_min = Some(Nanos::SECOND);
        configuration.measure.warm_up_max = Some(Nanos::SECOND);
        configuration.measure.duration = Some(Nanos::SECOND);
        configuration.time = 1.0 / 300.0;
    }
    let options = Options {
        only: vec!["A5-one".to_owned()],
        threads: NonZeroUsize::new(threads),
        repeats: Some(1),
        ..Options::default()
    };
    run(&study, &Simulated::new(&study.configurations), &options, &Control::default(), &mut |_| {})
        .expect("the claim is there")
}

#[test]
fn threads_do_not_change_the_study() {
    let alone = brief(1);
    assert!(alone.complete, "{:?}", alone.warnings);
    assert!(alone.claims.iter().all(|claim| claim.ours.is_some()), "{:?}", alone.claims);
    assert_eq!(alone, brief(2));
}
