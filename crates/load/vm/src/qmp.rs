//! QMP: lines of JSON over a socket, one response to each command, and events in between (QEMU's
//! `docs/interop/qmp-spec.rst`). A library with types for one version's schema would refuse
//! messages of other versions. Here everything is a `Value`, and unknown fields are ignored.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::VmError;

/// Maximum length of a line, in bytes. QEMU's responses to the commands used here have a few KiB.
const LINE_MAX: usize = 4 << 20;
/// Maximum number of events that are kept. The oldest are dropped first.
const EVENTS_MAX: usize = 1024;
/// Maximum time of one read, after which other conditions are checked.
const READ_WAIT: Duration = Duration::from_millis(20);

/// An event of QEMU.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub name: String,
    pub data: Value,
    /// Time of QEMU's clock, which is the same for all processes of a host.
    pub at: Duration,
}

/// Connection to one monitor.
#[derive(Debug)]
pub struct Qmp {
    machine: String,
    stream: UnixStream,
    received: Vec<u8>,
    events: VecDeque<Event>,
    /// Maximum time for a response.
    within: Duration,
    asked: u64,
}

impl Qmp {
    /// Connects to the monitor of a running VM, and negotiates.
    ///
    /// # Errors
    /// If there is no response within this time, for example because another client uses the
    /// monitor.
    pub fn attach(path: &Path, machine: &str, within: Duration) -> Result<Self, VmError> {
        let stream = UnixStream::connect(path);
        let stream = stream.map_err(|_| silent(machine, "connecting to its monitor", within))?;
        Self::over(stream, machine, within)
    }

    /// Connects to a socket that exists, or that appears while `is_alive` succeeds, and negotiates.
    pub(crate) fn connect(
        path: &Path,
        machine: &str,
        within: Duration,
        mut is_alive: impl FnMut() -> Result<(), VmError>,
    ) -> Result<Self, VmError> {
        let until = Instant::now() + within;
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(_) if Instant::now() < until => is_alive()?,
                Err(_) => return Err(silent(machine, "connecting to its monitor", within)),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Self::over(stream, machine, within)
    }

    fn over(stream: UnixStream, machine: &str, within: Duration) -> Result<Self, VmError> {
        let (received, events) = (Vec::new(), VecDeque::new());
        let machine = machine.to_owned();
        let mut own = Self { machine, stream, received, events, within, asked: 0 };
        let timed = own.stream.set_read_timeout(Some(READ_WAIT));
        timed.and(own.stream.set_write_timeout(Some(within))).map_err(|_| own.gone("hello"))?;
        let until = Instant::now() + within;
        while own.line("hello", until)?.get("QMP").is_none() {}
        own.ask("qmp_capabilities", &json!({}))?;
        Ok(own)
    }

    /// Sends a command and waits for its response. Events that arrive meanwhile are kept.
    ///
    /// # Errors
    /// If QEMU refuses the command, does not respond in time, or exits.
    pub fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value, VmError> {
        self.asked += 1;
        let id = self.asked;
        let mut line = json!({ "execute": command, "arguments": arguments, "id": id }).to_string();
        line.push('\n');
        match self.stream.write_all(line.as_bytes()) {
            Err(error) if is_late(&error) => return Err(self.silent(command)),
            Err(_) => return Err(self.gone(command)),
            Ok(()) => {}
        }
        let until = Instant::now() + self.within;
        loop {
            let answer = self.line(command, until)?;
            if answer.get("event").is_some() {
                self.keep(&answer);
            } else if answer.get("id") == Some(&json!(id)) {
                return self.answer(command, &answer);
            }
            // An answer to an earlier command that had timed out.
        }
    }

    fn answer(&self, command: &str, answer: &Value) -> Result<Value, VmError> {
        let said = |error: &Value| error.get("desc").and_then(Value::as_str).map(str::to_owned);
        let (machine, command) = (self.machine.clone(), command.to_owned());
        match (answer.get("return"), answer.get("error").and_then(said)) {
            (Some(value), _) => Ok(value.clone()),
            (None, Some(said)) => Err(VmError::Refused { machine, command, said }),
            (None, None) => Err(VmError::Garbage { machine, command }),
        }
    }

    /// Returns the first wanted event, from the kept events or from those that arrive before
    /// `until`; `None` if there is none. Other events are kept.
    pub(crate) fn event(
        &mut self,
        until: Instant,
        wanted: &mut dyn FnMut(&Event) -> bool,
    ) -> Result<Option<Event>, VmError> {
        let mut looked_at = 0;
        loop {
            while looked_at < self.events.len() {
                if wanted(&self.events[looked_at]) {
                    return Ok(self.events.remove(looked_at));
                }
                looked_at += 1;
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            if let Some(said) = self.read_line("an event")? {
                let before = self.events.len();
                self.keep(&said);
                looked_at = looked_at.min(before).min(self.events.len().saturating_sub(1));
            }
        }
    }

    /// Drops all kept events.
    pub(crate) fn forget_events(&mut self) {
        self.events.clear();
    }

    fn keep(&mut self, said: &Value) {
        let Some(name) = said.get("event").and_then(Value::as_str) else { return };
        let number = |key: &str| said.pointer(key).and_then(Value::as_u64).unwrap_or(0);
        let seconds = Duration::from_secs(number("/timestamp/seconds"));
        let at = seconds + Duration::from_micros(number("/timestamp/microseconds"));
        let data = said.get("data").cloned().unwrap_or(Value::Null);
        self.events.push_back(Event { name: name.to_owned(), data, at });
        if self.events.len() > EVENTS_MAX {
            self.events.pop_front();
        }
    }

    fn line(&mut self, command: &str, until: Instant) -> Result<Value, VmError> {
        loop {
            if let Some(line) = self.read_line(command)? {
                return Ok(line);
            }
            if Instant::now() >= until {
                return Err(self.silent(command));
            }
        }
    }

    /// Returns the next line, if one arrives soon.
    fn read_line(&mut self, command: &str) -> Result<Option<Value>, VmError> {
        let mut buffer = [0; 16 << 10];
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return serde_json::from_slice(&line).map(Some).map_err(|_| self.garbage(command));
            }
            if self.received.len() > LINE_MAX {
                return Err(self.garbage(command));
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(self.gone(command)),
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if is_late(&error) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.gone(command)),
            }
        }
    }

    fn silent(&self, command: &str) -> VmError {
        silent(&self.machine, command, self.within)
    }

    fn gone(&self, command: &str) -> VmError {
        let status = format!("its monitor closed the connection at `{command}`");
        VmError::Ended { machine: self.machine.clone(), status, said: String::new() }
    }

    fn garbage(&self, command: &str) -> VmError {
        VmError::Garbage { machine: self.machine.clone(), command: command.to_owned() }
    }
}

fn silent(machine: &str, command: &str, within: Duration) -> VmError {
    VmError::Silent { machine: machine.to_owned(), command: command.to_owned(), within }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = "{\"QMP\": {\"version\": {}}}\n{\"return\": {}, \"id\": 1}\n";

    /// Creates a monitor that sends this text at once, whatever the command is.
    fn monitor(says: &str, within: Duration) -> (Result<Qmp, VmError>, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        theirs.write_all(says.as_bytes()).expect("said");
        (Qmp::over(ours, "a", within), theirs)
    }

    #[test]
    fn answers_differ_from_events_and_from_late_answers() {
        let says = format!(
            "{HELLO}{{\"event\": \"STOP\", \"timestamp\": {{\"seconds\": 5, \"microseconds\": 7}}}}\n\
             {{\"return\": 1, \"id\": 1}}\n{{\"return\": 2, \"id\": 2}}\n\
             {{\"error\": {{\"class\": \"GenericError\", \"desc\": \"no such node\"}}, \"id\": 3}}\n"
        );
        let (qmp, _theirs) = monitor(&says, Duration::from_secs(5));
        let mut qmp = qmp.expect("hello");
        assert_eq!(qmp.ask("query-status", &json!({})).expect("an answer"), json!(2));
        let refused = qmp.ask("blockdev-del", &json!({})).expect_err("an error");
        assert!(matches!(&refused, VmError::Refused { said, .. } if said == "no such node"));
        let stop = qmp.event(Instant::now(), &mut |event| event.name == "STOP").expect("open");
        assert_eq!(stop.expect("kept").at, Duration::from_micros(5_000_007));
        assert!(qmp.event(Instant::now(), &mut |_| true).expect("open").is_none());
    }

    #[test]
    fn an_event_is_found_behind_others_that_stay() {
        let said: String =
            ["A", "B", "C"].map(|name| format!("{{\"event\": \"{name}\"}}\n")).concat();
        let (qmp, _theirs) = monitor(&format!("{HELLO}{said}"), Duration::from_secs(5));
        let mut qmp = qmp.expect("hello");
        let mut take = |name: &str| {
            let until = Instant::now() + Duration::from_secs(5);
            let found = qmp.event(until, &mut |event| event.name == name);
            found.expect("open").map(|event| event.name)
        };
        assert_eq!(
            [take("C"), take("A"), take("B")].map(Option::unwrap_or_default),
            ["C", "A", "B"]
        );
    }

    #[test]
    fn monitor_that_hangs_closes_or_talks_nonsense_is_reported() {
        let (qmp, theirs) = monitor(HELLO, Duration::from_millis(60));
        let mut qmp = qmp.expect("hello");
        let silent = qmp.ask("query-status", &json!({})).expect_err("nobody answers");
        assert!(matches!(&silent, VmError::Silent { command, .. } if command == "query-status"));
        drop(theirs);
        let gone = qmp.ask("query-status", &json!({})).expect_err("closed");
        assert!(matches!(gone, VmError::Ended { .. }));
        let (qmp, _theirs) = monitor("SSH-2.0-x\n", Duration::from_secs(5));
        assert!(matches!(qmp.expect_err("no QMP"), VmError::Garbage { .. }));
    }
}
