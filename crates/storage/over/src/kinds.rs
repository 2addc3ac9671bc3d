use crate::iscsi::Iscsi;
use crate::nbd::Nbd;
use crate::nfs3::Nfs3;
use crate::protocol::Protocol;

/// All supported protocols.
pub static PROTOCOLS: &[&dyn Protocol] = &[
    &Nbd,   // nbd.rs
    &Iscsi, // iscsi.rs
    &Nfs3,  // nfs3.rs
];

/// Returns the protocol with this word of `--over`.
pub fn find(word: &str) -> Option<&'static dyn Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.facts().word == word)
}
