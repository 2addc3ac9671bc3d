//! Kinds of meters, one file each.

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

/// Opens a meter and identifies it.
///
/// # Errors
///
/// If the meter cannot be opened, or is another device.
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

/// Returns the time between two samples: the given time, or the default of the kind.
fn period(spec: &Spec, usual: Nanos) -> Nanos {
    spec.every.unwrap_or(usual)
}

/// Returns the number at this pointer in a JSON document (RFC 6901).
fn number(document: &serde_json::Value, pointer: &str) -> Option<f64> {
    document.pointer(pointer).and_then(serde_json::Value::as_f64)
}

/// Returns the text at this pointer in a JSON document.
fn text<'a>(document: &'a serde_json::Value, pointer: &str) -> Option<&'a str> {
    document.pointer(pointer).and_then(serde_json::Value::as_str)
}
