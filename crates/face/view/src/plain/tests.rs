use run_store::rundir::StoredRun;

use super::html::escape;

#[test]
fn nothing_a_name_holds_becomes_markup() {
    assert_eq!(
        escape("<script>\"a\" & 'b'\u{0}\n"),
        "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;\u{fffd}\n"
    );
}

/// A run of the first release, which never changes.
const GOLDEN: &str = include_str!("../../../../base/run-store/tests/golden/run-1.0.json");

fn report_of(text: &str) -> String {
    let base = tempfile::tempdir().expect("a directory");
    let path = base.path().join("20261121T184207Z-datacenter-abcdef");
    std::fs::create_dir(&path).expect("creates");
    std::fs::write(path.join("run.json"), text).expect("writes");
    std::fs::write(path.join("plan.toml"), "tile = \"<b>\"\n").expect("writes");
    super::report(&StoredRun::at(&path).expect("a run")).expect("a report")
}

/// Checks that elements are closed in the reverse order of their opening.
fn assert_balanced(html: &str) {
    let mut open = Vec::new();
    for tag in html.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.split_whitespace().next().expect("a tag has a name");
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "in {tag}"),
            None if matches!(name, "!DOCTYPE" | "meta") => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn the_report_is_whole_and_says_what_the_run_says() {
    let html = report_of(GOLDEN);
    assert_balanced(&html);
    let run: run_store::run::Run = serde_json::from_str(GOLDEN).expect("a run");
    for text in [&run.answer.sentence, &run.plan_sha256, &run.target.summary, &run.warnings[0].text]
    {
        let (_, tail) = text.split_at(1);
        assert!(html.contains(&escape(tail)), "{text}");
    }
    let limits: Vec<_> = run.steps.iter().flat_map(|step| &step.limits).collect();
    assert!(!limits.is_empty());
    for limit in limits {
        assert!(html.contains(&units::print::whole(limit.result.samples)));
    }
    assert!(html.contains("tile = &quot;&lt;b&gt;&quot;"));
    assert!(!html.contains("<script") && !html.contains("http"), "it needs nothing else");
    let columns = |row: &str| row.matches("<th ").count() + row.matches("<td").count();
    for table in html.split("<table>").skip(1) {
        let (table, _) = table.split_once("</table>").expect("it is closed");
        let counts: Vec<usize> = table.split("<tr>").skip(1).map(columns).collect();
        assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "{counts:?}");
    }
}

#[test]
fn calls_are_listed_with_why_they_failed_where_there_are_any() {
    assert!(!report_of(GOLDEN).contains("Calls of the measured time"));
    let mut run: serde_json::Value = serde_json::from_str(GOLDEN).expect("JSON");
    let latency = run["steps"][0]["io"][0]["service"].clone();
    run["steps"][0]["calls"] = serde_json::json!([{
        "workload": "web", "kind": "get", "count": 1234, "bytes": 4096, "calls_per_s": 20.5,
        "errors": [{"error": "timed-out", "count": 7}], "service": latency, "response": latency,
    }]);
    let html = report_of(&run.to_string());
    assert_balanced(&html);
    for text in ["Calls of the measured time", ">get<", "1,234", ">timed-out 7<", "20.5/s"] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn names_with_markup_in_them_stay_names() {
    let html = report_of(&GOLDEN.replace("\"shop\"", "\"<i>shop</i>\""));
    assert_balanced(&html);
    assert!(html.contains("&lt;i&gt;shop&lt;/i&gt;") && !html.contains("<i>"));
}

#[test]
fn hosts_are_listed_with_their_limits_where_several_drove() {
    assert!(!report_of(GOLDEN).contains("times the others"));
    let mut run: serde_json::Value = serde_json::from_str(GOLDEN).expect("JSON");
    let step = &mut run["steps"][0];
    let (limits, generator) = (step["limits"].clone(), step["generator"].clone());
    // Tiles count from 0, and a number that the step does not have is refused.
    step["tiles"] = serde_json::json!(4);
    step["hosts"] = serde_json::json!([{
        "host": "pve<2>", "tiles": [1, 3], "began_late_ns": 81_000, "clock_uncertainty_ns": 1,
        "slices_fetched": 41, "slice_late_max_ns": 0, "operations_per_s": 20.5, "bytes_per_s": 1.0,
        "against_others": {
            "samples": 5678, "times": {"value": 4.1}, "low": {"value": 3.9}, "high": {"value": 4.35},
        },
        "limits": limits, "generator": generator,
    }]);
    let html = report_of(&run.to_string());
    assert_balanced(&html);
    for text in ["pve&lt;2&gt;", ">2; 4<", ">4.1<", ">3.9<", ">4.35<", "5,678", "81 us", ">41<"] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn operations_are_listed_with_their_effect_on_tiles() {
    assert!(!report_of(GOLDEN).contains("Cost of infrastructure operations"));
    let mut run: serde_json::Value = serde_json::from_str(GOLDEN).expect("JSON");
    let held = run["answer"]["tiles_held"].clone();
    let step = &mut run["steps"][0];
    step["tiles"] = held;
    let mut moves = step["workloads"][0].clone();
    moves["tile"] = serde_json::Value::Null;
    moves["workload"] = "move<s>".into();
    moves["metric"]["value"] = serde_json::json!({"value": 240.0});
    moves["metric"]["unit"] = "moves/h".into();
    moves["metric"]["normalised"] = serde_json::json!({"value": 0.75});
    step["workloads"].as_array_mut().expect("a list").push(moves);
    step["under_operations"] = serde_json::json!({
        "share_of_time": 0.62,
        "against_rest": {
            "samples": 5678, "times": {"value": 1.23}, "low": {"value": 1.1}, "high": {"value": 1.4},
        },
    });
    let html = report_of(&run.to_string());
    assert_balanced(&html);
    for text in [
        "move&lt;s&gt;",
        ">240<",
        "moves/h",
        "75 %",
        "Operations 62 % of the time; the tiles",
        "then took 1.23 times as long (1.10 to 1.40) as without.",
        "5,678",
    ] {
        assert!(html.contains(text), "{text}");
    }
}
