//! One file per kind of meter.

mod command;
mod ipmi;
mod ptdaemon;
mod rapl;
mod redfish;
mod shelly;
mod snmp;
mod tasmota;

use spec::meter::{Meter as Spec, MeterKind};
use units::Nanos;

use crate::{Fault, Meter};

/// Opens a meter: it is there, and says what it is.
///
/// # Errors
///
/// When it is not, or is something else.
pub fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    match spec.kind {
        MeterKind::Command => command::open(spec),
        MeterKind::PtDaemon => ptdaemon::open(spec),
        MeterKind::Shelly => shelly::open(spec),
        MeterKind::Tasmota => tasmota::open(spec),
        MeterKind::Redfish => redfish::open(spec),
        MeterKind::Rapl => rapl::open(spec),
        MeterKind::Snmp => snmp::open(spec),
        MeterKind::Ipmi => ipmi::open(spec),
    }
}

/// The time between two samples that was asked for, or that suits the kind.
fn period(spec: &Spec, usual: Nanos) -> Nanos {
    spec.every.unwrap_or(usual)
}

/// Host and port of `HOST[:PORT]`; an IPv6 address stands in brackets.
fn host_and_port(text: &str, usual: u16) -> Result<(String, u16), Fault> {
    let wrong = || Fault::Unfit(format!("\"{}\" is no HOST[:PORT]", plain::shown(text)));
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port))
            if !port.ends_with(']') && (!host.contains(':') || host.ends_with(']')) =>
        {
            (host, port.parse().map_err(|_| wrong())?)
        }
        _ => (text, usual),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() { Err(wrong()) } else { Ok((host.to_owned(), port)) }
}

/// A number of a JSON document, at this pointer (RFC 6901).
fn number(document: &serde_json::Value, pointer: &str) -> Option<f64> {
    document.pointer(pointer).and_then(serde_json::Value::as_f64)
}

/// A text of it.
fn text<'a>(document: &'a serde_json::Value, pointer: &str) -> Option<&'a str> {
    document.pointer(pointer).and_then(serde_json::Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_host_and_a_port() {
        let of = |text| host_and_port(text, 80).map_err(|fault| fault.to_string());
        assert_eq!(of("plug"), Ok(("plug".to_owned(), 80)));
        assert_eq!(of("plug:8888"), Ok(("plug".to_owned(), 8888)));
        assert_eq!(of("[::1]:161"), Ok(("::1".to_owned(), 161)));
        assert_eq!(of("[fe80::1]"), Ok(("fe80::1".to_owned(), 80)));
        assert!(of("plug:x").is_err() && of(":80").is_err());
    }
}
