use super::requests::Request;
use super::session::Session;
use crate::Code;
use crate::Operation;
use crate::bytes::{Write, short};
use crate::limits::STRING_MAX;
use crate::wire::{self, chunk};

/// Maximum length of the header before the data of a read, in bytes.
pub const DATA_HEADER_MAX: usize = wire::CHUNK_HEADER + 8;

impl Session {
    /// Writes the reply to a completed request other than a read.
    pub fn write_done(&self, cookie: u64, out: &mut Vec<u8>) {
        // Allowed with structured replies too, since there is no payload.
        simple(cookie, 0, out);
    }

    /// Writes the reply to a failed request. Simple replies have no room for the message.
    pub fn write_error(&self, cookie: u64, code: Code, message: &str, out: &mut Vec<u8>) {
        if !self.is_structured {
            return simple(cookie, code.to_wire(), out);
        }
        let message = cut(message);
        let length = short(message.len());
        chunk_header(true, chunk::ERROR, cookie, 6 + length, out);
        out.u32(code.to_wire());
        out.u16(u16::try_from(length).expect("cut just now"));
        out.bytes(message.as_bytes());
    }

    /// Writes the header for the data of a read, which follow in one piece. After this header no
    /// error can be sent.
    ///
    /// # Panics
    /// If the request is not a read.
    pub fn write_data_header(&self, request: &Request, out: &mut Vec<u8>) {
        assert!(request.operation == Operation::Read, "only reads have data");
        if self.is_structured {
            self.write_chunk_header(request.cookie, request.offset, request.length, true, out);
        } else {
            simple(request.cookie, 0, out);
        }
    }

    /// Writes the header of one part of a read's data. The last part completes the reply. Parts
    /// must not overlap, and together they must cover the range.
    ///
    /// # Panics
    /// If structured replies were not negotiated, or `length` is 0.
    pub fn write_chunk_header(
        &self,
        cookie: u64,
        offset: u64,
        length: u32,
        is_last: bool,
        out: &mut Vec<u8>,
    ) {
        assert!(
            self.is_structured && length > 0,
            "a part needs structured replies and at least one byte"
        );
        let payload = length.checked_add(8).expect("a part is shorter than 4 GiB");
        chunk_header(is_last, chunk::DATA, cookie, payload, out);
        out.u64(offset);
    }

    /// Writes a part of a read that is all zeroes.
    ///
    /// # Panics
    /// If structured replies were not negotiated, or `length` is 0.
    pub fn write_hole(
        &self,
        cookie: u64,
        offset: u64,
        length: u32,
        is_last: bool,
        out: &mut Vec<u8>,
    ) {
        assert!(
            self.is_structured && length > 0,
            "a part needs structured replies and at least one byte"
        );
        chunk_header(is_last, chunk::HOLE, cookie, 12, out);
        out.u64(offset);
        out.u32(length);
    }
}

/// Cuts a message to the maximum length that may be sent.
fn cut(message: &str) -> &str {
    let mut end = message.len().min(STRING_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}

fn simple(cookie: u64, error: u32, out: &mut Vec<u8>) {
    out.u32(wire::SIMPLE_REPLY);
    out.u32(error);
    out.u64(cookie);
}

fn chunk_header(is_last: bool, kind: u16, cookie: u64, payload: u32, out: &mut Vec<u8>) {
    out.u32(wire::CHUNK);
    out.u16(if is_last { wire::CHUNK_DONE } else { 0 });
    out.u16(kind);
    out.u64(cookie);
    out.u32(payload);
}
