use super::*;

fn spec(text: &str) -> Spec {
    text.parse().expect("a meter")
}

/// Program that prints so many watts ten times a second.
fn program(watts: &str) -> Spec {
    spec(&format!("command:while :; do echo $(date +%s.%N) {watts}; sleep 0.1; done,every=200ms"))
}

fn wait_for(panel: &Panel, mut is_there: impl FnMut(&[Shown]) -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_there(&panel.shown()) {
        assert!(Instant::now() < until, "{:?}", panel.shown());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_program_is_a_meter_until_it_is_closed() {
    let panel = Panel::open(&[program("150"), program("50")]).expect("they open");
    let from = monotonic();
    let mut sources = panel.sources();
    wait_for(&panel, |shown| {
        shown
            .iter()
            .all(|own| own.last.is_some_and(|last| last.at > from + Nanos::from_millis(900)))
    });
    let span = Span { from: from + Nanos::from_millis(300), to: from + Nanos::from_millis(800) };
    let found = panel.energy(span);
    assert_eq!(found[0].meter, "command");
    assert_eq!(found[1].meter, "command-2");
    let joules = found[0].joules.value.expect("it carries");
    assert!((joules - 75.0).abs() < 1e-6, "{joules}");
    assert_eq!(found[1].mean_watts.value.map(f64::round), Some(50.0));
    let gauges: Vec<Gauge> = sources.iter_mut().flat_map(|own| own.read().gauges).collect();
    assert_eq!(gauges[0].value, 150.0);
    assert_eq!(gauges[1].scope, "command-2");
    assert!(panel.close().is_empty());
}

#[test]
fn a_meter_that_ends_is_named_and_voids_what_comes_after() {
    let text = "command:for i in 1 2 3 4; do echo $(date +%s.%N) 70; sleep 0.1; done; \
                echo no more >&2; exit 3,every=100ms";
    let panel = Panel::open(&[spec(text)]).expect("it opens");
    let from = monotonic();
    wait_for(&panel, |shown| matches!(shown[0].fault, Some(Fault::Ended(_))));
    let span = Span { from, to: monotonic() + Nanos::SECOND };
    let found = &panel.energy(span)[0];
    assert_eq!(found.joules.value, None);
    let why = found.joules.reason.as_deref().expect("why");
    assert!(why.contains("exit status: 3") && why.contains("no more"), "{why}");
    assert_eq!(found.faults.len(), 1);
}

#[test]
fn a_meter_that_shows_nothing_is_refused_and_says_why() {
    let error = Panel::open(&[spec("command:exit 7")]).expect_err("it ends at once").to_string();
    assert!(error.contains("exit status: 7"), "{error}");
    let error = Panel::open(&[spec("shelly:127.0.0.1:1")]).expect_err("nobody is there");
    assert!(error.hint().is_some_and(|hint| hint.contains("meter test")), "{error}");
}

#[test]
fn a_meter_of_a_host_that_does_not_take_part_is_refused() {
    let of = |text: &str, hosts: &[&str]| {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        Panel::check_hosts(&[spec(text)], &hosts).map_err(|error| error.to_string())
    };
    assert!(of("shelly:plug", &[]).is_ok());
    assert!(of("shelly:plug,of=a+b", &["a", "b", "c"]).is_ok());
    assert!(of("shelly:plug,of=d", &["a"]).is_err_and(|text| text.contains("there are a")));
    assert!(of("shelly:plug,of=a", &[]).is_err_and(|text| text.contains("only this host")));
}

#[test]
fn meters_have_names_of_their_own() {
    let specs = |texts: &[&str]| texts.iter().map(|text| spec(text)).collect::<Vec<_>>();
    let named = names(&specs(&["shelly:a", "shelly:b", "shelly:c,name=shelly-2"])).expect("names");
    assert_eq!(named, ["shelly", "shelly-3", "shelly-2"]);
    assert!(names(&specs(&["shelly:a,name=x", "rapl:,name=x"])).is_err());
}
