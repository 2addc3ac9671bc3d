//! Operations on disks that fail: the result's text, and the leftovers.

use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::Command;

use rustix::process::Signal;

use crate::loops::{Mounted, disk_file, held, wait_for_writes, wait_until};
use crate::operations::USERS;
use crate::rig::{Running, Workspace, err, out};

/// Space that a datastore keeps free: 5 GiB and a fifth.
const SIZE: u64 = 10 << 30;

/// Tile of one small VM, and one operation beside it.
fn words(place: &Workspace, operation: &str) -> Vec<String> {
    let tile = |name: &str, of: &str| {
        format!(
            "name = \"{name}\"\ntitle = \"A test\"\nsource = \"a test\"\n\n[[workload]]\nuse = \"{of}\"\n"
        )
    };
    place.write("users.toml", USERS);
    place.write("small.toml", &tile("small", "users.toml"));
    place.write("group.toml", &tile("group", "operation.toml"));
    place.write("operation.toml", operation);
    let path = |name: &str| place.path(name).display().to_string();
    let operations = format!("--operations={}", path("group.toml"));
    vec![
        "--tile".to_owned(),
        path("small.toml"),
        "--footprint".to_owned(),
        "0.0625".to_owned(),
        operations,
    ]
}

fn start(place: &Workspace, datastore: &str, operation: &str, more: &[&str]) -> Running {
    let words = words(place, operation);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    place.start_on(datastore, &words)
}

/// Deployments of which each copies, waits, and compares.
fn deploy(first: &str) -> String {
    format!(
        r#"
name = "deploy"
title = "A copy that is looked at later"
source = "a test"
metric = {{ unit = "copies/min", count = "actions", of = ["deploy"], per = "1m" }}
vm = [{{ name = "vm", disk = [{{ name = "template", size = "512MiB" }}, {{ name = "clone", size = "512MiB" }}] }}]
users = [{{ name = "one", vm = "vm", load = {{ closed = {{ users = 1, think = "50ms" }} }} }}]

[[action]]
name = "deploy"
steps = [
    {first}
    {{ stage = {{ name = "copying", steps = [{{ copy = {{ from = "template", to = "clone" }} }}, {{ flush = {{ disk = "clone" }} }}] }} }},
    {{ stage = {{ name = "resting", steps = [{{ wait = "2s" }}] }} }},
    {{ stage = {{ name = "checking", steps = [{{ check = {{ from = "template", to = "clone" }} }}] }} }},
]

[[limit]]
action = "deploy"
percentile = 95
limit = "10m"
source = "a test"
"#
    )
}

/// Overwrites all of a disk outside the program, once, between a copy and its check.
fn spoilt(which: &str) {
    let Some(place) = Workspace::usable() else { return };
    let mut run = start(&place, "ds", &deploy(""), &[]);
    run.wait_for("measuring");
    let clone = disk_file(&place.path("ds"), "clone");
    wait_for_writes(&clone);
    // The interval between the write of the copy and its comparison is long enough to overwrite it.
    let disk = disk_file(&place.path("ds"), which);
    // Direct I/O, as in the program: mixed with the page cache, the kernel fails a flush.
    let flags = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).expect("a flag");
    let file = std::fs::File::options().write(true).custom_flags(flags).open(&disk);
    let file = file.expect("the disk");
    let length = file.metadata().expect("stat").len();
    let other = vec![0xA5; (1 << 20) + 4096];
    let other = &other[other.as_ptr().align_offset(4096)..][..1 << 20];
    let begun = std::time::Instant::now();
    while run.is_going() && begun.elapsed() < crate::rig::DEADLINE {
        for at in (0..length).step_by(other.len()) {
            file.write_all_at(other, at).expect("written");
        }
    }
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    let said = "the operation deploy failed in its stage checking: read at byte ";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert!(ended.stderr.contains("data read differ from the data written"), "{}", ended.stderr);
    assert!(ended.stderr.contains("disk operations/deploy/clone"), "{}", ended.stderr);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn wrong_copy_fails_the_run_naming_its_stage() {
    spoilt("clone");
}

#[test]
fn template_changed_after_clone_fails_the_check() {
    spoilt("template");
}

#[test]
fn full_destination_names_operation_and_stage() {
    let place = Workspace::new();
    let Some(xfs) = Mounted::new(&place, "small", "xfs", SIZE) else { return };
    let given_back = r#"{ stage = { name = "destroying", steps = [{ destroy = { disk = "clone" } }, { wait = "5s" }] } },"#;
    let mut run = start(&place, "small", &deploy(given_back), &[]);
    run.wait_for("measuring");
    let clone = disk_file(&xfs.at, "clone");
    wait_until(|| held(&clone) == 0, "its space is never given back");
    xfs.fill_up();
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    let said = "the operation deploy failed in its stage copying: write at byte ";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert!(ended.stderr.contains("No space left on device"), "{}", ended.stderr);
    let left: Vec<_> = std::fs::read_dir(&xfs.at).expect("a directory").flatten().collect();
    assert_eq!(left.len(), 1, "the filler alone stays: {left:?}");
}

/// Move between two datastores, begun after `think`, block by block.
fn moves(think: &str, block: &str) -> String {
    format!(
        r#"
name = "moves"
title = "Moves of a small disk"
source = "a test"
metric = {{ unit = "moves/min", count = "actions", of = ["move"], per = "1m" }}
vm = [{{ name = "mover" }}]
users = [{{ name = "one", vm = "mover", load = {{ closed = {{ users = 1, think = "{think}" }} }} }}]
action = [{{ name = "move", steps = [{{ move = {{ size = "{block}", outstanding = 1 }} }}] }}]
limit = [{{ action = "move", percentile = 95, limit = "10m", source = "a test" }}]
"#
    )
}

/// Kills a run of moves when `wait` returns: every block of both datastores holds its written data,
/// and `cleanup` finds all of them.
fn killed(operation: &str, wait: impl Fn(&Workspace)) {
    let Some(place) = Workspace::usable() else { return };
    std::fs::create_dir(place.path("other")).expect("a directory");
    let mut run = start(&place, "ds", operation, &["--second", "other", "--verify"]);
    run.wait_for("measuring");
    wait(&place);
    kill(run, &place, &["ds", "other"]);
}

/// Kills the run: every block of these datastores holds its written data, and `cleanup` finds all
/// of them.
fn kill(run: Running, place: &Workspace, datastores: &[&str]) {
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None, "a signal ended it");
    for datastore in datastores {
        let verified = place.output(&["verify", datastore]);
        let text = format!("{}{}", out(&verified), err(&verified));
        assert_eq!(verified.status.code(), Some(0), "{datastore}: {text}");
        assert!(text.contains("every block is right"), "{datastore}: {text}");
        let cleaned = place.output(&["cleanup", datastore]);
        assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
        assert!(out(&cleaned).starts_with("removed "), "{}", out(&cleaned));
        assert!(place.names(datastore).is_empty(), "{:?}", place.names(datastore));
    }
}

#[test]
fn kill_before_a_move_leaves_both_datastores_whole() {
    killed(&moves("1h", "64k"), |_| {});
}

#[test]
fn kill_during_a_copy_leaves_both_datastores_whole() {
    killed(&moves("10ms", "4k"), |place| {
        wait_for_writes(&disk_file(&place.path("other"), "moved"));
    });
}

/// A disk of a few blocks is nearly always about to switch over, so after several moves any moment
/// may hit a switch-over.
#[test]
fn kill_among_switch_overs_leaves_both_datastores_whole() {
    killed(&moves("1ms", "1MiB"), |place| {
        let moved = disk_file(&place.path("other"), "moved");
        (0..8).for_each(|_| wait_for_writes(&moved));
    });
}

#[test]
fn ctrl_c_during_a_move_removes_disks_of_both_datastores() {
    let Some(place) = Workspace::usable() else { return };
    std::fs::create_dir(place.path("other")).expect("a directory");
    let mut run = start(&place, "ds", &moves("10ms", "4k"), &["--second", "other"]);
    run.wait_for("measuring");
    wait_for_writes(&disk_file(&place.path("other"), "moved"));
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(place.names("ds").is_empty() && place.names("other").is_empty());
}

#[test]
fn kill_during_a_deployment_leaves_its_template_whole() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = start(&place, "ds", &deploy(""), &["--verify"]);
    run.wait_for("measuring");
    wait_for_writes(&disk_file(&place.path("ds"), "clone"));
    kill(run, &place, &["ds"]);
}

/// A snapshot every moment, kept for two seconds.
const SNAPSHOTS: &str = r#"
name = "snapshots"
title = "Snapshots"
source = "a test"
metric = { unit = "snapshots/min", count = "actions", of = ["snapshot"], per = "1m" }
vm = [{ name = "keeper" }]
users = [{ name = "one", vm = "keeper", load = { closed = { users = 1, think = "10ms" } } }]
action = [{ name = "snapshot", steps = [{ snapshot = { keep = "2s" } }] }]
limit = [{ action = "snapshot/creating", percentile = 95, limit = "10m", source = "a test" }]
"#;

/// Run with snapshots, of which one exists now.
fn keeping(place: &Workspace, xfs: &Mounted, more: &[&str]) -> Running {
    let mut run = start(place, "small", SNAPSHOTS, more);
    run.wait_for("measuring");
    let snapshot = disk_file(&xfs.at, "snapshot");
    // One is deleted, and the next one made.
    wait_until(|| held(&snapshot) == 0, "no snapshot is deleted");
    wait_until(|| held(&snapshot) > 0, "no snapshot is made");
    run
}

#[test]
fn kill_while_a_snapshot_is_kept_leaves_the_vm_disk_whole() {
    let place = Workspace::new();
    let Some(xfs) = Mounted::new(&place, "small", "xfs", SIZE) else { return };
    let run = keeping(&place, &xfs, &["--verify"]);
    kill(run, &place, &["small"]);
}

#[test]
fn ctrl_c_while_a_snapshot_is_kept_removes_it_with_its_disk() {
    let place = Workspace::new();
    let Some(xfs) = Mounted::new(&place, "small", "xfs", SIZE) else { return };
    let run = keeping(&place, &xfs, &[]);
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(place.names("small").is_empty(), "left: {:?}", place.names("small"));
}

#[test]
fn undeletable_snapshot_names_stage_and_remaining_disks() {
    let place = Workspace::new();
    let Some(xfs) = Mounted::new(&place, "small", "xfs", SIZE) else { return };
    let run = keeping(&place, &xfs, &[]);
    let snapshot = disk_file(&xfs.at, "snapshot");
    let immutable = |how: &str| {
        let changed = Command::new("chattr").arg(how).arg(&snapshot).status();
        assert!(changed.expect("chattr").success(), "chattr {how}");
    };
    immutable("+i");
    let ended = run.end();
    immutable("-i");
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    let said = "the operation snapshot failed in its stage deleting: write at byte 0 of disk ";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert!(ended.stderr.contains("Operation not permitted"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("not removed: "),
        "the file stays, and it is said: {}",
        ended.stderr
    );
    let cleaned = place.output(&["cleanup", "small"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
    assert_eq!(std::fs::read_dir(&xfs.at).expect("a directory").count(), 0, "now it is gone");
}
