//! Subset of BER (ITU-T X.690) for one request of SNMP version 2c and its answer (RFC 3416, section
//! 3; RFC 3417, section 8). Written by hand, because a crate would add second versions of other
//! dependencies, and no less code to read.

use untrusted::Malformed;

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const NULL: u8 = 0x05;
const OID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const GET: u8 = 0xa0;
const RESPONSE: u8 = 0xa2;
const VERSION_2C: u8 = 1;

/// Value of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Integer of any kind.
    Number(f64),
    /// Text value.
    Text(String),
}

fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut whole = vec![tag];
    let bytes = content.len().to_be_bytes();
    let bytes: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
    match content.len() {
        short @ 0..=127 => whole.push(u8::try_from(short).unwrap_or(0)),
        _ => {
            whole.push(0x80 | u8::try_from(bytes.len()).unwrap_or(0));
            whole.extend(bytes);
        }
    }
    whole.extend_from_slice(content);
    whole
}

fn integer(value: i32) -> Vec<u8> {
    tagged(INTEGER, &value.to_be_bytes())
}

/// Encodes an object identifier: seven bits per byte, the first two numbers combined in one (X.690,
/// 8.19).
fn object(oid: &[u32]) -> Vec<u8> {
    let joined = oid.first().unwrap_or(&0) * 40 + oid.get(1).unwrap_or(&0);
    let mut content = Vec::new();
    for arc in std::iter::once(&joined).chain(oid.iter().skip(2)) {
        let septets = (0..5).rev().map(|at| u8::try_from((arc >> (7 * at)) & 0x7f).unwrap_or(0));
        let septets: Vec<u8> = septets.skip_while(|septet| *septet == 0).collect();
        let last = septets.len().saturating_sub(1);
        content.extend(septets.iter().take(last).map(|septet| septet | 0x80));
        content.push(septets.last().copied().unwrap_or(0));
    }
    tagged(OID, &content)
}

/// Encodes a GetRequest for one object.
pub(super) fn question(community: &str, id: i32, oid: &[u32]) -> Vec<u8> {
    let binding = tagged(SEQUENCE, &[object(oid), tagged(NULL, &[])].concat());
    let bindings = tagged(SEQUENCE, &binding);
    let pdu = tagged(GET, &[integer(id), integer(0), integer(0), bindings].concat());
    let version = tagged(INTEGER, &[VERSION_2C]);
    tagged(SEQUENCE, &[version, tagged(OCTETS, community.as_bytes()), pdu].concat())
}

/// Splits off the next value: its tag, its content, and the rest.
fn next(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        short @ 0..=0x7f => (usize::from(*short), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// Splits off the next value if it has this tag: its content, and the rest.
fn expect(bytes: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    next(bytes).filter(|(tag, ..)| *tag == wanted).map(|(_, content, rest)| (content, rest))
}

fn signed(content: &[u8]) -> Option<i64> {
    let first = *content.first()?;
    let begin = if first & 0x80 == 0 { 0 } else { -1 };
    (content.len() <= 8)
        .then(|| content.iter().fold(begin, |sum, byte| sum << 8 | i64::from(*byte)))
}

/// Parses an unsigned value up to 2^63; a larger value is no reading of watts.
fn unsigned(content: &[u8]) -> Option<i64> {
    let digits = content.iter().skip_while(|byte| **byte == 0);
    (content.len() <= 9).then_some(())?;
    digits.clone().try_fold(0_i64, |sum, byte| sum.checked_mul(256)?.checked_add(i64::from(*byte)))
}

/// Parses an answer: the id of the request, and the value or the reason why there is none. `None`
/// if the datagram is not an answer.
pub(super) fn answer(datagram: &[u8]) -> Option<(i32, Result<Value, Malformed>)> {
    let (message, _) = expect(datagram, SEQUENCE)?;
    let (_, message) = expect(message, INTEGER)?;
    let (_, message) = expect(message, OCTETS)?;
    let (pdu, _) = expect(message, RESPONSE)?;
    let (id, pdu) = expect(pdu, INTEGER)?;
    let (status, pdu) = expect(pdu, INTEGER)?;
    let (_, pdu) = expect(pdu, INTEGER)?;
    let id = i32::try_from(signed(id)?).ok()?;
    let status = signed(status)?;
    if status != 0 {
        return Some((id, Err(format!("error status {status}").into())));
    }
    let (bindings, _) = expect(pdu, SEQUENCE)?;
    let (binding, _) = expect(bindings, SEQUENCE)?;
    let (_, value) = expect(binding, OID)?;
    let (tag, content, _) = next(value)?;
    Some((id, value_of(tag, content)?))
}

/// Parses a value by its tag (RFC 2578, section 7.1), or one of the three forms of a missing value
/// (RFC 3416, section 4.2.1).
fn value_of(tag: u8, content: &[u8]) -> Option<Result<Value, Malformed>> {
    #[expect(clippy::cast_precision_loss, reason = "readings are far below 2^53")]
    let number = |value: i64| Ok(Value::Number(value as f64));
    Some(match tag {
        INTEGER => number(signed(content)?),
        // Counter32, Gauge32, TimeTicks, Counter64: unsigned, with a leading zero if needed.
        0x41..=0x43 | 0x46 => number(unsigned(content)?),
        OCTETS => Ok(Value::Text(String::from_utf8_lossy(content).into_owned())),
        0x80 => Err("no such object".into()),
        0x81 => Err("no such instance".into()),
        0x82 => Err("the end of the data".into()),
        other => Err(format!("a value of the kind {other:#04x}").into()),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Encodes an answer to a request, with this value.
    pub(in super::super) fn reply(question: &[u8], value: &[u8]) -> Vec<u8> {
        let (message, _) = expect(question, SEQUENCE).expect("a message");
        let (version, message) = expect(message, INTEGER).expect("a version");
        let (community, message) = expect(message, OCTETS).expect("a community");
        let (pdu, _) = expect(message, GET).expect("a question");
        let (id, pdu) = expect(pdu, INTEGER).expect("an id");
        let (_, pdu) = expect(pdu, INTEGER).expect("a status");
        let (_, pdu) = expect(pdu, INTEGER).expect("an index");
        let (bindings, _) = expect(pdu, SEQUENCE).expect("bindings");
        let (binding, _) = expect(bindings, SEQUENCE).expect("one");
        let (oid, _) = expect(binding, OID).expect("its object");
        let binding = tagged(SEQUENCE, &[tagged(OID, oid), value.to_vec()].concat());
        let bindings = tagged(SEQUENCE, &binding);
        let answer = [tagged(INTEGER, id), integer(0), integer(0), bindings].concat();
        let pdu = tagged(RESPONSE, &answer);
        let parts = [tagged(INTEGER, version), tagged(OCTETS, community), pdu].concat();
        tagged(SEQUENCE, &parts)
    }

    /// Request for `sysDescr.0` as net-snmp's `snmpget -v2c -c public` sends it, except for the
    /// width of its integers, which BER leaves free.
    #[test]
    fn a_question_is_as_the_standard_writes_it() {
        let oid = [1, 3, 6, 1, 2, 1, 1, 1, 0];
        assert_eq!(object(&oid), [6, 8, 0x2b, 6, 1, 2, 1, 1, 1, 0]);
        assert_eq!(object(&[1, 3, 6, 1, 4, 1, 318]), [6, 7, 0x2b, 6, 1, 4, 1, 0x82, 0x3e]);
        let asked = question("public", 1, &oid);
        assert_eq!(&asked[..13], [&[0x30, 47, 2, 1, 1, 4, 6][..], b"public"].concat());
        assert_eq!(asked.len(), 49);
    }

    #[test]
    fn integers_of_every_kind_are_numbers() {
        let of = |value: &[u8]| answer(&reply(&question("c", 7, &[1, 3, 1]), value));
        let number = |value| Some((7, Ok(Value::Number(value))));
        assert_eq!(of(&[2, 1, 0xff]), number(-1.0));
        assert_eq!(of(&[0x42, 1, 0xff]), number(255.0));
        assert_eq!(of(&[0x42, 5, 0, 0xff, 0xff, 0xff, 0xff]), number(4_294_967_295.0));
        assert_eq!(of(&[0x46, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0]), number(256.0));
        assert!(matches!(of(&[0x40, 4, 127, 0, 0, 1]), Some((7, Err(_)))));
    }

    #[test]
    fn no_bytes_whatever_are_a_panic() {
        let whole = reply(&question("public", 7, &[1, 3, 6, 1]), &[2, 1, 5]);
        for cut in 0..whole.len() {
            let _ = answer(&whole[..cut]);
            let mut wrong = whole.clone();
            wrong[cut] ^= 0xff;
            let _ = answer(&wrong);
        }
    }
}
