//! Readers for the shared real traces, for tests only.

use std::fs;
use std::path::{Path, PathBuf};

use state_machine::Operation;
use tilemark_cache::PageId;

/// The folder with traces and `oracle.csv`. Without it, prints why the test skips.
pub fn folder(test: &str) -> Option<PathBuf> {
    Some(crate::shared::file("oracle.csv", test)?.parent()?.to_owned())
}

fn unpack(folder: &Path, name: &str) -> Vec<u8> {
    let packed = fs::read(folder.join(name)).expect("the trace can be read");
    zstd::decode_all(&packed[..]).expect("the trace can be unpacked")
}

/// `oltp.lis`: lines of `start_block count 0 request_number`, one page per block.
pub fn oltp(folder: &Path) -> Vec<PageId> {
    let text = String::from_utf8(unpack(folder, "oltp.lis.zst")).expect("text");
    let mut pages = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace().map(|field| field.parse::<u64>());
        let mut next = || fields.next().expect("four fields").expect("a number");
        let (start, count) = (next(), next());
        pages.extend((start..start + count).map(PageId));
    }
    pages
}

/// `cloudphysics.vscsi`, expanded to every page of `page_bytes` that a request touches.
pub fn vscsi(folder: &Path, page_bytes: u64) -> Vec<PageId> {
    let mut pages = Vec::new();
    for (_, first, length) in requests(folder) {
        let last = first + u64::from(length) - 1;
        pages.extend((first / page_bytes..=last / page_bytes).map(PageId));
    }
    pages
}

/// `cloudphysics.vscsi`: operation, first byte and bytes of its 32-byte records.
pub fn requests(folder: &Path) -> Vec<(Operation, u64, u32)> {
    let raw = unpack(folder, "cloudphysics.vscsi.zst");
    let request = |record: &[u8]| {
        let length = u32::from_le_bytes(record[4..8].try_into().expect("4 bytes"));
        let command = u16::from_le_bytes(record[12..14].try_into().expect("2 bytes"));
        let block = u64::from_le_bytes(record[16..24].try_into().expect("8 bytes"));
        let operation = if command == 0x2a { Operation::Write } else { Operation::Read };
        (operation, block * 512, length)
    };
    raw.chunks_exact(32).map(request).collect()
}
