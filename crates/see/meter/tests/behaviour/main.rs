//! Meters as they are spoken to: real sockets, real programs.

mod closed_loop;
mod ipmi;
mod plugs;
mod redfish;
mod server;
mod snmp;
