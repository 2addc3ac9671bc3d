//! Interface of `ublk_drv`, byte by byte. Numbers and layouts are taken from
//! `include/uapi/linux/ublk_cmd.h` of Linux 6.12, in the host's byte order.

use nbd::{Abilities, Export};

/// Returns the ioctl number that `_IOR` or `_IOWR` makes of `'u'`, the number and the size in bytes
/// (`asm-generic/ioctl.h`).
const fn read(number: u32, bytes: u32) -> u32 {
    2 << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}
const fn both(number: u32, bytes: u32) -> u32 {
    1 << 30 | read(number, bytes)
}

/// Sizes in bytes of `struct ublksrv_ctrl_cmd`, `struct ublksrv_io_cmd`,
/// `struct ublksrv_ctrl_dev_info`, and of the used part of `struct ublk_params`.
const CONTROL: u32 = 32;
const IO: u32 = 16;
pub(super) const INFO: usize = 64;
pub(super) const PARAMS: usize = 60;

pub(super) const GET_INFO: u32 = read(0x02, CONTROL);
pub(super) const ADD: u32 = both(0x04, CONTROL);
pub(super) const START: u32 = both(0x06, CONTROL);
pub(super) const SET_PARAMS: u32 = both(0x08, CONTROL);
pub(super) const GET_PARAMS: u32 = read(0x09, CONTROL);
pub(super) const START_RECOVERY: u32 = both(0x10, CONTROL);
pub(super) const END_RECOVERY: u32 = both(0x11, CONTROL);
pub(super) const GET_FEATURES: u32 = read(0x13, CONTROL);
/// Stops and removes a device, without waiting for its last user to close it.
pub(super) const DELETE: u32 = read(0x14, CONTROL);
pub(super) const FETCH: u32 = both(0x20, IO);
pub(super) const COMMIT_AND_FETCH: u32 = both(0x21, IO);

/// Feature flags: user recovery, recovery with reissue of requests, commands by ioctl encoding,
/// data by `pread` and `pwrite`.
pub(super) const FEATURES: u64 = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7;

/// States of a device, as the kernel reports them.
pub(super) const DEAD: u16 = 0;
pub(super) const QUIESCED: u16 = 2;

/// Number of tags of a device, and maximum size of a request in bytes. Together they allow 32 MiB
/// in flight, the limit of one NBD client. Our choice.
pub(super) const DEPTH: u16 = 64;
const BYTES_MAX: u32 = 512 << 10;

pub(super) const SECTOR: u64 = 512;

/// Descriptor of a request, `struct ublksrv_io_desc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Descriptor {
    /// Kind of request in the lowest byte, flags above.
    pub op_flags: u32,
    pub sectors: u32,
    pub first: u64,
    pub address: u64,
}
const _: () = assert!(size_of::<Descriptor>() == 24);

pub(super) const READ: u32 = 0;
pub(super) const WRITE: u32 = 1;
pub(super) const FLUSH: u32 = 2;
pub(super) const DISCARD: u32 = 3;
pub(super) const WRITE_ZEROES: u32 = 5;
pub(super) const FUA: u32 = 1 << 13;
pub(super) const NO_UNMAP: u32 = 1 << 15;

/// Returns the offset of a request's data in `/dev/ublkcN`.
pub(super) fn data_offset(tag: u16) -> u64 {
    0x8000_0000 + (u64::from(tag) << 25)
}

/// Encodes a command for a device, `struct ublksrv_ctrl_cmd`, for the 80 bytes of the ring's long
/// entries.
pub(super) fn control(device: u32, address: u64, length: u16, data: u64) -> [u8; 80] {
    let mut bytes = [0; 80];
    put(&mut bytes, 0, &device.to_ne_bytes());
    // The command is for no queue.
    put(&mut bytes, 4, &u16::MAX.to_ne_bytes());
    put(&mut bytes, 6, &length.to_ne_bytes());
    put(&mut bytes, 8, &address.to_ne_bytes());
    put(&mut bytes, 16, &data.to_ne_bytes());
    bytes
}

/// Encodes a command for a request of the first queue, `struct ublksrv_io_cmd`.
pub(super) fn io(tag: u16, result: i32) -> [u8; IO as usize] {
    let mut bytes = [0; IO as usize];
    put(&mut bytes, 2, &tag.to_ne_bytes());
    put(&mut bytes, 4, &result.to_ne_bytes());
    bytes
}

/// Encodes the description of a new device. The kernel keeps `mark` for us (`ublksrv_flags`).
pub(super) fn info(device: u32, mark: u64) -> Vec<u8> {
    let mut bytes = vec![0; INFO];
    put(&mut bytes, 0, &1_u16.to_ne_bytes());
    put(&mut bytes, 2, &DEPTH.to_ne_bytes());
    put(&mut bytes, 8, &BYTES_MAX.to_ne_bytes());
    put(&mut bytes, 12, &device.to_ne_bytes());
    put(&mut bytes, 24, &FEATURES.to_ne_bytes());
    put(&mut bytes, 32, &mark.to_ne_bytes());
    bytes
}

/// Returns the state and the mark of an existing device.
pub(super) fn state_and_mark(info: &[u8]) -> (u16, u64) {
    let state = info[4..6].try_into().expect("two bytes");
    let mark = info[32..40].try_into().expect("eight bytes");
    (u16::from_ne_bytes(state), u64::from_ne_bytes(mark))
}

/// Encodes the parameters of a disk: their length, the flags of the parts present, `struct
/// ublk_param_basic` and `struct ublk_param_discard`.
pub(super) fn params(export: &Export) -> Vec<u8> {
    let (blocks, abilities) = (export.blocks(), export.abilities());
    let block = blocks.minimum().max(512);
    let sectors = |bytes: u32| bytes / 512;
    let most = sectors(blocks.maximum().min(BYTES_MAX));
    let attributes =
        [Abilities::READ_ONLY, Abilities::ROTATIONAL, Abilities::FLUSH, Abilities::FUA];
    let attributes =
        (0..4).filter(|bit| abilities.has(attributes[*bit])).fold(0_u32, |all, bit| all | 1 << bit);
    let range =
        |ability| if abilities.has(ability) { sectors(blocks.maximum().min(32 << 20)) } else { 0 };
    let (discard, zeroes) = (range(Abilities::TRIM), range(Abilities::WRITE_ZEROES));
    let types: u32 = if discard + zeroes > 0 { 3 } else { 1 };
    let mut bytes = vec![0; PARAMS];
    put(&mut bytes, 0, &60_u32.to_ne_bytes());
    put(&mut bytes, 4, &types.to_ne_bytes());
    put(&mut bytes, 8, &attributes.to_ne_bytes());
    let shift = |bytes: u32| u8::try_from(bytes.trailing_zeros()).expect("32 at most");
    // Logical and physical block, best and least I/O.
    let physical = shift(block.max(4096));
    put(&mut bytes, 12, &[shift(block), physical, physical, physical]);
    put(&mut bytes, 16, &most.to_ne_bytes());
    put(&mut bytes, 24, &(export.size() / SECTOR).to_ne_bytes());
    put(&mut bytes, 44, &block.to_ne_bytes());
    put(&mut bytes, 48, &discard.to_ne_bytes());
    put(&mut bytes, 52, &zeroes.to_ne_bytes());
    // The driver takes one range at a time.
    put(&mut bytes, 56, &1_u16.to_ne_bytes());
    bytes
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Compares the numbers with the results of a C compiler for the header.
    #[test]
    fn commands_have_the_numbers_of_the_header() {
        let ours = [GET_INFO, ADD, START, GET_FEATURES, DELETE, FETCH, COMMIT_AND_FETCH];
        let header = [
            0x8020_7502,
            0xc020_7504,
            0xc020_7506,
            0x8020_7513,
            0x8020_7514,
            0xc010_7520,
            0xc010_7521,
        ];
        assert_eq!(ours, header);
    }

    #[test]
    fn parameters_describe_size_blocks_and_abilities() {
        let blocks = nbd::BlockSizes::new(4096, 4096, 1 << 20).unwrap();
        let abilities = Abilities::FLUSH | Abilities::FUA | Abilities::TRIM;
        let export = Export::new("d", 1 << 30, blocks, abilities).unwrap();
        let words: Vec<u32> = params(&export)
            .chunks(4)
            .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
            .collect();
        let sizes = u32::from_ne_bytes([12; 4]);
        assert_eq!(words, [60, 3, 12, sizes, 1024, 0, 1 << 21, 0, 0, 0, 0, 4096, 2048, 0, 1]);
    }

    #[test]
    fn device_info_has_state_and_mark() {
        let mut bytes = info(7, 0x1234_5678_9abc);
        assert_eq!(state_and_mark(&bytes), (DEAD, 0x1234_5678_9abc));
        bytes[4..6].copy_from_slice(&QUIESCED.to_ne_bytes());
        assert_eq!(state_and_mark(&bytes).0, QUIESCED);
        assert_eq!(control(7, 9, 64, 5)[..8], [7_u32.to_ne_bytes(), [255, 255, 64, 0]].concat());
        assert_eq!(io(3, -5)[..8], [[0, 0, 3, 0], (-5_i32).to_ne_bytes()].concat());
    }
}
