//! What a cache device and a sidecar may hold: nothing that can be read stops the reader, and what is
//! read is written back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilemark_tier::format::{
    BLOCK_BYTES, Head, Label, Sidecar, Superblock, decode_table, payload_sum,
};

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    bytes.resize(2 * BLOCK_BYTES, 0);
    // Most blocks have the wrong sum and are nothing; one with the right sum is worth more.
    for block in bytes.chunks_mut(BLOCK_BYTES) {
        let sum = payload_sum(&block[..4088]);
        block[4088..].copy_from_slice(&sum.to_le_bytes());
    }
    let directory: [u8; 8] = bytes[2 * BLOCK_BYTES - 8..].try_into().expect("eight");
    bytes[152..160].copy_from_slice(&directory);
    let sum = payload_sum(&bytes[..4088]);
    bytes[4088..4096].copy_from_slice(&sum.to_le_bytes());
    if let Ok(superblock) = Superblock::decode(&bytes) {
        assert_eq!(Superblock::decode(&superblock.encode()).as_ref(), Ok(&superblock));
    }
    if let Some((head, _)) = Head::decode(&bytes) {
        assert_eq!(Head::decode(&head.encode().0[..]).map(|(head, _)| head), Some(head));
    }
    if let Some(sidecar) = Sidecar::newest(&bytes) {
        assert_eq!(Sidecar::newest(&sidecar.encode()[..]), Some(sidecar));
    }
    if let Some(label) = Label::newest(&bytes) {
        assert_eq!(Label::newest(&label.encode()[..]), Some(label));
    }
    let _ = decode_table(1, 0, &bytes);
});
