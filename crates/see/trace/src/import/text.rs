//! The text formats by name.

use super::Format;
use super::formats::alibaba::Alibaba;
use super::formats::arc::Arc;
use super::formats::biosnoop::Biosnoop;
use super::formats::blkparse::Blkparse;
use super::formats::etw::Etw;
use super::formats::fio_iolog::FioIolog;
use super::formats::fio_lat::FioLat;
use super::formats::iotrace::Iotrace;
use super::formats::msr::Msr;
use super::formats::simulators::{Disksim, Mqsim};
use super::formats::spc::Spc;
use super::formats::systor::Systor;
use super::formats::tencent::Tencent;
use super::formats::vscsi_text::{VscsiCsv, VscsiText};
use super::importer::Decode;
use super::input::Input;
use super::lines::{Line, Lines};
use super::sink::Sink;

/// The text formats in the order in which detection tries them: those with the strictest lines
/// come first.
pub(super) const TEXT: [Format; 16] = [
    Format::FioIolog,
    Format::Msr,
    Format::Iotrace,
    Format::VscsiText,
    Format::Alibaba,
    Format::Spc,
    Format::Systor,
    Format::VscsiCsv,
    Format::Tencent,
    Format::FioLat,
    Format::Blkparse,
    Format::Etw,
    Format::Biosnoop,
    Format::Mqsim,
    Format::Disksim,
    Format::Arc,
];

/// A parser of the lines of `format` in a trace that begins with `head`; none for a binary one.
pub(super) fn parser(format: Format, head: &[u8]) -> Option<Box<dyn Line>> {
    Some(match format {
        Format::Msr => Box::new(Msr::default()),
        Format::Alibaba => Box::new(Alibaba),
        Format::Tencent => Box::new(Tencent),
        Format::Systor => Box::new(Systor),
        Format::Spc => Box::new(Spc::default()),
        Format::Etw => Box::new(Etw::default()),
        Format::VscsiText => Box::new(VscsiText),
        Format::VscsiCsv => Box::new(VscsiCsv),
        Format::Blkparse => Box::new(Blkparse::default()),
        Format::FioIolog => Box::new(FioIolog::of(head)),
        Format::FioLat => Box::new(FioLat::default()),
        Format::Biosnoop => Box::new(Biosnoop::default()),
        Format::Iotrace => Box::new(Iotrace::default()),
        Format::Mqsim => Box::new(Mqsim),
        Format::Disksim => Box::new(Disksim),
        Format::Arc => Box::new(Arc),
        Format::Vscsi | Format::Blktrace | Format::OracleGeneral => return None,
    })
}

/// A decoder of the text `format`; none for a binary one. The formats of the largest public
/// traces are compiled into the loop over lines, the others called through it.
pub(super) fn decoder(format: Format, input: Input, sink: &mut Sink) -> Option<Box<dyn Decode>> {
    Some(match format {
        Format::Msr => Box::new(Lines::new(input, Msr::default(), sink)),
        Format::Alibaba => Box::new(Lines::new(input, Alibaba, sink)),
        Format::Tencent => Box::new(Lines::new(input, Tencent, sink)),
        _ => {
            let parser = parser(format, input.bytes())?;
            Box::new(Lines::new(input, parser, sink))
        }
    })
}
