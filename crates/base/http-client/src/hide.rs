//! Removal of secrets from a service's answers. An error may echo a request's header, whole or in
//! part, as sent or encoded.
//!
//! Invariant: a JSON document remains valid JSON.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

/// Text that replaces a secret.
const HIDDEN: &[u8] = b"***";
/// Minimum length of a secret part that is hidden. Shorter parts would occur in ordinary words.
const PART_MIN: usize = 4;
/// Minimum number of base64 characters of a secret that are hidden: six bytes, which no ordinary
/// text contains by chance.
const BASE64_MIN: usize = 8;

/// Texts that would reveal a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Forms {
    plain: Vec<Vec<u8>>,
    /// Base64 forms, for any position of the secret in a longer text.
    base64: Vec<Vec<u8>>,
}

impl Forms {
    /// Returns the forms of one secret: the whole, and the secret part of `NAME:PASSWORD`, of
    /// `ID=VALUE` and of `Bearer TOKEN`.
    pub(crate) fn of(secret: &str) -> Self {
        let behind = [
            Some(secret),
            secret.split_once(':').map(|(_, own)| own),
            secret.trim_end_matches('=').rsplit_once('=').map(|(_, own)| own),
            secret.rsplit_once(' ').map(|(_, own)| own),
        ];
        let parts = behind.into_iter().flatten().filter(|part| part.len() >= PART_MIN);
        let mut forms = Self::default();
        for part in parts.map(str::as_bytes) {
            forms.plain.push(part.to_vec());
            for before in 0..3 {
                forms.base64.extend(inside_base64(part, before));
            }
        }
        forms
    }

    /// Returns the text without the secrets.
    pub(crate) fn hide(&self, text: &[u8]) -> Vec<u8> {
        let units = units(text);
        let decoded: Vec<u8> = units.iter().map(|unit| unit.byte).collect();
        let mut spans = Vec::new();
        for form in &self.plain {
            spans.extend(places(text, form));
            let of_units = places(&decoded, form);
            spans.extend(of_units.map(|(from, to)| (units[from].from, units[to - 1].to)));
        }
        for form in &self.base64 {
            let of_units = places(&decoded, form);
            spans.extend(of_units.map(|(from, to)| (units[from].from, units[to - 1].to)));
        }
        without(text, spans)
    }

    /// Returns the body of an answer without the secrets. In JSON only values are searched.
    /// Otherwise a password that equals a key would change the key, and the value could not be
    /// found.
    pub(crate) fn hide_in_body(&self, body: Vec<u8>) -> Vec<u8> {
        match serde_json::from_slice::<Value>(&body) {
            Ok(mut value) => {
                self.hide_in(&mut value);
                value.to_string().into_bytes()
            }
            Err(_) => self.hide(&body),
        }
    }

    fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide_in_text(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.hide_in(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.hide_in(value)),
            _ => {}
        }
    }

    /// Applies [`Forms::hide`] to text.
    pub(crate) fn hide_in_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.hide(text.as_bytes())).into_owned()
    }
}

/// Returns the base64 characters of `part` when `before` other bytes (0 to 2) precede it: only the
/// characters whose six bits all belong to `part`. In both alphabets.
fn inside_base64(part: &[u8], before: usize) -> Vec<Vec<u8>> {
    let padded = [&vec![0; before][..], part].concat();
    let (from, to) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    let of = |text: String| text.into_bytes()[from..to].to_vec();
    let both = [of(STANDARD_NO_PAD.encode(&padded)), of(URL_SAFE_NO_PAD.encode(&padded))];
    both.into_iter().filter(|form| form.len() >= BASE64_MIN).collect()
}

/// Decoded byte, with its position in the text.
struct Unit {
    byte: u8,
    from: usize,
    to: usize,
}

/// Decodes a text of URLs, JSON and HTML: `%3D`, `\u003d`, `\/`, `&amp;`.
fn units(text: &[u8]) -> Vec<Unit> {
    let (mut units, mut from) = (Vec::with_capacity(text.len()), 0);
    while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
        let (byte, length) = escape(rest).unwrap_or((rest[0], 1));
        units.push(Unit { byte, from, to: from + length });
        from += length;
    }
    units
}

/// Decodes an escape sequence at the beginning of a text. Returns the byte and the length of the
/// sequence.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    const ENTITIES: [(&[u8], u8); 7] = [
        (b"&amp;", b'&'),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
        (b"&quot;", b'"'),
        (b"&apos;", b'\''),
        (b"&#39;", b'\''),
        (b"&#x27;", b'\''),
    ];
    let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    match text {
        [b'%', high, low, ..] => Some((hex(&[*high, *low])?, 3)),
        [b'\\', b'u', b'0', b'0', high, low, ..] => Some((hex(&[*high, *low])?, 6)),
        [b'\\', own @ (b'/' | b'"' | b'\\'), ..] => Some((*own, 2)),
        [b'&', ..] => ENTITIES
            .iter()
            .find(|(name, _)| text.starts_with(name))
            .map(|(name, byte)| (*byte, name.len())),
        _ => None,
    }
}

/// Iterates over the start and end positions at which a form occurs in a text.
fn places<'t>(text: &'t [u8], form: &'t [u8]) -> impl Iterator<Item = (usize, usize)> + 't {
    let found = text.windows(form.len()).enumerate().filter(move |(_, own)| *own == form);
    found.map(|(from, own)| (from, from + own.len()))
}

fn without(text: &[u8], mut spans: Vec<(usize, usize)>) -> Vec<u8> {
    if spans.is_empty() {
        return text.to_vec();
    }
    spans.sort_unstable();
    let (mut left, mut end) = (Vec::with_capacity(text.len()), 0);
    for (from, to) in spans {
        if from >= end {
            left.extend_from_slice(&text[end..from]);
            left.extend_from_slice(HIDDEN);
        }
        end = end.max(to);
    }
    left.extend_from_slice(&text[end..]);
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    const TOKEN: &str = "root@pam!tm=deadbeef-1111-2222-3333-s3cr3ttok3n0";

    fn hidden(secret: &str, text: &str) -> String {
        Forms::of(secret).hide_in_text(text)
    }

    #[test]
    fn token_is_hidden_however_it_is_written() {
        let encoded = "root%40pam!tm%3ddeadbeef%2D1111-2222-3333-s3cr3ttok3n0";
        let longer = STANDARD.encode(format!("x: PVEAPIToken={TOKEN}"));
        for text in [
            format!("no PVEAPIToken={TOKEN} here"),
            format!("no {encoded}"),
            "only deadbeef-1111-2222-3333-s3cr3ttok3n0".to_owned(),
            TOKEN.replace('=', "\\u003d"),
            STANDARD.encode(TOKEN),
            URL_SAFE_NO_PAD.encode(format!("a{TOKEN}")),
            longer.replace('=', "%3D"),
        ] {
            let left = hidden(TOKEN, &text);
            assert!(left.contains("***"), "{text}: {left}");
            for part in ["s3cr3t", "deadbeef", "czNjcjN0", "M2NyM3"] {
                assert!(!left.contains(part), "{text}: {left}");
            }
        }
        assert_eq!(hidden(TOKEN, "root@pam!tm has no right"), "root@pam!tm has no right");
    }

    #[test]
    fn password_is_hidden_and_its_name_is_not() {
        let sent = STANDARD.encode("admin:p\"ss/w&rd");
        let text = format!("admin: Basic {sent}, p\"ss/w&rd, p\\\"ss\\/w&amp;rd, p%22ss%2fw%26rd");
        assert_eq!(hidden("admin:p\"ss/w&rd", &text), "admin: Basic ***, ***, ***, ***");
        assert_eq!(hidden("a:b", "a:b, a and b"), "a:b, a and b", "too short to be one");
    }

    #[test]
    fn json_stays_json_with_its_names() {
        let body = br#"{"power":{"text":"the power of calvin","watts":12.5}}"#.to_vec();
        let left = Forms::of("root:power").hide_in_body(body);
        let text = String::from_utf8(left).expect("text");
        assert_eq!(text, r#"{"power":{"text":"the *** of calvin","watts":12.5}}"#);
    }
}
