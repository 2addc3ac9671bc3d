//! Options from the environment and from config.toml.

use std::collections::BTreeSet;

use crate::rig::{Workspace, err, out};

/// Value and origin of a key in `run --print-config`.
fn of_plan(
    place: &Workspace,
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

fn config(place: &Workspace, text: &str) {
    std::fs::create_dir_all(place.path("config/tilemark")).expect("a directory");
    place.write("config/tilemark/config.toml", text);
}

#[test]
fn command_line_beats_environment_and_environment_beats_file() {
    let place = Workspace::new();
    config(&place, "version = 1\n[run]\ntiles = 2\nrepeats = 2\nquick = true\n");
    let of = |variables: &[(&str, &str)], more: &[&str], key| of_plan(&place, variables, more, key);
    let pair = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    assert_eq!(of(&[], &[], "ladder.tiles"), pair("2", "config"));
    assert_eq!(of(&[("TILEMARK_TILES", "3")], &[], "ladder.tiles"), pair("3", "env"));
    let both = of(&[("TILEMARK_TILES", "3")], &["--tiles", "4"], "ladder.tiles");
    assert_eq!(both, pair("4", "flag"));
    assert_eq!(of(&[], &[], "profile"), pair("quick", "config"));
    // Also for options that exclude each other.
    assert_eq!(of(&[], &["--full"], "profile"), pair("full", "flag"));
    assert_eq!(of(&[("TILEMARK_FULL", "1")], &[], "profile"), pair("full", "env"));
    assert_eq!(of(&[("TILEMARK_FULL", "0")], &[], "profile"), pair("quick", "config"));
}

#[test]
fn plan_file_beats_config_toml_and_loses_to_environment() {
    let place = Workspace::new();
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
    let place = Workspace::new();
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
    let place = Workspace::new();
    for (text, said) in [
        ("[run]\ntiles = 2\n", "has no version"),
        ("version = 2\n", "has version 2, but this program reads version 1"),
        ("version = 1\n[rnu]\n", "did you mean \"run\"?"),
        ("version = 1\n[run]\ntile-max = 2\n", "did you mean \"tiles-max\"?"),
        ("version = 1\n[run]\nquick = 3\n", "is a switch"),
        ("version = 1\n[run]\nrepeats = { a = 1 }\n", "is neither a string nor a number"),
        ("version = 1\n[run]\ndestroy-data = \"S1\"\n", "would allow data to be destroyed"),
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
        ("TILEMARK_OVERWRITE_FILE", "1", "would allow data to be destroyed"),
        ("TILEMARK_QUICK", "perhaps", "write 1 or 0"),
        ("TILEMARK_REPEATS", "many", "tilemark config show"),
    ] {
        let command = place.command(&["run", "ds", "--print-config"]).env(name, value).output();
        let output = command.expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{name}: {}", err(&output));
        assert!(err(&output).contains(said), "{name}: {}", err(&output));
    }
}

/// Options that no variable and no file may set.
const HERE_ONLY: [&str; 3] = ["destroy-data", "second-destroy-data", "overwrite-file"];

/// Every option that can be set: subcommand, option and variable, as `config show` lists them.
fn settable(place: &Workspace) -> Vec<(String, String, String)> {
    let rows = shown(place, &[], &["--all"]);
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().expect(key).to_owned();
    rows.iter()
        .map(|row| (text(row, "verb"), text(row, "option"), text(row, "variable")))
        .filter(|(_, option, _)| !HERE_ONLY.contains(&option.as_str()))
        .collect()
}

fn shown(place: &Workspace, variables: &[(&str, &str)], more: &[&str]) -> Vec<serde_json::Value> {
    let words = [&["config", "show", "--format", "json"], more].concat();
    let mut command = place.command(&words);
    // Every test sets this variable.
    command.env_remove("TILEMARK_RUNS").envs(variables.iter().copied());
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let rows: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    rows.as_array().expect("a list").clone()
}

/// Long options that help lists.
fn in_help(place: &Workspace, verb: &str) -> BTreeSet<String> {
    let help = out(&place.output(&[verb, "--help"]));
    let name = |line: &str| {
        let line = line.trim_start();
        let line =
            line.split_once(", ").filter(|(short, _)| short.len() == 2).map_or(line, |own| own.1);
        let end = |at: char| !at.is_ascii_alphanumeric() && at != '-';
        Some(line.strip_prefix("--")?.split(end).next()?.to_owned())
    };
    help.lines().filter_map(name).filter(|name| name != "help").collect()
}

#[test]
fn run_record_serve_options_are_settable_by_variable_and_file() {
    let place = Workspace::new();
    let all = settable(&place);
    for verb in ["run", "record", "serve"] {
        let own = all.iter().filter(|(of, ..)| of == verb).map(|(_, option, _)| option.clone());
        let listed = own.chain(HERE_ONLY.map(str::to_owned)).collect::<BTreeSet<String>>();
        let missing: Vec<_> = in_help(&place, verb).difference(&listed).cloned().collect();
        assert!(missing.is_empty(), "{verb} has options that cannot be set: {missing:?}");
    }
    // --color takes only words.
    let value = |option: &str| if option == "color" { "never" } else { "1" };
    let variables: Vec<(&str, &str)> =
        all.iter().map(|(_, option, variable)| (variable.as_str(), value(option))).collect();
    let by_variable = shown(&place, &variables, &[]);
    let mut file = "version = 1\n".to_owned();
    for verb in ["run", "record", "serve"] {
        file += &format!("[{verb}]\n");
        for (_, option, _) in all.iter().filter(|(of, ..)| of == verb) {
            let row =
                by_variable.iter().find(|row| row["verb"] == verb && row["option"] == **option);
            let row = row.unwrap_or_else(|| panic!("{verb} --{option} is not set by its variable"));
            assert_eq!(row["origin"], "environment", "{row}");
            let is_switch = row["value"] == "true";
            assert!(is_switch || row["value"] == value(option), "{row}");
            let key = if is_switch { "true".to_owned() } else { format!("\"{}\"", value(option)) };
            file += &format!("{option} = {key}\n");
        }
    }
    config(&place, &file);
    let by_file = shown(&place, &[], &[]);
    for (verb, option, _) in &all {
        let row = by_file.iter().find(|row| row["verb"] == **verb && row["option"] == **option);
        let row = row.unwrap_or_else(|| panic!("{verb} --{option} is not set by the file"));
        assert_eq!(row["origin"], "config.toml", "{row}");
    }
}

/// `run` read the key, but `config show` called it unknown.
#[test]
fn colour_in_the_file_is_read_and_shown() {
    let place = Workspace::new();
    config(&place, "version = 1\n[run]\ncolor = \"always\"\n");
    let rows = shown(&place, &[], &[]);
    assert!(
        rows.iter().any(|row| row["option"] == "color" && row["value"] == "always"),
        "{rows:?}"
    );
    assert_eq!(of_plan(&place, &[], &[], "profile").0, "standard");
}

#[test]
fn no_permission_to_destroy_data_is_read_from_elsewhere() {
    let place = Workspace::new();
    for option in HERE_ONLY {
        let said = format!("only --{option} on the command line may do that");
        config(&place, &format!("version = 1\n[run]\n{option} = \"S1\"\n"));
        let by_file = place.output(&["run", "ds", "--print-config"]);
        config(&place, "version = 1\n");
        let variable = format!("TILEMARK_{}", option.replace('-', "_").to_uppercase());
        let by_variable =
            place.command(&["run", "ds", "--print-config"]).env(variable, "S1").output();
        for output in [by_file, by_variable.expect("the program starts")] {
            assert_eq!(output.status.code(), Some(2), "{option}: {}", err(&output));
            assert!(err(&output).contains(&said), "{option}: {}", err(&output));
        }
    }
}
