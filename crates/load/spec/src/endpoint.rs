//! Endpoints: services that a workload calls by name. The plan or the command line gives the
//! service or model of each.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::RequestText;
use units::Nanos;

/// A service that is called by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Endpoint {
    /// Name, unique in the workload. Workloads of a tile that use the same name call the same
    /// service.
    pub name: String,
    /// Protocol of the service.
    pub protocol: Protocol,
}

/// Protocol of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// HTTP/1.1 without TLS: a call is a GET.
    Http,
    /// PostgreSQL's protocol, version 3, without TLS: a call is a statement, prepared once for each
    /// session, or several with `;` between them, which are one transaction.
    Postgres,
    /// Virtual machines on the disks of this workload, on which operations are really carried out.
    /// An endpoint is a phase of an operation, and its name is `OPERATION-PHASE`, as in
    /// `live-migration-copying`. The first phase begins the operation.
    Vm,
}

impl Protocol {
    /// Name of the protocol, also in front of `://` in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Postgres => "postgres",
            Self::Vm => "vm",
        }
    }

    /// Reason why a call of this protocol may not ask for `text`; `None` if it may. A workload may
    /// come from someone else, so it is restricted to paths below the user's address.
    pub fn refuses(self, text: &RequestText) -> Option<&'static str> {
        let (has_draws, text) = (text.has_draws(), text.numbered());
        // Servers may read an escaped dot or slash as the character itself.
        let leaves = |part: &str| matches!(part, "." | "..");
        let path = text.split('?').next().unwrap_or_default().to_ascii_lowercase();
        let path = path.replace("%2f", "/").replace("%5c", "/");
        match self {
            Self::Vm => Some("an operation on a VM is asked nothing"),
            Self::Http if text.is_empty() || text.starts_with('/') => {
                Some("of http it is a path below the address's, without / at its beginning")
            }
            Self::Http if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') => {
                Some("of http it has no spaces, no # and only ASCII")
            }
            Self::Http if path.contains("%2e") || path.split(['/', '\\']).any(leaves) => {
                Some("of http it goes up no directory")
            }
            // Together with a drawn digit or letter it would be an escape that was not seen here.
            Self::Http if has_draws && text.contains('%') => {
                Some("of http with drawn values it has no %")
            }
            Self::Http => None,
            Self::Postgres if text.trim().is_empty() => Some("of postgres it is a statement"),
            Self::Postgres if text.contains('\0') => Some("of postgres it has no zero bytes"),
            Self::Postgres => None,
        }
    }
}

/// A service, or the model of one. Text: an address, or as [`ServiceModel`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Answering {
    /// Model of a service, in a simulation.
    Model(ServiceModel),
    /// Address of a real service, `PROTOCOL://...`; the rest is checked by the client of the
    /// protocol.
    Address(String),
}

/// A modelled service: a queue, and servers with exponential service times. Text:
/// `model:SERVERSxTIME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceModel {
    /// Number of calls that are served at the same time, at least 1.
    pub servers: u32,
    /// Mean service time, above zero.
    pub mean: Nanos,
}

/// Reason why a text is no service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is neither model:SERVERSxTIME, such as model:4x2ms (both are above 0), nor an address, \
     such as http://web:8080/"
)]
pub struct ServiceModelError(String);

impl FromStr for ServiceModel {
    type Err = ServiceModelError;

    fn from_str(text: &str) -> Result<Self, ServiceModelError> {
        let parts = text.strip_prefix("model:").and_then(|rest| rest.split_once('x'));
        let parsed = parts.and_then(|(servers, mean)| {
            Some(Self { servers: servers.parse().ok()?, mean: mean.parse().ok()? })
        });
        let is_one = |own: &Self| own.servers > 0 && own.mean > Nanos::ZERO;
        parsed.filter(is_one).ok_or_else(|| ServiceModelError(text.to_owned()))
    }
}

impl fmt::Display for ServiceModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model:{}x{}ns", self.servers, self.mean.0)
    }
}

impl FromStr for Answering {
    type Err = ServiceModelError;

    fn from_str(text: &str) -> Result<Self, ServiceModelError> {
        let is_address = text.contains("://");
        if is_address { Ok(Self::Address(text.to_owned())) } else { text.parse().map(Self::Model) }
    }
}

impl fmt::Display for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(model) => model.fmt(f),
            Self::Address(text) => f.write_str(text),
        }
    }
}

impl TryFrom<String> for Answering {
    type Error = ServiceModelError;

    fn try_from(text: String) -> Result<Self, ServiceModelError> {
        text.parse()
    }
}

impl From<Answering> for String {
    fn from(answering: Answering) -> Self {
        answering.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_text_round_trips_and_other_text_is_refused() {
        let model: ServiceModel = "model:4x2ms".parse().expect("a model");
        assert_eq!(model, ServiceModel { servers: 4, mean: Nanos::from_millis(2) });
        assert_eq!(model.to_string().parse(), Ok(model));
        for text in ["model:0x2ms", "model:4x0s", "model:4", "4x2ms", "http://web/"] {
            assert!(text.parse::<ServiceModel>().is_err(), "{text}");
        }
        for text in ["model:4x2000000ns", "http://web/"] {
            let answering: Answering = text.parse().expect("one of both");
            assert_eq!(answering.to_string(), text);
        }
        assert!("web:80".parse::<Answering>().is_err());
    }

    #[test]
    fn asked_path_stays_below_that_of_the_address() {
        let refuses = |protocol: Protocol, text| {
            protocol.refuses(&RequestText::parse(text).expect("a request text"))
        };
        for text in ["items", "items?page=2", "a/b?c=..", "..a/b", "a%20b", "items/{1..9}"] {
            assert_eq!(refuses(Protocol::Http, text), None, "{text}");
        }
        for text in [
            "",
            "/",
            "/items",
            "//other",
            "..",
            "../x",
            "a/../../x",
            "a/..?x",
            "a/%2E%2e/x",
            "%2e.",
            "a\\..\\x",
            "a/..%2Fx",
            "a%5c..%5cx",
            "a b",
            "a#b",
            "a\r\nHost: x",
            "é",
            "a%2{e*1}",
        ] {
            assert!(refuses(Protocol::Http, text).is_some(), "{text}");
        }
        assert_eq!(refuses(Protocol::Postgres, "select 1"), None);
        for text in ["", " ", "select '\0'"] {
            assert!(refuses(Protocol::Postgres, text).is_some(), "{text}");
        }
        assert!(refuses(Protocol::Vm, "x").is_some());
    }
}
