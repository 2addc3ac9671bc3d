//! A whole run on a real directory, with real I/O: a small tile, a few seconds.

#[path = "real/memory.rs"]
mod memory;

use std::path::Path;

use datastore::{CleanupOptions, OwnerState, Target, cleanup, find_owned, register};
use run_store::run::{Status, ToolFacts, Verdict};
use run_store::rundir::{SameDevice, StoredRun};
use spec::plan::{EngineOptions, Ladder, Measure, Plan, Scale};
use tilemark_bench::BenchError;
use tilemark_bench::plan::{Layer, Origin, ResolvedPlan, Surroundings, resolve};
use tilemark_bench::progress::{Control, NoObserver, Observer, Progress};
use tilemark_bench::run::{
    End, FinishedRun, Prepared, Reuse, RunOptions, plan_preview, prepare, run,
};
use units::{Bytes, Nanos};

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
    /// A target directory beside the test's other output; `None` if the host refuses it.
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
            second_destroy_data: None,
            overwrite_file: false,
            allow_root_fs: true,
            keep: false,
            reuse: None,
            through: None,
            export: None,
            logins: tilemark_bench::rig::Logins::new(),
            power_policies: false,
            tool: ToolFacts { version: "test".to_owned(), commit: None },
            program: std::path::PathBuf::new(),
            reporter: None,
        }
    }

    fn plan(&self, tiles: &str) -> ResolvedPlan {
        self.plan_with(tiles, false)
    }

    fn plan_with(&self, tiles: &str, verify: bool) -> ResolvedPlan {
        self.plan_scaled(tiles, verify, 1.0)
    }

    fn plan_scaled(&self, tiles: &str, verify: bool, footprint: f64) -> ResolvedPlan {
        let tile = spec::resolve_tile("./small.toml", self.files.path()).expect("a tile");
        let plan = Plan {
            datastore: Some(format!("dir:{}", self.target.path().display())),
            tile: Some("./small.toml".to_owned()),
            profile: Some(spec::plan::Profile::Quick),
            ladder: Ladder { tiles: Some(tiles.to_owned()), ..Ladder::default() },
            measure: Measure {
                warm_up_min: Some(Nanos::from_millis(200)),
                warm_up_max: Some(Nanos::from_millis(400)),
                duration: Some(Nanos::from_secs(1)),
                slice: Some(Nanos::from_millis(100)),
            },
            scale: Scale { footprint: Some(footprint), ..Scale::default() },
            engine: EngineOptions { workers: Some(1), verify, ..EngineOptions::default() },
            ..Plan::default()
        };
        let layer = Layer { origin: Origin::Flag, plan };
        resolve(&[layer], tile, Surroundings { entropy: 12, cores: 1 }).expect("a plan")
    }

    fn run(&self, tiles: &str, control: &Control, observer: &mut dyn Observer) -> FinishedRun {
        run(&self.plan(tiles), &self.options(), control, observer).expect("a run")
    }

    fn prepare(&self, tiles: &str, verify: bool) -> Prepared {
        let plan = self.plan_with(tiles, verify);
        let control = Control::default();
        let prepared = prepare(&plan, &self.options(), &control, &mut NoObserver);
        prepared.expect("prepared")
    }

    /// Runs on the disks of the last fitting run, and keeps them again.
    fn run_again(&self, tiles: &str, verify: bool) -> FinishedRun {
        let options = RunOptions { keep: true, reuse: Some(Reuse::Back(0)), ..self.options() };
        let plan = self.plan_with(tiles, verify);
        let run = run(&plan, &options, &Control::default(), &mut NoObserver);
        let mut finished = run.expect("a run");
        assert!(finished.clear().failed.is_empty());
        finished
    }

    /// True if nothing of ours is left on the target.
    fn is_clean(&self) -> bool {
        std::fs::read_dir(self.target.path()).expect("the target").next().is_none()
    }
}

#[test]
fn two_tiles_run_on_a_real_directory_and_leave_nothing() {
    let Some(bench) = Bench::new() else { return };
    let mut finished = bench.run("1..2", &Control::default(), &mut NoObserver);
    assert!(!bench.is_clean(), "the answer is told before anything is removed");
    let removed = finished.clear();
    let run = &finished.run;
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    assert!(bench.is_clean() && removed.kept.is_empty(), "{removed:?}");
    assert_eq!(run.steps.len(), 2, "{}", run.answer.sentence);
    for step in &run.steps {
        // A shared host may starve the generator, but the storage cannot fail this limit.
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
fn target_kind_of_another_crate_is_measured_and_cleaned_up() {
    let Some(bench) = Bench::new() else { return };
    let on_memory = |tiles| {
        let mut plan = bench.plan_with(tiles, true);
        plan.datastore = "memory:shop".to_owned();
        plan
    };
    let unknown = plan_preview(&on_memory("1"), &bench.options()).expect_err("not known yet");
    assert!(unknown.to_string().ends_with("supported are dir, file and block"), "{unknown}");
    assert!(register(&memory::Memory) && !register(&memory::Memory));
    let target: Target = "memory:shop".parse().expect("known now");
    assert_eq!(target.absolute().to_string(), "memory:shop");
    let refused = "memory:a/b".parse().map(|target| {
        datastore::examine(
            &target,
            Bytes::MIB,
            &datastore::Options { run_id: "x".to_owned(), ..Default::default() },
        )
    });
    assert_eq!(refused.expect("a target").refusals[0].id(), "memory-name");

    let control = Control::default();
    let mut finished =
        run(&on_memory("1..2"), &bench.options(), &control, &mut NoObserver).expect("a run");
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    assert!(matches!(find_owned(&target).expect("found")[..], [_]));
    assert_eq!(finished.clear().failed.len(), 0);
    assert_eq!(find_owned(&target).expect("found"), []);
    assert_eq!((&*finished.run.target.kind, finished.run.steps.len()), ("memory", 2));
    let verified = finished.run.warnings.iter().find(|warning| warning.id == "verified");
    assert!(verified.expect("it says so").text.starts_with("40 MiB were read back"));

    let prepared = prepare(&on_memory("1"), &bench.options(), &control, &mut NoObserver);
    let prepared = prepared.expect("prepared");
    assert!(!prepared.can_be_reused);
    let owned = find_owned(&target).expect("found").remove(0);
    assert_eq!((&owned.run_id, &owned.state), (&prepared.run_id, &OwnerState::This));
    let cleaned = cleanup(&target, &CleanupOptions::default()).expect("cleaned up");
    assert_eq!((cleaned.removed, cleaned.kept.len()), (vec![owned], 0));
    assert_eq!(find_owned(&target).expect("found"), []);
    assert!(bench.is_clean());
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
    drop(finished);
    assert!(bench.is_clean());
}

#[test]
fn wrong_blocks_are_all_listed_and_the_disks_stay_as_evidence() {
    /// Zeroes two blocks of the first disk, once, during the load.
    struct Vandal<'a>(&'a Path, bool);
    impl Observer for Vandal<'_> {
        fn event(&mut self, event: &Progress<'_>) {
            if !self.1 && matches!(event, Progress::Tick(tick) if tick.is_measured) {
                self.1 = true;
                let own = std::fs::read_dir(self.0).expect("the target").next().expect("ours");
                let disks = std::fs::read_dir(own.expect("an entry").path()).expect("ours");
                let mut disks: Vec<_> = disks.map(|disk| disk.expect("an entry").path()).collect();
                disks.retain(|disk| disk.extension().is_some_and(|end| end == "disk"));
                let file = std::fs::File::options().write(true).open(&disks[0]).expect("a disk");
                for offset in [0, 4096] {
                    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 4096], offset)
                        .expect("overwritten");
                }
                file.sync_all().expect("durable");
            }
        }
    }
    let Some(bench) = Bench::new() else { return };
    let plan = bench.plan_with("1", true);
    let mut vandal = Vandal(bench.target.path(), false);
    let mut finished =
        run(&plan, &bench.options(), &Control::default(), &mut vandal).expect("stored");
    let End::Failed(BenchError::Mismatch(wrong)) = &finished.end else {
        panic!("{:?}", finished.end);
    };
    assert!(!wrong.is_empty() && vandal.1);
    let removed = finished.clear();
    assert!(removed.removed.is_empty() && !bench.is_clean(), "{removed:?}");
    assert!(finished.evidence[0].starts_with(bench.target.path()), "{:?}", finished.evidence);
    let events = std::fs::read_to_string(finished.directory.join("events.jsonl")).expect("events");
    assert!(events.contains("wrong-blocks"), "{events}");
}

#[test]
fn interrupt_in_a_step_leaves_partial_answer_and_no_disks() {
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
    // Called at the first measured slice only: a second request would abort.
    let finished = bench.run("1..2", &control, &mut Once(Hand(&control), false));
    assert!(matches!(finished.end, End::Interrupted));
    assert_eq!(finished.run.answer.status, Status::Interrupted);
    drop(finished);
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

#[test]
fn prepared_disks_are_used_without_filling_them_and_stay() {
    let Some(bench) = Bench::new() else { return };
    let prepared = bench.prepare("1", false);
    assert_eq!((prepared.disks, prepared.bytes), (2, Bytes::MIB * 20));
    let written = prepared.prefill.expect("filled");
    assert!(written.first_write.is_some() && written.rewrite.is_some());
    let disk = first_disk(&prepared.path);
    let before = std::fs::metadata(&disk).expect("stat").modified().expect("time");

    // The second tile is missing, and is made beside the first.
    let finished = bench.run_again("1..2", false);
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    let prefill = finished.run.prefill.expect("it says what was done");
    assert_eq!((prefill.bytes, prefill.prepared_before_bytes), (20 << 20, 20 << 20));
    assert_eq!(std::fs::metadata(&disk).expect("stat").modified().expect("time"), before);
    assert!(
        finished
            .run
            .warnings
            .iter()
            .any(|warning| { warning.id == "reused" && warning.text.contains(&prepared.run_id) })
    );

    // Now both tiles exist, and there is no speed of a first write.
    let prefill = bench.run_again("2", false).run.prefill.expect("it says what was done");
    assert_eq!((prefill.bytes, prefill.prepared_before_bytes), (0, 40 << 20));
    assert_eq!(prefill.first_write_absent.as_deref(), Some("prepared before"));
    assert!(prefill.first_write.is_none() && prefill.rewrite.is_none());

    // Disks that are not to be kept are removed.
    let options = RunOptions { reuse: Some(Reuse::Run(prepared.run_id)), ..bench.options() };
    run(&bench.plan("1"), &options, &Control::default(), &mut NoObserver).expect("a run");
    assert!(bench.is_clean());
}

/// A disk that its workload only reads.
fn first_disk(path: &Path) -> std::path::PathBuf {
    let found = std::fs::read_dir(path).expect("list").flatten().map(|entry| entry.path());
    let is_tables = |path: &std::path::PathBuf| path.to_string_lossy().contains("tables");
    found.into_iter().find(is_tables).expect("the disk of the tables")
}

#[test]
fn disks_that_do_not_fit_are_not_used_and_nothing_is_touched() {
    let Some(bench) = Bench::new() else { return };
    let attempt = |reuse, plan: &ResolvedPlan| {
        let options = RunOptions { reuse: Some(reuse), keep: true, ..bench.options() };
        run(plan, &options, &Control::default(), &mut NoObserver).expect_err("refused")
    };
    let error = attempt(Reuse::Back(0), &bench.plan("1"));
    assert!(matches!(error, BenchError::NothingToReuse { looked_at: 0, .. }), "{error}");
    assert!(error.hint().is_some() && bench.is_clean());
    let prepared = bench.prepare("1", false);
    let marker = || std::fs::read(prepared.path.join("owner.json")).expect("marker");
    let before = marker();
    let smaller = bench.plan_scaled("1", false, 0.5);
    let error = attempt(Reuse::Back(0), &smaller);
    assert!(matches!(error, BenchError::NothingToReuse { looked_at: 1, .. }), "{error}");
    let error = attempt(Reuse::Run(prepared.run_id.clone()), &smaller);
    assert!(matches!(error, BenchError::ReuseSize { .. }), "{error}");
    let error = attempt(Reuse::Run("another".to_owned()), &bench.plan("1"));
    assert!(error.to_string().contains("cannot take over"), "{error}");
    assert_eq!(marker(), before);
}

#[test]
fn too_many_users_are_refused_before_anything_is_made() {
    let Some(bench) = Bench::new() else { return };
    let plan = bench.plan("4000000");
    let (options, control) = (bench.options(), Control::default());
    let all = [
        plan_preview(&plan, &options).map(drop),
        run(&plan, &options, &control, &mut NoObserver).map(drop),
        prepare(&plan, &options, &control, &mut NoObserver).map(drop),
    ];
    for refused in all {
        let error = refused.expect_err("32 million users");
        assert!(matches!(error, BenchError::TooManyUsers { users: 32_000_000, .. }), "{error}");
    }
    assert!(bench.is_clean());
}

#[test]
fn an_interrupted_preparation_leaves_nothing() {
    let Some(bench) = Bench::new() else { return };
    let control = Control::default();
    control.interrupt();
    let plan = bench.plan("1");
    let error = prepare(&plan, &bench.options(), &control, &mut NoObserver).expect_err("asked");
    assert!(matches!(error, BenchError::Interrupted), "{error}");
    assert!(bench.is_clean());
}

#[test]
fn verification_judges_kept_disks_only_where_writes_are_known() {
    let Some(bench) = Bench::new() else { return };
    // The disks were filled without stamps, so blocks that were not written since are not judged.
    bench.prepare("1", false);
    let finished = bench.run_again("1", true);
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    // A second tile is filled with stamps. A third run knows both, and the log of the first.
    let finished = bench.run_again("2", true);
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    // A run without verification drops the knowledge, so nothing can be wrong afterwards.
    let finished = bench.run_again("1", false);
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    let finished = bench.run_again("1", true);
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
}

#[test]
fn a_block_that_changed_between_two_verified_runs_is_found() {
    use std::os::unix::fs::FileExt;
    let Some(bench) = Bench::new() else { return };
    let prepared = bench.prepare("1", true);
    let finished = bench.run_again("1", true);
    assert!(matches!(finished.end, End::Complete), "{:?}", finished.end);
    let disk = std::fs::OpenOptions::new().write(true).open(first_disk(&prepared.path));
    disk.expect("disk").write_all_at(&[0; 4096], 8192).expect("write");
    let finished = bench.run_again("1", true);
    let End::Failed(error) = &finished.end else { panic!("{:?}", finished.end) };
    assert!(matches!(error, BenchError::Mismatch(_)), "{error}");
    assert!(finished.run.warnings.iter().any(|warning| warning.id == "verification-mismatch"));
    assert!(prepared.path.exists(), "and the disks stay for whoever looks into it");
}

/// A tier must leave the datastore as it would be without one, and remove everything of its own.
#[test]
fn disks_behind_a_tier_hold_all_writes_and_steps_report_it() {
    let Some(bench) = Bench::new() else { return };
    let fast = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    for mode in ["through", "back"] {
        let spec = format!("{},size=64MiB,log=40,mode={mode}", fast.path().display());
        let through = Some(spec.parse().expect("a tier"));
        let options = RunOptions { through, ..bench.options() };
        // Verified: after the last step every block is read back from the datastore alone.
        let plan = bench.plan_with("1..2", true);
        let ended = run(&plan, &options, &Control::default(), &mut NoObserver);
        let mut finished = ended.expect("a run");
        assert!(matches!(finished.end, End::Complete), "{mode}: {:?}", finished.end);
        let removed = finished.clear();
        assert!(removed.failed.is_empty() && removed.kept.is_empty(), "{removed:?}");
        let is_empty = std::fs::read_dir(fast.path()).expect("it is there").next().is_none();
        assert!(bench.is_clean() && is_empty, "nothing of the run or its tier stays");
        let tier = finished.run.target.tier.as_ref().expect("the result says it");
        assert_eq!((tier.mode.as_str(), tier.size_bytes), (mode, 64 << 20));
        assert!(finished.run.steps.iter().flat_map(|step| &step.io).all(|io| io.errors == 0));
        let stored = StoredRun::at(&finished.directory).expect("a stored run");
        let rollup = run_store::rollup::Rollup::of_run(&stored).expect("it can be read");
        let rows = rollup.tiers();
        let sum = |pick: fn(&run_store::run::TierCounts) -> u64| -> u64 {
            rows.iter().map(|row| pick(&row.counts)).sum()
        };
        let (reads, hits) = (sum(|counts| counts.reads), sum(|counts| counts.read_hits));
        let (writes, absorbed) =
            (sum(|counts| counts.writes), sum(|counts| counts.writes_absorbed));
        assert!(reads > 0 && hits > 0 && writes > 0, "{mode}: {reads} {hits} {writes}");
        // The tier has room for all, so some reads are hits.
        assert!(hits <= reads && rows.iter().any(|row| !row.backing_read.is_empty()));
        match mode {
            "back" => assert_eq!(absorbed, writes, "the log answers every write"),
            _ => assert_eq!(absorbed, 0, "the datastore answers every write"),
        }
    }
}
