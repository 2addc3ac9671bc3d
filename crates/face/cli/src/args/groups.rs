//! Groups of the commands in the program's help, by purpose.

use std::fmt::Write;

use clap::{Command as Clap, Subcommand};

use super::Command;

/// Maximum line width of the list, in characters.
const WIDTH: usize = 80;

/// Groups with their commands; a beginner's commands come first.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start here", &["demo", "doctor", "run", "runs", "compare"]),
    (
        "Measure storage",
        &[
            "plan",
            "check",
            "prepare",
            "verify",
            "cleanup",
            "calibrate",
            "replay",
            "meter",
            "hosts",
            "agent",
            "app",
        ],
    ),
    ("See what disks do", &["watch", "record", "import", "analyze"]),
    ("Predict", &["simulate", "what-if", "estate", "study", "tiles", "array"]),
    ("Serve disks", &["tier", "lab"]),
    ("Show and keep results", &["serve", "report", "export", "verify-report"]),
    ("This program", &["config", "schema", "completions", "man", "version", "help"]),
];

/// Returns the help template with the commands in groups.
pub fn help_template() -> String {
    let list = Command::augment_subcommands(Clap::new("tilemark"));
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        // Writing to a String does not fail.
        let _ = write!(text, "\n{title}:\n");
        for name in names {
            let about = list.find_subcommand(name).and_then(Clap::get_about);
            let about = about.map_or_else(
                || "Print this message or the help of a command".to_owned(),
                ToString::to_string,
            );
            text.push_str(&entry(name, &about));
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

/// Formats the help entry of a command, in lines of at most [`WIDTH`].
fn entry(name: &str, about: &str) -> String {
    let mut lines = vec![format!("  {name:<14}")];
    for word in about.split(' ') {
        let last = lines.len() - 1;
        if lines[last].chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{:16}{word}", ""));
        } else {
            let gap = if lines[last].ends_with(' ') { "" } else { " " };
            lines[last].push_str(gap);
            lines[last].push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let list = Command::augment_subcommands(Clap::new("tilemark"));
        let shown = list.get_subcommands().filter(|command| !command.is_hide_set());
        let mut have: Vec<&str> = shown.map(Clap::get_name).collect();
        have.push("help");
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        have.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(have, grouped);
        assert_eq!(GROUPS[0].1.len(), 5, "a beginner reads five");
        assert!(help_template().lines().all(|line| line.chars().count() <= WIDTH));
    }
}
