//! What each format is misread as, one test per trap.

mod msr;
mod vscsi;
