//! Formats, one module each, and their list.

mod alibaba;
mod arc;
mod biosnoop;
mod blkparse;
pub(super) mod blktrace;
mod blocks;
mod etw;
mod fio_iolog;
mod fio_lat;
mod iotrace;
mod msr;
mod oracle;
mod simulators;
mod spc;
mod systor;
mod tencent;
mod vscsi;
mod vscsi_text;

use super::kind::Kind;

/// All formats, in the order of lists for users.
pub(super) static ALL: &[&Kind] = &[
    &vscsi::FORMAT,
    &vscsi_text::TEXT,
    &vscsi_text::CSV,
    &msr::FORMAT,
    &blktrace::FORMAT,
    &blkparse::FORMAT,
    &fio_iolog::FORMAT,
    &fio_lat::FORMAT,
    &alibaba::FORMAT,
    &tencent::FORMAT,
    &systor::FORMAT,
    &spc::FORMAT,
    &etw::FORMAT,
    &biosnoop::FORMAT,
    &iotrace::FORMAT,
    &simulators::MQSIM,
    &simulators::DISKSIM,
    &arc::FORMAT,
    &oracle::FORMAT,
];
