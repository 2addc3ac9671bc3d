//! Encodings of exports: UTF-8, UTF-16 (PowerShell, Excel), Windows-1252.

/// Bytes 0x80 to 0x9f of Windows-1252, where Latin-1 has control characters (WHATWG Encoding Standard, index windows-1252).
const WINDOWS: &str = "\u{20ac}\u{81}\u{201a}\u{192}\u{201e}\u{2026}\u{2020}\u{2021}\u{2c6}\u{2030}\u{160}\u{2039}\u{152}\u{8d}\
\u{17d}\u{8f}\u{90}\u{2018}\u{2019}\u{201c}\u{201d}\u{2022}\u{2013}\u{2014}\u{2dc}\u{2122}\u{161}\u{203a}\u{153}\u{9d}\
\u{17e}\u{178}";

/// Converts UTF-16 to UTF-8, and removes a byte order mark, so that formats see only the text.
pub(super) fn without_mark(bytes: Vec<u8>) -> Vec<u8> {
    let wide = |bytes: &[u8], from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| from([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units).into_bytes()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
        // Without a mark: ASCII letters that alternate with zeros.
        [first, 0, second, 0, ..] if first.is_ascii_graphic() && second.is_ascii_graphic() => {
            wide(&bytes, u16::from_le_bytes)
        }
        _ => bytes,
    }
}

/// Decodes UTF-8, or else Windows-1252.
pub(super) fn decode(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // The last letter may be cut.
        Err(error) if error.error_len().is_none() => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
        }
        Err(_) => {
            let windows: Vec<char> = WINDOWS.chars().collect();
            let letter = |byte: &u8| match byte {
                0x80..=0x9f => windows[usize::from(byte - 0x80)],
                other => char::from(*other),
            };
            bytes.iter().map(letter).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_in_the_encodings_that_exports_have() {
        let read = |bytes: &[u8]| decode(&without_mark(bytes.to_vec()));
        let wide: Vec<u8> = "VM;Größe".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&[&[0xff, 0xfe][..], &wide].concat()), "VM;Größe");
        assert_eq!(read(&wide), "VM;Größe", "without a mark");
        assert_eq!(read(b"\xef\xbb\xbfVM"), "VM");
        assert_eq!(read(b"Gr\xf6\xdfe"), "Größe");
        assert_eq!(read(b"1\x92234 \xf6"), "1\u{2019}234 ö");
        assert_eq!(WINDOWS.chars().count(), 32);
    }
}
