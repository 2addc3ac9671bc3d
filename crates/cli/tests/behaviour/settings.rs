//! Options from the environment and from config.toml.

use crate::rig::{Place, err, out};

/// What `run --print-config` says of a key: its value and origin.
fn of_plan(
    place: &Place,
    variables: &[(&str, &str)],
    more: &[&str],
    key: &str,
) -> (String, String) {
    let words =
        [&["run", "ds", "--tile", "tile.toml", "--print-config", "--format", "json"][..], more];
    let output = place.command(&words.concat()).envs(variables.iter().copied()).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let values: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let found = values.as_array().expect("a list").iter().find(|value| value["key"] == key);
    let found = found.expect("every plan has it");
    let text = found["value"].as_str().map_or_else(|| found["value"].to_string(), str::to_owned);
    (text, found["origin"].as_str().expect("an origin").to_owned())
}

fn config(place: &Place, text: &str) {
    std::fs::create_dir_all(place.path("config/tilemark")).expect("a directory");
    place.write("config/tilemark/config.toml", text);
}

#[test]
fn the_command_line_wins_over_the_environment_and_that_over_the_file() {
    let place = Place::new();
    config(&place, "version = 1\n[run]\ntiles = 2\nrepeats = 2\nquick = true\n");
    let of = |variables: &[(&str, &str)], more: &[&str], key| of_plan(&place, variables, more, key);
    let pair = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    assert_eq!(of(&[], &[], "ladder.tiles"), pair("2", "config"));
    assert_eq!(of(&[("TILEMARK_TILES", "3")], &[], "ladder.tiles"), pair("3", "env"));
    let both = of(&[("TILEMARK_TILES", "3")], &["--tiles", "4"], "ladder.tiles");
    assert_eq!(both, pair("4", "flag"));
    assert_eq!(of(&[], &[], "profile"), pair("quick", "config"));
    // Of options that exclude each other, too.
    assert_eq!(of(&[], &["--full"], "profile"), pair("full", "flag"));
    assert_eq!(of(&[("TILEMARK_FULL", "1")], &[], "profile"), pair("full", "env"));
    assert_eq!(of(&[("TILEMARK_FULL", "0")], &[], "profile"), pair("quick", "config"));
}

#[test]
fn a_plan_file_is_nearer_than_config_toml_and_further_than_the_environment() {
    let place = Place::new();
    config(&place, "version = 1\n[run]\nrepeats = 2\n");
    let datastore = place.path("ds").display().to_string();
    let plan =
        format!("datastore = \"{datastore}\"\ntile = \"tile.toml\"\n[ladder]\nrepeats = 5\n");
    place.write("plan.toml", &plan);
    let repeats = |variables: &[(&str, &str)]| {
        let words = ["run", "plan.toml", "--print-config", "--format", "json"];
        let output = place.command(&words).envs(variables.iter().copied()).output().expect("it");
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let values: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
        let all = values.as_array().expect("a list");
        all.iter().find(|value| value["key"] == "ladder.repeats").expect("it is there").clone()
    };
    assert_eq!(repeats(&[])["value"], 5);
    assert_eq!(repeats(&[("TILEMARK_REPEATS", "7")])["value"], 7);
}

#[test]
fn what_is_set_is_shown_with_its_origin() {
    let place = Place::new();
    config(
        &place,
        "version = 1\n[serve]\nlisten = \"127.0.0.1:9\"\n[run]\nhost = [\"a\", \"b\"]\n",
    );
    let words = ["config", "show", "--format", "json"];
    let output = place.command(&words).env("TILEMARK_TILES_MAX", "4").output().expect("it starts");
    let rows: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let of = |verb: &str, option: &str| {
        let mut all = rows.as_array().expect("a list").iter();
        all.find(|row| row["verb"] == verb && row["option"] == option).cloned()
    };
    let max = of("run", "tiles-max").expect("it is set");
    assert_eq!((&max["value"], &max["origin"]), (&"4".into(), &"environment".into()), "{rows:#}");
    assert_eq!(of("run", "host").expect("it is set")["origin"], "config.toml");
    assert_eq!(of("serve", "listen").expect("it is set")["value"], "127.0.0.1:9");
    assert!(of("run", "repeats").is_none(), "it is not set");
    let all = place.output(&["config", "show", "--all"]);
    assert!(out(&all).contains("TILEMARK_WARM_UP_MIN"), "{}", out(&all));
}

#[test]
fn what_cannot_be_set_says_where_it_was_and_what_would_do() {
    let place = Place::new();
    for (text, said) in [
        ("[run]\ntiles = 2\n", "has no version"),
        ("version = 2\n", "is of version 2, and this program reads version 1"),
        ("version = 1\n[rnu]\n", "did you mean \"run\"?"),
        ("version = 1\n[run]\ntile-max = 2\n", "did you mean \"tiles-max\"?"),
        ("version = 1\n[run]\nquick = 3\n", "is a switch"),
        ("version = 1\n[run]\nrepeats = { a = 1 }\n", "is no text and no number"),
        ("version = 1\n[run]\ndestroy-data = \"S1\"\n", "would permit to destroy data"),
        ("version = ", "cannot be read"),
    ] {
        config(&place, text);
        let output = place.output(&["run", "ds", "--print-config"]);
        assert_eq!(output.status.code(), Some(2), "{text}: {}", err(&output));
        assert!(err(&output).contains(said), "{text}: {}", err(&output));
        assert!(err(&output).contains("config.toml"), "{text}: {}", err(&output));
    }
    config(&place, "version = 1\n");
    for (name, value, said) in [
        ("TILEMARK_OVERWRITE_FILE", "1", "would permit to destroy data"),
        ("TILEMARK_QUICK", "perhaps", "write 1 or 0"),
        ("TILEMARK_REPEATS", "many", "tilemark config show"),
    ] {
        let command = place.command(&["run", "ds", "--print-config"]).env(name, value).output();
        let output = command.expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{name}: {}", err(&output));
        assert!(err(&output).contains(said), "{name}: {}", err(&output));
    }
}
