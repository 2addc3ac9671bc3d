//! Escaping of texts for paths and forms.

/// Escapes a text, so that it cannot end its part of a path or form.
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
