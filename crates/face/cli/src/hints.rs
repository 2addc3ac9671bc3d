//! Hints for command lines in the syntax of other tools.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options that a subcommand does not have, with the alternative.
const NOT_HERE: [(&str, &str, &str); 7] = [
    ("simulate", "--disks", DISKS),
    ("replay", "--disks", DISKS),
    ("lab", "--disks", DISKS),
    ("runs", "--force", REMOVED_AT_ONCE),
    ("runs", "--yes", REMOVED_AT_ONCE),
    ("run", "--plan", "a plan is given without an option: tilemark run PLAN.toml"),
    ("simulate", "--plan", "a plan is given without an option: tilemark simulate PLAN.toml"),
];

const DISKS: &str = "the array's file sets the number of disks of each pool: --with \
                     pool.NAME.count=12 changes it (tilemark array show NAME prints the pools)";

const REMOVED_AT_ONCE: &str = "runs rm removes at once, without asking; a kept run can be removed \
                               after tilemark runs keep --off RUN";

const EXPECTATIONS: &str = "quote the expectation, because the shell interprets > and <: 'tiles >= \
                            8', 'score >= 7.5' or 'shop.order.p95 <= 300ms'. IOPS cannot be \
                            expected: use tiles or score";

/// Replacement for clap's message or hint.
#[derive(Debug, Default)]
pub struct Help {
    /// Hint instead of clap's.
    pub hint: Option<String>,
    /// Message instead of clap's, if clap's proposal misleads.
    pub message: Option<String>,
}

/// Returns the help for `error` on a command line with these arguments.
pub fn of_command_line(error: &clap::Error, arguments: &[String]) -> Help {
    let context = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let verb = arguments.first().map_or("", String::as_str);
    let option = context(ContextKind::InvalidArg).unwrap_or_default();
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let hint = match error.kind() {
        ErrorKind::UnknownArgument => not_here(verb, option),
        ErrorKind::ValueValidation if option.starts_with("--expect ") => {
            Some(EXPECTATIONS.to_owned())
        }
        ErrorKind::ValueValidation if verb == "analyze" && option.starts_with("--from ") => value
            .parse::<trace::Format>()
            .ok()
            .map(|format| format!("--from is a time; --trace-format {format} names the format")),
        ErrorKind::ValueValidation if option.starts_with("--size ") => return size(option, value),
        _ => None,
    };
    Help { hint, message: None }
}

fn not_here(verb: &str, option: &str) -> Option<String> {
    let name = option.split('=').next().unwrap_or(option);
    let found = NOT_HERE.iter().find(|(own, known, _)| *own == verb && *known == name);
    found.map(|(.., hint)| (*hint).to_owned())
}

/// Returns the help for a size without a unit. Few people mean bytes when they size a disk.
fn size(option: &str, value: &str) -> Help {
    let is_bare = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if !is_bare {
        return Help::default();
    }
    Help {
        hint: Some(format!("did you mean {value}GiB?")),
        message: Some(format!("invalid value '{value}' for '{option}': \"{value}\" has no unit")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    fn helped(line: &str) -> Help {
        let arguments: Vec<String> = line.split('|').map(str::to_owned).collect();
        let all = std::iter::once("tilemark".to_owned()).chain(arguments.iter().cloned());
        let error = Cli::try_parse_from(all).expect_err(line);
        of_command_line(&error, &arguments)
    }

    #[test]
    fn command_lines_of_other_tools_are_helped() {
        for (line, wanted) in [
            ("analyze|x.csv|--from|msr", "--trace-format msr"),
            ("lab|mount|--array|x|--disks=12|d", "--with pool.NAME.count="),
            ("simulate|--array|vnx5500|--disks|12", "--with pool.NAME.count="),
            ("runs|rm|latest|--force", "removes at once"),
            ("run|dir:/x|--expect|iops > 1000", "'tiles >= 8'"),
            ("run|dir:/x|--expect|tiles", "quote the expectation"),
            ("replay|x.csv|--array|vnx5500|--size|200", "did you mean 200GiB?"),
            ("run|--plan|p.toml", "tilemark run PLAN.toml"),
        ] {
            let hint = helped(line).hint.unwrap_or_default();
            assert!(hint.contains(wanted), "{line}: {hint}");
        }
        let size = helped("replay|x.csv|--array|vnx5500|--size|200").message.unwrap_or_default();
        assert!(size.ends_with("\"200\" has no unit"), "no other proposal: {size}");
        assert!(helped("analyze|x.csv|--from|later").hint.is_none());
        assert!(helped("replay|x.csv|--array|vnx5500|--size|many").hint.is_none());
    }
}
