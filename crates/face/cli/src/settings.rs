//! Reads options of `run`, `record` and `serve` from the environment, such as `TILEMARK_TILES`, and
//! from config.toml, such as `tiles` below `[run]`.
//!
//! They are turned into command-line options, so that one definition reads, checks and refuses
//! them. The command line overrides the environment, and the environment overrides the file; this
//! also holds for options that exclude each other. Permissions to destroy data are read from
//! neither, because a standing permission would protect nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, Parser};
use spec::did_you_mean;

use crate::args::{self, Cli};
use crate::exit::Exit;
use crate::failure::Failure;

/// Subcommands whose options can be set.
pub const VERBS: [&str; 3] = ["run", "record", "serve"];
/// Subcommands that take the options and settings of `run`.
const AS_RUN: [&str; 3] = ["plan", "check", "prepare"];
/// Version of config.toml that this program reads.
const VERSION: i64 = 1;
/// Options that only the command line can set.
const HERE_ONLY: [&str; 3] = ["destroy-data", "second-destroy-data", "overwrite-file"];

/// Source of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    Environment,
    File,
}

/// Option of a subcommand that is set in the environment or in config.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Option without its dashes.
    pub option: String,
    /// Values; empty for a switch that is on.
    pub values: Vec<String>,
    pub from: From,
}

/// Reads the command line together with environment and file.
pub fn parse() -> Result<Result<Cli, clap::Error>, Failure> {
    parse_from(&std::env::args_os().collect::<Vec<_>>())
}

fn parse_from(line: &[OsString]) -> Result<Result<Cli, clap::Error>, Failure> {
    let matches = match Cli::command().try_get_matches_from(line) {
        Ok(matches) => matches,
        Err(error) => return Ok(Err(error)),
    };
    let has_settings = |verb: &str| VERBS.contains(&verb) || AS_RUN.contains(&verb);
    let Some((verb, given)) = matches.subcommand().filter(|(verb, _)| has_settings(verb)) else {
        return Ok(Cli::try_parse_from(line));
    };
    let mut command = Cli::command();
    // A group knows its members only after this call.
    command.build();
    let command = command.find_subcommand(verb).expect("it was matched");
    let environment = fitting(command, given, of_environment(command)?);
    let with_environment = with(line, verb, &environment);
    let mut all = environment;
    let file: Vec<Setting> = of_file(command)?
        .into_iter()
        .filter(|own| all.iter().all(|before| !excludes(command, &before.option, &own.option)))
        .collect();
    all.extend(fitting(command, given, file));
    if all.is_empty() {
        return Ok(Cli::try_parse_from(line));
    }
    let mut cli = Cli::try_parse_from(with(line, verb, &all)).map_err(|error| {
        let hint = "the environment or config.toml sets options: tilemark config show lists them";
        Failure::from_command_line(&error).hint(Some(hint))
    })?;
    if let Some(run) = run_of(&mut cli.command) {
        run.given = layers(line, &with_environment);
    }
    Ok(Ok(cli))
}

/// Returns the options of a run, for the subcommands that have them.
const fn run_of(command: &mut args::Command) -> Option<&mut args::RunArgs> {
    match command {
        args::Command::Run(args)
        | args::Command::Plan(args)
        | args::Command::Check(args)
        | args::Command::Prepare(args) => Some(args),
        _ => None,
    }
}

/// Returns the options of `run` from the command line alone, and those together with the
/// environment. The plan stores the origin of each value.
fn layers(line: &[OsString], with_environment: &[OsString]) -> Vec<args::RunArgs> {
    let of = |line: &[OsString]| match Cli::try_parse_from(line).ok()?.command {
        args::Command::Run(args)
        | args::Command::Plan(args)
        | args::Command::Check(args)
        | args::Command::Prepare(args) => Some(args),
        _ => None,
    };
    [of(line), of(with_environment)].into_iter().flatten().collect()
}

/// Selects the settings that the command line leaves open.
fn fitting(command: &Command, given: &ArgMatches, settings: Vec<Setting>) -> Vec<Setting> {
    let is_given = |arg: &Arg| {
        let source = given.value_source(arg.get_id().as_str());
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    let named: Vec<&str> =
        options(command).filter(|arg| is_given(arg)).filter_map(Arg::get_long).collect();
    settings
        .into_iter()
        .filter(|own| named.iter().all(|name| !excludes(command, name, &own.option)))
        .collect()
}

/// Returns true if two options are equal or exclude each other.
fn excludes(command: &Command, one: &str, other: &str) -> bool {
    let find = |name: &str| options(command).find(|arg| arg.get_long() == Some(name));
    let (Some(a), Some(b)) = (find(one), find(other)) else { return false };
    let in_one_group = command.get_groups().any(|group| {
        let has = |arg: &Arg| group.get_args().any(|id| id == arg.get_id());
        !group.clone().is_multiple() && has(a) && has(b)
    });
    let conflict = |x: &Arg, y: &Arg| {
        command.get_arg_conflicts_with(x).iter().any(|own| own.get_id() == y.get_id())
    };
    a.get_id() == b.get_id() || in_one_group || conflict(a, b) || conflict(b, a)
}

/// Returns the options that can be set in the environment or in config.toml.
pub fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_option = |arg: &&Arg| arg.get_long().is_some_and(|name| name != "help");
    command.get_arguments().filter(is_option).filter(|arg| !arg.is_hide_set())
}

/// Returns the environment variable of an option: `TILEMARK_TILES_MAX`, or the one defined with the
/// option.
pub fn variable(arg: &Arg) -> String {
    let own = arg.get_env().map(|name| name.to_string_lossy().into_owned());
    let name = arg.get_long().unwrap_or_default();
    own.unwrap_or_else(|| format!("TILEMARK_{}", name.replace('-', "_").to_uppercase()))
}

/// Returns the settings from the environment.
pub fn of_environment(command: &Command) -> Result<Vec<Setting>, Failure> {
    let mut found = Vec::new();
    // Clap itself reads options with a variable of their own.
    for arg in options(command).filter(|arg| arg.get_env().is_none()) {
        let (option, variable) = (arg.get_long().unwrap_or_default(), variable(arg));
        let Some(value) = std::env::var_os(&variable).filter(|value| !value.is_empty()) else {
            continue;
        };
        let value = value.into_string().map_err(|_| refused(&variable, "is no text"))?;
        if HERE_ONLY.contains(&option) {
            return Err(here_only(&variable, option));
        }
        let values = match arg.get_action() {
            ArgAction::SetTrue => match switch(&value) {
                Some(true) => Vec::new(),
                Some(false) => continue,
                None => return Err(refused(&variable, &format!("is \"{value}\": write 1 or 0"))),
            },
            ArgAction::Append => value.lines().map(str::to_owned).collect(),
            _ => vec![value],
        };
        found.push(Setting { option: option.to_owned(), values, from: From::Environment });
    }
    Ok(found)
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn refused(what: &str, why: &str) -> Failure {
    Failure::new(Exit::Usage, format!("{what} {why}"))
}

fn here_only(what: &str, option: &str) -> Failure {
    refused(
        what,
        &format!(
            "would allow data to be destroyed; only --{option} on the command line \
        may do that"
        ),
    )
    .hint(Some(format!("give it in the command that needs it: --{option}")))
}

/// Returns the path of config.toml: in `$XDG_CONFIG_HOME/tilemark` or `~/.config/tilemark`.
pub fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = set("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = base.or_else(|| Some(PathBuf::from(set("HOME")?).join(".config")))?;
    Some(base.join("tilemark/config.toml"))
}

/// Returns the settings of a subcommand from config.toml.
pub fn of_file(command: &Command) -> Result<Vec<Setting>, Failure> {
    let Some(path) = path() else { return Ok(Vec::new()) };
    let text = match untrusted::read_named_text(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|error| refused(&path.display().to_string(), &error.to_string()))?,
    };
    read(&text, &path, command)
}

fn read(text: &str, path: &Path, command: &Command) -> Result<Vec<Setting>, Failure> {
    let place = path.display().to_string();
    let document: toml::Table =
        text.parse().map_err(|error| refused(&place, &format!("cannot be read: {error}")))?;
    match document.get("version").map(|version| (version, version.as_integer())) {
        Some((_, Some(VERSION))) => {}
        Some((other, _)) => {
            let why = format!("has version {other}, but this program reads version {VERSION}");
            return Err(refused(&place, &why));
        }
        None => {
            let hint = format!("write version = {VERSION} as its first line");
            return Err(refused(&place, "has no version").hint(Some(hint)));
        }
    }
    let known: Vec<&str> = VERBS.into_iter().chain(["version"]).collect();
    if let Some(key) = document.keys().find(|key| !known.contains(&key.as_str())) {
        let help = did_you_mean(key, &known, "keys");
        return Err(refused(&place, &format!("has an unknown key \"{key}\"")).hint(Some(help)));
    }
    let verb = if AS_RUN.contains(&command.get_name()) { "run" } else { command.get_name() };
    let Some(own) = document.get(verb) else { return Ok(Vec::new()) };
    let table = own.as_table().ok_or_else(|| refused(&place, &format!("{verb} is not a table")))?;
    let mut found = Vec::new();
    for (key, value) in table {
        let names: Vec<&str> = options(command).filter_map(Arg::get_long).collect();
        let Some(arg) = options(command).find(|arg| arg.get_long() == Some(key)) else {
            let help = did_you_mean(key, &names, "options");
            return Err(
                refused(&place, &format!("has an unknown key \"{verb}.{key}\"")).hint(Some(help))
            );
        };
        if HERE_ONLY.contains(&key.as_str()) {
            return Err(here_only(&format!("{verb}.{key} in {place}"), key));
        }
        let wrong = |what: &str| refused(&format!("{verb}.{key} in {place}"), what);
        let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
        let values = match (value, is_switch) {
            (toml::Value::Boolean(true), true) => Vec::new(),
            (toml::Value::Boolean(false), true) => continue,
            (_, true) => return Err(wrong("is a switch: write true or false")),
            (toml::Value::Array(all), false) => all
                .iter()
                .map(word)
                .collect::<Option<_>>()
                .ok_or_else(|| wrong("is not a list of strings"))?,
            (one, false) => {
                vec![word(one).ok_or_else(|| wrong("is neither a string nor a number"))?]
            }
        };
        found.push(Setting { option: key.clone(), values, from: From::File });
    }
    Ok(found)
}

fn word(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the command line with the settings inserted after the subcommand.
fn with(line: &[OsString], verb: &str, settings: &[Setting]) -> Vec<OsString> {
    // The value of `--color` before the subcommand may be any word, so it is skipped.
    let mut at = 1;
    while line.get(at).is_some_and(|word| word != verb) {
        at += if line[at] == "--color" { 2 } else { 1 };
    }
    let words = settings.iter().flat_map(|own| match own.values.as_slice() {
        [] => vec![OsString::from(format!("--{}", own.option))],
        values => values.iter().map(|value| format!("--{}={value}", own.option).into()).collect(),
    });
    let (head, tail) = line.split_at((at + 1).min(line.len()));
    head.iter().cloned().chain(words).chain(tail.iter().cloned()).collect()
}
