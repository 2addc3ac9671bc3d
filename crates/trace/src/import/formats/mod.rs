//! One module per format.

pub(super) mod msr;
pub(super) mod vscsi;
