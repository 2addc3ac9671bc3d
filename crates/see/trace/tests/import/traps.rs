//! Known mistakes in reading each format, one test per mistake.

mod blocks;
mod clouds;
mod fio;
mod msr;
mod references;
mod snoop;
mod vscsi;
mod windows;
