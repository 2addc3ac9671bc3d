//! Readers for the shared real traces, for tests only.

use std::fs;
use std::path::PathBuf;

use tilemark_cache::PageId;

/// The folder with traces and `oracle.csv`: `$TILEMARK_SHARED/traces`, or `../shared/traces`
/// beside the workspace. Without it, prints why the test skips.
pub fn folder(test: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("TILEMARK_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let traces = shared.join("traces");
    if traces.join("oracle.csv").is_file() {
        return Some(traces);
    }
    eprintln!("{test}: skipped, no oracle.csv in {} (set TILEMARK_SHARED)", traces.display());
    None
}

fn unpack(folder: &std::path::Path, name: &str) -> Vec<u8> {
    let packed = fs::read(folder.join(name)).expect("the trace can be read");
    zstd::decode_all(&packed[..]).expect("the trace can be unpacked")
}

/// `oltp.lis`: lines of `start_block count 0 request_number`, one page per block.
pub fn oltp(folder: &std::path::Path) -> Vec<PageId> {
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

/// `cloudphysics.vscsi`: 32-byte records, expanded to every page of `page_bytes` they touch.
pub fn vscsi(folder: &std::path::Path, page_bytes: u64) -> Vec<PageId> {
    let mut pages = Vec::new();
    for record in unpack(folder, "cloudphysics.vscsi.zst").chunks_exact(32) {
        let length = u32::from_le_bytes(record[4..8].try_into().expect("4 bytes"));
        let block = u64::from_le_bytes(record[16..24].try_into().expect("8 bytes"));
        let first = block * 512;
        let last = first + u64::from(length) - 1;
        pages.extend((first / page_bytes..=last / page_bytes).map(PageId));
    }
    pages
}
