use crate::iscsi::Iscsi;
use crate::nbd::Nbd;
use crate::nfs3::Nfs3;
use crate::nfs4::Nfs4;
use crate::nvme_tcp::NvmeTcp;
use crate::protocol::Protocol;

/// All supported protocols.
pub static PROTOCOLS: &[&dyn Protocol] = &[
    &Nbd,     // nbd.rs
    &Iscsi,   // iscsi.rs
    &Nfs3,    // nfs3.rs
    &Nfs4,    // nfs4.rs
    &NvmeTcp, // nvme_tcp.rs
];

/// Returns the protocol with this word of `--over`.
pub fn find(word: &str) -> Option<&'static dyn Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.facts().word == word)
}
