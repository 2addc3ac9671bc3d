//! Requests, messages, files and clocks.

use std::io::Write;
use std::time::Duration;

use tilemark_cluster::{ClusterError, Event, MESSAGE_MAX, Member, RemoteError, monotonic};
use units::{Bytes, Nanos};

use crate::{DEADLINE, LEASE, hub, joined, name, wait_for};

#[test]
fn a_question_gets_its_answer_or_the_reason_why_not() {
    let (hub, _events) = hub(&["a", "b"]);
    let _a = joined(&hub, "a");
    let ask = |member: &str, topic: &str| hub.ask(&name(member), topic, b"x", DEADLINE);
    assert_eq!(ask("a", "hello").expect("an answer"), b"hello: x");
    let error = ask("a", "no").expect_err("refused");
    assert_eq!(error.to_string(), "a: not today");
    let ClusterError::Refused { error, .. } = error else { panic!("{error}") };
    assert_eq!(error.hint.as_deref(), Some("ask tomorrow"));
    let short = Duration::from_millis(50);
    let error = hub.ask(&name("a"), "slow", b"", short).expect_err("too slow").to_string();
    assert_eq!(error, "a did not answer `slow` within 0.05 s");
    let error = hub.ask(&name("b"), "hello", b"", short).expect_err("not there");
    assert!(matches!(error, ClusterError::Gone { .. }), "{error}");
    let large = vec![0; usize::try_from(MESSAGE_MAX.get()).expect("fits") + 1];
    let error = hub.ask(&name("a"), "hello", &large, DEADLINE).expect_err("too large");
    assert!(matches!(error, ClusterError::TooLarge { .. }), "{error}");
}

#[test]
fn a_long_answer_holds_up_no_other() {
    let (hub, _events) = hub(&["a"]);
    // The long request ends after more others were answered than may be in progress at once.
    let (quick, answered) = std::sync::mpsc::channel::<()>();
    let (begun, slow_began) = std::sync::mpsc::channel::<()>();
    let answered = std::sync::Mutex::new(answered);
    let answer = move |asked: tilemark_cluster::Asked| {
        if asked.topic == "slow" {
            begun.send(()).expect("the test waits");
            let answered = answered.lock().expect("one at a time");
            answered
                .recv_timeout(DEADLINE)
                .map_err(|_| RemoteError::new("nobody else was answered"))?;
        }
        Ok(Vec::new())
    };
    let invitation = hub.invitation(&name("a")).expect("it is a member");
    let _a = Member::join(&invitation, LEASE, DEADLINE, Box::new(answer)).expect("it joins");
    assert_eq!(hub.wait_for(&[name("a")], DEADLINE), []);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| hub.ask(&name("a"), "slow", b"", DEADLINE));
        slow_began.recv_timeout(DEADLINE).expect("it is asked");
        for _ in 0..50 {
            hub.ask(&name("a"), "quick", b"", DEADLINE).expect("an answer");
        }
        quick.send(()).expect("it waits");
        slow.join().expect("no panic").expect("an answer");
    });
}

#[test]
fn what_is_sent_arrives_in_order_and_what_is_lost_is_counted() {
    let (hub, events) = hub(&["a"]);
    let a = joined(&hub, "a");
    // More messages than fit while none is read.
    const ALL: u32 = 6000;
    for number in 0..ALL {
        a.send(&number.to_le_bytes()).expect("it is handed over");
    }
    hub.ask(&name("a"), "done", b"", DEADLINE).expect("an answer");
    let (mut arrived, mut lost, mut last) = (0_u64, 0_u64, None);
    let mut number_of = |event: Event| {
        let Event::Sent { bytes, missed, .. } = event else { return };
        let number = u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
        assert!(last.is_none_or(|last| last < number), "{number} after {last:?}");
        last = Some(number);
        arrived += 1;
        lost += missed;
        assert_eq!(arrived + lost, u64::from(number) + 1);
    };
    while let Ok(event) = events.recv_timeout(Duration::from_secs(1)) {
        number_of(event);
    }
    a.send(&ALL.to_le_bytes()).expect("it is handed over");
    number_of(wait_for(&events, |event| matches!(event, Event::Sent { .. })));
    assert_eq!(arrived + lost, u64::from(ALL) + 1);
    assert!(arrived > 1000, "{arrived} arrived");
    drop(a);
    drop(hub);
}

#[test]
fn what_is_fetched_is_whole_or_an_error() {
    let (hub, _events) = hub(&["a"]);
    let a = joined(&hub, "a");
    let whole: Vec<u8> = (0..9_500_000_u32).flat_map(|i| (i * 7).to_le_bytes()).collect();
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&whole).expect("written");
    a.offer("series", file.reopen().expect("opens")).expect("read through");
    a.offer("empty", tempfile::tempfile().expect("a file")).expect("read through");
    let fetch = |what: &str, max: u64| hub.fetch(&name("a"), what, Bytes::new(max), DEADLINE);
    assert!(fetch("series", 1 << 30).expect("it is there") == whole);
    assert!(fetch("empty", 0).expect("it is there").is_empty());
    assert!(matches!(fetch("series", 1000), Err(ClusterError::TooLarge { .. })));
    let error = fetch("other", 1000).expect_err("nothing").to_string();
    assert_eq!(error, "a: there are no data called \"other\"");
    // The file is changed afterwards.
    file.as_file_mut().set_len(100).expect("cut");
    let error = fetch("series", 1 << 30).expect_err("cut");
    assert!(matches!(error, ClusterError::Refused { .. }), "{error}");
    file.as_file_mut().set_len(whole.len() as u64).expect("longer again");
    let error = fetch("series", 1 << 30).expect_err("changed");
    assert!(matches!(error, ClusterError::Damaged { .. }), "{error}");
}

#[test]
fn clock_of_member_in_same_process_has_no_offset() {
    let (hub, _events) = hub(&["a"]);
    let _a = joined(&hub, "a");
    let found = hub.clock(&name("a"), 20).expect("answers");
    assert!(found.ahead_ns.unsigned_abs() <= u128::from(found.uncertainty().0), "{found:?}");
    let now = monotonic();
    let theirs = found.theirs(now);
    assert!(theirs.0.abs_diff(now.0) <= found.uncertainty().0);
    assert!(found.round_trip > Nanos::ZERO);
}
