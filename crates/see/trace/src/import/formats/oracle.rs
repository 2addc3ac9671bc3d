//! References with the time of the next reference: oracleGeneral, the binary format of published
//! cache traces.

use units::Nanos;

use super::super::importer::Decode;
use super::super::input::Input;
use super::super::kind::Kind;
use super::super::records::{Fixed, Records};
use super::super::sink::{Bad, Moment, Sink};
use crate::{IoRecord, Operation, TraceError};

pub(super) static FORMAT: Kind = Kind::binary(
    "oracle-general",
    &["oraclegeneral", "oracle"],
    "oracleGeneral, binary references: seconds, object, size, next reference",
    is_likely,
    open,
);

/// Size of a record, in bytes.
const SIZE: usize = 24;
/// Number of records that detection examines.
const LOOKED_AT: usize = 256;
/// Maximum number of references of a trace; more are a sign of another format.
const REFERENCES_MAX: i64 = 1 << 40;
/// Maximum size of an object, in bytes; a larger one is a sign of another format.
const OBJECT_BYTES_MAX: u32 = 1 << 30;
/// Size of the address range of an object, in bytes: one page of 512 bytes.
const PAGE: u32 = 512;

/// Records of u32 seconds, u64 object, u32 bytes of the object, i64 next reference; little-endian,
/// packed.
struct Oracle;

/// Returns true if `head` may consist of records: times never decrease, objects have a size, and
/// the next reference to an object lies ahead or never comes.
fn is_likely(head: &[u8]) -> bool {
    let (records, _) = head.as_chunks::<SIZE>();
    let mut last = 0;
    let mut is_good = |(number, record): (usize, &[u8; SIZE])| {
        let (time, size, next) = parts(record);
        let is_ahead = next == -1
            || next < REFERENCES_MAX && usize::try_from(next).is_ok_and(|next| next > number);
        let is_good = time >= last && (1..=OBJECT_BYTES_MAX).contains(&size) && is_ahead;
        last = time;
        is_good
    };
    records.len() >= 2 && records.iter().take(LOOKED_AT).enumerate().all(&mut is_good)
}

fn open(input: Input, sink: &mut Sink) -> Result<Box<dyn Decode>, TraceError> {
    Ok(Box::new(Records::new(input, Oracle, sink)))
}

impl Fixed<SIZE> for Oracle {
    fn begin(&mut self, sink: &mut Sink) {
        sink.real_times(1_000_000_000);
        sink.one_disk();
    }

    fn record(&mut self, bytes: &[u8; SIZE], sink: &mut Sink) -> Result<(), Bad> {
        let (time, size, _) = parts(bytes);
        if size == 0 {
            return Err(Bad::new("size", "is nothing"));
        }
        let mut object = [0; 8];
        object.copy_from_slice(&bytes[4..12]);
        // Objects have names and no addresses, so each gets a page. Names of more than 55 bits,
        // which are hashes, lose their upper bits.
        let offset = u64::from_le_bytes(object).wrapping_mul(u64::from(PAGE));
        if offset > u64::MAX - u64::from(PAGE) {
            return Err(Bad::new("object", "is too large"));
        }
        let record = IoRecord::new(Nanos::ZERO, Operation::Read, offset, PAGE);
        sink.push(Moment(i64::from(time) * 1_000_000_000), record);
        Ok(())
    }
}

/// Splits a record into seconds, size and next reference.
fn parts(bytes: &[u8; SIZE]) -> (u32, u32, i64) {
    let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    let mut next = [0; 8];
    next.copy_from_slice(&bytes[16..24]);
    (u32::from_le_bytes(word(0)), u32::from_le_bytes(word(12)), i64::from_le_bytes(next))
}
