//! One module per format.

pub(super) mod alibaba;
pub(super) mod arc;
pub(super) mod biosnoop;
pub(super) mod blkparse;
pub(super) mod blktrace;
pub(super) mod blocks;
pub(super) mod etw;
pub(super) mod fio_iolog;
pub(super) mod fio_lat;
pub(super) mod iotrace;
pub(super) mod msr;
pub(super) mod oracle;
pub(super) mod simulators;
pub(super) mod spc;
pub(super) mod systor;
pub(super) mod tencent;
pub(super) mod vscsi;
pub(super) mod vscsi_text;
