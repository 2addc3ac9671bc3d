//! Test that the reference page of settings matches the declarations.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Args, Command};
use spec::plan::{EngineOptions, Hosts, Plan, Profile};

use crate::plan::layer::settings_of;
use crate::plan::{profile_values, simulated_values};

const HEAD: &str = "\
# Settings of a run

Every setting of a plan that is an option of `tilemark run`, too. An option wins over the variable,
the variable over the plan file, that over `[run]` of `config.toml` (where the key is the option's
name), and all of them over the profile. [The language](language.md#plan) has the other keys of a
plan; `tilemark run --help` says more of each option.

`tilemark simulate` has all options but those of `engine` and `hosts`. Its profiles have other
values, in parentheses where they differ.

This page is written from the declarations in `spec/src/plan.rs`: `TILEMARK_UPDATE=1` with the test
`settings_page`.

| key | option | variable | quick | standard | full | meaning |
|---|---|---|---|---|---|---|
";

/// A plan with all settings that are only listed if they are given.
const GIVEN: &str = "
datastore = \"/mnt/array\"
tile = \"general\"
second = \"/mnt/other\"
operations = \"move\"
expect = [\"tiles >= 1\"]
measure = { warm-up-min = \"1s\", warm-up-max = \"1s\", duration = \"1s\", slice = \"1s\" }
scale = { footprint = 1.0, time = 1.0 }
hosts = { members = [\"a\"], placement = \"packed:1\" }
engine = { over = \"nbd\" }
";

fn options() -> Command {
    let command = Plan::augment_args(Command::new("plan"));
    EngineOptions::augment_args(Hosts::augment_args(command))
}

/// Returns the id of the option in `clap`: the last word of the key.
fn id_of(key: &str) -> String {
    key.rsplit('.').next().unwrap_or(key).replace('-', "_")
}

/// Returns the value of a setting in the profile, and in a simulation if it differs there.
fn default_of(key: &str, profile: Profile) -> String {
    let find = |plan: &Plan| {
        let settings = settings_of(plan).expect("plain data");
        let value = settings.into_iter().find(|(own, _)| own == key)?.1;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (!value.is_null() && value != false).then_some(text)
    };
    let real = find(&profile_values(profile).layer().plan);
    match (real, find(&simulated_values(profile).layer().plan)) {
        (Some(real), Some(simulated)) if real != simulated => format!("{real} ({simulated})"),
        (real, _) => real.unwrap_or_default(),
    }
}

fn row(key: &str, arg: &Arg) -> String {
    let option = arg.get_long().expect("an option");
    let variable = option.replace('-', "_").to_uppercase();
    let names = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    let value = names.map_or_else(String::new, |names| format!(" {}", names.join(" ")));
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let profiles = [Profile::Quick, Profile::Standard, Profile::Full];
    let defaults = profiles.map(|profile| default_of(key, profile)).join(" | ");
    let (value, help) = (value.replace('|', "\\|"), help.replace('|', "\\|"));
    format!("| `{key}` | `--{option}{value}` | `TILEMARK_{variable}` | {defaults} | {help} |\n")
}

#[test]
fn settings_page_says_what_is_declared() {
    let plan: Plan = toml::from_str(GIVEN).expect("a plan");
    let options = options();
    let (mut page, mut found) = (HEAD.to_owned(), Vec::new());
    for (key, _) in settings_of(&plan).expect("plain data") {
        let is_own = |arg: &&Arg| *arg.get_id() == id_of(&key);
        if let Some(arg) = options.get_arguments().find(is_own) {
            let _ = write!(page, "{}", row(&key, arg));
            found.push(id_of(&key));
        }
    }
    let missing: Vec<_> = options.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    let missing: Vec<_> = missing.into_iter().filter(|id| !found.contains(id)).collect();
    assert!(missing.is_empty(), "options without a key: {missing:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let path = root.join("docs/settings.md");
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page is written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "docs/settings.md: run this test with TILEMARK_UPDATE=1");
}
