use crate::iscsi::Iscsi;
use crate::nbd::Nbd;
use crate::nfs3::Nfs3;
use crate::protocol::Protocol;

/// All protocols, each in a file of its own.
pub static PROTOCOLS: &[&dyn Protocol] = &[
    &Nbd,   // nbd.rs
    &Iscsi, // iscsi.rs
    &Nfs3,  // nfs3.rs
];

/// Protocol of a word of `--over`.
pub fn find(word: &str) -> Option<&'static dyn Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.facts().word == word)
}
