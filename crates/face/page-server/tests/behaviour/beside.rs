//! Recorded traces in a directory of runs: listed by their descriptions, read at the first request.

use std::fs;
use std::path::{Path, PathBuf};

use run_store::rundir::RunId;
use server::{Library, Provider, ProviderError, Shelf};
use view::document::{RunKind, RunRow};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../see/capture/samples/mixed.tmt")
}

/// Copies the sample to this name.
fn lay(base: &Path, name: &str) -> PathBuf {
    let to = base.join(name);
    fs::create_dir(&to).expect("a directory");
    for entry in fs::read_dir(sample()).expect("the sample") {
        let from = entry.expect("a file").path();
        fs::copy(&from, to.join(from.file_name().expect("its name"))).expect("a copy");
    }
    to
}

fn listed(library: &Library) -> Vec<RunRow> {
    library.runs().expect("a list").runs
}

fn id_of(row: &RunRow) -> RunId {
    RunId::parse(&row.id).expect("an id")
}

#[test]
fn traces_are_listed_without_reading_their_ios() {
    let base = tempfile::tempdir().expect("a directory");
    let library = Library::new(Shelf::All(base.path().to_owned()));
    assert!(listed(&library).is_empty());

    // Trace whose I/O is lost, but which has the length in its description.
    let part = lay(base.path(), "night.tmt").join("part-000000.parquet");
    let length = fs::metadata(&part).expect("a part").len();
    fs::File::create(&part).expect("it is ours").set_len(length).expect("as long as before");
    fs::create_dir(base.path().join("going.tmt.partial")).expect("a directory");
    fs::create_dir(base.path().join("empty.tmt")).expect("a directory");
    fs::write(base.path().join("file.tmt"), "no directory").expect("a file");

    let rows = listed(&library);
    let names: Vec<_> = rows.iter().map(|row| (row.tile.as_str(), row.kind)).collect();
    assert_eq!(names, [("night", RunKind::Recorded)]);
    assert_eq!((rows[0].sentence.as_str(), &rows[0].error), ("Recorded: 8,217 I/Os.", &None));
    assert_eq!(rows[0].duration_ns, 8_461_028_116, "to the last I/O");
    let refused = library.page(&id_of(&rows[0])).expect_err("there is no I/O");
    assert!(matches!(refused, ProviderError::Unreadable(_)), "{refused}");
    assert!(listed(&library)[0].error.is_some(), "the list says so from now on");
}

#[test]
fn trace_opens_by_a_kept_address_before_any_listing() {
    let base = tempfile::tempdir().expect("a directory");
    lay(base.path(), "day.tmt");
    let before = Library::new(Shelf::All(base.path().to_owned()));
    let id = id_of(&listed(&before)[0]);

    // Another library, which was not asked for the list before.
    let library = Library::new(Shelf::All(base.path().to_owned()));
    assert_eq!(library.live(&id).expect("it is known"), None);
    assert!(library.events(&id).expect("none").events.is_empty());
    let page = library.page(&id).expect("a page");
    assert_eq!((page.row.id.as_str(), page.row.kind), (id.as_str(), RunKind::Recorded));
    assert!(listed(&library)[0].sentence.starts_with("Observed: "));
    let unknown = RunId::following("nobody", 1);
    assert_eq!(library.live(&unknown), Err(ProviderError::UnknownRun(unknown.clone())));
}

#[test]
fn library_sees_changes_and_rereads_traces_not_opened_lately() {
    let base = tempfile::tempdir().expect("a directory");
    let library = Library::new(Shelf::All(base.path().to_owned()));
    let first = lay(base.path(), "first.tmt");
    assert_eq!(listed(&library).len(), 1);
    for name in ["a.tmt", "b.tmt", "c.tmt", "d.tmt"] {
        lay(base.path(), name);
    }
    let rows = listed(&library);
    assert_eq!(rows.len(), 5);
    for row in rows.iter().chain(&rows) {
        library.page(&id_of(row)).expect("a page");
    }

    let description = first.join("trace.json");
    let text = fs::read_to_string(&description).expect("a description");
    fs::write(&description, text.replace("1795319511497344464", "1795319512497344464000"))
        .expect("it is ours");
    let rows = listed(&library);
    let of = |name: &str| rows.iter().find(|row| row.tile == name);
    assert!(of("first").expect("still listed").error.is_some(), "it is read again");
    fs::remove_dir_all(&first).expect("it is ours");
    let rows = listed(&library);
    assert!(rows.len() == 4 && rows.iter().all(|row| row.tile != "first"));
}

#[test]
fn one_that_was_named_and_lies_there_is_listed_once() {
    let base = tempfile::tempdir().expect("a directory");
    let trace = lay(base.path(), "day.tmt");
    let library = Library::new(Shelf::All(base.path().to_owned()));
    let id = library.add_trace(&trace).expect("a trace");
    let rows = listed(&library);
    assert_eq!((rows.len(), rows[0].id.as_str()), (1, id.as_str()));
}
