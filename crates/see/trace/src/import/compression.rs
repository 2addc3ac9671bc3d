//! Streaming decompression, chosen by the first bytes and never by a file's name.

use std::io::{self, BufReader, Cursor, Read};

use lzma_rust2::XzReader;

/// Number of bytes that identify the compression.
const MAGIC_BYTES: u64 = 6;
/// Magic number of zstd (RFC 8878, 3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Magic number of gzip (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Magic number of xz (The .xz file format 1.2.0, 2.1.1.1).
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Memory limit of an xz stream, in KiB: `xz -9` needs 65 MiB to decompress.
const XZ_MEMORY_KIB_MAX: u32 = 256 << 10;

/// Returns the decompressed bytes of `reader`.
pub(crate) fn unpack<R: Read + Send + 'static>(mut reader: R) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    reader.by_ref().take(MAGIC_BYTES).read_to_end(&mut head)?;
    let is = |magic: &[u8]| head.starts_with(magic);
    let (is_zstd, is_gzip, is_xz) = (is(&ZSTD), is(&GZIP), is(&XZ));
    let whole = Cursor::new(head).chain(reader);
    Ok(if is_zstd {
        Box::new(zstd::Decoder::new(whole)?)
    } else if is_gzip {
        Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
    } else if is_xz {
        let buffered = BufReader::with_capacity(1 << 16, whole);
        Box::new(XzReader::new_mem_limit(buffered, true, XZ_MEMORY_KIB_MAX))
    } else {
        Box::new(whole)
    })
}
