//! What each format is misread as, one test per trap.

mod blocks;
mod clouds;
mod fio;
mod msr;
mod references;
mod snoop;
mod vscsi;
mod windows;
