//! Meters over real sockets and with real programs.

mod closed_loop;
mod ipmi;
mod plugs;
mod redfish;
mod server;
mod snmp;
