//! Sends a message when a run ends, for whoever is not at the terminal.
//!
//! A message says how the run ended, in the words of the answer or of the error, and whether
//! somebody is needed. It goes to a command, a web hook or a topic of ntfy (`--notify`).
//!
//! Paths and topics of servers are often secrets. So they, and tokens, are in no message, no result
//! and no error: an error names the server's host alone.
//!
//! It refuses a way that it does not know before the run begins. A message that cannot be sent is a
//! line on standard error: it never changes a result or an exit code, and holds the end of the
//! program up for at most [`PATIENCE`] each.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_client::{Identity, Method, Place, Question, RemoteError, Secret, Trust, host_and_port};
use run_store::run::Run;
use serde::Serialize;

use crate::exit::Exit;

/// Longest wait for a command or a server: as long as mail and chat servers usually take at most.
const PATIENCE: Duration = Duration::from_secs(15);

/// Pause between two looks at a command that runs.
const LOOK: Duration = Duration::from_millis(20);

/// Authorities that a Debian system trusts; elsewhere `SSL_CERT_FILE` names them.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// How a message is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notify {
    /// A program gets the text as its argument and the message as JSON on standard input.
    Command(PathBuf),
    /// A server gets the message as JSON by POST.
    Webhook(Address),
    /// A topic of ntfy gets text, title and priority.
    Ntfy(Address),
}

/// Address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
    is_secure: bool,
    /// Path with its first slash.
    path: String,
    /// File or environment variable of the token, as [`Secret::read`] takes it.
    token: Option<String>,
}

impl FromStr for Notify {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "command" if !rest.is_empty() => Ok(Self::Command(PathBuf::from(rest))),
            "webhook" => Ok(Self::Webhook(rest.parse()?)),
            "ntfy" => {
                let address: Address = rest.parse()?;
                if address.topic().1.is_empty() {
                    return Err("the address of ntfy ends with no topic".to_owned());
                }
                Ok(Self::Ntfy(address))
            }
            _ => Err("known are command:PROGRAM, webhook:URL and ntfy:URL".to_owned()),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (url, token) = match text.rsplit_once(",token=") {
            Some((url, token)) => (url, Some(token.to_owned())),
            None => (text, None),
        };
        let secure = url.strip_prefix("https://").map(|rest| (rest, true, 443));
        let plain = || url.strip_prefix("http://").map(|rest| (rest, false, 80));
        let found = secure.or_else(plain);
        let (rest, is_secure, usual) = found.ok_or("an address begins with https:// or http://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err("credentials are not taken from an address: use ,token=FILE".to_owned());
        }
        let is_clean = |text: &str| text.chars().all(|own| own.is_ascii_graphic());
        if !is_clean(rest) {
            return Err("an address has no spaces or other letters than ASCII".to_owned());
        }
        let (host, port) = host_and_port(authority, usual).map_err(|error| error.to_string())?;
        Ok(Self { host, port, is_secure, path: format!("/{path}"), token })
    }
}

impl Address {
    /// Path of the ntfy server, and the topic behind it.
    fn topic(&self) -> (&str, &str) {
        let (server, topic) = self.path.rsplit_once('/').unwrap_or(("", ""));
        (if server.is_empty() { "/" } else { server }, topic)
    }

    /// Sends JSON; an error names the host alone, as the path may be a secret.
    fn post(&self, path: &str, body: &[u8]) -> Result<(), String> {
        let status = self.status(path, body).map_err(|error| format!("{}: {error}", self.host))?;
        match status {
            200..=299 => Ok(()),
            status => Err(format!("{} answered with HTTP status {status}", self.host)),
        }
    }

    fn status(&self, path: &str, body: &[u8]) -> Result<u16, RemoteError> {
        let tls = self.is_secure.then(authorities).transpose()?.map(Arc::new);
        let identity = match &self.token {
            None => Identity::Nobody,
            Some(named) => Identity::Token { before: "Bearer ", secret: Secret::read(named)? },
        };
        let (host, port) = (self.host.clone(), self.port);
        let place = Place { host, port, tls, identity, patience: Some(PATIENCE) };
        let body = Some(("application/json", body));
        Ok(place.ask(Question { method: Method::Post, path, body })?.status)
    }
}

fn authorities() -> Result<Trust, RemoteError> {
    let file = std::env::var_os("SSL_CERT_FILE").unwrap_or_else(|| AUTHORITIES.into());
    let pem = untrusted::read_named_text(Path::new(&file)).map_err(|error| {
        RemoteError::Trust(format!("reading {}: {error}", Path::new(&file).display()))
    })?;
    Trust::authority(pem.as_bytes())
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
    /// True if the run failed, or something that it made is left.
    needs_somebody: bool,
    /// Id of the run; absent if it was refused before it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<PathBuf>,
}

impl Message {
    /// Message of a run that is stored.
    pub fn of_run(run: &Run, directory: &Path) -> Self {
        Self {
            run: Some(run.id.clone()),
            directory: Some(directory.to_owned()),
            ..Self::of_target(&run.target.datastore, run.sentence())
        }
    }

    /// Message of a run that is not stored, with the reason.
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

    /// Sends the message by every way, with how the run ended.
    pub fn send(mut self, ways: &[Notify], exit: Exit) {
        let (end, needs_somebody) = match exit {
            Exit::Success => ("ended", false),
            Exit::ObjectiveFailed | Exit::ExpectationMissed => ("ended: not met", true),
            Exit::Inconclusive => ("ended without an answer", false),
            Exit::NotRemoved => ("ended, and left something in place", true),
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
            Notify::Command(program) => self.by_command(program, &all),
            Notify::Webhook(address) => address.post(&address.path, &all),
            Notify::Ntfy(address) => {
                let (server, topic) = address.topic();
                // 4 is "high" of ntfy's five priorities, 3 its default.
                let priority = if self.needs_somebody { 4 } else { 3 };
                let body = serde_json::json!({
                    "topic": topic, "title": self.title, "message": self.text, "priority": priority,
                });
                address.post(server, body.to_string().as_bytes())
            }
        }
    }

    /// Runs a program without a shell, so that no text of a run is read as a command.
    fn by_command(&self, program: &Path, message: &[u8]) -> Result<(), String> {
        let shown = program.display();
        let mut child = Command::new(program)
            .arg(format!("{}: {}", self.title, self.text))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("starting {shown}: {error}"))?;
        if let Some(mut input) = child.stdin.take() {
            // The message fits a pipe's 64 KiB. A program that reads none of it is fine.
            let _ = input.write_all(message);
        }
        let until = Instant::now() + PATIENCE;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("{shown} ended with {status}")),
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("{shown} did not end within {} s", PATIENCE.as_secs()));
                }
                Err(error) => return Err(format!("waiting for {shown}: {error}")),
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
        assert_eq!(
            "webhook:http://[::1]:8080/a?b=c".parse(),
            Ok(Notify::Webhook(Address {
                host: "::1".to_owned(),
                port: 8080,
                is_secure: false,
                path: "/a?b=c".to_owned(),
                token: None,
            }))
        );
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
        assert_eq!(address("https://ntfy.sh/storage").topic(), ("/", "storage"));
        assert_eq!(address("http://a/push/storage").topic(), ("/push", "storage"));
        let with_token = address("https://ntfy.sh/storage,token=/etc/tilemark/token");
        assert_eq!(with_token.topic(), ("/", "storage"));
        assert_eq!(with_token.token.as_deref(), Some("/etc/tilemark/token"));
    }
}
