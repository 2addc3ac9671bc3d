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

/// A number of a JSON document, at this pointer (RFC 6901).
fn number(document: &serde_json::Value, pointer: &str) -> Option<f64> {
    document.pointer(pointer).and_then(serde_json::Value::as_f64)
}

/// A text of it.
fn text<'a>(document: &'a serde_json::Value, pointer: &str) -> Option<&'a str> {
    document.pointer(pointer).and_then(serde_json::Value::as_str)
}
