//! Client of a platform's API over HTTPS: its address, credentials, and error texts.

use std::sync::Arc;

use http_client::{
    Answer, Identity, Method, Question, RemoteError, Secret, ServiceAddress, Trust, host_and_port,
};
use serde_json::Value;
use spec::named::NamedMachine;

use super::Limits;
use crate::VmError;

/// Connection for requests about one virtual machine.
pub(super) struct Api {
    place: ServiceAddress,
    pub at: String,
    pub machine: String,
    /// Function that extracts the platform's error text from an unsuccessful answer.
    wrong: fn(&Answer) -> String,
}

/// Conventions of the API's requests.
pub(super) struct Manner {
    pub port: u16,
    /// Text before the token in the header.
    pub before: &'static str,
    pub wrong: fn(&Answer) -> String,
}

/// Body of a request.
pub(super) enum Sent<'a> {
    Nothing,
    Form(&'a [(&'a str, &'a str)]),
    Json(&'a Value),
}

impl Api {
    pub fn of(machine: &NamedMachine, manner: &Manner, limits: Limits) -> Result<Self, VmError> {
        let at = machine.at.clone().unwrap_or_default();
        let name = machine.name.clone();
        let failed = |command: &'static str| {
            let (machine, at) = (name.clone(), at.clone());
            move |source| VmError::Remote { machine, at, command: command.to_owned(), source }
        };
        let authority = at.trim_start_matches("https://").trim_end_matches('/');
        let (host, port) = host_and_port(authority, manner.port).map_err(failed("address"))?;
        let named = machine.credentials.as_deref().unwrap_or_default();
        let secret = Secret::read(named).map_err(failed("credentials"))?;
        let trust = match &machine.ca {
            Some(file) => Trust::authority_file(std::path::Path::new(file)),
            None => Trust::of(Some(machine.fingerprint.as_deref().unwrap_or_default())),
        };
        let tls = Some(Arc::new(trust.map_err(failed("certificates"))?));
        let identity = Identity::Token { before: manner.before, secret };
        let place = ServiceAddress { host, port, tls, identity, patience: Some(limits.answer) };
        Ok(Self { place, at, machine: machine.name.clone(), wrong: manner.wrong })
    }

    /// Sends a request. Returns the answer, whatever its status is.
    pub fn ask(&self, method: Method, path: &str, sent: &Sent<'_>) -> Result<Answer, VmError> {
        let (kind, bytes) = match sent {
            Sent::Nothing => ("", Vec::new()),
            Sent::Form(pairs) => {
                let own =
                    |(key, value): &(&str, &str)| format!("{key}={}", http_client::escaped(value));
                let text = pairs.iter().map(own).collect::<Vec<_>>().join("&");
                ("application/x-www-form-urlencoded", text.into_bytes())
            }
            Sent::Json(value) => ("application/json", value.to_string().into_bytes()),
        };
        let body = (!kind.is_empty()).then_some((kind, bytes.as_slice()));
        self.place.ask(Question { method, path, body }).map_err(|source| {
            let (machine, at) = (self.machine.clone(), self.at.clone());
            VmError::Remote { machine, at, command: path.to_owned(), source }
        })
    }

    /// Sends a request. Returns the content of a successful answer; null if it is empty.
    pub fn told(&self, method: Method, path: &str, sent: &Sent<'_>) -> Result<Value, VmError> {
        let answer = self.ask(method, path, sent)?;
        self.good(&answer, path)
    }

    /// Checks the status of an answer, and returns its content.
    pub fn good(&self, answer: &Answer, path: &str) -> Result<Value, VmError> {
        let (machine, command) = (self.machine.clone(), path.to_owned());
        if !(200..300).contains(&answer.status) {
            let said = (self.wrong)(answer);
            return Err(VmError::Refused { machine, command, said });
        }
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|error| {
            let text = format!("the answer is not JSON: {error}");
            let (at, source) = (self.at.clone(), RemoteError::Nonsense(text));
            VmError::Remote { machine, at, command, source }
        })
    }
}
