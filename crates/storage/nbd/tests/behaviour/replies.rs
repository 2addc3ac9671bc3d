//! Replies as the specification draws them.

use tilemark_nbd::server::{DATA_HEADER_MAX, Request, Session};
use tilemark_nbd::{Code, Operation};

use crate::feeding::{Cuts, exports, meet, wish};

const COOKIE: u64 = 0x0102_0304_0506_0708;

fn session(structured: bool) -> Session {
    meet(&exports(), wish("vm1", structured), &mut Cuts::whole()).unwrap().0
}

fn written(write: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

#[test]
fn simple_replies_are_sixteen_bytes() {
    let session = session(false);
    let done = written(|out| session.write_done(COOKIE, out));
    assert_eq!(done, b"\x67\x44\x66\x98\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08");
    let failed = written(|out| session.write_error(COOKIE, Code::NoSpace, "words", out));
    assert_eq!(failed, b"\x67\x44\x66\x98\0\0\0\x1c\x01\x02\x03\x04\x05\x06\x07\x08");
    let request = Request { cookie: COOKIE, operation: Operation::Read, offset: 5, length: 9 };
    assert_eq!(written(|out| session.write_data_header(&request, out)), done);
}

#[test]
fn chunks_say_what_they_hold_and_where() {
    let session = session(true);
    let request = Request { cookie: COOKIE, operation: Operation::Read, offset: 5, length: 9 };
    let data = written(|out| session.write_data_header(&request, out));
    let wanted = b"\x66\x8e\x33\xef\0\x01\0\x01\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\x11\
                   \0\0\0\0\0\0\0\x05";
    assert_eq!(data, wanted);
    assert_eq!(data.len(), DATA_HEADER_MAX);
    let hole = written(|out| session.write_hole(COOKIE, 5, 9, false, out));
    let wanted = b"\x66\x8e\x33\xef\0\0\0\x02\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\x0c\
                   \0\0\0\0\0\0\0\x05\0\0\0\x09";
    assert_eq!(hole, wanted);
    let error = written(|out| session.write_error(COOKIE, Code::Io, "why", out));
    let wanted = b"\x66\x8e\x33\xef\0\x01\x80\x01\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\x09\
                   \0\0\0\x05\0\x03why";
    assert_eq!(error, wanted);
}

#[test]
fn long_messages_are_cut_between_letters() {
    let words = "ä".repeat(3000);
    let error = written(|out| session(true).write_error(COOKIE, Code::Io, &words, out));
    assert_eq!(error.len(), 26 + 4096);
    let words = format!("a{words}");
    let error = written(|out| session(true).write_error(COOKIE, Code::Io, &words, out));
    assert_eq!(error.len(), 26 + 4095);
    assert!(std::str::from_utf8(&error[26..]).is_ok());
}

#[test]
#[should_panic(expected = "only reads have data")]
fn data_for_a_write_are_a_mistake_of_the_driver() {
    let operation = Operation::Write { fua: false };
    let request = Request { cookie: 1, operation, offset: 0, length: 1 };
    session(true).write_data_header(&request, &mut Vec::new());
}

#[test]
fn errors_of_linux_have_the_codes_of_the_specification() {
    let cases = [
        (libc_errno::EIO, Code::Io),
        (libc_errno::ENOSPC, Code::NoSpace),
        (libc_errno::EDQUOT, Code::NoSpace),
        (libc_errno::EFBIG, Code::NoSpace),
        (libc_errno::EROFS, Code::NotPermitted),
        (libc_errno::EINVAL, Code::Invalid),
        (libc_errno::ENODEV, Code::Io),
    ];
    for (errno, code) in cases {
        assert_eq!(Code::of_errno(errno), code, "errno {errno}");
        assert_eq!(Code::from_wire(code.to_wire()), code);
    }
    assert_eq!(Code::from_wire(4711), Code::Invalid, "an unexpected one");
}

/// Numbers of `asm-generic/errno.h`.
mod libc_errno {
    pub(super) const EIO: i32 = 5;
    pub(super) const ENODEV: i32 = 19;
    pub(super) const EINVAL: i32 = 22;
    pub(super) const EFBIG: i32 = 27;
    pub(super) const ENOSPC: i32 = 28;
    pub(super) const EROFS: i32 = 30;
    pub(super) const EDQUOT: i32 = 122;
}
