//! Bytes that a read brings for the request that follows it, and requests about whole disks.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Mutex};

use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use state_machine::{
    Content, DiskId, Effects, Event, IoError, IoRequest, KindId, METADATA, Machine, Operation,
    Pattern, Token,
};
use tilemark_engine::verify::Setup;
use tilemark_engine::{EngineInstance, Options, Outcome, start};
use units::{Bytes, Nanos};

use crate::disks;

const SIZE: u64 = 4 << 20;
const BLOCK: u32 = 256 << 10;

/// Asks for one request after another, whatever became of the one before.
struct Script {
    steps: Vec<IoRequest>,
    next: usize,
    results: Arc<Mutex<Vec<Result<(), IoError>>>>,
}

impl Machine for Script {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        if let Event::Done(_, result) = event {
            self.results.lock().unwrap().push(result);
        }
        if let Some(step) = self.steps.get(self.next) {
            fx.submit(IoRequest { due: now, ..*step });
            self.next += 1;
        }
    }
}

fn step(disk: u16, operation: Operation, at: u64, content: Content) -> IoRequest {
    IoRequest {
        token: Token(7),
        disk: DiskId(disk),
        operation,
        kind: KindId(0),
        offset: at,
        length: if content.is_of_disk() { METADATA } else { BLOCK },
        due: Nanos::ZERO,
        pattern: Pattern { seed: at + 1, content, ..Pattern::default() },
        durable: false,
    }
}

/// All of disk 0 copied to disk 1, block by block.
fn copy() -> Vec<IoRequest> {
    let blocks = (0..SIZE).step_by(BLOCK as usize);
    let both = |at| {
        [step(0, Operation::Read, at, Content::Keep), step(1, Operation::Write, at, Content::Kept)]
    };
    blocks.flat_map(both).collect()
}

/// All of disk 1 compared with disk 0.
fn compare() -> Vec<IoRequest> {
    let blocks = (0..SIZE).step_by(BLOCK as usize);
    let both = |at| {
        [step(0, Operation::Read, at, Content::Keep), step(1, Operation::Read, at, Content::Kept)]
    };
    blocks.flat_map(both).collect()
}

fn fill() -> Vec<IoRequest> {
    let blocks = (0..SIZE).step_by(BLOCK as usize);
    blocks.map(|at| step(0, Operation::Write, at, Content::Made)).collect()
}

struct Bench {
    dir: tempfile::TempDir,
    verify: bool,
}

impl Bench {
    fn new(verify: bool) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        Self { dir, verify }
    }

    fn path(&self, disk: usize) -> std::path::PathBuf {
        self.dir.path().join(format!("disk-{disk}"))
    }

    /// Runs the steps. Returns the result of each, and the outcome.
    fn run(&self, steps: Vec<IoRequest>) -> (Vec<Result<(), IoError>>, Outcome) {
        let disks: Vec<_> = (0..2)
            .map(|at| disks::on_file(&self.path(at), &format!("disk-{at}"), Bytes::new(SIZE)))
            .collect();
        let results = Arc::new(Mutex::new(Vec::new()));
        let (count, told) = (steps.len(), Arc::clone(&results));
        let shape = InstanceShape {
            instance: InstanceId(0),
            disk_vms: vec![VmId(0); 2],
            kinds: 1,
            actions: 0,
            groups: 0,
        };
        let machine = Script { steps, next: 0, results: told };
        let verify = self.verify.then(|| Setup {
            state_dir: disks::own(&self.dir.path().join("state")),
            seed: 5,
            epoch_unix_ns: 0,
            elsewhere: None,
        });
        let options = Options { slice: Nanos::from_millis(10), verify, ..Options::default() };
        let running = start(vec![EngineInstance::new(machine, shape, disks)], options).unwrap();
        while results.lock().unwrap().len() < count {
            running.slices().recv().expect("the run goes on");
        }
        let outcome = running.join().unwrap();
        let results = results.lock().unwrap().clone();
        (results, outcome)
    }

    fn bytes(&self, disk: usize) -> Vec<u8> {
        std::fs::read(self.path(disk)).unwrap()
    }

    fn spoil(&self, disk: usize, at: u64) {
        let file = std::fs::File::options().write(true).open(self.path(disk)).unwrap();
        file.write_all_at(b"something else", at).unwrap();
        file.sync_all().unwrap();
    }
}

#[test]
fn a_copy_writes_the_bytes_that_it_read() {
    let bench = Bench::new(false);
    let (results, outcome) = bench.run([fill(), copy(), compare()].concat());
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!((outcome.submitted, outcome.errors.len()), (outcome.completed, 0));
    assert!(bench.bytes(0) == bench.bytes(1), "both hold the same");
    assert!(bench.bytes(0).iter().any(|byte| *byte != 0), "and it is something");
}

#[test]
fn copy_that_differs_from_its_source_is_a_mismatch() {
    for spoilt in [0, 1] {
        let bench = Bench::new(false);
        bench.run([fill(), copy()].concat());
        bench.spoil(spoilt, u64::from(BLOCK) * 3 + 4321);
        let (results, outcome) = bench.run(compare());
        let wrong: Vec<usize> = (0..results.len()).filter(|at| results[*at].is_err()).collect();
        assert_eq!(wrong, [7], "the second read of the fourth block");
        assert_eq!(results[7], Err(IoError::Mismatch));
        let error = &outcome.errors[0];
        assert_eq!((error.disk.as_str(), error.offset), ("disk-1", u64::from(BLOCK) * 3));
    }
}

#[test]
fn verified_copy_has_its_own_stamps_and_equals_its_source() {
    let bench = Bench::new(true);
    let (results, outcome) = bench.run([fill(), copy(), compare()].concat());
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(outcome.mismatches, []);
    assert!(bench.bytes(0) != bench.bytes(1), "every sector says whose it is");
}

#[test]
fn discarded_disk_is_empty_and_no_longer_judged() {
    for verify in [false, true] {
        let bench = Bench::new(verify);
        let discard = step(0, Operation::Write, 0, Content::Discard);
        let read = step(0, Operation::Read, 0, Content::Made);
        let (results, outcome) = bench.run([fill(), vec![discard, read]].concat());
        if results.contains(&Err(IoError::Os(libc::EOPNOTSUPP))) {
            eprintln!("skipped: the file system punches no holes");
            return;
        }
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(outcome.mismatches, []);
        assert!(bench.bytes(0).iter().all(|byte| *byte == 0));
        assert_eq!(std::fs::metadata(bench.path(0)).unwrap().blocks(), 0);
    }
}

#[test]
fn clone_equals_its_source_or_the_file_system_refuses_it() {
    for verify in [false, true] {
        let bench = Bench::new(verify);
        let clone = step(1, Operation::Write, 0, Content::Clone(DiskId(0)));
        let (results, outcome) = bench.run([fill(), vec![clone], compare()].concat());
        let made = results[fill().len()];
        if made.is_err() {
            assert_eq!(made, Err(IoError::Os(libc::EOPNOTSUPP)));
            assert_eq!(outcome.errors[0].disk, "disk-1");
            eprintln!("the file system has no reflinks, and says so");
            return;
        }
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert!(bench.bytes(0) == bench.bytes(1));
    }
}
