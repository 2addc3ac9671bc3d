//! Messages of RPC (RFC 5531) and their record marks.

use crate::error::Trouble;
use crate::xdr::{Reader, Writer};

/// Procedure of an RPC program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Procedure {
    pub program: u32,
    pub version: u32,
    pub number: u32,
}

/// Maximum size of a record that is accepted, in bytes: the largest block and its envelope.
pub(crate) const RECORD_MAX: usize = (1 << 20) + (64 << 10);
/// Mark of the last fragment of a record (RFC 5531, 11).
const LAST: u32 = 1 << 31;

/// Decodes a record mark: the length of the fragment, and true if it is the last of its record.
pub(crate) fn fragment(mark: [u8; 4]) -> (usize, bool) {
    let mark = u32::from_be_bytes(mark);
    (usize::try_from(mark & !LAST).unwrap_or(usize::MAX), mark & LAST != 0)
}

/// Returns the credentials of this process (`AUTH_SYS`, RFC 5531, appendix A): the user who runs
/// it.
pub(crate) fn credentials() -> Vec<u8> {
    let host = rustix::system::uname();
    let host = host.nodename().to_bytes();
    let host = &host[..host.len().min(255)];
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    // The server takes at most 16 groups.
    let groups = rustix::process::getgroups().unwrap_or_default();
    let groups: Vec<u32> = groups.iter().take(16).map(|group| group.as_raw()).collect();
    let count = u32::try_from(groups.len()).unwrap_or(0);
    let body = Writer::default().u32(0).opaque(host).u32(user).u32(group).u32(count);
    groups.iter().fold(body, |body, group| body.u32(*group)).into_bytes()
}

/// Encodes a call as one record.
pub(crate) fn record(id: u32, procedure: Procedure, credentials: &[u8], body: &[u8]) -> Vec<u8> {
    let Procedure { program, version, number } = procedure;
    let call = Writer::default().u32(id).u32(0).u32(2).u32(program).u32(version).u32(number);
    let call = call.u32(1).opaque(credentials).u32(0).u32(0).into_bytes();
    let length = u32::try_from(call.len() + body.len()).unwrap_or(0);
    let mut record = Vec::with_capacity(4 + call.len() + body.len());
    record.extend((length | LAST).to_be_bytes());
    record.extend(call);
    record.extend(body);
    record
}

/// Returns the number of the call that a record answers.
pub(crate) fn answered(record: &[u8]) -> Result<u32, Trouble> {
    let mut read = Reader(record);
    let (id, is_answer) = (read.u32()?, read.u32()? == 1);
    if is_answer { Ok(id) } else { Err(Trouble::Malformed) }
}

/// Returns a reader for the result in a record, after the envelope.
pub(crate) fn result(record: &[u8]) -> Result<Reader<'_>, Trouble> {
    let mut read = Reader(record);
    read.bytes(8)?;
    if read.bool()? {
        return Err(Trouble::Rejected(match (read.u32()?, read.u32()?) {
            (1, 5) => "it requires stronger authentication (AUTH_TOOWEAK)",
            (1, _) => "it does not accept the user's credentials",
            _ => "it speaks another version of RPC",
        }));
    }
    let _flavour = read.u32()?;
    read.opaque(400)?;
    match read.u32()? {
        0 => Ok(read),
        1 => Err(Trouble::Rejected("it does not have the program")),
        2 => Err(Trouble::Rejected("it does not have version 3 of the program")),
        3 => Err(Trouble::Rejected("it does not have the procedure")),
        4 => Err(Trouble::Rejected("it could not read the call")),
        _ => Err(Trouble::Rejected("it failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_call_is_one_record_with_its_length() {
        let procedure = Procedure { program: 100_003, version: 3, number: 1 };
        let record = record(7, procedure, &[], b"body");
        let (length, is_last) = fragment(record[..4].try_into().expect("four bytes"));
        assert!(is_last && length == record.len() - 4);
        assert!(record.ends_with(b"body"));
    }

    #[test]
    fn refusals_are_told_apart() {
        let words = |words: &[u32]| {
            let written = words.iter().fold(Writer::default(), |all, own| all.u32(*own));
            written.into_bytes()
        };
        let accepted = words(&[1, 1, 0, 0, 0, 0, 9]);
        assert_eq!(result(&accepted).and_then(|mut read| read.u32()), Ok(9));
        for refused in [&[1, 1, 1, 1, 5][..], &[1, 1, 0, 0, 0, 2], &[1, 1, 1, 0, 2]] {
            assert!(matches!(result(&words(refused)), Err(Trouble::Rejected(_))), "{refused:?}");
        }
        assert!(matches!(answered(&words(&[1, 0])), Err(Trouble::Malformed)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error(bytes: Vec<u8>) {
            let _ = (answered(&bytes), result(&bytes));
        }
    }
}
