//! Contents of a report.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use view::sample::Sample;
use view::{OFFLINE_BYTES_MAX, Request, Source, answer, every_request, offline};

fn source(sample: Sample) -> Source {
    Source::in_memory(sample.run(), Arc::new(sample.rollup()))
}

fn parse(canonical: &str) -> Request {
    let (view, query) = canonical.split_once('?').unwrap_or((canonical, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    Request::parse(view, pairs).expect("a canonical request parses")
}

#[test]
fn answers_of_a_ten_tile_three_hour_ladder_fit_completely() {
    let source = source(Sample::LADDER);
    let answers = offline(&source);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(serde_json::to_string(&answers).expect("text").as_bytes()).expect("packs");
    let size = encoder.finish().expect("packs").len();
    println!("{} answers, {size} bytes deflated", answers.len());
    assert!(size <= OFFLINE_BYTES_MAX * 101 / 100, "{size} bytes");
    let has = |request: &str| answers.iter().any(|(known, _)| known == request);
    for step in 1..=10 {
        for request in [
            format!("overview?step={step}"),
            format!("series?by=bs&m=lat&step={step}"),
            format!("series?by=tile&m=bw&step={step}"),
            format!("heatmap?step={step}"),
            format!("percentiles?by=wl&step={step}"),
            format!("map?step={step}"),
            format!("moment?step={step}"),
        ] {
            assert!(has(&request), "{request}");
        }
    }
    for request in ["curve", "access", "tier", "breaks", "matrix", "series", "heatmap?dir=w"] {
        assert!(has(request), "{request}");
    }
    for (request, value) in &answers {
        assert_eq!(parse(request).canonical(), *request);
        assert!(value.get("sentence").is_some(), "{request}");
        assert!(!request.contains("points") && !request.contains("rows"));
    }
    // There are fewer points, but enough to show a spike of a minute in three hours.
    let series = &answers.iter().find(|(known, _)| known == "series").expect("there").1;
    assert!(series["at_ns"].as_array().expect("points").len() >= 90);
}

#[test]
fn the_answers_of_a_short_run_are_those_of_the_interface() {
    let source = source(Sample { steps: 1, slices: 60, ..Sample::LADDER });
    for (request, stored) in offline(&source) {
        let asked = parse(&request);
        let document = answer(&source, &asked);
        let text = stored["sentence"].as_str().expect("a sentence");
        // Coarser rows of the heat map do not change its sentence.
        assert_eq!(text, document.sentence(), "{request}");
    }
}

/// Not a test in continuous integration: run by hand in a release build, and by `make bench` as
/// `api.slowest_view_ms`.
#[test]
#[ignore = "measures time; takes a minute"]
fn views_of_100_tiles_and_three_hours_take_under_200_ms() {
    let source = source(Sample::LARGE);
    let mut slowest = Vec::new();
    for request in every_request(&source) {
        let begin = Instant::now();
        let document = answer(&source, &request);
        let bytes = serde_json::to_vec(&document).expect("text").len();
        slowest.push((begin.elapsed(), request.canonical(), bytes));
    }
    slowest.sort();
    slowest.reverse();
    for (time, request, bytes) in slowest.iter().take(12) {
        println!("{time:?} {request} {bytes} bytes");
    }
    assert!(slowest[0].0.as_millis() < 200);
}
