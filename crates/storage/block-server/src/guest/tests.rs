//! Descriptors that nobody wrote, by the ten thousand.

use nbd::{Abilities, BlockSizes, Export, Operation};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

use super::blk::{Ask, Terms};
use super::chain::Chain;

const SIZE: u64 = 1 << 20;
const ENTRIES: u16 = 8;

/// A reproducible stream of numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn of<T: Copy>(&mut self, some: &[T]) -> T {
        let at = self.next() % some.len() as u64;
        some[usize::try_from(at).unwrap()]
    }
}

/// Draws a descriptor: most often one that could be valid, so that more than the first check is
/// reached.
fn descriptor(random: &mut Random) -> [u8; 16] {
    let mut bytes = [0; 16];
    let address = random.of(&[0, 16, 0x1000, 0x2000, 0x3ff0, 0x4000, u64::MAX, u64::MAX - 15]);
    let length = random.of(&[0, 1, 15, 16, 17, 20, 512, 513, 4096, 1 << 20, u32::MAX]);
    let flags = random.of(&[0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 7, u16::MAX]);
    bytes[..8].copy_from_slice(&address.to_le_bytes());
    bytes[8..12].copy_from_slice(&length.to_le_bytes());
    bytes[12..14].copy_from_slice(&flags.to_le_bytes());
    let next = random.of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, u16::MAX]);
    bytes[14..].copy_from_slice(&next.to_le_bytes());
    bytes
}

#[test]
fn arbitrary_descriptors_decode_to_requests_within_the_disk() {
    let memory = GuestMemoryMmap::<()>::from_ranges(&[(GuestAddress(0), 0x4000)]).unwrap();
    let abilities = Abilities::TRIM | Abilities::WRITE_ZEROES | Abilities::FLUSH;
    let blocks = BlockSizes::new(512, 4096, 32 << 20).unwrap();
    let terms = Terms::new(&Export::new("vm", SIZE, blocks, abilities).unwrap(), 0);
    let mut random = Random(11);
    let (mut asked, mut malformed) = (0, 0);
    for _ in 0..50_000 {
        for index in 0..u64::from(ENTRIES) * 2 {
            memory.write_slice(&descriptor(&mut random), GuestAddress(index * 16)).unwrap();
        }
        // A request's head, which some of them point to.
        let kind = random.of(&[0_u32, 1, 4, 8, 11, 13, 99]);
        let sector = random.of(&[0, 1, 7, 2047, 2048, u64::MAX, u64::MAX / 512]);
        let head = [&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes()].concat();
        memory.write_slice(&head, GuestAddress(0x1000)).unwrap();
        let first = u16::try_from(random.next() % 9).unwrap();
        if random.next().is_multiple_of(2) && first < ENTRIES - 2 {
            // A chain that begins well and ends with a status.
            let part = |address: u64, length: u32, flags: u16, next: u16| {
                [
                    &address.to_le_bytes()[..],
                    &length.to_le_bytes(),
                    &flags.to_le_bytes(),
                    &next.to_le_bytes(),
                ]
                .concat()
            };
            let chain = [
                part(0x1000, 16, 1, first + 1),
                descriptor(&mut random).to_vec(),
                part(0x3000, 1, 2, 0),
            ];
            memory.write_slice(&chain.concat(), GuestAddress(u64::from(first) * 16)).unwrap();
            memory.write_obj(first + 2, GuestAddress(u64::from(first + 1) * 16 + 14)).unwrap();
        }
        let Ok(chain) = Chain::follow(&memory, GuestAddress(0), ENTRIES, first) else {
            malformed += 1;
            continue;
        };
        if chain.writable.bytes() == 0 {
            continue;
        }
        if let Ok(Ask::Disk { operation, offset, bytes }) = terms.understand(&memory, &chain) {
            asked += 1;
            assert!(
                offset + bytes <= SIZE && offset.is_multiple_of(512) && bytes.is_multiple_of(512)
            );
            match operation {
                Operation::Read => assert_eq!(chain.writable.bytes(), bytes + 1),
                Operation::Write { fua } => {
                    assert!(fua, "a driver that knows no flushes");
                    assert_eq!(chain.readable.bytes(), bytes + 16);
                }
                _ => {}
            }
        }
    }
    assert!(asked > 100 && malformed > 100, "{asked} asked and {malformed} malformed");
}
