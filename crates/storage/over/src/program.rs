use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::OverError;

/// Directories of server programs that are missing in the `PATH` of an ordinary user.
const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Installed program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name of the program.
    pub name: &'static str,
    /// Path of the program.
    pub path: PathBuf,
    /// Version that the program reports; empty if it was not asked.
    pub version: String,
}

/// Program that a protocol needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needed {
    /// Name of the program.
    pub name: &'static str,
    /// Debian's package of the program.
    pub package: &'static str,
}

impl Needed {
    /// Finds the program in the directories of `PATH`, then in the system's `sbin` directories.
    pub fn find(self, protocol: &'static str) -> Result<Program, OverError> {
        let Self { name, package } = self;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&path).chain(SBIN.iter().map(PathBuf::from));
        let found = places.map(|place| place.join(name)).find(|path| is_program(path));
        let missing = OverError::Missing { protocol, program: name, package };
        Ok(Program { name, path: found.ok_or(missing)?, version: String::new() })
    }
}

fn is_program(path: &Path) -> bool {
    path.is_absolute()
        && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
        && path.is_file()
}

impl Program {
    /// Asks the program for its version, and refuses a version that is too old.
    pub(crate) fn ask_version(mut self, option: &str, least: &Least) -> Result<Self, OverError> {
        let said = self.answer(&[option])?;
        let Some(version) = version_in(&said) else {
            let said = said.chars().take(200).collect();
            return Err(OverError::NoVersion { program: self.name, said });
        };
        if parts(&version) < parts(least.version) {
            let (least, why) = (least.version, least.why);
            return Err(OverError::TooOld { program: self.name, version, least, why });
        }
        self.version = version;
        Ok(self)
    }

    /// Runs the program with these arguments, and returns its output, standard error included.
    pub(crate) fn answer(&self, arguments: &[&str]) -> Result<String, OverError> {
        let output = Command::new(&self.path).args(arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|source| OverError::Io {
            attempt: "run",
            object: self.path.display().to_string(),
            source,
        })?;
        let [out, error] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Ok([out, error].join("\n").trim().to_owned())
    }
}

/// Oldest version of a program that works.
#[derive(Debug)]
pub(crate) struct Least {
    /// Version number.
    pub version: &'static str,
    /// Feature that older versions lack.
    pub why: &'static str,
}

/// Returns the first number with a dot in a text: `10.0.2` of `qemu-storage-daemon version 10.0.2
/// (Debian ...)`, `4.3` of `NFS-Ganesha Release = V4.3`.
fn version_in(said: &str) -> Option<String> {
    let numbers = said.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut numbers = numbers.map(|number| number.trim_matches('.'));
    numbers.find(|number| number.contains('.')).map(str::to_owned)
}

fn parts(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_print() {
        for (said, version) in [
            ("qemu-storage-daemon version 10.0.2 (Debian 1:10.0.2+ds-2)", Some("10.0.2")),
            ("NFS-Ganesha Release = V4.3", Some("4.3")),
            ("1.0.85", Some("1.0.85")),
            ("no number. at all", None),
        ] {
            assert_eq!(version_in(said).as_deref(), version, "{said}");
        }
        assert!(parts("10.0.2") > parts("6.1") && parts("1.0.9") < parts("1.0.85"));
    }

    #[test]
    fn missing_program_is_named_with_its_package() {
        let needed = Needed { name: "tilemark-no-such-program", package: "its-package" };
        let error = needed.find("iscsi").expect_err("it is not there");
        assert!(error.to_string().contains("tilemark-no-such-program"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("its-package")));
    }

    #[test]
    fn old_or_dumb_program_is_refused() {
        let echo = |version: &str| {
            let echo = Needed { name: "echo", package: "coreutils" }.find("iscsi").expect("echo");
            echo.ask_version(version, &Least { version: "2.1", why: "it cannot" })
        };
        assert!(matches!(echo("version 2.0.9"), Err(OverError::TooOld { .. })));
        assert!(matches!(echo("no version"), Err(OverError::NoVersion { .. })));
        assert_eq!(echo("version 2.10").expect("new enough").version, "2.10");
    }
}
