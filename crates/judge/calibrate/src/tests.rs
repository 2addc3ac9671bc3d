//! Fits of devices whose parameters are known, in virtual time.

use std::time::Duration;

use hardware::{ServersParameters, SsdPreset, Variation};
use units::{Bytes, Nanos};

use super::disk::DiskModel;
use super::fit::{Effort, Fit, Kind, fit, fit_kinds, mean_demerit};
use super::loops::Span;
use super::matrix::{Mix, Point, matrix};
use super::measure::{Answers, Measured};
use super::model_disk;
use super::virtual_time::{Length, answers};

const SPAN: Span = Span { size: Bytes::new(1 << 30), seed: 7 };

fn known() -> ServersParameters {
    ServersParameters {
        write_rate: 6e8,
        latency: Nanos::from_micros(30),
        ..ServersParameters::plain(
            Bytes::GIB * 2,
            1,
            (Nanos::from_micros(40), Nanos::from_micros(60)),
            1.2e9,
        )
    }
}

/// Measurement of this disk, with other addresses than the fit simulates.
fn measured(model: &DiskModel, points: &[Point], wanted: f64) -> Vec<Measured> {
    let one = |(number, point): (usize, &Point)| {
        let length = Length { answers: wanted, shortest: 0.0 };
        let answers = answers(model, (point, SPAN, 1000 + number as u64), (length, 1000.0));
        let answers = answers.expect("a known device answers");
        let halves = [answers.clone(), answers.clone()];
        Measured { point: *point, answers, halves }
    };
    points.iter().enumerate().map(one).collect()
}

/// Matrix that is quick to simulate: three sizes and depths, 14 loops to fit, 13 unseen.
fn few() -> Vec<Point> {
    let is_few = |point: &Point| {
        [4, 16, 1024].contains(&(point.block.get() >> 10)) && [1, 2, 16].contains(&point.depth)
    };
    matrix(false, false).into_iter().filter(is_few).collect()
}

const EFFORT: Effort =
    Effort { evaluations: 120, answers: 40.0, seconds: 0.0, threads: 2, at_most: AN_HOUR };
/// Time limit that no test reaches.
const AN_HOUR: Duration = Duration::from_secs(3600);

fn fit_of(points: &[Measured], effort: Effort, kinds: &[Kind]) -> Fit {
    fit_kinds(points, (SPAN, Bytes::GIB * 2), effort, (&|| false, &mut |_| {}), kinds)
}

fn within(share: f64, found: f64, wanted: f64, name: &str) {
    assert!((found / wanted - 1.0).abs() < share, "{name}: {found}, wanted {wanted}");
}

#[test]
fn the_parameters_of_a_known_device_are_found_again() {
    let points = measured(&DiskModel::Servers(known()), &few(), 300.0);
    let fit = fit_of(&points, EFFORT, &[Kind::Servers]);
    let best = fit.best();
    let DiskModel::Servers(found) = &best.model else { panic!("not servers: {best:?}") };
    let fitted = mean_demerit(&points, &best.demerits, true);
    assert!(fitted.is_some_and(|fitted| fitted < 0.05), "{fitted:?} for {found:?}");
    let known = known();
    within(0.1, found.rate, known.rate, "rate");
    within(0.1, found.write_rate, known.write_rate, "write rate");
    // The latency at depth 1 is known better than its parts.
    let alone = |disk: &ServersParameters| (disk.read + disk.latency).as_secs_f64();
    within(0.1, alone(found), alone(&known), "a read without a queue");
    within(0.15, found.read.as_secs_f64(), known.read.as_secs_f64(), "read");
    within(0.15, found.write.as_secs_f64(), known.write.as_secs_f64(), "write");
    // Points unseen by the fit are matched as well.
    let unseen = mean_demerit(&points, &best.demerits, false);
    assert!(unseen.is_some_and(|unseen| unseen < 0.05), "{unseen:?}");
}

#[test]
fn a_fit_is_the_same_on_one_thread_and_on_three() {
    let points = measured(&DiskModel::Servers(known()), &few()[..6], 100.0);
    let effort = Effort { evaluations: 16, ..EFFORT };
    let on = |threads| fit_of(&points, Effort { threads, ..effort }, &[Kind::Servers, Kind::Ssd]);
    assert_eq!(on(1), on(3));
}

/// Paces of 0.8 to 1.2 and stalls of 2 ms, 100 per second.
#[test]
fn a_device_that_stalls_is_fitted_better_with_its_stalls() {
    let stalls = vec![Nanos::from_millis(2)];
    let variation = Variation {
        pace: vec![0.8, 1.0, 1.2],
        stalls_per_s: 100.0,
        stalls,
        ..Variation::default()
    };
    let known = ServersParameters { variation, ..known() };
    let points: Vec<Point> = few().into_iter().filter(|point| point.mix == Mix::Read).collect();
    let points = measured(&DiskModel::Servers(known), &points, 8000.0);
    let effort = Effort { evaluations: 16, answers: 100.0, seconds: 0.02, ..EFFORT };
    let fit = fit_of(&points, effort, &[Kind::Servers, Kind::Varying]);
    let best = fit.best();
    assert_eq!(best.name, "servers with variation");
    let DiskModel::Servers(found) = &best.model else { panic!("not servers: {best:?}") };
    within(0.3, found.variation.stalls_per_s, 100.0, "stalls");
    // Some requests met two stalls; most did not.
    let table = &found.variation.stalls;
    within(0.1, table[table.len() / 2].as_secs_f64(), 2e-3, "their length");
}

/// Two servers are unknown to a table, which still matches them where measured. Between its loops
/// the knee at two users is a curve, not the interpolated line.
#[test]
fn table_model_matches_its_loops_and_predicts_others() {
    let points = matrix(false, true);
    let known = ServersParameters { servers: 2, ..known() };
    let points = measured(&DiskModel::Servers(known), &points, 1000.0);
    let fit = fit_of(&points, EFFORT, &[Kind::Table]);
    let table = fit.best();
    assert_eq!(table.name, "table");
    let mean = |demerits: &[Option<f64>], training| {
        mean_demerit(&points, demerits, training).expect("every loop has one")
    };
    let (told, all) = (mean(&table.demerits, true), mean(&table.demerits, false));
    assert!(told < 0.04 && all < 0.04, "{told} of the first half, {all} of the second");
    let foreseen = mean(&table.foreseen_demerits(&points), false);
    assert!(foreseen > all && foreseen < 0.2, "{foreseen} of those it was made without");
    let rates = points.iter().zip(&table.answers);
    let off = rates.filter_map(|(m, answers)| m.checked().rate_error(answers));
    assert!(off.fold(0.0, f64::max) < 0.05, "rates follow from latencies");
}

/// The goal for a real disk. Each half of the rounds is a separate sample, as on a real disk.
#[test]
fn a_table_of_a_modelled_flash_disk_is_within_ten_percent() {
    let ssd = DiskModel::Ssd(SsdPreset::SataEnterprise.parameters());
    let points: Vec<Point> = matrix(true, false)
        .into_iter()
        .filter(|point| point.block <= Bytes::new(64 << 10))
        .collect();
    let mut points = measured(&ssd, &points, 1500.0);
    for (number, measured) in points.iter_mut().enumerate() {
        let length = Length { answers: 1500.0, shortest: 0.0 };
        let round = 5000 + number as u64;
        let again = answers(&ssd, (&measured.point, SPAN, round), (length, 1000.0));
        measured.halves[1] = again.expect("a known device answers");
    }
    let fit = fit_of(&points, EFFORT, &[Kind::Table]);
    let facts = super::document::point_facts(&points, &fit);
    let found = super::document::Demerits::of(&facts);
    assert!(found.all.is_some_and(|all| all <= 0.1), "{found:?}");
}

#[test]
fn a_stopped_fit_ends_at_once() {
    let points = measured(&DiskModel::Servers(known()), &few()[..2], 100.0);
    let begun = std::sync::atomic::AtomicU32::new(0);
    let fit = fit(
        &points,
        (SPAN, Bytes::GIB),
        EFFORT,
        (&|| true, &mut |_| {
            begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }),
    );
    assert!(fit.candidates.iter().all(|candidate| candidate.cost >= 100.0));
}

#[test]
fn half_the_users_halve_the_latency_of_what_a_queue_made() {
    let answers = |depth| {
        let point = Point { block: Bytes::new(4096), depth, mix: Mix::Read, is_training: true };
        answers(
            &DiskModel::Servers(known()),
            (&point, SPAN, 1),
            (Length { answers: 2000.0, shortest: 0.0 }, 20_000.0),
        )
        .expect("it answers")
    };
    let (deep, deeper): (Answers, Answers) = (answers(16), answers(32));
    let mean = |answers: &Answers| answers.all().mean_ns().expect("some");
    within(0.05, mean(&deeper) / mean(&deep), 2.0, "latency");
    within(0.02, deeper.iops() / deep.iops(), 1.0, "rate");
}

/// The saved model equals the fitted one, to the byte per second.
#[test]
fn a_fitted_disk_survives_its_file() {
    let variation = Variation {
        pace: vec![0.9, 1.0, 1.5],
        stalls_per_s: 3.5,
        stalls: vec![Nanos(1500), Nanos::from_millis(4)],
        ..Variation::default()
    };
    let window = Some(Bytes::new(1_000_001));
    let servers = DiskModel::Servers(ServersParameters { variation, window, ..known() });
    let ssd = DiskModel::Ssd(SsdPreset::SataEnterprise.parameters());
    let points = measured(&servers, &few()[..3], 50.0);
    let table = DiskModel::Table(super::table::table(&points, Bytes::GIB));
    for model in [servers, ssd, table] {
        let disk = model_disk(&model);
        let text = toml::to_string_pretty(&disk).expect("a disk is a table");
        let again: spec::array::Disk = toml::from_str(&text).expect("what we wrote can be read");
        assert_eq!(again, disk, "{text}");
    }
}
