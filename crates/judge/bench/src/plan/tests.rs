use proptest::prelude::*;
use run_store::run::Origin;
use spec::plan::{EngineOptions, Ladder, Measure, Plan, Profile, Scale};
use units::Nanos;

use super::*;
use fixtures::tile_with_periods;

fn layer(origin: Origin, plan: Plan) -> Layer {
    Layer { origin, plan }
}

fn plan_file() -> Plan {
    toml::from_str("datastore = \"/mnt/array\"\ntile = \"general\"\n[measure]\nduration = \"20s\"")
        .expect("a valid plan")
}

const HERE: Surroundings = Surroundings { entropy: u64::MAX, cores: 64 };

fn resolved(layers: &[Layer]) -> ResolvedPlan {
    resolve(layers, tile_with_periods(&[]), HERE).expect("a plan that resolves")
}

#[test]
fn flag_beats_environment_beats_plan_beats_profile() {
    let flag = Plan { ladder: Ladder { repeats: Some(5), ..Ladder::default() }, ..Plan::default() };
    let env = Plan {
        ladder: Ladder { repeats: Some(4), ..Ladder::default() },
        scale: Scale { footprint: Some(0.5), ..Scale::default() },
        ..Plan::default()
    };
    let plan = resolved(&[
        layer(Origin::Flag, flag),
        layer(Origin::Env, env),
        Layer::of_plan(&plan_file()),
    ]);
    assert_eq!(plan.repeats, 5);
    assert_eq!(plan.footprint, 0.5);
    assert_eq!(plan.duration, Nanos::from_secs(20));
    assert_eq!(plan.slice, Nanos::SECOND);
    assert_eq!(plan.workers, 8);
    assert_eq!(plan.profile, Profile::Standard);
    let origins = [
        ("ladder.repeats", Origin::Flag),
        ("scale.footprint", Origin::Env),
        ("measure.duration", Origin::Plan),
        ("measure.slice", Origin::Profile),
        ("engine.workers", Origin::Default),
        ("profile", Origin::Default),
    ];
    for (key, origin) in origins {
        assert_eq!(plan.origin(key), origin, "{key}");
    }
}

#[test]
fn a_drawn_seed_survives_a_json_reader_and_a_given_one_is_kept() {
    let drawn = resolved(&[Layer::of_plan(&plan_file())]).seed;
    assert_eq!(drawn, (1 << 53) - 1);
    let flag = layer(Origin::Flag, Plan { seed: Some(7), ..Plan::default() });
    assert_eq!(resolved(&[flag, Layer::of_plan(&plan_file())]).seed, 7);
}

#[test]
fn the_resolved_plan_resolves_to_itself() {
    let quick = Plan { profile: Some(Profile::Quick), ..Plan::default() };
    let flag = layer(Origin::Flag, quick);
    let tile = || tile_with_periods(&["5m"]);
    let first = resolve(&[flag, Layer::of_plan(&plan_file())], tile(), HERE).expect("resolves");
    let text = first.to_toml().expect("writes");
    let again: Plan = toml::from_str(&text).expect("its own text");
    let other = Surroundings { entropy: 0, cores: 1 };
    let second = resolve(&[Layer::of_plan(&again)], tile(), other).expect("resolves");
    assert_eq!(second.to_toml().expect("writes"), text);
    assert_eq!(second.seed, first.seed);
    assert_eq!(second.method, first.method);
}

#[test]
fn warm_up_fits_an_analyser_unless_it_was_chosen() {
    let meter = || vec!["ptdaemon:lab".parse().expect("a meter")];
    let quick = || Plan { profile: Some(Profile::Quick), meters: meter(), ..Plan::default() };
    let warm_up = |plan: Plan| {
        let plan = resolved(&[layer(Origin::Flag, plan), Layer::of_plan(&plan_file())]);
        (plan.warm_up_min, plan.warm_up_max)
    };
    let without = warm_up(Plan { meters: Vec::new(), ..quick() });
    assert!(without.0 < Nanos::from_secs(10), "{without:?}");
    assert_eq!(warm_up(quick()).0, Nanos::from_secs(10));
    let (short, long) = (Nanos::from_secs(1), Nanos::from_secs(4));
    let chosen = Plan {
        measure: Measure {
            warm_up_min: Some(short),
            warm_up_max: Some(long),
            ..Measure::default()
        },
        ..quick()
    };
    assert_eq!(warm_up(chosen), (short, long));
    assert_eq!(
        warm_up(Plan {
            measure: Measure { warm_up_max: Some(long), ..Measure::default() },
            ..quick()
        }),
        (long, long)
    );
}

#[test]
fn a_simulation_has_no_meters() {
    let meters = vec!["shelly:plug".parse().expect("a meter")];
    let array = Some("array:nvme-local".to_owned());
    let values = Plan { meters, datastore: array, ..Plan::default() };
    let layers = [layer(Origin::Flag, values), Layer::of_plan(&plan_file())];
    let plan = resolve_simulated(&layers, tile_with_periods(&[]), HERE).expect("resolves");
    assert_eq!(plan.settings.meters, []);
}

#[test]
fn measured_time_covers_whole_burst_periods() {
    let rounded = |asked: &str, scale: f64, periods: &[&str]| {
        let tile = tile_with_periods(periods);
        whole_periods(asked.parse().expect("a time"), scale, workloads_of(&tile)).to_string()
    };
    assert_eq!(rounded("8s", 1.0 / 60.0, &["5m"]), "10 s");
    assert_eq!(rounded("10s", 1.0 / 60.0, &["5m"]), "10 s");
    assert_eq!(rounded("120s", 0.2, &["5m"]), "2m");
    assert_eq!(rounded("100s", 1.0, &["40s", "60s"]), "2m", "their common multiple");
    assert_eq!(rounded("100s", 1.0, &["70s", "90s"]), "3m", "no common one: the longest");
    assert_eq!(rounded("8s", 1.0, &["1h"]), "8 s", "too long to wait for");
    assert_eq!(rounded("8s", 1.0, &[]), "8 s");
}

#[test]
fn a_value_out_of_range_is_named_with_what_is_allowed() {
    let zero = layer(
        Origin::Flag,
        Plan { scale: Scale { footprint: Some(0.0), ..Scale::default() }, ..Plan::default() },
    );
    let error = resolve(&[zero, Layer::of_plan(&plan_file())], tile_with_periods(&[]), HERE)
        .expect_err("nothing to measure");
    assert_eq!(error.to_string(), "scale.footprint is 0, but must be above 0 and at most 1");
}

/// JSON has no NaN: merging layers would take it for an absent value.
#[test]
fn factor_that_is_no_number_is_refused() {
    for factor in [f64::NAN, f64::INFINITY] {
        let scale = Scale { time: Some(factor), ..Scale::default() };
        let flag = layer(Origin::Flag, Plan { scale, ..Plan::default() });
        let error = resolve(&[flag, Layer::of_plan(&plan_file())], tile_with_periods(&[]), HERE)
            .expect_err("no time to stretch");
        let allowed = format!("scale.time is {factor}, but must be above 0 and at most 100");
        assert_eq!(error.to_string(), allowed);
    }
}

/// Otherwise a layer that does not name the switch would turn it off.
#[test]
fn switch_is_on_if_any_layer_has_it_on() {
    let on = EngineOptions { verify: true, ..EngineOptions::default() };
    let config = layer(Origin::Config, Plan { engine: on, ..Plan::default() });
    let flag = layer(Origin::Flag, Plan { seed: Some(7), ..Plan::default() });
    let plan = resolved(&[flag, Layer::of_plan(&plan_file()), config]);
    assert!(plan.settings.engine.verify && !plan.settings.engine.buffered);
    assert_eq!(plan.origin("engine.verify"), Origin::Config);
    assert_eq!(plan.origin("engine.buffered"), Origin::Default);
}

proptest! {
    #[test]
    fn rounding_to_whole_periods_is_stable(
        asked in 1_u64..10_000, first in 1_u64..10_000, second in 1_u64..10_000,
    ) {
        let tile = tile_with_periods(&[&format!("{first}ms"), &format!("{second}ms")]);
        let once = whole_periods(Nanos::from_millis(asked), 1.0, workloads_of(&tile));
        prop_assert!(once >= Nanos::from_millis(asked));
        prop_assert_eq!(whole_periods(once, 1.0, workloads_of(&tile)), once);
    }
}
