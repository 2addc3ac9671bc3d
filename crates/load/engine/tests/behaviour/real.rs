//! The worker over real files.

use tilemark_engine::fake::{self, Fake};
use tilemark_engine::{BackendChoice, EngineError, Options, Running, start, tape};
use units::Nanos;

use crate::disks;
use crate::loads::{BLOCK, Kind, Load, on_file};

const SIZE: u64 = 8 << 20;

fn load(requests: u64) -> Load {
    let mut load = Load::new(Kind::Closed { users: 16, requests }, SIZE);
    load.write_share = 0.5;
    load.flush_every = 64;
    load
}

/// Returns true if io_uring may be used here; prints a note if not.
fn has_ring() -> bool {
    let options = Options { backend: BackendChoice::Uring, ..Options::default() };
    match start(vec![on_file(load(0))], options).and_then(Running::join) {
        Ok(_) => true,
        Err(error @ EngineError::SetUp { .. }) => {
            eprintln!("skipped: {error}: {}", std::error::Error::source(&error).expect("a cause"));
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs until all requests are answered: reads slices, so it waits on events only.
fn run(choice: BackendChoice, workers: usize, requests: u64) -> tilemark_engine::Outcome {
    let slice = Nanos::from_millis(10);
    let options = Options { workers, backend: choice, depth: 32, slice, ..Options::default() };
    let instances = (0..workers).map(|_| on_file(load(requests))).collect();
    let running = start(instances, options).expect("a start");
    let (mut answered, mut bytes) = (0, 0);
    while answered < requests * workers as u64 {
        let slice = running.slices().recv().expect("the run goes on");
        answered += slice.generator.completed;
        bytes += slice.io.iter().map(|row| row.bytes.get()).sum::<u64>();
        assert!(slice.generator.worker_cpu.len() >= workers);
    }
    let outcome = running.join().expect("an outcome");
    assert_eq!(outcome.submitted, requests * workers as u64);
    assert_eq!(outcome.completed, outcome.submitted);
    assert_eq!(outcome.errors, []);
    let flushes = requests / 64 * workers as u64;
    assert_eq!(bytes, (outcome.completed - flushes) * u64::from(BLOCK));
    outcome
}

#[test]
fn ring_and_threads_answer_the_same_requests() {
    let threads = run(BackendChoice::Threads, 1, 2_000);
    assert_eq!(threads.backend, "threads");
    if has_ring() {
        let ring = run(BackendChoice::Uring, 1, 2_000);
        assert_eq!(ring.backend, "io_uring");
        assert_eq!((ring.submitted, ring.completed), (threads.submitted, threads.completed));
    }
}

/// A variable once left in the product chose the ring's set-up and panicked on nonsense.
#[test]
fn no_variable_of_the_environment_chooses_how_a_ring_is_set_up() {
    let mut again = std::process::Command::new(std::env::current_exe().expect("this test"));
    again.args(["--exact", "real::ring_and_threads_answer_the_same_requests"]);
    let ended = again.env("TM_SETUP", "nonsense").output().expect("started");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[test]
fn several_workers_share_the_instances_and_merge_their_slices() {
    run(BackendChoice::Auto, 3, 500);
}

#[test]
fn what_was_written_is_read_back_and_verified() {
    let state = tempfile::tempdir().expect("a directory");
    let setup = tilemark_engine::verify::Setup {
        state_dir: disks::own(state.path()),
        seed: 3,
        epoch_unix_ns: 0,
        elsewhere: None,
    };
    let options = Options { verify: Some(setup), depth: 32, ..Options::default() };
    let span = Nanos::from_millis(300);
    let tape = tape::record(vec![on_file(load(u64::MAX))], &options, span);
    let tape = tape.map(|tape| (tape.outcome.errors, tape.outcome.mismatches));
    assert_eq!(tape.expect("a run"), (vec![], vec![]));
}

#[test]
fn the_answers_of_a_real_run_replayed_give_the_same_requests() {
    let options = Options { depth: 8, ..Options::default() };
    let span = Nanos::from_millis(200);
    let unending = || {
        let mut load = load(u64::MAX);
        load.flush_every = 0;
        vec![on_file(load)]
    };
    let tape = tape::record(unending(), &options, span).expect("a run");
    // A busy disk may answer few in that time; more than the first batch must have been asked.
    assert!(tape.asked.len() > 8, "{} requests", tape.asked.len());
    let fake = Fake { replay: tape.answers.clone(), ..Fake::default() };
    let last = tape.answers.last().expect("answers").at;
    let again = fake::run(unending(), &options, fake, last + Nanos(1));
    let again = again.expect("a replay");
    let sequence = |asked: &[fake::RequestRecord]| -> Vec<_> {
        let fields = |a: &fake::RequestRecord| (a.file, a.operation, a.offset, a.length);
        asked.iter().take(tape.asked.len()).map(fields).collect()
    };
    assert_eq!(sequence(&again.asked), sequence(&tape.asked));
}

#[test]
fn dropping_a_running_load_ends_it() {
    let options = Options { workers: 2, ..Options::default() };
    let instances = vec![on_file(load(u64::MAX)), on_file(load(u64::MAX))];
    drop(start(instances, options).expect("a start"));
}

#[test]
fn a_load_begins_at_its_moment_or_says_how_late_it_was() {
    use rustix::time::{ClockId, clock_gettime};
    let now = || {
        let now = clock_gettime(ClockId::Monotonic);
        Nanos(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs())
    };
    let begun = now();
    let at = begun + Nanos::from_millis(300);
    let start_at = |at| {
        let options = Options { begin_at: Some(at), ..Options::default() };
        start(vec![on_file(load(u64::MAX))], options).expect("a start")
    };
    let punctual = start_at(at);
    let after = now();
    assert!(after >= at && punctual.began_late() <= after.saturating_sub(at));
    let late = start_at(begun);
    assert!(late.began_late() >= Nanos::from_millis(300), "{}", late.began_late());
}

#[test]
fn wrong_options_are_refused_by_name() {
    let refused = |options| start(vec![on_file(load(1))], options).expect_err("a refusal");
    let error = refused(Options { workers: 0, ..Options::default() });
    assert_eq!(error.to_string(), "workers is 0, but allowed is 1 to 1024");
    let error = refused(Options { depth: 100_000, ..Options::default() });
    assert_eq!(error.to_string(), "depth is 100000, but allowed is 1 to 16384");
}
