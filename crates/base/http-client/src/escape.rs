//! Texts as parts of paths and forms.

/// A part of a path or of a form, so that it is nothing else than a part.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                safe.push(char::from(byte));
            }
            _ => safe += &format!("%{byte:02X}"),
        }
    }
    safe
}
