//! vSCSI traces as text: the output of VMware's own tool, and the columns of cache simulators.

use super::super::fields::{Fields, decimal_moment, hex, moment, number};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use super::super::table::{Table, column, goes_up, rises, texts};
use super::vscsi::Command;

pub(super) static TEXT: Kind = Kind::text::<VscsiText>(
    "vscsi-text",
    &["vscsi-cmd"],
    "VMware vSCSI command trace as text: serial, bytes, entries, command, block, us",
);
pub(super) static CSV: Kind = Kind::text::<VscsiCsv>(
    "vscsi-csv",
    &["libcachesim-csv"],
    "vSCSI trace as cache simulators print it: version,time,op,size,lbn",
);

/// Lines `serial,bytes,scatter-gather entries,command,block,microseconds` after lines that begin
/// with `#`; the command is `read`, `write` or a SCSI operation code.
#[derive(Default)]
struct VscsiText;

impl Line for VscsiText {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1_000);
        sink.one_disk();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if line.trim_ascii_start().starts_with(b"#") {
            sink.skip();
            return Ok(());
        }
        let mut fields = Fields::commas(line);
        fields.number("serial number")?;
        let bytes = bytes(fields.number("length")?)?;
        fields.number("scatter-gather entries")?;
        let code = code_of_word(fields.text("command")?)?;
        let sector = fields.number("block")?;
        let moment = moment(fields.number("time")?, 1_000, "time")?;
        fields.end()?;
        Command { code, bytes, sector, moment, response: None }.push(sink)
    }

    /// Accepts lines with commands as words, which are unique to this format. If commands are
    /// numbers, lengths must be whole sectors.
    fn is_plausible(lines: &[&[u8]]) -> bool {
        let rows = lines.iter().filter(|line| !line.starts_with(b"#"));
        let is_word = |line: &&[u8]| {
            let command = texts(line).get(3).copied().unwrap_or_default().to_ascii_lowercase();
            matches!(command.as_str(), "read" | "write")
        };
        let is_sectors = |line: &&[u8]| {
            let bytes = texts(line).get(1).and_then(|text| text.parse::<u64>().ok());
            bytes.is_some_and(|bytes| bytes.is_multiple_of(512))
        };
        let is_header = lines.first().is_some_and(|line| line.starts_with(b"#"));
        let mut rows = rows.peekable();
        rows.peek().is_some()
            && (is_header || rows.all(|line| is_word(line) || is_sectors(line)))
            && goes_up(&column(lines, 5))
    }
}

/// Lines `version,time,op,size,lbn`: seconds, a SCSI operation code in base 16, bytes, sectors.
#[derive(Default)]
struct VscsiCsv;

impl Line for VscsiCsv {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1_000);
        sink.one_disk();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if line.starts_with(b"version,") || line.starts_with(b"#") {
            sink.skip();
            return Ok(());
        }
        let mut fields = Fields::commas(line);
        if !matches!(fields.number("version")?, 1 | 2) {
            return Err(Bad::new("version", "is neither 1 nor 2"));
        }
        let moment = decimal_moment(fields.text("time")?, 1_000_000_000, "time")?;
        let code = code(hex(fields.text("op")?, "op")?)?;
        let bytes = bytes(fields.number("size")?)?;
        let sector = fields.number("lbn")?;
        fields.end()?;
        Command { code, bytes, sector, moment, response: None }.push(sink)
    }

    fn is_plausible(lines: &[&[u8]]) -> bool {
        let table = Table { heads: &[b"version,", b"#"], hex: Some(2), ..Table::COMMAS };
        table.rows(lines).is_some_and(|rows| {
            rises(&rows, 1)
                && rows.iter().all(|row| row.get(3).is_some_and(|size| size % 512.0 == 0.0))
        })
    }
}

fn code_of_word(word: &[u8]) -> Result<u16, Bad> {
    if word.eq_ignore_ascii_case(b"read") {
        return Ok(0x28);
    }
    if word.eq_ignore_ascii_case(b"write") {
        return Ok(0x2a);
    }
    let is_hex = word.starts_with(b"0x") || word.starts_with(b"0X");
    code(if is_hex { hex(word, "command")? } else { number(word, "command")? })
}

fn code(value: u64) -> Result<u16, Bad> {
    match u8::try_from(value) {
        Ok(code) => Ok(u16::from(code)),
        Err(_) => Err(Bad::new("command", "is not a SCSI operation code")),
    }
}

fn bytes(value: u64) -> Result<u32, Bad> {
    u32::try_from(value).map_err(|_| Bad::new("length", "is 4 GiB or more"))
}
