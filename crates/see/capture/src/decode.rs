//! Decodes entries of pages as block events.

use trace::{Flags, Operation};

use crate::devices::Reach;
use crate::format::{Field, Format};
use crate::moved::MovedEnds;
use crate::page::number;
use crate::rwbs;

/// Name of a thread, as the kernel keeps it: 16 bytes, ended by a zero.
pub(crate) type Comm = [u8; 16];

/// Kind of an event. Requests are received by drivers. Bios are sent to devices without requests
/// (RAM disks, device mapper, md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A request was made for a bio (`block_io_start`, since Linux 6.5).
    Start,
    /// A request waits in a scheduler (`block_rq_insert`); used on kernels without `Start`.
    Insert,
    /// The driver received a request.
    Issue,
    /// A request, or a part of it, completed.
    Complete,
    /// The driver gave a request back.
    Requeue,
    /// A request was merged into the one before it.
    Merge,
    /// A bio was merged at the front of a waiting request.
    FrontMerge,
    /// A bio was sent.
    BioQueue,
    /// A bio completed.
    BioComplete,
    /// A bio was split in two.
    BioSplit,
}

impl Kind {
    /// Returns the name of the event in the kernel.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "block_io_start",
            Self::Insert => "block_rq_insert",
            Self::Issue => "block_rq_issue",
            Self::Complete => "block_rq_complete",
            Self::Requeue => "block_rq_requeue",
            Self::Merge => "block_rq_merge",
            Self::FrontMerge => "block_bio_frontmerge",
            Self::BioQueue => "block_bio_queue",
            Self::BioComplete => "block_bio_complete",
            Self::BioSplit => "block_split",
        }
    }

    /// Returns true if the event is the completion of an I/O.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Complete | Self::BioComplete)
    }

    /// Returns the kind of disks to which the event applies.
    pub const fn reach(self) -> Reach {
        match self {
            Self::BioQueue | Self::BioComplete | Self::BioSplit => Reach::Bios,
            _ => Reach::Requests,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    /// Time on the monotonic clock, nanoseconds.
    pub time: u64,
    /// First sector (512 bytes) on the disk.
    pub sector: u64,
    /// For a split bio, the first sector of its second part.
    pub second: u64,
    /// The kernel's device number, major << 20 | minor.
    pub dev: u32,
    /// Length in sectors (512 bytes).
    pub sectors: u32,
    /// Id of the thread that was running.
    pub pid: u32,
    /// Name of the thread; only for kinds that submit I/O.
    pub comm: Comm,
    pub kind: Kind,
    pub operation: Operation,
    pub flags: Flags,
}

impl Event {
    /// Converts a completion that the kernel reported for another disk or address to the captured
    /// disk; `None` for other events.
    pub fn moved_back(&self, ends: &MovedEnds) -> Option<Self> {
        let is_end = self.kind == Kind::BioComplete;
        if !is_end || (self.dev != ends.own && self.dev != ends.behind) {
            return None;
        }
        // A flush has no address.
        let shift = if self.sectors == 0 { 0 } else { ends.shift };
        Some(Self { dev: ends.own, sector: self.sector.checked_sub(shift)?, ..*self })
    }
}

/// Positions of the fields of one kind of event.
#[derive(Debug, Clone)]
struct Layout {
    id: u16,
    kind: Kind,
    pid: Field,
    dev: Field,
    sector: Field,
    sectors: Option<Field>,
    second: Option<Field>,
    error: Option<Field>,
    rwbs: Field,
    comm: Option<Field>,
}

/// Decodes events with the layouts of this kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoder {
    layouts: Vec<Layout>,
    id: Field,
}

impl Decoder {
    /// Parses the kernel's description of a kind of event. The error is the name of a missing
    /// field.
    pub fn learn(&mut self, kind: Kind, description: &str) -> Result<(), &'static str> {
        let format = Format::parse(description);
        let need = |name: &'static str| format.field(name).ok_or(name);
        self.id = need("common_type")?;
        let sectors = if kind == Kind::BioSplit { None } else { Some(need("nr_sector")?) };
        let second = if kind == Kind::BioSplit { Some(need("new_sector")?) } else { None };
        self.layouts.push(Layout {
            id: format.id,
            kind,
            pid: need("common_pid")?,
            dev: need("dev")?,
            sector: need("sector")?,
            sectors,
            second,
            // Named `errors` before Linux 5.16.
            error: format.field("error").or_else(|| format.field("errors")),
            rwbs: need("rwbs")?,
            comm: format.field("comm"),
        });
        Ok(())
    }

    /// Decodes the bytes of an entry; `None` for an unknown kind, or an event that is not an I/O.
    pub fn decode(&self, time: u64, data: &[u8]) -> Option<Event> {
        let id = number(data, self.id)?;
        let layout = self.layouts.iter().find(|layout| u64::from(layout.id) == id)?;
        let small = |field| number(data, field).and_then(|number| u32::try_from(number).ok());
        let (operation, mut flags) = rwbs::parse(slice(data, layout.rwbs)?)?;
        if layout.error.is_some_and(|error| number(data, error) != Some(0)) {
            flags = flags.with(Flags::ERROR);
        }
        Some(Event {
            time,
            sector: number(data, layout.sector)?,
            second: layout.second.map_or(Some(0), |second| number(data, second))?,
            dev: small(layout.dev)?,
            sectors: layout.sectors.map_or(Some(0), small)?,
            pid: small(layout.pid)?,
            comm: comm(data, layout.comm),
            kind: layout.kind,
            operation,
            flags,
        })
    }
}

fn slice(data: &[u8], field: Field) -> Option<&[u8]> {
    data.get(field.offset..field.offset.checked_add(field.size)?)
}

/// Reads a thread name. The kernel may leave old bytes after the end of the name; they are cleared
/// so that equal names compare equal.
fn comm(data: &[u8], field: Option<Field>) -> Comm {
    let mut comm = [0; 16];
    let bytes = field.and_then(|field| slice(data, field)).unwrap_or_default();
    if let Some(whole) = bytes.first_chunk() {
        return *whole;
    }
    comm[..bytes.len()].copy_from_slice(bytes);
    comm
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: &str = "ID: 2107\n\
        field:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        field:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        field:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        field:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        field:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        field:int error;\toffset:28;\tsize:4;\tsigned:1;\n\
        field:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    fn entry(error: i32) -> Vec<u8> {
        let mut data = vec![0; 48];
        data[0..2].copy_from_slice(&2107_u16.to_ne_bytes());
        data[4..8].copy_from_slice(&77_u32.to_ne_bytes());
        data[8..12].copy_from_slice(&(254_u32 << 20).to_ne_bytes());
        data[16..24].copy_from_slice(&4096_u64.to_ne_bytes());
        data[24..28].copy_from_slice(&8_u32.to_ne_bytes());
        data[28..32].copy_from_slice(&error.to_ne_bytes());
        data[34..36].copy_from_slice(b"WS");
        data
    }

    #[test]
    fn values_come_from_where_the_kernel_says() {
        let mut decoder = Decoder::default();
        decoder.learn(Kind::Complete, COMPLETE).expect("complete");
        let event = decoder.decode(9, &entry(0)).expect("learnt");
        assert_eq!((event.time, event.dev, event.sector), (9, 254 << 20, 4096));
        assert_eq!((event.sectors, event.pid, event.operation), (8, 77, Operation::Write));
        assert!(!event.flags.has(Flags::ERROR));
        assert!(decoder.decode(9, &entry(-5)).expect("learnt").flags.has(Flags::ERROR));
        assert_eq!(decoder.decode(9, &entry(0)[..30]), None, "cut short");
        assert_eq!(decoder.decode(9, &[0; 48]), None, "another event");
    }

    #[test]
    fn a_missing_field_is_named() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.learn(Kind::Issue, &COMPLETE.replace("rwbs", "letters")), Err("rwbs"));
    }
}
