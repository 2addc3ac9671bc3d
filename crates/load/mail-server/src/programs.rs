//! Programs of this host, and their versions.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{MailServerError, Program};

/// Directories with server programs, which are often missing from users' PATH.
const DIRECTORIES: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// Exim and Dovecot of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// Path of Exim.
    pub exim: PathBuf,
    /// Version of Exim, such as `4.96`.
    pub exim_version: String,
    /// Path of Dovecot.
    pub dovecot: PathBuf,
    /// Version of Dovecot, such as `2.3.19.1`.
    pub dovecot_version: String,
    /// Release series of Dovecot, which decides the names of its settings.
    pub series: DovecotSeries,
}

/// Release series of Dovecot. The names of settings differ between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DovecotSeries {
    /// Dovecot 2.3, as in Debian 12.
    V2_3,
    /// Dovecot 2.4, as in Debian 13. Its settings follow its manual and have not been tested with
    /// the program.
    V2_4,
}

impl Programs {
    /// Finds the programs on this host.
    ///
    /// # Errors
    /// If a program is missing, or has a version whose settings are unknown.
    pub fn find() -> Result<Self, MailServerError> {
        let directories = directories();
        let exim = find("exim4 or exim", &["exim4", "exim"], &directories)?;
        let dovecot = find("dovecot", &["dovecot"], &directories)?;
        // Without a file of its own Exim reads the host's settings, which may be broken.
        let exim_version = version_of(Program::Exim, &exim, &["-C", "/dev/null", "-bV"])?;
        let dovecot_version = version_of(Program::Dovecot, &dovecot, &["--version"])?;
        let series = series_of(&dovecot_version).ok_or_else(|| MailServerError::Version {
            program: Program::Dovecot,
            path: dovecot.clone(),
            seen: dovecot_version.clone(),
            known: DOVECOT_KNOWN,
        })?;
        if !is_known_exim(&exim_version) {
            let (path, seen) = (exim, exim_version);
            return Err(MailServerError::Version {
                program: Program::Exim,
                path,
                seen,
                known: EXIM_KNOWN,
            });
        }
        Ok(Self { exim, exim_version, dovecot, dovecot_version, series })
    }
}

const DOVECOT_KNOWN: &str = "2.3 and 2.4";
/// Known versions of Exim. 4.94 introduced tainted data, on which the settings depend. 4.96 was
/// tested, and 4.98 is in Debian 13.
const EXIM_KNOWN: &str = "4.94 to 4.99";

fn directories() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain(DIRECTORIES.map(PathBuf::from)).collect()
}

fn find(
    names: &'static str,
    tried: &[&str],
    directories: &[PathBuf],
) -> Result<PathBuf, MailServerError> {
    let paths = tried.iter().flat_map(|name| directories.iter().map(move |own| own.join(name)));
    let is_there = |path: &PathBuf| path.is_absolute() && path.is_file();
    paths.into_iter().find(is_there).ok_or_else(|| {
        let searched = directories.iter().map(|own| own.display().to_string());
        MailServerError::Missing { names, searched: searched.collect::<Vec<_>>().join(":") }
    })
}

fn version_of(program: Program, path: &Path, args: &[&str]) -> Result<String, MailServerError> {
    let output = Command::new(path).args(args).stdin(Stdio::null()).output();
    let failed = |source| MailServerError::Io { attempt: "run", path: path.to_owned(), source };
    let output = output.map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = parse_version(program, &text);
    version.ok_or_else(|| MailServerError::Version {
        program,
        path: path.to_owned(),
        seen: text.lines().next().unwrap_or_default().chars().take(80).collect(),
        known: if program == Program::Exim { EXIM_KNOWN } else { DOVECOT_KNOWN },
    })
}

/// Extracts the version from the output of `exim -bV` (`Exim version 4.96 #2 built ...`) or
/// `dovecot --version` (`2.3.19.1 (9b53102964)`).
fn parse_version(program: Program, text: &str) -> Option<String> {
    let line = match program {
        Program::Exim => text.lines().find_map(|line| line.strip_prefix("Exim version "))?,
        Program::Dovecot => text.lines().next()?,
    };
    let version = line.split_whitespace().next()?;
    let is_version = version.split(['.', '-', '_']).next()?.parse::<u32>().is_ok();
    is_version.then(|| version.to_owned())
}

fn series_of(version: &str) -> Option<DovecotSeries> {
    match numbers(version)? {
        (2, 3) => Some(DovecotSeries::V2_3),
        (2, 4) => Some(DovecotSeries::V2_4),
        _ => None,
    }
}

fn is_known_exim(version: &str) -> bool {
    numbers(version).is_some_and(|(major, minor)| major == 4 && (94..=99).contains(&minor))
}

/// Returns the first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(|own: char| !own.is_ascii_digit()).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_unknown_ones_refused() {
        let exim = "warning: x\nExim version 4.96 #2 built 26-Nov-2026 14:26:47\nCopyright (c)\n";
        assert_eq!(parse_version(Program::Exim, exim).as_deref(), Some("4.96"));
        assert_eq!(parse_version(Program::Exim, "Postfix"), None);
        let dovecot = "2.3.19.1 (9b53102964)\n";
        assert_eq!(parse_version(Program::Dovecot, dovecot).as_deref(), Some("2.3.19.1"));
        assert_eq!(parse_version(Program::Dovecot, "usage: dovecot\n"), None);
        for (version, series) in [
            ("2.3.19.1", Some(DovecotSeries::V2_3)),
            ("2.4.1-4", Some(DovecotSeries::V2_4)),
            ("2.2.36", None),
            ("2.5.0", None),
            ("3.0", None),
            ("2", None),
        ] {
            assert_eq!(series_of(version), series, "{version}");
        }
        for (version, is_known) in
            [("4.96", true), ("4.98.2", true), ("4.94", true), ("4.92", false), ("5.0", false)]
        {
            assert_eq!(is_known_exim(version), is_known, "{version}");
        }
    }

    #[test]
    fn missing_program_is_named_with_the_directories() {
        let nowhere = [PathBuf::from("/nowhere"), PathBuf::from("relative")];
        let error = find("exim4 or exim", &["exim4", "exim"], &nowhere).expect_err("missing");
        let text = error.to_string();
        assert_eq!(text, "no program exim4 or exim in /nowhere:relative");
        assert!(error.hint().expect("a hint").contains("apt-get install"));
    }
}
