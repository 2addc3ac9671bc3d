//! The QEMU program: its path, version and accelerator.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::VmError;

/// Way to execute the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// On the CPU itself, through KVM.
    Kvm,
    /// In software, by QEMU.
    Emulation,
}

impl Accelerator {
    /// Returns the value of `-accel`. Without `tb-size`, QEMU would use a share of all memory for
    /// translated code.
    pub(super) const fn option(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Emulation => "tcg,thread=multi,tb-size=32",
        }
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "KVM",
            Self::Emulation => "emulation (no KVM)",
        })
    }
}

/// Version: major, minor and micro.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A program that identifies itself as QEMU.
#[derive(Debug, Clone)]
pub struct Program {
    /// Path of the program.
    pub path: PathBuf,
    /// Version according to the program.
    pub version: Version,
}

const NAME: &str = "qemu-system-x86_64";
/// Oldest version whose monitor was tested with the commands used here.
const KNOWN: Version = Version(7, 2, 0);
/// First version that migrates an emulated guest without losing pages: "physmem: Fix migration
/// dirty bitmap coherency with TCG memory access" (qemu-devel, February 2024). On 7.2.22, 5 of 12
/// guests were damaged, and on 10.0.2 none of 36.
const MOVES_EMULATED: Version = Version(9, 0, 0);

impl Program {
    /// Returns the given program, or else the first suitable one: the program in `PATH`, or the
    /// program that `scripts/vm-guest --qemu` unpacked beside the image. A program is suitable if
    /// it can migrate emulated guests. If neither is, the first existing one is returned.
    ///
    /// # Errors
    /// There is no QEMU, or the given program is not QEMU.
    pub fn find(given: Option<&Path>, image: &Path) -> Result<Self, VmError> {
        if let Some(path) = given {
            return Self::at(path);
        }
        let found =
            [Path::new(NAME).to_owned(), image.join("qemu").join(NAME)].map(|path| Self::at(&path));
        let good =
            |own: &Result<Self, VmError>| matches!(own, Ok(own) if own.version >= MOVES_EMULATED);
        let [first, second] = found;
        if good(&first) || (first.is_ok() && !good(&second)) || second.is_err() {
            first
        } else {
            second
        }
    }

    fn at(path: &Path) -> Result<Self, VmError> {
        let program = path.display().to_string();
        let output = Command::new(path).arg("--version").stdin(Stdio::null()).output();
        let output =
            output.map_err(|source| VmError::Program { program: program.clone(), source })?;
        let said = String::from_utf8_lossy(&output.stdout);
        let first = said.lines().next().unwrap_or_default();
        match parse_version(first) {
            Some(version) => Ok(Self { path: path.to_owned(), version }),
            None if !output.status.success() => {
                let source = io::Error::other(format!("it ended with {}", output.status));
                Err(VmError::Program { program, source })
            }
            None => Err(VmError::NoVersion { program, said: first.to_owned() }),
        }
    }

    /// Refuses a version whose monitor is unknown.
    pub(super) fn check(&self) -> Result<(), VmError> {
        let why = "is older than the tested versions";
        self.at_least(KNOWN, why, "7.2")
    }

    /// Refuses to migrate a running guest with a version that is known to damage it.
    pub(super) fn check_moves(&self, accelerator: Accelerator) -> Result<(), VmError> {
        let why = "damages an emulated guest that is moved while it runs: pages are lost, but it \
                   reports \"completed\"";
        match accelerator {
            Accelerator::Kvm => Ok(()),
            Accelerator::Emulation => self.at_least(MOVES_EMULATED, why, "9.0"),
        }
    }

    fn at_least(
        &self,
        least: Version,
        why: &'static str,
        works: &'static str,
    ) -> Result<(), VmError> {
        let version = self.version.to_string();
        if self.version >= least { Ok(()) } else { Err(VmError::Version { version, why, works }) }
    }
}

/// Parses a line such as `QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)`.
fn parse_version(line: &str) -> Option<Version> {
    let rest = line.strip_prefix("QEMU emulator version ")?;
    let number = rest.split([' ', '-', '(']).next()?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some(Version(parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_what_qemu_says_of_itself() {
        for (line, version) in [
            ("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)", Some(Version(10, 0, 2))),
            ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)", Some(Version(7, 2, 22))),
            ("QEMU emulator version 9.1", Some(Version(9, 1, 0))),
            ("qemu-img version 9.1.0", None),
            ("QEMU emulator version x", None),
        ] {
            assert_eq!(parse_version(line), version, "{line}");
        }
    }

    #[test]
    fn emulated_moves_are_refused_before_9_0_with_a_good_version() {
        let program = |version| Program { path: NAME.into(), version };
        let refused = program(Version(7, 2, 22)).check_moves(Accelerator::Emulation);
        let text = refused.expect_err("it corrupts them").to_string();
        assert!(
            text.contains("QEMU 7.2.22 damages an emulated guest") && text.contains("9.0 or later"),
            "{text}"
        );
        assert!(program(Version(7, 2, 22)).check_moves(Accelerator::Kvm).is_ok());
        assert!(program(Version(9, 0, 0)).check_moves(Accelerator::Emulation).is_ok());
        assert!(program(Version(6, 2, 0)).check().is_err());
    }
}
