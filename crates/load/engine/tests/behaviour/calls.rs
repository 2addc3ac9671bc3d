//! Calls to a service on loopback: responses, and calls without a response.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use run_store::recorder::InstanceShape;
use run_store::slice::{CallRow, InstanceId, Slice, Unfinished};
use state_machine::{
    Call, CallError, Effects, EndpointId, Event, KindId, Machine, RequestText, Token,
};
use tilemark_engine::client::{Address, Here, Login, Service};
use tilemark_engine::{BackendChoice, EngineInstance, Options, Outcome, Running, start};
use units::Nanos;

use crate::service::{PAGE, gone, send, serve};

/// Users who call again when they are answered, so often in all.
pub struct Callers {
    users: u64,
    calls: u64,
    made: u64,
}

impl Callers {
    fn call(&mut self, now: Nanos, fx: &mut Effects) {
        if self.made == self.calls {
            return;
        }
        self.made += 1;
        let (token, endpoint, kind) = (Token(0), EndpointId(0), KindId(0));
        fx.call(Call {
            token,
            endpoint,
            kind,
            due: now,
            size: 1000,
            draws: state_machine::Draws::default(),
        });
    }
}

impl Machine for Callers {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start => (0..self.users).for_each(|_| self.call(now, fx)),
            Event::Done(..) => self.call(now, fx),
            other => panic!("{other:?}"),
        }
    }
}

pub fn options() -> Options {
    Options { slice: Nanos::from_millis(20), ..Options::default() }
}

/// Users who make so many calls of a service together.
pub fn callers(service: &Arc<Service>, users: u64, calls: u64) -> EngineInstance<Callers> {
    let shape = InstanceShape {
        instance: InstanceId(0),
        disk_vms: Vec::new(),
        kinds: 1,
        actions: 0,
        groups: 0,
    };
    let machine = Callers { users, calls, made: 0 };
    let mut instance = EngineInstance::new(machine, shape, Vec::new());
    instance.services = vec![Arc::clone(service)];
    instance
}

fn begin(service: &Arc<Service>, options: Options, users: u64, calls: u64) -> Running {
    start(vec![callers(service, users, calls)], options).expect("a start")
}

/// Everything that a load of so many calls came to, when all were answered.
pub fn called(
    service: &Arc<Service>,
    options: Options,
    users: u64,
    calls: u64,
) -> (CallRow, Outcome) {
    finish(callers(service, users, calls), options, calls)
}

/// Everything that the calls of an instance came to, when all were answered.
pub fn finish(
    instance: EngineInstance<Callers>,
    options: Options,
    calls: u64,
) -> (CallRow, Outcome) {
    let running = start(vec![instance], options).expect("a start");
    let mut slices = Vec::new();
    let answered =
        |slices: &[Slice]| -> u64 { slices.iter().map(|slice| slice.generator.completed).sum() };
    while answered(&slices) < calls {
        slices.push(running.slices().recv().expect("the run goes on"));
    }
    let (outcome, rest) = running.finish().expect("an outcome");
    slices.extend(rest);
    assert_eq!((outcome.submitted, outcome.completed), (calls, calls));
    let mut rows = slices.into_iter().flat_map(|slice| slice.calls);
    let mut all = rows.next().expect("calls");
    rows.for_each(|row| all.merge(&row));
    (all, outcome)
}

/// So many answered well, with that many bytes in all, and no failure.
pub fn is_good(row: &CallRow, count: u64, bytes: u64) {
    let found = (row.service.count(), row.bytes.get(), row.errors);
    assert_eq!(found, (count, bytes, [0; 5]));
}

/// Ten calls that all fail for one reason.
pub fn all_fail(row: &CallRow, error: CallError) {
    let mut errors = [0; 5];
    errors[error as usize] = 10;
    assert_eq!((row.service.count(), row.errors), (0, errors));
}

fn failing(answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static) -> CallRow {
    called(&serve(answer).service, options(), 2, 10).0
}

#[test]
fn each_user_has_one_connection_by_ring_and_by_threads() {
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let server = serve(|stream| send(stream, PAGE));
        let (row, outcome) = called(&server.service, Options { backend, ..options() }, 4, 2000);
        is_good(&row, 2000, 10_000);
        assert!(outcome.backend == "threads" || backend == BackendChoice::Auto);
        let connections = server.connections.load(Ordering::Relaxed);
        assert!((1..=4).contains(&connections), "{connections} by {}", outcome.backend);
    }
}

#[test]
fn an_answer_in_chunks_is_counted_without_what_frames_it() {
    let server = serve(|stream| {
        send(stream, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
            && send(stream, b"lo\r\n1\r\n!\r\n0\r\n\r\n")
    });
    let (row, _) = called(&server.service, options(), 2, 50);
    is_good(&row, 50, 300);
}

#[test]
fn slow_answer_is_unfinished_at_slice_end_and_timed_in_full() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let server = serve(move |stream| {
        let _ = held.lock().expect("one connection").recv();
        send(stream, PAGE)
    });
    let running = begin(&server.service, options(), 1, 1);
    let age = loop {
        let slice = running.slices().recv().expect("the run goes on");
        assert_eq!((slice.generator.submitted, slice.generator.completed).1, 0);
        if let Some(open) = slice.open.first() {
            assert_eq!((open.what, slice.generator.in_flight), (Unfinished::Call(0), 1));
            break open.ages.buckets().next().expect("an age").0;
        }
    };
    assert!(age >= Nanos::from_millis(10), "{age}");
    release.send(()).expect("the service waits");
    let row = loop {
        let slice = running.slices().recv().expect("the run goes on");
        if let Some(row) = slice.calls.first() {
            break row.clone();
        }
    };
    // Values of histograms have two digits.
    assert!(
        row.service.max().expect("a call").0 * 100 >= age.0 * 98,
        "{:?}, open at {age}",
        row.service
    );
}

#[test]
fn a_connection_that_the_service_closed_meanwhile_costs_no_call() {
    let server = serve(|stream| {
        send(stream, PAGE);
        false
    });
    let (row, _) = called(&server.service, options(), 2, 100);
    is_good(&row, 100, 500);
    assert!(server.connections.load(Ordering::Relaxed) >= 50);
}

#[test]
fn who_does_not_listen_refuses() {
    let (row, _) = called(&gone(), options(), 2, 10);
    all_fail(&row, CallError::Refused);
}

#[test]
fn connection_that_ends_in_a_body_fails_the_call() {
    let row = failing(|stream| {
        send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello");
        false
    });
    all_fail(&row, CallError::Closed);
}

#[test]
fn bad_status_fails_the_call_and_keeps_the_connection() {
    let server =
        serve(|stream| send(stream, b"HTTP/1.1 503 Full\r\nContent-Length: 4\r\n\r\nbusy"));
    let (row, outcome) = called(&server.service, options(), 2, 10);
    all_fail(&row, CallError::Status);
    let refused: Vec<_> = outcome.warnings.iter().filter(|own| own.id == "call-refused").collect();
    assert!(matches!(refused[..], [own] if own.text.ends_with(": status 503")), "{refused:?}");
    assert!(server.connections.load(Ordering::Relaxed) <= 2);
}

#[test]
fn who_never_answers_is_given_up_at_the_deadline() {
    let (keep, kept) = mpsc::channel::<()>();
    let kept = Mutex::new(kept);
    let server = serve(move |_| {
        let _ = kept.lock().map(|kept| kept.recv());
        false
    });
    let call_timeout = Nanos::from_millis(30);
    let (row, _) = called(&server.service, Options { call_timeout, ..options() }, 2, 10);
    all_fail(&row, CallError::TimedOut);
    drop(keep);
}

#[test]
fn garbage_and_answers_without_end_are_no_answers() {
    let (row, outcome) =
        called(&serve(|stream| send(stream, b"220 mail ready\r\n")).service, options(), 2, 10);
    all_fail(&row, CallError::Protocol);
    // Without this warning nothing tells the reader that another server has the port.
    let told: Vec<_> = outcome.warnings.iter().filter(|own| own.id == "call-invalid").collect();
    let is_told = |text: &str| text.contains("/page: it is no valid http, or more than");
    assert!(matches!(told[..], [own] if is_told(&own.text)), "{told:?}");
    let endless = |stream: &mut TcpStream| {
        send(stream, b"HTTP/1.1 200 OK\r\n\r\n");
        while send(stream, &[b'x'; 4096]) {}
        false
    };
    all_fail(&failing(endless), CallError::Protocol);
    let endless_head = |stream: &mut TcpStream| {
        send(stream, b"HTTP/1.1 200 OK\r\n");
        while send(stream, b"A: b\r\n") {}
        false
    };
    all_fail(&failing(endless_head), CallError::Protocol);
}

#[test]
fn calls_beyond_the_connections_wait_and_count_as_queued() {
    let (open, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (now, seen) = (Arc::clone(&open), Arc::clone(&most));
    let server = serve(move |stream| {
        seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        now.fetch_sub(1, Ordering::SeqCst);
        send(stream, PAGE)
    });
    let running = begin(&server.service, Options { connections: 2, ..options() }, 10, 200);
    let (mut completed, mut queued) = (0, 0);
    while completed < 200 {
        let slice = running.slices().recv().expect("the run goes on");
        completed += slice.generator.completed;
        queued += slice.generator.queued;
    }
    running.join().expect("an outcome");
    assert!(server.connections.load(Ordering::Relaxed) <= 2);
    assert!(queued >= 8 && most.load(Ordering::SeqCst) <= 2, "{queued} queued");
}

#[test]
fn calls_open_at_the_stop_are_given_up_as_unfinished() {
    let is_asked = Arc::new(AtomicBool::new(false));
    let (asked, (keep, kept)) = (Arc::clone(&is_asked), mpsc::channel::<()>());
    let kept = Mutex::new(kept);
    let server = serve(move |_| {
        asked.store(true, Ordering::SeqCst);
        let _ = kept.lock().map(|kept| kept.recv());
        false
    });
    let running = begin(&server.service, options(), 3, 3);
    while !is_asked.load(Ordering::SeqCst) {
        running.slices().recv().expect("the run goes on");
    }
    let (outcome, slices) = running.finish().expect("it ends before the calls' deadline");
    assert_eq!((outcome.submitted, outcome.completed), (0, 0));
    let last = slices.last().expect("the last slice");
    assert_eq!((last.generator.in_flight, last.open[0].ages.count()), (3, 3));
    drop(keep);
}

/// A part of this process that answers every line alike, or never.
#[derive(Debug)]
struct Within(Option<&'static [u8]>);

impl Here for Within {
    fn connect(&self) -> std::io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let answer = self.0;
        std::thread::spawn(move || {
            let mut lines = BufReader::new(&ours);
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                assert_eq!(line, "storm-boot\n");
                line.clear();
                if let Some(answer) = answer {
                    let _ = (&mut &ours).write_all(answer);
                }
            }
        });
        Ok(theirs)
    }
}

#[test]
fn a_part_of_this_process_is_called_as_a_service_is() {
    let service = |answer| {
        let here: Arc<dyn Here> = Arc::new(Within(answer));
        Arc::new(Service::here("storm-boot", Nanos::from_millis(60), here))
    };
    let calls = |answer| called(&service(answer), options(), 2, 10).0;
    is_good(&calls(Some(b"done\n")), 10, 50);
    all_fail(&calls(Some(b"failed\n")), CallError::Status);
    all_fail(&calls(Some(b"220 smtp\r\n")), CallError::Protocol);
    // Its own deadline, not the one of all others (30 s).
    all_fail(&calls(None), CallError::TimedOut);
}

#[test]
fn call_asks_what_its_kind_says() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let text = format!("http://{}/shop", listener.local_addr().expect("an address"));
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut answers = stream.try_clone().expect("a second handle");
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if line.is_empty() {
                    send(&mut answers, b"HTTP/1.1 204 No Content\r\n\r\n");
                } else if line.starts_with("GET") {
                    tell.send(line).expect("the test listens");
                }
            }
        }
    });
    let address = Address::parse(&text, "http").expect("an address");
    let service =
        Service::reach(address, Login::default(), Duration::from_secs(30)).expect("it listens");
    let mut instance = callers(&Arc::new(service), 1, 3);
    instance.asks = vec![Some(RequestText::parse("items?page=2").expect("a text"))];
    let running = start(vec![instance], options()).expect("a start");
    for _ in 0..3 {
        assert_eq!(told.recv().expect("a call"), "GET /shop/items?page=2 HTTP/1.1");
    }
    running.finish().expect("an outcome");
}
