//! Written structures are read back unchanged, by this program and every later one. Damaged
//! structures are not read.

use std::path::PathBuf;

use proptest::prelude::*;
use tilemark_tier::format::{
    BLOCK_BYTES, DISKS, DiskEntry, Flags, GROUP_RECORDS, Head, Holder, Identity, Kind, Label,
    PAGE_BLOCKS, Record, SetState, Sidecar, SidecarState, SlotEntry, Superblock, SuperblockError,
    TABLE_ENTRIES, decode_table, encode_table,
};

fn superblock() -> Superblock {
    let mut disks = vec![None; DISKS];
    disks[5] = Some(DiskEntry {
        disk: [5; 16],
        generation: 3,
        attach: 4,
        bytes: 1 << 40,
        log_seq: 77,
        log_chunk: 901,
        mode: 1,
        ..DiskEntry::default()
    });
    Superblock {
        set: [1; 16],
        host: [2; 16],
        seq: 9,
        device_bytes: 200 << 30,
        page_bytes: 65536,
        chunk_bytes: 16 << 20,
        first_chunk: 700 << 20,
        chunks: 12_000,
        page_chunks: 10_000,
        state: SetState::Open,
        opens: 6,
        table_at: 2 << 20,
        table_seq: 8,
        pool_chunk: 10_001,
        pool_seq: 55,
        pool_durable: 60,
        has_tags: false,
        has_numbers: false,
        place: Identity::default(),
        disks,
    }
}

/// A superblock with the numbers by which older states are told.
fn numbered_superblock() -> Superblock {
    let mut numbered = Superblock { has_tags: true, has_numbers: true, ..superblock() };
    numbered.place = identity("wwid:eui.0025388b710116a1");
    let entry = numbered.disks[5].as_mut().expect("it is there");
    (entry.opening, entry.before, entry.sidecar, entry.superblock) = (0xfeed, 0xbeef, 20, 9);
    let last = DiskEntry { disk: [6; 16], superblock: 8, ..entry.clone() };
    numbered.disks[DISKS - 1] = Some(last);
    numbered
}

fn identity(name: &str) -> Identity {
    Identity { name: name.to_owned(), is_lasting: true }
}

fn head() -> Head {
    let record = |kind, bytes, offset, sum, place, sums| Record {
        kind,
        disk: 5,
        bytes,
        offset,
        sum,
        place,
        tag: 0,
        sums,
    };
    Head {
        seq: 77,
        previous: 0x1122_3344_5566_7788,
        durable: 70,
        owner: [5; 16],
        generation: 3,
        position: 1 << 30,
        bytes: 8192,
        flags: Flags::EPOCH_END,
        epoch: 12,
        retired: 60,
        attach: 4,
        unix_ns: 1_790_000_000_000_000_000,
        next_chunk: u32::MAX,
        sidecar: 0,
        records: vec![
            record(Kind::Write, 4608, 512, 0xabcd, 0, None),
            record(Kind::Trim, 65536, 1 << 20, 0, 0, None),
            record(Kind::Map, 0x8001, 44, 60, 9, Some(Box::new([7; PAGE_BLOCKS]))),
            record(Kind::Unmap, 0, 45, 0, 10, None),
            record(Kind::LogStart, 902, 77, 0, 0, None),
        ],
    }
}

fn table() -> Vec<Option<SlotEntry>> {
    let mut slots = vec![None; TABLE_ENTRIES];
    slots[1] = Some(SlotEntry {
        page: 44,
        disk: 5,
        valid: 0x8001,
        age: 3,
        tag: 0,
        log_seq: 60,
        sums: Box::new([7; PAGE_BLOCKS]),
    });
    slots
}

fn sidecar() -> Sidecar {
    Sidecar {
        disk: [5; 16],
        generation: 3,
        seq: 20,
        owner: [1; 16],
        boot: [9; 16],
        state: SidecarState::Applying { from: 12, to: 14 },
        mode: 1,
        applied: 11,
        holders: Vec::new(),
        log_generation: 0,
        key: 0,
        stays: false,
        fingerprint: [6; 64],
        backing: Identity::default(),
        place: Identity::default(),
        opening: 0,
        superblock: 0,
        log_durable: 0,
        log_retired: 0,
    }
}

/// A sidecar of version 2.
fn numbered_sidecar() -> Sidecar {
    Sidecar {
        fingerprint: [0; 64],
        backing: identity("loop:file:7c1f:131:1790000000"),
        place: Identity { name: "boot:1:device:2".to_owned(), is_lasting: false },
        opening: 0xfeed,
        superblock: 9,
        log_durable: 77,
        log_retired: 60,
        ..copied()
    }
}

/// A sidecar that names hosts which hold copies.
fn copied() -> Sidecar {
    let holder = |host| Holder { host: [host; 16], address: [host + 100; 64] };
    Sidecar { holders: vec![holder(7), holder(8)], log_generation: 2, ..sidecar() }
}

fn label() -> Label {
    Label { disk: [5; 16], generation: 3, number: 9, position: 1 << 41, seq: 77 }
}

/// The bytes of the first version, which every later program has to read. `TILEMARK_UPDATE=1` writes what is
/// not there; what is there is never changed.
fn kept(name: &str, now: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    if !path.exists() && std::env::var_os("TILEMARK_UPDATE").is_some() {
        std::fs::write(&path, now).expect("the fixture is written");
    }
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn what_version_1_wrote_is_read() {
    let kept_superblock = kept("superblock-1.bin", &superblock().encode());
    assert_eq!(Superblock::decode(&kept_superblock), Ok(superblock()));
    let kept_head = kept("head-1.bin", &head().encode().0[..]);
    assert_eq!(Head::decode(&kept_head).map(|(head, _)| head), Some(head()));
    let kept_table = kept("table-1.bin", &encode_table(8, 2, &table())[..]);
    assert_eq!(decode_table(8, 2, &kept_table), Some(table()));
    let tagged = Superblock { has_tags: true, ..superblock() };
    let kept_tagged = kept("superblock-tags-1.bin", &tagged.encode());
    assert_eq!(Superblock::decode(&kept_tagged), Ok(tagged));
    let mut tagged = head();
    tagged.records.iter_mut().for_each(|record| record.tag = 5);
    let kept_tagged = kept("head-tags-1.bin", &tagged.encode().0[..]);
    assert_eq!(Head::decode(&kept_tagged).map(|(head, _)| head), Some(tagged));
    let mut tagged = table();
    tagged.iter_mut().flatten().for_each(|slot| slot.tag = 5);
    let kept_tagged = kept("table-tags-1.bin", &encode_table(8, 2, &tagged)[..]);
    assert_eq!(decode_table(8, 2, &kept_tagged), Some(tagged));
    let kept_sidecar = kept("sidecar-1.bin", &sidecar().encode()[..]);
    assert_eq!(Sidecar::newest(&kept_sidecar), Some(sidecar()));
    let kept_copied = kept("sidecar-copies-1.bin", &copied().encode()[..]);
    assert_eq!(Sidecar::newest(&kept_copied), Some(copied()));
    let reserved = Sidecar { key: 0x1234_5678_9abc_def0, stays: true, ..copied() };
    let kept_reserved = kept("sidecar-reserved-1.bin", &reserved.encode()[..]);
    assert_eq!(Sidecar::newest(&kept_reserved), Some(reserved));
    let kept_label = kept("label-1.bin", &label().encode()[..]);
    assert_eq!(Label::newest(&kept_label), Some(label()));
}

#[test]
fn version_2_is_read_and_not_taken_for_version_1() {
    let superblock = numbered_superblock();
    let kept_superblock = kept("superblock-numbers-2.bin", &superblock.encode());
    assert_eq!(Superblock::decode(&kept_superblock), Ok(superblock));
    let head = Head { sidecar: 20, ..head() };
    let kept_head = kept("head-sidecar-2.bin", &head.encode().0[..]);
    assert_eq!(Head::decode(&kept_head).map(|(head, _)| head), Some(head));
    let kept_sidecar = kept("sidecar-2.bin", &numbered_sidecar().encode()[..]);
    assert_eq!(Sidecar::newest(&kept_sidecar), Some(numbered_sidecar()));
    // Field that a program of version 1 reads first: it refuses the file.
    assert!(!kept_sidecar.starts_with(b"TMSIDE\0\0"));
}

#[test]
fn table_of_another_number_or_place_is_not_valid() {
    let block = encode_table(8, 2, &table());
    assert_eq!(decode_table(7, 2, &block[..]), None);
    assert_eq!(decode_table(8, 1, &block[..]), None);
}

#[test]
fn a_superblock_says_why_it_is_refused() {
    let good = superblock().encode();
    assert_eq!(Superblock::decode(&[0; 8192]), Err(SuperblockError::None));
    assert_eq!(Superblock::decode(&good[..4096]), Err(SuperblockError::Damaged));
    for at in [9, 60, 4100, 8191] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        assert_eq!(Superblock::decode(&bytes), Err(SuperblockError::Damaged), "byte {at}");
    }
    let refused = |change: fn(&mut Superblock)| {
        let mut superblock = superblock();
        change(&mut superblock);
        Superblock::decode(&superblock.encode()).expect_err("refused").to_string()
    };
    assert!(refused(|s| s.page_bytes = 12_288).contains("page bytes 12288"));
    assert!(refused(|s| s.chunk_bytes = 65_537).contains("chunk bytes 65537"));
    assert!(refused(|s| s.page_chunks = 12_000).contains("page chunks 12000"));
    assert!(refused(|s| s.device_bytes = 1 << 30).contains("chunks 12000"));
    assert!(refused(|s| s.pool_chunk = 5).contains("pool chunk 5"));
}

#[test]
fn newer_superblock_counts_and_a_later_format_is_respected() {
    let (old, mut new) = (superblock(), superblock());
    new.seq = 10;
    let newest =
        |a: &[u8], b: &[u8]| Superblock::newest([a, b]).map(|(found, copy)| (found.seq, copy));
    assert_eq!(newest(&old.encode(), &new.encode()), Ok((10, 1)));
    assert_eq!(newest(&new.encode(), &old.encode()), Ok((10, 0)));
    assert_eq!(newest(&[0; 8192], &old.encode()), Ok((9, 1)));
    let mut damaged = new.encode();
    damaged[100] ^= 1;
    assert_eq!(newest(&damaged, &old.encode()), Ok((9, 1)), "it was being written");
    assert_eq!(newest(&[0; 8192], &damaged), Err(SuperblockError::Damaged));
    let later = later(&new.encode());
    let error = newest(&old.encode(), &later).expect_err("the set was used by a later program");
    assert_eq!(error, SuperblockError::Later { format: 1, reader: 2 });
}

/// The superblock as a later program writes it, which needs a program of version 2.
fn later(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[12] = 2;
    let sum = tilemark_tier::format::payload_sum(&bytes[..4088]);
    bytes[4088..4096].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let write =
        (1_u32..64, 0_u64..1 << 30, any::<u64>()).prop_map(|(sectors, first, sum)| Record {
            kind: Kind::Write,
            disk: 1,
            bytes: sectors * 512,
            offset: first * 512,
            sum,
            place: 0,
            tag: 0,
            sums: None,
        });
    let map = (any::<u16>(), 0_u64..1 << 40, any::<[u32; PAGE_BLOCKS]>()).prop_map(
        |(valid, page, sums)| Record {
            kind: Kind::Map,
            disk: 2,
            bytes: valid.into(),
            offset: page,
            sum: 5,
            place: 6,
            tag: 7,
            sums: Some(Box::new(sums)),
        },
    );
    prop::collection::vec(prop_oneof![write, map], 0..GROUP_RECORDS / 3)
}

proptest! {
    #[test]
    fn a_head_is_read_back_the_same_and_never_with_a_bit_changed(records in records(), seq in 1_u64..1 << 50, at in 0..BLOCK_BYTES) {
        let bytes = records.iter().map(Record::payload_blocks).sum::<u64>() * 4096;
        let head = Head { seq, bytes: u32::try_from(bytes).expect("few"), records, ..head() };
        let (mut block, sum) = head.encode();
        prop_assert_eq!(Head::decode(&block[..]), Some((head, sum)));
        block[at] ^= 0x10;
        prop_assert!(Head::decode(&block[..]).is_none());
    }

    #[test]
    fn bytes_of_anybody_are_nothing(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
        prop_assert!(Superblock::decode(&bytes).is_err());
        prop_assert!(Head::decode(&bytes).is_none());
        prop_assert!(Sidecar::newest(&bytes).is_none());
        prop_assert!(decode_table(1, 0, &bytes).is_none());
    }
}
