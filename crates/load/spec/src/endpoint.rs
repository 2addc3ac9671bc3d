//! Endpoints: services that a workload calls by name. The plan or the command line assigns a
//! service or a model to each.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::{Draws, RequestText};
use units::Nanos;

/// Service that is called by name.
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
    /// HTTP/1.1, plain or, if the address begins with `https`, over TLS: a call is a GET, or a POST
    /// with a generated body.
    Http,
    /// PostgreSQL's protocol, version 3, over TLS if the address ends with `?sslmode=verify-full`. A
    /// call is one statement, which is prepared once per session, or several statements separated by
    /// `;`, which form one transaction.
    Postgres,
    /// SMTP, over TLS if the address begins with `smtps` or `smtp+starttls`: a call sends one mail.
    /// All addresses are in the domain `tile.test`, which is reserved for tests.
    Smtp,
    /// IMAP, over TLS if the address begins with `imaps` or `imap+starttls`: a call is a session of
    /// one mailbox.
    Imap,
    /// Virtual machines on the disks of this workload, on which operations are really carried out.
    /// An endpoint is a phase of an operation. Its name is `OPERATION-PHASE`, as in
    /// `live-migration-copying`. The first phase starts the operation.
    Vm,
}

impl Protocol {
    /// Returns the name of the protocol, which is also the scheme in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Postgres => "postgres",
            Self::Smtp => "smtp",
            Self::Imap => "imap",
            Self::Vm => "vm",
        }
    }

    /// Returns the reason why a call of this protocol needs a request text; `None` if it needs
    /// none.
    pub const fn refuses_silence(self) -> Option<&'static str> {
        match self {
            Self::Http | Self::Vm => None,
            Self::Postgres => Some("for postgres it is a statement"),
            Self::Smtp => Some(MAIL),
            Self::Imap => Some(SESSION),
        }
    }

    /// Returns the reason why a call of this protocol may not have the request `asked`; `None` if
    /// it may. Workloads may come from other people, so they are restricted to paths below the
    /// user's address.
    pub fn refuses(self, asked: &RequestText) -> Option<&'static str> {
        let (has_draws, text) = (asked.has_draws(), asked.numbered());
        let posted = text.strip_prefix("POST ").map(|rest| rest.rsplit_once(' '));
        let is_body = |bytes: &str| number(bytes).is_some_and(|own| (1..=BODY_MAX).contains(&own));
        let is_posted = posted.is_none_or(|own| own.is_some_and(|(_, bytes)| is_body(bytes)));
        let text = posted.flatten().map_or(text, |(path, _)| path);
        // Servers may read an escaped dot or slash as the character itself.
        let leaves = |part: &str| matches!(part, "." | "..");
        let path = text.split('?').next().unwrap_or_default().to_ascii_lowercase();
        let path = path.replace("%2f", "/").replace("%5c", "/");
        match self {
            Self::Vm => Some("an operation on a VM takes no request"),
            Self::Http if !is_posted => Some(POSTED),
            Self::Http if text.is_empty() || text.starts_with('/') => {
                Some("for http it is a path below the address's, without / at its beginning")
            }
            Self::Http if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') => {
                Some("for http it has no spaces, no # and only ASCII")
            }
            Self::Http if path.contains("%2e") || path.split(['/', '\\']).any(leaves) => {
                Some("for http it must not contain ..")
            }
            // Together with a drawn digit or letter it would be an escape that was not seen here.
            Self::Http if has_draws && text.contains('%') => {
                Some("for http with drawn values it has no %")
            }
            Self::Http => None,
            Self::Postgres if text.trim().is_empty() => Some("for postgres it is a statement"),
            Self::Postgres if text.contains('\0') => Some("for postgres it has no zero bytes"),
            Self::Postgres => None,
            Self::Smtp if !samples(asked).iter().all(|text| is_mail(text)) => Some(MAIL),
            Self::Imap if !samples(asked).iter().all(|text| is_session(text)) => Some(SESSION),
            Self::Smtp | Self::Imap => None,
        }
    }
}

const POSTED: &str =
    "for http with POST it is POST PATH BYTES, such as \"POST items 65536\", of 1 to 1048576 bytes";
const MAIL: &str = "for smtp it is FROM TO[,TO...] BYTES, such as \"u1 u17,u204 3900\". Names have \
                    letters, digits, - and _; at most 100 recipients, and 2 to 1048576 bytes of \
                    text";
const SESSION: &str = "for imap it is USER STEP=COUNT..., such as \"u17 read=7 move=1 delete=3\": \
                       at most 16 steps, of at most 1000 messages each";

/// Maximum number of recipients of a mail. Every service accepts that many (RFC 5321, section
/// 4.5.3.1.8).
const RECIPIENTS_MAX: usize = 100;
/// Maximum size of a mail's text, in bytes. Our choice, as for the maximum number of steps of a
/// session and of their messages.
const MAIL_BYTES_MAX: u32 = 1 << 20;
/// Maximum size of an HTTP request's body, in bytes. Our choice, as for mails.
const BODY_MAX: u32 = 1 << 20;
const STEPS_MAX: usize = 16;
const MESSAGES_MAX: u32 = 1000;

/// Returns samples of the text with drawn values. Clients refuse invalid requests that the samples
/// do not reveal.
fn samples(text: &RequestText) -> Vec<Cow<'_, str>> {
    let draws = (0..if text.has_draws() { 16 } else { 1 }).map(|at| Draws { call: at, action: at });
    draws.map(|draws| text.filled(draws)).collect()
}

/// Returns true for `FROM TO[,TO...] BYTES`. The workload cannot choose the domain.
fn is_mail(text: &str) -> bool {
    let [from, to, bytes] = text.split(' ').collect::<Vec<_>>()[..] else { return false };
    let recipients = to.split(',').count();
    let bytes = number(bytes).is_some_and(|bytes| (2..=MAIL_BYTES_MAX).contains(&bytes));
    is_user(from) && to.split(',').all(is_user) && recipients <= RECIPIENTS_MAX && bytes
}

/// Returns true for `USER STEP=COUNT...`.
fn is_session(text: &str) -> bool {
    let is_step = |word: &str| {
        let step = word.split_once('=');
        step.is_some_and(|(name, count)| {
            matches!(name, "read" | "move" | "delete")
                && number(count).is_some_and(|count| count <= MESSAGES_MAX)
        })
    };
    let (user, steps) =
        text.split_once(' ').map_or((text, None), |(user, rest)| (user, Some(rest)));
    let mut steps = steps.iter().flat_map(|steps| steps.split(' '));
    is_user(user) && steps.clone().count() <= STEPS_MAX && steps.all(is_step)
}

/// Parses a number that consists only of digits.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true for a mailbox name of 1 to 64 characters (RFC 5321, section 4.5.3.1.1).
fn is_user(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_letter)
}

/// A service, or the model of one. Text form: an address, or as for [`ServiceModel`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Answering {
    /// Model of a service, for a simulation.
    Model(ServiceModel),
    /// Address of a real service, `PROTOCOL://...`. The client of the protocol checks the part
    /// after the protocol.
    Address(String),
}

/// A modelled service: a queue, and servers with exponential service times. Text form:
/// `model:SERVERSxTIME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceModel {
    /// Number of calls that are served concurrently, at least 1.
    pub servers: u32,
    /// Mean service time, above zero.
    pub mean: Nanos,
}

/// Reason why a text is not a service.
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

    fn refuses(protocol: Protocol, text: &str) -> Option<&'static str> {
        protocol.refuses(&RequestText::parse(text).expect("a request text"))
    }

    #[test]
    fn asked_path_stays_below_that_of_the_address() {
        for text in [
            "items",
            "items?page=2",
            "a/b?c=..",
            "..a/b",
            "a%20b",
            "items/{1..9}",
            "POST",
            "POST items 1",
            "POST items?to={1..9} 1048576",
        ] {
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
            "POST items",
            "POST  1",
            "POST /items 1",
            "POST ../x 1",
            "POST a b 1",
            "POST items 0",
            "POST items 1048577",
            "POST items +1",
            "POST items {1..9}",
            "POST items 1\r\nHost: x",
        ] {
            assert!(refuses(Protocol::Http, text).is_some(), "{text}");
        }
        assert_eq!(refuses(Protocol::Postgres, "select 1"), None);
        for text in ["", " ", "select '\0'"] {
            assert!(refuses(Protocol::Postgres, text).is_some(), "{text}");
        }
        assert!(refuses(Protocol::Vm, "x").is_some());
    }

    #[test]
    fn asked_mail_names_users_and_a_size_and_nothing_else() {
        let many = |count| format!("u1 {} 9", vec!["u2"; count].join(","));
        for text in [
            "u1 u17,u204 3900",
            "u{1..9} u{1..9} {1000*60|2000*16}",
            "u1 u1 2",
            "a-b_C u2 1048576",
            &many(100),
        ] {
            assert_eq!(refuses(Protocol::Smtp, text), None, "{text}");
        }
        let long = format!("{} u2 9", "u".repeat(65));
        for text in [
            "",
            "u1",
            "u1 u2",
            "u1 u2 1",
            "u1 u2 1048577",
            "u1 u2 +9",
            "u1 u2 9 9",
            "u1  u2 9",
            "u1 u2, 9",
            "u1@example.com u2 9",
            "u1 <u2> 9",
            "u1 u2 9\r\n",
            "u1 u2\nX 9",
            "ü u2 9",
            &long,
            &many(101),
        ] {
            assert!(refuses(Protocol::Smtp, text).is_some(), "{text}");
        }
    }

    #[test]
    fn asked_session_names_a_user_and_known_steps() {
        let many = |count| format!("u1{}", " read=1".repeat(count));
        for text in ["u17 read=7 move=1 delete=3", "u1", "u1 read=0", "u1 read=1000", &many(16)] {
            assert_eq!(refuses(Protocol::Imap, text), None, "{text}");
        }
        for text in [
            "",
            " ",
            "u1 ",
            "u1  read=1",
            "u1 read",
            "u1 read=",
            "u1 read=+1",
            "u1 read=1001",
            "u1 write=1",
            "u1 read=1\r\nx",
            "u1\r\nx",
            "\"u1\" read=1",
            "u@x read=1",
            &many(17),
        ] {
            assert!(refuses(Protocol::Imap, text).is_some(), "{text}");
        }
    }
}
