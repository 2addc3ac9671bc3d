use std::path::{Path, PathBuf};

use spec::ResolvedTile;
use spec::study::Limits;
use units::Nanos;

use super::*;
use crate::BenchError;
use crate::progress::Control;
use fixtures::{tile_of, workload};

/// Reader that computes for 20 ms after every 20 reads: 50 reads per second of CPU time.
const JOB: &str = r#"
name = "job"
title = "Job"
source = "made for this test"
cpu = "burn"
metric = { unit = "rounds/s", count = "actions", reference = 50 }
[[vm]]
name = "only"
[[vm.disk]]
name = "data"
size = "8MiB"
[[users]]
name = "one"
vm = "only"
load = { closed = { users = 1 } }
[[action]]
name = "round"
steps = [{ read = { disk = "data", size = "4k", count = 20 } }, { cpu = "20ms" }]
"#;

fn tile() -> ResolvedTile {
    tile_of(vec![workload(JOB)])
}

fn settings(limits: Limits) -> RealSettings {
    RealSettings {
        warm_up_min: Nanos::from_millis(200),
        warm_up_max: Nanos::from_millis(200),
        duration: Nanos::from_millis(1200),
        slice: Nanos::from_millis(200),
        footprint: 1.0,
        time: 1.0,
        workers: 1,
        buffered: false,
        limits,
        seed: 7,
    }
}

struct ScratchDirectory(tempfile::TempDir);

impl ScratchDirectory {
    fn new() -> Self {
        // Not in `/tmp`, which may be in memory.
        let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../target/tmp");
        std::fs::create_dir_all(&beside).expect("a directory");
        Self(tempfile::tempdir_in(beside).expect("a directory"))
    }

    fn measure(&self, limits: Limits) -> Result<run_store::run::Step, RealError> {
        let place = RealPlace { directory: self.0.path(), allow_root_fs: true, over: None };
        let measured = step(&tile(), (1, 0), &settings(limits), place, &Control::default());
        let left = std::fs::read_dir(self.0.path()).expect("a directory").count();
        assert_eq!(left, 0, "something was left in {}", self.0.path().display());
        measured
    }
}

/// True if the host refuses the test, which is no failure.
fn skipped(error: &RealError) -> bool {
    let skipped =
        matches!(error, RealError::Throttle(_) | RealError::Bench(BenchError::Refused(_)));
    if skipped {
        eprintln!("skipped: {error}");
    }
    skipped
}

#[test]
fn a_slowed_step_does_less_uses_less_cpu_and_leaves_nothing() {
    let place = ScratchDirectory::new();
    let fast = match place.measure(Limits::default()) {
        Ok(step) => step,
        Err(error) if skipped(&error) => return,
        Err(error) => panic!("{error}"),
    };
    let limits = Limits { read_iops: Some(30), ..Limits::default() };
    let slow = match place.measure(limits) {
        Ok(step) => step,
        Err(error) if skipped(&error) => return,
        Err(error) => panic!("{error}"),
    };
    // The control group of the earlier step is gone, or is reused without its limits.
    let again = place.measure(limits).expect("as the one before");
    assert!(again.throughput.operations_per_s < 60.0);
    let rate = |step: &run_store::run::Step| step.throughput.operations_per_s;
    // Part of the limit of 30 reads a second may come from tokens saved before.
    assert!(rate(&slow) < 60.0, "{} reads/s under a limit of 30", rate(&slow));
    assert!(rate(&fast) > 2.0 * rate(&slow), "{} and {} reads/s", rate(&fast), rate(&slow));
    let used = |step: &run_store::run::Step| {
        let model = step.model.as_ref().expect("Linux says what its processors do");
        assert_eq!(model.vms[0].name, "job/only");
        assert!(model.hosts[0].used > 0.0 && model.hosts[0].used <= 1.01, "{:?}", model.hosts);
        model.vms[0].used
    };
    let (fast, slow) = (used(&fast), used(&slow));
    assert!(fast > slow && slow > 0.0, "{fast} of a CPU without limits, {slow} with them");
}

#[test]
fn a_directory_that_is_not_there_is_refused() {
    let place =
        RealPlace { directory: Path::new("/nowhere/at/all"), allow_root_fs: true, over: None };
    let refused = step(&tile(), (1, 0), &settings(Limits::default()), place, &Control::default());
    let error = refused.expect_err("no such directory");
    assert!(error.to_string().contains("/nowhere/at/all"), "{error:?}");
}
