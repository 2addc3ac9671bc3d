//! A session around a directory: set up, taken down, and found after kill -9.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tilemark_datastore::{
    Around, CleanupOptions, Datastore, DatastoreError, Directory, Examination, Facts, HeldDir,
    Options, OwnDir, Session, Step, Target, cleanup, find_owned, open_leftovers, preflight,
    register,
};
use units::Bytes;

use crate::child;
use crate::rig::{anywhere, disk, names, roomy};

/// Stands for a mount: a directory that is there for as long as the session is.
#[derive(Debug, Clone, Copy)]
struct Mounted;

/// The one line that makes it known.
static MOUNTED: Around<Mounted> = Around(Mounted);

/// Called by the child, too.
pub fn known() {
    register(&MOUNTED);
}

/// Each session has its own, told by its marker's directory.
fn inside(address: &Path, own: &Path) -> PathBuf {
    let own = own.file_name().and_then(|name| name.to_str()).expect("a plain name");
    address.join(format!("mounted{own}"))
}

impl Session for Mounted {
    fn facts(&self) -> &'static Facts {
        &Facts {
            word: "mounted",
            noun: "mounted directory",
            rule: ("there is a place for it", "a directory"),
            is_path: true,
            remembers_disks: false,
            is_file_per_disk: true,
            has_content: false,
        }
    }

    fn place(&self, address: &Path) -> PathBuf {
        address.to_owned()
    }

    fn check(&self, _: &Path, _: &Options, examination: &mut Examination) -> Step {
        examination.check_space(Bytes::GIB, (Bytes::GIB, "what is promised".to_owned()));
        ControlFlow::Continue(())
    }

    fn set_up(&self, address: &Path, own: &OwnDir) -> Result<(), DatastoreError> {
        let path = inside(address, own.path());
        fs::create_dir(&path).map_err(|error| DatastoreError::io("set up", path, error))
    }

    fn inner(&self, address: &Path, own: &HeldDir) -> Option<Target> {
        let path = inside(address, own.path());
        path.is_dir().then(|| Target::new(&Directory, path))
    }

    fn tear_down(&self, address: &Path, own: &HeldDir) -> Result<(), DatastoreError> {
        let path = inside(address, own.path());
        match fs::remove_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(DatastoreError::io("take down", path, error))
            }
            _ => Ok(()),
        }
    }
}

fn target(dir: &Path) -> Target {
    known();
    format!("mounted:{}", dir.display()).parse().expect("a known kind")
}

#[test]
fn what_a_session_set_up_is_taken_down_with_it() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    preflight(&target, Bytes::MIB, &anywhere("a")).expect("fits");
    assert!(names(dir.path()).is_empty(), "looking set something up");
    let mut store = Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open");
    assert_eq!(names(dir.path()), [".tilemark-a", "mounted.tilemark-a"]);
    assert!(store.preflight().checks.iter().any(|check| check.id == "not-writable"));
    let disks = store.provision(&[disk("vm/data", Bytes::MIB)]).expect("provision");
    assert!(disks[0].writable && dir.path().join("mounted.tilemark-a/.tilemark-a").is_dir());
    // One of this process that is still in use stays.
    let kept = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((kept.removed.len(), kept.kept.len()), (0, 1));
    drop(disks);
    store.remove().expect("removed");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_target_inside_that_is_refused_leaves_no_session() {
    let Some(dir) = roomy() else { return };
    let too_much = Bytes::GIB * (1 << 20);
    let promised = Options { space_max: Some(Bytes::MIB), ..anywhere("a") };
    // The session promises more than the directory inside gives.
    let refused = Datastore::open(&target(dir.path()), Bytes::MIB * 2, &promised);
    let error = refused.expect_err("too large");
    assert!(
        matches!(&error, DatastoreError::Refused(refusal) if refusal.id() == "space"),
        "{error}"
    );
    assert!(names(dir.path()).is_empty());
    assert!(Datastore::open(&target(dir.path()), too_much, &anywhere("a")).is_err());
}

#[test]
fn session_of_a_killed_run_is_found_by_marker_and_closed() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let child = child::hold(&target, None);
    let kept = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((kept.removed.len(), kept.kept.len()), (0, 1), "{kept:?}");
    child::kill(child);
    assert_eq!(names(dir.path()), [".tilemark-killed", "mounted.tilemark-killed"]);
    assert_eq!(find_owned(&target).expect("find")[0].run_id, "killed");
    let left = open_leftovers(&target, dir.path()).expect("what is left");
    assert_eq!(left[0].disks[0].name, "vm/data");
    drop(left);
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((done.removed.len(), done.kept.len()), (1, 0), "{done:?}");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn what_somebody_put_inside_keeps_the_session_and_its_marker() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    child::kill(child::hold(&target, None));
    let foreign = dir.path().join("mounted.tilemark-killed/.tilemark-killed/foreign");
    fs::write(&foreign, "precious").expect("file");
    let kept = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((kept.removed.len(), kept.kept.len()), (0, 1));
    assert!(kept.kept[0].reason.contains("foreign"), "{kept:?}");
    assert_eq!(fs::read(&foreign).expect("there"), b"precious");
    fs::remove_file(foreign).expect("removed");
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((done.removed.len(), done.kept.len()), (1, 0), "{done:?}");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn unmarked_session_is_not_closed() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let (half, foreign) =
        (dir.path().join(".tilemark-half"), dir.path().join("mounted.tilemark-half"));
    fs::create_dir(&half).expect("directory");
    fs::create_dir(&foreign).expect("directory");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    fs::File::open(&half).expect("open").set_modified(old).expect("set time");
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((done.removed.len(), done.kept.len()), (1, 0), "{done:?}");
    assert_eq!(names(dir.path()), ["mounted.tilemark-half"]);
}
