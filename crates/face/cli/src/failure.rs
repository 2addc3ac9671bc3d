//! Error output of a failed command: one line, causes below it, a hint on a separate line.

use std::error::Error;

use bench::BenchError;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use run_store::rundir::RunDirError;

use crate::args::Cli;
use crate::exit::Exit;
use crate::hints;

/// Reason why a command ended without a result.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// Makes a failure with a message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None }
    }

    /// Makes a failure from an error and its causes, each on a separate line.
    pub fn from_error(exit: Exit, error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message += &format!("\n  because {text}");
            }
            cause = error.source();
        }
        Self::new(exit, message)
    }

    /// Makes a failure from a definition error, with its place in the file.
    pub fn from_definition(error: &spec::SpecError) -> Self {
        match error {
            spec::SpecError::Invalid(invalid) => Self::new(Exit::Usage, invalid.report()),
            other => Self::from_error(Exit::Usage, other).hint(other.help().map(str::to_owned)),
        }
    }

    /// Converts an error of the command line to the form of all failures.
    pub fn from_command_line(error: &clap::Error) -> Self {
        if let Some(failure) = not_over_hosts(error) {
            return failure;
        }
        let text = error.render().to_string();
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Self::new(Exit::Usage, format!("no command was given\n\n{}", text.trim_end()));
        }
        let is_kept = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more");
        let (mut message, mut hints) = (Vec::new(), Vec::new());
        for line in text.lines().filter(is_kept).filter(|line| !line.trim().is_empty()) {
            match line.trim_start().strip_prefix("tip: ") {
                Some(tip) => hints.push(nearer(error).unwrap_or_else(|| tip.to_owned())),
                None => message.push(line.strip_prefix("error: ").unwrap_or(line).to_owned()),
            }
        }
        let arguments: Vec<String> = std::env::args_os()
            .skip(1)
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect();
        let help = hints::of_command_line(error, &arguments);
        if let Some(hint) = help.hint {
            hints = vec![hint];
        }
        let message = help.message.map_or(message, |message| vec![message]);
        hints.push("--help says more".to_owned());
        Self::new(Exit::Usage, message.join("\n")).hint(Some(hints.join("; ")))
    }

    /// Returns message and hint as printed, for output elsewhere.
    pub fn text(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!("\nhint: {hint}"));
        self.message.clone() + &hint.unwrap_or_default()
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into).or(self.hint);
        self
    }

    /// Prints the failure to stderr.
    pub fn print(&self) {
        crate::say!("tilemark: {}", self.message);
        if let Some(hint) = &self.hint {
            crate::say!("hint: {}", hint);
        }
    }
}

/// Returns the command that a mistyped command probably meant. Clap compares by common letters, and
/// so proposes `rn` for `runs`.
fn nearer(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(wanted)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    // Subcommands such as those of `study` have other names.
    if std::env::args_os().nth(1).is_none_or(|first| first != wanted.as_str()) {
        return None;
    }
    let program = Cli::command();
    let name = spec::nearest(wanted, program.get_subcommands().map(clap::Command::get_name))?;
    Some(format!("the nearest command is '{name}'"))
}

/// Commands without `--host`, with the reason and the alternative.
const NOT_OVER_HOSTS: [(&str, &str, &str); 1] = [(
    "replay",
    "replay runs on this host only, because the trace is a local file",
    "copy the trace to each host and replay it there; or fit a workload to it (tilemark analyze \
         TRACE --to-workload FILE), which can run on several hosts",
)];

/// Returns the failure for `--host` with a command that has no hosts.
fn not_over_hosts(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument || option != "--host" {
        return None;
    }
    let verb = std::env::args_os().nth(1)?;
    let (_, what, hint) = NOT_OVER_HOSTS.into_iter().find(|(own, ..)| verb == *own)?;
    Some(Failure::new(Exit::Usage, what).hint(Some(hint)))
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let exit = match &error {
            error if error.is_array_too_small() => Exit::Refused,
            BenchError::Plan(_)
            | BenchError::Build { .. }
            | BenchError::Reference(_)
            | BenchError::Replay(_)
            | BenchError::PrepareSearch
            | BenchError::NothingToRead
            | BenchError::Target(_) => Exit::Usage,
            BenchError::Refused(_)
            | BenchError::HostRefused { .. }
            | BenchError::Hosts(_)
            | BenchError::HostsRefused { .. }
            | BenchError::TooLarge { .. }
            | BenchError::TooManyUsers { .. }
            | BenchError::NothingToReuse { .. }
            | BenchError::ReuseSize { .. }
            | BenchError::Datastore(_)
            | BenchError::Unreachable(_)
            | BenchError::Meter(_)
            | BenchError::RunDir(RunDirError::OnDeviceUnderTest { .. }) => Exit::Refused,
            BenchError::Interrupted | BenchError::Aborted => Exit::Interrupted,
            _ => Exit::Failure,
        };
        let hint = error.hint();
        Self::from_error(exit, &error).hint(hint)
    }
}
