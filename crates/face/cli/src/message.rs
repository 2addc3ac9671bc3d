//! Sends a message when a run ends, for people who are not at the terminal.
//!
//! A message gives the answer or the error of the run, and says whether a person has to act. It
//! goes to a command, a web hook or a topic of ntfy (`--notify`).
//!
//! Paths and topics of servers are often secrets. So no message, result or error contains them or a
//! token: an error names only the server's host.
//!
//! An unknown kind of channel is refused before the run begins. A message that cannot be sent is a
//! line on standard error. It never changes a result or an exit code, and delays the end of the
//! program by at most [`PATIENCE`] per message.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use http_client::{Address, AddressError};
use run_store::run::Run;
use serde::Serialize;
use watch::Program;

use crate::exit::Exit;

/// Longest wait for a command or a server. Mail and chat servers usually take less.
const PATIENCE: Duration = Duration::from_secs(15);

/// Channel of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notify {
    /// A program gets the text as its argument and the message as JSON on standard input.
    Command(PathBuf),
    /// A server gets the message as JSON by POST.
    Webhook(Address),
    /// A topic of ntfy gets text, title and priority.
    Ntfy(Address),
}

impl FromStr for Notify {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let text = |error: AddressError| error.to_string();
        match kind {
            "command" if !rest.is_empty() => Ok(Self::Command(PathBuf::from(rest))),
            "webhook" => Ok(Self::Webhook(rest.parse().map_err(text)?)),
            "ntfy" => {
                let address: Address = rest.parse().map_err(text)?;
                if topic(&address).1.is_empty() {
                    return Err("the ntfy address has no topic at its end".to_owned());
                }
                Ok(Self::Ntfy(address))
            }
            _ => Err("supported are command:PROGRAM, webhook:URL and ntfy:URL".to_owned()),
        }
    }
}

fn post(address: &Address, path: &str, body: &[u8]) -> Result<(), String> {
    address.post(path, body, PATIENCE).map_err(|error| error.to_string())
}

/// Splits the address into the path of the ntfy server and the topic.
fn topic(address: &Address) -> (&str, &str) {
    let (server, topic) = address.path().rsplit_once('/').unwrap_or(("", ""));
    (if server.is_empty() { "/" } else { server }, topic)
}

/// Message about the end of a run, as commands and web hooks get it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    schema: &'static str,
    /// Title in one line.
    title: String,
    /// Answer, or the reason why there is none.
    text: String,
    /// Exit code of the program.
    exit: u8,
    /// True if the run failed, or something that the run created is left.
    needs_somebody: bool,
    /// Id of the run; absent if it was refused before it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<PathBuf>,
}

impl Message {
    /// Makes the message for a stored run.
    pub fn of_run(run: &Run, directory: &Path) -> Self {
        Self {
            run: Some(run.id.clone()),
            directory: Some(directory.to_owned()),
            ..Self::of_target(&run.target.datastore, run.sentence())
        }
    }

    /// Makes the message for a run that is not stored, with the reason.
    pub fn of_target(target: &str, text: String) -> Self {
        let target = untrusted::shown(target);
        Self {
            schema: "tilemark.message/1.0",
            title: format!("tilemark run of {target}"),
            text,
            exit: 0,
            needs_somebody: false,
            run: None,
            directory: None,
        }
    }

    /// Sends the message through every channel, with the exit code.
    pub fn send(mut self, ways: &[Notify], exit: Exit) {
        let (end, needs_somebody) = match exit {
            Exit::Success => ("ended", false),
            Exit::ObjectiveFailed | Exit::ExpectationMissed => ("ended: not met", true),
            Exit::Inconclusive => ("ended without an answer", false),
            Exit::NotRemoved => ("ended, and left files in place", true),
            Exit::Interrupted | Exit::Terminated => ("was interrupted", false),
            Exit::Usage | Exit::Refused => ("was refused", true),
            Exit::Failure => ("failed", true),
        };
        self.title = format!("{} {end}", self.title);
        self.exit = exit as u8;
        self.needs_somebody = needs_somebody;
        for way in ways {
            if let Err(error) = self.by(way) {
                crate::say!("a message could not be sent: {error}");
            }
        }
    }

    fn by(&self, way: &Notify) -> Result<(), String> {
        let all = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        match way {
            Notify::Command(program) => {
                let about = format!("{}: {}", self.title, self.text);
                let program = Program { path: program.clone(), arguments: vec![about] };
                program.tell(&all, PATIENCE).map_err(|error| error.to_string())
            }
            Notify::Webhook(address) => post(address, address.path(), &all),
            Notify::Ntfy(address) => {
                let (server, topic) = topic(address);
                // 4 is "high" of ntfy's five priorities, 3 its default.
                let priority = if self.needs_somebody { 4 } else { 3 };
                let body = serde_json::json!({
                    "topic": topic, "title": self.title, "message": self.text, "priority": priority,
                });
                post(address, server, body.to_string().as_bytes())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().expect("an address")
    }

    #[test]
    fn ways_are_read_and_unknown_ones_refused() {
        assert_eq!("command:/bin/true".parse(), Ok(Notify::Command("/bin/true".into())));
        let hook = address("http://[::1]:8080/a?b=c");
        assert_eq!("webhook:http://[::1]:8080/a?b=c".parse(), Ok(Notify::Webhook(hook)));
        for wrong in [
            "",
            "command:",
            "mail:me@example.org",
            "webhook:ftp://host/",
            "webhook:http:///path",
            "webhook:http://me:secret@host/",
            "webhook:http://host/a b",
            "webhook:http://host:port/",
            "ntfy:https://ntfy.sh/",
            "ntfy:https://ntfy.sh",
        ] {
            let found: Result<Notify, String> = wrong.parse();
            assert!(found.is_err(), "{wrong}: {found:?}");
        }
    }

    #[test]
    fn topic_of_ntfy_is_the_end_of_its_path() {
        assert_eq!(topic(&address("https://ntfy.sh/storage")), ("/", "storage"));
        assert_eq!(topic(&address("http://a/push/storage")), ("/push", "storage"));
        let with_token = address("https://ntfy.sh/storage,token=/etc/tilemark/token");
        assert_eq!(topic(&with_token), ("/", "storage"));
    }
}
