//! Limits of commands on the control socket. Any program may connect there, so the checks of the
//! command line are not enough.

use std::path::Path;

use tier::format::HOLDERS;

use crate::identity::{NAME_MAX, is_name};
use crate::inbox::{Coming, Command};
use crate::{Refusal, SetError};

/// Maximum time in seconds after which population is switched back: a year. Our choice; a longer
/// time is a mistake.
const TURN_SECONDS_MAX: u64 = 366 * 24 * 3600;
/// Maximum length of a policy's name, in bytes. Our choice: known policies have up to 9 letters.
const POLICY_BYTES_MAX: usize = 32;
/// Maximum number of identities that one command may accept. Our choice: a disk has two.
const ACCEPTED_MAX: u64 = 16;
/// Maximum length of a path or address, in bytes; the kernel's maximum for a path (`PATH_MAX`).
const TEXT_BYTES_MAX: usize = 4096;

impl Command {
    /// Checks every number, and the length of every name, before the command changes anything.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match self {
            Self::Status | Self::Pulse => Ok(()),
            Self::Drain { disk } | Self::Detach { disk } | Self::Mode { disk, .. } => {
                check_disk(disk)
            }
            Self::Populate { disk, for_s, .. } => {
                check_disk(disk)?;
                for_s.map_or(Ok(()), |seconds| {
                    within("number of seconds until population turns", seconds, 1, TURN_SECONDS_MAX)
                })
            }
            Self::Share { disk, percent } => {
                check_disk(disk)?;
                within("share of a disk in percent", (*percent).into(), 0, 100)
            }
            Self::Admission { disk, access } => {
                check_disk(disk)?;
                within("access that admits a page", (*access).into(), 1, u8::MAX.into())
            }
            Self::Policy { disk, name } => {
                disk.as_deref().map_or(Ok(()), check_disk)?;
                within("length of a policy's name", name.len() as u64, 1, POLICY_BYTES_MAX as u64)
            }
            Self::Attach(coming) => coming.check(),
        }
    }
}

impl Coming {
    fn check(&self) -> Result<(), Refusal> {
        check_disk(&self.disk)?;
        check_path("backing file", &self.backing)?;
        self.sidecar.as_deref().map_or(Ok(()), |path| check_path("sidecar", path))?;
        within("number of peers", self.peers.len() as u64, 0, HOLDERS as u64)?;
        within("number of accepted identities", self.accepted.len() as u64, 0, ACCEPTED_MAX)?;
        within("number of copies", self.copies.into(), 0, HOLDERS as u64)?;
        let elsewhere = self.elsewhere.iter().flat_map(|other| [&other.from, &other.at]);
        for name in &self.accepted {
            within("length of an identity", name.len() as u64, 1, TEXT_BYTES_MAX as u64)?;
        }
        for text in self.peers.iter().chain(elsewhere) {
            within("length of an address", text.len() as u64, 1, TEXT_BYTES_MAX as u64)?;
        }
        Ok(())
    }
}

fn within(what: &str, seen: u64, least: u64, most: u64) -> Result<(), Refusal> {
    match (least..=most).contains(&seen) {
        true => Ok(()),
        false => Err(Refusal::new(format!("{what} is {seen}; allowed is {least} to {most}"))),
    }
}

fn check_disk(name: &str) -> Result<(), Refusal> {
    within("length of a disk's name", name.len() as u64, 1, NAME_MAX as u64)?;
    match is_name(name) {
        true => Ok(()),
        // The name may contain any character, also a line feed.
        false => Err(SetError::Name { name: name.escape_default().to_string() }.into()),
    }
}

fn check_path(what: &str, path: &Path) -> Result<(), Refusal> {
    within(
        &format!("length of the {what}'s path"),
        path.as_os_str().len() as u64,
        1,
        TEXT_BYTES_MAX as u64,
    )?;
    match path.is_absolute() {
        true => Ok(()),
        // The server may have another working directory than the program that sends the command.
        false => Err(Refusal::new(format!(
            "the {what} is {}; allowed is an absolute path",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), Refusal> {
        let command: Command = serde_json::from_str(text).expect("a command");
        command.check()
    }

    #[test]
    fn commands_within_bounds_are_accepted() {
        for text in [
            r#""status""#,
            r#""pulse""#,
            r#"{"share":{"disk":"vm1","percent":0}}"#,
            r#"{"share":{"disk":"vm1","percent":100}}"#,
            r#"{"admission":{"disk":"vm1","access":1}}"#,
            r#"{"admission":{"disk":"vm1","access":255}}"#,
            r#"{"populate":{"disk":"vm1","on":true}}"#,
            r#"{"populate":{"disk":"vm1","on":true,"for_s":31622400}}"#,
            r#"{"policy":{"name":"w-tinylfu"}}"#,
            r#"{"attach":{"disk":"vm1","backing":"/b","back":true,"copies":1,"peers":["b=nbd://b"]}}"#,
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn commands_beyond_bounds_are_refused_with_value_and_bounds() {
        let long = "x".repeat(5000);
        for (text, words) in [
            (r#"{"share":{"disk":"vm1","percent":101}}"#, "is 101; allowed is 0 to 100"),
            (r#"{"share":{"disk":"vm1","percent":255}}"#, "is 255; allowed is 0 to 100"),
            (r#"{"admission":{"disk":"vm1","access":0}}"#, "is 0; allowed is 1 to 255"),
            (r#"{"populate":{"disk":"vm1","on":true,"for_s":0}}"#, "is 0; allowed is 1 to"),
            (
                r#"{"populate":{"disk":"vm1","on":true,"for_s":18446744073709551615}}"#,
                "is 18446744073709551615; allowed is 1 to 31622400",
            ),
            (r#"{"populate":{"disk":"vm1","on":true,"for_s":31622401}}"#, "allowed is 1 to"),
            (r#"{"drain":{"disk":"a\nb"}}"#, r#""a\nb" is not a valid disk name"#),
            (r#"{"drain":{"disk":""}}"#, "name is 0; allowed is 1 to 64"),
            (&format!(r#"{{"detach":{{"disk":"{long}"}}}}"#), "name is 5000; allowed is 1 to 64"),
            (&format!(r#"{{"policy":{{"name":"{long}"}}}}"#), "is 5000; allowed is 1 to 32"),
            (r#"{"attach":{"disk":"vm1","backing":"b","back":true}}"#, "an absolute path"),
            (r#"{"attach":{"disk":"vm1","backing":"","back":true}}"#, "is 0; allowed"),
            (
                r#"{"attach":{"disk":"vm1","backing":"/b","back":true,"copies":5}}"#,
                "number of copies is 5; allowed is 0 to 4",
            ),
            (
                r#"{"attach":{"disk":"vm1","backing":"/b","back":true,"peers":["","","","",""]}}"#,
                "number of peers is 5; allowed is 0 to 4",
            ),
            (
                &format!(
                    r#"{{"attach":{{"disk":"a","backing":"/b","back":true,"elsewhere":{{"from":"{long}","at":"b"}}}}}}"#
                ),
                "length of an address is 5000",
            ),
        ] {
            let said = check(text).expect_err(text);
            assert!(said.text.contains(words), "{text}: {said}");
        }
    }
}
