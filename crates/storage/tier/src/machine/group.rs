use super::epoch::Logged;
use super::log_queue::Placed;
use super::overlay::{Source, touched};
use super::write::WriteRequest;
use crate::event::{Op, Piece};
use crate::format::{GROUP_RECORDS, Kind, Record};

/// Group being gathered from all waiting requests that fit. It may contain many durable writes and
/// flushes, each of which ends an epoch. They can share an epoch, because none of them was answered
/// before the last one was requested.
#[derive(Default)]
pub(super) struct Group {
    /// Number of the group in the log.
    pub(super) seq: u64,
    pub(super) records: Vec<Record>,
    pub(super) payload: Vec<Piece>,
    pub(super) writes: Vec<Placed>,
    pub(super) logged: Vec<Logged>,
    pub(super) blocks: u64,
    pub(super) ends_epoch: bool,
    /// True if a request waits for the group to be durable.
    pub(super) is_awaited: bool,
}

impl Group {
    /// Returns true if there is room for another write.
    pub(super) fn has_room(&self, write: &WriteRequest, room: u64) -> bool {
        self.records.len() < GROUP_RECORDS && self.blocks + payload_blocks(write) <= room
    }

    /// Adds a write. The payload keeps its offset within blocks; the bytes before and after it are
    /// zero.
    pub(super) fn add(&mut self, write: u32, found: &WriteRequest, payload_at: u64) {
        let request = &found.request;
        let at = payload_at + self.blocks * 4096;
        let (kind, source) = match request.op {
            Op::Zero { unmap: true } => (Kind::Trim, Source::Zero { unmap: true }),
            Op::Zero { unmap: false } => (Kind::Zero, Source::Zero { unmap: false }),
            _ => (Kind::Write, Source::Flash { at }),
        };
        self.records.push(Record {
            kind,
            disk: request.disk,
            bytes: request.bytes,
            offset: request.offset,
            sum: request.sums.whole,
            place: 0,
            tag: 0,
            sums: None,
        });
        if let Some(buf) = request.buf.filter(|_| kind == Kind::Write) {
            let before = u32::try_from(request.offset % 4096).unwrap_or(0);
            let blocks = payload_blocks(found);
            let after = u32::try_from(blocks * 4096).unwrap_or(u32::MAX) - before - request.bytes;
            if before > 0 {
                self.payload.push(Piece::Zero(before));
            }
            self.payload.push(Piece::Buf { buf, at: 0, bytes: request.bytes });
            if after > 0 {
                self.payload.push(Piece::Zero(after));
            }
            self.blocks += blocks;
        }
        self.logged.push(Logged {
            order: found.order,
            offset: request.offset,
            bytes: request.bytes,
            source,
            sums: request.sums.blocks.clone().into(),
        });
        self.writes.push(Placed { write, at });
    }
}

pub(super) fn payload_blocks(write: &WriteRequest) -> u64 {
    match write.request.op {
        Op::Write => {
            let blocks = touched(write.request.offset, write.request.bytes);
            blocks.end - blocks.start
        }
        _ => 0,
    }
}
