//! `config`: shows settings from the environment and config.toml, and where each is set.

use clap::CommandFactory;
use serde::Serialize;

use crate::args::{Cli, ConfigAction, ConfigArgs, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::{self, From, Setting, VERBS};
use crate::{output, text::Table};

/// Option with its value and the origin of the value.
#[derive(Debug, Serialize)]
struct Row {
    verb: &'static str,
    option: String,
    variable: String,
    value: Option<String>,
    origin: &'static str,
}

/// Prints the options.
pub fn run(args: &ConfigArgs) -> Result<Exit, Failure> {
    let ConfigAction::Show { all, format } = args.action;
    let mut rows = Vec::new();
    for verb in VERBS {
        rows.extend(rows_of(verb)?.into_iter().filter(|row| all || row.value.is_some()));
    }
    if format == Format::Json {
        output::print_json(&rows)?;
        return Ok(Exit::Success);
    }
    match settings::path() {
        Some(path) if path.exists() => crate::say!("file       {}", path.display()),
        Some(path) => crate::say!("file       {} (does not exist)", path.display()),
        None => crate::say!("file       none: neither XDG_CONFIG_HOME nor HOME is set"),
    }
    let mut table = Table::new(&["verb", "option", "value", "origin", "variable"]);
    for row in rows {
        table.row(vec![
            row.verb.to_owned(),
            row.option,
            row.value.unwrap_or_else(|| "-".to_owned()),
            row.origin.to_owned(),
            row.variable,
        ]);
    }
    output::show(&(table.lines().join("\n") + "\n"))?;
    Ok(Exit::Success)
}

fn rows_of(verb: &'static str) -> Result<Vec<Row>, Failure> {
    let mut program = Cli::command();
    // A subcommand has the global options only after this call.
    program.build();
    let command = program.find_subcommand(verb).expect("the command exists");
    let mut set = settings::of_environment(command)?;
    set.extend(settings::of_file(command)?);
    let row = |arg: &clap::Arg| {
        let option = arg.get_long().unwrap_or_default().to_owned();
        let variable = settings::variable(arg);
        let own = arg.get_env().and_then(std::env::var_os);
        let own = own.map(|value| (value.to_string_lossy().into_owned(), "environment"));
        let found = own.or_else(|| set.iter().find(|own| own.option == option).map(told));
        let default = || {
            let values = arg.get_default_values().iter();
            let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
            let is_switch = matches!(arg.get_action(), clap::ArgAction::SetTrue);
            (!values.is_empty() && !is_switch).then(|| (values.join(", "), "default"))
        };
        let (value, origin) = match found.or_else(default) {
            Some((value, origin)) => (Some(value), origin),
            None => (None, "not set"),
        };
        Row { verb, option, variable, value, origin }
    };
    Ok(settings::options(command).map(row).collect())
}

fn told(setting: &Setting) -> (String, &'static str) {
    let origin = match setting.from {
        From::Environment => "environment",
        From::File => "config.toml",
    };
    let value = match setting.values.as_slice() {
        [] => "true".to_owned(),
        values => values.join(", "),
    };
    (value, origin)
}
