//! A whole run on a real directory, with real I/O: a small tile, a few seconds.

use std::path::Path;

use record::run::{Status, ToolFacts, Verdict};
use record::rundir::{SameDevice, StoredRun};
use tilemark_bench::plan::{Layer, Origin, ResolvedPlan, Surroundings, Values, resolve};
use tilemark_bench::progress::{Control, NoObserver, Observer, Progress};
use tilemark_bench::run::{End, FinishedRun, RunOptions, plan_preview, run};
use units::Nanos;

const SHOP: &str = r#"
name = "shop"
title = "Shop"
source = "made for this test"
metric = { unit = "orders/s", count = "actions" }
[[vm]]
name = "db"
[[vm.disk]]
name = "tables"
size = "16MiB"
[[vm.disk]]
name = "log"
role = "log"
size = "4MiB"
[[users]]
name = "users"
vm = "db"
load = { closed = { users = 8, think = { exponential = "20ms" } } }
[[action]]
name = "order"
steps = [
    { read = { disk = "tables", size = "8k", count = 2 } },
    { append = { disk = "log", size = "4k" } },
]
[[limit]]
action = "order"
percentile = 95
limit = "10s"
source = "made for this test: cannot break"
"#;

const TILE: &str = r#"
name = "small"
title = "Small"
source = "made for this test"
[[workload]]
use = "./shop.toml"
"#;

struct Bench {
    target: tempfile::TempDir,
    base: tempfile::TempDir,
    files: tempfile::TempDir,
}

impl Bench {
    /// A target directory beside the test's other output; nothing if it cannot be used.
    fn new() -> Option<Self> {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let directory = || tempfile::tempdir_in(place).expect("a temporary directory");
        let bench = Self { target: directory(), base: directory(), files: directory() };
        std::fs::write(bench.files.path().join("shop.toml"), SHOP).expect("a workload");
        std::fs::write(bench.files.path().join("small.toml"), TILE).expect("a tile");
        let plan = bench.plan("1");
        let preview = plan_preview(&plan, &bench.options()).expect("a preview");
        assert!(bench.is_clean(), "a preview writes nothing");
        if let Some(refusal) = preview.refusals.first() {
            eprintln!("skipped: {}: {refusal}", bench.target.path().display());
            return None;
        }
        Some(bench)
    }

    fn options(&self) -> RunOptions {
        RunOptions {
            base: self.base.path().to_owned(),
            same_device: SameDevice::Allowed,
            destroy_data: None,
            overwrite_file: false,
            allow_root_fs: true,
            keep: false,
            tool: ToolFacts { version: "test".to_owned(), commit: None },
        }
    }

    fn plan(&self, tiles: &str) -> ResolvedPlan {
        self.plan_with(tiles, false)
    }

    fn plan_with(&self, tiles: &str, verify: bool) -> ResolvedPlan {
        let tile = spec::resolve_tile("./small.toml", self.files.path()).expect("a tile");
        let values = Values {
            datastore: Some(format!("dir:{}", self.target.path().display())),
            tile: Some("./small.toml".to_owned()),
            profile: Some(spec::plan::Profile::Quick),
            tiles: Some(tiles.to_owned()),
            warm_up_min: Some(Nanos::from_millis(200)),
            warm_up_max: Some(Nanos::from_millis(400)),
            duration: Some(Nanos::from_secs(1)),
            slice: Some(Nanos::from_millis(100)),
            footprint: Some(1.0),
            workers: Some(1),
            verify: Some(verify),
            ..Values::default()
        };
        let layer = Layer { origin: Origin::Flag, values };
        resolve(&[layer], tile, Surroundings { entropy: 12, cores: 1 }).expect("a plan")
    }

    fn run(&self, tiles: &str, control: &Control, observer: &mut dyn Observer) -> FinishedRun {
        run(&self.plan(tiles), &self.options(), control, observer).expect("a run")
    }

    /// Whether nothing of ours is left on the target.
    fn is_clean(&self) -> bool {
        std::fs::read_dir(self.target.path()).expect("the target").next().is_none()
    }
}

#[test]
fn two_tiles_are_measured_on_a_real_directory_and_nothing_is_left() {
    let Some(bench) = Bench::new() else { return };
    let finished = bench.run("1..2", &Control::default(), &mut NoObserver);
    let run = &finished.run;
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    assert!(bench.is_clean() && finished.foreign.is_empty());
    assert_eq!(run.steps.len(), 2, "{}", run.answer.sentence);
    for step in &run.steps {
        // A shared machine may starve the generator; storage may not fail this limit.
        assert_ne!(step.verdict, Verdict::Failed, "{}", step.reason);
        assert!(step.io.iter().all(|total| total.count > 0 && total.errors == 0));
        let exact = step.checks.iter().find(|check| check.id == "submitted-is-completed");
        assert!(exact.is_some_and(|check| check.passed), "{:?}", step.checks);
        let little = step.checks.iter().find(|check| check.id == "littles-law");
        assert!(little.is_some_and(|check| check.passed), "{:?}", step.checks);
    }
    assert_eq!(run.prefill.as_ref().expect("filled").bytes, 2 * (20 << 20));
    let stored = StoredRun::at(&finished.directory).expect("a stored run");
    assert!(stored.check().expect("checksums").is_empty());
    let plan = stored.plan().expect("a plan");
    assert_eq!(plan, bench.plan("1..2").to_toml().expect("writes"));
    assert!(stored.series().expect("a series").count() > 10);
}

#[test]
fn a_verified_run_reads_back_every_block_it_wrote() {
    let Some(bench) = Bench::new() else { return };
    let plan = bench.plan_with("1", true);
    let finished =
        run(&plan, &bench.options(), &Control::default(), &mut NoObserver).expect("runs");
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    let verified = finished.run.warnings.iter().find(|warning| warning.id == "verified");
    let text = &verified.expect("it says so").text;
    assert!(text.starts_with("20 MiB were read back"), "{text}");
    assert!(bench.is_clean());
}

#[test]
fn an_interrupt_during_a_step_leaves_a_partial_answer_and_a_clean_target() {
    struct Hand<'a>(&'a Control);
    impl Observer for Hand<'_> {
        fn event(&mut self, event: &Progress<'_>) {
            if matches!(event, Progress::Tick(tick) if tick.is_measured) {
                self.0.interrupt();
            }
        }
    }
    let Some(bench) = Bench::new() else { return };
    let control = Control::default();
    // Heard with the first measured slice; every later one would be asked again, and abort.
    let finished = bench.run("1..2", &control, &mut Once(Hand(&control), false));
    assert!(matches!(finished.end, End::Interrupted));
    assert_eq!(finished.run.answer.status, Status::Interrupted);
    assert!(bench.is_clean());

    struct Once<'a>(Hand<'a>, bool);
    impl Observer for Once<'_> {
        fn event(&mut self, event: &Progress<'_>) {
            if !self.1 {
                self.0.event(event);
                self.1 = matches!(event, Progress::Tick(tick) if tick.is_measured);
            }
        }
    }
}
